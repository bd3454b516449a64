//! Static rules that need no form: checked over the whole script before any request (LNG-10).

mod dml;
mod inspect;
mod query;

use std::collections::{BTreeMap, BTreeSet};

use super::ast::{Expr, Gate, GateTest, InsertSource, Inspection, Name, Query, Source, Statement, Table};
use super::diagnostic::{Problem, Severity, code};
use super::message::say;
use super::parse::{MAX_STATEMENTS, Parsed};
use super::position::Span;
use super::walk::{self, Part};

/// The most temp tables alive at once.
pub const MAX_TEMP_TABLES: usize = 16;
/// The most variables of a script.
pub const MAX_VARIABLES: usize = 64;

/// What a variable holds, as far as its definition tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VariableKind {
    Scalar,
    List,
    RelativeDate,
}

/// Options of the check.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Dialect 1.
    pub flow: bool,
    /// Plain INSERT is an error.
    pub strict: bool,
    /// Statements of the script, those with syntax errors included.
    pub statements: usize,
}

/// Checks a script. The statements are those that parsed; with syntax errors elsewhere, findings that depend on the
/// missing statements (unknown names) are left out.
pub fn check(parsed: &[Parsed], complete: bool, options: Options) -> Vec<Problem> {
    let mut checker = Checker {
        options,
        complete,
        problems: Vec::new(),
        temps: BTreeSet::new(),
        error_tables: BTreeSet::new(),
        variables: BTreeMap::new(),
        used: BTreeSet::new(),
        statement: Span::default(),
        dml: false,
        generated: 0,
    };
    if let Some(surplus) = parsed.get(MAX_STATEMENTS) {
        checker.problems.push(
            Problem::error(
                code::LEXICAL,
                surplus.span,
                say!(
                    "a script has at most {MAX_STATEMENTS} statements",
                    "スクリプトの文は最大 {MAX_STATEMENTS} 個です"
                ),
            )
            .hint(say!("split the job", "ジョブを分割してください")),
        );
    }
    for statement in parsed {
        checker.statement = statement.span;
        checker.dml = false;
        checker.generated = 0;
        checker.statement(&statement.statement);
    }
    checker.finish();
    checker.problems
}

struct Checker {
    options: Options,
    complete: bool,
    problems: Vec<Problem>,
    temps: BTreeSet<String>,
    /// Temp tables that take rows with errors.
    error_tables: BTreeSet<String>,
    variables: BTreeMap<String, (Name, VariableKind)>,
    used: BTreeSet<String>,
    /// Span of the statement being checked.
    statement: Span,
    /// It writes.
    dml: bool,
    /// Rows of its series, as far as they are known.
    generated: u64,
}

