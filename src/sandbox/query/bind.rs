//! A parsed query against a form: field codes become slots, operators are checked by type (KTB-58 to KTB-65), values are
//! read as their field's type once instead of per record.
use std::collections::HashSet;

use jiff::Timestamp;

use super::eval::{Check, Column, IdTest, Predicate};
use super::function::{Moment, SpanText, span};
use super::lex::Comparison;
use super::parse::{Condition, Operand, Operator, Query, Test, parse};
use crate::sandbox::app::App;
use crate::sandbox::app::field::{Field, Kind};
use crate::sandbox::app::form::{Place, System};
use crate::sandbox::auth::Caller;
use crate::sandbox::error::{ApiError, BAD_QUERY, bad_query};
use crate::sandbox::store::state::State;
use crate::sandbox::value::Text;
use crate::sandbox::value::datetime::{
    date_text, instant_text, minute_of, minute_text, parse_date, parse_instant, parse_time, time_text,
};
use crate::sandbox::value::number::Decimal;

/// Most records of one answer (KTB-43).
pub const MAX_LIMIT: usize = 500;
const DEFAULT_LIMIT: usize = 100;
const MAX_OFFSET: usize = 10_000;

/// A query ready to run.
#[derive(Debug)]
pub struct Plan {
    /// Condition.
    pub predicate: Option<Predicate>,
    /// Sort keys, ascending flag.
    pub order: Vec<(Column, bool)>,
    /// Most records.
    pub limit: usize,
    /// Records to skip.
    pub offset: usize,
    /// The query names a limit or an offset.
    pub paged: bool,
}

/// What binding depends on besides the query.
pub struct Scope<'a> {
    /// State, for users.
    pub state: &'a State,
    /// The app.
    pub app: &'a App,
    /// The sender.
    pub caller: &'a Caller,
    /// The service's time.
    pub now: Timestamp,
}

/// 400 CB_VA01 on `query`.
pub fn syntax_error() -> ApiError {
    ApiError::invalid("query", BAD_QUERY)
}

