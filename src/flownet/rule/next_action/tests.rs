//! Each state by name, and the promise for all of them: what is named as allowed is what the command takes.

use proptest::prelude::*;

use super::*;
use crate::flownet::key;
use crate::flownet::record::lock::OWNER_PREFIX;
use crate::flownet::record::run::tests::sample;
use crate::flownet::record::status::AttemptStatus;
use crate::flownet::rule::aggregate::aggregate;
use crate::flownet::rule::reconcile::{Records, examine};
use crate::flownet::time::MINUTE_MS;

const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// Everything that a case borrows.
#[derive(Clone, Debug)]
struct World {
    run: Run,
    hold: Option<Hold>,
    lock: Option<(Lock, bool)>,
    states: Vec<NodeState>,
    attempts: Vec<Attempt>,
    read: bool,
}

fn state(node: &str, status: NodeStatus, idempotent: bool, attempts: u64) -> NodeState {
    let node_state_key = key::node_state_key("r", node).expect("a key");
    NodeState {
        record_id: 1,
        revision: 9,
        business_revision: 9,
        record_key: key::state_record_key(&node_state_key).expect("a key"),
        node_state_key,
        node_state_id: format!("nodestate_{node}"),
        run_id: "r".into(),
        node_id: node.into(),
        job_id: node.into(),
        status,
        latest_attempt_no: attempts,
        active_attempt_id: if status == NodeStatus::Running {
            format!("{node}{attempts}")
        } else {
            String::new()
        },
        idempotent,
        trigger_rule: "all_success".into(),
        blocked_by: Vec::new(),
        status_reason: String::new(),
        started_at: "2026-08-29T10:00:00Z".into(),
        finished_at: String::new(),
        updated_at: "2026-08-29T10:05:00Z".into(),
    }
}

fn attempt(node: &str, number: u64, status: AttemptStatus, code: &str) -> Attempt {
    Attempt {
        record_id: 2,
        revision: 2,
        record_key: format!("ATT:{node}{number}"),
        run_id: "r".into(),
        node_id: node.into(),
        job_id: node.into(),
        invocation_id: "invoke_1".into(),
        attempt_id: format!("{node}{number}"),
        attempt_key: key::attempt_key("r", node, number).expect("a key"),
        attempt_no: number,
        status,
        result_code: code.into(),
        execution_started_at: "2026-08-29T10:00:00Z".into(),
        runner_execution_started_at: String::new(),
        execution_id: String::new(),
        finished_at: match status {
            AttemptStatus::Running => String::new(),
            _ => "2026-08-29T10:05:00Z".into(),
        },
        duration_sec: None,
        error_message: "what the runner said".into(),
        read_count: 0,
        written_count: 0,
        last_successful_chunk_no: None,
        last_written_key: String::new(),
        state_revision_before: Some(1),
    }
}

/// The attempt status that a node in this status was left by.
fn end_of(status: NodeStatus) -> Option<AttemptStatus> {
    match status {
        NodeStatus::Running => Some(AttemptStatus::Running),
        NodeStatus::Success => Some(AttemptStatus::Success),
        NodeStatus::Failed => Some(AttemptStatus::Failed),
        NodeStatus::Cancelled => Some(AttemptStatus::Cancelled),
        NodeStatus::Unknown => Some(AttemptStatus::Unknown),
        NodeStatus::Waiting | NodeStatus::Blocked | NodeStatus::Skipped => None,
    }
}

