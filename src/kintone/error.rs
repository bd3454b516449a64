//! What went wrong, typed by kintone's code first and the HTTP status second, and whether a failed write may have
//! happened. Messages are shown, never decided on: their language follows the user (KTB-03).

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::limit;
use super::transport::{Cause, Phase};
use super::wording::Phrase;
use crate::language::Language;

/// Whether a request that failed can have changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Provably not: it was never sent, kintone refused it, or it was a read.
    NotApplied,
    /// Nobody knows: it was sent and no trustworthy answer came back.
    Unknown,
}

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The record was changed meanwhile: GAIA_CO02, GAIA_UN03 (KTB-130).
    RevisionConflict,
    /// kintone could not lock its database: GAIA_DA02, GAIA_LT01, GAIA_RE18 (KTB-131).
    DatabaseLock,
    /// A value was refused, a unique one may exist already: CB_VA01; see [`Error::paths`] (KTB-109).
    Invalid,
    /// No such record, app, file or cursor (KTB-08).
    NotFound,
    /// Not logged in, or not allowed to (KTB-20 to KTB-24).
    Auth,
    /// Too many requests at the moment: 429 (KTB-09).
    TooMany,
    /// Any other refusal by kintone.
    Refused,
    /// A server fault: 5xx (KTB-11).
    Unavailable,
    /// An answer that is a redirect or none of HTTP's usual ones.
    Unexpected,
    /// No complete answer: connection, TLS, time-out.
    Transport,
    /// A success without the promised JSON (ADJ-01).
    BodyInvalid,
    /// The answer was larger than the caller allowed.
    TooLarge,
    /// The limit of requests is used up; nothing was sent (RNR-33).
    BudgetExhausted,
    /// A write in a read-only run; nothing was sent (RNR-34).
    ReadOnly,
    /// The request itself was wrong and was not sent.
    Request,
}

/// A failed request. `Display` is one line without secrets and without text that kintone sent, apart from its code; the
/// words are in the file `wording`.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    label: Phrase,
    kind: ErrorKind,
    outcome: Outcome,
    attempts: u32,
    exhausted: bool,
    status: Option<u16>,
    api: ApiError,
    cause: Option<Cause>,
    note: Option<Phrase>,
    retry_after: Option<Duration>,
}

/// kintone's own error object, or what could be read of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiError {
    /// For example `GAIA_CO02`.
    pub code: Option<String>,
    /// In the language of the account.
    pub message: Option<String>,
    /// Paths of CB_VA01 with their messages joined.
    pub paths: Vec<(String, String)>,
    /// Which request of a bulkRequest it is about, from 0.
    pub bulk_index: Option<usize>,
}

impl Error {
    fn new(label: impl Into<Phrase>, kind: ErrorKind, outcome: Outcome) -> Self {
        Self(Box::new(Inner {
            label: label.into(),
            kind,
            outcome,
            attempts: 0,
            exhausted: false,
            status: None,
            api: ApiError::default(),
            cause: None,
            note: None,
            retry_after: None,
        }))
    }

    /// A refusal on our side; nothing was sent.
    pub(super) fn local(label: impl Into<Phrase>, kind: ErrorKind, note: impl Into<Phrase>) -> Self {
        let mut error = Self::new(label, kind, Outcome::NotApplied);
        error.0.note = Some(note.into());
        error
    }

    /// No complete answer. `begun`: bytes of the body may have left us.
    pub(super) fn transport(label: impl Into<Phrase>, cause: Cause, begun: bool) -> Self {
        let kind = if cause.phase == Phase::TooLarge {
            ErrorKind::TooLarge
        } else {
            ErrorKind::Transport
        };
        let mut error = Self::new(
            label,
            kind,
            if begun {
                Outcome::Unknown
            } else {
                Outcome::NotApplied
            },
        );
        error.0.cause = Some(cause);
        error
    }

