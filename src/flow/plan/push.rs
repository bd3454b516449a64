//! Push-down: which part of a condition kintone can decide, as one pure function (LNG-190).
//!
//! Results never depend on it. A conjunct that kintone decides exactly is not tested again; one that kintone can only
//! narrow is sent and tested again; everything else is tested here alone.

mod leaf;

use crate::flow::apps::FieldType;

use self::leaf::{Circumstances, Operand, comparison, membership, number};
use super::filter::{Filter, List};
use super::scalar::{ColumnId, Scalar};
use super::types::Type;

/// Limits of a query text.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most elements of one `in` list.
    pub values: usize,
    /// The most bytes of the condition once it is in a URL, where every byte outside ASCII letters and digits takes three.
    pub url_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            values: 100,
            url_bytes: 6_000,
        }
    }
}

/// How the sent condition relates to the whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same records.
    Exact,
    /// A superset; the rest is tested locally.
    Prefilter,
    /// Nothing is sent.
    Local,
}

/// The outcome of push-down.
#[derive(Clone, Debug, PartialEq)]
pub struct Pushed {
    /// kintone query text without order and limit; empty for no condition.
    pub query: String,
    /// How it relates to the whole condition, by kintone's documentation.
    pub relation: Relation,
    /// What is left to test: also what kintone decides, where it was seen to decide otherwise than documented.
    pub rest: Filter,
}

/// What stands in a query for values that only a run knows.
pub const LATER: &str = "?";

/// Who decides about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// kintone alone: it counts, or gives a window of the matching records.
    Remote,
    /// Every record is read and what is left of the condition is tested.
    Tested,
}

/// A field that conditions can be sent about.
#[derive(Clone, Copy, Debug)]
pub struct PushField<'a> {
    /// Field code.
    pub code: &'a str,
    /// Type.
    pub kind: &'a Type,
    /// Duplicates are prohibited.
    pub unique: bool,
}

/// How far kintone can decide a part.
enum Sent {
    Exact(String),
    /// Exact by its documentation, but tested again.
    Doubted(String),
    Superset(String),
    Nothing,
}

/// How sure a text is that several parts were joined to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    Superset,
    Doubted,
    Exact,
}

impl Sent {
    /// The text, if there is one, and how sure it is.
    fn split(self) -> (Option<String>, Certainty) {
        match self {
            Self::Exact(text) => (Some(text), Certainty::Exact),
            Self::Doubted(text) => (Some(text), Certainty::Doubted),
            Self::Superset(text) => (Some(text), Certainty::Superset),
            Self::Nothing => (None, Certainty::Superset),
        }
    }

    fn of(text: String, certainty: Certainty) -> Self {
        match certainty {
            Certainty::Exact => Self::Exact(text),
            Certainty::Doubted => Self::Doubted(text),
            Certainty::Superset => Self::Superset(text),
        }
    }
}

/// Splits a condition. `field` gives the fields of the app that is asked; other columns are unknown to kintone.
pub fn push<'f>(
    filter: &Filter,
    field: &dyn Fn(ColumnId) -> Option<PushField<'f>>,
    decision: Decision,
    limits: Limits,
) -> Pushed {
    let conjuncts = match filter {
        Filter::Constant(true) => &[],
        Filter::All(parts) => parts.as_slice(),
        single => std::slice::from_ref(single),
    };
    let pusher = Pusher {
        field,
        decision,
        limits,
    };
    let beside = Beside {
        parts: conjuncts,
        outer: None,
    };
    let mut texts: Vec<(String, bool)> = Vec::new();
    let mut rest = Vec::new();
    let mut certainty = Certainty::Exact;
    let mut bytes = 0;
    for conjunct in conjuncts {
        let (text, certain) = pusher.part(conjunct, &beside).split();
        let only_kintone = conjunct.server_test().is_some();
        let text = text.filter(|text| {
            let size = url_bytes(text) + url_bytes(" and ()");
            let fits = bytes + size <= limits.url_bytes || only_kintone;
            bytes += if fits { size } else { 0 };
            fits
        });
        let certain = if text.is_some() {
            certain
        } else {
            Certainty::Superset
        };
        texts.extend(text.map(|text| (text, matches!(conjunct, Filter::Any(_)))));
        if certain != Certainty::Exact {
            rest.push(conjunct.clone());
        }
        certainty = certainty.min(certain);
    }
    let alone = texts.len() == 1;
    let query = texts
        .into_iter()
        .map(|(text, alternatives)| {
            if alternatives && !alone {
                format!("({text})")
            } else {
                text
            }
        })
        .collect::<Vec<_>>()
        .join(" and ");
    let relation = match (certainty, query.is_empty()) {
        (Certainty::Exact | Certainty::Doubted, _) => Relation::Exact,
        (Certainty::Superset, false) => Relation::Prefilter,
        (Certainty::Superset, true) => Relation::Local,
    };
    Pushed {
        query,
        relation,
        rest: Filter::all(rest),
    }
}

