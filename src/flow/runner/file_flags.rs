//! Flags that name import sources and export sinks (RNR-130, RNR-132).

use std::path::{Path, PathBuf, absolute};

use super::command::Flags;
use crate::flow::calendar::Zone;
use crate::flow::csv::Encoding;
use crate::flow::sql::message::{Message, say};

/// Format of an import source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFormat {
    /// `--import-csv`
    Csv,
    /// `--import-json`
    Json,
}

/// One import source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportSource {
    /// Name in the SQL.
    pub name: String,
    /// Absolute path.
    pub path: PathBuf,
    /// Format.
    pub format: SourceFormat,
    /// Hash the file must have, 64 lower-case hexadecimal digits.
    pub sha256: Option<String>,
}

/// Reads the import flags.
///
/// # Errors
/// A value of the wrong form, a repeated name, a hash for a source that is not supplied, or a missing one when an
/// orchestrator asks.
pub fn imports(flags: &Flags, orchestrated: bool) -> Result<Vec<ImportSource>, Message> {
    let mut sources: Vec<ImportSource> = Vec::new();
    for (flag, format) in [
        ("--import-csv", SourceFormat::Csv),
        ("--import-json", SourceFormat::Json),
    ] {
        for value in flags.values(flag) {
            let (name, path) = named(flag, value)?;
            if sources.iter().any(|source| source.name == name) {
                return Err(twice(flag, name));
            }
            if !Path::new(path).is_absolute() {
                return Err(say!(
                    "{flag} {name}: the path must be absolute",
                    "{flag} {name}: パスは絶対パスにしてください"
                ));
            }
            let path = PathBuf::from(path);
            sources.push(ImportSource {
                name: name.to_owned(),
                path,
                format,
                sha256: None,
            });
        }
    }
    const HASH: &str = "--expected-import-sha256";
    for value in flags.values(HASH) {
        let (name, hash) = named(HASH, value)?;
        if hash.len() != 64 || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(say!(
                "{HASH} {name}: must be 64 hexadecimal digits",
                "{HASH} {name}: 16 進数 64 桁にしてください"
            ));
        }
        let source = sources
            .iter_mut()
            .find(|source| source.name == name)
            .ok_or_else(|| {
                say!(
                    "{HASH}: no import source is named {name:?}",
                    "{HASH}: {name:?} という取り込み元はありません"
                )
            })?;
        if source.sha256.replace(hash.to_ascii_lowercase()).is_some() {
            return Err(twice(HASH, name));
        }
    }
    match sources
        .iter()
        .find(|source| orchestrated && source.sha256.is_none())
    {
        Some(source) => {
            let name = &source.name;
            Err(say!(
                "an orchestrated run needs {HASH} {name}=HEX",
                "オーケストレーターからの実行には {HASH} {name}=HEX が必要です"
            ))
        }
        None => Ok(sources),
    }
}

/// What is exported: temp tables by name, or the result of the only SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Exports {
    /// Sinks in the order of their names; the name is empty for the only SELECT.
    pub sinks: Vec<(String, PathBuf)>,
    /// Encoding of all files.
    pub encoding: Encoding,
    /// Zone that date-times are shown in.
    pub zone: Option<Zone>,
}

/// Reads the export flags; `None` = nothing is exported.
///
/// # Errors
/// A value of the wrong form, both kinds of sinks, a repeated name or target, a flag that makes no sense.
pub fn exports(flags: &Flags) -> Result<Option<Exports>, Message> {
    const SINK: &str = "--export-csv";
    let values: Vec<&str> = flags.values(SINK).collect();
    if values.is_empty() {
        return match ["--export-encoding", "--export-timezone"]
            .into_iter()
            .find(|flag| flags.has(flag))
        {
            Some(flag) => Err(say!("{flag} needs {SINK}", "{flag} には {SINK} が必要です")),
            None => Ok(None),
        };
    }
    if flags.has("--dry-run") {
        return Err(say!(
            "{SINK} and --dry-run exclude each other",
            "{SINK} と --dry-run は同時に指定できません"
        ));
    }
    let mut sinks: Vec<(String, PathBuf)> = Vec::new();
    for value in &values {
        let (name, path) = if value.contains('=') {
            named(SINK, value)?
        } else {
            ("", *value)
        };
        if path.is_empty() || path == "-" || path.contains('\0') {
            return Err(say!(
                "{SINK} {value:?}: needs the path of a file",
                "{SINK} {value:?}: ファイルのパスが必要です"
            ));
        }
        if sinks.iter().any(|(taken, _)| taken == name) {
            return Err(if name.is_empty() {
                say!(
                    "{SINK} FILE can be given once; name the temp tables of several files",
                    "{SINK} FILE は 1 つだけです。複数のファイルには一時テーブル名を付けてください"
                )
            } else {
                twice(SINK, name)
            });
        }
        let resolved = absolute(path).map_err(|error| format!("{SINK} {value:?}: {error}"))?;
        let result = flags.value("--result-json").and_then(|path| absolute(path).ok());
        if sinks.iter().any(|(_, taken)| *taken == resolved) || result.as_ref() == Some(&resolved) {
            return Err(say!(
                "{SINK} {value:?}: another output goes to this file",
                "{SINK} {value:?}: このファイルには別の出力が書き込まれます"
            ));
        }
        sinks.push((name.to_owned(), resolved));
    }
    if sinks.len() > 1 && sinks.iter().any(|(name, _)| name.is_empty()) {
        return Err(say!(
            "{SINK} NAME=FILE and {SINK} FILE exclude each other",
            "{SINK} NAME=FILE と {SINK} FILE は同時に指定できません"
        ));
    }
    sinks.sort();
    let encoding = match flags.value("--export-encoding") {
        None => Encoding::Utf8,
        Some(name) => Encoding::parse(name).ok_or_else(|| {
            say!(
                "--export-encoding {name:?}: must be utf8 or sjis",
                "--export-encoding {name:?}: utf8 か sjis を指定してください"
            )
        })?,
    };
    let zone = match flags.value("--export-timezone") {
        None => None,
        Some(name) => Some(Zone::named(name).map_err(|error| format!("--export-timezone: {error}"))?),
    };
    Ok(Some(Exports {
        sinks,
        encoding,
        zone,
    }))
}

