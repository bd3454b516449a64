//! Reading order, messages, and that no secret shows.

use std::ffi::OsString;
use std::path::PathBuf;

use super::*;
use crate::flownet::child::EnvPolicy;

const RUN_ORDER: &[(&str, &str)] = &[
    ("KSQL_FLOWNET_PROFILE", "prod"),
    ("KSQL_FLOWNET_BASE_URL", "https://example.cybozu.com/"),
    ("KSQL_FLOWNET_STATE_APP_ID", "1"),
    ("KSQL_FLOWNET_AUDIT_APP_ID", "2"),
    ("KSQL_FLOWNET_STATE_API_TOKEN", "s3cret-state"),
    ("KSQL_FLOWNET_AUDIT_API_TOKEN", "s3cret-audit"),
    ("KSQL_FLOW_BIN", "ksql-flow"),
    ("KSQL_FLOW_CONFIG", "cfg.json"),
    ("KSQL_FLOW_WORKDIR", "/srv/jobs"),
    ("KSQL_FLOW_LOG_APP_ID", "3"),
    ("KSQL_FLOW_LOG_API_TOKEN", "s3cret-log"),
];

const STATUS_ORDER: &[(&str, &str)] = &[
    ("KSQL_FLOWNET_BASE_URL", "https://example.cybozu.com"),
    ("KSQL_FLOWNET_STATE_APP_ID", "1"),
    ("KSQL_FLOWNET_STATE_API_TOKEN", "s3cret-state"),
    ("KSQL_FLOWNET_AUDIT_APP_ID", "2"),
    ("KSQL_FLOWNET_AUDIT_API_TOKEN", "s3cret-audit"),
];

fn surroundings() -> Surroundings {
    Surroundings {
        directory: PathBuf::from("/here"),
        host_name: "batch01".to_owned(),
        process_id: 42,
    }
}

