//! Vectors for the argument walker.

use proptest::prelude::*;

use super::{COMMANDS, Command, FLAGS, Request, UsageError, parse, usage};
use crate::language::Language;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn refusal(line: &str) -> Box<UsageError> {
    match parse(&words(line)) {
        Err(error) => error,
        Ok(request) => panic!("{line} was accepted: {request:?}"),
    }
}

fn accepted(line: &str) -> super::Invocation {
    match parse(&words(line)) {
        Ok(Request::Invoke(invocation)) => invocation,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn every_flag_of_a_command_is_in_the_flag_table() {
    for row in COMMANDS {
        for name in row.flags {
            assert!(FLAGS.iter().any(|flag| flag.name == *name), "{} {name}", row.name);
        }
    }
}

#[test]
fn usage_errors_name_the_argument() {
    for (line, message) in [
        ("run -f a.sql --jsno", "unknown flag --jsno"),
        ("run -f a.sql -", "unknown flag -"),
        ("run -f a.sql --resume", "--resume is not a flag of run"),
        (
            "capabilities --json --profile p",
            "--profile is not a flag of capabilities",
        ),
        ("run -f a.sql --dry-run=yes", "--dry-run takes no value"),
        ("run -f", "-f needs a value"),
        ("run -f --dry-run", "-f needs a value"),
        ("run -f a.sql --file b.sql", "-f and --file exclude each other"),
        ("run -f a.sql extra", "unexpected argument \"extra\""),
        ("run", "run needs -f FILE"),
        ("run -f=", "run needs -f FILE"),
        ("run-all", "run-all needs JOBS"),
        ("run-all --help", "run-all needs JOBS"),
        (
            "run-all jobs --resume --only x",
            "--resume and --only exclude each other",
        ),
        (
            "run-all jobs --from a --resume-batch x",
            "--resume-batch and --from exclude each other",
        ),
        (
            "run-all jobs --stop-on-error --continue-on-error",
            "--stop-on-error and --continue-on-error exclude each other",
        ),
        ("run -f a.sql --json", "--json needs --dry-run"),
        ("run-all j --sample 3", "--sample needs --dry-run"),
        ("capabilities", "capabilities needs --json"),
        (
            "inspect-job --json --profile p --config c",
            "inspect-job needs -f FILE",
        ),
        (
            "inspect-job -f a.sql --json --config c",
            "inspect-job needs --profile",
        ),
        (
            "inspect-lock --json --profile p --config c --job-key=",
            "inspect-lock needs --job-key",
        ),
        (
            "force-unlock-job --json --profile p --config c --job-key p:j --reason r --confirmed-by me --evidence-ref ticket",
            "--evidence-ref must be an absolute URI",
        ),
        (
            "run -f a.sql --correlation-id a",
            "--correlation-id also needs --result-json",
        ),
        (
            "run -f a.sql --result-json - --correlation-id a/b --attempt-id b --expected-job-id c",
            "--correlation-id must be 1 to 128",
        ),
        (
            "run -f a.sql --dry-run --result-json - --correlation-id a --attempt-id b --expected-job-id c",
            "--dry-run and --result-json exclude each other",
        ),
        (
            "run -f a.sql --lock local-only --result-json - --correlation-id a --attempt-id b --expected-job-id c",
            "--lock local-only and --result-json exclude each other",
        ),
    ] {
        let error = refusal(line);
        assert!(error.to_string().starts_with(message), "{line}: {error}");
        assert!(!error.show_usage);
    }
}

#[test]
fn values_follow_or_are_joined_by_the_first_equals_sign() {
    let invocation = accepted("run --file=a=b.sql --as-of 2026-08-01 --as-of=2026-09-01 --profile p");
    assert_eq!(invocation.row.command, Command::Run);
    assert_eq!(invocation.flags.job_file(), Some("a=b.sql"));
    assert_eq!(invocation.flags.value("--as-of"), Some("2026-09-01"));
    let invocation = accepted("run -f a.sql --import-csv x=/a --import-csv=y=/b");
    assert_eq!(
        invocation.flags.values("--import-csv").collect::<Vec<_>>(),
        ["x=/a", "y=/b"]
    );
}

#[test]
fn a_dash_is_a_value_of_result_json_only() {
    let line = "run -f a.sql --result-json - --correlation-id a --attempt-id b --expected-job-id c";
    let orchestration = accepted(line).orchestration().expect("orchestrated");
    assert_eq!(orchestration.result_json, "-");
    assert_eq!(
        refusal("run -f a.sql --as-of -").to_string(),
        "--as-of needs a value"
    );
}

#[test]
fn an_orchestrator_is_answered_even_after_a_mistake() {
    let line = "run -f a.sql --bad --result-json - --correlation-id a --attempt-id b --expected-job-id c --profile p";
    let error = refusal(line);
    assert_eq!(error.to_string(), "unknown flag --bad");
    assert_eq!(error.orchestration.expect("ids").attempt_id, "b");
    assert_eq!(error.profile.as_deref(), Some("p"));
    let error = refusal("run -f a.sql --bad --result-json - --correlation-id a --attempt-id b");
    assert!(error.orchestration.is_none());
}

#[test]
fn an_existing_result_file_is_refused() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let line = format!(
        "run -f a.sql --result-json {manifest} --correlation-id a --attempt-id b --expected-job-id c"
    );
    let error = refusal(&line);
    assert!(error.to_string().contains("exists already"), "{error}");
    assert!(error.orchestration.is_none());
}

#[test]
fn help_and_unknown_commands() {
    for line in ["", "help", "--help", "-h"] {
        assert!(matches!(parse(&words(line)), Ok(Request::Help)), "{line:?}");
    }
    assert!(
        matches!(parse(&words("run --help")), Ok(Request::CommandHelp(row)) if row.command == Command::Run)
    );
    assert!(matches!(parse(&words("--version")), Ok(Request::Version)));
    let error = refusal("frobnicate");
    assert!(error.show_usage);
    assert_eq!(error.to_string(), "unknown command \"frobnicate\"");
}

#[test]
fn help_lists_every_command_and_flag() {
    let general = usage(None, Language::English);
    for row in COMMANDS {
        assert!(general.contains(row.name));
        let text = usage(Some(row), Language::English);
        for flag in row.flags {
            assert!(text.contains(flag), "{} {flag}", row.name);
        }
    }
}

#[test]
fn the_manual_pages_name_every_command_and_flag() {
    for page in [
        include_str!("../../../../man/ksql-flow.1"),
        include_str!("../../../../man/ja/ksql-flow.1"),
    ] {
        for row in COMMANDS {
            assert!(page.contains(&format!("Cm {}", row.name)), "{}", row.name);
        }
        for flag in FLAGS {
            let name = flag.name.strip_prefix('-').expect("a dash");
            assert!(page.contains(&format!("Fl {name}")), "{}", flag.name);
        }
    }
}

proptest! {
    #[test]
    fn any_arguments_are_read_or_refused(
        command in prop::sample::select(COMMANDS.iter().map(|row| row.name).collect::<Vec<_>>()),
        tokens in prop::collection::vec(
            prop_oneof![
                prop::sample::select(FLAGS.iter().map(|flag| flag.name.to_owned()).collect::<Vec<_>>()),
                "-{0,2}[a-z=]{0,6}",
                "\\PC{0,6}",
            ],
            0..6,
        ),
    ) {
        let mut arguments = vec![command.to_owned()];
        arguments.extend(tokens);
        match parse(&arguments) {
            Ok(Request::Invoke(invocation)) => {
                prop_assert_eq!(invocation.positionals.len(), invocation.row.positionals.len());
                for flag in FLAGS {
                    prop_assert!(!invocation.flags.has(flag.name) || invocation.row.flags.contains(&flag.name));
                }
            }
            Ok(_) => {}
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
