//! The closed vocabularies of advice: what a Run is in, what it waits for, what may be done by whom, and what that does.

use crate::flownet::record::status::Outcome;

/// What a Run is in, as an operator sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Situation {
    /// Somebody is at work on it.
    Running,
    /// Something that ends by itself is in the way, or the next start carries it on.
    Waiting,
    /// A person holds it.
    Held,
    /// Only a person can say how it goes on.
    Decision,
    /// A node failed.
    Failed,
    /// A node was cancelled.
    Cancelled,
    /// Closed for good.
    Archived,
    /// Everything succeeded.
    Done,
}

impl Situation {
    /// The text of `status --json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Waiting => "WAITING",
            Self::Held => "HELD",
            Self::Decision => "DECISION",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
            Self::Archived => "ARCHIVED",
            Self::Done => "DONE",
        }
    }
}

/// What kind of thing a Run waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitKind {
    /// The end of a node that is running.
    Node,
    /// The release of a hold.
    Hold,
    /// The Network lock.
    Lock,
    /// A person's decision.
    Person,
    /// The next start.
    Schedule,
}

impl WaitKind {
    /// The text of `status --json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Hold => "hold",
            Self::Lock => "lock",
            Self::Person => "person",
            Self::Schedule => "schedule",
        }
    }
}

/// What a Run waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingOn {
    /// What kind of thing.
    pub kind: WaitKind,
    /// The pending node, where one is known.
    pub node_id: Option<String>,
    /// Since when, as stored.
    pub since: String,
    /// When that ends by itself, as stored.
    pub until: Option<String>,
    /// Who is in the way, or at work.
    pub by: Option<String>,
    /// Why, with its evidence.
    pub reason: String,
}

/// A way on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// `run-network --resume-run`.
    Resume,
    /// `run-network --rerun-from` of a node.
    RerunFrom(String),
    /// `cancel-run`.
    Hold,
    /// `cancel-run --release`.
    Release,
    /// `resolve-node`.
    Resolve {
        /// Node.
        node_id: String,
        /// What a person may find.
        to: Outcome,
        /// Another person has to approve.
        approver: bool,
    },
    /// `archive-run`.
    Archive,
    /// `archive-run --abandon`.
    Abandon,
    /// `force-unlock-network` of an owner.
    ForceUnlock(String),
    /// The runner's `inspect-lock` of a job key.
    InspectJobLock(String),
    /// The runner's `force-unlock-job` of a job key.
    FreeJobLock(String),
    /// `record-job-unlock` for a node.
    RecordJobUnlock(String),
    /// `run-network` with another business key.
    NewKey,
    /// `status` of this Run alone.
    Look,
    /// Nothing: it ends by itself.
    Wait,
}

/// What a way does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The Run goes on with its next node.
    GoesOn,
    /// What the last process left open is settled first, then the Run goes on.
    SettlesAndGoesOn,
    /// Failed nodes are tried again.
    TriesAgain,
    /// The status of the Run is computed anew from its nodes.
    Recomputes,
    /// The node and everything behind it run again, the retry brake notwithstanding.
    RunsAgain,
    /// The next node is not started; what is running ends first.
    StopsBeforeNextNode,
    /// Scheduled starts leave the Run alone.
    StopsStarts,
    /// The hold ends; nothing is started.
    EndsHold,
    /// The node counts as done; nodes behind it run with the next start.
    CountsAsDone,
    /// The node runs again with the next start.
    NodeRunsAgain,
    /// The node stays failed, nodes behind it stay blocked; then the Run can be archived.
    NodeStaysFailed,
    /// The Run is closed and frees its place among `max_active_runs`; its business key stays taken.
    Closes,
    /// The lock is free; the next start settles what its owner left.
    FreesLock,
    /// Shows who holds the lock of the job.
    ShowsJobLock,
    /// The lock of the job is free; the next start executes it.
    FreesJobLock,
    /// The release of the job lock is on record.
    RecordsUnlock,
    /// The work of this business key is done again in a Run of its own.
    NewRun,
    /// Shows its nodes and what leads on.
    Shows,
    /// Ends by itself.
    EndsByItself,
}