    /// An answer that is not a success. Also for stand-ins of the client in the tests of other rooms.
    pub(crate) fn answer(
        label: impl Into<Phrase>,
        status: u16,
        body: &[u8],
        retry_after: Option<Duration>,
    ) -> Self {
        let api = ApiError::parse(body);
        let kind = kind_of(status, api.code.as_deref());
        let mut error = Self::new(label, kind, outcome_of(status));
        error.0.status = Some(status);
        error.0.api = api;
        error.0.retry_after = retry_after;
        error
    }

    /// A success whose body is not what was promised.
    pub(super) fn body(label: impl Into<Phrase>, status: u16, note: impl Into<Phrase>) -> Self {
        let mut error = Self::new(label, ErrorKind::BodyInvalid, Outcome::Unknown);
        error.0.status = Some(status);
        error.0.note = Some(note.into());
        error
    }

    /// Notes the number of attempts, and whether any of them may have taken effect.
    pub(super) fn settle(&mut self, attempts: u32, unknown: bool) {
        self.0.attempts = attempts;
        self.0.outcome = if unknown {
            Outcome::Unknown
        } else {
            Outcome::NotApplied
        };
    }

    /// Notes that the last of several attempts failed in a way that could have passed.
    pub(super) fn exhaust(&mut self) {
        self.0.exhausted = true;
    }

    /// Whether the request was repeated as often as it may be, and another attempt might have succeeded (RNR-11).
    pub fn is_exhausted(&self) -> bool {
        self.0.exhausted
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    pub(super) fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
    }

    /// Whether a failed write may have happened; always [`Outcome::NotApplied`] for reads.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// The typed reason.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Refused or silent for the moment only: the same request may succeed later. Says nothing about what already
    /// happened, see [`Error::outcome`].
    pub fn is_transient(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::DatabaseLock
                | ErrorKind::TooMany
                | ErrorKind::Unavailable
                | ErrorKind::Unexpected
                | ErrorKind::Transport
                | ErrorKind::BodyInvalid
        )
    }

    /// The HTTP status, when there was an answer.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// kintone's code, such as `GAIA_CO02`.
    pub fn code(&self) -> Option<&str> {
        self.0.api.code.as_deref()
    }

    /// kintone's message in its language, control characters replaced, at most 300 characters. May quote field values.
    pub fn message(&self) -> Option<&str> {
        self.0.api.message.as_deref()
    }

    /// The paths of a CB_VA01 answer, such as `record.status.value` (KTB-84), with their messages.
    pub fn paths(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .api
            .paths
            .iter()
            .map(|(path, messages)| (path.as_str(), messages.as_str()))
    }

    /// The position of the inner request that made a bulkRequest fail (KTB-141).
    pub fn bulk_index(&self) -> Option<usize> {
        self.0.api.bulk_index
    }

    /// HTTP attempts that were made, 0 when nothing was sent.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// The request as messages name it.
    pub(super) fn label(&self) -> &Phrase {
        &self.0.label
    }

    /// What is wrong, where neither the connection nor kintone says it.
    pub(super) fn note(&self) -> Option<&Phrase> {
        self.0.note.as_ref()
    }

    /// How far a request without an answer got.
    pub(super) fn phase(&self) -> Option<Phase> {
        self.cause().map(|cause| cause.phase)
    }
}

/// English: the language of records and logs.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Language::English))
    }
}

impl std::error::Error for Error {}

