-- @ksql name: deal_summary
-- @ksql dialect: 1
CREATE TEMP TABLE summary AS
  SELECT 顧客コード, COUNT(*) AS 件数, SUM(金額) AS 合計
  FROM LAPP_受注
  WHERE 受注日 >= @MONTH_START() AND 受注日 < @NEXT_MONTH_START()
    AND ステータス = '受注完了'
  GROUP BY 顧客コード;

EXIT SUCCESS IF (SELECT COUNT(*) FROM summary) = 0, '対象となる受注がありません';

UPSERT INTO LAPP_顧客マスタ (顧客コード, 当月受注件数, 当月売上実績, 最終集計日時)
  SELECT 顧客コード, 件数, 合計, @NOW() FROM summary
  KEY (顧客コード);