impl Scope<'_> {
    /// Parses and binds a query.
    pub fn plan(&self, text: &str) -> Result<Plan, ApiError> {
        let query = parse(text).map_err(|_| syntax_error())?;
        self.bind(&query)
    }

    fn bind(&self, query: &Query) -> Result<Plan, ApiError> {
        let limit = count(query.limit.as_deref(), DEFAULT_LIMIT)?;
        if limit > MAX_LIMIT {
            return Err(bad_query(
                "GAIA_QU01",
                format!("limitには{MAX_LIMIT}以下の数を指定してください。"),
                format!("limit must be {MAX_LIMIT} or less."),
            ));
        }
        let offset = count(query.offset.as_deref(), 0)?;
        if offset > MAX_OFFSET {
            return Err(bad_query(
                "GAIA_QU02",
                format!("offsetには{MAX_OFFSET}以下の数を指定してください。"),
                format!("offset must be {MAX_OFFSET} or less."),
            ));
        }
        let predicate = query
            .condition
            .as_ref()
            .map(|condition| self.condition(condition))
            .transpose()?;
        let mut order = Vec::new();
        for key in &query.order {
            order.push((self.order_column(&key.code)?, key.ascending));
        }
        let paged = query.limit.is_some() || query.offset.is_some();
        Ok(Plan {
            predicate,
            order,
            limit,
            offset,
            paged,
        })
    }

    fn condition(&self, condition: &Condition) -> Result<Predicate, ApiError> {
        match condition {
            Condition::Test(test) => self.test(test),
            Condition::Any(parts) => Ok(Predicate::Any(
                parts
                    .iter()
                    .map(|part| self.condition(part))
                    .collect::<Result<_, _>>()?,
            )),
            Condition::All(parts) => {
                let mut flat = Vec::new();
                for part in parts {
                    match self.condition(part)? {
                        Predicate::All(inner) => flat.extend(inner),
                        other => flat.push(other),
                    }
                }
                Ok(Predicate::All(join_rows(flat)))
            }
        }
    }

    fn order_column(&self, code: &str) -> Result<Column, ApiError> {
        let column = match self.place(code)? {
            Found::Column(column) => column,
            Found::Cell(..) => return Err(not_sortable(code)),
        };
        let sortable = match column {
            Column::Slot(_, kind) => {
                !kind.is_list()
                    && !matches!(
                        kind,
                        Kind::MultiLineText | Kind::RichText | Kind::File | Kind::Subtable
                    )
            }
            _ => true,
        };
        if sortable {
            Ok(column)
        } else {
            Err(not_sortable(code))
        }
    }

    fn place(&self, code: &str) -> Result<Found<'_>, ApiError> {
        if code == "$id" {
            return Ok(Found::Column(Column::Id));
        }
        let form = &self.app.form;
        match form.place(code) {
            Some(Place::Slot(slot)) => Ok(Found::Column(Column::Slot(slot, form.fields[slot].kind))),
            Some(Place::Cell(table, cell)) => Ok(Found::Cell(table, cell, &form.fields[table].cells[cell])),
            Some(Place::System(System::RecordNumber)) => Ok(Found::Column(Column::Id)),
            Some(Place::System(System::Creator)) => Ok(Found::Column(Column::Creator)),
            Some(Place::System(System::Modifier)) => Ok(Found::Column(Column::Modifier)),
            Some(Place::System(System::CreatedTime)) => Ok(Found::Column(Column::Created)),
            Some(Place::System(System::UpdatedTime)) => Ok(Found::Column(Column::Updated)),
            _ => Err(bad_query(
                "GAIA_IQ11",
                format!("指定したフィールド（{code}）が見つかりません。"),
                format!("The field \"{code}\" in the query is not found."),
            )),
        }
    }

    fn test(&self, test: &Test) -> Result<Predicate, ApiError> {
        if test.dotted {
            return Err(bad_query(
                "GAIA_IR02",
                format!("関連レコード一覧のフィールド（{}）が見つかりません。", test.code),
                format!(
                    "The field \"{}\" of a related record list is not found.",
                    test.code
                ),
            ));
        }
        match self.place(&test.code)? {
            Found::Column(Column::Id) => self.id_test(test),
            Found::Column(column) => {
                let (check, negated) = match column {
                    Column::Slot(slot, _) => self.check(test, Subject::Field(&self.app.form.fields[slot]))?,
                    Column::Creator | Column::Modifier => self.check(test, Subject::User)?,
                    _ => self.check(test, Subject::Instant)?,
                };
                Ok(Predicate::Value {
                    column,
                    check,
                    negated,
                })
            }
            Found::Cell(table, cell, field) => {
                if matches!(
                    test.operator,
                    Operator::Compare(Comparison::Equal | Comparison::NotEqual)
                ) {
                    return Err(bad_query(
                        "GAIA_IQ07",
                        format!(
                            "テーブル内のフィールド（{}）には=と!=を使用できません。",
                            test.code
                        ),
                        format!(
                            "\"=\" and \"!=\" cannot be used for the field \"{}\" in a table.",
                            test.code
                        ),
                    ));
                }
                let (check, negated) = self.check(test, Subject::Field(field))?;
                Ok(if negated {
                    Predicate::NoRow { table, cell, check }
                } else {
                    Predicate::SameRow {
                        table,
                        checks: vec![(cell, check)],
                    }
                })
            }
        }
    }

    /// Tests of `$id` and of the record number.
    fn id_test(&self, test: &Test) -> Result<Predicate, ApiError> {
        let number = |operand: &Operand| -> Result<Decimal, ApiError> {
            let Operand::Literal(text) = operand else {
                return Err(not_allowed(&test.code));
            };
            Decimal::parse(self.app.without_code(text)).ok_or_else(syntax_error)
        };
        match test.operator {
            Operator::Compare(comparison) => {
                let number = number(&test.operands[0])?;
                Ok(Predicate::Id {
                    test: id_compare(comparison, &number),
                    negated: false,
                })
            }
            Operator::In { negated } => {
                let mut ids = HashSet::new();
                for operand in &test.operands {
                    // A number that is no whole positive id is no error, it just finds nothing.
                    ids.extend(number(operand)?.key().parse::<u64>());
                }
                Ok(Predicate::Id {
                    test: IdTest::In(ids),
                    negated,
                })
            }
            _ => Err(not_allowed(&test.code)),
        }
    }

    /// The check of a test by the type of its subject, and whether it must fail instead.
    fn check(&self, test: &Test, subject: Subject<'_>) -> Result<(Check, bool), ApiError> {
        if !allowed(subject, test.operator) {
            return Err(not_allowed(&test.code));
        }
        let kind = subject.kind();
        match test.operator {
            Operator::Empty { negated } => Ok((
                if kind == Kind::File {
                    Check::Empty
                } else {
                    Check::Blank
                },
                negated,
            )),
            Operator::Like { negated } => Ok((Check::Words(literal(test, &test.operands[0])?), negated)),
            Operator::In { negated } => Ok((self.list_check(test, subject)?, negated)),
            Operator::Compare(comparison) => self.compare_check(test, subject, comparison),
        }
    }

    fn compare_check(
        &self,
        test: &Test,
        subject: Subject<'_>,
        comparison: Comparison,
    ) -> Result<(Check, bool), ApiError> {
        let operand = &test.operands[0];
        let negated = comparison == Comparison::NotEqual;
        let equality = negated || comparison == Comparison::Equal;
        if equality && matches!(operand, Operand::Literal(text) if text.is_empty()) {
            return Ok((Check::Empty, negated));
        }
        let positive = if negated { Comparison::Equal } else { comparison };
        match subject.kind() {
            Kind::Number => {
                let number = Decimal::parse(&literal(test, operand)?).ok_or_else(syntax_error)?;
                Ok((Check::Number(positive, number.plain()), negated))
            }
            Kind::Date | Kind::Time | Kind::DateTime => Ok((
                Check::Span(positive, self.span(test, subject.kind(), operand)?),
                negated,
            )),
            _ => {
                let text = literal(test, operand)?;
                let by_words = self.app.word_equality && subject.is_plain_text();
                Ok((
                    if by_words {
                        Check::Words(text)
                    } else {
                        Check::Text(text)
                    },
                    negated,
                ))
            }
        }
    }

    fn list_check(&self, test: &Test, subject: Subject<'_>) -> Result<Check, ApiError> {
        if subject.kind() == Kind::Number {
            let mut numbers = Vec::new();
            let mut empty = false;
            for operand in &test.operands {
                let text = literal(test, operand)?;
                if text.is_empty() {
                    empty = true;
                } else {
                    numbers.push(Decimal::parse(&text).ok_or_else(syntax_error)?.plain());
                }
            }
            return Ok(Check::NumberIn(numbers, empty));
        }
        let mut wanted = HashSet::new();
        for operand in &test.operands {
            let text = match operand {
                Operand::Function(name, arguments) if subject.is_code() => {
                    self.code_function(test, name, arguments)?
                }
                _ => literal(test, operand)?,
            };
            if let Subject::Field(field) = subject
                && field.kind.has_options()
                && !text.is_empty()
                && !field.options.contains(&text)
            {
                return Err(bad_query(
                    "GAIA_IQ10",
                    format!("フィールド（{}）の選択肢に\"{text}\"はありません。", test.code),
                    format!("\"{text}\" is not an option of the field \"{}\".", test.code),
                ));
            }
            wanted.insert(Text::new(&text));
        }
        Ok(Check::In(wanted))
    }

    /// LOGINUSER() and PRIMARY_ORGANIZATION() (KTB-74). Users of the stand-in have no primary organization.
    fn code_function(&self, test: &Test, name: &str, arguments: &[String]) -> Result<String, ApiError> {
        match (name, arguments) {
            ("LOGINUSER", []) => Ok(self.state.user(self.caller.user).code.clone()),
            ("PRIMARY_ORGANIZATION", []) => Ok(String::new()),
            _ => Err(not_allowed(&test.code)),
        }
    }

    fn span(&self, test: &Test, kind: Kind, operand: &Operand) -> Result<SpanText, ApiError> {
        match operand {
            Operand::Function(name, arguments) => {
                if kind == Kind::Time {
                    return Err(not_allowed(&test.code));
                }
                let moment = Moment {
                    now: self.now,
                    zone: &self.caller.zone,
                };
                span(name, arguments, kind, &moment)?.ok_or_else(syntax_error)
            }
            Operand::Literal(text) => self.literal_span(kind, text).ok_or_else(syntax_error),
        }
    }

    /// A literal as a span: one day, one minute.
    fn literal_span(&self, kind: Kind, text: &str) -> Option<SpanText> {
        match kind {
            Kind::Date => {
                let day = parse_date(text)?;
                Some(SpanText {
                    from: date_text(day),
                    to: date_text(day.tomorrow().ok()?),
                })
            }
            Kind::Time => {
                let from = time_text(parse_time(text)?);
                // "12:30" < "12:30 " < "12:31": the first text after the minute.
                let to = format!("{from} ");
                Some(SpanText { from, to })
            }
            _ => {
                if let Some(day) = parse_date(text) {
                    let begin = day.to_zoned_datetime(self.caller.zone.clone()).ok()?;
                    let end = day
                        .tomorrow()
                        .ok()?
                        .to_zoned_datetime(self.caller.zone.clone())
                        .ok()?;
                    return Some(SpanText {
                        from: instant_text(begin.timestamp()),
                        to: instant_text(end.timestamp()),
                    });
                }
                let minute = minute_of(parse_instant(text, &self.caller.zone)?);
                Some(SpanText {
                    from: minute_text(minute),
                    to: minute_text(minute + 1),
                })
            }
        }
    }
}

