//! The jobs that teams keep beside their monthly summary: seed test data once, summarise only that, take it away again;
//! and a script of as many statements as a job may have. What they leave is computed another way from the records.

use std::collections::BTreeMap;

use crate::bench::{Bench, Ended, value};
use crate::evidence::{expected_sums, stored_sums};
use crate::jobs::GOOD_MONTH;
use crate::sandbox::{CUSTOMERS, ORDERS, Sandbox};

const SEED: &str = "-- @ksql name: seed_trial
-- @ksql timeout: 300
-- @ksql dialect: 1
EXIT SUCCESS IF (
  SELECT COUNT(*) FROM LAPP_受注 WHERE 顧客コード IN ('TRIAL-A', 'TRIAL-B')
) > 0, '試験データは登録済み';

ASSERT (SELECT COUNT(*) FROM LAPP_受注) > 0, '写す元になる受注がない';

INSERT INTO LAPP_受注 (顧客コード, 受注日, ステータス, 金額)
SELECT 'TRIAL-A', @TODAY(), '受注完了', 120000 FROM LAPP_受注 LIMIT 1;

INSERT INTO LAPP_受注 (顧客コード, 受注日, ステータス, 金額)
SELECT 'TRIAL-A', @MONTH_START(), '受注完了', 30000 FROM LAPP_受注 LIMIT 1;

INSERT INTO LAPP_受注 (顧客コード, 受注日, ステータス, 金額)
SELECT 'TRIAL-B', @TODAY(), '受注完了', 4500 FROM LAPP_受注 LIMIT 1;
";

const SUMMARY: &str = "-- @ksql name: trial_summary
-- @ksql dialect: 1
ASSERT (
  SELECT COUNT(*) FROM LAPP_受注
  WHERE 顧客コード LIKE 'TRIAL-%' AND 受注日 >= @MONTH_START() AND 受注日 < @NEXT_MONTH_START() AND 金額 < 0
) = 0, '負の金額がある';

CREATE TEMP TABLE summary AS
SELECT 顧客コード, COUNT(*) AS 件数, SUM(金額) AS 合計
FROM LAPP_受注
WHERE 顧客コード LIKE 'TRIAL-%' AND 受注日 >= @MONTH_START() AND 受注日 < @NEXT_MONTH_START()
GROUP BY 顧客コード;

EXIT SUCCESS IF (SELECT COUNT(*) FROM summary) = 0, '対象なし';

UPSERT INTO LAPP_顧客マスタ (顧客コード, 当月受注件数, 当月売上実績, 最終集計日時)
SELECT 顧客コード, 件数, 合計, @NOW() FROM summary
KEY (顧客コード);
";

const CLEAN_UP: &str = "-- @ksql name: clean_up_trial
-- @ksql dialect: 1
ASSERT (
  SELECT COUNT(*) FROM LAPP_受注 WHERE 顧客コード IN ('TRIAL-A', 'TRIAL-B')
) <= 10, '受注が多すぎるので消さない';

ASSERT (
  SELECT COUNT(*) FROM LAPP_顧客マスタ WHERE 顧客コード IN ('TRIAL-A', 'TRIAL-B')
) <= 2, '顧客が多すぎるので消さない';

DELETE FROM LAPP_受注 WHERE 顧客コード IN ('TRIAL-A', 'TRIAL-B');

DELETE FROM LAPP_顧客マスタ WHERE 顧客コード IN ('TRIAL-A', 'TRIAL-B');
";

fn start() -> (Sandbox, Bench) {
    let sandbox = Sandbox::start("customary-jobs");
    let bench = Bench::on(&sandbox);
    for (name, text) in [
        ("seed.sql", SEED),
        ("summary.sql", SUMMARY),
        ("clean_up.sql", CLEAN_UP),
    ] {
        bench.write(name, text);
    }
    (sandbox, bench)
}

fn run(bench: &Bench, job: &str, as_of: &str) -> Ended {
    bench.line(&format!("run -f {job}.sql --as-of {as_of}"))
}

