//! `run-all`: order, dependencies, selection, resume, batch lock and exit codes (RNR-12, RNR-13, RNR-56, RNR-110..114).

use serde_json::{Value, json};

use crate::bench::{Bench, value};
use crate::sandbox::{CUSTOMERS, JOB_LOG, Sandbox};

/// A job that succeeds, aborts or has nothing to do, with a header.
fn job(name: &str, depends_on: &str, body: &str) -> String {
    let depends_on = if depends_on.is_empty() {
        String::new()
    } else {
        format!("-- @ksql depends_on: {depends_on}\n")
    };
    format!("-- @ksql name: {name}\n{depends_on}-- @ksql dialect: 1\n{body};\n")
}

const GOOD: &str = "ASSERT (SELECT COUNT(*) FROM LAPP_顧客マスタ) >= 0, 'never'";
const ABORT: &str = "ASSERT (SELECT COUNT(*) FROM LAPP_顧客マスタ) < 0, 'always'";
const NO_DATA: &str = "EXIT SUCCESS IF 1 = 1, 'nothing to do'; ASSERT 1 = 2, 'not reached'";
const WRONG: &str = "ASSERT (SELECT COUNT(無い) FROM LAPP_顧客マスタ) >= 0, 'never'";

struct Batch {
    sandbox: Sandbox,
    bench: Bench,
}

impl Batch {
    fn new(jobs: &[(&str, String)]) -> Self {
        let sandbox = Sandbox::start("flow-batch");
        let bench = Bench::on(&sandbox);
        let batch = Self { sandbox, bench };
        for (file, text) in jobs {
            batch.bench.write(&format!("jobs/{file}"), text);
        }
        batch
    }

    fn records(&self) -> Vec<Value> {
        let mut records = self.sandbox.records(JOB_LOG.0);
        records.sort_by_key(|record| value(record, "$id").parse::<u64>().expect("id"));
        records
    }

    /// Status of the newest BATCH record and `file: status detail` of its JOB records, in order of file name.
    fn newest(&self) -> (String, Vec<String>) {
        let records = self.records();
        let batch = records
            .iter()
            .rfind(|record| value(record, "record_type") == "BATCH")
            .expect("a batch");
        let mut jobs: Vec<String> = records
            .iter()
            .filter(|record| value(record, "parent_batch_id") == value(batch, "batch_id"))
            .map(|record| {
                let detail = value(record, "log_detail").lines().next().unwrap_or_default();
                let detail = detail.strip_prefix("SKIPPED ").unwrap_or_default();
                format!(
                    "{} {} {detail}",
                    value(record, "script_name"),
                    value(record, "status")
                )
                .trim_end()
                .to_owned()
            })
            .collect();
        jobs.sort();
        (value(batch, "status").to_owned(), jobs)
    }

    fn exit(&self, line: &str) -> i32 {
        let ended = self.bench.line(line);
        ended.code.unwrap_or_else(|| panic!("{ended:?}"))
    }
}

/// One job of every kind; `d` depends on the one that aborts, `e` on that.
fn mixed() -> Batch {
    Batch::new(&[
        ("01_a.sql", job("a", "", GOOD)),
        ("02_b.sql", job("b", "a", ABORT)),
        ("03_c.sql", job("c", "", NO_DATA)),
        ("04_d.sql", job("d", "b, c", GOOD)),
        ("05_e.sql", job("e", "d", GOOD)),
        ("06_f.sql", job("f", "c", GOOD)),
    ])
}

#[test]
fn only_dependents_of_a_failure_are_skipped() {
    let batch = mixed();
    assert_eq!(batch.exit("run-all jobs"), 2);
    let (status, jobs) = batch.newest();
    assert_eq!(status, "ABORTED");
    assert_eq!(
        jobs,
        [
            "01_a.sql SUCCESS",
            "02_b.sql ABORTED",
            "03_c.sql NO_DATA",
            "04_d.sql SKIPPED (dependency: b)",
            "05_e.sql SKIPPED (dependency: d)",
            "06_f.sql SUCCESS",
        ]
    );
    let records = batch.records();
    assert!(
        records.iter().all(|record| value(record, "job_key").is_empty()),
        "every lock is given back"
    );
    let header = &records[0];
    assert_eq!(
        (value(header, "record_type"), value(header, "job_key_done")),
        ("BATCH", "p:__batch__")
    );
    assert_eq!(
        (value(header, "script_name"), value(header, "parent_batch_id")),
        ("jobs", "")
    );
    let state = batch.bench.json(".ksql/state-p.json");
    assert_eq!(state["schemaVersion"], 1);
    assert_eq!(state["jobs"]["d"]["skipReason"], "dependency: b");
    assert_eq!(state["jobs"]["b"]["status"], "ABORTED");
}

