//! One leaf of a condition as kintone's query text, by the type of its field (LNG-190).

use crate::flow::apps::FieldType;
use crate::flow::calendar::{is_canonical_date, is_canonical_datetime, is_canonical_time};
use crate::flow::sql::ast::Comparison;
use crate::flow::value::{is_number, plain_decimal};

use super::part::Sent;
use super::{LATER, PushField, quoted};
use crate::flow::plan::filter::{ServerOperator, ServerTest};
use crate::flow::plan::scalar::Scalar;
use crate::flow::plan::types::Type;

/// The most digits of a number that is sent.
const MAX_DIGITS: usize = 30;
/// The most decimal places of a number that is sent.
const MAX_DECIMALS: usize = 10;
/// Where the seconds of `YYYY-MM-DDTHH:MM:SSZ` are.
const SECONDS: std::ops::Range<usize> = 17..19;

/// What the neighbours of a leaf and the reader of the answer make necessary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances {
    /// Another part of the conjunction lets no empty cell pass, so that the leaf need not ask for them.
    pub never_empty: bool,
    /// Rows are read, and can be tested again.
    pub tested_again: bool,
}

/// The right side of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand<'v> {
    /// A constant.
    Known(&'v str),
    /// Known in a run only, and a constant then.
    Later,
}

impl<'v> Operand<'v> {
    /// The operand that a value is; `None` for one that is computed for each row.
    pub fn of(value: &'v Scalar) -> Option<Self> {
        match value {
            Scalar::Parameter(_) => Some(Self::Later),
            other => other.constant().map(Self::Known),
        }
    }

    /// As kintone takes it, if it can be sent. What is known later is taken for sendable.
    fn sent(self, render: impl Fn(&str) -> Option<String>) -> Option<String> {
        match self {
            Self::Known(value) => render(value),
            Self::Later => Some(LATER.to_owned()),
        }
    }
}

/// `field operator value`
pub(super) fn comparison(
    field: PushField<'_>,
    operator: Comparison,
    value: Operand<'_>,
    circumstances: Circumstances,
) -> Sent {
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
    // The empty cell is less than everything (LNG-43, LNG-44); to kintone it is not.
    let less = matches!(operator, Comparison::Less | Comparison::LessOrEqual);
    let with_empty = |sent: Sent, empty: &str| match sent {
        Sent::Exact(text) if less && !circumstances.never_empty => {
            Sent::Exact(format!("({text} or {code} {empty})"))
        }
        other => other,
    };
    let equality = matches!(operator, Comparison::Equal | Comparison::NotEqual);
    match kind {
        FieldType::Number => with_empty(plain(value.sent(number)), NO_NUMBER),
        FieldType::Id => plain(value.sent(integer)),
        FieldType::CalcNumber => superset(with_empty(plain(value.sent(number)), NO_NUMBER)),
        FieldType::RecordNumber => superset(plain(value.sent(integer))),
        FieldType::Date => with_empty(plain(value.sent(date)), NO_TIME),
        FieldType::Time => with_empty(plain(value.sent(time)), NO_TIME),
        FieldType::DateTime => with_empty(instant(code, operator, value), NO_TIME),
        FieldType::CreatedTime | FieldType::UpdatedTime => instant(code, operator, value),
        FieldType::SingleLineText | FieldType::Link if equality => {
            text_equality(field, operator, value, circumstances.tested_again)
        }
        FieldType::DropDown | FieldType::RadioButton | FieldType::Status if equality => {
            membership(field, &[value], operator == Comparison::NotEqual)
        }
        _ => Sent::Nothing,
    }
}

