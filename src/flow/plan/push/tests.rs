//! What is sent for which condition, and what is left to test.

use std::sync::Arc;

use super::*;
use crate::flow::apps::FieldType;
use crate::flow::plan::filter::{List, Membership, Pattern, ValueSet};
use crate::flow::plan::scalar::Scalar;
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