#[test]
fn flags_decide_about_failures() {
    assert_eq!(mixed().exit("run-all jobs --continue-on-error"), 4);
    let batch = mixed();
    assert_eq!(batch.exit("run-all jobs --stop-on-error"), 2);
    let (_, jobs) = batch.newest();
    assert_eq!(jobs[2], "03_c.sql SKIPPED (stop-on-error)");
    assert_eq!(jobs[5], "06_f.sql SKIPPED (stop-on-error)");
}

#[test]
fn the_worst_failure_decides_the_exit() {
    let batch = Batch::new(&[("1.sql", job("a", "", WRONG)), ("2.sql", job("b", "", ABORT))]);
    assert_eq!(batch.exit("run-all jobs"), 2);
    assert_eq!(batch.newest().0, "FAILED");
    let batch = Batch::new(&[("1.sql", job("a", "", NO_DATA)), ("2.sql", job("b", "", NO_DATA))]);
    assert_eq!(batch.exit("run-all jobs"), 0);
    assert_eq!(batch.newest().0, "NO_DATA");
}

#[test]
fn selections_are_recorded_and_neutral() {
    let batch = mixed();
    assert_eq!(batch.exit("run-all jobs --from 03_c.sql"), 0);
    let (status, jobs) = batch.newest();
    assert_eq!(status, "SUCCESS");
    assert_eq!(jobs[1], "02_b.sql SKIPPED (filtered)");
    assert_eq!(
        jobs[3], "04_d.sql SUCCESS",
        "a dependency outside the selection counts as satisfied"
    );
    assert_eq!(batch.exit("run-all jobs --only d"), 0);
    assert_eq!(
        batch
            .newest()
            .1
            .iter()
            .filter(|job| job.ends_with("(filtered)"))
            .count(),
        5
    );
    assert_eq!(batch.exit("run-all jobs --only nope"), 1);
}

#[test]
fn a_folder_that_does_not_fit_together_is_refused_before_any_request() {
    for jobs in [
        vec![("1.sql", job("a", "b", GOOD)), ("2.sql", job("b", "", GOOD))],
        vec![("1.sql", job("a", "x", GOOD))],
        vec![("1.sql", job("a", "", GOOD)), ("2.sql", job("a", "", GOOD))],
        vec![("1.sql", job("a:b", "", GOOD))],
        vec![("1.sql", job(&"x".repeat(70), "", GOOD))],
        vec![],
    ] {
        let batch = Batch::new(&jobs);
        std::fs::create_dir_all(batch.bench.root.join("jobs")).expect("folder");
        batch.sandbox.clear_log();
        assert_eq!(batch.exit("run-all jobs"), 1, "{jobs:?}");
        assert!(batch.sandbox.log().is_empty(), "{jobs:?}");
    }
}

#[test]
fn resume_repeats_what_did_not_succeed_as_of_the_same_instant() {
    let batch = mixed();
    assert_eq!(batch.exit("run-all jobs --as-of 2026-08-01T00:00:00+09:00"), 2);
    batch.bench.write("jobs/02_b.sql", &job("b", "a", GOOD));
    assert_eq!(batch.exit("run-all jobs --resume"), 0);
    let (status, jobs) = batch.newest();
    assert_eq!(status, "SUCCESS");
    assert_eq!(
        jobs,
        [
            "01_a.sql SKIPPED (filtered)",
            "02_b.sql SUCCESS",
            "03_c.sql SKIPPED (filtered)",
            "04_d.sql SUCCESS",
            "05_e.sql SUCCESS",
            "06_f.sql SKIPPED (filtered)",
        ]
    );
    for record in batch.records() {
        assert_eq!(value(&record, "as_of"), "2026-07-31T15:00:00Z");
    }
    let before = batch.records().len();
    let ended = batch.bench.line("run-all jobs --resume");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("nothing to resume"), "{ended:?}");
    assert_eq!(batch.records().len(), before);
}