/// Runs `read` with these variables.
fn with<T>(variables: &[(&str, &str)], read: impl Fn(&Environment<'_>) -> T) -> T {
    let lookup = |name: &str| {
        let found = variables.iter().rev().find(|(n, _)| *n == name);
        found.map(|(_, value)| OsString::from(value))
    };
    read(&Environment::new(&lookup))
}

fn run(variables: &[(&str, &str)]) -> Result<RunSettings, SettingsError> {
    with(variables, |env| {
        RunSettings::read(env, RunnerFlags::default(), &surroundings())
    })
}

fn run_and(extra: &[(&str, &str)]) -> Result<RunSettings, SettingsError> {
    run(&[RUN_ORDER, extra].concat())
}

fn error_of<T: std::fmt::Debug>(result: Result<T, SettingsError>) -> String {
    result.expect_err("refused").to_string()
}

#[test]
fn the_first_missing_variable_is_reported() {
    for known in 0..RUN_ORDER.len() {
        assert_eq!(
            error_of(run(&RUN_ORDER[..known])),
            format!("{} is required", RUN_ORDER[known].0)
        );
    }
    for known in 0..STATUS_ORDER.len() {
        let result = with(&STATUS_ORDER[..known], ControlSettings::read_all);
        assert_eq!(error_of(result), format!("{} is required", STATUS_ORDER[known].0));
    }
}

#[test]
fn blank_is_missing_and_wrong_numbers_are_named() {
    assert_eq!(
        error_of(run_and(&[("KSQL_FLOW_BIN", "\u{3000} ")])),
        "KSQL_FLOW_BIN is required"
    );
    assert_eq!(
        error_of(run_and(&[("KSQL_FLOW_LOG_APP_ID", "1.5")])),
        "KSQL_FLOW_LOG_APP_ID must be a positive integer"
    );
    assert_eq!(
        error_of(run_and(&[("KSQL_FLOW_GRACE_PERIOD_MS", "-1")])),
        "KSQL_FLOW_GRACE_PERIOD_MS must be a non-negative integer"
    );
    assert_eq!(
        error_of(run_and(&[("KSQL_FLOW_BIN_ARGS", "[1]")])),
        "KSQL_FLOW_BIN_ARGS must be a JSON string array"
    );
}

#[test]
fn an_unsafe_address_or_profile_is_refused_before_a_token_is_sent() {
    for address in [
        "http://example.cybozu.com",
        "https://example.cybozu.com/k/v1",
        "example.cybozu.com",
    ] {
        let error = error_of(run_and(&[("KSQL_FLOWNET_BASE_URL", address)]));
        assert!(error.starts_with("KSQL_FLOWNET_BASE_URL: "), "{error}");
    }
    let error = error_of(run_and(&[("KSQL_FLOWNET_PROFILE", "a:b")]));
    assert!(error.starts_with("KSQL_FLOWNET_PROFILE: "), "{error}");
}

#[test]
fn defaults_of_run_network() {
    let settings = run_and(&[("KSQL_FLOW_GRACE_PERIOD_MS", " ")]).expect("complete");
    assert_eq!(settings.runner.grace.as_millis(), 30_000);
    assert_eq!(settings.runner.config, PathBuf::from("/here/cfg.json"));
    assert_eq!(settings.runner.workdir, PathBuf::from("/srv/jobs"));
    assert_eq!(settings.runner.env, EnvPolicy::WithoutSecrets);
    assert_eq!(settings.owner_instance_id, "local-pid://batch01/42");
    assert_eq!(settings.requested_by, "unknown");
    assert!(settings.auto_reclaim);
}

#[test]
fn empty_names_count_as_not_set_and_flags_beat_variables() {
    let settings = run_and(&[
        ("KSQL_FLOWNET_HOST", ""),
        ("KSQL_FLOWNET_OWNER_INSTANCE_ID", ""),
        ("KSQL_FLOWNET_REQUESTED_BY", ""),
        ("USERNAME", "batch"),
        ("KSQL_FLOWNET_AUTO_RECLAIM", "off"),
        ("KSQL_FLOWNET_CHILD_ENV", "inherit"),
    ])
    .expect("complete");
    assert_eq!(
        (settings.host.as_str(), settings.requested_by.as_str()),
        ("batch01", "batch")
    );
    assert_eq!(settings.owner_instance_id, "local-pid://batch01/42");
    assert_eq!(settings.runner.env, EnvPolicy::Inherit);
    assert!(!settings.auto_reclaim);
    let flags = RunnerFlags {
        program: Some("./flow"),
        ..RunnerFlags::default()
    };
    let variables: Vec<_> = RUN_ORDER
        .iter()
        .filter(|(name, _)| *name != "KSQL_FLOW_BIN")
        .copied()
        .collect();
    let settings = with(&variables, |env| RunSettings::read(env, flags, &surroundings()));
    assert_eq!(
        settings.expect("complete").runner.program,
        PathBuf::from("./flow")
    );
}

#[test]
fn no_secret_shows_in_debug_or_errors() {
    let secret = [
        ("KSQL_FLOWNET_BASIC_AUTH", "user:s3cret-basic"),
        ("HTTPS_PROXY", "http://u:s3cret-proxy@proxy:8080"),
    ];
    let shown = format!("{:?}", run_and(&secret).expect("complete"));
    assert!(!shown.contains("s3cret"), "{shown}");
    for (name, value) in [
        ("KSQL_FLOWNET_BASIC_AUTH", "s3cret"),
        ("HTTPS_PROXY", "ftp://s3cret"),
    ] {
        let error = error_of(run_and(&[(name, value)]));
        assert!(error.contains(name) && !error.contains("s3cret"), "{error}");
    }
}

#[test]
fn connection_variables() {
    let settings = with(
        &[
            STATUS_ORDER,
            &[
                ("KSQL_FLOWNET_GUEST_SPACE_ID", "7"),
                ("KSQL_FLOWNET_CA_FILE", "/ca.pem"),
            ],
        ]
        .concat(),
        ControlSettings::read_all,
    )
    .expect("complete");
    let config = settings.client_config();
    assert_eq!(config.guest_space, Some(7));
    assert_eq!(config.ca_file, Some(PathBuf::from("/ca.pem")));
    assert_eq!(config.base_url.as_str(), "https://example.cybozu.com");
}

#[test]
fn io_directory_is_checked_when_it_is_needed() {
    let error = |variables: &[(&str, &str)]| error_of(with(variables, IoSettings::read));
    assert_eq!(
        error(&[]),
        "KSQL_FLOWNET_IO_DIR is required for networks with inputs or outputs"
    );
    assert_eq!(
        error(&[("KSQL_FLOWNET_IO_DIR", "io")]),
        "KSQL_FLOWNET_IO_DIR must be an absolute path"
    );
    let settings = with(&[("KSQL_FLOWNET_IO_DIR", "/io")], IoSettings::read).expect("complete");
    assert_eq!(
        settings,
        IoSettings {
            root: PathBuf::from("/io"),
            retention_days: 90
        }
    );
}

#[test]
fn operators_have_names() {
    let read = |extra: &[(&str, &str)], principal| {
        with(&[STATUS_ORDER, extra].concat(), |env| {
            OperateSettings::read(env, principal, &surroundings())
        })
    };
    let person = ("KSQL_FLOWNET_REQUESTED_BY", "sato");
    let account = ("KSQL_FLOWNET_SERVICE_PRINCIPAL", "batch");
    assert_eq!(
        error_of(read(&[person], true)),
        "KSQL_FLOWNET_SERVICE_PRINCIPAL is required"
    );
    assert_eq!(
        error_of(read(&[account], true)),
        "KSQL_FLOWNET_REQUESTED_BY is required"
    );
    let settings = read(&[person, account], true).expect("complete");
    assert_eq!(
        (
            settings.requested_by.as_str(),
            settings.service_principal.as_str()
        ),
        ("sato", "batch")
    );
    assert_eq!(read(&[person], false).expect("complete").service_principal, "");
}

#[test]
fn archive_run_takes_the_profile_from_either_place() {
    let person = &[
        ("KSQL_FLOWNET_REQUESTED_BY", "sato"),
        ("KSQL_FLOWNET_HOST", " host "),
    ][..];
    let read = |profile| {
        with(&[STATUS_ORDER, person].concat(), |env| {
            ArchiveSettings::read(env, profile, &surroundings())
        })
    };
    assert_eq!(error_of(read(None)), "KSQL_FLOWNET_PROFILE is required");
    let settings = read(Some("prod")).expect("complete");
    assert_eq!(
        (settings.profile.as_str(), settings.service_principal.as_str()),
        ("prod", "host")
    );
}

#[test]
fn poller_settings() {
    let base = [
        ("KSQL_FLOWNET_BASE_URL", "https://example.cybozu.com"),
        ("KSQL_FLOWNET_REQUEST_APP_ID", "4"),
        ("KSQL_FLOWNET_REQUEST_API_TOKEN", "s3cret"),
        ("KSQL_FLOWNET_REQUEST_ALLOWLIST_PATH", "list.yaml"),
    ];
    let settings = with(&base, PollSettings::read).expect("complete");
    assert_eq!(
        (settings.heartbeat.as_secs(), settings.stale_after.as_secs()),
        (60, 900)
    );
    let late = [("KSQL_FLOWNET_REQUEST_HEARTBEAT_INTERVAL_MS", "x")];
    let error = error_of(with(&[&base[..3], &late].concat(), PollSettings::read));
    assert_eq!(
        error,
        "KSQL_FLOWNET_REQUEST_HEARTBEAT_INTERVAL_MS must be a positive integer"
    );
}

/// The table of variables and the settings name the same variables.
#[test]
fn every_variable_that_is_read_stands_in_the_table() {
    use std::cell::RefCell;
    let seen = RefCell::new(Vec::<String>::new());
    let all = [RUN_ORDER, &[("KSQL_FLOWNET_IO_DIR", "/io")]].concat();
    let others = [
        ("KSQL_FLOWNET_REQUEST_APP_ID", "4"),
        ("KSQL_FLOWNET_REQUEST_API_TOKEN", "t"),
        ("KSQL_FLOWNET_REQUEST_ALLOWLIST_PATH", "/l"),
        ("KSQL_FLOWNET_SERVICE_PRINCIPAL", "batch"),
        ("KSQL_FLOWNET_REQUESTED_BY", "sato"),
        ("HTTPS_PROXY", "http://proxy:8080"),
    ];
    let lookup = |name: &str| {
        seen.borrow_mut().push(name.to_owned());
        let found = all.iter().chain(&others).find(|(n, _)| *n == name);
        found.map(|(_, value)| OsString::from(value))
    };
    let env = Environment::new(&lookup);
    let here = surroundings();
    RunSettings::read(&env, RunnerFlags::default(), &here).expect("run-network");
    IoSettings::read(&env).expect("io");
    OperateSettings::read(&env, true, &here).expect("operate");
    ArchiveSettings::read(&env, None, &here).expect("archive-run");
    PollSettings::read(&env).expect("poll-requests");
    let table: Vec<_> = super::super::variables::VARIABLES
        .iter()
        .map(|v| v.name)
        .collect();
    let seen = seen.into_inner();
    for name in seen
        .iter()
        .filter(|name| !["https_proxy", "no_proxy"].contains(&name.as_str()))
    {
        assert!(
            table.contains(&name.as_str()),
            "{name} is read and not in the table"
        );
    }
    let elsewhere = [
        "KSQL_FLOWNET_EXIT_CODES",
        "KSQL_FLOWNET_GCP_ACCESS_TOKEN",
        "USERNAME",
    ];
    for name in table {
        assert!(
            seen.iter().any(|n| n == name) || elsewhere.contains(&name),
            "{name} is never read"
        );
    }
}
