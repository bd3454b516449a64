//! Script text to tokens with byte spans (LNG-01..07). Keywords are plain words here; the parser decides.

use unicode_normalization::char::is_combining_mark;

use super::diagnostic::{Problem, code};
use super::message::say;
use super::position::Span;
use crate::flow::apps::{is_plain_logical_name, is_quoted_logical_name};

/// The longest name of a variable.
const MAX_VARIABLE_CHARS: usize = 64;

/// Kinds of tokens; texts are decoded, spans tell what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Unquoted identifier or keyword.
    Word(String),
    /// Identifier in backquotes.
    Quoted(String),
    /// Number as written.
    Number(String),
    /// String literal, quotes undone.
    Text(String),
    /// Double-quoted text, which is never valid.
    DoubleQuoted,
    /// `#name`.
    Temp(String),
    /// `@name`, lower-cased; also the name of an as-of function.
    Variable(String),
    /// `LAPP_name` or `LAPP_"name"`: the logical name.
    LogicalApp(String),
    /// Operator or punctuation.
    Symbol(&'static str),
    /// End of the script.
    End,
}

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where.
    pub span: Span,
}

/// Symbols, longest first.
const SYMBOLS: [&str; 20] = [
    "!=", "<>", "<=", ">=", "||", "(", ")", "[", "]", ",", ";", ".", "=", "<", ">", "+", "-", "*", "/", "%",
];

/// Cuts a script into tokens. The last one is [`TokenKind::End`].
pub fn tokens(source: &str) -> Result<Vec<Token>, Problem> {
    let mut lexer = Lexer {
        source,
        at: if source.starts_with('\u{FEFF}') {
            '\u{FEFF}'.len_utf8()
        } else {
            0
        },
    };
    let mut found = Vec::new();
    loop {
        let token = lexer.next()?;
        let end = token.kind == TokenKind::End;
        found.push(token);
        if end {
            return Ok(found);
        }
    }
}

/// May begin an unquoted identifier.
fn starts_word(c: char) -> bool {
    c == '_' || (!c.is_ascii_digit() && continues_word(c))
}

