-- @ksql name: test_data_gate
-- @ksql dialect: 1
ASSERT (SELECT COUNT(*) FROM LAPP_受注
        WHERE 受注日 >= @MONTH_START() AND 受注日 < @NEXT_MONTH_START()
          AND 金額 < 0) = 0,
       '金額が負の受注が混ざっています';
