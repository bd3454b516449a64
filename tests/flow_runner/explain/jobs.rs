//! The jobs: one for each way in which statements read and write.

/// A job with what `explain` says in all.
pub struct Job {
    pub name: &'static str,
    /// Its SQL.
    pub sql: &'static str,
    /// It needs the file `f`.
    pub imports: bool,
    /// Requests to read, to write, for forms and settings.
    pub totals: [&'static str; 3],
}

const fn job(name: &'static str, sql: &'static str, totals: [&'static str; 3]) -> Job {
    Job {
        name,
        sql,
        imports: false,
        totals,
    }
}

/// In this order: later jobs see what earlier ones wrote.
pub const JOBS: &[Job] = &[
    job(
        "all records",
        "SELECT 金額 FROM LAPP_受注",
        ["at least 3", "0", "1"],
    ),
    job(
        "a condition",
        "SELECT 顧客名 FROM LAPP_顧客マスタ WHERE 当月受注件数 < 5 AND 顧客名 LIKE 'n%'",
        ["1", "0", "1"],
    ),
    job("LIMIT", "SELECT 金額 FROM LAPP_受注 LIMIT 5", ["1", "0", "1"]),
    job(
        "LIMIT over pages",
        "SELECT 金額 FROM LAPP_受注 LIMIT 700 OFFSET 50",
        ["2", "0", "1"],
    ),
    job(
        "LIMIT with a local test",
        "SELECT 金額 FROM LAPP_受注 WHERE 備考 LIKE '%x%' OR 金額 >= 0 LIMIT 5",
        ["1 to 3", "0", "1"],
    ),
    job(
        "ORDER BY",
        "SELECT 金額 FROM LAPP_受注 WHERE 金額 < 700 ORDER BY 数量, 金額 LIMIT 3",
        ["2", "0", "1"],
    ),
    job(
        "KORDER BY",
        "SELECT 金額 FROM LAPP_受注 KORDER BY 数量 DESC LIMIT 700 OFFSET 10",
        ["2", "0", "1"],
    ),
    job(
        "KORDER BY to the end",
        "SELECT 金額 FROM LAPP_受注 WHERE 金額 < 500 KORDER BY 数量 LIMIT 700",
        ["2", "0", "1"],
    ),
    job(
        "COUNT",
        "SELECT COUNT(*) AS c FROM LAPP_受注 WHERE 金額 > 3",
        ["1", "0", "1"],
    ),
    job(
        "GROUP BY",
        "SELECT 顧客コード, SUM(金額) AS s FROM LAPP_受注 WHERE 金額 < 600 GROUP BY 顧客コード HAVING SUM(金額) > 3",
        ["2", "0", "1"],
    ),
    job(
        "a table",
        "SELECT 品, 個, _p.区分 FROM LAPP_伝票$明細 WHERE 個 > 3",
        ["1", "0", "1"],
    ),
    job(
        "a condition that never holds",
        "SELECT 金額 FROM LAPP_受注 WHERE 1 = 2",
        ["0", "0", "1"],
    ),
    job(
        "UNION",
        "SELECT 顧客コード FROM LAPP_受注 WHERE 金額 < 3 UNION ALL SELECT 顧客コード FROM LAPP_顧客マスタ WHERE 当月受注件数 < 3",
        ["2", "0", "2"],
    ),
    job(
        "IN subquery",
        "SELECT 金額 FROM LAPP_受注 WHERE 顧客コード IN (SELECT 顧客コード FROM LAPP_顧客マスタ WHERE 当月受注件数 < 60)",
        ["at least 1", "0", "2"],
    ),
    job(
        "IN subquery of many",
        "SELECT 金額 FROM LAPP_受注 WHERE 金額 < 900 AND 顧客コード IN (SELECT 顧客コード FROM LAPP_顧客マスタ)",
        ["1 to 3", "0", "2"],
    ),
    job(
        "IN subquery of none",
        "SELECT 金額 FROM LAPP_受注 WHERE 顧客コード IN (SELECT 顧客コード FROM LAPP_顧客マスタ WHERE 当月受注件数 > 9999)",
        ["at least 1", "0", "2"],
    ),
    job(
        "NOT IN subquery",
        "SELECT 金額 FROM LAPP_受注 WHERE 金額 < 500 AND 顧客コード NOT IN (SELECT 顧客コード FROM LAPP_顧客マスタ WHERE 当月受注件数 < 9)",
        ["2", "0", "2"],
    ),
    job(
        "EXISTS",
        "SELECT 顧客名 FROM LAPP_顧客マスタ WHERE 当月受注件数 < 4 AND EXISTS (SELECT 金額 FROM LAPP_受注 WHERE 金額 > 7)",
        ["1 to 2", "0", "2"],
    ),
    job(
        "EXISTS beside OR",
        "SELECT 顧客名 FROM LAPP_顧客マスタ WHERE 当月受注件数 < 4 OR EXISTS (SELECT 金額 FROM LAPP_受注 WHERE 金額 > 99999)",
        ["2", "0", "2"],
    ),
    job(
        "a scalar subquery",
        "SELECT 顧客名 FROM LAPP_顧客マスタ WHERE 当月受注件数 > (SELECT MAX(数量) FROM LAPP_受注 WHERE 金額 < 9)",
        ["2", "0", "2"],
    ),
    job(
        "a count beside a subquery",
        "SELECT COUNT(*) AS c FROM LAPP_顧客マスタ WHERE 当月受注件数 > (SELECT MAX(数量) FROM LAPP_受注 WHERE 金額 < 9)",
        ["2", "0", "2"],
    ),
    job(
        "a variable of a subquery",
        "SET @a = (SELECT MAX(当月受注件数) FROM LAPP_顧客マスタ); SELECT 金額 FROM LAPP_受注 WHERE 金額 > @a AND 数量 < 5",
        ["2 to 3", "0", "2"],
    ),
    job(
        "LIMIT by a variable of a subquery",
        "SET @a = (SELECT MAX(当月受注件数) FROM LAPP_顧客マスタ); SELECT 金額 FROM LAPP_受注 WHERE 金額 > @a LIMIT 5",
        ["2 to 4", "0", "2"],
    ),
    job(
        "KORDER BY a variable of a subquery",
        "SET @a = (SELECT MAX(当月受注件数) FROM LAPP_顧客マスタ); SELECT 金額 FROM LAPP_受注 WHERE 金額 > @a KORDER BY 数量 LIMIT 600",
        ["2 to 3", "0", "2"],
    ),
    job(
        "JOIN by a variable of a subquery",
        "SET @a = (SELECT MIN(当月受注件数) FROM LAPP_顧客マスタ); SELECT o.金額, c.顧客名 FROM LAPP_受注 o JOIN LAPP_顧客マスタ c ON o.顧客コード = c.顧客コード WHERE o.金額 = @a",
        ["at least 2", "0", "2"],
    ),
    job(
        "a computed variable",
        "SET @a = 40 + 2; SELECT 金額 FROM LAPP_受注 WHERE 金額 < @a",
        ["1", "0", "1"],
    ),
    job(
        "a declared variable",
        "DECLARE @d = '2026-08-03'; SELECT 金額 FROM LAPP_受注 WHERE 受注日 = @d",
        ["1", "0", "1"],
    ),
    job(
        "ASSERT and EXIT",
        "ASSERT (SELECT COUNT(*) FROM LAPP_受注 WHERE 金額 < 0) = 0, 'x'; EXIT SUCCESS IF (SELECT MIN(金額) FROM LAPP_受注 WHERE 金額 < 9) > 0, 'y'; SELECT 顧客名 FROM LAPP_顧客マスタ",
        ["2 to 3", "0", "2"],
    ),
    job(
        "an EXIT that is taken",
        "EXIT SUCCESS IF (SELECT COUNT(*) FROM LAPP_受注) > 0, 'y'; UPDATE LAPP_顧客マスタ SET 顧客名 = 'z' WHERE 当月受注件数 < 3",
        ["1 to 2", "0 to 1", "2"],
    ),
    job(
        "JOIN by many keys",
        "SELECT o.金額, c.顧客名 FROM LAPP_受注 o JOIN LAPP_顧客マスタ c ON o.顧客コード = c.顧客コード",
        ["at least 4", "0", "2"],
    ),
    job(
        "JOIN by few keys",
        "SELECT o.金額, c.顧客名 FROM LAPP_受注 o JOIN LAPP_顧客マスタ c ON o.顧客コード = c.顧客コード WHERE o.金額 < 120 AND c.ランク = 'A'",
        ["2 to 4", "0", "2"],
    ),
    job(
        "LEFT JOIN",
        "SELECT c.顧客名, o.金額 FROM LAPP_顧客マスタ c LEFT JOIN LAPP_受注 o ON o.顧客コード = c.顧客コード WHERE c.当月受注件数 < 3",
        ["at least 2", "0", "2"],
    ),
    job(
        "JOIN by days",
        "SELECT s.値, o.金額 FROM LAPP_伝票 s JOIN LAPP_受注 o ON o.受注日 = s.日 WHERE s.値 < 2",
        ["at least 2", "0", "2"],
    ),
    job(
        "JOIN of tables",
        "SELECT a.品, c.顧客名 FROM LAPP_伝票$明細 a CROSS JOIN LAPP_顧客マスタ c WHERE c.当月受注件数 < 9",
        ["2", "0", "2"],
    ),
    job(
        "JOIN with a temp table",
        "CREATE TEMP TABLE #t AS SELECT 顧客コード AS k FROM LAPP_受注 WHERE 金額 < 70; SELECT c.顧客名 FROM #t t JOIN LAPP_顧客マスタ c ON t.k = c.顧客コード",
        ["2 to 3", "0", "2"],
    ),
    job(
        "a common table expression",
        "WITH a AS (SELECT 顧客コード, SUM(金額) AS s FROM LAPP_受注 WHERE 金額 < 40 GROUP BY 顧客コード), b AS (SELECT 金額 FROM LAPP_受注) SELECT 顧客コード FROM a WHERE s > 2",
        ["1", "0", "1"],
    ),
    job(
        "a plain common table expression",
        "WITH a AS (SELECT 顧客コード, 金額 FROM LAPP_受注 WHERE 金額 < 40) SELECT 顧客コード FROM a WHERE 金額 > 2",
        ["1", "0", "1"],
    ),
    job(
        "WITH RECURSIVE",
        "WITH RECURSIVE r AS (SELECT 値 AS v, 区分 AS k FROM LAPP_伝票 WHERE 値 = 0 UNION ALL SELECT s.値, s.区分 FROM r JOIN LAPP_伝票 s ON s.伝票番号 = r.k) SELECT v FROM r",
        ["at least 1", "0", "1"],
    ),
    job(
        "EXPLAIN",
        "EXPLAIN SELECT o.金額 FROM LAPP_受注 o JOIN LAPP_顧客マスタ c ON o.顧客コード = c.顧客コード WHERE o.金額 < 120",
        ["2", "0", "2"],
    ),
    job(
        "EXPLAIN of a write",
        "EXPLAIN UPDATE LAPP_顧客マスタ SET 当月受注件数 = 0 WHERE 当月受注件数 < 3",
        ["1", "0", "1"],
    ),
    job("DESCRIBE", "DESCRIBE LAPP_伝票", ["0", "0", "1"]),
    job("LIMIT 0", "SELECT 金額 FROM LAPP_受注 LIMIT 0", ["1", "0", "1"]),
    job(
        "KORDER BY beyond the end",
        "SELECT 金額 FROM LAPP_受注 KORDER BY 数量 LIMIT 600 OFFSET 1400",
        ["1", "0", "1"],
    ),
    job(
        "LIMIT of a table",
        "SELECT 品 FROM LAPP_伝票$明細 LIMIT 3",
        ["1", "0", "1"],
    ),
    job(
        "DISTINCT and LIMIT",
        "SELECT DISTINCT 数量 FROM LAPP_受注 LIMIT 3",
        ["at least 3", "0", "1"],
    ),
    job("no FROM", "SELECT 1 AS a", ["0", "0", "0"]),
    job(
        "CASE of a subquery",
        "SELECT CASE WHEN EXISTS (SELECT 金額 FROM LAPP_受注 WHERE 金額 < 0) AND ランク = 'A' THEN 顧客名 ELSE 顧客コード END AS v FROM LAPP_顧客マスタ WHERE 当月受注件数 < 5",
        ["2", "0", "2"],
    ),
    job(
        "a subquery in a subquery",
        "SELECT 顧客名 FROM LAPP_顧客マスタ WHERE 顧客コード IN (SELECT 顧客コード FROM LAPP_受注 WHERE 金額 = (SELECT MIN(値) FROM LAPP_伝票))",
        ["at least 2", "0", "3"],
    ),
    job(
        "UNION with LIMIT",
        "SELECT 顧客コード FROM LAPP_受注 UNION SELECT 顧客コード FROM LAPP_顧客マスタ ORDER BY 顧客コード LIMIT 2",
        ["at least 4", "0", "2"],
    ),
    job(
        "self join",
        "SELECT a.金額 FROM LAPP_受注 a JOIN LAPP_受注 b ON a.金額 = b.金額 WHERE a.金額 < 20 AND b.数量 < 3",
        ["2 to 3", "0", "1"],
    ),
    job(
        "RIGHT JOIN",
        "SELECT c.顧客名 FROM LAPP_受注 o RIGHT JOIN LAPP_顧客マスタ c ON o.顧客コード = c.顧客コード WHERE c.当月受注件数 < 5",
        ["at least 4", "0", "2"],
    ),
    job(
        "three sources",
        "SELECT s.値 FROM LAPP_伝票 s JOIN LAPP_受注 o ON o.金額 = s.値 JOIN LAPP_顧客マスタ c ON c.顧客コード = o.顧客コード WHERE s.値 < 4",
        ["at least 2", "0", "3"],
    ),
    job(
        "a function of kintone",
        "SELECT 金額 FROM LAPP_受注 WHERE 受注日 > TODAY()",
        ["1", "0", "1"],
    ),
    job(
        "a count where too many keys are given",
        "SELECT COUNT(*) AS c FROM LAPP_顧客マスタ WHERE 顧客コード IN (SELECT 顧客コード FROM LAPP_受注 WHERE 金額 < 400)",
        ["1 to 2", "0", "2"],
    ),
    job(
        "a keyword",
        "SET @w = (SELECT MAX(顧客名) FROM LAPP_顧客マスタ WHERE 当月受注件数 < 2); SELECT 金額 FROM LAPP_受注 WHERE 備考 KLIKE @w",
        ["at least 2", "0", "2"],
    ),
    job(
        "INSERT",
        "INSERT INTO LAPP_伝票 (伝票番号, 担当, 値) VALUES ('N1', 'c', 1), ('N2', 'c', 2)",
        ["0", "1", "2"],
    ),
    job(
        "INSERT without a number",
        "INSERT INTO LAPP_伝票 (伝票番号, 担当) VALUES ('N3', 'c')",
        ["0", "1", "1"],
    ),
    job(
        "INSERT SELECT",
        "INSERT INTO LAPP_伝票 (伝票番号, 担当, 値) SELECT CONCAT('I', 顧客コード), 'c', 当月受注件数 FROM LAPP_顧客マスタ WHERE 当月受注件数 < 250",
        ["1", "3", "3"],
    ),
    job(
        "INSERT SELECT of groups",
        "INSERT INTO LAPP_伝票 (伝票番号, 担当, 値) SELECT CONCAT('G', 顧客コード), 'c', SUM(金額) FROM LAPP_受注 WHERE 金額 < 150 GROUP BY 顧客コード",
        ["1", "1 to 2", "3"],
    ),
    job(
        "INSERT SELECT of none",
        "INSERT INTO LAPP_伝票 (伝票番号, 担当, 値) SELECT 備考, 'c', 金額 FROM LAPP_受注 WHERE 備考 LIKE '%none%' AND 金額 < 9",
        ["1", "0 to 1", "2 to 3"],
    ),
    job(
        "INSERT ON ERROR SKIP",
        "INSERT INTO LAPP_伝票 (伝票番号, 担当, 値) VALUES ('E1', 'c', 'x'), ('E2', 'c', 2) ON ERROR SKIP INTO #e; SELECT $err_row FROM #e",
        ["0", "0 to 1", "2"],
    ),
    job(
        "INSERT VALIDATE ONLY",
        "INSERT INTO LAPP_伝票 (伝票番号, 担当, 値) VALUES ('E3', 'c', 3) VALIDATE ONLY INTO #e",
        ["0", "0", "2"],
    ),
    job(
        "INSERT CHECK",
        "INSERT INTO LAPP_伝票 (伝票番号, 担当, 値) VALUES ('E4', 'c', 4) CHECK WHEN 値 > 9 THEN 'x'",
        ["0", "1", "2"],
    ),
    job(
        "two writes of numbers",
        "UPDATE LAPP_伝票 SET 値 = 1 WHERE 伝票番号 = 'N1'; UPDATE LAPP_伝票 SET 値 = 2 WHERE 伝票番号 = 'N2'",
        ["at least 2", "at least 1", "2"],
    ),
    job(
        "UPSERT by kintone",
        "UPSERT INTO LAPP_伝票 (伝票番号, 担当, 値) SELECT CONCAT('U', 顧客コード), 'c', 当月受注件数 FROM LAPP_顧客マスタ WHERE 当月受注件数 < 130 KEY (伝票番号)",
        ["1", "2", "3"],
    ),
    job(
        "UPSERT from a temp table",
        "CREATE TEMP TABLE #s AS SELECT 顧客コード, COUNT(金額) AS n FROM LAPP_受注 WHERE 金額 < 130 GROUP BY 顧客コード; UPSERT INTO LAPP_顧客マスタ (顧客コード, 当月受注件数) SELECT 顧客コード, n FROM #s KEY (顧客コード)",
        ["1", "1 to 2", "3"],
    ),
    job(
        "UPSERT of an incomplete record",
        "UPSERT INTO LAPP_伝票 (伝票番号, 値) SELECT 伝票番号, 値 FROM LAPP_伝票 WHERE 値 < 60 KEY (伝票番号)",
        ["4", "3", "2"],
    ),
    job(
        "UPSERT by two keys",
        "-- no dialect\nUPSERT INTO LAPP_伝票 (区分, 担当, 値) SELECT 区分, CONCAT('d', 値), 値 FROM LAPP_伝票 WHERE 値 < 5 AND 区分 != '' ON DUPLICATE (区分, 担当)",
        ["at least 1", "0 to 2", "1 to 2"],
    ),
    job(
        "UPSERT VALIDATE ONLY",
        "UPSERT INTO LAPP_伝票 (伝票番号, 区分) VALUES ('S01', 'k'), ('S02', 'k') KEY (伝票番号) VALIDATE ONLY INTO #e",
        ["0 to 1", "0", "1"],
    ),
    job(
        "UPSERT ON ERROR SKIP",
        "UPSERT INTO LAPP_伝票 (伝票番号, 区分) VALUES ('S01', 'k'), ('S02', 'k'), ('S99', 'k') KEY (伝票番号) ON ERROR SKIP INTO #e; SELECT $err_row FROM #e",
        ["0 to 2", "0 to 1", "1"],
    ),
    job(
        "MERGE",
        "MERGE INTO LAPP_伝票 AS t USING LAPP_顧客マスタ AS s ON t.伝票番号 = s.顧客コード WHEN MATCHED THEN UPDATE SET 値 = s.当月受注件数 WHEN NOT MATCHED THEN INSERT (伝票番号, 担当, 区分) VALUES (s.顧客コード, 'c', s.ランク)",
        ["5", "4 to 5", "3"],
    ),
    job(
        "UPDATE",
        "UPDATE LAPP_顧客マスタ SET 当月売上実績 = 当月受注件数 * 2 WHERE 当月受注件数 < 150 AND ランク = 'B'",
        ["1", "1", "2"],
    ),
    job(
        "UPDATE with a local test",
        "UPDATE LAPP_顧客マスタ SET 顧客名 = CONCAT(顧客名, 'x') WHERE 顧客名 > 'n2'",
        ["1", "0 to 4", "1"],
    ),
    job(
        "UPDATE SET from a subquery",
        "UPDATE LAPP_顧客マスタ SET 当月売上実績 = (SELECT MAX(金額) FROM LAPP_受注 WHERE 金額 < 5) WHERE 当月受注件数 < 20",
        ["2", "2", "3"],
    ),
    job(
        "UPDATE where a subquery says",
        "UPDATE LAPP_顧客マスタ SET 当月売上実績 = 7 WHERE 顧客コード IN (SELECT 顧客コード FROM LAPP_受注 WHERE 金額 < 5)",
        ["1 to 2", "0 to 4", "2 to 3"],
    ),
    job(
        "UPDATE FROM an app",
        "UPDATE LAPP_伝票 SET 値 = c.当月受注件数 FROM LAPP_顧客マスタ c WHERE 伝票番号 = c.顧客コード AND c.ランク = 'A'",
        ["3", "0 to 9", "3"],
    ),
    job(
        "UPDATE FROM a temp table",
        "CREATE TEMP TABLE #u AS SELECT 顧客コード AS k, 当月受注件数 AS n FROM LAPP_顧客マスタ WHERE 当月受注件数 < 9; UPDATE LAPP_伝票 SET 値 = u.n FROM #u u WHERE 伝票番号 = u.k AND 値 >= 0",
        ["3", "0 to 7", "3"],
    ),
    job(
        "UPDATE VALIDATE ONLY",
        "UPDATE LAPP_顧客マスタ SET 当月売上実績 = 1 WHERE 当月受注件数 < 20 VALIDATE ONLY",
        ["1", "0", "2"],
    ),
    Job {
        imports: true,
        ..job(
            "IMPORT",
            "IMPORT INTO LAPP_伝票 (伝票番号, 担当) FROM CSV f BY NAME",
            ["0", "at least 0", "1"],
        )
    },
    Job {
        imports: true,
        ..job(
            "IMPORT ON DUPLICATE",
            "IMPORT INTO LAPP_伝票 (伝票番号, 担当) FROM CSV f BY NAME ON DUPLICATE (伝票番号) ON ERROR SKIP INTO #e; SELECT $err_row FROM #e",
            ["0", "at least 0", "1"],
        )
    },
    job("DELETE", "DELETE FROM LAPP_伝票 WHERE 値 < 3", ["1", "3", "1"]),
    job(
        "DELETE where a subquery says",
        "DELETE FROM LAPP_伝票 WHERE 値 > (SELECT MAX(金額) FROM LAPP_受注 WHERE 金額 < 100)",
        ["2 to 3", "0 to 7", "2"],
    ),
];
