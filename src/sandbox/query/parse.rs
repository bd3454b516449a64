//! Grammar of a query: condition, `order by`, `limit`, `offset` (KTB-55). Keywords are only keywords where the grammar wants
//! one, so a field may be called `order` or `limit` (KTB-57).
use super::lex::{Comparison, SyntaxError, Token, tokens};

/// Deepest nesting of parentheses.
const MAX_DEPTH: usize = 64;
/// Most elements of an `in` list.
const MAX_LIST: usize = 100_000;

/// A parsed query.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Query {
    /// The condition; `None` finds everything.
    pub condition: Option<Condition>,
    /// Field codes with direction.
    pub order: Vec<Order>,
    /// `limit`, not yet checked.
    pub limit: Option<String>,
    /// `offset`, not yet checked.
    pub offset: Option<String>,
}

/// One `order by` element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Field code.
    pub code: String,
    /// Ascending.
    pub ascending: bool,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All hold.
    All(Vec<Condition>),
    /// At least one holds.
    Any(Vec<Condition>),
    /// One comparison.
    Test(Test),
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Field code.
    pub code: String,
    /// `TABLE.field` was written (KTB-63).
    pub dotted: bool,
    /// Operator.
    pub operator: Operator,
    /// Right side: one operand, or the list of `in`; none for `is empty`.
    pub operands: Vec<Operand>,
}

/// Operators (KTB-65).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// A comparison sign.
    Compare(Comparison),
    /// `in` / `not in`
    In {
        /// `not in`
        negated: bool,
    },
    /// `like` / `not like`
    Like {
        /// `not like`
        negated: bool,
    },
    /// `is empty` / `is not empty`
    Empty {
        /// `is not empty`
        negated: bool,
    },
}

/// A value on the right side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Text or number.
    Literal(String),
    /// Function call with its arguments.
    Function(String, Vec<String>),
}

