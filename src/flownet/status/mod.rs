//! status: gather, derive, show (contract 50, 2-5). Read only: nothing here can write.

mod gather;
mod show;

use crate::flownet::definition::Network;
use crate::flownet::record::Lock;
use crate::flownet::record::{DamagedRun, DecodeError, Hold, Invocation, NodeState, Resolution, Run};
use crate::flownet::time::Timestamp;
use crate::kintone::{App, Client};

pub use gather::gather;
pub use show::{Wording, advices, document, text};

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection {
    /// Every Run of the network.
    All,
    /// One Run by id.
    RunId(String),
    /// One Run by business key.
    BusinessKey(String),
}

/// The question of a `status` command.
pub struct Question<'a> {
    /// kintone.
    pub client: &'a Client,
    /// State app.
    pub state: &'a App,
    /// Audit app.
    pub audit: &'a App,
    /// Network as given.
    pub network_id: &'a str,
    /// Profile as given.
    pub profile: &'a str,
    /// Which Runs.
    pub selection: Selection,
    /// Days that input files are kept, where this machine knows it.
    pub retention_days: Option<u64>,
    /// Now.
    pub now: Timestamp,
}

/// Everything that was read.
#[derive(Debug)]
pub struct Facts {
    /// Network as given.
    pub network_id: String,
    /// Profile as given.
    pub profile: String,
    /// The held lock.
    pub lock: Option<Lock>,
    /// Runs in the order shown.
    pub runs: Vec<RunFacts>,
    /// Runs that cannot be read.
    pub damaged: Vec<DamagedRun>,
}

/// One Run with what belongs to it.
#[derive(Debug)]
pub struct RunFacts {
    /// The Run.
    pub run: Run,
    /// Its hold, released ones too.
    pub hold: Option<Hold>,
    /// The lock is held by one of its invocations.
    pub owns_lock: bool,
    /// Which records are copies of it, when somebody made some.
    pub copied: Option<String>,
    /// Only when one Run was asked for.
    pub detail: Option<Detail>,
}

/// What only one Run shows.
#[derive(Debug)]
pub struct Detail {
    /// Oldest first.
    pub invocations: Vec<Invocation>,
    /// Newest first, as kintone lists them (QRY-17).
    pub states: Vec<NodeState>,
    /// Newest first.
    pub attempts: Vec<crate::flownet::record::Attempt>,
    /// Oldest first.
    pub resolutions: Vec<Resolution>,
    /// An archive of the Run is on record.
    pub archived: bool,
    /// Older Invocations were left out.
    pub is_cut: bool,
    /// See [`crate::flownet::run::gather::Gathered`].
    pub unlocked: Vec<(String, u64)>,
    /// Records of the Run that cannot be read.
    pub damaged: Vec<DecodeError>,
    /// The definition in its bundle, where that was needed.
    pub network: Option<Network>,
    /// Why no start takes the Run on, where the records do not say it.
    pub refused: Option<String>,
}