impl Checker {
    fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Query(query) => self.query(query, &[]),
            Statement::CreateTemp(name, query) => {
                self.query(query, &[]);
                self.create_temp(name);
            }
            Statement::DropTemp(name) => {
                self.error_tables.remove(&name.text);
                if !self.temps.remove(&name.text) && self.complete {
                    let text = &name.text;
                    self.report(Problem::syntax(
                        name.span,
                        say!(
                            "there is no temp table #{text}",
                            "一時テーブル #{text} はありません"
                        ),
                    ));
                }
            }
            Statement::Set(name, value) => self.set(name, value),
            Statement::Declare(name, value) => self.declare(name, value),
            Statement::Assert { condition, .. } => self.gate(condition),
            Statement::Exit(condition, _) => {
                self.gate(condition);
                if self.options.statements < 2 {
                    self.report(Problem::syntax(
                        self.statement,
                        say!(
                            "EXIT needs a script of several statements",
                            "EXIT は複数の文からなるスクリプトで使います"
                        ),
                    ));
                }
            }
            Statement::Insert {
                target: _,
                fields,
                source,
                inspection,
            } => {
                self.dml = true;
                self.insert(fields, source, inspection);
            }
            Statement::Upsert {
                fields,
                source,
                inspection,
                ..
            } => {
                self.dml = true;
                self.insert_source(fields, source, inspection);
            }
            Statement::Import(import) => {
                self.dml = true;
                self.import(import);
            }
            Statement::Merge(merge) => {
                self.dml = true;
                self.merge(merge);
            }
            Statement::Update {
                assignments,
                from,
                filter,
                target,
                inspection,
            } => {
                self.dml = true;
                self.update(target, assignments, from.as_ref(), filter);
                self.inspection(inspection);
            }
            Statement::Delete(_, filter) => {
                self.dml = true;
                self.where_condition(filter, &[]);
                self.written_filter(filter);
            }
            Statement::ShowApps | Statement::Describe(_) => {}
            Statement::Explain(inner) => match &**inner {
                Statement::Explain(_) => {
                    self.report(super::parse::unsupported(self.statement, "EXPLAIN EXPLAIN"));
                }
                // What is only explained defines nothing.
                Statement::CreateTemp(_, query) => self.query(query, &[]),
                Statement::DropTemp(_) => {}
                Statement::Set(_, value) | Statement::Declare(_, value) => {
                    self.constant_value(value, "EXPLAIN");
                }
                other => {
                    let tables = (self.temps.clone(), self.error_tables.clone());
                    self.statement(other);
                    (self.temps, self.error_tables) = tables;
                }
            },
        }
    }

    fn create_temp(&mut self, name: &Name) {
        let text = &name.text;
        if !self.temps.insert(text.clone()) {
            self.report(
                Problem::syntax(
                    name.span,
                    say!(
                        "temp table #{text} exists already",
                        "一時テーブル #{text} は既にあります"
                    ),
                )
                .hint(say!(
                    "DROP TEMP TABLE #{text} first",
                    "先に DROP TEMP TABLE #{text} を実行してください"
                )),
            );
        }
        if self.temps.len() > MAX_TEMP_TABLES {
            self.report(Problem::syntax(
                name.span,
                say!(
                    "at most {MAX_TEMP_TABLES} temp tables can exist at once",
                    "同時に持てる一時テーブルは {MAX_TEMP_TABLES} 個までです"
                ),
            ));
        }
    }

    // --- variables -----------------------------------------------------------------------------------------------

    fn define(&mut self, name: &Name, kind: VariableKind) {
        let text = &name.text;
        if self.variables.contains_key(text) {
            self.report(Problem::syntax(
                name.span,
                say!("@{text} has a value already", "@{text} には既に値があります"),
            ));
            return;
        }
        if self.variables.len() == MAX_VARIABLES {
            self.report(Problem::syntax(
                name.span,
                say!(
                    "at most {MAX_VARIABLES} variables",
                    "変数は {MAX_VARIABLES} 個までです"
                ),
            ));
        }
        self.variables.insert(text.clone(), (name.clone(), kind));
    }

    fn set(&mut self, name: &Name, value: &Expr) {
        if self.options.statements < 2 {
            self.report(Problem::syntax(
                self.statement,
                say!(
                    "SET needs a script of several statements",
                    "SET は複数の文からなるスクリプトで使います"
                ),
            ));
        }
        walk::value(value, &mut |part| {
            if let Part::Value(Expr::Variable(other)) = part {
                let text = &other.text;
                self.report(Problem::syntax(
                    other.span,
                    say!(
                        "the value of SET cannot use another variable (@{text})",
                        "SET の値に別の変数 (@{text}) は使えません"
                    ),
                ));
            }
        });
        self.constant_value(value, "SET");
        self.define(
            name,
            if matches!(value, Expr::Array(..)) {
                VariableKind::List
            } else {
                VariableKind::Scalar
            },
        );
    }

    fn declare(&mut self, name: &Name, value: &Expr) {
        let mut bad = None;
        walk::value(value, &mut |part| match part {
            Part::Value(inner @ (Expr::Variable(_) | Expr::Array(..))) => bad = bad.or(Some(inner.span())),
            Part::Query(query) => bad = bad.or(Some(query.span)),
            _ => {}
        });
        if let Some(span) = bad {
            self.report(Problem::syntax(
                span,
                say!(
                    "a default is a plain value: no subquery, array or variable",
                    "既定値に副問い合わせ、配列、変数は使えません"
                ),
            ));
        } else {
            self.constant_value(value, "DECLARE");
        }
        let relative = matches!(value, Expr::Server(_));
        self.define(
            name,
            if relative {
                VariableKind::RelativeDate
            } else {
                VariableKind::Scalar
            },
        );
    }

    /// A value without a row: no column, no aggregate outside a subquery.
    fn constant_value(&mut self, value: &Expr, statement: &str) {
        let arrays_inside = !matches!(value, Expr::Array(..));
        let mut queries = Vec::new();
        walk::value(value, &mut |part| match part {
            Part::Value(Expr::Column(column)) => {
                let name = &column.name.text;
                self.report(Problem::syntax(
                    column.span(),
                    say!(
                        "there is no row to take {name} from in {statement}",
                        "{statement} では {name} のような列は使えません"
                    ),
                ));
            }
            Part::Value(inner @ (Expr::Aggregate(_) | Expr::Grouping(..))) => {
                self.report(Problem::syntax(
                    inner.span(),
                    say!("an aggregate needs a SELECT", "集計関数は SELECT の中で使います"),
                ));
            }
            Part::Value(inner @ Expr::Array(..)) if arrays_inside => {
                self.report(misplaced_array(inner.span()));
            }
            Part::Query(query) => queries.push(query),
            _ => {}
        });
        for query in queries {
            self.scalar_query(query, &[]);
        }
    }

    fn gate(&mut self, gate: &Gate) {
        let operands = match &gate.test {
            GateTest::Compare(_, right) => vec![&gate.left, right],
            GateTest::Between(low, high) => vec![&gate.left, low, high],
        };
        for operand in operands {
            self.use_variables(operand);
            self.constant_value(operand, "ASSERT / EXIT");
        }
    }

    /// Notes the scalar variables of a value and refuses those that cannot stand there.
    fn use_variables(&mut self, value: &Expr) {
        walk::value(value, &mut |part| match part {
            Part::Value(Expr::Variable(name)) => self.use_variable(name, VariableKind::Scalar),
            Part::ListVariable(name) => self.use_variable(name, VariableKind::List),
            _ => {}
        });
    }

    fn use_variable(&mut self, name: &Name, wanted: VariableKind) {
        let text = &name.text;
        self.used.insert(text.clone());
        let found = self.variables.get(text).map(|(_, kind)| *kind);
        let message = match (found, wanted) {
            (None, _) if !self.complete => return,
            (None, _) => say!(
                "@{text} has no value here",
                "@{text} はここまでに定義されていません"
            ),
            (Some(found), wanted) if found == wanted => return,
            (Some(_), VariableKind::List) => say!(
                "@{text} is no array: IN takes (@{text}) or an array variable",
                "@{text} は配列ではありません。IN (@{text}) と書くか配列変数を使ってください"
            ),
            (Some(VariableKind::List), _) => say!(
                "@{text} is an array and stands only in IN @{text}",
                "@{text} は配列です。IN @{text} の形でのみ使えます"
            ),
            _ => say!(
                "@{text} is a relative date and stands only right of a comparison in WHERE",
                "@{text} は相対日付です。WHERE の比較の右辺でのみ使えます"
            ),
        };
        self.report(Problem::syntax(name.span, message));
    }

    fn finish(&mut self) {
        if !self.complete {
            return;
        }
        let unused: Vec<Name> = self
            .variables
            .iter()
            .filter(|(text, _)| !self.used.contains(*text))
            .map(|(_, (name, _))| name.clone())
            .collect();
        for name in unused {
            let text = &name.text;
            self.report(Problem::warning(
                code::SYNTAX,
                name.span,
                say!("@{text} is never used", "@{text} は使われていません"),
            ));
        }
    }

    // --- tables --------------------------------------------------------------------------------------------------

    /// Checks the name of a source against temp tables and visible CTEs.
    fn source(&mut self, source: &Source, ctes: &[&str]) {
        let (name, bare) = match &source.table {
            Table::App(_) | Table::Subtable(..) => return,
            Table::Temp(name) => (name, false),
            Table::Named(name) => (name, true),
        };
        let text = &name.text;
        if bare && ctes.contains(&text.as_str()) {
            return;
        }
        if bare && !self.options.flow {
            self.report(
                Problem::error(
                    code::DIALECT,
                    name.span,
                    say!(
                        "{text} is no common table expression; a temp table without # needs dialect 1",
                        "{text} という共通表式はありません。# のない一時テーブル名は dialect 1 でのみ使えます"
                    ),
                )
                .hint(say!(
                    "write #{text}, or put \"-- @ksql dialect: 1\" into the header",
                    "#{text} と書くか、ヘッダに「-- @ksql dialect: 1」を書いてください"
                )),
            );
        } else if !self.temps.contains(text) && self.complete {
            self.report(
                Problem::syntax(
                    name.span,
                    say!("there is no table {text}", "{text} という表はありません"),
                )
                .hint(say!(
                    "apps are written LAPP_name or APP12; temp tables must be created before",
                    "アプリは LAPP_名前 または APP12 と書きます。一時テーブルは先に作成してください"
                )),
            );
        }
    }
}

