//! The vectors of aggregation on the cells of the fixtures, and the edges between them.

use std::sync::Arc;

use super::*;
use crate::flow::value::OptionOrder;

/// APP10.金額 in record order.
const AMOUNTS: [&str; 7] = ["1000", "250.5", "400", "70", "1.10", "5000", ""];
/// APP10.顧客コード.
const CUSTOMERS: [&str; 7] = ["C001", "C002", "C001", "C003", "C001", "C002", "C004"];
/// APP10.備考.
const REMARKS: [&str; 7] = ["", "急ぎ", "", "", "x", "", ""];

fn run(spec: &Spec, cells: &[&str]) -> Result<String, AggregateError> {
    let mut accumulator = Accumulator::new(spec);
    for cell in cells {
        accumulator.add(spec, cell)?;
    }
    let mut out = String::new();
    accumulator.finish(spec, &mut out);
    Ok(out)
}

fn number(kind: Kind, cells: &[&str]) -> String {
    run(&Spec::new(kind, CompareMode::Number), cells).unwrap()
}

fn distinct(kind: Kind, cells: &[&str]) -> String {
    let spec = Spec {
        distinct: true,
        ..Spec::new(kind, CompareMode::Number)
    };
    run(&spec, cells).unwrap()
}

const ALL: [Kind; 13] = [
    Kind::CountRows,
    Kind::Count,
    Kind::Sum,
    Kind::Avg,
    Kind::Min,
    Kind::Max,
    Kind::GroupConcat,
    Kind::VarPop,
    Kind::VarSamp,
    Kind::StddevPop,
    Kind::StddevSamp,
    Kind::Median,
    Kind::Mode,
];

#[test]
fn over_nothing_and_over_empty_cells() {
    // V166, V188 and the last sentence of LNG-103.
    for kind in ALL {
        let zero = matches!(kind, Kind::CountRows | Kind::Count | Kind::Sum | Kind::Avg);
        let expected = if zero { "0" } else { "" };
        assert_eq!(number(kind, &[]), expected, "{kind:?}");
        if kind != Kind::CountRows {
            assert_eq!(number(kind, &["", ""]), expected, "{kind:?}");
        }
    }
    assert_eq!(number(Kind::CountRows, &["", ""]), "2");
}

#[test]
fn vectors() {
    assert_eq!(number(Kind::CountRows, &AMOUNTS), "7"); // V168
    assert_eq!(number(Kind::Count, &AMOUNTS), "6");
    assert_eq!(number(Kind::Count, &REMARKS), "2");
    assert_eq!(number(Kind::Sum, &AMOUNTS), "6721.6"); // V169
    assert_eq!(number(Kind::Avg, &AMOUNTS), "1120.2666666666667");
    assert_eq!(number(Kind::Min, &AMOUNTS), ""); // V171
    assert_eq!(number(Kind::Max, &AMOUNTS), "5000");
    assert_eq!(distinct(Kind::Count, &CUSTOMERS), "4"); // V174
    assert_eq!(number(Kind::GroupConcat, &REMARKS), "急ぎ,x"); // V183
    assert_eq!(number(Kind::VarSamp, &["1000"]), ""); // V185
    assert_eq!(number(Kind::VarPop, &["1000"]), "0");
    let slash = Spec {
        distinct: true,
        separator: "/".into(),
        ..Spec::new(Kind::GroupConcat, CompareMode::Text)
    };
    assert_eq!(run(&slash, &CUSTOMERS).unwrap(), "C001/C002/C003/C004"); // V182
    let options = OptionOrder::new(["低", "中", "高"]);
    let rank = Spec::new(Kind::Max, CompareMode::Options(Arc::new(options)));
    assert_eq!(run(&rank, &["高", "低", "", "中", "高"]).unwrap(), "高"); // V189
}

#[test]
fn sums_skip_what_is_no_number() {
    assert_eq!(number(Kind::Sum, &["1", "x", "", "2", "NaN"]), "3");
    assert_eq!(number(Kind::Avg, &["1", "x", "", "2"]), "1.5");
    assert_eq!(number(Kind::Sum, &["1", "Infinity"]), "Infinity");
    assert_eq!(number(Kind::Sum, &["1.10"]), "1.1");
    // Texts compare for DISTINCT, so 1 and 1.0 both count.
    assert_eq!(distinct(Kind::Sum, &["1", "1.0", "1"]), "2");
    assert_eq!(distinct(Kind::Avg, &["1", "1.0", "4", "4"]), "2");
}

#[test]
fn extremes_keep_the_first_spelling() {
    assert_eq!(number(Kind::Min, &["1.0", "1", "01"]), "1.0");
    assert_eq!(number(Kind::Max, &["9", "10", "x"]), "x");
    let text = |kind| run(&Spec::new(kind, CompareMode::Text), &["9", "10"]).unwrap();
    assert_eq!((text(Kind::Min), text(Kind::Max)), ("10".into(), "9".into()));
}

