//! The format of a scheduled key: its checks (KEY-01, KEY-02) and how it is filled (KEY-05).

use super::zone::{LocalDate, Zone};
use crate::flownet::definition::network::{BusinessKeyPolicy, Period};
use crate::flownet::definition::problem::Problem;

/// Where problems of the format are reported.
pub(super) const FORMAT_PATH: &str = "$.business_key_policy.format";

const YEAR: &str = "{yyyy}";
const MONTH: &str = "{MM}";
const DAY: &str = "{dd}";
const NETWORK: &str = "{network_id}";

/// Checks a policy; an explicit one has nothing to check.
pub fn check_policy(policy: &BusinessKeyPolicy) -> Vec<Problem> {
    let BusinessKeyPolicy::Scheduled {
        period,
        timezone,
        format,
    } = policy
    else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    if Zone::find(timezone).is_none() {
        problems.push(Problem::new(
            "TIMEZONE_INVALID",
            "$.business_key_policy.timezone",
            format!("unknown IANA timezone '{timezone}'"),
        ));
    }
    let mut add = |code, message: String| problems.push(Problem::new(code, FORMAT_PATH, message));
    let parts = split(format);
    for part in &parts {
        if let Part::Placeholder(text) = part
            && ![YEAR, MONTH, DAY, NETWORK].contains(text)
        {
            add(
                "FORMAT_PLACEHOLDER_UNSUPPORTED",
                format!("unsupported placeholder '{text}'"),
            );
        }
    }
    let stray = |part: &Part<'_>| matches!(part, Part::Literal(text) if text.contains(['{', '}']));
    if parts.iter().any(stray) {
        add(
            "FORMAT_PLACEHOLDER_INVALID",
            "contains an invalid placeholder expression".to_owned(),
        );
    }
    let has = |wanted| parts.contains(&Part::Placeholder(wanted));
    let required: &[&str] = match period {
        Period::Day => &[YEAR, MONTH, DAY],
        Period::Month => &[YEAR, MONTH],
    };
    for placeholder in required {
        if !has(placeholder) {
            add(
                "FORMAT_PERIOD_MISMATCH",
                format!(
                    "period '{}' requires placeholder '{placeholder}'",
                    period.as_str()
                ),
            );
        }
    }
    if *period == Period::Month && has(DAY) {
        add(
            "FORMAT_PERIOD_MISMATCH",
            format!("period 'month' must not use placeholder '{DAY}'"),
        );
    }
    problems
}

/// Replaces every placeholder once; inserted text is not looked at again. Years are not padded (KEY-05).
pub(super) fn fill(format: &str, network_id: &str, date: LocalDate) -> String {
    split(format)
        .into_iter()
        .map(|part| match part {
            Part::Placeholder(YEAR) => date.era_year().to_string(),
            Part::Placeholder(MONTH) => format!("{:02}", date.month),
            Part::Placeholder(DAY) => format!("{:02}", date.day),
            Part::Placeholder(NETWORK) => network_id.to_owned(),
            Part::Placeholder(text) | Part::Literal(text) => text.to_owned(),
        })
        .collect()
}

/// A piece of a format.
#[derive(PartialEq, Eq)]
enum Part<'a> {
    Literal(&'a str),
    /// `{`, anything but braces, `}`.
    Placeholder(&'a str),
}

fn split(format: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = format;
    while !rest.is_empty() {
        let (literal, placeholder) = match find_placeholder(rest) {
            Some((start, end)) => (start, end),
            None => (rest.len(), rest.len()),
        };
        if literal > 0 {
            parts.push(Part::Literal(&rest[..literal]));
        }
        if placeholder > literal {
            parts.push(Part::Placeholder(&rest[literal..placeholder]));
        }
        rest = &rest[placeholder..];
    }
    parts
}

/// Byte range of the first placeholder.
fn find_placeholder(text: &str) -> Option<(usize, usize)> {
    let mut open = None;
    for (i, c) in text.char_indices() {
        match (c, open) {
            ('{', _) => open = Some(i),
            ('}', Some(start)) => return Some((start, i + 1)),
            _ => {}
        }
    }
    None
}
