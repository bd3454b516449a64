-- @ksql name: check_customers
SELECT 顧客コード, 当月受注件数, 当月売上実績 FROM LAPP_顧客マスタ