/// May stand inside an unquoted identifier: what kintone allows in a field code.
fn continues_word(c: char) -> bool {
    c.is_alphanumeric()
        || is_combining_mark(c)
        || matches!(
            c,
            '_' | '＿' | '・' | '･' | '゛' | '゜' | '¥' | '￥' | '€' | '£' | '￡' | '￠' | '₩'
        )
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.source.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn span_from(&self, start: usize) -> Span {
        Span { start, end: self.at }
    }

    fn next(&mut self) -> Result<Token, Problem> {
        self.skip_blanks_and_comments();
        let start = self.at;
        let Some(first) = self.peek() else {
            return Ok(Token {
                kind: TokenKind::End,
                span: self.span_from(start),
            });
        };
        let kind = match first {
            '\'' => TokenKind::Text(self.quoted('\'')?),
            '`' => {
                let name = self.quoted('`')?;
                if name.is_empty() {
                    return Err(Problem::error(
                        code::LEXICAL,
                        self.span_from(start),
                        say!("an empty name in backquotes", "バッククォートの中の名前が空です"),
                    ));
                }
                TokenKind::Quoted(name)
            }
            '"' => {
                self.quoted('"')?;
                TokenKind::DoubleQuoted
            }
            '#' => TokenKind::Temp(self.prefixed(start)?),
            '@' => TokenKind::Variable(self.variable(start)?),
            '0'..='9' => TokenKind::Number(self.number(start)?),
            '$' => {
                let name = self.prefixed(start)?;
                TokenKind::Word(format!("${name}"))
            }
            c if starts_word(c) => self.word(start)?,
            c => match SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol)) {
                Some(symbol) => {
                    self.at += symbol.len();
                    TokenKind::Symbol(symbol)
                }
                None => return Err(self.stray(start, c)),
            },
        };
        Ok(Token {
            kind,
            span: self.span_from(start),
        })
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                self.at += blank;
            } else if rest.starts_with("--") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else {
                return;
            }
        }
    }

    /// A literal in `quote`s; the doubled quote stands for one.
    fn quoted(&mut self, quote: char) -> Result<String, Problem> {
        let start = self.at;
        self.at += quote.len_utf8();
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let Some(end) = rest.find(quote) else {
                let span = Span {
                    start,
                    end: start + quote.len_utf8(),
                };
                return Err(Problem::error(
                    code::LEXICAL,
                    span,
                    say!(
                        "{quote} is opened here and never closed",
                        "ここで始まる {quote} が閉じられていません"
                    ),
                )
                .hint(say!(
                    "write {quote}{quote} for one {quote} inside",
                    "中に {quote} を書くときは {quote}{quote} と重ねます"
                )));
            };
            text.push_str(rest.get(..end).unwrap_or(""));
            self.at += end + quote.len_utf8();
            if !self.rest().starts_with(quote) {
                return Ok(text);
            }
            text.push(quote);
            self.at += quote.len_utf8();
        }
    }

    fn word_text(&mut self) -> String {
        let text: String = self.rest().chars().take_while(|c| continues_word(*c)).collect();
        self.at += text.len();
        text
    }

    /// The identifier after `#` or `$`.
    fn prefixed(&mut self, start: usize) -> Result<String, Problem> {
        self.at += 1;
        if self.peek() == Some('`') {
            return self.quoted('`');
        }
        let name = self.word_text();
        if name.chars().next().is_some_and(starts_word) {
            return Ok(name);
        }
        let sign = self.source.get(start..=start).unwrap_or("");
        Err(Problem::error(
            code::LEXICAL,
            self.span_from(start),
            say!(
                "a name is expected right after {sign}",
                "{sign} の直後に名前が必要です"
            ),
        ))
    }

    fn variable(&mut self, start: usize) -> Result<String, Problem> {
        self.at += 1;
        let name = self.word_text();
        let valid = name
            .chars()
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.len() <= MAX_VARIABLE_CHARS;
        if valid {
            return Ok(name.to_ascii_lowercase());
        }
        Err(Problem::error(
            code::LEXICAL,
            self.span_from(start),
            say!("@{name} is no variable name", "@{name} は変数名として使えません"),
        )
        .hint(say!(
            "use ASCII letters, digits and _, at most {MAX_VARIABLE_CHARS} characters, no digit first",
            "半角英数字と _ を使い、{MAX_VARIABLE_CHARS} 文字以内、先頭は数字以外にします"
        )))
    }

    fn digits(&mut self) -> usize {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        count
    }

    fn number(&mut self, start: usize) -> Result<String, Problem> {
        self.digits();
        let rest = self.rest().as_bytes();
        if rest.first() == Some(&b'.') && rest.get(1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            self.digits();
        }
        let rest = self.rest().as_bytes();
        if matches!(rest.first(), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(rest.get(1), Some(b'+' | b'-')));
            if rest.get(1 + sign).is_some_and(u8::is_ascii_digit) {
                self.at += 1 + sign;
                self.digits();
            }
        }
        if self.peek().is_some_and(continues_word) {
            self.word_text();
            let written = self.span_from(start).slice(self.source).to_owned();
            return Err(Problem::error(
                code::LEXICAL,
                self.span_from(start),
                say!(
                    "{written} is neither a number nor a name",
                    "{written} は数値でも名前でもありません"
                ),
            )
            .hint(say!(
                "a name that begins with a digit needs backquotes",
                "数字で始まる名前はバッククォートで囲みます"
            )));
        }
        Ok(self.span_from(start).slice(self.source).to_owned())
    }

    fn word(&mut self, start: usize) -> Result<TokenKind, Problem> {
        let word = self.word_text();
        let Some(name) = word
            .get(..5)
            .filter(|head| head.eq_ignore_ascii_case("LAPP_"))
            .and(word.get(5..))
        else {
            return Ok(TokenKind::Word(word));
        };
        let (name, valid) = if name.is_empty() && self.peek() == Some('"') {
            let name = self.quoted('"')?;
            let valid = is_quoted_logical_name(&name);
            (name, valid)
        } else {
            (name.to_owned(), is_plain_logical_name(name))
        };
        if valid {
            return Ok(TokenKind::LogicalApp(name));
        }
        Err(Problem::error(
            code::LEXICAL,
            self.span_from(start),
            say!(
                "{word} is no valid logical app name",
                "{word} は論理アプリ名として使えません"
            ),
        )
        .hint(say!(
            "write LAPP_\"name\" for a name with blanks or symbols; a field of this name needs backquotes",
            "空白や記号を含む名前は LAPP_\"名前\" と書きます。同名のフィールドはバッククォートで囲みます"
        )))
    }

    fn stray(&mut self, start: usize, c: char) -> Problem {
        self.at += c.len_utf8();
        let number = u32::from(c);
        let problem = Problem::error(
            code::LEXICAL,
            self.span_from(start),
            say!(
                "the character {c} (U+{number:04X}) cannot stand here",
                "文字 {c} (U+{number:04X}) はここに書けません"
            ),
        );
        if matches!(c, '\u{FF01}'..='\u{FF5E}' | '、' | '。' | '「' | '」') {
            problem.hint(say!(
                "full-width punctuation: use the half-width form",
                "全角の記号です。半角で書いてください"
            ))
        } else {
            problem.hint(say!(
                "put a name with symbols in backquotes, a text in single quotes",
                "記号を含む名前はバッククォートで、文字列はシングルクォートで囲みます"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<TokenKind> {
        let mut kinds: Vec<TokenKind> = tokens(source)
            .unwrap()
            .into_iter()
            .map(|token| token.kind)
            .collect();
        assert_eq!(kinds.pop(), Some(TokenKind::End));
        kinds
    }

    fn word(text: &str) -> TokenKind {
        TokenKind::Word(text.into())
    }

    #[test]
    fn every_kind_of_token() {
        assert_eq!(
            kinds("SELECT `a b`, 'it''s' -- note\n\u{3000}1.20e+3>=@Ab #t $id LAPP_受注$明細"),
            [
                word("SELECT"),
                TokenKind::Quoted("a b".into()),
                TokenKind::Symbol(","),
                TokenKind::Text("it's".into()),
                TokenKind::Number("1.20e+3".into()),
                TokenKind::Symbol(">="),
                TokenKind::Variable("ab".into()),
                TokenKind::Temp("t".into()),
                word("$id"),
                TokenKind::LogicalApp("受注".into()),
                word("$明細"),
            ]
        );
        assert_eq!(
            kinds("lapp_\"顧客 マスタ(2026)\""),
            [TokenKind::LogicalApp("顧客 マスタ(2026)".into())]
        );
        assert_eq!(kinds("a\"b\""), [word("a"), TokenKind::DoubleQuoted]);
        assert_eq!(
            kinds("1.x"),
            [TokenKind::Number("1".into()), TokenKind::Symbol("."), word("x")]
        );
        assert_eq!(kinds("文字列__1行_"), [word("文字列__1行_")]);
    }

    #[test]
    fn lexical_errors_say_where() {
        for (source, start) in [
            ("SELECT 'abc", 7),
            ("x `a", 2),
            ("1e", 0),
            ("2x", 0),
            ("a ? b", 2),
            ("a、b", 1),
            ("@1", 0),
            ("# t", 0),
            ("LAPP_", 0),
        ] {
            let problem = tokens(source).unwrap_err();
            assert_eq!(
                (problem.code, problem.span.start),
                (code::LEXICAL, start),
                "{source}"
            );
        }
    }
}
