//! Push-down: which part of a condition kintone can decide, as one pure function (LNG-190).
//!
//! Results never depend on it. A conjunct that kintone decides exactly is not tested again; one that kintone can only
//! narrow is sent and tested again; everything else is tested here alone.

use crate::flow::apps::FieldType;
use crate::flow::calendar::{is_canonical_date, is_canonical_datetime, is_canonical_time};
use crate::flow::sql::ast::Comparison;
use crate::flow::value::{is_number, plain_decimal};

use super::filter::{Filter, List};
use super::scalar::{ColumnId, Scalar};
use super::types::Type;

/// The most digits of a number that is sent.
const MAX_DIGITS: usize = 30;
/// The most decimal places of a number that is sent.
const MAX_DECIMALS: usize = 10;

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
    /// How it relates to the whole condition.
    pub relation: Relation,
    /// What is left to test.
    pub rest: Filter,
}

/// A field that conditions can be sent about.
#[derive(Clone, Copy, Debug)]
pub struct PushField<'a> {
    /// Field code.
    pub code: &'a str,
    /// Type.
    pub kind: &'a Type,
}

/// How far kintone can decide a part.
enum Sent {
    Exact(String),
    Superset(String),
    Nothing,
}

/// Splits a condition. `field` gives the fields of the app that is asked; other columns are unknown to kintone.
pub fn push<'f>(
    filter: &Filter,
    field: &dyn Fn(ColumnId) -> Option<PushField<'f>>,
    limits: Limits,
) -> Pushed {
    let conjuncts = match filter {
        Filter::Constant(true) => &[],
        Filter::All(parts) => parts.as_slice(),
        single => std::slice::from_ref(single),
    };
    let pusher = Pusher { field, limits };
    let mut texts: Vec<(String, bool)> = Vec::new();
    let mut rest = Vec::new();
    let mut bytes = 0;
    for conjunct in conjuncts {
        let sent = pusher.part(conjunct);
        let (text, exact) = match sent {
            Sent::Exact(text) => (text, true),
            Sent::Superset(text) => (text, false),
            Sent::Nothing => {
                rest.push(conjunct.clone());
                continue;
            }
        };
        let size = url_bytes(&text) + url_bytes(" and ()");
        let only_kintone = conjunct.server_test().is_some();
        if bytes + size > limits.url_bytes && !only_kintone {
            rest.push(conjunct.clone());
            continue;
        }
        bytes += size;
        texts.push((text, matches!(conjunct, Filter::Any(_))));
        if !exact {
            rest.push(conjunct.clone());
        }
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
    let relation = match (rest.is_empty(), query.is_empty()) {
        (true, _) => Relation::Exact,
        (false, false) => Relation::Prefilter,
        (false, true) => Relation::Local,
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

struct Pusher<'p, 'f> {
    field: &'p dyn Fn(ColumnId) -> Option<PushField<'f>>,
    limits: Limits,
}

impl Pusher<'_, '_> {
    fn part(&self, filter: &Filter) -> Sent {
        match filter {
            Filter::All(parts) => {
                let mut exact = true;
                let mut texts = Vec::new();
                for part in parts {
                    let nested = matches!(part, Filter::Any(_));
                    match self.part(part) {
                        Sent::Exact(text) => texts.push(grouped(text, nested)),
                        Sent::Superset(text) => {
                            exact = false;
                            texts.push(grouped(text, nested));
                        }
                        Sent::Nothing => exact = false,
                    }
                }
                joined(&texts, " and ", exact)
            }
            Filter::Any(parts) => {
                let mut exact = true;
                let mut texts = Vec::new();
                for part in parts {
                    let nested = matches!(part, Filter::All(_));
                    match self.part(part) {
                        Sent::Exact(text) => texts.push(grouped(text, nested)),
                        Sent::Superset(text) => {
                            exact = false;
                            texts.push(grouped(text, nested));
                        }
                        Sent::Nothing => return Sent::Nothing,
                    }
                }
                joined(&texts, " or ", exact)
            }
            Filter::Compare {
                left: Scalar::Column(id),
                operator,
                right,
                ..
            } => match ((self.field)(*id), right.constant()) {
                (Some(field), Some(value)) => comparison(field, *operator, value),
                _ => Sent::Nothing,
            },
            Filter::OneOf {
                left: Scalar::Column(id),
                list: List::Set(set),
                negated,
                ..
            } => match (self.field)(*id) {
                Some(field) if set.values.len() <= self.limits.values => {
                    membership(field, &set.values, *negated)
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

fn grouped(text: String, nested: bool) -> String {
    if nested { format!("({text})") } else { text }
}

fn joined(texts: &[String], word: &str, exact: bool) -> Sent {
    match (texts.is_empty(), exact) {
        (true, _) => Sent::Nothing,
        (false, true) => Sent::Exact(texts.join(word)),
        (false, false) => Sent::Superset(texts.join(word)),
    }
}

fn comparison(field: PushField<'_>, operator: Comparison, value: &str) -> Sent {
    let Some(kind) = field.kind.field() else {
        return Sent::Nothing;
    };
    let code = field.code;
    let symbol = operator.symbol();
    let plain = |right: Option<String>| {
        right.map_or(Sent::Nothing, |right| {
            Sent::Exact(format!("{code} {symbol} {right}"))
        })
    };
    let equality = matches!(operator, Comparison::Equal | Comparison::NotEqual);
    match kind {
        FieldType::Number => plain(number(value)),
        FieldType::Id => plain(integer(value)),
        FieldType::CalcNumber => superset(plain(number(value))),
        FieldType::RecordNumber => superset(plain(integer(value))),
        FieldType::Date => plain(is_canonical_date(value).then(|| quoted(value))),
        FieldType::Time => plain(is_canonical_time(value).then(|| quoted(value))),
        FieldType::DateTime | FieldType::CreatedTime | FieldType::UpdatedTime => {
            plain(is_canonical_datetime(value).then(|| quoted(value)))
        }
        FieldType::SingleLineText | FieldType::Link if equality => plain(text(value)),
        FieldType::DropDown | FieldType::RadioButton | FieldType::Status if equality => {
            membership(field, &[value.to_owned()], operator == Comparison::NotEqual)
        }
        _ => Sent::Nothing,
    }
}

fn membership(field: PushField<'_>, values: &[String], negated: bool) -> Sent {
    let Some(kind) = field.kind.field() else {
        return Sent::Nothing;
    };
    let render = |value: &String| match kind {
        FieldType::Number | FieldType::CalcNumber => number(value),
        FieldType::Id | FieldType::RecordNumber => integer(value),
        FieldType::DropDown
        | FieldType::RadioButton
        | FieldType::Status
        | FieldType::CheckBox
        | FieldType::MultiSelect => option(field.kind, value),
        FieldType::SingleLineText
        | FieldType::Link
        | FieldType::Creator
        | FieldType::Modifier
        | FieldType::UserSelect
        | FieldType::OrganizationSelect
        | FieldType::GroupSelect
        | FieldType::StatusAssignee => text(value),
        _ => None,
    };
    let Some(rendered) = values
        .iter()
        .map(render)
        .collect::<Option<Vec<String>>>()
        .filter(|list| !list.is_empty())
    else {
        return Sent::Nothing;
    };
    let word = if negated { "not in" } else { "in" };
    let sent = Sent::Exact(format!("{} {word} ({})", field.code, rendered.join(", ")));
    match kind {
        FieldType::CalcNumber | FieldType::RecordNumber => superset(sent),
        _ => sent,
    }
}

fn superset(sent: Sent) -> Sent {
    match sent {
        Sent::Exact(text) => Sent::Superset(text),
        other => other,
    }
}

/// A number that kintone compares exactly: plain digits, within its limits.
fn number(value: &str) -> Option<String> {
    if !is_number(value) {
        return None;
    }
    let plain = plain_decimal(value.trim(), MAX_DIGITS + MAX_DECIMALS + 2)?;
    let digits = plain.bytes().filter(u8::is_ascii_digit).count();
    let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    (digits <= MAX_DIGITS && decimals <= MAX_DECIMALS).then(|| plain.trim_start_matches('+').to_owned())
}

fn integer(value: &str) -> Option<String> {
    number(value).filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
}

/// A text that a literal can carry and that is not empty.
fn text(value: &str) -> Option<String> {
    (!value.is_empty() && !value.chars().any(char::is_control)).then(|| quoted(value))
}

/// An option that the field has, or none chosen; asking for another one is an error of kintone's.
fn option(kind: &Type, value: &str) -> Option<String> {
    let Type::Field(field) = kind else { return None };
    let known = field
        .options
        .as_ref()
        .is_some_and(|options| options.iter().any(|option| option == value));
    (known || value.is_empty()).then(|| quoted(value))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::flow::plan::filter::{Membership, Pattern, ValueSet};
    use crate::flow::value::CompareMode;

    const CODES: [(&str, FieldType); 6] = [
        ("金額", FieldType::Number),
        ("名前", FieldType::SingleLineText),
        ("確度", FieldType::DropDown),
        ("合計", FieldType::CalcNumber),
        ("受注日", FieldType::Date),
        ("備考", FieldType::MultiLineText),
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
            })
        };
        let Pushed {
            query,
            relation,
            rest,
        } = push(
            filter,
            &field,
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
            (compare("名前", Equal, "a\"b\\c"), r#"名前 = "a\"b\\c""#),
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
    fn conjuncts_are_split_and_alternatives_are_all_or_nothing() {
        use Comparison::{Equal, Less};
        let exact = compare("金額", Less, "5");
        let calc = compare("合計", Less, "5");
        let filter = Filter::All(vec![exact.clone(), calc.clone(), like("備考")]);
        let rest = Filter::All(vec![calc.clone(), like("備考")]);
        assert_eq!(
            pushed(&filter),
            ("金額 < 5 and 合計 < 5".to_owned(), Relation::Prefilter, rest)
        );
        let or = Filter::Any(vec![
            exact.clone(),
            Filter::All(vec![compare("名前", Equal, "x"), like("備考")]),
        ]);
        assert_eq!(
            pushed(&or),
            (
                r#"金額 < 5 or (名前 = "x")"#.to_owned(),
                Relation::Prefilter,
                or.clone()
            )
        );
        let both = Filter::All(vec![or.clone(), exact.clone()]);
        assert_eq!(pushed(&both).0, r#"(金額 < 5 or (名前 = "x")) and 金額 < 5"#);
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
