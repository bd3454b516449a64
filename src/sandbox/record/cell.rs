//! Reading one sent value as its field's type: what is accepted, what is refused and under which path (KTB-85, KTB-104 to
//! KTB-107, KTB-114 to KTB-116).
use jiff::Timestamp;
use serde_json::Value as Json;

use crate::sandbox::app::App;
use crate::sandbox::app::field::{Field, Kind};
use crate::sandbox::auth::Caller;
use crate::sandbox::error::{
    ApiError, BAD_FORMAT, Message, NOT_A_NUMBER, Violations, file_not_found, not_an_option, too_many_digits,
};
use crate::sandbox::ident;
use crate::sandbox::store::state::State;
use crate::sandbox::value::datetime::{
    date_text, instant_text, parse_date, parse_instant, parse_time, time_text,
};
use crate::sandbox::value::number::Decimal;
use crate::sandbox::value::{FileRef, Text, Value};

/// One request's view while it checks a record.
pub struct Writing<'a> {
    /// State before this record.
    pub state: &'a State,
    /// The app written to.
    pub app: &'a App,
    /// The sender.
    pub caller: &'a Caller,
    /// The service's time.
    pub now: Timestamp,
}

/// Where a value stands in the request (KTB-84).
#[derive(Clone, Copy)]
pub struct Path<'a> {
    /// `record` or `records[3]`.
    pub record: &'a str,
    /// Code and row of the table around the field.
    pub row: Option<(&'a str, usize)>,
    /// Field code.
    pub code: &'a str,
}

impl Path<'_> {
    /// The path with a suffix such as `.value`.
    pub fn with(&self, suffix: &str) -> String {
        let Self { record, row, code } = self;
        match row {
            None => format!("{record}.{code}{suffix}"),
            Some((table, row)) => format!("{record}.{table}.value[{row}].value.{code}{suffix}"),
        }
    }

    /// The odd form for a top-level NUMBER that is no number: brackets, no dot.
    fn bracketed(&self) -> String {
        format!("{}[{}].value", self.record, self.code)
    }
}

/// What reading a record collects.
#[derive(Default)]
pub struct Findings {
    /// CB_VA01 paths.
    pub violations: Violations,
    /// Upload keys that the record uses up (KTB-151).
    pub uploads: Vec<String>,
}

/// Reads a sent value. `old` is the stored value that a PUT replaces: files it holds may be sent again (KTB-152).
/// A violation is noted and the value read as empty, so that a required field reports both (KTB-87).
pub fn read(
    writing: &Writing<'_>,
    field: &Field,
    sent: &Json,
    old: &Value,
    path: Path<'_>,
    findings: &mut Findings,
) -> Result<Value, ApiError> {
    let refuse = |findings: &mut Findings, message: Message| {
        findings.violations.add(path.with(".value"), message);
        Ok(Value::Empty)
    };
    if field.kind.is_list() {
        return read_list(writing, field, sent, path, findings);
    }
    if field.kind == Kind::File {
        return read_files(writing, sent, old, path, findings);
    }
    let text = match sent {
        Json::Null => return Ok(Value::Empty),
        Json::String(text) => text.as_str(),
        Json::Number(number) if !matches!(field.kind, Kind::Date | Kind::Time | Kind::DateTime) => {
            &number.to_string()
        }
        _ => return refuse(findings, BAD_FORMAT),
    };
    match field.kind {
        Kind::Number => Ok(read_number(writing, text, path, findings)),
        Kind::DropDown | Kind::RadioButton => {
            if text.is_empty() || field.options.iter().any(|option| option == text) {
                Ok(Value::text(text))
            } else {
                refuse(findings, not_an_option(text))
            }
        }
        Kind::Date | Kind::Time | Kind::DateTime => {
            if text.is_empty() {
                return Ok(Value::Empty);
            }
            let read = match field.kind {
                Kind::Date => parse_date(text).map(date_text),
                Kind::Time => parse_time(text).map(time_text),
                _ => parse_instant(text, &writing.caller.zone).map(instant_text),
            };
            read.map_or_else(|| refuse(findings, BAD_FORMAT), |read| Ok(Value::text(&read)))
        }
        _ => Ok(Value::text(text)),
    }
}

