//! The process boundary with real processes: what happens to a runner that behaves, hangs, dies or leaves others behind.
//!
//! Times appear only as limits that the test program sets; nothing is asserted about how long something took.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ksql_flownet::flownet::child::process_table::ProcessTable;
use ksql_flownet::flownet::child::{
    ChildCode, EnvPolicy, Exit, LaunchFailed, RunRequest, Runner, Running, StopSignal, launch, machine,
};

/// Longer than any test waits on purpose.
const LONG: Duration = Duration::from_mins(1);

struct Bench {
    root: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("ksql-child-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("metadata")).expect("fixture");
        Self { root }
    }

    /// A runner that is a shell script. `$R` is the result path, `$D` the bench.
    fn runner(&self, script: &str, grace: Duration) -> Runner {
        let program = self.root.join("runner.sh");
        let root = self.root.display();
        let text = format!("#!/bin/sh\nD='{root}'\nR='{root}/metadata/result.json'\n{script}\n");
        fs::write(&program, text).expect("fixture");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("fixture");
        Runner {
            // Started through the shell: a file that was just written may still be busy in a sibling's fork.
            program: "/bin/sh".into(),
            args: vec![program.display().to_string()],
            config: "/etc/ksql.config.json".into(),
            profile: "prod".into(),
            workdir: self.root.clone(),
            grace,
            env: EnvPolicy::default(),
        }
    }

    fn request(&self, time_limit: Option<Duration>) -> RunRequest {
        RunRequest {
            sql: "/tmp/a.sql".into(),
            as_of: "2026-09-01T00:00:00Z".into(),
            correlation_id: "netrun_1".into(),
            attempt_id: "attempt_1".into(),
            expected_job_id: "job".into(),
            result_json: self.root.join("metadata/result.json"),
            imports: vec![],
            exports: vec![],
            time_limit,
        }
    }

    fn start(&self, script: &str, grace: Duration, limit: Option<Duration>) -> Running {
        launch::spawn(&self.runner(script, grace), &self.request(limit)).expect("started")
    }

