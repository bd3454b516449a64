//! A CSV file for IMPORT: in either encoding it is a table with a cell under every name, or an error with a line.

use ksql_flownet::flow::csv::{Encoding, parse};

pub fn check(bytes: &[u8]) {
    for encoding in [Encoding::Utf8, Encoding::ShiftJis] {
        let Ok(text) = encoding.decode(bytes) else {
            continue;
        };
        match parse(&text) {
            Ok(table) => {
                let width = table.header().len();
                assert!(width > 0);
                let cells: usize = (0..table.rows())
                    .flat_map(|row| (0..width).map(move |column| (row, column)))
                    .map(|(row, column)| table.cell(row, column).len())
                    .sum();
                assert!(cells <= text.len(), "more came out than stands in the file");
            }
            Err(error) => assert!(error.line >= 1 && error.line <= text.split('\n').count()),
        }
    }
}