impl World {
    /// A Run whose status follows from its nodes: `(status, idempotent, failures in a row)`.
    fn of(nodes: &[(NodeStatus, bool, u64)]) -> Self {
        let (mut states, mut attempts) = (Vec::new(), Vec::new());
        for (i, (status, idempotent, tries)) in nodes.iter().enumerate() {
            let node = format!("n{i}");
            let end = end_of(*status);
            let count = if end.is_some() { (*tries).max(1) } else { *tries };
            for number in 1..=count {
                let last = number == count;
                let is = end.filter(|_| last).unwrap_or(AttemptStatus::Failed);
                let code = match is {
                    AttemptStatus::Running => "PENDING",
                    AttemptStatus::Success => "OK",
                    AttemptStatus::Cancelled => "CANCELLED",
                    AttemptStatus::Unknown => "NO_EXECUTION_RESULT",
                    AttemptStatus::Failed => "SQL_ERROR",
                };
                attempts.push(attempt(&node, number, is, code));
            }
            let mut state = state(&node, *status, *idempotent, count);
            if *status == NodeStatus::Blocked && i > 0 {
                state.blocked_by = vec![format!("n{}", i - 1)];
            }
            states.push(state);
        }
        states.reverse();
        attempts.reverse();
        let started = !attempts.is_empty();
        let status = aggregate(states.iter().map(|s| s.status), started);
        let mut run = sample(status);
        run.started_at = if started {
            "2026-08-29T10:00:00Z".into()
        } else {
            String::new()
        };
        Self {
            run,
            hold: None,
            lock: None,
            states,
            attempts,
            read: true,
        }
    }

    fn locked(mut self, own: bool, minutes: i64) -> Self {
        let lock = Lock {
            record_id: 1,
            revision: 1,
            business_revision: 1,
            record_key: "LOCK:x".into(),
            lock_key: "N1:x".into(),
            profile: "prod".into(),
            owner_invocation_id: "invoke_1".into(),
            lease_token: "t".into(),
            status_reason: format!("{OWNER_PREFIX}local-pid://h/7"),
            status: AttemptStatus::Running,
            heartbeat_at: NOW.iso_ms(),
            lease_expires_at: NOW.plus_ms(minutes * MINUTE_MS).iso_ms(),
        };
        self.lock = Some((lock, own));
        self
    }

    fn held(mut self, until: Option<i64>) -> Self {
        let end = until.map(|minutes| NOW.plus_ms(minutes * MINUTE_MS));
        self.hold = Some(Hold::first(
            "CANCEL:r".into(),
            "r",
            "sato",
            "month end\n",
            Timestamp(0),
            end,
        ));
        self
    }

    fn found(&self) -> Examination {
        examine(&Records {
            run: &self.run,
            states: &self.states,
            attempts: &self.attempts,
            resolutions: &[],
            invocations: &[],
            archived: false,
            damaged: &[],
            invocation_id: "",
        })
    }

    fn advice(&self) -> Advice {
        let found = self.found();
        advise(&Case {
            run: &self.run,
            hold: self.hold.as_ref(),
            lock: self.lock.as_ref().map(|(lock, _)| lock),
            copied: None,
            own_lock: self.lock.as_ref().is_some_and(|(_, own)| *own),
            detail: self.read.then_some(Detail {
                states: &self.states,
                attempts: &self.attempts,
                found: &found,
                refused: None,
                unlocked: &[],
            }),
            now: NOW,
        })
    }
}

/// Names of the actions, closed ones in brackets.
fn names(advice: &Advice) -> Vec<String> {
    let name = |next: &NextAction| {
        let name = match &next.action {
            Action::Resolve {
                node_id,
                to,
                approver,
            } => {
                format!("RESOLVE {node_id} {to}{}", if *approver { "+" } else { "" })
            }
            Action::RerunFrom(node) => format!("RERUN_FROM {node}"),
            other => other.as_str().to_owned(),
        };
        if next.allowed { name } else { format!("({name})") }
    };
    advice.actions.iter().map(name).collect()
}

/// Name, records, situation, kind of wait, actions.
type Row = (
    &'static str,
    World,
    Situation,
    Option<WaitKind>,
    &'static [&'static str],
);

