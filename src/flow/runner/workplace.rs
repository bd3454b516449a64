//! What `run` and `run-all` set up before their first job: client, locks on this host, log app, JSONL (RNR-70).

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::as_of::RunInstant;
use super::cancellation::Cancellation;
use super::command::{Flags, Orchestration};
use super::config::Profile;
use super::connection::{Connection, Use};
use super::host;
use super::journal::{Event, Journal};
use super::local_lock::LocalLock;
use super::log_app::{LogApp, LogRecord};
use super::pending::PendingQueue;
use super::remote::FormCache;
use super::unlock::{self, Strictness};
use super::verdict::Failure;
use crate::flow::sql::message::{Language, Message, say};
use crate::kintone::{self, Client};

/// Largest `--max-api-calls`: integers that every reader of JSON keeps exactly.
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;
/// Flag values that are checked after the configuration was read (RNR-05).
pub struct RunOptions {
    /// `--max-api-calls`.
    pub max_api_calls: Option<u64>,
    /// `--lock local-only`.
    pub local_only: bool,
    /// Fixed instant.
    pub as_of: RunInstant,
}

impl RunOptions {
    /// Reads the flags common to `run` and `run-all`.
    ///
    /// # Errors
    /// A value of the wrong form.
    pub fn read(flags: &Flags, profile: &Profile) -> Result<Self, Failure> {
        let max_api_calls = match flags.value("--max-api-calls") {
            None => None,
            Some(text) => {
                let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                let number = text
                    .parse()
                    .ok()
                    .filter(|n| digits && (1..=MAX_SAFE_INTEGER).contains(n));
                Some(number.ok_or_else(|| {
                    Failure::invalid(say!(
                        "--max-api-calls {text:?}: must be a whole number above 0",
                        "--max-api-calls {text:?}: 1 以上の整数を指定してください"
                    ))
                })?)
            }
        };
        let local_only = match flags.value("--lock") {
            None => false,
            Some("local-only") => true,
            Some(other) => {
                return Err(Failure::invalid(say!(
                    "--lock {other:?}: only local-only is known",
                    "--lock {other:?}: 指定できるのは local-only だけです"
                )));
            }
        };
        let as_of = match flags.value("--as-of") {
            Some(text) => RunInstant::parse(text, &profile.zone)?,
            None => RunInstant::start(host::now(), profile.zone.clone()),
        };
        Ok(Self {
            max_api_calls,
            local_only,
            as_of,
        })
    }
}

/// Longest time a batch is watched for, in seconds (a year): larger configured limits mean the same.
const LONGEST_BATCH_SEC: u64 = 366 * 24 * 3600;

/// What all jobs of one process share. The lock on this host is held as long as it lives.
pub struct Workplace<'a> {
    /// Profile, masking, console.
    pub connection: &'a Connection,
    /// The REST client; counts every request.
    pub client: Client,
    /// Forms read so far.
    pub forms: FormCache,
    /// The log app; `None` under `--lock local-only` without one.
    pub log: Option<LogApp>,
    /// JSONL.
    pub journal: Journal,
    /// Fixed instant.
    pub as_of: RunInstant,
    /// Signals.
    pub cancellation: Cancellation,
    /// End of `batchTimeoutSec`.
    pub batch_deadline: Instant,
    /// Host label.
    pub host: String,
    /// Commit of the job folder.
    pub git_ref: String,
    /// Under `--lock local-only` the lock in the log app is wanted but not needed.
    pub local_only: bool,
    /// Session of this process.
    pub batch_id: String,
    queue: PendingQueue,
    _local_lock: LocalLock,
}

impl<'a> Workplace<'a> {
    /// Sets everything up, in this order: what can be refused without a request, `--force-unlock`, the local lock, the
    /// fields of the log app.
    ///
    /// # Errors
    /// What keeps every job from being attempted.
    pub fn begin(
        connection: &'a Connection,
        flags: &Flags,
        options: &RunOptions,
        batch_id: &str,
        orchestration: Option<&Orchestration>,
        jobs_folder: &Path,
    ) -> Result<Self, Failure> {
        let profile = &connection.profile;
        let began = Instant::now();
        let host = host::label()?;
        if profile.log_app.is_none() {
            refuse_without_log_app(connection, options.local_only)?;
        }
        let cancellation = Cancellation::on_signals()?;
        let client = connection.client(&Use {
            max_api_calls: options.max_api_calls,
            read_only: false,
            stop: Some(cancellation.hurry()),
        })?;
        let journal = connection.journal(batch_id, orchestration);
        if flags.has("--force-unlock") {
            let log = connection.log_app(&client)?.map(|(log, _)| log);
            unlock::release_all(connection, log.as_ref(), Strictness::Warn, &journal)?;
        }
        let stale_after = profile.limits.batch_timeout_sec;
        let local_lock = LocalLock::acquire(&profile.name, batch_id, host::now(), stale_after)?;
        let log = match connection.log_app(&client)? {
            Some((log, error)) => {
                check_fields(connection, &log, error, orchestration.is_some())?;
                Some(log)
            }
            None => None,
        };
        Ok(Self {
            connection,
            client,
            forms: FormCache::default(),
            log,
            journal,
            as_of: options.as_of.clone(),
            cancellation,
            batch_deadline: began + Duration::from_secs(stale_after.min(LONGEST_BATCH_SEC)),
            host,
            git_ref: host::git_ref(jobs_folder),
            local_only: options.local_only,
            batch_id: batch_id.to_owned(),
            queue: PendingQueue::new(&profile.logging.local_dir),
            _local_lock: local_lock,
        })
    }

