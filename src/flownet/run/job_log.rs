//! What the runner's own log says about an attempt (RUN-26, QRY-15, ADJ-12).

use std::time::{Duration, Instant};

use super::context::Context;
use crate::flownet::rule::classify::{JobLog, JobRecord};
use crate::kintone::{self, query};

/// Pause between two tries while kintone cannot be reached.
const PAUSE: Duration = Duration::from_secs(2);

/// Looks the attempt up once; the client retries what is worth it.
pub fn look_up(
    ctx: &Context,
    attempt_id: &str,
    execution_id: Option<&str>,
) -> Result<JobLog, kintone::Error> {
    let mut conditions = vec![query::equals("attempt_id", attempt_id)];
    conditions.extend(execution_id.map(|id| query::equals("execution_id", id)));
    let text = format!(
        "{} order by runner_execution_started_at desc limit 10",
        query::and(&conditions)
    );
    let page = ctx.client.records(&ctx.job_log, &text, &[], false)?;
    let exact: Vec<_> = page
        .records
        .iter()
        .filter(|r| {
            r.text("attempt_id") == attempt_id && execution_id.is_none_or(|id| r.text("execution_id") == id)
        })
        .collect();
    Ok(match exact.as_slice() {
        [] => JobLog::Absent,
        [one] => JobLog::Found(JobRecord {
            runner_execution_started_at: one.opt_text("runner_execution_started_at").map(str::to_owned),
            execution_id: one.opt_text("execution_id").map(str::to_owned),
            status: one.opt_text("status").map(str::to_owned),
            finished_at: one.opt_text("finished_at").map(str::to_owned),
        }),
        _ => JobLog::Several,
    })
}

/// Looks up, and goes on trying for `patience` while kintone is silent: the result of a job hangs on the answer.
pub fn look_up_patiently(
    ctx: &Context,
    attempt_id: &str,
    execution_id: Option<&str>,
    patience: Duration,
) -> JobLog {
    let until: Instant = ctx.clock.instant() + patience;
    loop {
        match look_up(ctx, attempt_id, execution_id) {
            Ok(found) => return found,
            Err(e) if !e.is_transient() || ctx.clock.instant() >= until || ctx.stop.is_urgent() => {
                (ctx.warn)(format!(
                    "the JOB log of attempt {attempt_id} could not be read: {e}"
                ));
                return JobLog::LookupFailed;
            }
            Err(_) => ctx.clock.sleep(PAUSE),
        }
    }
}
