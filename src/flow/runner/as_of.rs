//! The one instant of a run, with the text it is reported by (RNR-95).

use jiff::Timestamp;

use super::verdict::Failure;
use crate::flow::calendar::{AsOf, Zone, instant_millis};
use crate::flow::sql::message::{Message, say};

/// The as-of instant of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInstant {
    /// What the engine works with.
    pub as_of: AsOf,
    /// The text as given when it is a date-time with offset, else ISO 8601 in UTC.
    pub text: String,
}

impl RunInstant {
    /// The start of the run, when nothing was given.
    pub fn start(now: Timestamp, zone: Zone) -> Self {
        Self {
            as_of: AsOf::new(now, zone),
            text: instant_millis(now),
        }
    }

    /// Reads `--as-of`.
    ///
    /// # Errors
    /// No date or date-time.
    pub fn parse(text: &str, zone: &Zone) -> Result<Self, Failure> {
        let as_of = AsOf::parse(text, zone).map_err(|error| {
            Failure::invalid(say!(
                "--as-of: {error}",
                "--as-of {text:?}: 日付 (YYYY-MM-DD) か日時 (YYYY-MM-DDTHH:MM:SSZ など) を指定してください"
            ))
        })?;
        let text = if text.parse::<Timestamp>().is_ok() {
            text.to_owned()
        } else {
            as_of.now()
        };
        Ok(Self { as_of, text })
    }
}

/// `job: as of instant`, the first line about a job.
pub fn line(job: &str, instant: &str) -> Message {
    say!("{job}: as of {instant}", "{job}: 基準日時 {instant}")
}

/// The text of `--as-of` as a result may show it; for results of runs whose profile was never read.
pub fn reportable(text: &str) -> Option<String> {
    RunInstant::parse(text, &Zone::utc())
        .ok()
        .map(|instant| instant.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_offset_are_reported_as_given() {
        let zone = Zone::named("Asia/Tokyo").expect("zone");
        for (text, shown) in [
            ("2026-08-01T00:00:00+09:00", "2026-08-01T00:00:00+09:00"),
            ("2026-08-01T00:00:00.5Z", "2026-08-01T00:00:00.5Z"),
            ("2026-08-01T09:30", "2026-08-01T00:30:00.000Z"),
        ] {
            assert_eq!(RunInstant::parse(text, &zone).expect(text).text, shown);
        }
        assert!(
            RunInstant::parse("today", &zone)
                .is_err_and(|failure| failure.to_string().starts_with("--as-of"))
        );
        assert_eq!(reportable("today"), None);
    }
}