fn twice(flag: &str, name: &str) -> Message {
    say!(
        "{flag}: the name {name:?} is given twice",
        "{flag}: 名前 {name:?} が 2 回指定されています"
    )
}

/// `name=rest`, split at the first `=`.
fn named<'a>(flag: &str, value: &'a str) -> Result<(&'a str, &'a str), Message> {
    let (name, rest) = value.split_once('=').ok_or_else(|| {
        say!(
            "{flag} {value:?}: must be NAME=...",
            "{flag} {value:?}: NAME=... の形で指定してください"
        )
    })?;
    if name.is_empty() || name.contains(char::is_control) {
        return Err(say!(
            "{flag} {value:?}: the name is empty or has control characters",
            "{flag} {value:?}: 名前が空か、制御文字を含んでいます"
        ));
    }
    Ok((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::runner::command::{Request, parse};

    fn flags(line: &str) -> Result<Flags, String> {
        let words: Vec<String> = format!("run -f a.sql {line}")
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        match parse(&words) {
            Ok(Request::Invoke(invocation)) => Ok(invocation.flags),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn sources_have_names_absolute_paths_and_hashes() {
        let hash = "AB".repeat(32);
        let flags = flags(&format!(
            "--import-csv a=/x=1.csv --import-json b=/y --expected-import-sha256 a={hash}"
        ));
        let sources = imports(&flags.expect("accepted"), false).expect("sources");
        assert_eq!(sources[0].path, Path::new("/x=1.csv"));
        assert_eq!(sources[0].sha256.as_deref(), Some("ab".repeat(32).as_str()));
        assert_eq!(
            (sources[1].format, &sources[1].sha256),
            (SourceFormat::Json, &None)
        );
    }

    #[test]
    fn mistakes_are_usage_errors() {
        for (line, message) in [
            ("--import-csv a", "--import-csv \"a\": must be NAME="),
            ("--import-csv =/a", "--import-csv \"=/a\": the name is empty"),
            (
                "--import-csv a=b.csv",
                "--import-csv a: the path must be absolute",
            ),
            (
                "--import-csv a=/b --import-json a=/c",
                "--import-json: the name \"a\" is given twice",
            ),
            (
                "--expected-import-sha256 a=00",
                "--expected-import-sha256 a: must be 64",
            ),
            (
                "--result-json - --correlation-id a --attempt-id b --expected-job-id c --import-csv a=/b",
                "an orchestrated run needs --expected-import-sha256 a=HEX",
            ),
            ("--export-encoding utf8", "--export-encoding needs --export-csv"),
            (
                "--export-csv a --export-csv b",
                "--export-csv FILE can be given once",
            ),
            (
                "--export-csv a=x --export-csv b",
                "--export-csv NAME=FILE and --export-csv FILE exclude",
            ),
            (
                "--export-csv a=x --export-csv a=y",
                "--export-csv: the name \"a\" is given twice",
            ),
            (
                "--export-csv a=x --export-csv b=x",
                "--export-csv \"b=x\": another output goes",
            ),
            ("--export-csv a=", "--export-csv \"a=\": needs the path"),
            ("--export-csv a=-", "--export-csv \"a=-\": needs the path"),
            ("--export-csv a --dry-run", "--export-csv and --dry-run exclude"),
            (
                "--export-csv a --export-encoding latin1",
                "--export-encoding \"latin1\": must be",
            ),
            (
                "--export-csv a --export-timezone Mars",
                "--export-timezone: unknown time zone",
            ),
        ] {
            let error = flags(line).expect_err(line);
            assert!(error.starts_with(message), "{line}: {error}");
        }
    }

    #[test]
    fn sinks_are_sorted_by_name() {
        let flags = flags("--export-csv b=/tmp/b.csv --export-csv a=/tmp/a.csv --export-encoding sjis");
        let exports = exports(&flags.expect("accepted")).expect("valid").expect("some");
        let names: Vec<&str> = exports.sinks.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(exports.encoding, Encoding::ShiftJis);
    }
}