fn ids(sandbox: &Sandbox, app: u64) -> Vec<u64> {
    let ids = sandbox.records(app);
    let mut ids: Vec<u64> = ids.iter().map(|r| value(r, "$id").parse().expect("id")).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn trial_data_is_seeded_once_summarised_and_taken_away() {
    let (sandbox, bench) = start();
    let before = (ids(&sandbox, ORDERS.0), ids(&sandbox, CUSTOMERS.0));

    let seeded = run(&bench, "seed", GOOD_MONTH);
    assert_eq!(seeded.code, Some(0), "{seeded:?}");
    let again = run(&bench, "seed", GOOD_MONTH);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(
        again.stdout.contains("登録済み") || again.stderr.contains("登録済み"),
        "{again:?}"
    );
    let trial: Vec<(String, String, String)> = sandbox
        .records(ORDERS.0)
        .iter()
        .filter(|order| value(order, "顧客コード").starts_with("TRIAL-"))
        .map(|order| {
            let of = |code: &str| value(order, code).to_owned();
            (of("顧客コード"), of("受注日"), of("金額"))
        })
        .collect();
    assert_eq!(trial.len(), 3, "seeded once: {trial:?}");
    for expected in [
        ("TRIAL-A", "2026-08-15", "120000"),
        ("TRIAL-A", "2026-08-01", "30000"),
        ("TRIAL-B", "2026-08-15", "4500"),
    ] {
        let found = |(a, b, c): &(String, String, String)| (a.as_str(), b.as_str(), c.as_str()) == expected;
        assert!(trial.iter().any(found), "{expected:?} is not in {trial:?}");
    }

    let summarised = run(&bench, "summary", GOOD_MONTH);
    assert_eq!(summarised.code, Some(0), "{summarised:?}");
    let expected = BTreeMap::from([
        ("TRIAL-A".to_owned(), (2, 150_000)),
        ("TRIAL-B".to_owned(), (1, 4_500)),
    ]);
    assert_eq!(
        stored_sums(&sandbox),
        expected,
        "and no other customer was touched"
    );

    let cleaned = run(&bench, "clean_up", GOOD_MONTH);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert_eq!(
        (ids(&sandbox, ORDERS.0), ids(&sandbox, CUSTOMERS.0)),
        before,
        "exactly what was there before"
    );
    let nothing = run(&bench, "summary", GOOD_MONTH);
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert_eq!(stored_sums(&sandbox), BTreeMap::new());
}

#[test]
fn a_clean_up_that_would_take_too_much_takes_nothing() {
    let (sandbox, bench) = start();
    let rows: Vec<String> = (0..11)
        .map(|amount| format!("('TRIAL-B', '2026-08-01', {amount})"))
        .collect();
    let many = rows.join(", ");
    bench.write(
        "many.sql",
        &format!("-- @ksql name: many\n-- @ksql dialect: 1\nINSERT INTO LAPP_受注 (顧客コード, 受注日, 金額) VALUES {many};\n"),
    );
    let seeded = run(&bench, "many", GOOD_MONTH);
    assert_eq!(seeded.code, Some(0), "{seeded:?}");
    let before = ids(&sandbox, ORDERS.0);
    let refused = run(&bench, "clean_up", GOOD_MONTH);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("多すぎる"), "{refused:?}");
    assert_eq!(ids(&sandbox, ORDERS.0), before);
}

/// Gates and temp tables around two writes; every sum is computed twice.
fn script_of_twenty(more: &str) -> String {
    let mut script = String::from(
        "-- @ksql name: twenty\n-- @ksql dialect: 1
DECLARE @done = '受注完了';
ASSERT (SELECT COUNT(*) FROM LAPP_受注) > 0, 'no orders';
CREATE TEMP TABLE month AS
  SELECT 顧客コード, 受注日, 金額 FROM LAPP_受注
  WHERE 受注日 >= @MONTH_START() AND 受注日 < @NEXT_MONTH_START() AND ステータス = @done;
EXIT SUCCESS IF (SELECT COUNT(*) FROM month) = 0, 'nothing to do';
CREATE TEMP TABLE half1 AS SELECT 顧客コード, 金額 FROM month WHERE DAY(受注日) <= 15;
CREATE TEMP TABLE half2 AS SELECT 顧客コード, 金額 FROM month WHERE NOT DAY(受注日) <= 15;
CREATE TEMP TABLE both_halves AS SELECT 顧客コード, 金額 FROM half1 UNION ALL SELECT 顧客コード, 金額 FROM half2;
ASSERT (SELECT COUNT(*) FROM both_halves) = (SELECT COUNT(*) FROM month), 'halves';
CREATE TEMP TABLE summary AS
  SELECT 顧客コード, COUNT(*) AS 件数, SUM(金額) AS 合計 FROM both_halves GROUP BY 顧客コード;
UPSERT INTO LAPP_顧客マスタ (顧客コード, 当月受注件数, 当月売上実績)
  SELECT 顧客コード, 件数, 0 FROM summary KEY (顧客コード);
UPDATE LAPP_顧客マスタ SET 当月売上実績 = summary.合計
  FROM summary WHERE LAPP_顧客マスタ.顧客コード = summary.顧客コード;
CREATE TEMP TABLE stored AS
  SELECT 顧客コード, 当月受注件数 AS 件数, 当月売上実績 AS 合計 FROM LAPP_顧客マスタ WHERE 当月受注件数 != '';
ASSERT (SELECT SUM(合計) FROM stored) = (SELECT SUM(金額) FROM month), 'sum';
ASSERT (SELECT COUNT(*) FROM stored) = (SELECT COUNT(*) FROM summary), 'customers';
CREATE TEMP TABLE missing AS
  SELECT s.顧客コード FROM summary s LEFT JOIN stored t ON s.顧客コード = t.顧客コード WHERE t.顧客コード = '';
ASSERT (SELECT COUNT(*) FROM missing) = 0, 'missing';
",
    );
    for number in ["1", "2", "3", "4"] {
        script += &[
            "ASSERT (SELECT COUNT(*) FROM stored) >= ",
            number,
            ", 'too few';\n",
        ]
        .concat();
    }
    script + more
}

#[test]
fn a_script_of_twenty_statements_agrees_with_itself_and_with_the_records() {
    let (sandbox, bench) = start();
    let expected = expected_sums(&sandbox);
    bench.write("twenty.sql", &script_of_twenty(""));
    let ended = run(&bench, "twenty", GOOD_MONTH);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stored_sums(&sandbox), expected);
}

#[test]
fn one_statement_more_is_refused_before_any_write() {
    let (sandbox, bench) = start();
    bench.write("twenty.sql", &script_of_twenty("ASSERT 1 = 1, 'one too many';\n"));
    let ended = run(&bench, "twenty", GOOD_MONTH);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("KSQL1201"), "{ended:?}");
    assert_eq!(stored_sums(&sandbox), BTreeMap::new());
}
