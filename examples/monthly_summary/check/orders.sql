-- @ksql name: check_orders
SELECT 顧客コード, 受注日, ステータス, 金額 FROM LAPP_受注
