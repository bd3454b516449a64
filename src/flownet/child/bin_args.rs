//! `KSQL_FLOW_BIN_ARGS`: the words before every runner command (RUN-02).

use std::fmt;

/// Why the variable was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinArgsError {
    /// It begins like a JSON list and is not JSON.
    NotJson,
    /// It is JSON and not a list of strings.
    NotStrings,
}

impl fmt::Display for BinArgsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotJson => "KSQL_FLOW_BIN_ARGS must be a valid JSON string array",
            Self::NotStrings => "KSQL_FLOW_BIN_ARGS must be a JSON string array",
        })
    }
}

impl std::error::Error for BinArgsError {}

/// Splits the variable's value. A leading `[` means a JSON list of strings; anything else is split at white space,
/// without quoting.
pub fn parse(value: &str) -> Result<Vec<String>, BinArgsError> {
    let value = value.trim_matches(is_white_space);
    if value.starts_with('[') {
        let json: serde_json::Value = serde_json::from_str(value).map_err(|_| BinArgsError::NotJson)?;
        return serde_json::from_value(json).map_err(|_| BinArgsError::NotStrings);
    }
    Ok(value
        .split(is_white_space)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect())
}

/// White space as the original counts it (ECMAScript): Unicode spaces and the byte order mark, but not U+0085.
pub fn is_white_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_without_quoting() {
        assert_eq!(parse(" a\u{3000}'b c' ").expect("words"), ["a", "'b", "c'"]);
        assert_eq!(parse("a\u{85}b").expect("words"), ["a\u{85}b"]);
    }

    #[test]
    fn a_list_keeps_its_words() {
        assert_eq!(parse("[\"a b\",\"\"]").expect("list"), ["a b", ""]);
        assert_eq!(parse("[1]"), Err(BinArgsError::NotStrings));
        assert_eq!(parse("[\"a\""), Err(BinArgsError::NotJson));
    }
}
