//! Days and instants in the profile's time zone: the as-of functions (LNG-60), date and date-time
//! literals (LNG-55, LNG-64), and the host's own zone (LNG-63). The time zone data are bundled, so two
//! hosts never disagree about a day.

mod as_of;
mod host;
mod literal;
mod shift;

pub use as_of::AsOf;
pub use literal::{
    datetime_comparand, datetime_in_zone, is_canonical_date, is_canonical_datetime, is_canonical_time,
    parse_date, to_date, to_datetime,
};
pub use shift::DateUnit;

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::flow::sql::message::{Message, say, unknown};

/// A time zone of the IANA database.
#[derive(Clone, PartialEq, Debug)]
pub struct Zone(TimeZone);

impl Zone {
    /// Universal time.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// Finds a zone by its IANA name, such as `Asia/Tokyo` (RNR-22, RNR-96).
    ///
    /// # Errors
    /// [`CalendarError::UnknownZone`] for a name the database does not have.
    pub fn named(name: &str) -> Result<Self, CalendarError> {
        TimeZone::get(name)
            .map(Self)
            .map_err(|_| CalendarError::UnknownZone(name.to_owned()))
    }

    /// The zone of this host: `TZ`, else the system's configured zone, else UTC. Reads the environment and
    /// two system files.
    pub fn host() -> Self {
        host::zone_name()
            .and_then(|name| Self::named(&name).ok())
            .unwrap_or_else(Self::utc)
    }

    /// The IANA name, when the zone has one.
    pub fn name(&self) -> Option<&str> {
        self.0.iana_name()
    }

    /// The calendar day of an instant in this zone.
    pub fn day(&self, instant: Timestamp) -> Date {
        self.0.to_datetime(instant).date()
    }
}

/// Writes an instant as kintone stores it: UTC with whole seconds, `YYYY-MM-DDTHH:MM:SSZ`.
pub fn instant_seconds(instant: Timestamp) -> String {
    iso_seconds(TimeZone::UTC.to_datetime(instant))
}

fn iso_seconds(t: DateTime) -> String {
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        t.year(),
        t.month(),
        t.day(),
        t.hour(),
        t.minute(),
        t.second()
    )
}

/// Writes an instant as UTC with milliseconds, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
pub fn instant_millis(instant: Timestamp) -> String {
    let t = TimeZone::UTC.to_datetime(instant);
    let seconds = iso_seconds(t);
    format!("{}.{:03}Z", seconds.trim_end_matches('Z'), t.millisecond())
}

/// Writes a day as `YYYY-MM-DD`.
pub fn iso_date(date: Date) -> String {
    format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day())
}

/// What is wrong with a zone, a day or an instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CalendarError {
    /// No zone of that name in the IANA database.
    UnknownZone(String),
    /// Not a real day in `YYYY-MM-DD` or `YYYY/MM/DD`.
    NotADate(String),
    /// Not a real date-time in one of the accepted forms.
    NotADateTime(String),
}

impl CalendarError {
    /// What is wrong, and what to write instead.
    pub fn message(&self) -> Message {
        match self {
            Self::UnknownZone(name) => say!(
                "unknown time zone '{name}'; use an IANA name such as Asia/Tokyo",
                "タイムゾーン '{name}' はありません。Asia/Tokyo のような IANA の名前を使ってください"
            ),
            Self::NotADate(text) => {
                let text = unknown(text);
                say!(
                    "'{text}' is no date; write YYYY-MM-DD",
                    "'{text}' は日付ではありません。YYYY-MM-DD の形で書いてください"
                )
            }
            Self::NotADateTime(text) => {
                let text = unknown(text);
                say!(
                    "'{text}' is no date-time; write YYYY-MM-DD HH:MM or YYYY-MM-DDTHH:MM:SSZ",
                    "'{text}' は日時ではありません。YYYY-MM-DD HH:MM か YYYY-MM-DDTHH:MM:SSZ の形で書いてください"
                )
            }
        }
    }
}

impl fmt::Display for CalendarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

impl std::error::Error for CalendarError {}
