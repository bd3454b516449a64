//! What the SQL engine needs of kintone, as one trait: forms, pages of records, writes.
//!
//! The engine never sees HTTP. An adapter (the runner's REST client, or a model in tests) implements [`Apps`]; it is
//! shared by several threads, because large reads and writes keep more than one request in flight.
//!
//! # Cells
//! Every cell is text and "no value" is the empty text (LNG-40). An adapter turns kintone's JSON into cells with
//! [`decode::page`], which is the one place that knows these conventions:
//!
//! * scalar types: the value; `null` is empty;
//! * CREATOR, MODIFIER: the user's code;
//! * CHECK_BOX, MULTI_SELECT, CATEGORY: the elements, joined by a line feed (no element can contain one);
//! * USER_SELECT, ORGANIZATION_SELECT, GROUP_SELECT, STATUS_ASSIGNEE: the codes, joined by a line feed;
//! * FILE: the file names, joined by a line feed;
//! * SUBTABLE: the JSON text of the table's `value`, expanded by the engine.

mod catalog;
pub mod decode;
mod field_type;
mod form;
mod page;
mod write;

use std::error::Error;
use std::fmt;

use crate::flow::sql::message::Message;

pub use catalog::{AppMap, is_plain_logical_name, is_quoted_logical_name, logical_key};
pub use field_type::FieldType;
pub use form::{Constraints, Field, Form, FormError, LinkProtocol};
pub use page::{ArenaFull, Page, TextColumn};
pub use write::{ColumnList, WriteChunk, WritePermit, WriteRow, WriteTarget, WriteValue, Written};

/// The most records one read request returns (LNG-180).
pub const PAGE_ROWS: usize = 500;
/// The most records one write request carries (LNG-141).
pub const CHUNK_ROWS: usize = 100;

/// The number of a kintone app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub u64);

impl fmt::Display for AppId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "APP{}", self.0)
    }
}

/// One GET of records, exactly as it goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The app to read.
    pub app: AppId,
    /// kintone query text: condition, order and limit.
    pub query: String,
    /// Field codes wanted, in the order of the page's columns. Never empty.
    pub fields: Vec<String>,
    /// Ask for the number of matching records (`totalCount=true`).
    pub total_count: bool,
}

/// Number precision of an app (general settings), needed before integers are written (LNG-151).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberPrecision {
    /// Digits in all, those after the decimal point included.
    pub digits: u32,
    /// Digits after the decimal point.
    pub decimal_places: u32,
}

impl NumberPrecision {
    /// Digits before the decimal point: kintone refuses a number with more of them and rounds its fraction.
    pub fn integer_digits(self) -> u32 {
        self.digits.saturating_sub(self.decimal_places)
    }
}

/// One row of `SHOW APPS` (LNG-19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppSummary {
    /// Number of the app.
    pub id: AppId,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
}

/// A request that failed. The engine only passes it on; the caller finds its own error type in [`AppsError::source`].
#[derive(Debug)]
pub struct AppsError {
    error: Box<dyn Error + Send + Sync + 'static>,
    message: Message,
}

impl AppsError {
    /// Wraps the adapter's own error, whose text is the same in every language.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync + 'static>>) -> Self {
        let error = error.into();
        Self {
            message: Message::verbatim(error.to_string()),
            error,
        }
    }

    /// Wraps the adapter's own error with its text in every language.
    pub fn told(error: impl Error + Send + Sync + 'static, message: Message) -> Self {
        Self {
            error: Box::new(error),
            message,
        }
    }

    /// The adapter's own error, for `downcast_ref`.
    pub fn inner(&self) -> &(dyn Error + Send + Sync + 'static) {
        self.error.as_ref()
    }

    /// What happened.
    pub fn message(&self) -> &Message {
        &self.message
    }
}

impl fmt::Display for AppsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for AppsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.error.as_ref())
    }
}

/// kintone as the engine sees it. Every call is one request, except where an adapter answers from its own cache.
pub trait Apps: Sync {
    /// The form definition. The engine asks once per app and session.
    fn form(&self, app: AppId) -> Result<Form, AppsError>;

    /// Names of the process states in their order. Asked only when a STATUS field decides a condition or an order.
    fn states(&self, app: AppId) -> Result<Vec<String>, AppsError>;

    /// Number precision from the app's general settings. Asked once per app that a NUMBER is written to.
    fn number_precision(&self, app: AppId) -> Result<NumberPrecision, AppsError>;

    /// Reads one page into `into`, which the adapter resets to the request's fields first.
    fn page(&self, request: &PageRequest, into: &mut Page) -> Result<(), AppsError>;

    /// Adds, updates, upserts or deletes one chunk of at most [`CHUNK_ROWS`] records in one request.
    fn write(&self, permit: &WritePermit, chunk: &WriteChunk<'_>) -> Result<Written, AppsError>;

    /// All apps that can be seen, at most 1,000, for `SHOW APPS`.
    fn list(&self) -> Result<Vec<AppSummary>, AppsError>;

    /// Why [`list`](Self::list) is refused whatever kintone answers; sends nothing.
    fn list_refusal(&self) -> Option<Message> {
        None
    }
}