enum Found<'a> {
    Column(Column),
    Cell(usize, usize, &'a Field),
}

/// What a test is about, as far as its type matters.
#[derive(Clone, Copy)]
enum Subject<'a> {
    Field(&'a Field),
    /// Creator, modifier.
    User,
    /// Created and updated time.
    Instant,
}

impl Subject<'_> {
    fn kind(self) -> Kind {
        match self {
            Self::Field(field) => field.kind,
            Self::User => Kind::UserSelect,
            Self::Instant => Kind::DateTime,
        }
    }

    fn is_code(self) -> bool {
        matches!(
            self.kind(),
            Kind::UserSelect | Kind::OrganizationSelect | Kind::GroupSelect
        )
    }

    /// Non-unique single-line text.
    fn is_plain_text(self) -> bool {
        matches!(self, Self::Field(field) if field.kind == Kind::SingleLineText && !field.unique)
    }
}

/// Operators by type (KTB-65).
fn allowed(subject: Subject<'_>, operator: Operator) -> bool {
    use Operator::{Compare, Empty, In, Like};
    let equality = matches!(operator, Compare(Comparison::Equal | Comparison::NotEqual));
    match subject.kind() {
        Kind::SingleLineText | Kind::Link => equality || matches!(operator, In { .. } | Like { .. }),
        Kind::MultiLineText | Kind::RichText | Kind::File => matches!(operator, Like { .. } | Empty { .. }),
        Kind::Number => matches!(operator, Compare(_) | In { .. }),
        Kind::Date | Kind::Time | Kind::DateTime => matches!(operator, Compare(_)),
        Kind::Subtable => false,
        _ => matches!(operator, In { .. }),
    }
}

