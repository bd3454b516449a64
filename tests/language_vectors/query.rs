//! kintone's query language, evaluated on the model: written from the interface's description, not from the engine.
//!
//! Where that description is silent or disputed, a table says which way its app goes: see [`App`].

use std::cmp::Ordering;

use ksql_flownet::flow::apps::FieldType;

use super::kintone::{App, Record};

/// A parsed query.
#[derive(Debug)]
pub struct Query {
    condition: Option<Node>,
    order: Vec<(String, bool)>,
    pub limit: usize,
    pub offset: usize,
}

#[derive(Debug)]
enum Node {
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Test {
        field: String,
        operator: String,
        values: Vec<String>,
    },
}

/// Parses a whole query text.
pub fn parse(text: &str) -> Result<Query, String> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
    };
    let mut query = Query {
        condition: None,
        order: Vec::new(),
        limit: 100,
        offset: 0,
    };
    if !parser.at_any(&["order", "limit", "offset"]) && parser.peek().is_some() {
        query.condition = Some(parser.or()?);
    }
    if parser.eat("order") {
        parser.expect("by")?;
        loop {
            let field = parser.next()?;
            let descending = parser.eat("desc");
            if !descending {
                parser.eat("asc");
            }
            query.order.push((field, descending));
            if !parser.eat(",") {
                break;
            }
        }
    }
    if parser.eat("limit") {
        query.limit = parser.number()?;
        if query.limit > 500 {
            return Err("GAIA_QU01".into());
        }
    }
    if parser.eat("offset") {
        query.offset = parser.number()?;
        if query.offset > 10_000 {
            return Err("GAIA_QU02".into());
        }
    }
    match parser.peek() {
        None => Ok(query),
        Some(token) => Err(format!("CB_VA01 query: {token:?} is left")),
    }
}

/// The text before `order by` and `limit`.
pub fn condition_text(text: &str) -> &str {
    let end = text
        .find("order by ")
        .or_else(|| text.find("limit "))
        .unwrap_or(text.len());
    text[..end].trim_end()
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Symbol(String),
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => {}
            '"' => {
                let mut literal = String::new();
                loop {
                    match rest.next().ok_or("CB_VA01 query: open literal")? {
                        '"' => break,
                        '\\' => match rest.next() {
                            Some('n') => literal.push('\n'),
                            Some('t') => literal.push('\t'),
                            Some(c @ ('"' | '\\')) => literal.push(c),
                            _ => return Err("CB_VA01 query: escape".into()),
                        },
                        c if c.is_control() => return Err("CB_VA01 query: control character".into()),
                        c => literal.push(c),
                    }
                }
                found.push(Token::Text(literal));
            }
            '(' | ')' | ',' | '=' => found.push(Token::Symbol(c.to_string())),
            '<' | '>' | '!' => {
                let mut symbol = c.to_string();
                if rest.peek() == Some(&'=') {
                    symbol.push('=');
                    rest.next();
                }
                found.push(Token::Symbol(symbol));
            }
            _ => {
                let mut word = c.to_string();
                while let Some(c) = rest
                    .peek()
                    .filter(|c| !c.is_whitespace() && !"(),=<>!\"".contains(**c))
                {
                    word.push(*c);
                    rest.next();
                }
                found.push(Token::Word(word));
            }
        }
    }
    Ok(found)
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn at_any(&self, words: &[&str]) -> bool {
        matches!(self.peek(), Some(Token::Word(word)) if words.contains(&word.as_str()))
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(word) | Token::Symbol(word)) if word == text);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.eat(text) {
            Ok(())
        } else {
            Err(format!("CB_VA01 query: {text} expected at {:?}", self.peek()))
        }
    }

    fn next(&mut self) -> Result<String, String> {
        match self.peek().cloned() {
            Some(Token::Word(text) | Token::Text(text)) => {
                self.at += 1;
                Ok(text)
            }
            other => Err(format!("CB_VA01 query: {other:?}")),
        }
    }

    fn number(&mut self) -> Result<usize, String> {
        self.next()?
            .parse()
            .map_err(|_| "CB_VA01 query: number".to_owned())
    }

    fn or(&mut self) -> Result<Node, String> {
        let mut node = self.and()?;
        while self.eat("or") {
            node = Node::Or(Box::new(node), Box::new(self.and()?));
        }
        Ok(node)
    }

    fn and(&mut self) -> Result<Node, String> {
        let mut node = self.test()?;
        while self.eat("and") {
            node = Node::And(Box::new(node), Box::new(self.test()?));
        }
        Ok(node)
    }

    fn test(&mut self) -> Result<Node, String> {
        if self.eat("(") {
            let node = self.or()?;
            self.expect(")")?;
            return Ok(node);
        }
        let field = self.next()?;
        let mut operator = match self.peek().cloned() {
            Some(Token::Symbol(symbol)) => symbol,
            Some(Token::Word(word)) => word,
            other => return Err(format!("CB_VA01 query: operator {other:?}")),
        };
        self.at += 1;
        if operator == "not" {
            operator = format!("not {}", self.next()?);
        }
        let mut values = Vec::new();
        if operator.ends_with("in") {
            self.expect("(")?;
            loop {
                values.push(self.value()?);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
        } else {
            values.push(self.value()?);
        }
        Ok(Node::Test {
            field,
            operator,
            values,
        })
    }

    fn value(&mut self) -> Result<String, String> {
        let text = self.next()?;
        if self.eat("(") {
            while !self.eat(")") {
                self.at += 1;
                if self.at > self.tokens.len() {
                    return Err("CB_VA01 query: open call".into());
                }
            }
            // The model's clock and user never change.
            return Ok(match text.as_str() {
                "LOGINUSER" => "u1".into(),
                _ => "2026-08-22".into(),
            });
        }
        Ok(text)
    }
}