#[test]
fn each_state_is_told_from_the_others() {
    use NodeStatus::{Blocked, Cancelled, Failed, Running, Success, Unknown, Waiting};
    use Situation as S;
    let archived = |mut world: World| {
        world.run.lifecycle = Lifecycle::Archived;
        world
    };
    let mut no_resume = World::of(&[(Failed, true, 1)]);
    no_resume.run.resume_allowed = false;
    let mut stale_status = World::of(&[(Success, true, 1), (Success, true, 1)]);
    stale_status.run.status = RunStatus::Running;
    let mut broken = World::of(&[(Unknown, true, 1)]);
    broken.states[0].active_attempt_id = "missing".into();
    let cases: Vec<Row> = vec![
        ("done", World::of(&[(Success, true, 1)]), S::Done, None, &[]),
        (
            "archived",
            archived(World::of(&[(Failed, true, 1)])),
            S::Archived,
            None,
            &["NEW_KEY"],
        ),
        (
            "made",
            World::of(&[(Waiting, true, 0)]),
            S::Waiting,
            Some(WaitKind::Schedule),
            &["RESUME", "HOLD", "ABANDON"],
        ),
        (
            "interrupted",
            World::of(&[(Success, true, 1), (Running, true, 1), (Waiting, true, 0)]),
            S::Waiting,
            Some(WaitKind::Schedule),
            &["RESUME", "HOLD", "ABANDON"],
        ),
        (
            "at work",
            World::of(&[(Running, true, 1), (Waiting, true, 0)]).locked(true, 5),
            S::Running,
            Some(WaitKind::Node),
            &["WAIT", "HOLD"],
        ),
        (
            "at work on what is left",
            World::of(&[(Failed, true, 1), (Waiting, true, 0)]).locked(true, 5),
            S::Running,
            Some(WaitKind::Lock),
            &["WAIT"],
        ),
        (
            "behind another start",
            World::of(&[(Waiting, true, 0)]).locked(false, 5),
            S::Waiting,
            Some(WaitKind::Lock),
            &["WAIT", "(RESUME)"],
        ),
        (
            "behind a dead owner",
            World::of(&[(Running, true, 1)]).locked(true, -5),
            S::Waiting,
            Some(WaitKind::Lock),
            &["(RESUME)", "FORCE_UNLOCK"],
        ),
        (
            "held",
            World::of(&[(Success, true, 1), (Waiting, true, 0)]).held(None),
            S::Held,
            Some(WaitKind::Hold),
            &["RELEASE", "(RESUME)"],
        ),
        (
            "held while it runs",
            World::of(&[(Running, true, 1)]).locked(true, 5).held(Some(5)),
            S::Held,
            Some(WaitKind::Hold),
            &["RELEASE", "(RESUME)"],
        ),
        (
            "a failed one, held",
            World::of(&[(Failed, true, 1)]).held(None),
            S::Held,
            Some(WaitKind::Hold),
            &["RELEASE", "(RESUME)"],
        ),
        (
            "a hold that is over",
            World::of(&[(Success, true, 1), (Waiting, true, 0)]).held(Some(-5)),
            S::Waiting,
            Some(WaitKind::Schedule),
            &["RESUME", "HOLD", "ABANDON"],
        ),
        (
            "unknown",
            World::of(&[(Unknown, true, 1), (Blocked, true, 0)]),
            S::Decision,
            Some(WaitKind::Person),
            &["RESOLVE n0 SUCCESS", "RESOLVE n0 FAILED", "ABANDON"],
        ),
        (
            "unknown, not to be repeated",
            World::of(&[(Unknown, false, 1)]),
            S::Decision,
            Some(WaitKind::Person),
            &["RESOLVE n0 SUCCESS+", "RESOLVE n0 FAILED", "ABANDON"],
        ),
        (
            "failed",
            World::of(&[(Failed, true, 1), (Blocked, true, 0)]),
            S::Failed,
            Some(WaitKind::Schedule),
            &["RESUME", "ARCHIVE"],
        ),
        (
            "failed in the past",
            World::of(&[(Success, true, 2), (Blocked, true, 0), (Blocked, true, 0)]),
            S::Waiting,
            Some(WaitKind::Schedule),
            &["RESUME", "ARCHIVE"],
        ),
        (
            "failed for good in one branch",
            World::of(&[
                (Failed, false, 1),
                (Blocked, true, 0),
                (Success, true, 1),
                (Blocked, true, 0),
            ]),
            S::Failed,
            Some(WaitKind::Person),
            &["RESUME", "RESOLVE n0 SUCCESS+", "ARCHIVE"],
        ),
        (
            "failed too often",
            World::of(&[(Failed, true, 3), (Blocked, true, 0)]),
            S::Failed,
            Some(WaitKind::Person),
            &["RERUN_FROM n0", "ARCHIVE"],
        ),
        (
            "failed, not to be repeated",
            World::of(&[(Failed, false, 1)]),
            S::Failed,
            Some(WaitKind::Person),
            &["RESOLVE n0 SUCCESS+", "ARCHIVE"],
        ),
        (
            "cancelled, not to be repeated",
            World::of(&[(Cancelled, false, 1)]),
            S::Cancelled,
            Some(WaitKind::Person),
            &["ARCHIVE"],
        ),
        (
            "closed to resumes",
            no_resume,
            S::Decision,
            Some(WaitKind::Person),
            &["ARCHIVE"],
        ),
        (
            "not recomputed",
            stale_status,
            S::Waiting,
            Some(WaitKind::Schedule),
            &["RESUME", "HOLD", "ABANDON"],
        ),
        (
            "contradictory",
            broken,
            S::Decision,
            Some(WaitKind::Person),
            &["ABANDON"],
        ),
    ];
    for (name, world, situation, kind, actions) in cases {
        let advice = world.advice();
        assert_eq!(advice.situation, situation, "{name}: {advice:?}");
        assert_eq!(
            advice.waiting_on.as_ref().map(|w| w.kind),
            kind,
            "{name}: {advice:?}"
        );
        assert_eq!(names(&advice), actions, "{name}");
    }
}

