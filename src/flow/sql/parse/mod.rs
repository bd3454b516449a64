//! Recursive-descent parser over the grammar: one statement at a time, with the exact place of every error.

mod condition;
mod dml;
mod expression;
mod function;
mod import;
mod query;
mod select;
mod statement;

pub use function::is_server_function;

use super::ast::{AppRef, Name, Statement};
use super::diagnostic::{Problem, code};
use super::lex::{Token, TokenKind};
use super::message::{Message, say};
use super::position::Span;
use crate::flow::apps::{AppId, AppMap};

/// The most statements of a script (LNG-180).
pub const MAX_STATEMENTS: usize = 20;
/// How deep parentheses, functions, CASE and subqueries may nest: bounds the stack of everything that walks the tree.
const MAX_DEPTH: usize = 32;

/// Words that cannot be a name without backquotes (LNG-01).
const RESERVED: [&str; 76] = [
    "ALL",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CREATE",
    "CROSS",
    "DAYOFWEEK",
    "DELETE",
    "DESC",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXISTS",
    "FROM",
    "GREATEST",
    "GROUP",
    "GROUP_CONCAT",
    "HAVING",
    "IN",
    "INNER",
    "INSERT",
    "INSTR",
    "INTO",
    "IS",
    "JOIN",
    "KLIKE",
    "KORDER",
    "LAST_DAY",
    "LEAST",
    "LEFT",
    "LENGTH_CHAR",
    "LIKE",
    "LIMIT",
    "LPAD",
    "MEDIAN",
    "MERGE",
    "MODE",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OVER",
    "QUARTER",
    "REGEXP_LIKE",
    "REGEXP_REPLACE",
    "REGEXP_SUBSTR",
    "RIGHT",
    "RPAD",
    "SELECT",
    "SET",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "TABLE",
    "THEN",
    "TRANSLATE",
    "TRUNC",
    "TRUNCATE",
    "UNION",
    "UPDATE",
    "UPSERT",
    "USING",
    "VALUES",
    "VAR_POP",
    "VAR_SAMP",
    "WEEK",
    "WHEN",
    "WHERE",
    "WITH",
    "PARTITION",
    "MATCHED",
];

/// True for a word that needs backquotes to be a name.
pub fn is_reserved(word: &str) -> bool {
    RESERVED
        .iter()
        .any(|reserved| reserved.eq_ignore_ascii_case(word))
}

/// What the parser must know beside the tokens.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Dialect 1.
    pub flow: bool,
    /// Logical names; `None` leaves them unresolved.
    pub apps: Option<&'a AppMap>,
}

/// A parsed statement with its place.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The statement.
    pub statement: Statement,
    /// From its first to its last token.
    pub span: Span,
    /// The apps it names, each once, in the order of their first mention.
    pub apps: Vec<AppId>,
}

/// Parses all statements, or one more than a script may have. A statement with an error is left out and reported;
/// parsing goes on after its `;`.
pub fn statements(tokens: &[Token], context: Context<'_>) -> (Vec<Parsed>, Vec<Problem>) {
    let mut parser = Parser {
        tokens,
        at: 0,
        context,
        start: Span::default(),
        depth: 0,
        in_where: false,
        in_written_value: false,
        apps: Vec::new(),
        problems: Vec::new(),
    };
    let mut parsed = Vec::new();
    while parser.token().kind != TokenKind::End {
        if parser.eat_symbol(";") {
            continue;
        }
        // One more than there may be is enough to refuse the script.
        if parsed.len() + parser.problems.len() > MAX_STATEMENTS {
            break;
        }
        let start = parser.span();
        parser.start = start;
        parser.apps.clear();
        let result = parser.statement().and_then(|statement| {
            if parser.at_symbol(";") || parser.token().kind == TokenKind::End {
                Ok(Parsed {
                    statement,
                    span: start.to(parser.previous()),
                    apps: std::mem::take(&mut parser.apps),
                })
            } else {
                Err(parser.unexpected(&say!("the end of the statement", "文の終わり")))
            }
        });
        match result {
            Ok(statement) => parsed.push(statement),
            Err(problem) => {
                parser.problems.push(problem);
                parser.skip_statement();
            }
        }
    }
    (parsed, parser.problems)
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    context: Context<'a>,
    /// First token of the statement in hand.
    start: Span,
    depth: usize,
    /// Inside a WHERE condition, where kintone's own functions may stand.
    in_where: bool,
    /// Inside a value that DML writes, where a number may have a plus (LNG-47).
    in_written_value: bool,
    /// Apps of the statement in hand.
    apps: Vec<AppId>,
    problems: Vec<Problem>,
}

/// The end of input, for a parser whose token list lost its end.
static END: Token = Token {
    kind: TokenKind::End,
    span: Span {
        start: usize::MAX,
        end: usize::MAX,
    },
};

type Parse<T> = Result<T, Problem>;

