//! Why a statement failed: the run-time names of LNG-172, in two languages, with the failed request inside.

use std::fmt;

use crate::flow::aggregate::AggregateError;
use crate::flow::apps::{AppsError, ArenaFull};
use crate::flow::calendar::CalendarError;
use crate::flow::function::FunctionError;
use crate::flow::sql::diagnostic::Problem;
use crate::flow::sql::message::{Language, Message, say, unknown};
use crate::flow::sql::position::{Position, Span};

/// Why the run was asked to stop (RNR-74, RNR-77).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// A signal.
    Cancelled,
    /// The job's or batch's deadline.
    TimedOut,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Bad values, names or types: `ArgumentError`, or a reason code.
    Argument,
    /// A violated ASSERT, and nothing else (RNR-71).
    Assert,
    /// The read limit was reached where complete input is needed: `FetchAllLimitError`.
    ReadLimit,
    /// kintone cut a keyword search short: `SearchAbortedError`.
    SearchAborted,
    /// A request failed.
    Apps,
    /// The run was asked to stop between two requests.
    Interrupted(Interrupt),
}

/// A failed statement.
#[derive(Debug)]
pub struct EngineError(Box<Failure>);

#[derive(Debug)]
struct Failure {
    kind: ErrorKind,
    code: Option<&'static str>,
    message: Message,
    span: Option<Span>,
    position: Option<Position>,
    source: Option<AppsError>,
    note: Option<Message>,
}

impl EngineError {
    fn new(kind: ErrorKind, message: Message) -> Self {
        Self(Box::new(Failure {
            kind,
            code: None,
            message,
            span: None,
            position: None,
            source: None,
            note: None,
        }))
    }

    /// An `ArgumentError`.
    pub(in crate::flow) fn argument(message: Message) -> Self {
        Self::new(ErrorKind::Argument, message)
    }

    /// An error with a code (KSQLnnnn or a reason name such as `ORDER_KEY_UNRESOLVED`).
    pub(in crate::flow) fn coded(code: &'static str, message: Message) -> Self {
        let mut error = Self::argument(message);
        error.0.code = Some(code);
        error
    }

    /// A violated ASSERT.
    pub(in crate::flow) fn assertion(message: Message) -> Self {
        Self::new(ErrorKind::Assert, message)
    }

    /// The read limit.
    pub(in crate::flow) fn read_limit(limit: u64) -> Self {
        Self::new(
            ErrorKind::ReadLimit,
            say!(
                "more than {limit} rows would have to be read; narrow the WHERE or raise limits.maxReadRows",
                "読み取り行数が上限 {limit} を超えます。WHERE で絞り込むか limits.maxReadRows を上げてください"
            ),
        )
    }

    /// A keyword search that kintone cut short.
    pub(in crate::flow) fn search_aborted() -> Self {
        Self::new(
            ErrorKind::SearchAborted,
            say!(
                "kintone stopped the keyword search at 100,000 hits; the result is incomplete",
                "kintone がキーワード検索を 10 万件で打ち切りました。結果は不完全です"
            ),
        )
    }

    /// The run was asked to stop.
    pub(in crate::flow) fn interrupted(interrupt: Interrupt) -> Self {
        let message = match interrupt {
            Interrupt::Cancelled => say!("cancelled", "中止されました"),
            Interrupt::TimedOut => say!("the time limit was reached", "制限時間に達しました"),
        };
        Self::new(ErrorKind::Interrupted(interrupt), message)
    }

    /// Adds the place inside the script.
    pub(in crate::flow) fn at(mut self, span: Span) -> Self {
        self.0.span = self.0.span.or(Some(span));
        self
    }

    /// Says what was being done, in front of the message.
    pub(in crate::flow) fn context(mut self, what: &Message) -> Self {
        self.0.message = what.joined(": ", &self.0.message);
        self
    }

    /// What happened, without the error's name.
    pub(in crate::flow) fn reason(self) -> Message {
        self.0.message
    }

    /// Adds what else is known of it, behind the message.
    pub(in crate::flow) fn note(mut self, note: Message) -> Self {
        self.0.note = Some(note);
        self
    }

    /// Where inside the statement's script text, if known.
    pub(in crate::flow) fn span(&self) -> Option<Span> {
        self.0.span
    }

    /// Turns the place into a line and column.
    pub(in crate::flow) fn locate(mut self, position: impl Fn(Span) -> Position) -> Self {
        self.0.position = self.0.span.map(position);
        self
    }

    /// Where in the script, if known.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// KSQLnnnn or reason name, if it has one.
    pub fn code(&self) -> Option<&'static str> {
        self.0.code
    }

    /// The run-time name of LNG-172.
    pub fn class(&self) -> &'static str {
        match self.0.kind {
            ErrorKind::Argument => "ArgumentError",
            ErrorKind::Assert => "AssertError",
            ErrorKind::ReadLimit => "FetchAllLimitError",
            ErrorKind::SearchAborted => "SearchAbortedError",
            ErrorKind::Apps => "ApiError",
            ErrorKind::Interrupted(_) => "Interrupted",
        }
    }

    /// One line: the name, the code if any, what happened.
    pub fn message(&self, language: Language) -> String {
        self.line().text(language).to_owned()
    }

    /// The same line, with what it quotes still known.
    pub fn line(&self) -> Message {
        let class = self.class();
        let line = self.0.message.put(|_, text| {
            let text = text.strip_prefix("ArgumentError: ").unwrap_or(text);
            match self.0.code {
                Some(code) => format!("{class}: {text} [{code}]"),
                None => format!("{class}: {text}"),
            }
        });
        match self.remark() {
            Some(note) => line.joined("; ", note),
            None => line,
        }
    }

    /// What else is known of it: how much of a statement was written.
    pub fn remark(&self) -> Option<&Message> {
        self.0.note.as_ref()
    }

    /// The failed request, for classification by its own type.
    pub fn apps_error(&self) -> Option<&AppsError> {
        self.0.source.as_ref()
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(Language::English))
    }
}

impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0
            .source
            .as_ref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}

impl From<AppsError> for EngineError {
    fn from(source: AppsError) -> Self {
        let mut error = Self::new(ErrorKind::Apps, source.message().clone());
        error.0.source = Some(source);
        error
    }
}

impl From<FunctionError> for EngineError {
    fn from(error: FunctionError) -> Self {
        Self::argument(Message::verbatim(error.to_string()))
    }
}

impl From<AggregateError> for EngineError {
    fn from(error: AggregateError) -> Self {
        Self::argument(match &error {
            AggregateError::NotANumber { function, text } => {
                let text = unknown(text);
                say!(
                    "{function}: '{text}' is no finite number; filter such rows out",
                    "{function}: '{text}' は有限の数値ではありません。その行を WHERE で除いてください"
                )
            }
            AggregateError::TooLong => Message::verbatim(error.to_string()),
        })
    }
}

impl From<CalendarError> for EngineError {
    fn from(error: CalendarError) -> Self {
        Self::argument(error.message())
    }
}

impl From<ArenaFull> for EngineError {
    fn from(error: ArenaFull) -> Self {
        Self::argument(Message::verbatim(error.to_string()))
    }
}

impl From<Problem> for EngineError {
    fn from(problem: Problem) -> Self {
        Self::coded(problem.code, problem.message.clone()).at(problem.span)
    }
}
