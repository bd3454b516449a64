//! What a session knows beside kintone's records: forms, states, temp tables, variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::flow::apps::{AppId, Apps, Form, NumberPrecision};
use crate::flow::calendar::AsOf;
use crate::flow::dml::IMPORT_TABLE;
use crate::flow::plan::catalog::{Catalog, Variable};
use crate::flow::plan::types::ColumnInfo;
use crate::flow::script::Script;
use crate::flow::sql::message::Message;
use crate::flow::sql::position::Span;

use super::in_flight::in_flight;
use super::query::{Forms, Temps};
use super::{Config, EngineError, ImportSource, Imported};

/// The most warnings about the places of one statement: who does not see it by then gains nothing by more.
const MAX_WARNINGS: usize = 100;

/// What the author of a script should know.
pub(super) struct Warning {
    /// Where it was seen, if that is a place in the script.
    pub span: Option<Span>,
    pub message: Message,
}

/// Knowledge of a session; forms are read once.
pub(in crate::flow) struct World<'a> {
    apps: &'a dyn Apps,
    as_of: AsOf,
    pub(in crate::flow) forms: Forms,
    states: BTreeMap<AppId, Arc<[String]>>,
    precisions: BTreeMap<AppId, NumberPrecision>,
    pub(in crate::flow) temps: Temps,
    /// Columns of temp tables that a check, unlike a run, only imagines.
    pub(super) imagined: BTreeMap<String, Vec<ColumnInfo>>,
    pub(super) variables: BTreeMap<String, Variable>,
    pub(super) warnings: Vec<Warning>,
    /// Files for IMPORT.
    pub(in crate::flow) imports: Vec<ImportSource>,
    /// Those that were decoded, in the order of their first use.
    pub(in crate::flow) imported: Vec<Imported>,
}

impl<'a> World<'a> {
    pub fn new(apps: &'a dyn Apps, config: &Config) -> Self {
        Self {
            apps,
            as_of: config.as_of.clone(),
            forms: BTreeMap::new(),
            states: BTreeMap::new(),
            precisions: BTreeMap::new(),
            temps: BTreeMap::new(),
            imagined: BTreeMap::new(),
            variables: BTreeMap::new(),
            warnings: Vec::new(),
            imports: config.imports.clone(),
            imported: Vec::new(),
        }
    }

    /// Reads the forms of all apps that a script names, so many at once: binding its statements needs every one of them.
    pub(super) fn read_forms(&mut self, script: &Script, width: usize) -> Result<(), EngineError> {
        let mut unread: Vec<AppId> = Vec::new();
        for app in script.statements.iter().flat_map(|statement| &statement.apps) {
            if !self.forms.contains_key(app) && !unread.contains(app) {
                unread.push(*app);
            }
        }
        let apps = self.apps;
        let forms = &mut self.forms;
        in_flight(
            0..unread.len(),
            width,
            |place| Ok(unread.get(place).map(|app| apps.form(*app)).transpose()?),
            |_| true,
            |_, form| forms.extend(form.map(|form| (form.app, Arc::new(form)))),
        )?;
        Ok(())
    }

    /// Notes what the author of the script should know about what the statement did.
    pub(in crate::flow) fn note(&mut self, warning: Message) {
        self.add_warning(None, warning);
    }

    fn add_warning(&mut self, span: Option<Span>, message: Message) {
        if self.warnings.iter().all(|known| known.message != message) {
            self.warnings.push(Warning { span, message });
        }
    }

    /// Notes a decoded file once.
    pub(in crate::flow) fn note_import(&mut self, imported: Imported) {
        if !self.imported.contains(&imported) {
            self.imported.push(imported);
        }
    }

    /// The table of the file that the last IMPORT read is not needed any more.
    pub(super) fn forget_import(&mut self) {
        self.temps.remove(IMPORT_TABLE);
    }

    /// Apps whose number precision was read.
    pub(super) fn precision_apps(&self) -> impl Iterator<Item = AppId> {
        self.precisions.keys().copied()
    }

    /// Apps whose process states were read.
    pub(super) fn state_apps(&self) -> impl Iterator<Item = AppId> {
        self.states.keys().copied()
    }

    /// Number precision of an app; read once.
    pub(in crate::flow) fn precision(&mut self, app: AppId) -> Result<NumberPrecision, EngineError> {
        if let Some(known) = self.precisions.get(&app) {
            return Ok(*known);
        }
        let precision = self.apps.number_precision(app)?;
        self.precisions.insert(app, precision);
        Ok(precision)
    }
}

impl Catalog for World<'_> {
    fn form(&mut self, app: AppId) -> Result<Arc<Form>, EngineError> {
        if let Some(known) = self.forms.get(&app) {
            return Ok(Arc::clone(known));
        }
        let form = Arc::new(self.apps.form(app)?);
        self.forms.insert(app, Arc::clone(&form));
        Ok(form)
    }

    fn states(&mut self, app: AppId) -> Result<Arc<[String]>, EngineError> {
        if let Some(known) = self.states.get(&app) {
            return Ok(Arc::clone(known));
        }
        let states: Arc<[String]> = self.apps.states(app)?.into();
        self.states.insert(app, Arc::clone(&states));
        Ok(states)
    }

    fn temp(&self, name: &str) -> Option<Vec<ColumnInfo>> {
        let imagined = self.imagined.get(name).cloned();
        imagined.or_else(|| self.temps.get(name).map(|relation| relation.columns().to_vec()))
    }

    fn variable(&self, name: &str) -> Option<Variable> {
        self.variables.get(name).cloned()
    }

    fn as_of(&self) -> &AsOf {
        &self.as_of
    }

    fn warn(&mut self, span: Span, warning: Message) {
        if self.warnings.len() < MAX_WARNINGS {
            self.add_warning(Some(span), warning);
        }
    }
}
