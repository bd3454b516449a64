//! Has the owner of a lock stopped? The three methods of OPR-23, each with what it saw.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::cloud_run::{self, Api};
use crate::flownet::time::Timestamp;

/// How a stop is confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// A person saw it.
    Manual,
    /// The process table of this host.
    LocalPid,
    /// The Cloud Run API.
    CloudRunJobExecution,
}

impl Method {
    /// Reads a method; `None` for any other word.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "manual" => Some(Self::Manual),
            "local_pid" => Some(Self::LocalPid),
            "cloud_run_job_execution" => Some(Self::CloudRunJobExecution),
            _ => None,
        }
    }

    /// The word in the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::LocalPid => "local_pid",
            Self::CloudRunJobExecution => "cloud_run_job_execution",
        }
    }
}

/// What a confirmation needs.
pub struct Question<'a> {
    /// How.
    pub method: Method,
    /// Owner instance of the lock.
    pub instance: &'a str,
    /// Name of this host.
    pub host: &'a str,
    /// Cloud Run, when there is a token for it.
    pub cloud_run: Option<&'a Api>,
    /// Who confirms, for `manual`.
    pub confirmed_by: &'a str,
    /// Time of the check.
    pub now: Timestamp,
}

/// Tells what was seen, or why the stop is not confirmed.
///
/// # Errors
/// Everything that is not a confirmation, in words.
pub fn confirm(question: &Question<'_>) -> Result<String, String> {
    match question.method {
        Method::Manual => Ok(format!("confirmed by {}", question.confirmed_by)),
        Method::LocalPid => {
            let pid = local_pid(question.instance, question.host)?;
            is_gone(pid)?;
            Ok(format!(
                "no process {} on {} at {}; a process of that number that started later would have hidden this",
                pid.as_raw_nonzero(),
                question.host,
                question.now.iso_ms()
            ))
        }
        Method::CloudRunJobExecution => match question.cloud_run {
            None => Err("KSQL_FLOWNET_GCP_ACCESS_TOKEN is required for this stop method".to_owned()),
            Some(api) => cloud_run::confirm(api, question.instance),
        },
    }
}

/// The process of `local-pid://<host>/<pid>`, if it belongs to this host.
fn local_pid(instance: &str, host: &str) -> Result<Pid, String> {
    let named = instance
        .strip_prefix("local-pid://")
        .and_then(|rest| rest.split_once('/'))
        .filter(|(owner, _)| !owner.is_empty());
    let Some((owner, pid)) = named else {
        let shown = if instance.is_empty() {
            "not recorded"
        } else {
            instance
        };
        return Err(format!(
            "the owner instance is {shown}, not local-pid://<host>/<pid>"
        ));
    };
    if owner != host {
        return Err(format!("the owner ran on host {owner}, this is {host}"));
    }
    let digits = !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit());
    let number = pid.parse::<i32>().ok().filter(|_| digits);
    number
        .and_then(Pid::from_raw)
        .ok_or_else(|| format!("'{pid}' is not a process number"))
}

/// Signal 0 reaches a process or says that there is none.
fn is_gone(pid: Pid) -> Result<(), String> {
    let number = pid.as_raw_nonzero();
    match test_kill_process(pid) {
        Err(Errno::SRCH) => Ok(()),
        Ok(()) => Err(format!("process {number} exists")),
        Err(Errno::PERM) => Err(format!("process {number} exists and belongs to another user")),
        Err(error) => Err(format!("process {number} could not be looked up: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: Method, instance: &str) -> Result<String, String> {
        confirm(&Question {
            method,
            instance,
            host: "h1",
            cloud_run: None,
            confirmed_by: "sato",
            now: Timestamp(0),
        })
    }

    #[test]
    fn a_process_that_exists_is_no_stop() {
        let own = format!("local-pid://h1/{}", std::process::id());
        assert!(
            asked(Method::LocalPid, &own)
                .expect_err("alive")
                .contains("exists")
        );
        assert!(asked(Method::LocalPid, "local-pid://h1/1").is_err());
    }

    #[test]
    fn a_process_that_was_waited_for_is_gone() {
        let mut child = std::process::Command::new("true").spawn().expect("starts");
        child.wait().expect("ends");
        let gone = format!("local-pid://h1/{}", child.id());
        assert!(asked(Method::LocalPid, &gone).is_ok_and(|d| d.contains(&child.id().to_string())));
    }

    #[test]
    fn other_instances_prove_nothing() {
        for instance in [
            "",
            "h1",
            "local-pid://h2/999999",
            "local-pid:///7",
            "local-pid://h1/",
            "local-pid://h1/0",
            "local-pid://h1/-1",
            "local-pid://h1/+5",
            "local-pid://h1/7/8",
            "local-pid://h1/99999999999",
        ] {
            assert!(asked(Method::LocalPid, instance).is_err(), "{instance:?}");
        }
        assert!(asked(Method::CloudRunJobExecution, "projects/p").is_err());
        assert!(asked(Method::Manual, "").is_ok());
        for word in ["manual", "local_pid", "cloud_run_job_execution"] {
            assert_eq!(Method::parse(word).map(Method::as_str), Some(word));
        }
        assert_eq!(Method::parse("other"), None);
    }
}