#[test]
fn five_questions_are_answered() {
    let held = World::of(&[(NodeStatus::Success, true, 1), (NodeStatus::Waiting, true, 0)])
        .held(Some(30))
        .advice()
        .waiting_on
        .expect("a hold");
    assert_eq!(
        (held.by.as_deref(), held.reason.as_str()),
        (Some("sato"), "month end")
    );
    assert_eq!(held.node_id.as_deref(), Some("n1"));
    assert_eq!(held.until, Some(NOW.plus_ms(30 * MINUTE_MS).iso_ms()));
    let mut unknown = World::of(&[(NodeStatus::Unknown, true, 2)]);
    unknown.states[0].status_reason = "NO_EXECUTION_RESULT".into();
    let asked = unknown.advice();
    let wait = asked.waiting_on.expect("a decision");
    assert_eq!(
        wait.reason,
        "node 'n0' is UNKNOWN (NO_EXECUTION_RESULT); attempt 2 n02: what the runner said"
    );
    assert_eq!(wait.since, "2026-08-29T10:05:00Z");
    assert!(asked.actions[0].needs.contains(&"stop_evidence_ref"));
    assert_eq!(asked.actions[0].who, Who::SecondLine);
}

#[test]
fn a_list_without_nodes_points_to_the_run() {
    for status in [RunStatus::Failed, RunStatus::Cancelled, RunStatus::Unknown] {
        let mut world = World::of(&[(NodeStatus::Failed, true, 1)]);
        world.read = false;
        world.run.status = status;
        let advice = world.advice();
        assert_eq!(advice.actions[0].action, Action::Look, "{status}");
        assert!(advice.actions[0].allowed);
    }
}

fn any_status() -> impl Strategy<Value = NodeStatus> {
    // Nobody writes SKIPPED.
    let real: Vec<NodeStatus> = NodeStatus::ALL
        .iter()
        .copied()
        .filter(|s| *s != NodeStatus::Skipped)
        .collect();
    proptest::sample::select(real)
}

fn world() -> impl Strategy<Value = World> {
    let nodes = prop::collection::vec((any_status(), any::<bool>(), 0u64..5), 1..5);
    let lock = prop::option::of((any::<bool>(), -5i64..5));
    let hold = prop::option::of(prop::option::of(-5i64..5));
    let odd = prop::option::of(proptest::sample::select(RunStatus::ALL.to_vec()));
    (nodes, lock, hold, odd, any::<[bool; 4]>()).prop_map(|(nodes, lock, hold, odd, flags)| {
        let [archived, resumable, read, loose] = flags;
        let mut world = World::of(&nodes);
        if let Some((own, minutes)) = lock {
            world = world.locked(own, minutes);
        }
        if let Some(until) = hold {
            world = world.held(until);
        }
        // A status that does not follow from the nodes, and a node that points nowhere.
        world.run.status = odd.unwrap_or(world.run.status);
        if loose {
            world.states[0].active_attempt_id = "nowhere".into();
        }
        world.run.resume_allowed = resumable || !archived;
        world.run.lifecycle = if archived {
            Lifecycle::Archived
        } else {
            Lifecycle::Active
        };
        world.read = read;
        world
    })
}