/// Joins positive tests of one table into one that must hold on a single row (KTB-71).
fn join_rows(parts: Vec<Predicate>) -> Vec<Predicate> {
    let mut joined: Vec<Predicate> = Vec::new();
    for part in parts {
        let Predicate::SameRow { table, checks } = part else {
            joined.push(part);
            continue;
        };
        let known = joined.iter_mut().find_map(|known| match known {
            Predicate::SameRow { table: other, checks } if *other == table => Some(checks),
            _ => None,
        });
        match known {
            Some(known) => known.extend(checks),
            None => joined.push(Predicate::SameRow { table, checks }),
        }
    }
    joined
}

/// Comparison of an id with any decimal number as a comparison with a whole one.
fn id_compare(comparison: Comparison, number: &Decimal) -> IdTest {
    let plain = number.key();
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain.as_str(), ""));
    let negative = plain.starts_with('-');
    // Beyond every id: the sign alone decides.
    let bound = whole
        .parse()
        .unwrap_or(if negative { i128::MIN } else { i128::MAX });
    if fraction.is_empty() {
        return IdTest::Compare(comparison, bound);
    }
    let floor = if negative { bound.saturating_sub(1) } else { bound };
    match comparison {
        Comparison::Equal => IdTest::In(HashSet::new()),
        Comparison::NotEqual => IdTest::Compare(Comparison::NotEqual, 0),
        Comparison::Less | Comparison::LessOrEqual => IdTest::Compare(Comparison::LessOrEqual, floor),
        Comparison::Greater | Comparison::GreaterOrEqual => IdTest::Compare(Comparison::Greater, floor),
    }
}

fn count(text: Option<&str>, default: usize) -> Result<usize, ApiError> {
    match text {
        None => Ok(default),
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            // Longer than a machine number is above every limit.
            Ok(text.parse().unwrap_or(usize::MAX))
        }
        Some(_) => Err(syntax_error()),
    }
}

/// The text of a literal; functions are not allowed here.
fn literal(test: &Test, operand: &Operand) -> Result<String, ApiError> {
    match operand {
        Operand::Literal(text) => Ok(text.clone()),
        Operand::Function(..) => Err(not_allowed(&test.code)),
    }
}

fn not_allowed(code: &str) -> ApiError {
    bad_query(
        "GAIA_IQ03",
        format!("フィールド（{code}）には指定した演算子を使用できません。"),
        format!("The operator cannot be used for the field \"{code}\"."),
    )
}

fn not_sortable(code: &str) -> ApiError {
    bad_query(
        "GAIA_IQ10",
        format!("フィールド（{code}）で並べ替えることはできません。"),
        format!("The field \"{code}\" cannot be used in \"order by\"."),
    )
}
