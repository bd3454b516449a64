//! How two cells compare (LNG-42..45): the left side of a comparison, an order key or the argument of
//! MIN/MAX decides the mode, and the mode decides everything else.

use std::cmp::Ordering;
use std::sync::Arc;

use super::decimal::compare_numbers;
use super::selection;

/// The comparison mode of a column or expression.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum CompareMode {
    /// Unicode code point order (LNG-44).
    #[default]
    Text,
    /// Exact decimal order with bands (LNG-43).
    Number,
    /// Trailing integer, then text: RECORD_NUMBER and `$id` (LNG-42).
    RecordNumber,
    /// Definition order of the form's options: DROP_DOWN, RADIO_BUTTON, CHECK_BOX, MULTI_SELECT, STATUS (LNG-42).
    Options(Arc<OptionOrder>),
}

/// The options of one field in definition order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OptionOrder {
    /// Sorted by name for the search; the number is the place in the definition.
    ranks: Vec<(Box<str>, u32)>,
}

/// Rank of a name that is no option of the form any more: after every known one.
const UNKNOWN_OPTION: u32 = u32::MAX;

impl OptionOrder {
    /// Takes the option names in definition order; of a repeated name the first place counts.
    pub fn new<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        let mut ranks: Vec<(Box<str>, u32)> = names.into_iter().map(Into::into).zip(0..).collect();
        ranks.sort();
        ranks.dedup_by(|later, kept| later.0 == kept.0);
        Self { ranks }
    }

    fn rank(&self, name: &str) -> u32 {
        self.ranks
            .binary_search_by(|(known, _)| (**known).cmp(name))
            .map_or(UNKNOWN_OPTION, |at| self.ranks[at].1)
    }

    /// Compares selections element by element; the empty one is first, unknown names follow the known ones.
    fn compare(&self, left: &str, right: &str) -> Ordering {
        let key = |name| (self.rank(name), name);
        selection::elements(left)
            .map(key)
            .cmp(selection::elements(right).map(key))
    }
}

impl CompareMode {
    /// True for number mode: the left side of a numeric comparison.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number)
    }

    /// [`compare`] in this mode.
    pub fn compare(&self, left: &str, right: &str) -> Ordering {
        compare(self, left, right)
    }
}

/// Compares two cells in a mode; total, transitive, and free of allocation.
pub fn compare(mode: &CompareMode, left: &str, right: &str) -> Ordering {
    match mode {
        CompareMode::Text => left.cmp(right),
        CompareMode::Number => compare_numbers(left, right),
        CompareMode::RecordNumber => compare_record_numbers(left, right),
        CompareMode::Options(order) => order.compare(left, right),
    }
}

/// Equality in a mode; only number mode equates different texts.
pub fn equal(mode: &CompareMode, left: &str, right: &str) -> bool {
    left == right || (mode.is_number() && compare_numbers(left, right) == Ordering::Equal)
}

/// `''`, then texts that end in an integer by that integer and then by text, then the others by text.
fn compare_record_numbers(left: &str, right: &str) -> Ordering {
    let (a, b) = (trailing_integer(left), trailing_integer(right));
    let band = |text: &str, number: &str| match (text.is_empty(), number.is_empty()) {
        (true, _) => 0u8,
        (false, false) => 1,
        (false, true) => 2,
    };
    band(left, a)
        .cmp(&band(right, b))
        .then_with(|| compare_integers(a, b))
        .then_with(|| left.cmp(right))
}

fn trailing_integer(text: &str) -> &str {
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    &text[text.len() - digits..]
}

fn compare_integers(left: &str, right: &str) -> Ordering {
    let (a, b) = (left.trim_start_matches('0'), right.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<'a>(mode: &CompareMode, cells: &[&'a str]) -> Vec<&'a str> {
        let mut cells = cells.to_vec();
        cells.sort_by(|a, b| mode.compare(a, b));
        cells
    }

    #[test]
    fn text_mode_is_code_point_order() {
        // V066..V069: UTF-8 bytes sort like code points, unlike UTF-16 units.
        let cells = ["", "10", "20", "9", "A", "B", "a", "亜", "ｱ", "😀"];
        assert_eq!(
            sorted(
                &CompareMode::Text,
                &["😀", "ｱ", "亜", "a", "B", "A", "9", "20", "10", ""]
            ),
            cells
        );
        assert!(!equal(&CompareMode::Text, "1.10", "1.1"));
    }

    #[test]
    fn number_mode_equates_spellings() {
        assert!(equal(&CompareMode::Number, "1.10", "1.1"));
        assert!(!equal(&CompareMode::Number, "", "0"));
        assert!(equal(&CompareMode::Number, "x", "x"));
        assert_eq!(
            sorted(&CompareMode::Number, &["100", "", "-5", "9", "10"]),
            ["", "-5", "9", "10", "100"]
        );
    }

    #[test]
    fn record_numbers_compare_by_their_trailing_integer() {
        let cells = [
            "",
            "2",
            "X-2",
            "002",
            "10",
            "Y-10",
            "99999999999999999999",
            "X-100000000000000000000",
            "A",
            "B",
        ];
        let mut shuffled = cells;
        shuffled.reverse();
        let expected = [
            "",
            "002",
            "2",
            "X-2",
            "10",
            "Y-10",
            "99999999999999999999",
            "X-100000000000000000000",
            "A",
            "B",
        ];
        assert_eq!(sorted(&CompareMode::RecordNumber, &shuffled), expected);
    }

    #[test]
    fn options_compare_by_definition() {
        let order = OptionOrder::new(["低", "中", "高", "低"]);
        let mode = CompareMode::Options(Arc::new(order));
        // V064, with two names that are no options any more.
        assert_eq!(
            sorted(&mode, &["b", "高", "a", "", "低", "中"]),
            ["", "低", "中", "高", "a", "b"]
        );
        assert_eq!(mode.compare("低", "低"), Ordering::Equal);
        assert_eq!(mode.compare("a", "b"), Ordering::Less);
        // Selections: element by element, the shorter first.
        assert_eq!(
            sorted(&mode, &["低\n高", "中", "低\n中", "低"]),
            ["低", "低\n中", "低\n高", "中"]
        );
    }
}
