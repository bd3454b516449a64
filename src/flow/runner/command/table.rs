//! The table of commands and flags: parser, help and manual page follow it (RNR-02).

/// The commands, in the order of the help text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Check one job file.
    Validate,
    /// Check every job file of a folder.
    ValidateAll,
    /// Run one job file.
    Run,
    /// Run every job file of a folder.
    RunAll,
    /// Show how a job would be executed, without reading a record.
    Explain,
    /// Release all locks of a profile.
    Unlock,
    /// Create the log app.
    InitLogapp,
    /// Machine: what this program can do.
    Capabilities,
    /// Machine: the resolved profile without secrets.
    DescribeProfile,
    /// Machine: name, statements and diagnostics of a job file.
    InspectJob,
    /// Machine: who holds the lock of a job.
    InspectLock,
    /// Machine: release the lock of one job, with evidence.
    ForceUnlockJob,
}

/// One row of the command table.
#[derive(Debug)]
pub struct CommandRow {
    /// The command.
    pub command: Command,
    /// Its name on the command line.
    pub name: &'static str,
    /// Names of its positional arguments, all required.
    pub positionals: &'static [&'static str],
    /// Names of the flags it takes, beside `--help`.
    pub flags: &'static [&'static str],
    /// Prints one JSON object for a program; needs `--json`.
    pub machine: bool,
    /// What it does, for the help text.
    pub summary: &'static str,
}

/// One row of the flag table.
pub struct FlagRow {
    /// Name with its dashes.
    pub name: &'static str,
    /// Name of the value in the help text; `None` for a switch.
    pub value: Option<&'static str>,
    /// May be given several times.
    pub repeatable: bool,
    /// What it does, for the help text.
    pub summary: &'static str,
}

/// The flag that every command but `capabilities` takes.
pub(super) const PROFILE: &str = "--profile";
/// And the other one.
pub(super) const CONFIG: &str = "--config";

/// All commands (RNR-02); `explain` is an addition of this program.
pub const COMMANDS: &[CommandRow] = &[
    CommandRow {
        command: Command::Validate,
        name: "validate",
        positionals: &[],
        flags: &["-f", "--file", "--strict", "--check-logapp", PROFILE, CONFIG],
        machine: false,
        summary: "check one job file, or the log app",
    },
    CommandRow {
        command: Command::ValidateAll,
        name: "validate-all",
        positionals: &["JOBS"],
        flags: &["--strict", PROFILE, CONFIG],
        machine: false,
        summary: "check every job file of a folder",
    },
    CommandRow {
        command: Command::Run,
        name: "run",
        positionals: &[],
        flags: &[
            "-f",
            "--file",
            "--as-of",
            "--dry-run",
            "--sample",
            "--json",
            "--strict",
            "--max-api-calls",
            "--lock",
            "--force-unlock",
            "--result-json",
            "--correlation-id",
            "--attempt-id",
            "--expected-job-id",
            "--import-csv",
            "--import-json",
            "--expected-import-sha256",
            "--export-csv",
            "--export-encoding",
            "--export-timezone",
            PROFILE,
            CONFIG,
        ],
        machine: false,
        summary: "run one job file",
    },
    CommandRow {
        command: Command::RunAll,
        name: "run-all",
        positionals: &["JOBS"],
        flags: &[
            "--as-of",
            "--dry-run",
            "--sample",
            "--json",
            "--strict",
            "--resume",
            "--resume-batch",
            "--from",
            "--only",
            "--stop-on-error",
            "--continue-on-error",
            "--max-api-calls",
            "--lock",
            "--force-unlock",
            PROFILE,
            CONFIG,
        ],
        machine: false,
        summary: "run every job file of a folder, in order of file name and dependencies",
    },
    CommandRow {
        command: Command::Explain,
        name: "explain",
        positionals: &[],
        flags: &["-f", "--file", "--as-of", PROFILE, CONFIG],
        machine: false,
        summary: "show plan, kintone queries and estimated requests of a job file",
    },
    CommandRow {
        command: Command::Unlock,
        name: "unlock",
        positionals: &[],
        flags: &[PROFILE, CONFIG],
        machine: false,
        summary: "release the local lock and every RUNNING record of the profile",
    },
    CommandRow {
        command: Command::InitLogapp,
        name: "init-logapp",
        positionals: &[],
        flags: &["--name", PROFILE, CONFIG],
        machine: false,
        summary: "create the log app (password authentication only)",
    },
    CommandRow {
        command: Command::Capabilities,
        name: "capabilities",
        positionals: &[],
        flags: &["--json"],
        machine: true,
        summary: "versions, execution contracts and features",
    },
    CommandRow {
        command: Command::DescribeProfile,
        name: "describe-profile",
        positionals: &[],
        flags: &["--json", PROFILE, CONFIG],
        machine: true,
        summary: "the resolved profile, without secrets",
    },
    CommandRow {
        command: Command::InspectJob,
        name: "inspect-job",
        positionals: &[],
        flags: &["-f", "--file", "--json", PROFILE, CONFIG],
        machine: true,
        summary: "name, dependencies, statements and diagnostics of a job file",
    },
    CommandRow {
        command: Command::InspectLock,
        name: "inspect-lock",
        positionals: &[],
        flags: &["--job-key", "--json", PROFILE, CONFIG],
        machine: true,
        summary: "who holds the lock of a job",
    },
    CommandRow {
        command: Command::ForceUnlockJob,
        name: "force-unlock-job",
        positionals: &[],
        flags: &[
            "--job-key",
            "--reason",
            "--confirmed-by",
            "--evidence-ref",
            "--json",
            PROFILE,
            CONFIG,
        ],
        machine: true,
        summary: "release the lock of one job, recording who confirmed what",
    },
];

