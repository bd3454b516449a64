//! Web hooks: one alarm on failure, one heartbeat on completion (RNR-115).

use serde_json::{Value, json};

use super::config::{HeartbeatOn, Profile};
use super::connection::USER_AGENT;
use super::console::Console;
use super::host;
use super::verdict::{Exit, JobStatus};
use crate::flow::calendar::instant_millis;
use crate::flow::sql::message::{Language, Message, say};
use crate::kintone::Secret;

/// One job in a message.
pub struct JobLine<'a> {
    /// Logical name.
    pub name: &'a str,
    /// File name.
    pub script: &'a str,
    /// Status.
    pub status: JobStatus,
    /// Error text, or the reason of a skip.
    pub error: Option<&'a str>,
}

/// What ended.
pub struct Ending<'a> {
    /// `job` for a single run, `batch` for run-all.
    pub kind: &'static str,
    /// Session id.
    pub batch_id: &'a str,
    /// Status of the job or batch.
    pub status: JobStatus,
    /// Exit code of the process.
    pub exit: Exit,
    /// Fixed instant.
    pub as_of: &'a str,
    /// Jobs.
    pub jobs: Vec<JobLine<'a>>,
}

impl Ending<'_> {
    fn alarm(&self, profile: &str) -> Value {
        let jobs: Vec<Value> = self
            .jobs
            .iter()
            .map(|job| json!({"name": job.name, "script": job.script, "status": job.status.word(), "error": job.error}))
            .collect();
        json!({
            "source": "ksql-flow",
            "profile": profile,
            "kind": self.kind,
            "batch_id": self.batch_id,
            "status": self.status.word(),
            "exit_code": self.exit.code(),
            "as_of": self.as_of,
            "jobs": jobs,
            "text": self.summary(profile),
        })
    }

    /// Readable as a chat message.
    fn summary(&self, profile: &str) -> String {
        let head = format!(
            "kSQL Flow [{profile}] {} {} (exit {})",
            self.kind,
            self.status,
            self.exit.code()
        );
        let failed = self.jobs.iter().filter(|job| !job.status.is_success());
        let lines = failed.map(|job| match job.error {
            Some(error) => format!("- {} {}: {error}", job.name, job.status),
            None => format!("- {} {}", job.name, job.status),
        });
        std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
    }

    /// Sends what the profile asks for. A failure is a warning; nothing is repeated.
    pub fn announce(&self, profile: &Profile, masker: &super::mask::Masker, console: &Console) {
        let alarm = match self.kind {
            "batch" => self.exit != Exit::Done,
            _ => self.status.is_alarm(),
        };
        if let Some(url) = profile.notifications.webhook.as_ref().filter(|_| alarm) {
            send(
                url,
                &masker.json(self.alarm(&profile.name)),
                &say!("failure web hook", "失敗通知の Webhook "),
                console,
            );
        }
        if let Some((url, on)) = &profile.notifications.heartbeat
            && (*on == HeartbeatOn::Always || self.status.is_success())
        {
            let beat = json!({
                "source": "ksql-flow",
                "profile": profile.name,
                "batch_id": self.batch_id,
                "status": self.status.word(),
                "ts": instant_millis(host::now()),
            });
            send(url, &beat, &say!("heartbeat", "ハートビート"), console);
        }
    }
}

/// One POST, 10 seconds, no redirects (the URL is a secret and stays with its host).
fn send(url: &Secret, body: &Value, what: &Message, console: &Console) {
    const TIME_LIMIT: std::time::Duration = std::time::Duration::from_secs(10);
    let agent = ureq::Agent::new_with_config(
        ureq::Agent::config_builder()
            .timeout_global(Some(TIME_LIMIT))
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(USER_AGENT)
            .build(),
    );
    let sent = agent
        .post(url.expose())
        .content_type("application/json")
        .send(body.to_string());
    match sent {
        Ok(answer) if answer.status().is_success() => {}
        Ok(answer) => {
            let status = answer.status().as_u16();
            console.warn(undelivered(what, &format!("HTTP {status}")));
        }
        Err(error) => console.warn(undelivered(what, &error.to_string())),
    }
}

/// `reason`: as the receiver or the connection says.
fn undelivered(what: &Message, reason: &str) -> Message {
    what.put(|language, what| match language {
        Language::English => format!("{what} not delivered: {reason}"),
        Language::Japanese => format!("{what}を送信できませんでした: {reason}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_jobs_that_failed() {
        let ending = Ending {
            kind: "batch",
            batch_id: "b",
            status: JobStatus::Failed,
            exit: Exit::Runtime,
            as_of: "2026-08-01T00:00:00Z",
            jobs: vec![
                JobLine {
                    name: "a",
                    script: "01.sql",
                    status: JobStatus::Success,
                    error: None,
                },
                JobLine {
                    name: "b",
                    script: "02.sql",
                    status: JobStatus::Failed,
                    error: Some("HTTP 503"),
                },
                JobLine {
                    name: "c",
                    script: "03.sql",
                    status: JobStatus::Skipped,
                    error: Some("dependency: b"),
                },
            ],
        };
        let alarm = ending.alarm("prod");
        assert_eq!(
            alarm["text"],
            "kSQL Flow [prod] batch FAILED (exit 3)\n- b FAILED: HTTP 503\n- c SKIPPED: dependency: b"
        );
        assert_eq!(
            alarm["jobs"][0],
            json!({"name": "a", "script": "01.sql", "status": "SUCCESS", "error": null})
        );
        assert_eq!(alarm["exit_code"], 3);
    }
}
