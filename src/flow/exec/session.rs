//! A session runs the statements of one script in order and keeps its temp tables and variables (LNG-10..19).

use std::sync::Arc;

use crate::flow::apps::{Apps, WritePermit, Written};
use crate::flow::dml::{self, Dml};
use crate::flow::plan::bind::{Binder, Env, resolved};
use crate::flow::plan::catalog::{Catalog, Variable};
use crate::flow::plan::query::{BoundQuery, Parameter};
use crate::flow::plan::scalar::Scalar;
use crate::flow::plan::types::Type;
use crate::flow::script::{Script, Statement};
use crate::flow::sql::ast;
use crate::flow::sql::diagnostic::{Diagnostic, Severity, code};
use crate::flow::sql::message::{self, Message, say};
use crate::flow::sql::render;

use super::config::{Config, DEFAULT_MAX_TEMP_ROWS, Observer};
use super::eval::{Evaluator, NoRow};
use super::fill::{self, Filled};
use super::gate::{self, BoundGate};
use super::outcome::{OutcomeKind, StatementOutcome};
use super::query::{Executor, describe, show_apps};
use super::relation::Relation;
use super::scan::Reader;
use super::world::{Warning, World};
use super::{EngineError, ErrorKind, Imported};

/// One run of one script.
pub struct Session<'a> {
    pub(super) world: World<'a>,
    pub(super) reader: Reader<'a>,
    pub(super) config: Config,
}

impl<'a> Session<'a> {
    /// Begins a session.
    pub fn new(apps: &'a dyn Apps, config: Config, observer: &'a dyn Observer) -> Self {
        Self {
            world: World::new(apps, &config),
            reader: Reader::new(apps, observer, &config),
            config,
        }
    }

    /// A temp table of the script, for export.
    pub fn temp_table(&self, name: &str) -> Option<&Relation> {
        self.world.temps.get(name).map(AsRef::as_ref)
    }

    /// The files that were decoded so far.
    pub fn imported(&self) -> &[Imported] {
        &self.world.imported
    }