/// Parses a query.
pub fn parse(text: &str) -> Result<Query, SyntaxError> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
    };
    let mut query = Query::default();
    if !parser.at_end() && !parser.at_clause() {
        query.condition = Some(parser.any(0)?);
    }
    if parser.take_words(&["order", "by"]) {
        loop {
            query.order.push(parser.order()?);
            if !parser.take(&Token::Comma) {
                break;
            }
        }
    }
    if parser.take_words(&["limit"]) {
        query.limit = Some(parser.number()?);
    }
    if parser.take_words(&["offset"]) {
        query.offset = Some(parser.number()?);
    }
    if parser.at_end() {
        Ok(query)
    } else {
        Err(SyntaxError)
    }
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self, ahead: usize) -> Option<&'t Token> {
        self.tokens.get(self.at + ahead)
    }

    fn at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self.peek(0) == Some(token);
        self.at += usize::from(found);
        found
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(self.peek(ahead), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn take_words(&mut self, words: &[&str]) -> bool {
        let found = words
            .iter()
            .enumerate()
            .all(|(ahead, word)| self.is_word(ahead, word));
        if found {
            self.at += words.len();
        }
        found
    }

    fn word(&mut self) -> Result<String, SyntaxError> {
        match self.peek(0) {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(word.clone())
            }
            _ => Err(SyntaxError),
        }
    }

    fn number(&mut self) -> Result<String, SyntaxError> {
        match self.peek(0) {
            Some(Token::Number(number)) => {
                self.at += 1;
                Ok(number.clone())
            }
            _ => Err(SyntaxError),
        }
    }

    /// At the start of a clause rather than of a condition on a field with a keyword's name.
    fn at_clause(&self) -> bool {
        (self.is_word(0, "order") && self.is_word(1, "by"))
            || ((self.is_word(0, "limit") || self.is_word(0, "offset"))
                && matches!(self.peek(1), Some(Token::Number(_))))
    }

    fn any(&mut self, depth: usize) -> Result<Condition, SyntaxError> {
        let mut parts = vec![self.all(depth)?];
        while self.take_words(&["or"]) {
            parts.push(self.all(depth)?);
        }
        Ok(if parts.len() == 1 {
            parts.remove(0)
        } else {
            Condition::Any(parts)
        })
    }

    fn all(&mut self, depth: usize) -> Result<Condition, SyntaxError> {
        let mut parts = vec![self.factor(depth)?];
        while self.take_words(&["and"]) {
            parts.push(self.factor(depth)?);
        }
        Ok(if parts.len() == 1 {
            parts.remove(0)
        } else {
            Condition::All(parts)
        })
    }

    fn factor(&mut self, depth: usize) -> Result<Condition, SyntaxError> {
        if depth > MAX_DEPTH {
            return Err(SyntaxError);
        }
        if self.take(&Token::Open) {
            let inner = self.any(depth + 1)?;
            return if self.take(&Token::Close) {
                Ok(inner)
            } else {
                Err(SyntaxError)
            };
        }
        self.test().map(Condition::Test)
    }

    fn test(&mut self) -> Result<Test, SyntaxError> {
        let mut code = self.word()?;
        let dotted = self.take(&Token::Dot);
        if dotted {
            code = self.word()?;
        }
        let operator = self.operator()?;
        let operands = match operator {
            Operator::Empty { .. } => Vec::new(),
            Operator::In { .. } => self.list()?,
            _ => vec![self.operand()?],
        };
        Ok(Test {
            code,
            dotted,
            operator,
            operands,
        })
    }

    fn operator(&mut self) -> Result<Operator, SyntaxError> {
        if let Some(Token::Comparison(comparison)) = self.peek(0) {
            self.at += 1;
            return Ok(Operator::Compare(*comparison));
        }
        for (words, operator) in [
            (&["not", "in"][..], Operator::In { negated: true }),
            (&["in"], Operator::In { negated: false }),
            (&["not", "like"], Operator::Like { negated: true }),
            (&["like"], Operator::Like { negated: false }),
            (&["is", "not", "empty"], Operator::Empty { negated: true }),
            (&["is", "empty"], Operator::Empty { negated: false }),
        ] {
            if self.take_words(words) {
                return Ok(operator);
            }
        }
        Err(SyntaxError)
    }

    fn list(&mut self) -> Result<Vec<Operand>, SyntaxError> {
        if !self.take(&Token::Open) {
            return Err(SyntaxError);
        }
        let mut operands = vec![self.operand()?];
        while self.take(&Token::Comma) {
            if operands.len() >= MAX_LIST {
                return Err(SyntaxError);
            }
            operands.push(self.operand()?);
        }
        if self.take(&Token::Close) {
            Ok(operands)
        } else {
            Err(SyntaxError)
        }
    }

    fn operand(&mut self) -> Result<Operand, SyntaxError> {
        match self.peek(0) {
            Some(Token::Text(text) | Token::Number(text)) => {
                self.at += 1;
                Ok(Operand::Literal(text.clone()))
            }
            Some(Token::Word(name)) if self.peek(1) == Some(&Token::Open) => {
                self.at += 2;
                Ok(Operand::Function(name.to_ascii_uppercase(), self.arguments()?))
            }
            _ => Err(SyntaxError),
        }
    }

    /// Arguments of a function: numbers, texts or bare words such as `DAYS`, up to the closing parenthesis.
    fn arguments(&mut self) -> Result<Vec<String>, SyntaxError> {
        let mut arguments = Vec::new();
        if self.take(&Token::Close) {
            return Ok(arguments);
        }
        loop {
            match self.peek(0) {
                Some(Token::Text(text) | Token::Number(text) | Token::Word(text)) => {
                    arguments.push(text.clone());
                }
                _ => return Err(SyntaxError),
            }
            self.at += 1;
            if self.take(&Token::Close) {
                return Ok(arguments);
            }
            if !self.take(&Token::Comma) {
                return Err(SyntaxError);
            }
        }
    }

    fn order(&mut self) -> Result<Order, SyntaxError> {
        let code = self.word()?;
        let ascending = if self.take_words(&["desc"]) {
            false
        } else {
            // Ascending is the default direction; the word may stand there or not.
            self.take_words(&["asc"]);
            true
        };
        Ok(Order { code, ascending })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn codes(condition: &Condition) -> Vec<String> {
        match condition {
            Condition::All(parts) | Condition::Any(parts) => parts.iter().flat_map(codes).collect(),
            Condition::Test(test) => vec![test.code.clone()],
        }
    }

    #[test]
    fn ktb_57_keywords_are_usable_as_field_codes() {
        for (query, expected) in [
            (r#"order = "1" order by order desc limit 5"#, vec!["order"]),
            (
                "limit = 3 and offset > 2 limit 3 offset 4",
                vec!["limit", "offset"],
            ),
            (
                r#"orders in ("a") or android like "x""#,
                vec!["orders", "android"],
            ),
            (
                r#"in in ("a") and like like "b" and is is empty and not not in ("c")"#,
                vec!["in", "like", "is", "not"],
            ),
            ("and = 1 and or = 2", vec!["and", "or"]),
        ] {
            let found = parse(query)
                .ok()
                .and_then(|query| query.condition)
                .map(|condition| codes(&condition));
            assert_eq!(
                found,
                Some(expected.into_iter().map(str::to_owned).collect()),
                "{query}"
            );
        }
    }

    #[test]
    fn ktb_55_clauses_come_in_order_and_the_empty_query_is_one() {
        assert_eq!(parse(""), Ok(Query::default()));
        assert_eq!(parse("  \u{3000} "), Ok(Query::default()));
        assert!(parse("ORDER BY $id ASC, a LIMIT 10 OFFSET 5").is_ok());
        for query in [
            "limit 10 order by a",
            "offset 1 limit 2",
            "order by",
            "limit",
            "limit x",
            "a =",
            "= 1",
            "a = b",
            "a in ()",
            "a in (1",
            "(a = 1",
            "a = 1)",
            "a = 1 and",
            "a = 1 b = 2",
            "a is",
            "a not = 1",
            "a = NOW",
            "a = NOW(",
            "a = 1 order by a,",
        ] {
            assert_eq!(parse(query), Err(SyntaxError), "{query}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |depth: usize| format!("{}a = 1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(parse(&nested(MAX_DEPTH + 2)), Err(SyntaxError));
    }

    /// Writes a condition as text; the parser must read it back.
    fn written(condition: &Condition) -> String {
        let join = |parts: &[Condition], word: &str| {
            parts
                .iter()
                .map(|part| format!("({})", written(part)))
                .collect::<Vec<_>>()
                .join(word)
        };
        match condition {
            Condition::All(parts) => join(parts, " and "),
            Condition::Any(parts) => join(parts, "\nor "),
            Condition::Test(test) => {
                let literal = |operand: &Operand| match operand {
                    Operand::Literal(text) => {
                        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
                        format!("\"{escaped}\"")
                    }
                    Operand::Function(name, arguments) => format!("{name}({})", arguments.join(", ")),
                };
                let operands: Vec<String> = test.operands.iter().map(literal).collect();
                let code = &test.code;
                match test.operator {
                    Operator::Compare(Comparison::Equal) => format!("{code}={}", operands[0]),
                    Operator::Compare(_) => format!("{code} >= {}", operands[0]),
                    Operator::In { negated: false } => format!("{code} in ({})", operands.join(",")),
                    Operator::In { negated: true } => format!("{code} not in ({})", operands.join(" , ")),
                    Operator::Like { negated } => {
                        format!("{code} {}like {}", if negated { "not " } else { "" }, operands[0])
                    }
                    Operator::Empty { negated } => {
                        format!("{code} is {}empty", if negated { "not " } else { "" })
                    }
                }
            }
        }
    }

    fn any_test() -> impl Strategy<Value = Condition> {
        let operand = prop_oneof![
            "[^\\p{C}]{0,12}".prop_map(Operand::Literal),
            Just(Operand::Function("TODAY".to_owned(), vec![])),
            Just(Operand::Function(
                "FROM_TODAY".to_owned(),
                vec!["-5".to_owned(), "DAYS".to_owned()]
            )),
        ];
        let operator = prop_oneof![
            Just(Operator::Compare(Comparison::Equal)),
            Just(Operator::Compare(Comparison::GreaterOrEqual)),
            any::<bool>().prop_map(|negated| Operator::In { negated }),
            any::<bool>().prop_map(|negated| Operator::Like { negated }),
            any::<bool>().prop_map(|negated| Operator::Empty { negated }),
        ];
        let code = prop_oneof![
            "[a-zA-Zぁ-ん一-龥_]{1,8}",
            Just("order".to_owned()),
            Just("in".to_owned())
        ];
        (code, operator, prop::collection::vec(operand, 1..4)).prop_map(|(code, operator, mut operands)| {
            match operator {
                Operator::Empty { .. } => operands.clear(),
                Operator::In { .. } => {}
                _ => operands.truncate(1),
            }
            Condition::Test(Test {
                code,
                dotted: false,
                operator,
                operands,
            })
        })
    }

    fn any_condition() -> impl Strategy<Value = Condition> {
        any_test().prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::All),
                prop::collection::vec(inner, 2..4).prop_map(Condition::Any),
            ]
        })
    }

    proptest! {
        #[test]
        fn reads_back_what_was_written(condition in any_condition(), ascending: bool, limit in 0_u32..600) {
            let direction = if ascending { "asc" } else { "desc" };
            let text = format!("{} order by $id {direction} limit {limit}", written(&condition));
            let query = parse(&text);
            prop_assert!(query.is_ok(), "{}", text);
            if let Ok(query) = query {
                prop_assert_eq!(query.condition, Some(condition));
                prop_assert_eq!(query.order, vec![Order { code: "$id".to_owned(), ascending }]);
                prop_assert_eq!(query.limit, Some(limit.to_string()));
            }
        }

        #[test]
        fn foreign_text_never_panics(text in "[\\PC\\t\\n]{0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn mutilated_queries_never_panic(condition in any_condition(), cut in 0_usize..200) {
            let text = written(&condition);
            let cut: String = text.chars().take(cut).collect();
            let _ = parse(&cut);
        }
    }
}
