//! Map of the house.
//!
//! * [`kintone`] - the kintone REST client; knows nothing of Runs or SQL.
//! * [`flownet`] - the control plane: network definitions, Runs, lease, recovery, requests, status.
//! * `flow` - the runner: one SQL job file against kintone apps (feature `runner`).
//! * [`language`] - which language people are spoken to in; a value, known to all.
//! * [`os`] - stop requests and standard streams, the same for control plane and runner.
//! * `sandbox` - the local stand-in for the kintone REST API (feature `sandbox`); shares no code with [`kintone`].
//!
//! Floors: `kintone` and `os` import nobody; `flow` and `flownet` never import each other (processes, argv, JSON and the
//! JOB log are all they share); `sandbox` imports nobody.
#![forbid(unsafe_code)]

pub mod flownet;
pub mod kintone;
pub mod language;
pub mod os;

#[cfg(feature = "runner")]
pub mod flow;
#[cfg(feature = "sandbox")]
pub mod sandbox;
