//! FROM: the sources of a SELECT with their columns.

use crate::flow::apps::FieldType;
use crate::flow::exec::EngineError;
use crate::flow::sql::ast::{Select, Source, Table};
use crate::flow::sql::message::say;
use crate::flow::sql::walk::{self, Part};

use super::{Bind, Binder, resolved};
use crate::flow::plan::scope::{Origin, Scope, ScopeSource};
use crate::flow::plan::types::Type;

impl Binder<'_> {
    /// One table with its columns and the names that qualify them.
    pub fn source(&mut self, source: &Source) -> Bind<ScopeSource> {
        let mut bound = self.table(&source.table)?;
        bound.alias = source.alias.as_ref().map(|alias| alias.text.clone());
        Ok(bound)
    }

    fn table(&mut self, table: &Table) -> Bind<ScopeSource> {
        match table {
            Table::App(app) => {
                let form = self.catalog.form(resolved(app)?)?;
                let mut source = ScopeSource::app(&form);
                source.qualifiers.push(app.written.text.clone());
                Ok(source)
            }
            Table::Subtable(app, code) => {
                let form = self.catalog.form(resolved(app)?)?;
                let (written, name) = (&app.written.text, &code.text);
                let mut source = ScopeSource::subtable(&form, name).ok_or_else(|| {
                    EngineError::argument(say!(
                        "{written} has no table {name}",
                        "{written} にテーブル {name} はありません"
                    ))
                    .at(code.span)
                })?;
                source.qualifiers.push(format!("{written}${name}"));
                Ok(source)
            }
            Table::Named(name) => {
                if let Some(index) = self.ctes.iter().rposition(|cte| cte.name == name.text)
                    && let Some(cte) = self.ctes.get_mut(index)
                {
                    cte.uses += 1;
                    return Ok(ScopeSource::relation(
                        Origin::Cte(index),
                        &name.text,
                        &cte.columns,
                    ));
                }
                self.temp(name)
            }
            Table::Temp(name) => self.temp(name),
        }
    }

    fn temp(&mut self, name: &crate::flow::sql::ast::Name) -> Bind<ScopeSource> {
        let text = &name.text;
        let columns = self.catalog.temp(text).ok_or_else(|| {
            EngineError::argument(say!("there is no table {text}", "{text} という表はありません"))
                .at(name.span)
        })?;
        Ok(ScopeSource::relation(Origin::Temp(text.clone()), text, &columns))
    }

    /// All sources of a SELECT.
    pub(super) fn scope(&mut self, select: &Select) -> Bind<Scope> {
        let mut scope = Scope::default();
        for source in select
            .from
            .iter()
            .chain(select.joins.iter().map(|join| &join.source))
        {
            scope.sources.push(self.source(source)?);
        }
        let mut names: Vec<&str> = Vec::new();
        walk::select(select, &mut |part| {
            if let Part::Value(crate::flow::sql::ast::Expr::Column(column)) = part {
                names.push(&column.name.text);
            }
        });
        self.load_states(&mut scope, &names)?;
        Ok(scope)
    }

    /// Gives STATUS columns that are mentioned their states: forms do not list them.
    pub fn load_states(&mut self, scope: &mut Scope, mentioned: &[&str]) -> Bind<()> {
        for source in &mut scope.sources {
            let (Origin::App(app) | Origin::Subtable(app, _)) = source.origin else {
                continue;
            };
            let wanted = |column: &crate::flow::plan::scope::SourceColumn| {
                matches!(&column.info.kind, Type::Field(field) if field.kind == FieldType::Status && field.options.is_none())
                    && mentioned.contains(&column.info.name.as_str())
            };
            if !source.columns.iter().any(wanted) {
                continue;
            }
            let states = self.catalog.states(app)?;
            let mut columns = source.columns.to_vec();
            for column in columns.iter_mut().filter(|column| wanted(column)) {
                column.info.kind = Type::with_options(FieldType::Status, Some(&states));
            }
            source.columns = columns.into();
        }
        Ok(())
    }
}