    /// Sends what earlier runs could not write (RNR-81).
    pub fn resend(&self) {
        let Some(log) = &self.log else { return };
        let console = &self.connection.console;
        let resent = self.queue.resend(log, console);
        if resent.sent > 0 {
            let sent = resent.sent;
            console.progress(say!(
                "log-app writes of earlier runs sent: {sent}",
                "以前の実行のログ書き込みを送りました: {sent} 件"
            ));
            self.journal
                .write(Event::ResendDone, json!({"count": resent.sent}));
        }
        if let Some(error) = resent.stopped {
            self.journal
                .write(Event::ResendFailed, json!({"error": error.to_string()}));
            console.warn(error.put(|language, error| match language {
                Language::English => format!("log-app writes of earlier runs stay queued: {error}"),
                Language::Japanese => format!("以前の実行のログ書き込みはキューに残ります: {error}"),
            }));
        }
    }

    /// Writes a record that must not be lost: now, or in the next run (RNR-64).
    pub fn update_or_queue(&self, log: &LogApp, record_id: u64, record: &LogRecord) {
        if let Err(error) = log.update(record_id, None, record) {
            self.queue_write(Some(record_id), record, &error);
        }
    }

    /// Adds a record that must not be lost: now, or in the next run.
    pub fn insert_or_queue(&self, log: &LogApp, record: &LogRecord) {
        if let Err(error) = log.insert(record) {
            self.queue_write(None, record, &error);
        }
    }

    fn queue_write(&self, record_id: Option<u64>, record: &LogRecord, error: &crate::kintone::Error) {
        let console = &self.connection.console;
        self.journal.write(
            Event::LogappWriteFailed,
            json!({"recordId": record_id, "error": error.to_string()}),
        );
        match self.queue.add(record_id, record) {
            Ok(()) => {
                let kept = say!("kept for the next run", "次の実行で送り直します");
                console.warn(Message::from(error).joined(" - ", &kept));
            }
            Err(local) => {
                let lost = say!(
                    "and not kept for the next run: {local}",
                    "次の実行のために保存することもできませんでした: {local}"
                );
                console.warn(Message::from(error).joined(" - ", &lost));
            }
        }
    }
}

/// RNR-52: without a log app two hosts are not kept apart.
fn refuse_without_log_app(connection: &Connection, local_only: bool) -> Result<(), Failure> {
    if local_only {
        connection.console.warn(say!(
            "no log app: only the local lock keeps other runs out, and nothing is recorded in kintone",
            "ログアプリがありません。ほかの実行を防ぐのはローカルロックだけで、kintone には何も記録されません"
        ));
        return Ok(());
    }
    let profile = &connection.profile.name;
    Err(Failure::invalid(say!(
        "the profile {profile} has no logApp, so that runs on two hosts could not be kept apart: configure one, or accept the risk with --lock local-only",
        "プロファイル {profile} に logApp がないため、2 台のホストからの同時実行を防げません。logApp を設定するか、--lock local-only を付けて承知のうえで実行してください"
    )))
}

/// RNR-61: an orchestrated run needs all fields; another goes on with the classic ones.
fn check_fields(
    connection: &Connection,
    log: &LogApp,
    error: Option<kintone::Error>,
    orchestrated: bool,
) -> Result<(), Failure> {
    match error {
        Some(error) if orchestrated => {
            return Err(Failure::lock_unavailable(unread_fields(&error)));
        }
        Some(error) => connection.console.warn(unread_fields(&error)),
        None => {}
    }
    let missing = if orchestrated {
        log.missing_for_orchestration()
    } else {
        Vec::new()
    };
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(", ");
    Err(Failure::lock_unavailable(say!(
        "the log app lacks the fields {missing} (see validate --check-logapp)",
        "ログアプリにフィールド {missing} がありません (validate --check-logapp で確認できます)"
    )))
}

fn unread_fields(error: &kintone::Error) -> Message {
    say!(
        "the fields of the log app could not be read",
        "ログアプリのフィールドを読み取れません"
    )
    .joined(": ", &error.into())
}
