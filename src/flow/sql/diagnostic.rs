//! What is wrong with a script, where, and what to do about it (LNG-170, LNG-171).

use super::message::Message;
use super::position::{Lines, Span};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The script runs.
    Warning,
    /// The script is refused.
    Error,
}

/// Stable codes of findings.
pub mod code {
    /// Unknown header key.
    pub const HEADER_KEY: &str = "KSQL1001";
    /// A header key given twice.
    pub const HEADER_TWICE: &str = "KSQL1002";
    /// Bad job name.
    pub const HEADER_NAME: &str = "KSQL1003";
    /// Bad dependency list.
    pub const HEADER_DEPENDS_ON: &str = "KSQL1004";
    /// Bad time limit.
    pub const HEADER_TIMEOUT: &str = "KSQL1005";
    /// Bad dialect.
    pub const HEADER_DIALECT: &str = "KSQL1006";
    /// Unknown logical app.
    pub const LOGICAL_APP: &str = "KSQL1101";
    /// Lexical error.
    pub const LEXICAL: &str = "KSQL1201";
    /// Syntax or static error.
    pub const SYNTAX: &str = "KSQL1202";
    /// Needs dialect 1.
    pub const DIALECT: &str = "KSQL1203";
    /// Composite UPSERT key.
    pub const COMPOSITE_KEY: &str = "KSQL1301";
    /// UPSERT key missing or of a wrong type.
    pub const KEY_TYPE: &str = "KSQL1302";
    /// UPSERT key not unique in the app.
    pub const KEY_NOT_UNIQUE: &str = "KSQL1303";
    /// DML on a subtable.
    pub const SUBTABLE_DML: &str = "KSQL1304";
    /// Plain INSERT.
    pub const PLAIN_INSERT: &str = "KSQL1305";
    /// Server-side time function.
    pub const SERVER_TIME: &str = "KSQL1306";
    /// A function of kintone in a condition that cannot be sent as it is (LNG-62).
    pub const FUNCTION_NOT_PUSHED: &str = "WHERE_KINTONE_FUNCTION_REQUIRES_EXACT_PUSHDOWN";
    /// A relative date in a condition that cannot be sent as it is (LNG-62).
    pub const RELATIVE_NOT_PUSHED: &str = "WHERE_RELATIVE_DATE_REQUIRES_EXACT_PUSHDOWN";
    /// A keyword search in a condition that cannot be sent as it is (LNG-50).
    pub const KEYWORD_NOT_PUSHED: &str = "WHERE_KLIKE_REQUIRES_EXACT_PUSHDOWN";
}

/// A finding before its byte offset has become a position; small enough to be returned by every parser function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem(Box<Finding>);

/// What a [`Problem`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// One of [`code`].
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: Message,
    /// What to do.
    pub hint: Option<Message>,
    /// Where.
    pub span: Span,
}

impl std::ops::Deref for Problem {
    type Target = Finding;

    fn deref(&self) -> &Finding {
        &self.0
    }
}

impl Problem {
    /// An error.
    pub fn error(code: &'static str, span: Span, message: Message) -> Self {
        Self(Box::new(Finding {
            code,
            severity: Severity::Error,
            message,
            hint: None,
            span,
        }))
    }

    /// A warning.
    pub fn warning(code: &'static str, span: Span, message: Message) -> Self {
        Self::error(code, span, message).with_severity(Severity::Warning)
    }

    /// The same finding, more or less severe.
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.0.severity = severity;
        self
    }

    /// A syntax or static error.
    pub fn syntax(span: Span, message: Message) -> Self {
        Self::error(code::SYNTAX, span, message)
    }

    /// Adds what to do.
    pub fn hint(mut self, hint: Message) -> Self {
        self.0.hint = Some(hint);
        self
    }

    /// Resolves the place in the script that it was found in.
    pub fn locate(self, lines: &Lines) -> Diagnostic {
        let finding = *self.0;
        let position = lines.position(finding.span.start);
        let token: String = finding
            .span
            .slice(lines.source())
            .chars()
            .take(MAX_TOKEN_CHARS)
            .collect();
        Diagnostic {
            severity: finding.severity,
            code: finding.code,
            message: finding.message,
            hint: finding.hint,
            token: (!token.trim().is_empty()).then_some(token),
            line: position.line,
            column: position.column,
        }
    }
}

/// The longest piece of the script that a diagnostic repeats.
const MAX_TOKEN_CHARS: usize = 60;

/// A finding as it is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// KSQLnnnn.
    pub code: &'static str,
    /// What is wrong.
    pub message: Message,
    /// What to do.
    pub hint: Option<Message>,
    /// The offending text, cut to 60 characters.
    pub token: Option<String>,
    /// Line, from 1.
    pub line: usize,
    /// Column in UTF-16 units, from 1.
    pub column: usize,
}
