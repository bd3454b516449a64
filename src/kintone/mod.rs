//! The kintone REST client: every request of both programs goes through one function (D-03, D-04, D-07).
//!
//! * [`client`] - the one function: limits, retries, counting, the read-only guard.
//! * [`request`] - requests as values, and their form on the wire.
//! * [`retry`] - what may be repeated, and how long to wait before.
//! * [`error`] - kintone's codes as types, and whether a failed write may have happened; [`wording`] - how it is told.
//! * [`transport`], [`tls`], [`proxy`] - one attempt on the wire.
//! * [`page`], [`write`](mod@write), [`bulk`], [`file`] - the calls, all built on the one function.
//! * [`query`], [`field`] - query text that cannot be mis-escaped; typed values of records.
//! * [`bearer`] - one read of another service over the same transport.
//! * [`budget`], [`limit`] - requests counted per app; every limit in one place.

pub mod bearer;
pub mod budget;
pub mod bulk;
pub mod client;
pub mod config;
pub mod error;
pub mod field;
pub mod file;
pub mod limit;
pub mod page;
pub mod proxy;
pub mod query;
pub mod request;
pub mod retry;
pub mod secret;
pub mod tls;
pub mod transport;
pub mod wording;
pub mod write;

pub use budget::RequestCounts;
pub use bulk::BulkItem;
pub use client::{Answer, Client, Observer, Trace};
pub use config::{App, Auth, BaseUrl, Config, ConfigError, Timeouts};
pub use error::{Error, ErrorKind, Outcome};
pub use field::{Fields, Record};
pub use page::Page;
pub use proxy::Proxy;
pub use request::Request;
pub use retry::{Repeat, Retry, Statuses};
pub use secret::Secret;
pub use write::{Added, Target, Update, Upserted};
