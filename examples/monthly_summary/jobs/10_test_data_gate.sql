-- @ksql name: test_data_gate
-- @ksql dialect: 1
ASSERT (SELECT COUNT(*) FROM LAPP_受注
        WHERE 受注日 >= @MONTH_START() AND 受注日 < @NEXT_MONTH_START()
          AND テスト区分 IN ('テスト')) = 0,
       'テストデータの受注が混ざっています';
