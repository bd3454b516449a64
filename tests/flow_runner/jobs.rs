//! Job files that the tests run, after the example of the kSQL Flow specification.

/// The monthly job: gate, aggregation, early end, upsert.
pub const MONTHLY: &str = "-- @ksql name: monthly
-- @ksql dialect: 1
ASSERT (
  SELECT COUNT(*) FROM LAPP_受注
  WHERE 受注日 >= @MONTH_START() AND 受注日 < @NEXT_MONTH_START() AND 金額 < 0
) = 0, 'negative amounts';

CREATE TEMP TABLE summary AS
SELECT 顧客コード, COUNT(レコード番号) AS 受注件数, SUM(金額) AS 合計
FROM LAPP_受注
WHERE 受注日 >= @MONTH_START() AND 受注日 < @NEXT_MONTH_START() AND ステータス = '受注完了'
GROUP BY 顧客コード;

EXIT SUCCESS IF (SELECT COUNT(*) FROM summary) = 0, 'no orders';

UPSERT INTO LAPP_顧客マスタ (顧客コード, 当月受注件数, 当月売上実績, 最終集計日時)
SELECT 顧客コード, 受注件数, 合計, @NOW() FROM summary
KEY (顧客コード);
";

/// One plain INSERT.
pub const INSERT: &str = "-- @ksql name: insert
-- @ksql dialect: 1
INSERT INTO LAPP_顧客マスタ (顧客コード, 顧客名) VALUES ('X001', 'new');
";

/// A job that only reads.
pub const COUNT: &str = "-- @ksql name: count
-- @ksql dialect: 1
ASSERT (SELECT COUNT(*) FROM LAPP_顧客マスタ) >= 0, 'never';
";

/// A month of the seeded data without bad records.
pub const GOOD_MONTH: &str = "2026-08-15T00:00:00+09:00";
/// The month of the seeded data with negative amounts.
pub const BAD_MONTH: &str = "2026-10-15T00:00:00+09:00";
/// A month without orders.
pub const EMPTY_MONTH: &str = "2026-01-15T00:00:00+09:00";
