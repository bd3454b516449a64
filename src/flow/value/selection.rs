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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_elements() {
        assert_eq!(join([]), "");
        assert_eq!(join(["A", "B,C"]), "A\nB,C");
        assert_eq!(elements("A\nB,C").collect::<Vec<_>>(), ["A", "B,C"]);
        assert_eq!(elements("").count(), 0);
    }

    #[test]
    fn in_means_overlap() {
        // V048..V054 on the cells of APP30.
        let cells = [
            ("r1", ""),
            ("r2", "A"),
            ("r3", "C"),
            ("r4", "A\nC"),
            ("r5", "A\nB\nC"),
        ];
        let found = |listed: &[&str]| -> Vec<&str> {
            let rows = cells.iter().filter(|(_, cell)| is_in(cell, listed));
            rows.map(|(name, _)| *name).collect()
        };
        assert_eq!(found(&["A", "B"]), ["r2", "r4", "r5"]);
        assert_eq!(found(&[""]), ["r1"]);
        assert_eq!(found(&["", "C"]), ["r1", "r3", "r4", "r5"]);
        assert_eq!(found(&["A\nC"]), [""; 0]);
        assert_eq!(found(&[]), [""; 0]);
    }
}
