//! Files that a job reads (RNR-130, RNR-131), from outside.

use std::fmt::Write;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::bench::{Bench, Ended, text, value};
use crate::sandbox::{CUSTOMERS, JOB_LOG, Sandbox};

const IMPORT: &str = "-- @ksql name: load
-- @ksql dialect: 1
IMPORT INTO LAPP_顧客マスタ (顧客コード, 顧客名, 当月受注件数) FROM CSV source ENCODING SJIS
  ON DUPLICATE (顧客コード) ON ERROR SKIP INTO #err;
ASSERT (SELECT COUNT(*) FROM #err) = 0, '取込エラー';
";
/// Two good rows in Shift_JIS: one new customer, one known.
const GOOD: &[u8] = b"code,name,n\r\nZ9,\x94\xd1\xe8,7\r\nC00001,\x90\xc2\x96\xd8,8\r\n";

fn start(job: &str) -> (Sandbox, Bench) {
    let sandbox = Sandbox::start("flow-import");
    let bench = Bench::on(&sandbox);
    bench.write("load.sql", job);
    (sandbox, bench)
}

fn source(bench: &Bench, bytes: &[u8]) -> String {
    let path = bench.root.join("source.csv");
    std::fs::write(&path, bytes).expect("file");
    text(&path).to_owned()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn customer(sandbox: &Sandbox, code: &str) -> Option<Value> {
    let all = sandbox.records(CUSTOMERS.0);
    all.into_iter().find(|record| value(record, "顧客コード") == code)
}

#[test]
fn a_file_becomes_records() {
    let (sandbox, bench) = start(IMPORT);
    let path = source(&bench, b"code,name,n\r\nZ9,\x82\xa0,7\r\nC00001,\x82\xa2,8\r\n");
    let ended = bench.line(&format!("run -f load.sql --import-csv source={path}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let new = customer(&sandbox, "Z9").expect("a new record");
    assert_eq!((value(&new, "顧客名"), value(&new, "当月受注件数")), ("あ", "7"));
    let known = customer(&sandbox, "C00001").expect("the known record");
    assert_eq!(value(&known, "顧客名"), "い");
}

#[test]
fn wrong_rows_stay_out_and_the_gate_tells() {
    let (sandbox, bench) = start(IMPORT);
    let path = source(&bench, b"code,name,n\r\nZ9,a,many\r\nZ8,b,1\r\n");
    let ended = bench.line(&format!("run -f load.sql --import-csv source={path}"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("取込エラー"), "{ended:?}");
    assert!(customer(&sandbox, "Z9").is_none());
    assert!(customer(&sandbox, "Z8").is_some());
    assert!(
        ended.stderr.contains("1 rows with errors were put aside"),
        "{ended:?}"
    );
}

#[test]
fn a_preview_reads_the_file_and_writes_nothing() {
    let (sandbox, bench) = start(IMPORT);
    let path = source(&bench, b"code,name,n\r\nZ9,a,7\r\nC00001,b,8\r\n");
    let ended = bench.line(&format!(
        "run -f load.sql --dry-run --json --import-csv source={path}"
    ));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json().to_string();
    assert!(report.contains("\"Z9\""), "{report}");
    assert!(customer(&sandbox, "Z9").is_none());
}

#[test]
fn another_encoding_is_named_with_the_words_that_choose_it() {
    let (_sandbox, bench) = start(&IMPORT.replace(" ENCODING SJIS", ""));
    let path = source(&bench, b"code,name,n\r\nZ9,\x93\xfa,7\r\n");
    let ended = bench.line(&format!("run -f load.sql --import-csv source={path}"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("write FROM CSV name ENCODING SJIS"),
        "{ended:?}"
    );
    assert!(
        !ended.stderr.contains("stays written"),
        "nothing was written: {ended:?}"
    );
}

#[test]
fn what_cannot_be_read_is_refused_before_any_request() {
    let (sandbox, bench) = start(IMPORT);
    sandbox.clear_log();
    let path = source(&bench, GOOD);
    let link = bench.root.join("link.csv");
    std::os::unix::fs::symlink(&path, &link).expect("link");
    let link = text(&link);
    for (arguments, said) in [
        (String::new(), "needs the CSV source source"),
        (format!("--import-json source={path}"), "reads source as CSV"),
        (
            format!("--import-csv other={path}"),
            "needs the CSV source source",
        ),
        (format!("--import-csv source={path}.none"), "cannot be read"),
        (format!("--import-csv source={link}"), "not a regular file"),
        (
            format!(
                "--import-csv source={path} --expected-import-sha256 source={}",
                "0".repeat(64)
            ),
            "INPUT_FILE_MUTATED",
        ),
    ] {
        let ended = bench.line(&format!("run -f load.sql {arguments}"));
        assert_eq!(ended.code, Some(1), "{arguments}: {ended:?}");
        assert!(ended.stderr.contains(said), "{arguments}: {ended:?}");
        let preview = bench.line(&format!("run -f load.sql --dry-run {arguments}"));
        assert_eq!(preview.code, Some(1), "{arguments}: {preview:?}");
    }
    assert!(sandbox.log().is_empty());
}

#[test]
fn a_batch_has_no_files_for_its_jobs() {
    let (sandbox, bench) = start(IMPORT);
    std::fs::create_dir(bench.root.join("jobs")).expect("folder");
    std::fs::rename(bench.root.join("load.sql"), bench.root.join("jobs/load.sql")).expect("moved");
    let ended = bench.line("run-all jobs");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("needs the CSV source source"), "{ended:?}");
    let jobs = sandbox
        .records(JOB_LOG.0)
        .iter()
        .filter(|record| value(record, "record_type") == "JOB")
        .count();
    assert_eq!(jobs, 0, "refused before its lock");
}

fn orchestrated(bench: &Bench, bytes: &[u8], arguments: &str) -> (Ended, Value) {
    let path = source(bench, bytes);
    let hash = sha256(bytes);
    let ended = bench.line(&format!(
        "run -f load.sql --profile p --config ksql.config.json --result-json r.json --correlation-id c \
         --attempt-id a --expected-job-id load --import-csv source={path} --expected-import-sha256 source={hash} \
         {arguments}"
    ));
    let result = bench.json("r.json");
    std::fs::remove_file(bench.root.join("r.json")).expect("result");
    (ended, result)
}

#[test]
fn an_orchestrator_gets_receipts() {
    let (_sandbox, bench) = start(IMPORT);
    let receipt = |bytes: &[u8]| json!({"name": "source", "sha256": sha256(bytes), "bytes": bytes.len()});
    let decoded = |bytes: &[u8], rows: u64| {
        let mut receipt = receipt(bytes);
        receipt["rows"] = json!(rows);
        receipt["encoding"] = json!("SJIS");
        receipt
    };
    let good = b"code,name,n\nZ9,\x82\xa0,7\n";
    let (ended, result) = orchestrated(&bench, good, "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(result["input_files"], json!([decoded(good, 1)]));

    // Decoded, but the job failed later.
    let wrong = b"code,name,n\nZ9,a,x\nZ8,a,x\n";
    let (ended, result) = orchestrated(&bench, wrong, "");
    assert_eq!(
        (ended.code, &result["resultCode"]),
        (Some(2), &json!("ASSERT_FAILED"))
    );
    assert_eq!(result["input_files"], json!([decoded(wrong, 2)]));

    // Not decoded: bytes that are no Shift_JIS.
    let broken = b"code,name,n\nZ9,\xff\xff,1\n";
    let (ended, result) = orchestrated(&bench, broken, "");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(result["input_files"], json!([receipt(broken)]));
    assert_eq!(result["error"]["code"], json!("ImportSourceError"), "{result}");

    // A source that no statement uses has no receipt.
    let unused = text(&bench.root.join("unused.csv")).to_owned();
    std::fs::write(&unused, "x").expect("file");
    let (ended, result) = orchestrated(
        &bench,
        good,
        &format!(
            "--import-csv unused={unused} --expected-import-sha256 unused={}",
            sha256(b"x")
        ),
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(result["input_files"], json!([decoded(good, 1)]));
}

#[test]
fn the_program_says_that_it_imports() {
    let bench = Bench::new();
    let capabilities = bench.line("capabilities --json").json();
    assert_eq!(capabilities["features"]["importCsv"], json!(true));
}