/// The code decides, then the status: the status of one code has drifted over time (KTB-28).
fn kind_of(status: u16, code: Option<&str>) -> ErrorKind {
    match code {
        Some("GAIA_CO02" | "GAIA_UN03") => return ErrorKind::RevisionConflict,
        Some("GAIA_DA02" | "GAIA_LT01" | "GAIA_RE18") => return ErrorKind::DatabaseLock,
        Some("CB_VA01") => return ErrorKind::Invalid,
        Some("GAIA_RE01" | "GAIA_RE20" | "GAIA_AP01" | "GAIA_BL01" | "GAIA_CN01") => {
            return ErrorKind::NotFound;
        }
        Some(
            "CB_AU01" | "CB_WA01" | "CB_TW02" | "CB_NO01" | "CB_NO02" | "GAIA_IA02" | "GAIA_NO01"
            | "GAIA_NO02" | "GAIA_FU01" | "GAIA_AP15" | "GAIA_DA03",
        ) => return ErrorKind::Auth,
        Some("GAIA_TO04" | "GAIA_TM12") => return ErrorKind::TooMany,
        _ => {}
    }
    match status {
        401 | 403 | 407 => ErrorKind::Auth,
        404 => ErrorKind::NotFound,
        429 => ErrorKind::TooMany,
        400..=499 => ErrorKind::Refused,
        500..=599 => ErrorKind::Unavailable,
        _ => ErrorKind::Unexpected,
    }
}

/// A 4xx says that the request was not carried out. 408 and 499 come from machines in between that gave up waiting;
/// they may have passed the request on.
fn outcome_of(status: u16) -> Outcome {
    match status {
        408 | 499 => Outcome::Unknown,
        400..=498 => Outcome::NotApplied,
        _ => Outcome::Unknown,
    }
}

impl ApiError {
    /// Reads kintone's error object, alone or inside `results` of a bulkRequest (KTB-01, KTB-141). Anything else gives
    /// an empty one.
    pub fn parse(body: &[u8]) -> Self {
        let Ok(Value::Object(top)) = serde_json::from_slice(body) else {
            return Self::default();
        };
        if let Some(error) = Self::from_object(&top) {
            return error;
        }
        let results = top
            .get("results")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let failing = |(index, result): (usize, &Value)| {
            let error = Self::from_object(result.as_object()?)?;
            Some(Self {
                bulk_index: Some(index),
                ..error
            })
        };
        results.iter().enumerate().find_map(failing).unwrap_or_default()
    }

    fn from_object(object: &serde_json::Map<String, Value>) -> Option<Self> {
        let code = object.get("code")?.as_str()?;
        let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        if code.is_empty() || code.len() > 32 || !code.bytes().all(plain) {
            return None;
        }
        let paths = object
            .get("errors")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        Some(Self {
            code: Some(code.to_owned()),
            message: object.get("message").and_then(Value::as_str).map(shown),
            paths: paths
                .take(limit::ERROR_PATHS)
                .map(|(path, m)| (shown(path), messages(m)))
                .collect(),
            bulk_index: None,
        })
    }
}

fn messages(value: &Value) -> String {
    let list = value
        .get("messages")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let texts: Vec<&str> = list.iter().filter_map(Value::as_str).take(4).collect();
    shown(&texts.join(" "))
}

