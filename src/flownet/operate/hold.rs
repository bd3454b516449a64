//! cancel-run: a hold that stops a Run before its next node, and its release (OPR-28 to OPR-35).

use super::desk::{Desk, Stop, rounds};
use super::is_blank;
use crate::flownet::clock::uuid;
use crate::flownet::key;
use crate::flownet::lease::{Change, Role};
use crate::flownet::record::hold_event::HoldEvent;
use crate::flownet::record::status::HoldState;
use crate::flownet::record::{Hold, Run, hold};
use crate::flownet::rule::operator::{Refusal, may_hold};
use crate::flownet::run::ledger::{Entry, Stored as _};
use crate::flownet::run::{Failure, gather};
use crate::flownet::time::Timestamp;

/// What is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// Stop before the next node; with an end, until then.
    Hold(Option<Timestamp>),
    /// Let it go on.
    Release,
}

/// A cancel-run command.
pub struct Request<'a> {
    /// Run.
    pub run_id: &'a str,
    /// Why, as the file says.
    pub reason: &'a str,
    /// What is wanted.
    pub wish: Wish,
}

/// The hold after the command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// `CANCEL:<run_id>`.
    pub hold_key: String,
    /// Its state; RELEASED also when there never was one.
    pub state: HoldState,
    /// Its revision; `None` when there is no record.
    pub revision: Option<u64>,
    /// When it ends by itself.
    pub expires_at: Option<String>,
    /// The event in the audit app; `None` when nothing had to be written.
    pub event_id: Option<String>,
    /// Network of the Run.
    pub network_id: String,
    /// Profile of the Run.
    pub profile: String,
}

/// What has to be done about the stored hold.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Decision {
    /// It is as wanted.
    Nothing,
    /// The Run may not be held.
    Refused(Refusal),
    /// Write this.
    Write(Box<Hold>),
}

/// Carries the command out.
pub fn run(desk: &Desk, request: &Request<'_>) -> Result<Outcome, Failure> {
    if is_blank(request.reason) {
        return Err(Failure::new(
            "AUDIT_INPUT_REQUIRED",
            "the reason must not be blank",
        ));
    }
    let hold_key = gather::hold_key(request.run_id)?;
    rounds(|| round(desk, request, &hold_key))
}

fn round(desk: &Desk, request: &Request<'_>, hold_key: &str) -> Result<Outcome, Stop> {
    let (run, stored) = desk.run_and_hold(request.run_id)?;
    let (now, by) = (desk.clock.now(), desk.requested_by.as_str());
    let decision = decide(by, request, hold_key, &run, stored.as_ref(), now);
    let outcome = |hold: Option<&Hold>, event_id: Option<String>| Outcome {
        hold_key: hold_key.to_owned(),
        state: hold.map_or(HoldState::Released, |h| h.state),
        revision: hold.map(|h| h.revision),
        expires_at: hold.and_then(Hold::expires_at).map(str::to_owned),
        event_id,
        network_id: run.network_id.clone(),
        profile: run.profile(),
    };
    match decision {
        Decision::Nothing => Ok(outcome(stored.as_ref(), None)),
        Decision::Refused(refusal) => Err(Failure::new(refusal.code, refusal.why)
            .fact("network_id", &run.network_id)
            .fact("profile", run.profile())
            .into()),
        Decision::Write(wanted) => {
            let mut changes: Vec<Change> = Vec::new();
            let mut entry = match &stored {
                None => Entry::fresh((*wanted).clone()),
                Some(hold) => Entry::read(hold.clone()),
            };
            *entry.edit() = (*wanted).clone();
            changes.extend(entry.change());
            let mut before = stored.clone();
            if let Some(over) = stored.as_ref().filter(|h| h.is_expired(now)) {
                let released = over.released(by, hold::EXPIRED, now);
                changes.push(event(
                    &new_event_id()?,
                    Some(over),
                    &released,
                    by,
                    hold::EXPIRED,
                    now,
                )?);
                before = Some(released);
            }
            let event_id = new_event_id()?;
            changes.push(event(
                &event_id,
                before.as_ref(),
                &wanted,
                by,
                request.reason,
                now,
            )?);
            desk.write(&changes, &key::operation_record_key(&event_id)?)?;
            let mut written = *wanted;
            written.set_revision(stored.map_or(1, |h| h.revision + 1));
            Ok(outcome(Some(&written), Some(event_id)))
        }
    }
}

fn new_event_id() -> Result<String, Failure> {
    Ok(format!("hold_{}", uuid()?))
}

fn event(
    event_id: &str,
    before: Option<&Hold>,
    after: &Hold,
    by: &str,
    reason: &str,
    at: Timestamp,
) -> Result<Change, Failure> {
    let event = HoldEvent {
        event_id,
        before,
        after,
        by,
        reason,
        at,
    };
    Ok(Change::Insert {
        role: Role::Audit,
        fields: event.to_fields()?,
    })
}