/// A text as kintone's string literal.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `code in ("a", "b")`, for conditions that the engine makes itself.
pub fn one_of<'t>(code: &str, kind: FieldType, values: impl IntoIterator<Item = &'t str>) -> String {
    let values: Vec<String> = values
        .into_iter()
        .map(|value| match kind {
            FieldType::Number | FieldType::Id => number(value).unwrap_or_else(|| quoted(value)),
            _ => quoted(value),
        })
        .collect();
    format!("{code} in ({})", values.join(", "))
}

/// Both conditions; either may be empty.
pub fn and(left: &str, right: &str) -> String {
    match (left.is_empty(), right.is_empty()) {
        (true, _) => right.to_owned(),
        (_, true) => left.to_owned(),
        _ => format!("({left}) and {right}"),
    }
}

fn url_bytes(text: &str) -> usize {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { 1 } else { 3 })
        .sum()
}

/// The parts of a conjunction around a part of it, and those of the conjunctions around that.
struct Beside<'b> {
    parts: &'b [Filter],
    outer: Option<&'b Beside<'b>>,
}

impl Beside<'_> {
    /// Whether one of them lets no record pass in which the column is empty.
    fn exclude_empty(&self, column: ColumnId) -> bool {
        self.parts.iter().any(|part| excludes_empty(part, column))
            || self.outer.is_some_and(|outer| outer.exclude_empty(column))
    }
}

/// Whether a condition fails for every row in which the column is empty.
fn excludes_empty(filter: &Filter, column: ColumnId) -> bool {
    let about = |left: &Scalar| matches!(left, Scalar::Column(id) if *id == column);
    match filter {
        Filter::All(parts) => parts.iter().any(|part| excludes_empty(part, column)),
        Filter::Any(parts) => parts.iter().all(|part| excludes_empty(part, column)),
        Filter::Compare {
            left,
            operator,
            right,
            mode,
        } if about(left) => right
            .constant()
            .is_some_and(|right| !operator.accepts(mode.compare("", right))),
        Filter::Empty { left, negated } => about(left) && *negated,
        Filter::OneOf {
            left,
            list: List::Set(set),
            how,
            negated,
        } => about(left) && set.holds("", *how) == *negated,
        _ => false,
    }
}

struct Pusher<'p, 'f> {
    field: &'p dyn Fn(ColumnId) -> Option<PushField<'f>>,
    decision: Decision,
    limits: Limits,
}

