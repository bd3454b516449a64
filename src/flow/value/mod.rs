//! The one value domain (LNG-40..49): every cell is a text, `''` is the only "nothing", and each
//! operator says how it reads the text: as code points, as an exact decimal, as a record number, as
//! an option of a form, or as binary64 for arithmetic.
//!
//! Nothing here allocates to compare, and nothing here knows of rows, columns or SQL text.

mod arithmetic;
mod compare;
mod decimal;
mod like;
mod number;
pub mod selection;

#[cfg(test)]
mod properties;

pub use arithmetic::Arithmetic;
pub use compare::{CompareMode, OptionOrder, compare, equal};
pub use decimal::{canonical_number, compare_numbers, is_number, plain_decimal};
pub use like::{LikePattern, like};
pub use number::{parse_number, power_of_ten, print_number, write_number};

/// White space as ECMAScript trims it: Unicode `White_Space` and the byte order mark, but not NEL.
pub fn is_blank(c: char) -> bool {
    c == '\u{FEFF}' || (c.is_whitespace() && c != '\u{85}')
}
