//! Statements other than DML: queries, temp tables, variables, ASSERT, EXIT (LNG-10..19).

use super::{Parse, Parser, unsupported};
use crate::flow::sql::ast::{Expr, Gate, GateTest, Name, Statement};
use crate::flow::sql::diagnostic::{Problem, code};
use crate::flow::sql::lex::TokenKind;
use crate::flow::sql::message::say;

impl Parser<'_> {
    /// One statement without its `;`.
    pub(super) fn statement(&mut self) -> Parse<Statement> {
        let word = self.word_at(0).unwrap_or_default().to_ascii_uppercase();
        match word.as_str() {
            "SELECT" | "WITH" => Ok(Statement::Query(Box::new(self.query()?))),
            "CREATE" => self.create_temp(),
            "DROP" => {
                self.expect_words(&["DROP", "TEMP", "TABLE"])?;
                self.temp_name().map(Statement::DropTemp)
            }
            "SET" => self.set(),
            "DECLARE" => self.declare(),
            "ASSERT" => self.assert(),
            "EXIT" => self.exit(),
            "INSERT" => self.insert(),
            "UPSERT" => self.upsert(),
            "MERGE" => self.merge(),
            "UPDATE" => self.update(),
            "DELETE" => self.delete(),
            "SHOW" => {
                self.expect_words(&["SHOW", "APPS"])?;
                Ok(Statement::ShowApps)
            }
            "DESCRIBE" | "DESC" => {
                self.advance();
                self.app().map(Statement::Describe)
            }
            "EXPLAIN" => {
                self.advance();
                self.nested(|parser| Ok(Statement::Explain(Box::new(parser.statement()?))))
            }
            "IMPORT" => self.import(),
            "VALIDATE" | "REORDER" | "APPLY" => Err(unsupported(self.span(), &word)),
            _ => Err(self.unexpected(&say!("a statement", "文 (SELECT など)"))),
        }
    }

    /// `#name`, or `name` in dialect 1 (LNG-06).
    pub(super) fn temp_name(&mut self) -> Parse<Name> {
        let token = self.token();
        if let TokenKind::Temp(text) = &token.kind {
            self.advance();
            return Ok(Name {
                text: text.clone(),
                span: token.span,
            });
        }
        let name = self.name(&say!("#name of a temp table", "一時テーブル名 (#名前)"))?;
        self.flow_only(name.span, "a temp table without #")?;
        Ok(name)
    }

    fn create_temp(&mut self) -> Parse<Statement> {
        self.expect_words(&["CREATE", "TEMP", "TABLE"])?;
        let name = self.temp_name()?;
        self.expect_word("AS")?;
        if !self.at_query() {
            return Err(self.unexpected(&say!("SELECT", "SELECT")));
        }
        Ok(Statement::CreateTemp(name, Box::new(self.subquery()?)))
    }

    fn variable_name(&mut self) -> Parse<Name> {
        let token = self.token();
        let TokenKind::Variable(text) = &token.kind else {
            return Err(self.unexpected(&say!("@name", "@変数名")));
        };
        self.advance();
        Ok(Name {
            text: text.clone(),
            span: token.span,
        })
    }

    fn set(&mut self) -> Parse<Statement> {
        self.expect_word("SET")?;
        let name = self.variable_name()?;
        self.expect_symbol("=")?;
        if self.at_word("NULL") {
            return Err(self.unexpected(&say!("a value", "値")).hint(say!(
                "there is no NULL; the empty text is ''",
                "NULL はありません。空は '' と書きます"
            )));
        }
        let value = self.value()?;
        Ok(Statement::Set(name, value))
    }

    fn declare(&mut self) -> Parse<Statement> {
        self.expect_word("DECLARE")?;
        let name = self.variable_name()?;
        let relative = self.eat_word("RELATIVE_DATE");
        self.expect_symbol("=")?;
        if relative {
            let Some(function) = self.server_function()? else {
                return Err(self.unexpected(&say!(
                    "a relative date such as FROM_TODAY(-7, DAYS)",
                    "FROM_TODAY(-7, DAYS) のような相対日付"
                )));
            };
            if matches!(function.name.as_str(), "LOGINUSER" | "PRIMARY_ORGANIZATION") {
                return Err(Problem::syntax(
                    function.span,
                    say!("this is no date", "日付ではありません"),
                ));
            }
            return Ok(Statement::Declare(name, Expr::Server(function)));
        }
        let value = self.value()?;
        Ok(Statement::Declare(name, value))
    }

    fn assert(&mut self) -> Parse<Statement> {
        self.expect_word("ASSERT")?;
        let warn_span = self.span();
        let warn = self.eat_word("WARN");
        if warn {
            self.flow_only(warn_span, "ASSERT WARN")?;
        }
        let condition = self.gate("ASSERT")?;
        let comma = self.span();
        let message = if self.eat_symbol(",") {
            self.flow_only(comma, "ASSERT with a message")?;
            Some(self.text()?)
        } else {
            None
        };
        Ok(Statement::Assert {
            warn,
            condition,
            message,
        })
    }

    fn exit(&mut self) -> Parse<Statement> {
        let start = self.span();
        self.expect_words(&["EXIT", "SUCCESS", "IF"])?;
        self.flow_only(start, "EXIT SUCCESS IF")?;
        let condition = self.gate("EXIT SUCCESS IF")?;
        self.expect_symbol(",").map_err(|problem| {
            problem.hint(say!(
                "EXIT SUCCESS IF needs a message: EXIT SUCCESS IF ..., 'why'",
                "EXIT SUCCESS IF にはメッセージが必要です: EXIT SUCCESS IF ..., '理由'"
            ))
        })?;
        Ok(Statement::Exit(condition, self.text()?))
    }

    /// `a op b` or `a BETWEEN b AND c` (LNG-15).
    fn gate(&mut self, statement: &str) -> Parse<Gate> {
        // From the first token on: an expression in parentheses does not count them as its own.
        let start = self.span();
        let left = self.gate_operand(statement)?;
        let test = if self.eat_word("BETWEEN") {
            let low = self.gate_operand(statement)?;
            self.expect_word("AND")?;
            GateTest::Between(low, self.gate_operand(statement)?)
        } else {
            let Some(operator) = self.comparison_operator() else {
                return Err(self.unexpected(&say!("a comparison", "比較")).hint(say!(
                    "{statement} compares two values, for example (SELECT COUNT(*) FROM t) = 0",
                    "{statement} には (SELECT COUNT(*) FROM t) = 0 のような比較を書きます"
                )));
            };
            GateTest::Compare(operator, self.gate_operand(statement)?)
        };
        if self.at_word("AND") || self.at_word("OR") {
            return Err(Problem::syntax(
                self.span(),
                say!(
                    "{statement} takes one comparison, no AND or OR",
                    "{statement} に書ける比較は 1 つだけです (AND / OR は不可)"
                ),
            )
            .hint(say!(
                "write one statement for each",
                "条件ごとに文を分けてください"
            )));
        }
        Ok(Gate {
            left,
            test,
            span: start.to(self.previous()),
        })
    }

    fn gate_operand(&mut self, statement: &str) -> Parse<Expr> {
        let operand = self.value()?;
        let allowed = match &operand {
            Expr::Subquery(..) => true,
            other => is_gate_arithmetic(other),
        };
        if allowed {
            return Ok(operand);
        }
        Err(Problem::error(
            code::SYNTAX,
            operand.span(),
            say!(
                "{statement} compares literals, numeric arithmetic, variables, as-of functions and (SELECT ...) only",
                "{statement} で比較できるのはリテラル、数値の計算、変数、基準時刻の関数、(SELECT ...) だけです"
            ),
        ))
    }
}

/// Literals, variables and arithmetic on them; no column, function or subquery inside.
fn is_gate_arithmetic(expr: &Expr) -> bool {
    match expr {
        Expr::Text(..) | Expr::Number(..) | Expr::Variable(_) | Expr::AsOf(..) => true,
        Expr::Negate(inner, _) => {
            is_gate_arithmetic(inner) && !matches!(**inner, Expr::Text(..) | Expr::AsOf(..))
        }
        Expr::Chain(first, rest, _) => std::iter::once(&**first)
            .chain(rest.iter().map(|(_, operand)| operand))
            .all(|operand| {
                is_gate_arithmetic(operand) && !matches!(operand, Expr::Text(..) | Expr::AsOf(..))
            }),
        _ => false,
    }
}
