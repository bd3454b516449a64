-- @ksql name: intake_count
-- @ksql dialect: 1
ASSERT (SELECT COUNT(*) FROM LAPP_受注
        WHERE 受注日 >= @MONTH_START() AND 受注日 < @NEXT_MONTH_START()) > 0,
       '当月の受注がありません';