proptest! {
    #[test]
    fn every_allowed_way_is_open_and_no_state_is_a_dead_end(world in world()) {
        let advice = world.advice();
        let (run, hold, now) = (&world.run, world.hold.as_ref(), NOW);
        let held = hold.is_some_and(|h| h.stops(now));
        let live = world.lock.as_ref().is_some_and(|(l, _)| !l.is_stale_candidate(now));
        for (i, next) in advice.actions.iter().enumerate() {
            prop_assert!(advice.actions[..i].iter().all(|other| other.action != next.action), "twice: {next:?}");
            if !next.allowed {
                continue;
            }
            match &next.action {
                Action::Resume => {
                    prop_assert!(world.lock.is_none() && !held && run.resume_allowed);
                    prop_assert!(run.lifecycle == Lifecycle::Active);
                    prop_assert!(!world.read || world.found().unrepairable.is_empty());
                }
                Action::RerunFrom(_) => {
                    prop_assert!(world.lock.is_none() && !held && run.resume_allowed);
                    prop_assert!(world.states.iter().all(|s| s.status != NodeStatus::Unknown));
                }
                Action::Hold => prop_assert!(may_hold(run).is_ok() && !held),
                Action::Release => prop_assert!(hold.is_some_and(Hold::is_active)),
                Action::Resolve { node_id, to, approver } => {
                    let state = world.states.iter().find(|s| s.node_id == *node_id).expect("a node");
                    prop_assert!(may_resolve(state) && !live);
                    prop_assert_eq!(*approver, needs_approver(state, *to));
                }
                Action::Archive => prop_assert!(may_archive(run, hold, false, now).is_ok() && world.lock.is_none()),
                Action::Abandon => {
                    let edited = run.status == RunStatus::Success && !world.found().unrepairable.is_empty();
                    prop_assert!(edited || may_archive(run, hold, true, now).is_ok());
                    prop_assert!(world.lock.is_none());
                }
                Action::ForceUnlock(_) => prop_assert!(world.lock.is_some() && !live),
                Action::InspectJobLock(_) | Action::FreeJobLock(_) | Action::RecordJobUnlock(_) => {
                    prop_assert!(world.lock.is_none() && world.read);
                }
                Action::NewKey => prop_assert!(run.lifecycle == Lifecycle::Archived),
                Action::Wait => prop_assert!(live),
                Action::Look => prop_assert!(!world.read),
            }
        }
        let over = matches!(advice.situation, Situation::Done | Situation::Archived);
        prop_assert!(over || advice.actions.iter().any(|next| next.allowed), "a dead end: {advice:?}");
        prop_assert_eq!(over, advice.waiting_on.is_none());
    }
}

#[test]
fn only_a_job_that_could_not_start_is_told_as_one() {
    use crate::flownet::rule::classify::{NOTHING_EXECUTED, PREPARE_FAILED};
    let detail = "result file does not exist or could not be read";
    let why = format!("{detail}; {NOTHING_EXECUTED}: the runner ended with exit status 1");
    for (text, execution, kind) in [
        // Stopped by a signal before the job.
        (detail, "", WaitKind::Schedule),
        (&why, "", WaitKind::Person),
        (r#"{"version":1}"#, "", WaitKind::Person),
        (r#"{"version":1}"#, "batch", WaitKind::Lock),
        ("the lock prod:n0 is held since 10:00", "batch", WaitKind::Lock),
    ] {
        let mut world = World::of(&[(NodeStatus::Waiting, true, 1)]);
        world.states[0].status_reason = PREPARE_FAILED.into();
        let attempt = &mut world.attempts[0];
        attempt.status = AttemptStatus::Cancelled;
        attempt.result_code = PREPARE_FAILED.into();
        attempt.error_message = text.into();
        attempt.execution_id = execution.into();
        let advice = world.advice();
        assert_eq!(advice.situation, Situation::Waiting, "{text}");
        assert_eq!(advice.waiting_on.map(|w| w.kind), Some(kind), "{text}");
    }
}