/// Who may do it. The product knows no roles: the first line files requests in the app, the second line has the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// Everybody who may file a request, and the second line.
    FirstLine,
    /// Operators with access to the execution server.
    SecondLine,
    /// The second line, with the approval of another person.
    SecondLineAndApprover,
    /// Nobody has to do anything.
    Nobody,
}

impl Who {
    /// The text of `status --json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FirstLine => "FIRST_LINE",
            Self::SecondLine => "SECOND_LINE",
            Self::SecondLineAndApprover => "SECOND_LINE_AND_APPROVER",
            Self::Nobody => "NOBODY",
        }
    }
}

/// A way on, with what it takes and what it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextAction {
    /// What to do.
    pub action: Action,
    /// Its command takes it in this state.
    pub allowed: bool,
    /// Who may do it.
    pub who: Who,
    /// What is missing for it.
    pub needs: Vec<&'static str>,
    /// What it does.
    pub effect: Effect,
}

/// Where a Run stands and what leads on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    /// What it is in.
    pub situation: Situation,
    /// What it waits for; nothing when it is over.
    pub waiting_on: Option<WaitingOn>,
    /// Ways on, the best first.
    pub actions: Vec<NextAction>,
}

const DECISION_TEXTS: [&str; 4] = [
    "reason_file",
    "evidence_ref",
    "stop_confirmed_by",
    "stop_evidence_ref",
];

impl Action {
    /// The text of `status --json`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Resume => "RESUME",
            Self::RerunFrom(_) => "RERUN_FROM",
            Self::Hold => "HOLD",
            Self::Release => "RELEASE",
            Self::Resolve { .. } => "RESOLVE_NODE",
            Self::Archive => "ARCHIVE",
            Self::Abandon => "ABANDON",
            Self::ForceUnlock(_) => "FORCE_UNLOCK",
            Self::InspectJobLock(_) => "INSPECT_JOB_LOCK",
            Self::FreeJobLock(_) => "FREE_JOB_LOCK",
            Self::RecordJobUnlock(_) => "RECORD_JOB_UNLOCK",
            Self::NewKey => "NEW_KEY",
            Self::Look => "LOOK",
            Self::Wait => "WAIT",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Resume | Self::RerunFrom(_) | Self::Hold | Self::Release | Self::Archive | Self::NewKey => {
                Who::FirstLine
            }
            Self::Resolve { approver: true, .. } => Who::SecondLineAndApprover,
            Self::Resolve { .. }
            | Self::Abandon
            | Self::ForceUnlock(_)
            | Self::InspectJobLock(_)
            | Self::FreeJobLock(_)
            | Self::RecordJobUnlock(_) => Who::SecondLine,
            Self::Look => Who::FirstLine,
            Self::Wait => Who::Nobody,
        }
    }

    fn inputs(&self) -> Vec<&'static str> {
        let with = |more: &[&'static str]| [&DECISION_TEXTS[..], more].concat();
        match self {
            Self::Resume | Self::RerunFrom(_) => vec!["network"],
            Self::Hold | Self::Release => vec!["reason_file"],
            Self::Resolve { approver: true, .. } => with(&["approved_by"]),
            Self::Resolve { .. } => with(&[]),
            Self::Archive => vec!["network", "reason_file"],
            Self::Abandon => vec!["network", "reason_file", "evidence_ref", "stop_confirmed_by"],
            Self::ForceUnlock(_) => with(&["stop_method"]),
            Self::InspectJobLock(_) => vec!["ksql_flow_config"],
            Self::FreeJobLock(_) => vec![
                "ksql_flow_config",
                "reason",
                "person",
                "evidence_url",
                "result_file",
            ],
            Self::RecordJobUnlock(_) => {
                vec!["result_file", "reason_file", "evidence_ref", "stop_confirmed_by"]
            }
            Self::NewKey => vec!["network", "correction_key"],
            Self::Look | Self::Wait => Vec::new(),
        }
    }

    /// The way, open.
    pub(super) fn does(self, effect: Effect) -> NextAction {
        NextAction {
            allowed: true,
            who: self.who(),
            needs: self.inputs(),
            effect,
            action: self,
        }
    }

    /// The way, closed until `need` is there.
    pub(super) fn after(self, need: &'static str, effect: Effect) -> NextAction {
        let mut next = self.does(effect);
        next.allowed = false;
        next.needs.push(need);
        next
    }
}