impl<'a> Parser<'a> {
    fn token(&self) -> &'a Token {
        self.peek(0)
    }

    fn peek(&self, ahead: usize) -> &'a Token {
        self.tokens
            .get(self.at + ahead)
            .or_else(|| self.tokens.last())
            .unwrap_or(&END)
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// Span of the last token taken.
    fn previous(&self) -> Span {
        self.at
            .checked_sub(1)
            .and_then(|at| self.tokens.get(at))
            .map_or(Span::default(), |token| token.span)
    }

    fn advance(&mut self) -> &'a Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn skip_statement(&mut self) {
        while !self.at_symbol(";") && self.token().kind != TokenKind::End {
            self.at += 1;
        }
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth == MAX_DEPTH {
            return Err(Problem::syntax(
                self.span(),
                say!(
                    "more than {MAX_DEPTH} levels of nesting",
                    "入れ子が {MAX_DEPTH} 段を超えています"
                ),
            )
            .hint(say!(
                "split the statement with a temp table",
                "一時テーブルを使って文を分けてください"
            )));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    // --- words and symbols -------------------------------------------------------------------------------------

    fn word_at(&self, ahead: usize) -> Option<&'a str> {
        match &self.peek(ahead).kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    fn at_word(&self, keyword: &str) -> bool {
        self.is_word(0, keyword)
    }

    fn is_word(&self, ahead: usize, keyword: &str) -> bool {
        self.word_at(ahead)
            .is_some_and(|word| word.eq_ignore_ascii_case(keyword))
    }

    fn at_words(&self, keywords: &[&str]) -> bool {
        keywords
            .iter()
            .enumerate()
            .all(|(ahead, keyword)| self.is_word(ahead, keyword))
    }

    fn eat_word(&mut self, keyword: &str) -> bool {
        let found = self.at_word(keyword);
        if found {
            self.advance();
        }
        found
    }

    fn eat_words(&mut self, keywords: &[&str]) -> bool {
        let found = self.at_words(keywords);
        if found {
            self.at += keywords.len();
        }
        found
    }

    fn expect_word(&mut self, keyword: &str) -> Parse<Span> {
        if self.at_word(keyword) {
            Ok(self.advance().span)
        } else {
            Err(self.unexpected(&Message::verbatim(keyword)))
        }
    }

    fn expect_words(&mut self, keywords: &[&str]) -> Parse<()> {
        for keyword in keywords {
            self.expect_word(keyword)?;
        }
        Ok(())
    }

    fn is_symbol(&self, ahead: usize, symbol: &str) -> bool {
        matches!(&self.peek(ahead).kind, TokenKind::Symbol(found) if *found == symbol)
    }

    fn at_symbol(&self, symbol: &str) -> bool {
        self.is_symbol(0, symbol)
    }

    fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn expect_symbol(&mut self, symbol: &str) -> Parse<Span> {
        if self.at_symbol(symbol) {
            Ok(self.advance().span)
        } else {
            Err(self.unexpected(&Message::verbatim(symbol)))
        }
    }

    /// `parse {"," parse}`
    fn list<T>(&mut self, mut parse: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = vec![parse(self)?];
        while self.eat_symbol(",") {
            items.push(parse(self)?);
        }
        Ok(items)
    }

    /// `"(" parse {"," parse} ")"`
    fn parenthesised<T>(&mut self, parse: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        self.expect_symbol("(")?;
        let items = self.list(parse)?;
        self.expect_symbol(")")?;
        Ok(items)
    }

    // --- names -------------------------------------------------------------------------------------------------

    /// The token at `ahead` could be a name.
    fn is_name(&self, ahead: usize) -> bool {
        match &self.peek(ahead).kind {
            TokenKind::Word(word) => !is_reserved(word),
            TokenKind::Quoted(_) => true,
            _ => false,
        }
    }

    fn name(&mut self, what: &Message) -> Parse<Name> {
        let token = self.token();
        match &token.kind {
            TokenKind::Word(word) if is_reserved(word) => Err(Problem::syntax(
                token.span,
                say!("{word} is a reserved word", "{word} は予約語です"),
            )
            .hint(say!(
                "as a name it needs backquotes: `{word}`",
                "名前として使うにはバッククォートで囲みます: `{word}`"
            ))),
            TokenKind::Word(text) | TokenKind::Quoted(text) => {
                self.advance();
                Ok(Name {
                    text: text.clone(),
                    span: token.span,
                })
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn field_name(&mut self) -> Parse<Name> {
        self.name(&say!("a field code", "フィールドコード"))
    }

    /// An alias, with or without AS.
    fn alias(&mut self) -> Parse<Option<Name>> {
        let what = say!("an alias", "別名");
        if self.eat_word("AS") {
            return self.name(&what).map(Some);
        }
        let stops = (self.at_word("KEY") && self.is_symbol(1, "("))
            || self.at_words(&["CHECK", "WHEN"])
            || self.at_words(&["VALIDATE", "ONLY"])
            || self.at_word("CYCLE");
        if self.is_name(0) && !stops {
            self.name(&what).map(Some)
        } else {
            Ok(None)
        }
    }

    /// `APP<n>` at `ahead`.
    fn app_number(&self, ahead: usize) -> Option<AppId> {
        let digits = self
            .word_at(ahead)
            .filter(|word| word.get(..3).is_some_and(|p| p.eq_ignore_ascii_case("APP")))?;
        let digits = digits.get(3..)?;
        if digits.is_empty() || digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().map(AppId)
    }

    fn at_app(&self) -> bool {
        self.app_number(0).is_some() || matches!(self.token().kind, TokenKind::LogicalApp(_))
    }

    fn app(&mut self) -> Parse<AppRef> {
        let token = self.token();
        if let Some(id) = self.app_number(0) {
            self.advance();
            self.note_app(id);
            return Ok(AppRef {
                id: Some(id),
                written: Name {
                    text: id.to_string(),
                    span: token.span,
                },
            });
        }
        let TokenKind::LogicalApp(name) = &token.kind else {
            return Err(self.unexpected(&say!(
                "an app (LAPP_name or APP12)",
                "アプリ (LAPP_名前 または APP12)"
            )));
        };
        self.advance();
        let id = match self.context.apps {
            None => None,
            Some(apps) => Some(
                apps.get(name)
                    .ok_or_else(|| unknown_app(name, apps, token.span))?,
            ),
        };
        if let Some(id) = id {
            self.note_app(id);
        }
        Ok(AppRef {
            id,
            written: Name {
                text: format!("LAPP_{name}"),
                span: token.span,
            },
        })
    }

    fn note_app(&mut self, app: AppId) {
        if !self.apps.contains(&app) {
            self.apps.push(app);
        }
    }

    /// `$code` written right behind an app.
    fn subtable(&mut self) -> Option<Name> {
        let code = self.word_at(0)?.strip_prefix('$')?;
        let span = self.span();
        if self.previous().end != span.start {
            return None;
        }
        self.advance();
        Some(Name {
            text: code.to_owned(),
            span,
        })
    }

    // --- errors ------------------------------------------------------------------------------------------------

    /// An error about the current token.
    fn unexpected(&self, expected: &Message) -> Problem {
        use super::message::Language::{English, Japanese};
        let (english, japanese) = (expected.text(English), expected.text(Japanese));
        let token = self.token();
        let message = match &token.kind {
            TokenKind::End => Message::new(
                format!("{english} is expected, but the script ends here"),
                format!("{japanese} が必要ですが、スクリプトがここで終わっています"),
            ),
            _ => Message::new(
                format!("{english} is expected here"),
                format!("ここには {japanese} が必要です"),
            ),
        };
        let problem = Problem::syntax(token.span, message);
        match &token.kind {
            TokenKind::DoubleQuoted => problem.hint(say!(
                "texts are written in single quotes, names with symbols in backquotes",
                "文字列はシングルクォート、記号を含む名前はバッククォートで囲みます"
            )),
            TokenKind::Symbol("/") if self.is_symbol(1, "*") => {
                problem.hint(say!("comments begin with --", "コメントは -- で始めます"))
            }
            TokenKind::Word(word) if is_reserved(word) => problem.hint(say!(
                "as a name, {word} needs backquotes",
                "{word} を名前として使うにはバッククォートで囲みます"
            )),
            _ => problem,
        }
    }

    /// Refuses a form that only dialect 1 has (LNG-09).
    fn flow_only(&self, span: Span, form: &str) -> Parse<()> {
        if self.context.flow {
            return Ok(());
        }
        Err(Problem::error(
            code::DIALECT,
            span,
            say!("{form} needs dialect 1", "{form} は dialect 1 でのみ使えます"),
        )
        .hint(say!(
            "put \"-- @ksql dialect: 1\" into the header of the script",
            "スクリプトの先頭に「-- @ksql dialect: 1」を書いてください"
        )))
    }
}

/// A form of the language that this runner refuses rather than approximates.
pub(super) fn unsupported(span: Span, form: &str) -> Problem {
    Problem::syntax(
        span,
        say!(
            "{form} is not supported by this runner",
            "{form} はこのランナーでは使えません"
        ),
    )
}

fn unknown_app(name: &str, apps: &AppMap, span: Span) -> Problem {
    let known: Vec<&str> = apps.names().collect();
    let known = known.join(", ");
    Problem::error(
        code::LOGICAL_APP,
        span,
        say!(
            "LAPP_{name} is not defined in the profile's apps",
            "LAPP_{name} はプロファイルの apps に定義されていません"
        ),
    )
    .hint(say!("defined names: {known}", "定義済みの名前: {known}"))
}