/// Foreign text as it may be shown: no control characters, bounded.
pub(super) fn shown(text: &str) -> String {
    let safe = |c: char| {
        if c.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    text.chars().take(limit::MESSAGE_CHARS).map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(status: u16, body: &str) -> Error {
        Error::answer(
            "PUT record of the state app (app 11)",
            status,
            body.as_bytes(),
            None,
        )
    }

    #[test]
    fn code_first_then_status() {
        for (status, code, kind, outcome) in [
            (409, "GAIA_CO02", ErrorKind::RevisionConflict, Outcome::NotApplied),
            (400, "GAIA_DA02", ErrorKind::DatabaseLock, Outcome::NotApplied),
            (520, "GAIA_RE18", ErrorKind::DatabaseLock, Outcome::Unknown),
            (400, "CB_VA01", ErrorKind::Invalid, Outcome::NotApplied),
            (404, "GAIA_RE01", ErrorKind::NotFound, Outcome::NotApplied),
            (400, "GAIA_RE20", ErrorKind::NotFound, Outcome::NotApplied),
            (520, "CB_AU01", ErrorKind::Auth, Outcome::Unknown),
            (400, "GAIA_IA02", ErrorKind::Auth, Outcome::NotApplied),
            (429, "GAIA_TO04", ErrorKind::TooMany, Outcome::NotApplied),
            (400, "GAIA_IQ11", ErrorKind::Refused, Outcome::NotApplied),
            (409, "GAIA_CO03", ErrorKind::Refused, Outcome::NotApplied),
        ] {
            let error = answer(status, &format!(r#"{{"code":"{code}","id":"x","message":"m"}}"#));
            assert_eq!(
                (error.kind(), error.outcome(), error.code()),
                (kind, outcome, Some(code))
            );
        }
        for (status, kind, outcome) in [
            (400, ErrorKind::Refused, Outcome::NotApplied),
            (401, ErrorKind::Auth, Outcome::NotApplied),
            (404, ErrorKind::NotFound, Outcome::NotApplied),
            (408, ErrorKind::Refused, Outcome::Unknown),
            (429, ErrorKind::TooMany, Outcome::NotApplied),
            (499, ErrorKind::Refused, Outcome::Unknown),
            (500, ErrorKind::Unavailable, Outcome::Unknown),
            (503, ErrorKind::Unavailable, Outcome::Unknown),
            (302, ErrorKind::Unexpected, Outcome::Unknown),
            (999, ErrorKind::Unexpected, Outcome::Unknown),
        ] {
            let error = answer(status, "<html>");
            assert_eq!(
                (error.kind(), error.outcome(), error.code()),
                (kind, outcome, None),
                "{status}"
            );
        }
    }

    #[test]
    fn paths_and_bulk_position() {
        let error = answer(
            400,
            r#"{"results":[{},{"code":"CB_VA01","id":"x","message":"bad","errors":{"record.lock_key.value":{"messages":["a","b"]}}},{}]}"#,
        );
        assert_eq!(error.bulk_index(), Some(1));
        assert_eq!(
            error.paths().collect::<Vec<_>>(),
            [("record.lock_key.value", "a b")]
        );
        assert_eq!(
            error.to_string(),
            "PUT record of the state app (app 11) failed: HTTP 400 CB_VA01 in inner request 1 at record.lock_key.value"
        );
    }

    #[test]
    fn one_line_without_foreign_text() {
        let error = answer(503, "{\"code\":\"evil\\n\\u001b[31m\",\"message\":\"SECRET\"}");
        assert_eq!(error.code(), None);
        assert_eq!(
            error.to_string(),
            "PUT record of the state app (app 11) failed: HTTP 503; whether it took effect is unknown"
        );
        let error = answer(
            400,
            "{\"code\":\"CB_VA01\",\"message\":\"a\\nb\\u001b\",\"errors\":{\"x\\ny\":{}}}",
        );
        assert_eq!(error.message(), Some("a\u{fffd}b\u{fffd}"));
        assert!(!error.to_string().contains('\n'));
    }

    proptest! {
        #[test]
        fn any_answer_gets_a_class(status in any::<u16>(), body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let error = Error::answer("GET x", status, &body, None);
            let text = error.to_string();
            prop_assert!(!text.chars().any(char::is_control));
            prop_assert_eq!(error.outcome() == Outcome::NotApplied, (400..499).contains(&status) && status != 408);
        }

        #[test]
        fn any_error_object_gets_a_class(
            code in "[A-Z0-9_]{0,40}|\\PC{0,8}", message in any::<String>(), path in any::<String>(),
            text in any::<String>(), bulk in any::<bool>(),
        ) {
            let one = serde_json::json!({
                "code": code, "id": "i", "message": message, "errors": { path: { "messages": [text] } }
            });
            let body = if bulk { serde_json::json!({ "results": [{}, one] }) } else { one };
            let error = Error::answer("GET x", 400, body.to_string().as_bytes(), None);
            prop_assert!(!error.to_string().chars().any(char::is_control));
            prop_assert!(error.message().is_none_or(|m| m.chars().count() <= limit::MESSAGE_CHARS));
            prop_assert_eq!(error.bulk_index().is_some(), bulk && error.code().is_some());
        }
    }
}