    fn run(&self, script: &str, grace: Duration, limit: Option<Duration>) -> Exit {
        self.start(script, grace, limit).wait(&StopSignal::new())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Waits until the script has made this file; fails when that takes absurdly long.
    fn wait_for(&self, name: &str) -> String {
        for _ in 0..6000 {
            match fs::read_to_string(self.file(name)) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        panic!("{name} never appeared");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn is_gone(pid: &str) -> bool {
    let pid = pid.parse().expect("pid");
    for _ in 0..500 {
        if ProcessTable::default()
            .process_start_time(pid)
            .expect("/proc")
            .is_none()
        {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn the_exit_code_and_the_end_of_standard_error_are_kept() {
    let bench = Bench::new("exit");
    let exit = bench.run("echo out; echo first >&2; echo last >&2; exit 5", LONG, None);
    assert_eq!((exit.code, exit.signal), (Some(5), None));
    assert_eq!(exit.stderr_tail, "first\nlast\n");
    assert!(!exit.forced && !exit.timed_out && !exit.stopped && !exit.leftovers);
}

#[test]
fn a_chatty_child_is_never_blocked_and_only_its_tail_is_kept() {
    let bench = Bench::new("chatty");
    let script = "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; \
                  echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done; echo end >&2";
    let exit = bench.run(script, LONG, None);
    assert_eq!(exit.code, Some(0));
    assert!(exit.stderr_tail.len() <= 64 << 10 && exit.stderr_tail.ends_with("\nend\n"));
}

#[test]
fn a_signal_is_not_an_exit_code() {
    let bench = Bench::new("signal");
    let exit = bench.run("kill -KILL $$", LONG, None);
    assert_eq!((exit.code, exit.signal, exit.forced), (None, Some(9), false));
}

#[test]
fn at_the_limit_a_polite_child_ends_with_its_own_code() {
    let bench = Bench::new("limit");
    let script = "trap 'exit 3' TERM; echo > $D/ready; while :; do sleep 0.01; done";
    let running = bench.start(script, LONG, Some(Duration::from_millis(1)));
    bench.wait_for("ready");
    let exit = running.wait(&StopSignal::new());
    assert_eq!(
        (exit.code, exit.forced, exit.timed_out, exit.stopped),
        (Some(3), false, true, false)
    );
}

#[test]
fn a_deaf_child_is_killed_with_its_whole_group() {
    let bench = Bench::new("deaf");
    let script = "trap '' TERM; (while :; do sleep 0.01; done) & \
                  echo $! > $D/grandchild; while :; do sleep 0.01; done";
    let running = bench.start(script, Duration::from_millis(100), Some(Duration::from_millis(1)));
    bench.wait_for("grandchild");
    let exit = running.wait(&StopSignal::new());
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
    assert!(exit.forced && exit.timed_out);
    assert!(is_gone(&bench.wait_for("grandchild")));
}

#[test]
fn a_stop_ends_the_child_and_the_second_does_not_wait_for_grace() {
    let bench = Bench::new("stop");
    let stop = StopSignal::new();
    let polite = bench.start(
        "trap 'exit 3' TERM; echo > $D/ready; while :; do sleep 0.01; done",
        LONG,
        None,
    );
    bench.wait_for("ready");
    stop.request();
    let exit = polite.wait(&stop);
    assert_eq!((exit.code, exit.forced, exit.stopped), (Some(3), false, true));

    let deaf = bench.start(
        "trap '' TERM; echo > $D/deaf; while :; do sleep 0.01; done",
        LONG * 60,
        None,
    );
    bench.wait_for("deaf");
    stop.request();
    let exit = deaf.wait(&stop);
    assert_eq!((exit.signal, exit.forced, exit.stopped), (Some(9), true, true));
}

#[test]
fn a_wrapper_that_dies_of_the_signal_does_not_leave_its_runner_behind() {
    let bench = Bench::new("wrapper");
    // The shell dies at once; the real runner only hears of the stop through its group.
    let script = "(trap 'echo CANCELLED > $D/result; exit 3' TERM; echo > $D/ready; \
                  while :; do sleep 0.01; done) & wait; exit 0";
    let running = bench.start(script, LONG, None);
    bench.wait_for("ready");
    let stop = StopSignal::new();
    stop.request();
    let exit = running.wait(&stop);
    assert_eq!(exit.signal, Some(15));
    assert!(!exit.forced && !exit.leftovers);
    assert_eq!(bench.wait_for("result"), "CANCELLED");
}

#[test]
fn a_wrapper_that_passes_the_signal_on_is_not_doubled() {
    let bench = Bench::new("forward");
    let script = "sh -c 'trap \"echo term >> $0/terms\" TERM; echo > $0/child; \
                  while [ ! -e $0/enough ]; do sleep 0.01; done' $D & child=$!; \
                  trap 'kill -TERM $child; sleep 0.3; : > $D/enough' TERM; \
                  while [ ! -e $D/child ]; do sleep 0.01; done; echo > $D/ready; \
                  wait $child; wait $child; exit 3";
    let running = bench.start(script, LONG, None);
    bench.wait_for("ready");
    let stop = StopSignal::new();
    stop.request();
    let exit = running.wait(&stop);
    assert!(!exit.forced);
    assert_eq!(bench.wait_for("terms"), "term");
}

#[test]
fn a_grandchild_in_the_group_is_waited_for_as_long_as_it_holds_the_output() {
    let bench = Bench::new("grandchild");
    let script = "(while [ ! -e $D/go ]; do sleep 0.01; done; echo late >&2) & echo > $D/ready; exit 0";
    let running = bench.start(script, Duration::from_millis(1), None);
    bench.wait_for("ready");
    let go = bench.file("go");
    let opener = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        fs::write(go, "").expect("fixture");
    });
    let exit = running.wait(&StopSignal::new());
    opener.join().expect("opened");
    assert_eq!((exit.code, exit.stderr_tail.as_str()), (Some(0), "late\n"));
    assert!(!exit.forced && !exit.leftovers);
}

#[test]
fn a_process_that_left_the_group_is_not_waited_for_without_end() {
    let bench = Bench::new("escaped");
    let script = "setsid sh -c 'echo $$ > $0/escaped; while [ ! -e $0/end ]; do sleep 0.01; done' $D & \
                  while [ ! -e $D/escaped ]; do sleep 0.01; done; exit 0";
    let exit = bench.run(script, Duration::from_millis(100), None);
    assert_eq!(exit.code, Some(0));
    assert!(exit.leftovers && !exit.forced);
    fs::write(bench.file("end"), "").expect("fixture");
    assert!(is_gone(&bench.wait_for("escaped")));
}

#[test]
fn a_running_child_can_be_recognised_and_a_dropped_one_is_killed() {
    let bench = Bench::new("drop");
    let running = bench.start("echo > $D/ready; while :; do sleep 0.01; done", LONG, None);
    // Right after its start a process may still show an empty argv: hence the two readings of D-08.
    bench.wait_for("ready");
    let table = ProcessTable::default();
    assert_eq!(
        table.process_start_time(running.pid).expect("/proc"),
        running.start_time
    );
    assert!(running.start_time.is_some());
    assert!(
        table
            .processes_with_argument(&bench.root.display().to_string())
            .expect("/proc")
            .contains(&running.pid)
    );
    let pid = running.pid.to_string();
    drop(running);
    assert!(is_gone(&pid));
}

#[test]
fn the_child_has_our_environment_without_our_secrets() {
    const SECRET: &str = "KSQL_FLOWNET_STATE_API_TOKEN";
    const NAME: &str = "the_child_has_our_environment_without_our_secrets";
    if std::env::var_os(SECRET).is_none() {
        // A test cannot change its own environment; it runs once more with another one.
        let again = std::process::Command::new(std::env::current_exe().expect("test program"))
            .args(["--exact", NAME])
            .env(SECRET, "topsecret1")
            .env("KSQL_FLOW_LOG_API_TOKEN", "logsecret1")
            .output()
            .expect("started");
        assert!(
            again.status.success(),
            "{}",
            String::from_utf8_lossy(&again.stdout)
        );
        return;
    }
    let bench = Bench::new("environment");
    let script = "env > $D/env; echo \"token topsecret1 and logsecret1\" >&2";
    assert_eq!(bench.run(script, LONG, None).stderr_tail, "token *** and ***\n");
    let seen = fs::read_to_string(bench.file("env")).expect("written");
    assert!(!seen.contains(SECRET) && seen.contains("KSQL_FLOW_LOG_API_TOKEN=logsecret1"));

    let mut runner = bench.runner(script, LONG);
    runner.env = EnvPolicy::Inherit;
    launch::spawn(&runner, &bench.request(None))
        .expect("started")
        .wait(&StopSignal::new());
    assert!(
        fs::read_to_string(bench.file("env"))
            .expect("written")
            .contains(SECRET)
    );
}

#[test]
fn nothing_is_started_over_an_old_result() {
    let bench = Bench::new("stale");
    fs::write(bench.file("metadata/result.json"), "{}").expect("fixture");
    let runner = bench.runner("echo > $D/ran", LONG);
    assert!(matches!(
        launch::spawn(&runner, &bench.request(None)),
        Err(LaunchFailed::ResultExists(_))
    ));
    assert!(!bench.file("ran").exists());
}

#[test]
fn a_program_that_is_not_there_is_told_apart() {
    let bench = Bench::new("absent");
    let mut runner = bench.runner("", LONG);
    runner.program = bench.file("none");
    assert!(matches!(
        launch::spawn(&runner, &bench.request(None)),
        Err(LaunchFailed::NotStarted(text)) if text.contains("was not found")
    ));
    let error = machine::capabilities(&runner, &StopSignal::new()).expect_err("absent");
    assert_eq!(error.code, ChildCode::ProcessFailed);
    assert_eq!(
        error.message,
        "kSQL-Flow process could not be started for capabilities"
    );
}

#[test]
fn signals_in_a_row_are_one_request_and_a_later_one_is_urgent() {
    use rustix::process::{Pid, Signal, getpid, kill_process};
    let stop = StopSignal::install().expect("installed");
    let own: Pid = getpid();
    kill_process(own, Signal::HUP).expect("sent");
    kill_process(own, Signal::TERM).expect("sent");
    while !stop.is_requested() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(stop.count(), 1);
    while !stop.is_urgent() {
        // Unlike SIGINT and SIGHUP, this one is not ignored by what is started in the background.
        kill_process(own, Signal::TERM).expect("sent");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(stop.count(), 2);
}

fn describe(bench: &Bench, script: &str) -> Result<Vec<u8>, (ChildCode, String)> {
    machine::describe_profile(&bench.runner(script, LONG), &StopSignal::new())
        .map_err(|e| (e.code, e.to_string()))
}

#[test]
fn machine_commands_answer_with_one_json_value() {
    let bench = Bench::new("machine");
    assert_eq!(
        describe(&bench, "echo ' {\"a\":1} '").expect("json"),
        b" {\"a\":1} \n"
    );
    let (code, text) = describe(&bench, "echo nonsense; echo why >&2; exit 0").expect_err("no json");
    assert_eq!(code, ChildCode::InvalidJson);
    assert!(text.starts_with("kSQL-Flow describe-profile returned invalid JSON") && text.ends_with("why"));
    let (code, text) = describe(&bench, "echo '{}'; echo broken config >&2; exit 3").expect_err("exit");
    assert_eq!(code, ChildCode::ExitMismatch);
    assert!(
        text.starts_with("kSQL-Flow describe-profile exited with 3; expected 0")
            && text.contains("broken config")
    );
    let (code, text) = describe(&bench, "kill -KILL $$").expect_err("signal");
    assert_eq!(code, ChildCode::ProcessFailed);
    assert!(text.starts_with("kSQL-Flow process ended without an exit code for describe-profile"));
}

#[test]
fn a_configuration_that_needs_our_secrets_is_refused_before_the_start() {
    let bench = Bench::new("secret-config");
    let mut runner = bench.runner("echo > $D/ran; echo '{}'", LONG);
    runner.config = bench.file("ksql.config.json");
    let text =
        r#"{"profiles":{"prod":{"apps":{"a":{"id":1,"tokens":["env:KSQL_FLOWNET_STATE_API_TOKEN"]}}}}}"#;
    fs::write(&runner.config, text).expect("fixture");
    let error = machine::describe_profile(&runner, &StopSignal::new()).expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("KSQL_FLOWNET_STATE_API_TOKEN is not handed to the runner")
    );
    assert!(!bench.file("ran").exists());
    runner.env = EnvPolicy::Inherit;
    machine::describe_profile(&runner, &StopSignal::new()).expect("as the original does");
}

#[test]
fn a_machine_command_that_prints_without_end_is_ended() {
    let bench = Bench::new("flood");
    let (code, text) =
        describe(&bench, "exec yes 0123456789012345678901234567890123456789").expect_err("flood");
    assert_eq!(code, ChildCode::OutputInvalid);
    assert!(text.contains("more than 16777216 bytes"), "{text}");
}

#[test]
fn a_stop_also_ends_a_machine_command() {
    let bench = Bench::new("machine-stop");
    let stop = StopSignal::new();
    let runner = bench.runner("echo $$ > $D/pid; while :; do sleep 0.01; done", LONG);
    let stopper = stop.clone();
    let error = std::thread::scope(|scope| {
        let machine = scope.spawn(|| machine::capabilities(&runner, &stop).expect_err("stopped"));
        bench.wait_for("pid");
        stopper.request();
        machine.join().expect("no panic")
    });
    assert_eq!(error.code, ChildCode::ProcessFailed);
    assert!(is_gone(&bench.wait_for("pid")));
    assert!(
        machine::capabilities(&runner, &stop)
            .expect_err("not started")
            .message
            .contains("not started")
    );
}

#[test]
fn inspections_come_back_in_the_order_of_the_files() {
    let bench = Bench::new("inspect");
    let script = r#"f=$(basename "$3" .sql)
[ "$f" = bad ] && { echo '{"kind":1}'; exit 0; }
printf '{"formatVersion":1,"kind":"JOB_INSPECTION","jobId":"%s","fileName":"x","dialect":1,"statementCount":1,"dependsOn":[],"timeoutSec":null,"diagnostics":[],"nondeterministicElements":[]}' "$f""#;
    let runner = bench.runner(script, LONG);
    let names = ["a", "bad", "c", "d", "e", "f", "g"];
    let files: Vec<PathBuf> = names
        .iter()
        .map(|n| Path::new("/jobs").join(format!("{n}.sql")))
        .collect();
    let answers = machine::inspect_jobs(&runner, &files, &StopSignal::new());
    let ids: Vec<String> = answers
        .into_iter()
        .map(|a| a.map_or_else(|e| e.code.as_str().to_owned(), |i| i.job_id))
        .collect();
    assert_eq!(ids, ["a", "KSQL_FLOW_OUTPUT_INVALID", "c", "d", "e", "f", "g"]);
    assert!(machine::inspect_jobs(&runner, &[], &StopSignal::new()).is_empty());
}