#[test]
fn computed_numbers_count_like_their_text() {
    for kind in ALL {
        let spec = Spec::new(kind, CompareMode::Number);
        let (mut by_number, mut by_text) = (Accumulator::new(&spec), Accumulator::new(&spec));
        for x in [0.1, 2.0, -3.5, 2.0] {
            by_number.add_number(&spec, x).unwrap();
            by_text.add(&spec, &crate::flow::value::print_number(x)).unwrap();
        }
        let (mut a, mut b) = (String::new(), String::new());
        by_number.finish(&spec, &mut a);
        by_text.finish(&spec, &mut b);
        assert_eq!(a, b, "{kind:?}");
    }
    assert_eq!(number(Kind::Sum, &["NaN"]), "0");
    let spec = Spec::new(Kind::Sum, CompareMode::Number);
    let mut sum = Accumulator::new(&spec);
    sum.add_number(&spec, f64::NAN).unwrap();
    let mut out = String::new();
    sum.finish(&spec, &mut out);
    assert_eq!(out, "0");
}

#[test]
fn statistics() {
    let cells = ["2", "4", "4", "4", "5", "5", "7", "9"];
    assert_eq!(number(Kind::VarPop, &cells), "4");
    assert_eq!(number(Kind::StddevPop, &cells), "2");
    assert_eq!(number(Kind::VarSamp, &["1", "2", "3", "4"]), "1.6666666666666667");
    assert_eq!(number(Kind::StddevSamp, &["1", "", "3"]), "1.4142135623730951");
    assert_eq!(number(Kind::Median, &["9", "1", "5"]), "5");
    assert_eq!(number(Kind::Median, &["9", "1", "5", "2"]), "3.5");
    assert_eq!(number(Kind::Median, &["7"]), "7");
    assert_eq!(distinct(Kind::Median, &["1", "1.0", "1e0", "9", "10"]), "9");
    assert_eq!(distinct(Kind::VarPop, &["0", "-0", "2"]), "1");
    for (kind, text) in [
        (Kind::Median, "x"),
        (Kind::VarPop, "Infinity"),
        (Kind::StddevSamp, " "),
    ] {
        let error = run(&Spec::new(kind, CompareMode::Number), &["1", text]).unwrap_err();
        assert_eq!(
            error,
            AggregateError::NotANumber {
                function: kind.name(),
                text: text.into()
            }
        );
    }
}

#[test]
fn mode_breaks_ties_by_the_arguments_order() {
    assert_eq!(number(Kind::Mode, &["10", "9", "9", "10"]), "9");
    let text = Spec::new(Kind::Mode, CompareMode::Text);
    assert_eq!(run(&text, &["10", "9", "9", "10", ""]).unwrap(), "10");
    assert_eq!(number(Kind::Mode, &["1.0", "1"]), "1");
    assert_eq!(number(Kind::Mode, &["1.0", "1", "1.0"]), "1.0");
}

#[test]
fn concatenation_is_bounded() {
    let cell = "x".repeat(MAX_CONCAT_BYTES / 2);
    let spec = Spec::new(Kind::GroupConcat, CompareMode::Text);
    assert!(run(&spec, &[&cell]).is_ok());
    assert_eq!(run(&spec, &[&cell, &cell]), Err(AggregateError::TooLong));
}

#[test]
fn running_values_do_not_consume() {
    // V218: the empty quantity is skipped.
    let spec = Spec::new(Kind::Sum, CompareMode::Number);
    let mut sum = Accumulator::new(&spec);
    let mut seen = Vec::new();
    for cell in ["2", "1", ""] {
        sum.add(&spec, cell).unwrap();
        let mut out = String::new();
        sum.finish(&spec, &mut out);
        seen.push(out);
    }
    assert_eq!(seen, ["2", "3", "3"]);
}

#[test]
fn groups_stay_small() {
    assert!(size_of::<Accumulator>() <= 32, "{}", size_of::<Accumulator>());
}

#[test]
fn names_and_modes() {
    for kind in ALL.into_iter().filter(|k| *k != Kind::CountRows) {
        assert_eq!(Kind::parse(&kind.name().to_lowercase()), Some(kind));
    }
    assert_eq!(Kind::parse("FIRST"), None);
    assert!(Kind::Sum.takes_distinct() && !Kind::Mode.takes_distinct() && !Kind::CountRows.takes_distinct());
    assert!(Kind::CountRows.is_window_function() && !Kind::Median.is_window_function());
    let mode = |kind| Spec::new(kind, CompareMode::Text).result_mode();
    assert_eq!(mode(Kind::Max), CompareMode::Text);
    assert_eq!(mode(Kind::GroupConcat), CompareMode::Text);
    assert_eq!(mode(Kind::Median), CompareMode::Number);
}