impl Pusher<'_, '_> {
    fn part(&self, filter: &Filter, beside: &Beside<'_>) -> Sent {
        match filter {
            Filter::All(parts) => {
                let beside = Beside {
                    parts,
                    outer: Some(beside),
                };
                let mut certainty = Certainty::Exact;
                let mut texts = Vec::new();
                for part in parts {
                    let nested = matches!(part, Filter::Any(_));
                    let (text, certain) = self.part(part, &beside).split();
                    texts.extend(text.map(|text| grouped(text, nested)));
                    certainty = certainty.min(certain);
                }
                if texts.is_empty() {
                    return Sent::Nothing;
                }
                Sent::of(texts.join(" and "), certainty)
            }
            Filter::Any(parts) => {
                let mut certainty = Certainty::Exact;
                let mut texts = Vec::new();
                for part in parts {
                    let nested = matches!(part, Filter::All(_));
                    let (Some(text), certain) = self.part(part, beside).split() else {
                        return Sent::Nothing;
                    };
                    texts.push(grouped(text, nested));
                    certainty = certainty.min(certain);
                }
                Sent::of(texts.join(" or "), certainty)
            }
            Filter::Compare {
                left: Scalar::Column(id),
                operator,
                right,
                ..
            } => match ((self.field)(*id), Operand::of(right)) {
                (Some(field), Some(value)) => {
                    let circumstances = Circumstances {
                        never_empty: beside.exclude_empty(*id),
                        tested_again: self.decision == Decision::Tested,
                    };
                    comparison(field, *operator, value, circumstances)
                }
                _ => Sent::Nothing,
            },
            Filter::OneOf {
                left: Scalar::Column(id),
                list,
                negated,
                ..
            } => match ((self.field)(*id), elements(list)) {
                (Some(field), Some(values)) if values.len() <= self.limits.values => {
                    membership(field, &values, *negated)
                }
                _ => Sent::Nothing,
            },
            Filter::Server(test) => match (self.field)(test.column) {
                Some(field) => Sent::Exact(test.query(field.code)),
                None => Sent::Nothing,
            },
            _ => Sent::Nothing,
        }
    }
}

/// The elements of a list that holds no computed ones.
fn elements(list: &List) -> Option<Vec<Operand<'_>>> {
    match list {
        List::Set(set) => Some(set.values.iter().map(|value| Operand::Known(value)).collect()),
        List::Values(values) => values.iter().map(Operand::of).collect(),
        List::Parameter(_) => Some(vec![Operand::Later]),
    }
}

