//! From policy, time and given text to the business key (KEY-01 to KEY-08).
//!
//! Pure: the current time of a manual key is a parameter, and the time zone data is compiled in, so that two hosts
//! derive the same key.

mod policy;
mod zone;

pub use policy::check_policy;

use unicode_normalization::is_nfc;

use super::network::BusinessKeyPolicy;
use super::problem::Problem;
use crate::flownet::key;
use crate::flownet::time::{Civil, Timestamp};

/// Longest business key in UTF-16 code units (KEY-06).
pub const MAX_UNITS: usize = 128;

/// Earliest year a schedule may name. Before it `{yyyy}` has fewer than four digits (item 22 of the contract's
/// improvements).
const MIN_YEAR: i64 = 1000;

const GIVEN: &str = "--business-key";
const SCHEDULED_FOR: &str = "--scheduled-for";

/// The business key of a new Run (KEY-03). `None` means that the option was not given; an empty text was given.
///
/// Beyond the contract's own checks a key is refused here when no `R1` key could be made from it, so that nothing
/// fails after the lock was taken (item 3), and a schedule before the year 1000 is refused (item 22).
pub fn resolve(
    policy: &BusinessKeyPolicy,
    network_id: &str,
    scheduled_for: Option<&str>,
    business_key: Option<&str>,
) -> Result<String, Vec<Problem>> {
    let mut problems = Vec::new();
    let key = match policy {
        BusinessKeyPolicy::Explicit => explicit(scheduled_for, business_key, &mut problems),
        BusinessKeyPolicy::Scheduled { timezone, format, .. } => {
            problems = check_policy(policy);
            match (scheduled_for, business_key) {
                (None, None) => {
                    problems.push(Problem::new(
                        "SCHEDULED_FOR_REQUIRED",
                        "--scheduled-for/--business-key",
                        "either --scheduled-for or --business-key is required when \
                         business_key_policy.type is 'scheduled_period'",
                    ));
                    None
                }
                (None, Some(text)) => Some(given(text, &mut problems)),
                (Some(time), given_key) => scheduled(
                    &Schedule {
                        timezone,
                        format,
                        network_id,
                        time,
                    },
                    given_key,
                    &mut problems,
                ),
            }
        }
    };
    match key {
        Some(key) if problems.is_empty() => Ok(key),
        _ => Err(problems),
    }
}

/// The key of a manual start (KEY-07), to be used as if given.
pub fn manual_key(network_id: &str, now: Timestamp) -> String {
    let c = Civil::from(now);
    format!(
        "{network_id}@manual-{:04}{:02}{:02}T{:02}{:02}{:02}{:03}Z",
        c.year, c.month, c.day, c.hour, c.minute, c.second, c.milli
    )
}

/// The UTC form of a scheduled time (KEY-04); `None` if the text is not one.
pub fn normalize_scheduled_for(text: &str) -> Option<String> {
    Timestamp::parse(text).map(Timestamp::iso_ms)
}

/// A warning when a key is not in NFC: the record keeps it as typed while its `R1` key hashes the NFC form, so two
/// spellings share one Run (item 21).
pub fn spelling_warning(business_key: &str) -> Option<Problem> {
    (!is_nfc(business_key)).then(|| {
        Problem::new(
            "BUSINESS_KEY_NOT_NFC",
            GIVEN,
            "is not in Unicode NFC; its NFC spelling names the same Run but is another text in searches",
        )
    })
}