#[test]
fn a_batch_that_was_killed_at_its_very_end_is_closed_by_a_resume() {
    let batch = Batch::new(&[
        ("01_a.sql", job("a", "", GOOD)),
        ("02_b.sql", job("b", "", NO_DATA)),
    ]);
    // The third PUT to the log app ends the batch, after those of both jobs.
    batch.sandbox.fault(&json!({
        "match": {"method": "PUT", "app": JOB_LOG.0}, "nth": 3, "action": "hold_before"
    }));
    let mut killed = batch
        .bench
        .command(&["run-all", "jobs"])
        .spawn()
        .expect("started");
    let hold = batch.sandbox.wait_for_hold();
    killed.kill().expect("killed");
    killed.wait().expect("ended");
    batch.sandbox.drop_held(&hold);
    batch.sandbox.clear_faults();
    assert_eq!(batch.newest().0, "RUNNING");

    let ended = batch.bench.line("run-all jobs --resume");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("closed as SUCCESS, lock released"),
        "{ended:?}"
    );
    assert_eq!(batch.newest().0, "SUCCESS");
    let record = &batch.records()[0];
    assert_eq!(
        (value(record, "job_key"), value(record, "job_key_done")),
        ("", "p:__batch__")
    );
    assert_eq!(batch.exit("run-all jobs"), 0, "the next night runs");

    // Another batch's lock is not touched.
    let first = value(record, "batch_id");
    batch.sandbox.insert(
        JOB_LOG.0,
        &[json!({
            "record_type": {"value": "BATCH"}, "profile": {"value": "p"}, "status": {"value": "RUNNING"},
            "job_key": {"value": "p:__batch__"}, "batch_id": {"value": "other"},
            "started_at": {"value": jiff::Timestamp::now().to_string()},
        })],
    );
    let ended = batch.bench.line(&format!("run-all jobs --resume-batch {first}"));
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(
        ended.stderr.contains("free the lock with `ksql-flow unlock`"),
        "{ended:?}"
    );
    assert_eq!(batch.newest().0, "RUNNING");
}

#[test]
fn a_resume_keeps_the_instant_to_the_millisecond() {
    let gate = "ASSERT @NOW() = 'x', 'gate'";
    let batch = Batch::new(&[("01_a.sql", job("a", "", gate))]);
    let first = batch.bench.line("run-all jobs --as-of 2026-11-30T10:20:45.500Z");
    assert!(first.stderr.contains("2026-11-30T10:20:45"), "{first:?}");
    let ended = batch.bench.line("run-all jobs --resume");
    assert!(
        ended.stdout.contains("as of 2026-11-30T10:20:45.500Z"),
        "{ended:?}"
    );
    let actual = |text: &str| text.split("(actual: ").nth(1).map(|rest| rest[..24].to_owned());
    assert_eq!(actual(&ended.stderr), actual(&first.stderr));
    // Of another batch the state file knows nothing.
    let mut state = batch.bench.json(".ksql/state-p.json");
    state["batchId"] = json!("other");
    batch.bench.write(".ksql/state-p.json", &state.to_string());
    let ended = batch.bench.line("run-all jobs --resume");
    assert!(ended.stdout.contains("as of 2026-11-30T10:20:00Z"), "{ended:?}");
}

#[test]
fn a_named_batch_is_resumed() {
    let batch = mixed();
    assert_eq!(batch.exit("run-all jobs"), 2);
    let first = value(&batch.records()[0], "batch_id").to_owned();
    assert_eq!(batch.exit("run-all jobs --only a"), 0);
    batch.bench.write("jobs/02_b.sql", &job("b", "a", GOOD));
    assert_eq!(batch.exit(&format!("run-all jobs --resume-batch {first}")), 0);
    assert_eq!(batch.newest().1[1], "02_b.sql SUCCESS");
    assert_eq!(batch.exit("run-all jobs --resume-batch nope"), 1);
}

#[test]
fn a_resume_without_log_app_uses_the_state_file() {
    let batch = mixed();
    assert_eq!(batch.exit("run-all jobs"), 2);
    batch.bench.write("jobs/02_b.sql", &job("b", "a", GOOD));
    batch
        .sandbox
        .fault(&json!({"match": {"app": JOB_LOG.0}, "times": 999, "action": "status", "status": 503}));
    let ended = batch.bench.line("run-all jobs --resume --lock local-only");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.contains("resuming from the local state file"),
        "{ended:?}"
    );
    assert!(
        ended.stdout.contains("\nb: SUCCESS") && !ended.stdout.contains("\na: SUCCESS"),
        "{ended:?}"
    );
    std::fs::write(batch.bench.root.join(".ksql/state-p.json"), "{").expect("damaged");
    assert_eq!(batch.exit("run-all jobs --resume --lock local-only"), 1);
}

