//! People are spoken to in the language of their environment; records and JSON stay as they are (D-06).

use serde_json::json;

use crate::bench::{Bench, Ended, value};
use crate::evidence::{only_log_record, start};
use crate::sandbox::CUSTOMERS;

fn line(bench: &Bench, locale: &str, line: &str) -> Ended {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = bench.command(&words).env("LANG", locale).output();
    Ended::of(output.expect("started"))
}

const JAPANESE: &str = "ja_JP.UTF-8";
const ENGLISH: &str = "en_US.UTF-8";

#[test]
fn every_command_speaks_the_language_of_its_environment() {
    let (_sandbox, bench) = start();
    bench.write(
        "wrong.sql",
        "-- @ksql name: wrong\n-- @ksql dialect: 1\nSELECT nosuch FROM LAPP_受注;\n",
    );
    for (arguments, code, english, japanese) in [
        ("--help", 0, "commands:", "コマンド:"),
        (
            "run --help",
            0,
            "run one job file",
            "ジョブファイルを 1 つ実行する",
        ),
        (
            "run -f a.sql --bad",
            1,
            "error: unknown flag --bad",
            "エラー: フラグ --bad はありません",
        ),
        (
            "run -f none.sql",
            1,
            "job file none.sql:",
            "ジョブファイル none.sql:",
        ),
        (
            "run -f wrong.sql",
            1,
            "unknown field code(s): nosuch",
            "フィールドコードが見つかりません",
        ),
        (
            "validate -f wrong.sql",
            1,
            "unknown field code(s): nosuch",
            "フィールドコードが見つかりません",
        ),
        (
            "explain -f wrong.sql",
            1,
            "unknown field code(s): nosuch",
            "フィールドコードが見つかりません",
        ),
        (
            "run -f wrong.sql --dry-run",
            1,
            "unknown field code(s): nosuch",
            "フィールドコードが見つかりません",
        ),
        ("run -f count.sql --dry-run", 0, "requests sent:", "送信済み"),
        (
            "explain -f count.sql",
            0,
            "estimated requests:",
            "見積もりリクエスト数:",
        ),
        (
            "run-all nosuchdir",
            1,
            "jobs folder nosuchdir",
            "ジョブフォルダー nosuchdir",
        ),
        ("run -f count.sql", 0, "SUCCESS (read 0,", "SUCCESS (読み取り 0、"),
        (
            "unlock",
            0,
            "RUNNING records of the profile",
            "プロファイル p の RUNNING レコード",
        ),
    ] {
        for (locale, said, other) in [(ENGLISH, english, japanese), (JAPANESE, japanese, english)] {
            let ended = line(&bench, locale, arguments);
            assert_eq!(ended.code, Some(code), "{arguments}: {ended:?}");
            let all = format!("{}{}", ended.stdout, ended.stderr);
            // The Japanese text of an unknown field repeats the English one, which people search for.
            let other = if other.starts_with("unknown field") {
                "\u{0}"
            } else {
                other
            };
            assert!(
                all.contains(said) && !all.contains(other),
                "{arguments}: {ended:?}"
            );
        }
    }
}

#[test]
fn kintone_is_asked_in_the_same_language_and_records_stay_english() {
    for (locale, said) in [
        (ENGLISH, "The specified API token does not match"),
        (JAPANESE, "指定したAPIトークンは"),
    ] {
        let sandbox = crate::sandbox::Sandbox::start("flow-language");
        let apps = json!({
            "顧客マスタ": {"id": CUSTOMERS.0, "tokens": ["no-such-token"]},
            "実行ログ": {"id": crate::sandbox::JOB_LOG.0, "tokens": [crate::sandbox::JOB_LOG.1]},
        });
        let bench = Bench::with_profile(&sandbox, &json!({"apps": apps}));
        bench.write("count.sql", crate::jobs::COUNT);
        let ended = line(&bench, locale, "run -f count.sql");
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(ended.stderr.contains(said), "{ended:?}");
        let record = only_log_record(&sandbox);
        assert!(
            value(&record, "error_message").starts_with("GET app/form/fields of LAPP_顧客マスタ (app"),
            "{record}"
        );
    }
}

/// What is told beside the outcome of a job: every line of it in the language of the environment, names and codes in both.
#[test]
fn details_speak_the_language_too() {
    let sandbox = crate::sandbox::Sandbox::start("flow-language");
    let nowhere = "http://127.0.0.1:1/";
    let notifications =
        json!({"onFailure": {"webhook": nowhere}, "heartbeat": {"url": nowhere, "on": "always"}});
    let bench = Bench::with_profile(&sandbox, &json!({"notifications": notifications}));
    bench.write(
        "fails.sql",
        "-- @ksql name: fails\n-- @ksql dialect: 1\nASSERT (SELECT COUNT(*) FROM LAPP_顧客マスタ) < 0, 'never';\n",
    );
    let said = |locale: &str, arguments: &str| {
        let ended = line(&bench, locale, arguments);
        format!("{}{}", ended.stdout, ended.stderr)
    };

    // The configuration.
    bench.write(
        "bad.json",
        r#"{"profiles":{"p":{"baseUrl":"ftp://x"}},"defaultProfile":"p"}"#,
    );
    let arguments = "validate -f fails.sql --config bad.json";
    let english = said(ENGLISH, arguments);
    assert!(english.contains("profiles.p.baseUrl: the kintone base URL must begin with https://"));
    let japanese = said(JAPANESE, arguments);
    assert!(
        japanese.contains(
            "設定ファイル bad.json: profiles.p.baseUrl: kintone の URL は https:// で始めてください"
        ),
        "{japanese}"
    );

    // Web hooks.
    let english = said(ENGLISH, "run -f fails.sql");
    for words in [
        "warning: failure web hook not delivered: ",
        "warning: heartbeat not delivered: ",
    ] {
        assert!(english.contains(words), "{english}");
    }
    let japanese = said(JAPANESE, "run -f fails.sql");
    for words in [
        "警告: 失敗通知の Webhook を送信できませんでした: ",
        "警告: ハートビートを送信できませんでした: ",
    ] {
        assert!(japanese.contains(words), "{japanese}");
    }

    // A request that fails.
    sandbox.fault(&json!({
        "match": {"method": "GET", "app": CUSTOMERS.0}, "times": 2, "action": "status", "status": 403, "code": "GAIA_NO01",
    }));
    let english = said(ENGLISH, "run -f fails.sql");
    let words = "GET app/form/fields of LAPP_顧客マスタ (app 20) failed: HTTP 403 GAIA_NO01; check the credentials and their rights";
    assert!(english.contains(words), "{english}");
    let japanese = said(JAPANESE, "run -f fails.sql");
    let words = "GET app/form/fields (LAPP_顧客マスタ: アプリ 20) が失敗しました: HTTP 403 GAIA_NO01。認証情報とその権限を確認してください";
    assert!(japanese.contains(words), "{japanese}");

    // The form of the log app.
    let bench = Bench::with_profile(&sandbox, &json!({"logApp": "受注"}));
    let japanese = line(&bench, JAPANESE, "validate --check-logapp").stdout;
    for words in [
        "エラー: job_key: フィールドがありません\n",
        "参考: deleted_count: ありません (任意)\n",
        "ログアプリ 受注 (アプリ 10): NG (エラー ",
    ] {
        assert!(japanese.contains(words), "{japanese}");
    }
}