/// A test that only kintone evaluates, as written, or its complement. To kintone an empty date is neither before nor
/// behind a day: the complement of either has to ask for it, so that a record passes a test or its NOT (LNG-40, LNG-62).
pub(super) fn server_test(field: PushField<'_>, test: &ServerTest, circumstances: Circumstances) -> Sent {
    let (code, text) = (field.code, test.query(field.code));
    let ordered = matches!(
        test.operator,
        ServerOperator::Compare(
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual
        )
    );
    let maybe_empty = matches!(field.kind.field(), Some(FieldType::Date | FieldType::DateTime));
    if test.negated && ordered && maybe_empty && !circumstances.never_empty {
        return Sent::Exact(format!("({text} or {code} {NO_TIME})"));
    }
    Sent::Exact(text)
}

/// Asks for empty numbers (KTB-68).
const NO_NUMBER: &str = "in (\"\")";
/// Asks for empty dates and times, which have no `in` (KTB-65, KTB-69).
const NO_TIME: &str = "= \"\"";

/// Cells have whole minutes (KTB-114), and kintone compares minutes: an instant within one lies behind the cell of that
/// minute and before the next.
fn instant(code: &str, operator: Comparison, value: Operand<'_>) -> Sent {
    let Operand::Known(value) = value else {
        return Sent::Exact(format!("{code} {} {LATER}", operator.symbol()));
    };
    if !is_canonical_datetime(value) {
        return Sent::Nothing;
    }
    let within = value.get(SECONDS).is_some_and(|seconds| seconds != "00");
    if !within {
        return Sent::Exact(format!("{code} {} {}", operator.symbol(), quoted(value)));
    }
    let mut minute = value.to_owned();
    minute.replace_range(SECONDS, "00");
    let minute = quoted(&minute);
    match operator {
        Comparison::Less | Comparison::LessOrEqual => Sent::Exact(format!("{code} <= {minute}")),
        Comparison::Greater | Comparison::GreaterOrEqual => Sent::Exact(format!("{code} > {minute}")),
        // No cell is that instant: what is found is tested again and dropped.
        Comparison::Equal => Sent::Superset(format!("{code} = {minute}")),
        Comparison::NotEqual => Sent::Nothing,
    }
}

/// On a text that is not unique `=` and `!=` were seen to match words of it (KTB-69), `in` and `not in` never.
fn text_equality(field: PushField<'_>, operator: Comparison, value: Operand<'_>, tested_again: bool) -> Sent {
    let (code, symbol) = (field.code, operator.symbol());
    let Some(literal) = value.sent(text) else {
        return Sent::Nothing;
    };
    match operator {
        _ if field.unique => Sent::Exact(format!("{code} {symbol} {literal}")),
        Comparison::Equal if tested_again => Sent::Doubted(format!("{code} = {literal}")),
        Comparison::Equal => Sent::Exact(format!("{code} in ({literal})")),
        _ => Sent::Exact(format!("{code} not in ({literal})")),
    }
}

/// `field in (values)`
pub(super) fn membership(field: PushField<'_>, values: &[Operand<'_>], negated: bool) -> Sent {
    let Some(kind) = field.kind.field() else {
        return Sent::Nothing;
    };
    let render = |value: &str| match kind {
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
        .map(|value| value.sent(render))
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
pub(super) fn number(value: &str) -> Option<String> {
    if !is_number(value) {
        return None;
    }
    let plain = plain_decimal(value.trim(), MAX_DIGITS + MAX_DECIMALS + 2)?;
    let digits = plain.bytes().filter(u8::is_ascii_digit).count();
    let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    (digits <= MAX_DIGITS && decimals <= MAX_DECIMALS).then(|| framed(&plain))
}

/// The number with digits on both sides of its point: `.5` and `1.` are numbers here, but no literals to kintone.
fn framed(plain: &str) -> String {
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", plain.strip_prefix('+').unwrap_or(plain)),
    };
    let zero = if digits.starts_with('.') { "0" } else { "" };
    format!("{sign}{zero}{}", digits.strip_suffix('.').unwrap_or(digits))
}

fn integer(value: &str) -> Option<String> {
    number(value).filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
}

fn date(value: &str) -> Option<String> {
    is_canonical_date(value).then(|| quoted(value))
}

fn time(value: &str) -> Option<String> {
    is_canonical_time(value).then(|| quoted(value))
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