fn grouped(text: String, nested: bool) -> String {
    if nested { format!("({text})") } else { text }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::flow::plan::filter::{Membership, Pattern, ValueSet};
    use crate::flow::sql::ast::Comparison;
    use crate::flow::value::CompareMode;

    const CODES: [(&str, FieldType); 9] = [
        ("金額", FieldType::Number),
        ("名前", FieldType::SingleLineText),
        ("確度", FieldType::DropDown),
        ("合計", FieldType::CalcNumber),
        ("受注日", FieldType::Date),
        ("備考", FieldType::MultiLineText),
        ("番号", FieldType::SingleLineText),
        ("時刻", FieldType::Time),
        ("日時", FieldType::DateTime),
    ];

    fn id(code: &str) -> ColumnId {
        ColumnId {
            source: 0,
            column: CODES.iter().position(|(known, _)| *known == code).unwrap(),
        }
    }

    fn compare(code: &str, operator: Comparison, right: &str) -> Filter {
        let mode = CompareMode::Text;
        Filter::Compare {
            left: Scalar::Column(id(code)),
            operator,
            right: Scalar::Text(right.into()),
            mode,
        }
    }

    fn like(code: &str) -> Filter {
        Filter::Like {
            left: Scalar::Column(id(code)),
            pattern: Pattern::constant("x"),
            negated: false,
        }
    }

    fn pushed(filter: &Filter) -> (String, Relation, Filter) {
        decided(filter, Decision::Tested)
    }

    fn decided(filter: &Filter, decision: Decision) -> (String, Relation, Filter) {
        let kinds: Vec<Type> = CODES
            .iter()
            .map(|(_, kind)| {
                Type::with_options(
                    *kind,
                    kind.has_options()
                        .then_some(&["低".to_owned(), "高".to_owned()][..]),
                )
            })
            .collect();
        let field = |id: ColumnId| {
            let (code, _) = CODES.get(id.column)?;
            Some(PushField {
                code,
                kind: kinds.get(id.column)?,
                unique: *code == "番号",
            })
        };
        let Pushed {
            query,
            relation,
            rest,
        } = push(
            filter,
            &field,
            decision,
            Limits {
                values: 3,
                url_bytes: 300,
            },
        );
        (query, relation, rest)
    }

    #[test]
    fn leaves_by_type() {
        use Comparison::{Equal, Greater, NotEqual};
        for (filter, query) in [
            (compare("金額", Greater, "1e3"), "金額 > 1000"),
            (compare("金額", Equal, "-0.5"), "金額 = -0.5"),
            (compare("金額", Equal, "-.5"), "金額 = -0.5"),
            (compare("金額", Equal, "+1."), "金額 = 1"),
            (compare("番号", Equal, "a\"b\\c"), r#"番号 = "a\"b\\c""#),
            (compare("番号", NotEqual, "a"), r#"番号 != "a""#),
            (compare("名前", NotEqual, "a"), r#"名前 not in ("a")"#),
            (compare("確度", NotEqual, "高"), r#"確度 not in ("高")"#),
            (compare("確度", Equal, ""), r#"確度 in ("")"#),
            (
                compare("受注日", Greater, "2026-08-01"),
                r#"受注日 > "2026-08-01""#,
            ),
        ] {
            assert_eq!(
                pushed(&filter),
                (query.to_owned(), Relation::Exact, Filter::Constant(true))
            );
        }
        for filter in [
            compare("金額", Greater, "abc"),
            compare("金額", Equal, ""),
            compare("金額", Equal, "0.12345678901"),
            compare("金額", Equal, &"1".repeat(31)),
            compare("名前", Equal, ""),
            compare("名前", Equal, "a\nb"),
            compare("名前", Greater, "a"),
            compare("確度", Equal, "無"),
            compare("確度", Greater, "低"),
            compare("受注日", Equal, "2026-8-1"),
            compare("備考", Equal, "a"),
            like("名前"),
        ] {
            assert_eq!(pushed(&filter), (String::new(), Relation::Local, filter.clone()));
        }
    }

    #[test]
    fn an_equal_text_is_tested_again_or_asked_for_by_in() {
        let equal = compare("名前", Comparison::Equal, "a");
        let sent = (r#"名前 = "a""#.to_owned(), Relation::Exact, equal.clone());
        assert_eq!(pushed(&equal), sent);
        let counted = (
            r#"名前 in ("a")"#.to_owned(),
            Relation::Exact,
            Filter::Constant(true),
        );
        assert_eq!(decided(&equal, Decision::Remote), counted);
        // Not certain is more than a superset, and less than exact.
        let either = Filter::Any(vec![equal.clone(), compare("番号", Comparison::Equal, "b")]);
        let sent = (
            r#"名前 = "a" or 番号 = "b""#.to_owned(),
            Relation::Exact,
            either.clone(),
        );
        assert_eq!(pushed(&either), sent);
        let narrowed = Filter::All(vec![equal, like("備考")]);
        assert_eq!(pushed(&narrowed).1, Relation::Prefilter);
    }

    #[test]
    fn the_empty_cell_is_asked_for_unless_a_neighbour_leaves_it_out() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let all = |parts: &[Filter]| Filter::All(parts.to_vec());
        let day = |operator, day| compare("受注日", operator, day);
        let empty = |negated| Filter::Empty {
            left: Scalar::Column(id("受注日")),
            negated,
        };
        let below = r#"(受注日 < "2026-09-01" or 受注日 = "")"#;
        let month = day(Less, "2026-09-01");
        for (filter, query) in [
            (month.clone(), below),
            (
                day(LessOrEqual, "2026-09-01"),
                r#"(受注日 <= "2026-09-01" or 受注日 = "")"#,
            ),
            (compare("時刻", Less, "09:00"), r#"(時刻 < "09:00" or 時刻 = "")"#),
            (compare("金額", Less, "-1"), r#"(金額 < -1 or 金額 in (""))"#),
            (
                all(&[day(GreaterOrEqual, "2026-08-01"), month.clone()]),
                r#"受注日 >= "2026-08-01" and 受注日 < "2026-09-01""#,
            ),
            (
                all(&[
                    Filter::Any(vec![month.clone(), day(Equal, "2026-12-01")]),
                    day(Greater, "2026-01-01"),
                ]),
                r#"(受注日 < "2026-09-01" or 受注日 = "2026-12-01") and 受注日 > "2026-01-01""#,
            ),
            (all(&[empty(true), month.clone()]), r#"受注日 < "2026-09-01""#),
            (all(&[empty(false), month.clone()]), below),
            (
                all(&[day(NotEqual, "2026-08-05"), month.clone()]),
                &format!(r#"受注日 != "2026-08-05" and {below}"#),
            ),
            (
                Filter::Any(vec![
                    all(&[month.clone(), compare("金額", Greater, "1")]),
                    empty(true),
                ]),
                "",
            ),
        ] {
            assert_eq!(pushed(&filter).0, query);
        }
    }

    #[test]
    fn an_instant_within_a_minute_is_compared_with_the_minute() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let (within, minute) = ("2026-01-15T10:20:45Z", r#""2026-01-15T10:20:00Z""#);
        for (operator, query, relation) in [
            (
                Less,
                format!(r#"(日時 <= {minute} or 日時 = "")"#),
                Relation::Exact,
            ),
            (
                LessOrEqual,
                format!(r#"(日時 <= {minute} or 日時 = "")"#),
                Relation::Exact,
            ),
            (Greater, format!("日時 > {minute}"), Relation::Exact),
            (GreaterOrEqual, format!("日時 > {minute}"), Relation::Exact),
            (Equal, format!("日時 = {minute}"), Relation::Prefilter),
            (NotEqual, String::new(), Relation::Local),
        ] {
            let (found, relation_found, _) = pushed(&compare("日時", operator, within));
            assert_eq!((found, relation_found), (query, relation));
        }
        let whole = compare("日時", GreaterOrEqual, "2026-01-15T10:20:00Z");
        assert_eq!(pushed(&whole).0, format!("日時 >= {minute}"));
    }

    #[test]
    fn conjuncts_are_split_and_alternatives_are_all_or_nothing() {
        use Comparison::{Equal, Less};
        let exact = compare("金額", Less, "5");
        let calc = compare("合計", Less, "5");
        let filter = Filter::All(vec![exact.clone(), calc.clone(), like("備考")]);
        let rest = Filter::All(vec![calc.clone(), like("備考")]);
        assert_eq!(
            pushed(&filter),
            (
                r#"(金額 < 5 or 金額 in ("")) and (合計 < 5 or 合計 in (""))"#.to_owned(),
                Relation::Prefilter,
                rest
            )
        );
        let or = Filter::Any(vec![
            exact.clone(),
            Filter::All(vec![compare("名前", Equal, "x"), like("備考")]),
        ]);
        assert_eq!(
            pushed(&or),
            (
                r#"(金額 < 5 or 金額 in ("")) or (名前 = "x")"#.to_owned(),
                Relation::Prefilter,
                or.clone()
            )
        );
        let both = Filter::All(vec![or.clone(), exact.clone()]);
        let less = r#"(金額 < 5 or 金額 in (""))"#;
        assert_eq!(pushed(&both).0, format!(r#"({less} or (名前 = "x")) and {less}"#));
        let local = Filter::Any(vec![exact, like("備考")]);
        assert_eq!(pushed(&local).1, Relation::Local);
    }

    #[test]
    fn long_lists_and_long_texts_stay_here() {
        let list = |count: usize| Filter::OneOf {
            left: Scalar::Column(id("名前")),
            list: List::Set(Arc::new(ValueSet::new(
                (0..count).map(|i| i.to_string()),
                Membership::Text,
            ))),
            how: Membership::Text,
            negated: true,
        };
        assert_eq!(pushed(&list(3)).0, r#"名前 not in ("0", "1", "2")"#);
        assert_eq!(pushed(&list(4)).1, Relation::Local);
        assert_eq!(
            pushed(&compare("名前", Comparison::Equal, &"あ".repeat(40))).1,
            Relation::Local
        );
    }
}