#[test]
fn a_second_batch_and_a_locked_job_are_kept_out() {
    let batch = mixed();
    let now = jiff::Timestamp::now().to_string();
    let running = |key: &str| {
        json!({
            "status": {"value": "RUNNING"}, "job_key": {"value": key}, "batch_id": {"value": "other"},
            "started_at": {"value": now},
        })
    };
    let ids = batch.sandbox.insert(JOB_LOG.0, &[running("p:__batch__")]);
    let ended = batch.bench.line("run-all jobs");
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.stderr.contains("the lock p:__batch__ is held"), "{ended:?}");
    assert_eq!(batch.records().len(), 1, "nothing was run");
    batch.sandbox.edit(
        JOB_LOG.0,
        ids[0],
        &json!({"job_key": {"value": ""}, "status": {"value": "SUCCESS"}}),
    );

    batch.bench.write("jobs/02_b.sql", &job("b", "a", GOOD));
    batch.sandbox.insert(JOB_LOG.0, &[running("p:c")]);
    let ended = batch.bench.line("run-all jobs");
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let (_, jobs) = batch.newest();
    assert!(
        !jobs.iter().any(|job| job.starts_with("03_c.sql")),
        "a clash leaves no record: {jobs:?}"
    );
    assert!(
        jobs.contains(&"06_f.sql SKIPPED (dependency: c)".to_owned()),
        "{jobs:?}"
    );
    assert_eq!(
        batch.bench.json(".ksql/state-p.json")["jobs"]["c"]["skipReason"],
        "LOCKED"
    );
}

#[test]
fn a_signal_ends_the_batch_in_order() {
    let batch = mixed();
    batch.sandbox.fault(&json!({
        "match": {"method": "GET", "path": "/k/v1/records.json", "app": CUSTOMERS.0}, "action": "hold_before",
    }));
    let child = batch
        .bench
        .command(&["run-all", "jobs"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("started");
    let hold = batch.sandbox.wait_for_hold();
    let killed = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(killed.expect("kill").success());
    batch.sandbox.release(&hold, "proceed");
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let (status, jobs) = batch.newest();
    assert_eq!(status, "FAILED");
    assert!(
        jobs[1..]
            .iter()
            .all(|job| job.ends_with("SKIPPED (stop-on-error)")),
        "{jobs:?}"
    );
    assert!(
        batch
            .records()
            .iter()
            .all(|record| value(record, "job_key").is_empty())
    );
}

#[test]
fn the_batch_ends_in_time() {
    let sandbox = Sandbox::start("flow-batch");
    let bench = Bench::with_profile(&sandbox, &json!({"limits": {"batchTimeoutSec": 1}}));
    bench.write("jobs/1.sql", &job("a", "", GOOD));
    bench.write("jobs/2.sql", &job("b", "", GOOD));
    sandbox.fault(&json!({
        "match": {"method": "GET", "path": "/k/v1/records.json", "app": CUSTOMERS.0}, "action": "delay", "ms": 1100,
    }));
    let ended = bench.line("run-all jobs");
    assert_eq!(
        ended.code,
        Some(0),
        "the first job was complete, the second left out: {ended:?}"
    );
    assert!(ended.stdout.contains("b: SKIPPED (batch-timeout)"), "{ended:?}");
    let batch = sandbox
        .records(JOB_LOG.0)
        .into_iter()
        .find(|record| value(record, "record_type") == "BATCH");
    assert_eq!(value(&batch.expect("batch"), "status"), "TIMEOUT");
}

#[test]
fn a_used_up_limit_is_no_success() {
    let batch = mixed();
    let ended = batch.bench.line("run-all jobs --only a --max-api-calls 100");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = batch.bench.line("run-all jobs --max-api-calls 12");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("API_LIMIT_EXCEEDED") || ended.stderr.contains("limit of requests"),
        "{ended:?}"
    );
}

#[test]
fn a_previewed_resume_prints_one_object() {
    let batch = mixed();
    assert_eq!(batch.exit("run-all jobs --as-of 2026-08-01T00:00:00+09:00"), 2);
    let ended = batch.bench.line("run-all jobs --resume --dry-run --json");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let report = ended.json();
    let jobs: Vec<&str> = report["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .filter_map(|job| job["job"].as_str())
        .collect();
    assert_eq!(jobs, ["02_b.sql", "04_d.sql", "05_e.sql"]);
    assert_eq!(report["jobs"][0]["asOf"], "2026-08-01T00:00:00+09:00");
    assert!(ended.stderr.contains("resuming the batch"), "{ended:?}");
}
