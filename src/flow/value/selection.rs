//! Cells of multi-value fields (CHECK_BOX, MULTI_SELECT, CATEGORY, USER/ORGANIZATION/GROUP_SELECT,
//! assignee): options or codes joined with a line feed, which neither can contain; `''` is the empty
//! selection.

/// Stands between the elements of a selection.
pub const SEPARATOR: char = '\n';

/// Builds the cell of a selection.
pub fn join<'a>(elements: impl IntoIterator<Item = &'a str>) -> String {
    let mut cell = String::new();
    for element in elements {
        if !cell.is_empty() {
            cell.push(SEPARATOR);
        }
        cell.push_str(element);
    }
    cell
}

/// The elements of a cell; none for `''`.
pub fn elements(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(SEPARATOR).filter(|element| !element.is_empty())
}

/// IN for a multi-value field (LNG-48): any selected element is listed; an empty selection matches only `''`.
pub fn is_in<S: AsRef<str>>(cell: &str, listed: &[S]) -> bool {
    let is_listed = |element: &str| listed.iter().any(|l| l.as_ref() == element);
    if cell.is_empty() {
        is_listed("")
    } else {
        elements(cell).any(is_listed)
    }
}