fn read_number(writing: &Writing<'_>, text: &str, path: Path<'_>, findings: &mut Findings) -> Value {
    if text.trim().is_empty() {
        return Value::Empty;
    }
    let Some(number) = Decimal::parse(text) else {
        if path.row.is_none() {
            // Inside a table the service stores nothing without a word (KTB-105).
            findings.violations.add(path.bracketed(), NOT_A_NUMBER);
        }
        return Value::Empty;
    };
    let precision = writing.app.precision;
    if number.integer_digits() > precision.integer_digits() {
        findings
            .violations
            .add(path.with(".value"), too_many_digits(precision.integer_digits()));
        return Value::Empty;
    }
    Value::text(&number.rounded(precision.decimals, precision.rounding).plain())
}

fn read_list(
    writing: &Writing<'_>,
    field: &Field,
    sent: &Json,
    path: Path<'_>,
    findings: &mut Findings,
) -> Result<Value, ApiError> {
    let items = match sent {
        Json::Null => return Ok(Value::Empty),
        Json::Array(items) => items,
        _ => {
            findings.violations.add(path.with(".values"), BAD_FORMAT);
            return Ok(Value::Empty);
        }
    };
    let mut read: Vec<Text> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let code = if field.kind.has_options() {
            item
        } else {
            item.get("code").unwrap_or(&Json::Null)
        };
        let Some(code) = code.as_str() else {
            findings
                .violations
                .add(path.with(&format!(".values[{index}].value")), BAD_FORMAT);
            continue;
        };
        if field.kind.has_options() {
            if !field.options.iter().any(|option| option == code) {
                findings
                    .violations
                    .add(path.with(&format!(".values[{index}].value")), not_an_option(code));
                continue;
            }
        } else {
            check_code(writing.state, field.kind, code)?;
        }
        if !read.iter().any(|known| known.as_str() == code) {
            read.push(Text::new(code));
        }
    }
    Ok(Value::list(read))
}

/// Unknown users, organizations and groups are refused (KTB-115).
fn check_code(state: &State, kind: Kind, code: &str) -> Result<(), ApiError> {
    let (known, error, ja, en) = match kind {
        Kind::UserSelect => (
            state.users.iter().any(|user| user.code == code),
            "GAIA_IL26",
            "ユーザー",
            "user",
        ),
        Kind::OrganizationSelect => (
            state.organizations.contains_key(code),
            "GAIA_IL28",
            "組織",
            "department",
        ),
        _ => (state.groups.contains_key(code), "GAIA_IL27", "グループ", "group"),
    };
    if known {
        return Ok(());
    }
    let message = Message::filled(
        format!("指定した{ja}（code: {code}）が見つかりません。"),
        format!("The specified {en} (code: {code}) is not found."),
    );
    Err(ApiError::new(400, error, message))
}

fn read_files(
    writing: &Writing<'_>,
    sent: &Json,
    old: &Value,
    path: Path<'_>,
    findings: &mut Findings,
) -> Result<Value, ApiError> {
    let items = match sent {
        Json::Null => return Ok(Value::Empty),
        Json::Array(items) => items,
        _ => {
            findings.violations.add(path.with(".values"), BAD_FORMAT);
            return Ok(Value::Empty);
        }
    };
    let mut files: Vec<FileRef> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(key) = item
            .get("fileKey")
            .and_then(Json::as_str)
            .filter(|key| !key.is_empty())
        else {
            findings.violations.add(
                path.with(&format!(".values[{index}].fileKey")),
                crate::sandbox::error::REQUIRED_PARAMETER,
            );
            continue;
        };
        if let Some(kept) = old.files().iter().find(|file| file.key == key) {
            files.push(kept.clone());
            continue;
        }
        let upload = writing.state.uploads.get(key).filter(|upload| {
            !findings.uploads.iter().any(|used| used == key) && !upload.expired(writing.now.as_millisecond())
        });
        let upload = upload.ok_or_else(|| file_not_found(key))?;
        findings.uploads.push(key.to_owned());
        files.push(FileRef {
            key: ident::key(),
            ..upload.file.clone()
        });
    }
    Ok(if files.is_empty() {
        Value::Empty
    } else {
        Value::Files(files.into())
    })
}