impl Query {
    /// Whether a record satisfies the condition.
    pub fn matches(&self, app: &App, record: &Record) -> Result<bool, String> {
        self.condition
            .as_ref()
            .map_or(Ok(true), |node| node.matches(app, record))
    }

    /// Sorts as asked; newest first by default.
    pub fn sort(&self, app: &App, records: &mut [&Record]) {
        let order: &[(String, bool)] = if self.order.is_empty() {
            &[("$id".to_owned(), true)]
        } else {
            &self.order
        };
        records.sort_by(|a, b| {
            order
                .iter()
                .map(|(field, descending)| {
                    let kind = app.form.field(field).map_or(FieldType::Other, |field| field.kind);
                    let ordering = compare(kind, &app.cell(a, field), &app.cell(b, field));
                    if *descending { ordering.reverse() } else { ordering }
                })
                .find(|ordering| ordering.is_ne())
                .unwrap_or(Ordering::Equal)
        });
    }
}

impl Node {
    fn matches(&self, app: &App, record: &Record) -> Result<bool, String> {
        match self {
            Self::And(left, right) => Ok(left.matches(app, record)? && right.matches(app, record)?),
            Self::Or(left, right) => Ok(left.matches(app, record)? || right.matches(app, record)?),
            Self::Test {
                field,
                operator,
                values,
            } => test(app, record, field, operator, values),
        }
    }
}

