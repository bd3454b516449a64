//! Tokens of a query (KTB-50 to KTB-54).

/// Longest query in bytes; the service takes long ones only as a body (KTB-13).
pub const MAX_QUERY: usize = 1 << 20;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// Field code, keyword or function name.
    Word(String),
    /// Unquoted number.
    Number(String),
    /// String literal, escapes resolved.
    Text(String),
    /// `=` `!=` `<` `<=` `>` `>=`
    Comparison(Comparison),
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// `.`
    Dot,
}

/// Comparison signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// The text is no query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError;

/// Cuts a query into tokens.
pub fn tokens(query: &str) -> Result<Vec<Token>, SyntaxError> {
    if query.len() > MAX_QUERY {
        return Err(SyntaxError);
    }
    let mut tokens = Vec::new();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        if is_space(first) {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '"' => text_literal(rest)?,
            '=' | '!' | '<' | '>' => comparison(rest)?,
            '.' => (Token::Dot, 1),
            '-' | '+' => signed_number(rest)?,
            _ if is_code_letter(first) => word_or_number(rest),
            _ => return Err(SyntaxError),
        };
        tokens.push(token);
        rest = &rest[length..];
    }
    Ok(tokens)
}

/// Space, tab, line ends and the full-width space (KTB-53).
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{3000}')
}

/// Letters of a bare field code (KTB-54). `$` begins `$id`.
fn is_code_letter(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '・' | '＿' | '￥' | '＄' | '々' | '〇')
}

/// A literal in double quotes (KTB-50 to KTB-52).
fn text_literal(rest: &str) -> Result<(Token, usize), SyntaxError> {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((Token::Text(text), at + 1)),
            '\\' => match letters.next().map(|(_, escaped)| escaped) {
                Some(escaped @ ('"' | '\\')) => text.push(escaped),
                Some('t') => text.push('\t'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                _ => return Err(SyntaxError),
            },
            _ if letter.is_control() => return Err(SyntaxError),
            _ => text.push(letter),
        }
    }
    Err(SyntaxError)
}

fn comparison(rest: &str) -> Result<(Token, usize), SyntaxError> {
    let (comparison, length) = if rest.starts_with("!=") {
        (Comparison::NotEqual, 2)
    } else if rest.starts_with("<=") {
        (Comparison::LessOrEqual, 2)
    } else if rest.starts_with(">=") {
        (Comparison::GreaterOrEqual, 2)
    } else if rest.starts_with('<') {
        (Comparison::Less, 1)
    } else if rest.starts_with('>') {
        (Comparison::Greater, 1)
    } else if rest.starts_with('=') {
        (Comparison::Equal, 1)
    } else {
        return Err(SyntaxError);
    };
    Ok((Token::Comparison(comparison), length))
}

fn signed_number(rest: &str) -> Result<(Token, usize), SyntaxError> {
    let length = number_length(&rest[1..]).ok_or(SyntaxError)?;
    Ok((Token::Number(rest[..=length].to_owned()), length + 1))
}

/// Length of an unsigned number at the start of `rest`.
fn number_length(rest: &str) -> Option<usize> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(rest);
    if whole == 0 {
        return None;
    }
    let mut length = whole;
    if rest[length..].starts_with('.') {
        let fraction = digits(&rest[length + 1..]);
        if fraction > 0 {
            length += 1 + fraction;
        }
    }
    Some(length)
}

/// A run of code letters is a number when it consists of digits only, else a word.
fn word_or_number(rest: &str) -> (Token, usize) {
    let run = rest.find(|letter| !is_code_letter(letter)).unwrap_or(rest.len());
    match number_length(rest) {
        Some(length) if length >= run => (Token::Number(rest[..length].to_owned()), length),
        _ => (Token::Word(rest[..run].to_owned()), run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(query: &str) -> Option<String> {
        match tokens(query).ok()?.as_slice() {
            [Token::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }

    #[test]
    fn ktb_51_escapes() {
        assert_eq!(text(r#""a\"b\\c\td\ne""#).as_deref(), Some("a\"b\\c\td\ne"));
        assert_eq!(text(r#""a\qb""#), None);
        assert_eq!(text(r#""open"#), None);
    }

    #[test]
    fn ktb_50_and_52_refuse_single_quotes_and_raw_control_characters() {
        for query in ["'x'", "\"a\tb\"", "\"a\nb\"", "`a`", "a ! b", "#"] {
            assert_eq!(tokens(query), Err(SyntaxError), "{query:?}");
        }
    }

    #[test]
    fn ktb_54_codes_and_numbers() {
        let word = |text: &str| Token::Word(text.to_owned());
        let number = |text: &str| Token::Number(text.to_owned());
        for (query, expected) in [
            ("文字列__1行_", vec![word("文字列__1行_")]),
            (
                "1行 12 -3.5 $id",
                vec![word("1行"), number("12"), number("-3.5"), word("$id")],
            ),
            ("売上・利益＿計", vec![word("売上・利益＿計")]),
            ("t.f", vec![word("t"), Token::Dot, word("f")]),
            ("a\u{3000}\r\n\tb", vec![word("a"), word("b")]),
        ] {
            assert_eq!(tokens(query), Ok(expected), "{query}");
        }
    }
}