/// An array outside DML values and SET.
fn misplaced_array(span: Span) -> Problem {
    Problem::syntax(
        span,
        say!(
            "an array stands only in values to write and in SET",
            "配列は書き込む値と SET でのみ使えます"
        ),
    )
}

impl Checker {
    fn scalar_query(&mut self, query: &Query, ctes: &[&str]) {
        self.query(query, ctes);
        if let Some(width) = query::width(&query.first)
            && width != 1
        {
            self.report(Problem::syntax(
                query.span,
                say!(
                    "a scalar subquery has one column, not {width}",
                    "スカラー副問い合わせ (scalar subquery) の列は 1 つです ({width} 列あります)"
                ),
            ));
        }
    }

    fn insert(&mut self, fields: &[Name], source: &InsertSource, inspection: &Inspection) {
        if self.options.flow {
            let problem = Problem::warning(
                code::PLAIN_INSERT,
                self.statement,
                say!(
                    "a plain INSERT writes twice when the job is run twice",
                    "単純な INSERT はジョブを再実行すると二重に登録されます"
                ),
            )
            .hint(say!(
                "use UPSERT ... KEY (field)",
                "UPSERT ... KEY (フィールド) を使ってください"
            ));
            let severity = if self.options.strict {
                Severity::Error
            } else {
                Severity::Warning
            };
            self.report(problem.with_severity(severity));
        }
        self.insert_source(fields, source, inspection);
    }
}