    /// Binds every statement against the forms without running any: unknown names, wrong types, unwritable fields and
    /// bad keys are found before the first statement reads or writes, with warnings that each statement repeats when it
    /// runs. Only forms are requested.
    pub fn check(&mut self, script: &Script) -> Result<Vec<Diagnostic>, EngineError> {
        self.world.read_forms(script, self.config.width())?;
        let variables = self.world.variables.clone();
        let mut diagnostics = Vec::new();
        for statement in &script.statements {
            match self.imagine(statement) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Apps => {
                    return Err(error);
                }
                Err(error) => diagnostics.push(diagnostic(&error, statement)),
            }
            let warnings = std::mem::take(&mut self.world.warnings);
            diagnostics.extend(
                warnings
                    .into_iter()
                    .map(|warning| pointed_out(warning, statement)),
            );
        }
        self.world.variables = variables;
        self.world.imagined.clear();
        // Files count as read once their statement runs.
        self.world.imported.clear();
        Ok(diagnostics)
    }

    pub(super) fn imagine(&mut self, statement: &Statement) -> Result<(), EngineError> {
        match &statement.tree {
            ast::Statement::Query(query) => {
                let bound = self.bind(query)?;
                self.executor().check_query(&bound)
            }
            ast::Statement::CreateTemp(name, query) => {
                let bound = self.bind(query)?;
                self.executor().check_query(&bound)?;
                self.world.imagined.insert(name.text.clone(), bound.columns);
                Ok(())
            }
            ast::Statement::DropTemp(name) => {
                self.world.imagined.remove(&name.text);
                Ok(())
            }
            ast::Statement::Set(name, value) | ast::Statement::Declare(name, value) => {
                let declared = matches!(statement.tree, ast::Statement::Declare(..));
                let value = self.imagine_variable(value, declared);
                // Whatever kind of value it was meant to be: its uses are not to blame.
                let known = value
                    .as_ref()
                    .cloned()
                    .unwrap_or(Variable::Unknown { numeric: true });
                self.world.variables.insert(name.text.clone(), known);
                value.map(drop)
            }
            ast::Statement::Assert { condition, .. } | ast::Statement::Exit(condition, _) => {
                let bound = BoundGate::bind(condition, &mut self.world)?;
                self.executor().check_parameters(&bound.parameters)
            }
            ast::Statement::Describe(app) => self.world.form(resolved(app)?).map(|_| ()),
            ast::Statement::ShowApps => self.executor().check_list(),
            ast::Statement::Explain(inner) => match &**inner {
                ast::Statement::CreateTemp(_, query) => {
                    let bound = self.bind(query)?;
                    self.executor().check_query(&bound)
                }
                ast::Statement::Set(..) | ast::Statement::Declare(..) | ast::Statement::DropTemp(_) => Ok(()),
                other => self.imagine(&statement.with_tree(other.clone())),
            },
            _ => self.imagine_write(statement),
        }
    }

    /// The value of a variable, if it is known before a run.
    fn imagine_variable(&mut self, value: &ast::Expr, declared: bool) -> Result<Variable, EngineError> {
        let value = match value {
            ast::Expr::Array(elements, _) => return Ok(Variable::List(elements.clone())),
            ast::Expr::Server(function) => return Ok(Variable::Relative(render::server(function))),
            other => other,
        };
        let (value, kind, parameters) = self.bind_constant(value)?;
        self.executor().check_parameters(&parameters)?;
        // The value of DECLARE is always text (LNG-13).
        let numeric = kind.is_numeric() && !declared;
        if !value.is_filled() {
            return Ok(Variable::Unknown { numeric });
        }
        let text = Evaluator::new().text(&value, &NoRow)?.into_owned();
        Ok(if numeric {
            Variable::Number(text)
        } else {
            Variable::Text(text)
        })
    }

    fn imagine_write(&mut self, statement: &Statement) -> Result<(), EngineError> {
        let bound = dml::bind(&mut self.world, statement);
        self.world.forget_import();
        let bound = bound?;
        self.executor().check_write(&bound)?;
        if let Some((table, columns)) = bound.error_table() {
            let known = self.world.imagined.insert(table.to_owned(), columns.clone());
            if known.is_some_and(|known| known != columns) {
                return Err(dml::other_columns(table));
            }
        }
        Ok(())
    }

    /// Runs one statement. Statements must be run in order; after an error, or when EXIT was taken, no more.
    pub fn run(&mut self, statement: &Statement) -> Result<StatementOutcome, EngineError> {
        self.reader.reset();
        self.world.warnings.clear();
        self.reader.check_interrupt()?;
        let result = self.execute(statement);
        match result {
            Ok(mut outcome) => {
                outcome.rows_read = self.reader.rows_read;
                let warnings = std::mem::take(&mut self.world.warnings);
                outcome.warnings = warnings.into_iter().map(|warning| warning.message).collect();
                outcome.warnings.append(&mut self.reader.notes);
                if self.reader.search_aborted {
                    outcome.warnings.push(say!(
                        "kintone stopped the keyword search at 100,000 hits; the result is incomplete",
                        "kintone がキーワード検索を 10 万件で打ち切りました。結果は不完全です"
                    ));
                }
                Ok(outcome)
            }
            Err(error) => Err(error.locate(|span| statement.position(span))),
        }
    }

    /// Records that the statement now running, or the last one, has read: also known when it failed.
    pub fn rows_read(&self) -> u64 {
        self.reader.rows_read
    }

    fn execute(&mut self, statement: &Statement) -> Result<StatementOutcome, EngineError> {
        match &statement.tree {
            ast::Statement::Query(query) => {
                let bound = self.bind(query)?;
                self.executor().query(&bound).map(result)
            }
            ast::Statement::CreateTemp(name, query) => self.create_temp(&name.text, query),
            ast::Statement::DropTemp(name) => {
                self.world.temps.remove(&name.text);
                Ok(done())
            }
            ast::Statement::Set(name, value) => self.set(&name.text, value, false),
            ast::Statement::Declare(name, value) => self.set(&name.text, value, true),
            ast::Statement::Assert {
                warn,
                condition,
                message,
            } => self.assert(
                *warn,
                condition,
                statement.source(condition.span),
                message.as_deref(),
            ),
            ast::Statement::Exit(condition, message) => {
                let (holds, _) = self.decide(condition)?;
                let kind = if holds {
                    OutcomeKind::ExitTaken(message.clone())
                } else {
                    OutcomeKind::Passed
                };
                Ok(StatementOutcome { kind, ..done() })
            }
            ast::Statement::ShowApps => show_apps(&self.reader).map(result),
            ast::Statement::Describe(app) => {
                let form = self.world.form(resolved(app)?)?;
                describe(Some(&form)).map(result)
            }
            ast::Statement::Explain(inner) => {
                let inner = statement.with_tree((**inner).clone());
                self.explain(&inner)?.relation().map(result)
            }
            _ => self.write(statement),
        }
    }

    fn write(&mut self, statement: &Statement) -> Result<StatementOutcome, EngineError> {
        if let ast::Statement::Import(import) = &statement.tree {
            dml::require_import(&self.world, import)?;
        }
        let bound = dml::bind(&mut self.world, statement)?;
        let permit = match self.config.dry_run {
            None => Some(WritePermit::grant()),
            Some(_) => None,
        };
        let mut dml = Dml {
            world: &mut self.world,
            reader: &mut self.reader,
            config: &self.config,
            statement: statement.index,
            permit,
        };
        let ran = dml.run(&bound);
        self.world.forget_import();
        let ran = ran?;
        Ok(StatementOutcome {
            written: ran.written,
            preview: ran.preview,
            row_count: ran.found_wrong,
            result: ran.errors,
            wrong_rows: ran.wrong_rows,
            ..done()
        })
    }

    fn create_temp(&mut self, name: &str, query: &ast::Query) -> Result<StatementOutcome, EngineError> {
        let bound = self.bind(query)?;
        let rows = self.executor().query(&bound)?;
        self.refuse_incomplete()?;
        let limit = self.config.max_temp_rows.unwrap_or(DEFAULT_MAX_TEMP_ROWS);
        let found = rows.rows() as u64;
        if found > limit {
            return Err(EngineError::argument(say!(
                "temp table #{name} would have {found} rows, more than {limit} (limits.maxTempRows)",
                "一時テーブル #{name} の行数 {found} が上限 {limit} (limits.maxTempRows) を超えています"
            )));
        }
        self.world.temps.insert(name.to_owned(), Arc::new(rows));
        Ok(StatementOutcome {
            row_count: Some(found),
            ..done()
        })
    }

    /// What feeds a write or a temp table must be complete (LNG-181).
    fn refuse_incomplete(&self) -> Result<(), EngineError> {
        if self.reader.search_aborted {
            Err(EngineError::search_aborted())
        } else {
            Ok(())
        }
    }

    fn set(
        &mut self,
        name: &str,
        value: &ast::Expr,
        declared: bool,
    ) -> Result<StatementOutcome, EngineError> {
        let value = match value {
            ast::Expr::Array(elements, _) => Variable::List(elements.clone()),
            ast::Expr::Server(function) => Variable::Relative(render::server(function)),
            other => {
                let (value, kind, parameters) = self.bind_constant(other)?;
                let filled = self.fill(&parameters)?;
                let mut evaluator = Evaluator::new();
                let value = fill::nested(&value, &filled, &mut evaluator)?;
                let text = evaluator.text(&value, &NoRow)?.into_owned();
                // The value of DECLARE is always text (LNG-13).
                if kind.is_numeric() && !declared {
                    Variable::Number(text)
                } else {
                    Variable::Text(text)
                }
            }
        };
        self.world.variables.insert(name.to_owned(), value);
        Ok(done())
    }

    fn assert(
        &mut self,
        warn: bool,
        condition: &ast::Gate,
        source: &str,
        message: Option<&str>,
    ) -> Result<StatementOutcome, EngineError> {
        let (holds, actual) = self.decide(condition)?;
        if holds {
            return Ok(StatementOutcome {
                kind: OutcomeKind::Passed,
                ..done()
            });
        }
        let source = render::on_one_line(source);
        let (source, actual) = (message::script(&source), gate::quoted(&condition.left, &actual));
        let own = message.map_or_else(String::new, |message| format!(" {message}"));
        let text = say!(
            "assertion failed: {source} (actual: {actual}).{own}",
            "ASSERT の条件が成り立ちません: {source} (実際の値: {actual})。{own}"
        );
        if warn {
            return Ok(StatementOutcome {
                kind: OutcomeKind::AssertWarning(text),
                ..done()
            });
        }
        Err(EngineError::assertion(text))
    }

    fn decide(&mut self, gate: &ast::Gate) -> Result<(bool, String), EngineError> {
        let bound = BoundGate::bind(gate, &mut self.world)?;
        let filled = self.fill(&bound.parameters)?;
        bound.decide(&filled, &mut Evaluator::new())
    }

    fn fill(&mut self, parameters: &[Parameter]) -> Result<Vec<Filled>, EngineError> {
        let filled = self.executor().parameters(parameters)?;
        self.refuse_incomplete()?;
        Ok(filled)
    }

    pub(super) fn bind(&mut self, query: &ast::Query) -> Result<BoundQuery, EngineError> {
        Binder::new(&mut self.world).query(query)
    }

    pub(super) fn bind_constant(
        &mut self,
        value: &ast::Expr,
    ) -> Result<(Scalar, Type, Vec<Parameter>), EngineError> {
        let mut binder = Binder::new(&mut self.world);
        let (value, kind) = binder.value(&mut Env::constant(), value)?;
        Ok((value, kind, binder.take_parameters()))
    }

    pub(super) fn executor(&mut self) -> Executor<'_, 'a> {
        Executor::new(
            &mut self.reader,
            &self.world.temps,
            &self.world.forms,
            self.config.push_down,
        )
    }
}

