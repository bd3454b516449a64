//! The plans of a script's statements, each seeing the temp tables and variables of those before it.

use crate::flow::dml;
use crate::flow::script::{Script, Statement, StatementKind};
use crate::flow::sql::ast;
use crate::flow::sql::message::say;

use super::write::Circumstances;
use super::{Counted, ExplainStep, Explainer, Explanation, Foreseen, Purpose, ScriptExplanation};
use crate::flow::exec::estimate::Estimate;
use crate::flow::exec::gate::BoundGate;
use crate::flow::exec::scan::counting;
use crate::flow::exec::{EngineError, Session};

impl Session<'_> {
    /// The plan of a statement of a run; costs form requests and one counting request per scan.
    pub fn explain(&mut self, statement: &Statement) -> Result<Explanation, EngineError> {
        let known = self.world.precision_apps().map(|app| (app, true)).collect();
        let mut foreseen = Foreseen {
            precisions: known,
            ..Foreseen::default()
        };
        self.explain_after(statement, &mut foreseen)
    }

    /// The plans of all statements, and what is read before them.
    pub fn explain_script(&mut self, script: &Script) -> Result<ScriptExplanation, EngineError> {
        let variables = self.world.variables.clone();
        let mut foreseen = Foreseen::default();
        let mut plans = ScriptExplanation::default();
        let mut exits = false;
        for statement in &script.statements {
            let plan = self.explain_after(statement, &mut foreseen)?;
            plans.statements.push(Explanation {
                may_be_skipped: exits,
                ..plan
            });
            exits |= statement.kind == StatementKind::Exit;
            self.foresee(statement, &mut foreseen)?;
        }
        // Every statement is bound before the first one runs: that reads the forms.
        for app in self.world.forms.keys() {
            let step = ExplainStep::new(say!("form", "フォーム")).on(*app);
            plans
                .before
                .steps
                .push(step.requests(Purpose::Definition, Estimate::exactly(1)));
        }
        for app in self.world.state_apps() {
            let step = ExplainStep::new(say!("states", "ステータス")).on(app);
            plans
                .before
                .steps
                .push(step.requests(Purpose::Definition, Estimate::exactly(1)));
        }
        self.world.variables = variables;
        self.world.imagined.clear();
        Ok(plans)
    }

    fn explain_after(
        &mut self,
        statement: &Statement,
        foreseen: &mut Foreseen,
    ) -> Result<Explanation, EngineError> {
        if let ast::Statement::Explain(inner) = &statement.tree {
            return self.explain_explain(&statement.with_tree((**inner).clone()), foreseen);
        }
        self.plan(statement, foreseen).map(|(plan, _)| plan)
    }

    /// What EXPLAIN itself sends: its counting requests.
    fn explain_explain(
        &mut self,
        inner: &Statement,
        foreseen: &Foreseen,
    ) -> Result<Explanation, EngineError> {
        let (_, counted) = self.plan(inner, &mut foreseen.clone())?;
        let mut plan = Explanation::default();
        for (app, condition, perhaps) in counted {
            let requests = Estimate::exactly(1);
            let step = ExplainStep {
                query: Some(counting(app, &condition).query),
                ..ExplainStep::new(say!("count", "件数"))
            };
            let requests = if perhaps { requests.or_none() } else { requests };
            plan.steps.push(step.on(app).requests(Purpose::Read, requests));
        }
        Ok(plan)
    }

    fn plan(
        &mut self,
        statement: &Statement,
        foreseen: &mut Foreseen,
    ) -> Result<(Explanation, Vec<Counted>), EngineError> {
        self.reader.reset();
        match &statement.tree {
            ast::Statement::Query(query) => {
                let bound = self.bind(query)?;
                let mut executor = self.executor();
                let mut plan = Explainer::new(&mut executor, foreseen);
                plan.query(&bound)?;
                Ok(plan.finish())
            }
            ast::Statement::CreateTemp(name, query) => {
                let bound = self.bind(query)?;
                let mut executor = self.executor();
                let mut plan = Explainer::new(&mut executor, foreseen);
                let rows = plan.query(&bound)?;
                let made = plan.finish();
                foreseen.temps.insert(name.text.clone(), rows);
                Ok(made)
            }
            ast::Statement::Assert { condition, .. } | ast::Statement::Exit(condition, _) => {
                let bound = BoundGate::bind(condition, &mut self.world)?;
                let mut executor = self.executor();
                let mut plan = Explainer::new(&mut executor, foreseen);
                plan.parameters(&bound.parameters)?;
                if statement.kind == StatementKind::Exit {
                    plan.step(ExplainStep::new(say!("exit", "終了")).detail(say!(
                        "if it holds: no later statement is run",
                        "条件が成り立てば、以降の文は実行しません"
                    )));
                }
                Ok(plan.finish())
            }
            ast::Statement::Set(_, value) | ast::Statement::Declare(_, value) => {
                let parameters = match value {
                    ast::Expr::Array(..) | ast::Expr::Server(_) => Vec::new(),
                    value => self.bind_constant(value)?.2,
                };
                let mut executor = self.executor();
                let mut plan = Explainer::new(&mut executor, foreseen);
                plan.parameters(&parameters)?;
                Ok(plan.finish())
            }
            ast::Statement::ShowApps => {
                let mut executor = self.executor();
                let mut plan = Explainer::new(&mut executor, foreseen);
                plan.list_apps();
                Ok(plan.finish())
            }
            _ if statement.kind.writes() => {
                let rows_known = match &statement.tree {
                    ast::Statement::Import(import) => dml::require_import(&self.world, import).is_ok(),
                    _ => true,
                };
                let circumstances = Circumstances {
                    rows_known,
                    native_upsert: self.config.native_upsert,
                };
                let bound = dml::bind(&mut self.world, statement)?;
                let mut executor = self.executor();
                let mut plan = Explainer::new(&mut executor, foreseen);
                plan.write(&bound, circumstances)?;
                let made = plan.finish();
                self.world.forget_import();
                Ok(made)
            }
            _ => Ok((Explanation::default(), Vec::new())),
        }
    }

    /// What the statement leaves to the next ones, as far as it is known before it runs.
    fn foresee(&mut self, statement: &Statement, foreseen: &mut Foreseen) -> Result<(), EngineError> {
        if let ast::Statement::DropTemp(name) = &statement.tree {
            foreseen.temps.remove(&name.text);
        }
        self.imagine(statement)
    }
}
