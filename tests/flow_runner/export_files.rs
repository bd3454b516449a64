//! CSV files that a successful job leaves (RNR-132..134).

use serde_json::json;

use crate::bench::Bench;
use crate::sandbox::Sandbox;

const TABLES: &str = "-- @ksql name: tables
-- @ksql dialect: 1
CREATE TEMP TABLE first AS SELECT 顧客コード, 顧客名, 1e21 AS big, 'a,\"b' AS quoted FROM LAPP_顧客マスタ
  WHERE 顧客コード = 'C00001';
EXIT SUCCESS IF (SELECT COUNT(*) FROM first) > 99, 'never';
CREATE TEMP TABLE second AS SELECT 'x' AS only_column;
";

fn start(job: &str) -> (Sandbox, Bench) {
    let sandbox = Sandbox::start("flow-export");
    let bench = Bench::on(&sandbox);
    bench.write("tables.sql", job);
    (sandbox, bench)
}

fn read(bench: &Bench, name: &str) -> String {
    String::from_utf8(std::fs::read(bench.root.join(name)).expect("file")).expect("UTF-8")
}

#[test]
fn temp_tables_become_files() {
    let (_sandbox, bench) = start(TABLES);
    bench.write("second.csv", "old");
    let ended = bench.line("run -f tables.sql --export-csv second=second.csv --export-csv first=first.csv");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let first = read(&bench, "first.csv");
    let mut lines = first.split("\r\n");
    assert_eq!(lines.next(), Some("顧客コード,顧客名,big,quoted"));
    let row = lines.next().expect("a row");
    assert!(
        row.starts_with("C00001,") && row.ends_with(",1000000000000000000000,\"a,\"\"b\""),
        "{row}"
    );
    assert_eq!(lines.next(), Some(""), "the last record ends with CR LF too");
    assert_eq!(read(&bench, "second.csv"), "only_column\r\nx\r\n");
}

#[test]
fn files_that_cannot_be_written_are_found_before_the_first_request() {
    let (sandbox, bench) = start(TABLES);
    bench.write("real.csv", "old");
    std::fs::create_dir(bench.root.join("folder")).expect("folder");
    std::os::unix::fs::symlink("real.csv", bench.root.join("link.csv")).expect("link");
    for target in ["missing/a.csv", "link.csv", "folder"] {
        sandbox.clear_log();
        let ended = bench.line(&format!("run -f tables.sql --export-csv first={target}"));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let path = bench.root.join(target);
        assert!(
            ended
                .stderr
                .contains(&format!("{} cannot be written", path.display())),
            "{ended:?}"
        );
        assert!(sandbox.log().is_empty(), "{target}");
    }
    assert_eq!(read(&bench, "real.csv"), "old");
}

#[test]
fn what_may_hold_data_is_private_unless_a_file_says_otherwise() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let (_sandbox, bench) = start(TABLES);
    let shared = bench.write("second.csv", "old");
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o640)).expect("mode");
    let ended = bench.line("run -f tables.sql --export-csv second=second.csv --export-csv first=first.csv");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("file").mode() & 0o777;
    assert_eq!(
        (mode(&shared), mode(&bench.root.join("first.csv"))),
        (0o640, 0o600)
    );
    let logs = std::fs::read_dir(bench.root.join(".ksql/logs")).expect("logs");
    for log in logs
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.is_file())
    {
        assert_eq!(mode(&log), 0o600, "{log:?}");
    }
}

#[test]
fn an_orchestrator_gets_receipts_in_name_order() {
    let (_sandbox, bench) = start(TABLES);
    let ended = bench.line(
        "run -f tables.sql --profile p --config ksql.config.json --result-json r.json --correlation-id c \
         --attempt-id a --expected-job-id tables --export-csv second=second.csv --export-csv first=first.csv \
         --export-encoding sjis",
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = bench.json("r.json");
    let files = result["output_files"].as_array().expect("receipts");
    assert_eq!(files.len(), 2);
    assert_eq!(
        (files[0]["name"].as_str(), files[1]["name"].as_str()),
        (Some("first"), Some("second"))
    );
    assert_eq!(
        (&files[1]["rows"], &files[1]["encoding"]),
        (&json!(1), &json!("sjis"))
    );
    assert_eq!(
        files[1]["bytes"].as_u64(),
        Some("only_column\r\nx\r\n".len() as u64)
    );
    assert_eq!(files[1]["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(files[0].as_object().map(serde_json::Map::len), Some(5));
    let bytes = std::fs::read(bench.root.join("first.csv")).expect("file");
    assert!(bytes.starts_with(b"\x8c\xda\x8bq"), "Shift_JIS");
}

#[test]
fn the_only_select_becomes_a_file() {
    let (_sandbox, bench) =
        start("-- @ksql dialect: 1\nSELECT 顧客コード FROM LAPP_顧客マスタ WHERE 顧客コード = 'C00001';\n");
    let ended = bench.line("run -f tables.sql --export-csv out.csv");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(read(&bench, "out.csv"), "顧客コード\r\nC00001\r\n");
}

#[test]
fn tables_that_were_not_made_leave_their_files_alone() {
    let (_sandbox, bench) = start(&TABLES.replace("> 99", "< 99"));
    bench.write("second.csv", "old");
    let ended = bench.line("run -f tables.sql --export-csv second=second.csv --export-csv first=first.csv");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(read(&bench, "second.csv"), "old");
    assert!(bench.root.join("first.csv").exists());
}

#[test]
fn nothing_is_written_unless_everything_can_be() {
    let (_sandbox, bench) = start(&TABLES.replace("'x'", "'😀'"));
    let ended =
        bench.line("run -f tables.sql --export-csv first=first.csv --export-csv second=second.csv --export-encoding sjis");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("U+1F600"), "{ended:?}");
    assert!(!bench.root.join("first.csv").exists() && !bench.root.join("second.csv").exists());

    std::fs::create_dir(bench.root.join("taken")).expect("folder");
    let ended = bench.line("run -f tables.sql --export-csv first=first.csv --export-csv second=taken");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(!bench.root.join("first.csv").exists());
}

#[test]
fn sinks_are_checked_before_any_request() {
    let (sandbox, bench) = start(TABLES);
    sandbox.clear_log();
    for arguments in ["--export-csv third=x.csv", "--export-csv x.csv"] {
        let ended = bench.line(&format!("run -f tables.sql {arguments}"));
        assert_eq!(ended.code, Some(1), "{ended:?}");
    }
    assert!(sandbox.log().is_empty());
}

#[test]
fn unused_import_sources_are_named() {
    let (_sandbox, bench) = start(TABLES);
    let ended = bench.line("run -f tables.sql --import-csv orders=/nowhere.csv");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("\"orders\" is not used"), "{ended:?}");
}
