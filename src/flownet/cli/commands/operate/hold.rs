//! cancel-run: words in, a hold or its release out (OPR-28, OPR-33).

use super::{Told, given, read_text, run_facts};
use crate::flownet::cli::commands::translate;
use crate::flownet::cli::report::Failure;
use crate::flownet::cli::table::Command;
use crate::flownet::cli::walk::Words;
use crate::flownet::operate::Desk;
use crate::flownet::operate::hold::{self, Request, Wish};
use crate::flownet::record::status::HoldState;
use crate::flownet::time::{MINUTE_MS, Timestamp};

/// Longest hold that ends by itself, in minutes: a year and a day.
const LONGEST_MINUTES: i64 = 366 * 24 * 60;

pub fn run(command: &Command, words: &Words, desk: &Desk) -> Result<Told, Failure> {
    let wish = if words.has("--release") {
        Wish::Release
    } else {
        Wish::Hold(end(words, desk.clock.now())?)
    };
    let reason = read_text(command, words, "--reason-file")?;
    let run_id = given(words, "--run-id");
    let done = hold::run(
        desk,
        &Request {
            run_id,
            reason: &reason,
            wish,
        },
    )
    .map_err(translate)?;
    let revision = done.revision.map_or("none".to_owned(), |r| r.to_string());
    let mut lines = vec![format!(
        "{}: {} (revision {revision}).",
        done.state, done.hold_key
    )];
    if let Some(at) = done
        .expires_at
        .as_ref()
        .filter(|_| done.state != HoldState::Released)
    {
        lines.push(format!("The hold ends by itself at {at}."));
    }
    if done.event_id.is_none() {
        lines.push("It was so before; nothing was written.".to_owned());
    }
    let mut ids = vec![("run_id", run_id.to_owned()), ("hold_key", done.hold_key)];
    ids.extend(done.expires_at.map(|at| ("expires_at", at)));
    Ok(Told {
        lines,
        outcome: done.state.as_str(),
        code: if done.state == HoldState::Released {
            "HOLD_RELEASED"
        } else {
            "RUN_HELD"
        },
        ids,
        revision: done.revision,
        audit_event_id: done.event_id,
        resumes: true,
        facts: run_facts(&done.network_id, &done.profile),
    })
}

/// The end that was asked for.
fn end(words: &Words, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
    let wrong = |text: String| Failure::new("INVALID_ARGUMENT", text);
    let at = match (words.value("--expires-at"), words.value("--for")) {
        (None, None) => return Ok(None),
        (Some(text), _) => Timestamp::parse(text).ok_or_else(|| {
            wrong(format!(
                "--expires-at '{text}' is no instant such as 2026-09-30T22:00:00+09:00"
            ))
        })?,
        (None, Some(text)) => {
            let minutes = minutes(text).ok_or_else(|| {
                wrong(format!(
                    "--for '{text}' is no duration such as 90m, 2h or 3d12h, of 366d at most"
                ))
            })?;
            now.plus_ms(minutes * MINUTE_MS)
        }
    };
    let latest = now.plus_ms(LONGEST_MINUTES * MINUTE_MS);
    if at <= now || at > latest {
        return Err(wrong(format!(
            "the hold would end at {at}, which is not within a year from now"
        )));
    }
    Ok(Some(at))
}

/// `3d`, `2h`, `90m`, or several of them from the largest to the smallest; in minutes, at most a year and a day.
fn minutes(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut total = 0_i64;
    for (unit, factor) in [('d', 24 * 60), ('h', 60), ('m', 1)] {
        if let Some((number, tail)) = rest.split_once(unit)
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(factor)?)?;
            rest = tail;
        }
    }
    (rest.is_empty() && (1..=LONGEST_MINUTES).contains(&total)).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::minutes;

    #[test]
    fn durations_are_days_hours_and_minutes() {
        for (text, expected) in [
            ("90m", Some(90)),
            ("2h", Some(120)),
            ("3d12h", Some(5040)),
            ("1d1h1m", Some(1501)),
            ("366d", Some(366 * 24 * 60)),
            ("367d", None),
            ("0m", None),
            ("", None),
            ("h", None),
            ("5", None),
            ("5s", None),
            ("1h2d", None),
            ("1h 2m", None),
            ("-1h", None),
            ("+1h", None),
            ("99999999999999999999d", None),
            ("9223372036854775807h", None),
        ] {
            assert_eq!(minutes(text), expected, "{text}");
        }
    }
}
