//! What a start works with: kintone, time, the runner, and who is asking.

use std::path::PathBuf;
use std::sync::Arc;

use super::reclaim::Examiner;
use crate::flownet::child::{Runner, StopSignal};
use crate::flownet::clock::Clock;
use crate::flownet::definition::Network;
use crate::flownet::lease::Warn;
use crate::flownet::profile::Capabilities;
use crate::kintone::{App, Client};

/// The surroundings of one start.
pub struct Context {
    /// kintone.
    pub client: Client,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// State app.
    pub state: App,
    /// Audit app.
    pub audit: App,
    /// JOB log app, read only.
    pub job_log: App,
    /// Profile.
    pub profile: String,
    /// Host name to record.
    pub host: String,
    /// `local-pid://<host>/<pid>` or the operator's own text.
    pub instance: String,
    /// Who asked.
    pub requested_by: String,
    /// The runner.
    pub runner: Runner,
    /// Folder of CSV files and how long they are kept, when a node needs them.
    pub io: Option<Io>,
    /// May a lock be taken from an owner that is proved dead? (D-08)
    pub auto_reclaim: bool,
    /// Signals.
    pub stop: StopSignal,
    /// Warnings for the operator.
    pub warn: Warn,
}

impl Context {
    /// Folder of the owner files.
    pub fn owner_dir(&self) -> PathBuf {
        self.runner.workdir.join("owners")
    }

    /// What the death of another owner is proved with.
    pub fn examiner(&self) -> Examiner<'_> {
        Examiner {
            client: &self.client,
            clock: &self.clock,
            audit: &self.audit,
            owner_dir: Some(self.owner_dir()),
            auto_reclaim: self.auto_reclaim,
            host: &self.host,
            requested_by: &self.requested_by,
            warn: &self.warn,
        }
    }
}

/// Where CSV files live (IO-02).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Io {
    /// Root folder with `in` and `out`.
    pub root: PathBuf,
    /// Days for which input files are kept.
    pub retention_days: u64,
}

/// Which Run a start is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichRun {
    /// The Run of this business key.
    Key {
        /// Business key.
        business_key: String,
        /// `--scheduled-for` as typed, or empty (KEY-09).
        as_of: String,
    },
    /// An existing Run.
    Id(String),
}

/// What is asked for.
pub struct Request {
    /// Absolute folder of the network file; SQL files are resolved against it.
    pub folder: PathBuf,
    /// Bytes of the network file: parsed, hashed and bundled as they are (item 12).
    pub network_yaml: Vec<u8>,
    /// The checked definition of these bytes.
    pub network: Network,
    /// What the runner says about itself, checked against the definition (RUN-05).
    pub capabilities: Capabilities,
    /// Which Run.
    pub which: WhichRun,
    /// Go on with an unfinished Run.
    pub resume: bool,
    /// Take this node and everything behind it again.
    pub rerun_from: Option<String>,
}

impl Request {
    /// May an existing Run be continued?
    pub fn continues(&self) -> bool {
        self.resume || self.rerun_from.is_some() || matches!(self.which, WhichRun::Id(_))
    }
}
