//! How much may be kept in memory: a script can ask for more than any machine has, and must get an error instead.

use crate::flow::function::MAX_RESULT_BYTES;
use crate::flow::sql::message::say;

use super::EngineError;

/// The longest computed cell, in bytes: whatever computes it, the limit is that of the functions.
pub(super) const MAX_CELL_BYTES: usize = MAX_RESULT_BYTES;
/// The most rows of a result, a branch of a UNION or a common table expression, and of a step of a join.
pub(super) const MAX_ROWS: usize = 2_000_000;
/// The most bytes of all results, temp tables and common table expressions of a statement together.
pub(super) const MAX_BYTES: usize = 1 << 30;

/// Refuses a cell that would get so long.
pub(super) fn check_cell(bytes: usize) -> Result<(), EngineError> {
    if bytes <= MAX_CELL_BYTES {
        return Ok(());
    }
    Err(EngineError::coded(
        "CellTooLargeError",
        say!(
            "a computed value is longer than {MAX_CELL_BYTES} bytes",
            "計算した値が {MAX_CELL_BYTES} バイトを超えます"
        ),
    ))
}

/// Refuses a table of so many rows, all tables together of so many bytes.
pub(super) fn check_table(rows: usize, bytes: usize) -> Result<(), EngineError> {
    if rows > MAX_ROWS {
        return Err(EngineError::coded(
            "ResultTooLargeError",
            say!(
                "a result has more than {MAX_ROWS} rows; narrow the WHERE or aggregate earlier",
                "途中の結果が {MAX_ROWS} 行を超えます。WHERE で絞り込むか、先に集計してください"
            ),
        ));
    }
    if bytes > MAX_BYTES {
        return Err(EngineError::coded(
            "ResultTooLargeError",
            say!(
                "the results in memory are larger than {MAX_BYTES} bytes; select fewer rows or columns",
                "途中の結果がメモリ上で {MAX_BYTES} バイトを超えます。行や列を減らしてください"
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_include_their_ends() {
        assert!(check_cell(MAX_CELL_BYTES).is_ok());
        let error = check_cell(MAX_CELL_BYTES + 1).unwrap_err();
        assert_eq!(error.code(), Some("CellTooLargeError"));
        assert!(check_table(MAX_ROWS, MAX_BYTES).is_ok());
        for (rows, bytes) in [(MAX_ROWS + 1, 0), (0, MAX_BYTES + 1)] {
            let error = check_table(rows, bytes).unwrap_err();
            assert_eq!(error.code(), Some("ResultTooLargeError"));
        }
    }
}
