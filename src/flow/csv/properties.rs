//! Round trips: whatever the writer writes, the strict reader reads back, in both encodings; and no bytes make
//! the reader do anything but answer.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Cells with everything that needs quoting, and characters that Shift_JIS has.
fn cell() -> impl Strategy<Value = String> {
    "[a-c0-9\",\r\n 日本ｶ～①]{0,6}"
}

fn table() -> impl Strategy<Value = (usize, Vec<Vec<String>>)> {
    (1..5usize).prop_flat_map(|width| (Just(width), vec(vec(cell(), width), 0..6)))
}

fn text_columns(width: usize) -> Vec<Column> {
    let column = |i| Column {
        name: format!("列{i}"),
        kind: CellKind::Text,
    };
    (0..width).map(column).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn written_files_read_back((width, rows) in table(), sjis in any::<bool>()) {
        let encoding = if sjis { Encoding::ShiftJis } else { Encoding::Utf8 };
        let columns = text_columns(width);
        let mut writer = Writer::new(&columns, None).unwrap();
        for row in &rows {
            writer.row(row.iter().map(String::as_str)).unwrap();
        }
        let file = writer.finish(encoding).unwrap();
        let text = encoding.decode(&file.bytes).unwrap();
        let table = parse(&text).unwrap();
        prop_assert_eq!(table.rows() as u64, file.rows);
        prop_assert_eq!(table.header().len(), width);
        for (r, row) in rows.iter().enumerate() {
            for (c, cell) in row.iter().enumerate() {
                prop_assert_eq!(table.cell(r, c), cell);
            }
        }
    }

    #[test]
    fn shift_jis_keeps_every_text_it_accepts(text in any::<String>()) {
        if let Ok(bytes) = Encoding::ShiftJis.encode(text.clone()) {
            prop_assert_eq!(Encoding::ShiftJis.decode(&bytes).unwrap(), text);
        }
    }

    #[test]
    fn refused_characters_stand_where_the_message_says(text in "[a日\n]{0,8}", tail in "[é😀¥]{1,2}") {
        let all = format!("{text}{tail}");
        let Err(EncodingError::Unmappable { character, offset, line }) = Encoding::ShiftJis.encode(all.clone()) else {
            return Err(TestCaseError::fail("accepted"));
        };
        prop_assert_eq!(Some(character), tail.chars().next());
        prop_assert_eq!(offset, text.encode_utf16().count());
        prop_assert_eq!(line, text.split('\n').count());
    }

    #[test]
    fn any_bytes_are_answered(bytes in vec(any::<u8>(), 0..64), sjis in any::<bool>()) {
        let encoding = if sjis { Encoding::ShiftJis } else { Encoding::Utf8 };
        match encoding.decode(&bytes) {
            Ok(text) => if let Ok(table) = parse(&text) {
                prop_assert!(!table.header().is_empty());
                for row in 0..=table.rows() {
                    for column in 0..=table.header().len() {
                        let _ = table.cell(row, column);
                    }
                }
            },
            Err(EncodingError::Malformed { offset, .. }) => {
                prop_assert!(offset < bytes.len());
                prop_assert!(encoding.decode(&bytes[..offset]).is_ok(), "good up to {}", offset);
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }

    #[test]
    fn any_text_is_answered_with_a_line_of_it(text in "[a,\"\r\n]{0,12}") {
        if let Err(error) = parse(&text) {
            prop_assert!((1..=text.split('\n').count()).contains(&error.line), "{:?}", error);
        }
    }
}