/// The release of a hold whose time is over, with its event: whoever meets it first writes it, never silently.
pub(super) fn release_expired(over: &Hold, by: &str, now: Timestamp) -> Result<Vec<Change>, Failure> {
    let released = over.released(by, hold::EXPIRED, now);
    let event = event(&new_event_id()?, Some(over), &released, by, hold::EXPIRED, now)?;
    let mut entry = Entry::read(over.clone());
    *entry.edit() = released;
    Ok(entry.change().into_iter().chain([event]).collect())
}

/// OPR-30, OPR-31. An expired hold whose release nobody has written yet counts as none.
fn decide(
    by: &str,
    request: &Request<'_>,
    hold_key: &str,
    run: &Run,
    stored: Option<&Hold>,
    now: Timestamp,
) -> Decision {
    match request.wish {
        Wish::Release => match stored.filter(|h| h.is_active()) {
            None => Decision::Nothing,
            Some(hold) => Decision::Write(Box::new(hold.released(by, request.reason, now))),
        },
        Wish::Hold(expires) => match stored.filter(|h| h.stops(now)) {
            Some(hold) => {
                let same = expires.is_none_or(|at| hold.expires_at() == Some(&at.iso_ms()));
                if same {
                    Decision::Nothing
                } else {
                    Decision::Write(Box::new(hold.with_expiry(expires)))
                }
            }
            None => match may_hold(run) {
                Err(refusal) => Decision::Refused(refusal),
                Ok(()) => Decision::Write(Box::new(match stored {
                    Some(hold) => hold.requested(by, request.reason, now, expires),
                    None => Hold::first(hold_key.to_owned(), &run.run_id, by, request.reason, now, expires),
                })),
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flownet::record::status::RunStatus;

    fn run_with(status: RunStatus) -> Run {
        crate::flownet::record::run::tests::sample(status)
    }

    fn decided(status: RunStatus, stored: Option<&Hold>, wish: Wish) -> Decision {
        let request = Request {
            run_id: "r",
            reason: "because",
            wish,
        };
        decide(
            "ito",
            &request,
            "CANCEL:r",
            &run_with(status),
            stored,
            Timestamp(5000),
        )
    }

    fn hold(expires: Option<Timestamp>) -> Hold {
        let mut hold = Hold::first("CANCEL:r".into(), "r", "ops", "why", Timestamp(0), expires);
        hold.set_revision(3);
        hold
    }

    fn written(decision: Decision) -> Hold {
        match decision {
            Decision::Write(hold) => *hold,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn holding_a_run() {
        let wish = Wish::Hold(None);
        for status in [RunStatus::Created, RunStatus::Running] {
            assert_eq!(written(decided(status, None, wish)).requested_by, "ito");
            let released = hold(None).released("ops", "ok", Timestamp(1));
            let again = written(decided(status, Some(&released), wish));
            assert_eq!(
                (again.state, again.reason.as_str()),
                (HoldState::Requested, "because")
            );
            assert_eq!(decided(status, Some(&hold(None)), wish), Decision::Nothing);
            assert_eq!(
                decided(status, Some(&hold(None).accepted(Timestamp(1))), wish),
                Decision::Nothing
            );
        }
        for status in [
            RunStatus::Success,
            RunStatus::Failed,
            RunStatus::Cancelled,
            RunStatus::Unknown,
        ] {
            assert!(matches!(decided(status, None, wish), Decision::Refused(_)));
            // An existing hold is reported whatever the Run is in.
            assert_eq!(decided(status, Some(&hold(None)), wish), Decision::Nothing);
        }
    }

    #[test]
    fn an_end_can_be_moved_and_an_ended_hold_is_none() {
        let (soon, late) = (Some(Timestamp(4000)), Some(Timestamp(9000)));
        let moved = written(decided(RunStatus::Running, Some(&hold(None)), Wish::Hold(late)));
        assert_eq!(
            (moved.expires_at(), moved.requested_by.as_str()),
            (Some("1970-01-01T00:00:09.000Z"), "ops")
        );
        assert_eq!(
            decided(RunStatus::Running, Some(&hold(late)), Wish::Hold(late)),
            Decision::Nothing
        );
        assert_eq!(
            decided(RunStatus::Running, Some(&hold(late)), Wish::Hold(None)),
            Decision::Nothing
        );
        let fresh = written(decided(RunStatus::Running, Some(&hold(soon)), Wish::Hold(None)));
        assert_eq!((fresh.expires_at(), fresh.requested_by.as_str()), (None, "ito"));
        let ended = decided(RunStatus::Failed, Some(&hold(soon)), Wish::Hold(None));
        assert!(matches!(ended, Decision::Refused(_)));
    }

    #[test]
    fn releasing_a_run() {
        assert_eq!(
            decided(RunStatus::Running, None, Wish::Release),
            Decision::Nothing
        );
        let gone = hold(None).released("ops", "ok", Timestamp(1));
        assert_eq!(
            decided(RunStatus::Running, Some(&gone), Wish::Release),
            Decision::Nothing
        );
        for status in RunStatus::ALL {
            let done = written(decided(*status, Some(&hold(Some(Timestamp(1)))), Wish::Release));
            assert_eq!(done.release_requested_by.as_deref(), Some("ito"));
            assert_eq!(done.release_reason.as_deref(), Some("because"));
        }
    }
}
