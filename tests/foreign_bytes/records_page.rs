//! A page of records in an answer of kintone, as the runner decodes it: every column has a cell for every record, whatever
//! the page held before, or the answer is refused. A form finds its fields by their codes, or is refused.

use ksql_flownet::flow::apps::{AppId, Form, Page, decode};

pub fn check(bytes: &[u8]) {
    let fields = ["$id", "text", "number", "list", "table"].map(str::to_owned);
    let mut page = Page::default();
    if decode::page(bytes, &fields, &mut page).is_ok() {
        assert_eq!(page.width(), fields.len());
        let cells: usize = (0..page.rows())
            .flat_map(|row| (0..fields.len()).map(move |column| (row, column)))
            .map(|(row, column)| page.cell(row, column).len())
            .sum();
        assert!(
            page.rows() <= bytes.len() && cells <= 6 * bytes.len(),
            "more came out than was answered"
        );
        let mut used = page.clone();
        decode::page(bytes, &fields, &mut used).expect("it was read before");
        assert_eq!(used, page, "a page that held something reads otherwise");
    }
    if let Ok(form) = Form::from_slice(AppId(1), bytes) {
        for field in &form.fields {
            assert!(form.field(&field.code).is_some());
        }
    }
}