fn done() -> StatementOutcome {
    StatementOutcome {
        kind: OutcomeKind::Statement,
        written: Written::default(),
        rows_read: 0,
        row_count: None,
        result: None,
        warnings: Vec::new(),
        preview: None,
        wrong_rows: None,
    }
}

fn result(rows: Relation) -> StatementOutcome {
    StatementOutcome {
        row_count: Some(rows.rows() as u64),
        result: Some(rows),
        ..done()
    }
}

/// A warning as a diagnostic of the place it is about.
fn pointed_out(warning: Warning, statement: &Statement) -> Diagnostic {
    let position = warning.span.map(|span| statement.position(span));
    Diagnostic {
        severity: Severity::Warning,
        code: code::SYNTAX,
        message: warning.message,
        hint: None,
        token: None,
        line: position.map_or(statement.line, |position| position.line),
        column: position.map_or(statement.column, |position| position.column),
    }
}

/// A failed check as a diagnostic; findings about keys stand at the statement's start (LNG-171).
fn diagnostic(error: &EngineError, statement: &Statement) -> Diagnostic {
    use crate::flow::sql::message::Language::{English, Japanese};
    let key_code = error
        .code()
        .is_some_and(|found| [code::KEY_TYPE, code::KEY_NOT_UNIQUE].contains(&found));
    let position = error
        .span()
        .filter(|_| !key_code)
        .map(|span| statement.position(span));
    Diagnostic {
        severity: Severity::Error,
        code: error.code().unwrap_or(code::SYNTAX),
        message: Message::new(error.message(English), error.message(Japanese)),
        hint: None,
        token: None,
        line: position.map_or(statement.line, |position| position.line),
        column: position.map_or(statement.column, |position| position.column),
    }
}
