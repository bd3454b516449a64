//! Replacement texts of REGEXP_REPLACE: `$1..$99 $<n> $& $$`.

use regress::Match;

use crate::flow::function::{MAX_RESULT_BYTES, Refusal};

/// A replacement text: literals and references.
#[derive(Debug)]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Literal(String),
    /// `$&`
    Whole,
    /// `$1` to `$99`: the digits decide once the number of groups is known.
    Group(String),
    /// `$<name>`
    Named(String),
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            literal.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let (piece, length) = match rest.as_bytes() {
                [b'$', ..] => {
                    literal.push('$');
                    rest = &rest[1..];
                    continue;
                }
                [b'`' | b'\'', ..] => {
                    return Err(Refusal::Argument(
                        "the replacement text may not use $` or $'".to_owned(),
                    ));
                }
                [b'&', ..] => (Piece::Whole, 1),
                [b'0'..=b'9', b'0'..=b'9', ..] => (Piece::Group(rest[..2].to_owned()), 2),
                [b'0'..=b'9', ..] => (Piece::Group(rest[..1].to_owned()), 1),
                [b'<', ..] if rest.contains('>') => {
                    let end = rest.find('>').unwrap_or(1);
                    (Piece::Named(rest[1..end].to_owned()), end + 1)
                }
                _ => {
                    literal.push('$');
                    continue;
                }
            };
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(piece);
            rest = &rest[length..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self(pieces))
    }

    /// Appends the replacement of one match.
    pub fn expand(&self, m: &Match, text: &str, out: &mut String) -> Result<(), Refusal> {
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => out.push_str(literal),
                Piece::Whole => out.push_str(&text[m.range()]),
                Piece::Group(digits) => expand_group(digits, m, text, out),
                Piece::Named(name) if m.named_groups().next().is_none() => {
                    out.extend(["$<", name, ">"]);
                }
                Piece::Named(name) => {
                    if let Some(range) = m.named_group(name) {
                        out.push_str(&text[range]);
                    }
                }
            }
            if out.len() > MAX_RESULT_BYTES {
                return Err(Refusal::TooLong);
            }
        }
        Ok(())
    }
}

/// Two digits when such a group exists, else one digit, else the text itself.
fn expand_group(digits: &str, m: &Match, text: &str, out: &mut String) {
    let groups = m.groups().count() - 1;
    for length in (1..=digits.len()).rev() {
        let number: usize = digits[..length].parse().unwrap_or(0);
        if (1..=groups).contains(&number) {
            if let Some(range) = m.group(number) {
                out.push_str(&text[range]);
            }
            out.push_str(&digits[length..]);
            return;
        }
    }
    out.push('$');
    out.push_str(digits);
}