fn test(app: &App, record: &Record, code: &str, operator: &str, values: &[String]) -> Result<bool, String> {
    let field = app.form.field(code).ok_or_else(|| format!("GAIA_IQ11 {code}"))?;
    let kind = field.kind;
    if !operators(kind).contains(&operator) {
        return Err(format!("GAIA_IQ03 {code} {operator}"));
    }
    if let Some(options) = field.options.as_ref().filter(|_| kind.has_options())
        && let Some(value) = values
            .iter()
            .find(|value| !value.is_empty() && !options.contains(value))
    {
        return Err(format!("GAIA_IQ10 {value}"));
    }
    let cell = app.cell(record, code);
    let elements: Vec<&str> = if kind.is_multi_value() && !cell.is_empty() {
        cell.split('\n').collect()
    } else {
        vec![&cell]
    };
    let one = |value: &str| {
        elements
            .iter()
            .any(|element| compare(kind, element, value).is_eq())
    };
    let first = values.first().map_or("", String::as_str);
    let ordering = compare(kind, &cell, first);
    let by_words = app.text_equality_by_words
        && !field.unique
        && matches!(kind, FieldType::SingleLineText | FieldType::Link)
        && !first.is_empty();
    let is_less = app.empty_is_less || !cell.is_empty();
    Ok(match operator {
        "=" if by_words => has_words(&cell, first),
        "!=" if by_words => !has_words(&cell, first),
        "=" => ordering.is_eq(),
        "!=" => ordering.is_ne(),
        "<" => is_less && ordering.is_lt(),
        "<=" => is_less && ordering.is_le(),
        ">" => ordering.is_gt(),
        ">=" => ordering.is_ge(),
        "in" => values.iter().any(|value| one(value)),
        "not in" => !values.iter().any(|value| one(value)),
        "like" => cell.contains(first),
        "not like" => !cell.contains(first),
        other => return Err(format!("CB_VA01 query: {other}")),
    })
}

/// Whether a text has the words of another one after each other, in any case.
fn has_words(cell: &str, words: &str) -> bool {
    let words_of = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_lowercase).collect() };
    let (cell, words) = (words_of(cell), words_of(words));
    cell.windows(words.len().max(1)).any(|part| part == words)
}

/// Operators of a type.
fn operators(kind: FieldType) -> &'static [&'static str] {
    match kind {
        FieldType::SingleLineText | FieldType::Link => &["=", "!=", "in", "not in", "like", "not like"],
        FieldType::MultiLineText | FieldType::RichText | FieldType::File => &["like", "not like"],
        FieldType::Number
        | FieldType::CalcNumber
        | FieldType::CalcText
        | FieldType::RecordNumber
        | FieldType::Id => &["=", "!=", ">", "<", ">=", "<=", "in", "not in"],
        FieldType::Date
        | FieldType::Time
        | FieldType::DateTime
        | FieldType::CreatedTime
        | FieldType::UpdatedTime => &["=", "!=", ">", "<", ">=", "<="],
        FieldType::Status => &["=", "!=", "in", "not in"],
        FieldType::CheckBox
        | FieldType::RadioButton
        | FieldType::DropDown
        | FieldType::MultiSelect
        | FieldType::Creator
        | FieldType::Modifier
        | FieldType::UserSelect
        | FieldType::OrganizationSelect
        | FieldType::GroupSelect
        | FieldType::StatusAssignee => &["in", "not in"],
        _ => &[],
    }
}

/// Numbers as numbers, everything else as text; empty first. The test data keeps to what binary64 holds exactly.
fn compare(kind: FieldType, left: &str, right: &str) -> Ordering {
    let numeric = matches!(
        kind,
        FieldType::Number
            | FieldType::CalcNumber
            | FieldType::RecordNumber
            | FieldType::Id
            | FieldType::Revision
    );
    let instants = matches!(
        kind,
        FieldType::DateTime | FieldType::CreatedTime | FieldType::UpdatedTime
    );
    if instants {
        return minute(left).cmp(minute(right));
    }
    if !numeric || left.is_empty() || right.is_empty() {
        return left.cmp(right);
    }
    match (left.parse::<f64>(), right.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b),
        _ => left.cmp(right),
    }
}

/// `YYYY-MM-DDTHH:MM`: the service keeps and compares minutes.
fn minute(instant: &str) -> &str {
    instant.get(..16).unwrap_or(instant)
}