/// The problems that every derived key of this policy will have: its length, its characters (item 3). Empty when
/// the policy itself is wrong or explicit.
pub(super) fn constant_problems(policy: &BusinessKeyPolicy, network_id: &str) -> Vec<Problem> {
    /// Any time after [`MIN_YEAR`] with a four-digit year in every zone.
    const SAMPLE: &str = "2000-06-15T12:00:00Z";
    match policy {
        BusinessKeyPolicy::Scheduled { .. } if check_policy(policy).is_empty() => {
            resolve(policy, network_id, Some(SAMPLE), None)
                .err()
                .unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn explicit(
    scheduled_for: Option<&str>,
    business_key: Option<&str>,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    if scheduled_for.is_some() {
        problems.push(Problem::new(
            "SCHEDULED_FOR_NOT_ALLOWED",
            SCHEDULED_FOR,
            "is not allowed when business_key_policy.type is 'explicit'",
        ));
    }
    if let Some(text) = business_key {
        return Some(given(text, problems));
    }
    problems.push(Problem::new(
        "BUSINESS_KEY_REQUIRED",
        GIVEN,
        "is required when business_key_policy.type is 'explicit'",
    ));
    None
}

fn given(text: &str, problems: &mut Vec<Problem>) -> String {
    problems.extend(key_problems(text, GIVEN));
    text.to_owned()
}

struct Schedule<'a> {
    timezone: &'a str,
    format: &'a str,
    network_id: &'a str,
    time: &'a str,
}

fn scheduled(
    schedule: &Schedule<'_>,
    given_key: Option<&str>,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    let Some(time) = Timestamp::parse(schedule.time) else {
        problems.push(Problem::new(
            "SCHEDULED_FOR_INVALID",
            SCHEDULED_FOR,
            "must be a valid ISO 8601 timestamp with an explicit offset",
        ));
        return None;
    };
    if !problems.is_empty() {
        return None;
    }
    let date = zone::Zone::find(schedule.timezone)?.local_date(time);
    if date.year < MIN_YEAR || Civil::from(time).year < MIN_YEAR {
        problems.push(Problem::new(
            "SCHEDULED_FOR_INVALID",
            SCHEDULED_FOR,
            format!("must not be before the year {MIN_YEAR}"),
        ));
    }
    if let Some(text) = given_key {
        return Some(given(text, problems));
    }
    let key = policy::fill(schedule.format, schedule.network_id, date);
    problems.extend(key_problems(&key, policy::FORMAT_PATH));
    Some(key)
}

/// KEY-06, then what only the `R1` key would refuse (CAN-03).
fn key_problems(text: &str, path: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |code, message: &str| problems.push(Problem::new(code, path, message));
    if text.is_empty() {
        add("BUSINESS_KEY_EMPTY", "must not be empty");
    }
    if text.encode_utf16().count() > MAX_UNITS {
        add("BUSINESS_KEY_TOO_LONG", "must be at most 128 characters");
    }
    if text.contains(char::is_control) {
        add(
            "BUSINESS_KEY_CONTROL_CHARACTER",
            "must not contain NUL, newline, or other control characters",
        );
    }
    if text.contains(':') {
        add("BUSINESS_KEY_SEPARATOR", "must not contain ':'");
    }
    if text == key::RESERVED_IDENTIFIER {
        add(
            "BUSINESS_KEY_RESERVED",
            "must not use reserved identifier '__net__'",
        );
    }
    if problems.is_empty() && key::check_component("businessKey", text).is_err() {
        // Nothing else is left that a component may break: NFC made it longer.
        problems.push(Problem::new(
            "BUSINESS_KEY_TOO_LONG",
            path,
            "must be at most 128 Unicode characters after NFC normalization",
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::network::Period;
    use super::*;

    fn daily(timezone: &str, format: &str) -> BusinessKeyPolicy {
        BusinessKeyPolicy::Scheduled {
            period: Period::Day,
            timezone: timezone.to_owned(),
            format: format.to_owned(),
        }
    }

    fn codes(result: Result<String, Vec<Problem>>) -> Vec<&'static str> {
        result.err().unwrap_or_default().iter().map(|p| p.code).collect()
    }

    #[test]
    fn a_key_that_r1_would_refuse_is_refused_here() {
        let policy = BusinessKeyPolicy::Explicit;
        for (text, code) in [
            ("a:b", "BUSINESS_KEY_SEPARATOR"),
            ("__net__", "BUSINESS_KEY_RESERVED"),
            // 65 characters that NFC makes 130.
            (&"\u{958}".repeat(65), "BUSINESS_KEY_TOO_LONG"),
        ] {
            assert_eq!(codes(resolve(&policy, "net", None, Some(text))), [code]);
        }
        assert!(resolve(&policy, "net", None, Some("__net__x")).is_ok());
    }

    #[test]
    fn a_format_with_a_colon_never_works() {
        let policy = daily("UTC", "{yyyy}{MM}{dd} 10:00");
        assert_eq!(
            constant_problems(&policy, "net"),
            [Problem::new(
                "BUSINESS_KEY_SEPARATOR",
                "$.business_key_policy.format",
                "must not contain ':'"
            )]
        );
        assert_eq!(
            constant_problems(&daily("UTC", "{network_id}{yyyy}{MM}{dd}"), &"n".repeat(121))
                .first()
                .map(|p| p.code),
            Some("BUSINESS_KEY_TOO_LONG")
        );
    }

    #[test]
    fn schedules_before_the_year_1000_are_refused() {
        let policy = daily("Asia/Tokyo", "{yyyy}{MM}{dd}");
        assert_eq!(
            codes(resolve(&policy, "n", Some("0999-12-31T23:59:59Z"), None)),
            ["SCHEDULED_FOR_INVALID"]
        );
        assert_eq!(
            resolve(&policy, "n", Some("1000-01-01T00:00:00Z"), None).as_deref(),
            Ok("10000101")
        );
    }

    #[test]
    fn two_spellings_of_a_key_are_pointed_out() {
        assert_eq!(spelling_warning("caf\u{e9}"), None);
        assert!(spelling_warning("cafe\u{301}").is_some());
    }
}