/// All flags.
pub const FLAGS: &[FlagRow] = &[
    valued(
        PROFILE,
        "NAME",
        "profile of the configuration file (default: its defaultProfile)",
    ),
    valued(CONFIG, "FILE", "configuration file (default: ./ksql.config.json)"),
    valued("-f", "FILE", "job file"),
    valued("--file", "FILE", "job file"),
    valued(
        "--as-of",
        "INSTANT",
        "fix @NOW(), @TODAY() ... to this date or date-time (default: the start)",
    ),
    switch("--dry-run", "show what would be written; write nothing"),
    valued(
        "--sample",
        "N",
        "with --dry-run: number of sample changes, 1 to 50 (default 5)",
    ),
    switch(
        "--json",
        "print one JSON object; for run and run-all only with --dry-run",
    ),
    switch("--strict", "treat plain INSERT as an error"),
    switch(
        "--check-logapp",
        "check the fields of the log app instead of a job file",
    ),
    valued(
        "--max-api-calls",
        "N",
        "stop after this number of requests to kintone",
    ),
    valued(
        "--lock",
        "MODE",
        "local-only: go on without the lock in the log app",
    ),
    switch("--force-unlock", "release every lock of the profile first"),
    switch("--resume", "run again what did not succeed in the newest batch"),
    valued(
        "--resume-batch",
        "ID",
        "run again what did not succeed in this batch",
    ),
    valued("--from", "JOB", "start at this job (file name or job name)"),
    valued("--only", "JOB", "run this job only (file name or job name)"),
    switch("--stop-on-error", "skip everything after the first failure"),
    switch(
        "--continue-on-error",
        "exit with 4 when some jobs succeeded and some failed",
    ),
    valued("--name", "NAME", "name of the log app"),
    valued(
        "--result-json",
        "FILE",
        "orchestrated: write the execution result here; - for standard output",
    ),
    valued("--correlation-id", "ID", "orchestrated: id of the calling run"),
    valued("--attempt-id", "ID", "orchestrated: id of the attempt"),
    valued(
        "--expected-job-id",
        "ID",
        "orchestrated: refuse a job file with another name",
    ),
    repeated(
        "--import-csv",
        "NAME=FILE",
        "CSV source of IMPORT ... FROM CSV NAME (absolute path)",
    ),
    repeated(
        "--import-json",
        "NAME=FILE",
        "JSON source of IMPORT ... FROM JSON NAME (absolute path)",
    ),
    repeated(
        "--expected-import-sha256",
        "NAME=HEX",
        "refuse a source with another SHA-256",
    ),
    repeated(
        "--export-csv",
        "[NAME=]FILE",
        "write temp table #NAME, or the only SELECT, as CSV",
    ),
    valued("--export-encoding", "ENCODING", "utf8 (default) or sjis"),
    valued(
        "--export-timezone",
        "ZONE",
        "show date-times in this IANA time zone",
    ),
    valued("--job-key", "KEY", "PROFILE:JOB"),
    valued("--reason", "TEXT", "why the lock is released"),
    valued(
        "--confirmed-by",
        "NAME",
        "who confirmed that the job is not running",
    ),
    valued(
        "--evidence-ref",
        "URI",
        "where the confirmation is recorded (absolute URI)",
    ),
];

const fn valued(name: &'static str, value: &'static str, summary: &'static str) -> FlagRow {
    FlagRow {
        name,
        value: Some(value),
        repeatable: false,
        summary,
    }
}

const fn repeated(name: &'static str, value: &'static str, summary: &'static str) -> FlagRow {
    FlagRow {
        name,
        value: Some(value),
        repeatable: true,
        summary,
    }
}

const fn switch(name: &'static str, summary: &'static str) -> FlagRow {
    FlagRow {
        name,
        value: None,
        repeatable: false,
        summary,
    }
}

/// The four flags of Execution Contract v1 (RNR-06).
pub const ORCHESTRATION: [&str; 4] = [
    "--result-json",
    "--correlation-id",
    "--attempt-id",
    "--expected-job-id",
];

/// Flags that exclude each other (RNR-03).
pub(super) const CONFLICTS: &[&[&str]] = &[
    &["-f", "--file"],
    &["--resume", "--resume-batch", "--from", "--only"],
    &["--stop-on-error", "--continue-on-error"],
];
