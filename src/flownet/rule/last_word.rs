//! Which of several Resolutions of one attempt stands (OPR-15).
//!
//! Normally there is one. A correction names the Resolution that it replaces and stands for everything that was written
//! until then; whatever comes after it must agree with it. The original knows no corrections and calls them a conflict.

use crate::flownet::record::Resolution;

/// What people said about one attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastWord<'a> {
    /// Nothing.
    None,
    /// This; several equal ones are one.
    One(&'a Resolution),
    /// Different things, of which none replaces the other; this is the newest.
    Conflict(&'a Resolution),
}

/// The word that stands for an attempt.
pub fn last_word<'a>(resolutions: &'a [Resolution], attempt_id: &str) -> LastWord<'a> {
    let mut own: Vec<&Resolution> = resolutions
        .iter()
        .filter(|r| r.attempt_id == attempt_id)
        .collect();
    own.sort_by_key(|r| r.record_id);
    let known = |at: usize| {
        let replaced = own[at].replaces.as_deref();
        replaced.is_some_and(|key| own[..at].iter().any(|r| r.record_key == key))
    };
    let from = (0..own.len()).rev().find(|at| known(*at)).unwrap_or(0);
    let standing = &own[from..];
    match standing {
        [] => LastWord::None,
        [.., newest] if standing.iter().any(|r| r.outcome != newest.outcome) => LastWord::Conflict(newest),
        [.., newest] => LastWord::One(newest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flownet::record::status::Outcome;

    fn said(record_id: u64, outcome: Outcome, replaces: Option<&str>) -> Resolution {
        Resolution {
            record_id,
            revision: 1,
            record_key: format!("RES:{record_id}"),
            attempt_id: "a".into(),
            outcome,
            requested_by: String::new(),
            resolution_type: "OUTCOME_CONFIRMED".into(),
            resolved_at: String::new(),
            replaces: replaces.map(str::to_owned),
        }
    }

    #[test]
    fn a_correction_stands_for_everything_before_it() {
        use Outcome::{Cancelled, Failed, Success};
        let word = |list: &[Resolution]| match last_word(list, "a") {
            LastWord::None => "none".to_owned(),
            LastWord::One(r) => format!("{} {}", r.record_id, r.outcome),
            LastWord::Conflict(r) => format!("conflict {}", r.record_id),
        };
        let (first, second) = (said(1, Failed, None), said(2, Cancelled, None));
        assert_eq!(word(&[]), "none");
        assert_eq!(word(&[said(1, Failed, None), said(2, Failed, None)]), "2 FAILED");
        assert_eq!(word(&[second.clone(), first.clone()]), "conflict 2");
        let corrected = said(3, Success, Some("RES:2"));
        assert_eq!(
            word(&[corrected.clone(), first.clone(), second.clone()]),
            "3 SUCCESS"
        );
        assert_eq!(
            word(&[first.clone(), said(3, Success, Some("RES:1"))]),
            "3 SUCCESS"
        );
        // A word after the correction that disagrees is a new conflict; one that names nothing known corrects nothing.
        assert_eq!(
            word(&[first.clone(), corrected.clone(), said(4, Failed, None), second]),
            "conflict 4"
        );
        assert_eq!(
            word(&[first.clone(), said(3, Success, Some("RES:9"))]),
            "conflict 3"
        );
        assert_eq!(
            word(&[said(3, Success, Some("RES:4")), first, said(4, Failed, None)]),
            "conflict 4"
        );
        assert_eq!(last_word(&[corrected], "b"), LastWord::None);
    }
}
