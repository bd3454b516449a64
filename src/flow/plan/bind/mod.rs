//! Binding: every name becomes a column, a constant or a subquery; every type is known; every rule that needs a form
//! is checked. Nothing but forms is read.

mod condition;
mod group;
mod inline;
mod order;
mod record_number;
mod select;
mod source;
mod value;

use crate::flow::apps::FieldType;
use crate::flow::exec::EngineError;
use crate::flow::sql::ast::{self, Cte};
use crate::flow::sql::message::say;
use crate::flow::sql::walk;

use super::catalog::{Catalog, app_list_columns, description_columns};
use super::filter::Filter;
use super::query::{BoundCte, BoundQuery, BoundSelect, CteBody, Parameter, Recursive, Wanted};
use super::scalar::Scalar;
use super::scope::{Origin, Scope};
use super::series;
use super::types::{ColumnInfo, Type};

pub use condition::not_sent;
pub use value::{Alias, Env};

type Bind<T> = Result<T, EngineError>;

/// A common table expression that can be named here.
struct VisibleCte {
    name: String,
    columns: Vec<ColumnInfo>,
    uses: usize,
}

/// Binds the parts of one statement.
pub struct Binder<'c> {
    catalog: &'c mut dyn Catalog,
    ctes: Vec<VisibleCte>,
    parameters: Vec<Parameter>,
    /// Division by zero is an error (UPDATE SET).
    pub strict_division: bool,
}

impl<'c> Binder<'c> {
    /// A binder for one statement.
    pub fn new(catalog: &'c mut dyn Catalog) -> Self {
        Self {
            catalog,
            ctes: Vec::new(),
            parameters: Vec::new(),
            strict_division: false,
        }
    }

    /// What names outside the statement mean.
    pub fn catalog(&mut self) -> &mut dyn Catalog {
        self.catalog
    }

    /// The subqueries met so far outside any query of their own.
    pub fn take_parameters(&mut self) -> Vec<Parameter> {
        std::mem::take(&mut self.parameters)
    }

    /// Binds a query.
    pub fn query(&mut self, query: &ast::Query) -> Bind<BoundQuery> {
        let outer_ctes = self.ctes.len();
        let outer_parameters = std::mem::take(&mut self.parameters);
        let bound = self.query_in_place(query, outer_ctes);
        self.ctes.truncate(outer_ctes);
        self.parameters = outer_parameters;
        bound
    }

    fn query_in_place(&mut self, query: &ast::Query, outer_ctes: usize) -> Bind<BoundQuery> {
        let mut bodies = Vec::new();
        for (place, cte) in query.ctes.iter().enumerate() {
            let name = &cte.name.text;
            if query
                .ctes
                .iter()
                .take(place)
                .any(|other| other.name.text == *name)
            {
                return Err(EngineError::argument(say!(
                    "WITH defines {name} twice",
                    "WITH で {name} が 2 回定義されています"
                ))
                .at(cte.name.span));
            }
            let (body, columns) = self.cte(cte, query)?;
            bodies.push(body);
            self.ctes.push(VisibleCte {
                name: cte.name.text.clone(),
                columns,
                uses: 0,
            });
        }
        // The order and limit of the last branch are those of the whole UNION.
        let union = !query.unions.is_empty();
        let mut selects: Vec<ast::Select> = walk::selects(query).cloned().collect();
        let mut whole = None;
        if union && let Some(last) = selects.last_mut() {
            whole = Some((
                std::mem::take(&mut last.order),
                last.limit.take(),
                std::mem::take(&mut last.offset),
            ));
        }
        let mut bound = Vec::new();
        for select in &selects {
            bound.push(self.select(select)?);
        }
        for select in &mut bound {
            self.take_in(select, &bodies, outer_ctes);
        }
        let mut bound = bound.into_iter();
        let Some(first) = bound.next() else {
            return Err(EngineError::argument(say!(
                "the query has no SELECT",
                "SELECT がありません"
            )));
        };
        let unions: Vec<(bool, BoundSelect)> = query.unions.iter().map(|(all, _)| *all).zip(bound).collect();
        for (_, branch) in &unions {
            let (left, right) = (first.columns.len(), branch.columns.len());
            if left != right {
                return Err(EngineError::argument(say!(
                    "the column counts of a UNION differ: {left} and {right}",
                    "UNION の列数 (column counts) が一致しません: {left} と {right}"
                ))
                .at(query.span));
            }
        }
        let mut order = Vec::new();
        let (mut limit, mut offset) = (None, 0);
        if let Some((keys, whole_limit, whole_offset)) = whole {
            let last = unions.last().map_or(&first, |(_, branch)| branch);
            order = Self::union_order(&keys, &first.columns, &last.columns)?;
            (limit, offset) = (whole_limit, whole_offset);
        }
        let columns = first.columns.clone();
        let own = self.ctes.get(outer_ctes..).unwrap_or_default();
        let ctes = bodies
            .into_iter()
            .zip(own)
            .map(|(body, visible)| BoundCte {
                body,
                columns: visible.columns.clone(),
                uses: visible.uses,
            })
            .collect();
        let parameters = self.take_parameters();
        Ok(BoundQuery {
            ctes,
            outer_ctes,
            parameters,
            first,
            unions,
            order,
            limit,
            offset,
            columns,
        })
    }

    /// Reads an app directly where a SELECT reads nothing but a plain expression over it that nobody else reads.
    fn take_in(&mut self, select: &mut BoundSelect, bodies: &[CteBody], outer_ctes: usize) {
        let [source] = select.sources.as_slice() else {
            return;
        };
        let Origin::Cte(index) = source.origin else { return };
        let body = index.checked_sub(outer_ctes).and_then(|own| bodies.get(own));
        if let (Some(body), Some(cte)) = (body, self.ctes.get_mut(index))
            && cte.uses == 1
            && inline::take_in(select, body)
        {
            cte.uses = 0;
        }
    }

    fn cte(&mut self, cte: &Cte, query: &ast::Query) -> Bind<(CteBody, Vec<ColumnInfo>)> {
        match &cte.body {
            ast::CteBody::Query(body) => {
                let recursive = query.recursive && refers_to(body, &cte.name.text);
                if recursive {
                    return self.recursive(cte, body, query.cycle.as_ref());
                }
                let bound = self.query(body)?;
                let columns = renamed(&bound.columns, cte)?;
                Ok((CteBody::Query(Box::new(bound)), columns))
            }
            ast::CteBody::Series(arguments, column) => {
                let mut values = Vec::new();
                let mut numeric = true;
                for argument in arguments {
                    let (value, kind) = self.value(&mut Env::constant(), argument)?;
                    numeric &= kind.is_numeric();
                    values.push(value);
                }
                let kind = if numeric {
                    Type::Number
                } else {
                    Type::with_options(FieldType::Date, None)
                };
                let column = match column {
                    Some(alias) => ColumnInfo::alias(&alias.text, kind),
                    None => ColumnInfo::exact(series::DEFAULT_COLUMN, kind),
                };
                Ok((CteBody::Series(values), vec![column]))
            }
            ast::CteBody::ShowApps => Ok((CteBody::ShowApps, app_list_columns())),
            ast::CteBody::Describe(app) => {
                let app = resolved(app)?;
                self.catalog.form(app)?;
                Ok((CteBody::Describe(app), description_columns()))
            }
        }
    }

    /// `seed UNION ALL step [CYCLE]` (LNG-135).
    fn recursive(
        &mut self,
        cte: &Cte,
        body: &ast::Query,
        cycle: Option<&ast::Cycle>,
    ) -> Bind<(CteBody, Vec<ColumnInfo>)> {
        let [(true, step)] = body.unions.as_slice() else {
            return Err(EngineError::argument(say!(
                "a recursive common table expression is: seed UNION ALL step",
                "再帰の共通表式は「初期 SELECT UNION ALL 反復 SELECT」の形で書きます"
            ))
            .at(body.span));
        };
        let seed_query = ast::Query {
            recursive: false,
            ctes: Vec::new(),
            cycle: None,
            first: body.first.clone(),
            unions: Vec::new(),
            span: body.first.span,
        };
        let seed = self.query(&seed_query)?;
        let mut columns = renamed(&seed.columns, cte)?;
        let own = self.ctes.len();
        self.ctes.push(VisibleCte {
            name: cte.name.text.clone(),
            columns: columns.clone(),
            uses: 0,
        });
        let step = self.select(step);
        self.ctes.truncate(own);
        let step = step?;
        if step.columns.len() != columns.len() {
            return Err(EngineError::argument(say!(
                "the column counts of seed and step differ",
                "初期 SELECT と反復 SELECT の列数 (column counts) が一致しません"
            ))
            .at(body.span));
        }
        let own_source = step
            .sources
            .iter()
            .position(|source| source.origin == Origin::Cte(own))
            .unwrap_or_default();
        let cycle = match cycle {
            None => None,
            Some(cycle) => {
                let name = &cycle.column.text;
                let watched = columns
                    .iter()
                    .position(|column| column.answers_to(name))
                    .ok_or_else(|| {
                        EngineError::argument(say!(
                            "unknown field code(s): {name}",
                            "フィールドコードが見つかりません (unknown field code(s)): {name}"
                        ))
                        .at(cycle.column.span)
                    })?;
                columns.push(ColumnInfo::alias(&cycle.mark.text, Type::Text));
                Some((watched, cycle.cyclic.clone(), cycle.acyclic.clone()))
            }
        };
        Ok((
            CteBody::Recursive(Box::new(Recursive {
                seed,
                step,
                own,
                own_source,
                cycle,
            })),
            columns,
        ))
    }

    /// Binds a subquery and gives its number.
    fn parameter(&mut self, query: &ast::Query, wanted: Wanted) -> Bind<(usize, Type)> {
        let bound = self.query(query)?;
        let kind = bound
            .columns
            .first()
            .map_or(Type::Text, |column| column.kind.clone());
        if wanted == Wanted::Scalar && bound.columns.len() != 1 {
            let width = bound.columns.len();
            return Err(EngineError::argument(say!(
                "a scalar subquery has one column, not {width}",
                "スカラー副問い合わせ (scalar subquery) の列は 1 つです ({width} 列あります)"
            ))
            .at(query.span));
        }
        self.parameters.push(Parameter { query: bound, wanted });
        Ok((self.parameters.len() - 1, kind))
    }

    /// A condition over the rows of `scope`, kintone's functions allowed.
    pub fn where_condition(&mut self, scope: &Scope, condition: &ast::Condition) -> Bind<Filter> {
        self.condition(&mut Env::rows(scope), condition)
    }

    /// A value over the rows of `scope`.
    pub fn row_value(&mut self, scope: &Scope, expr: &ast::Expr) -> Bind<(Scalar, Type)> {
        self.value(&mut Env::rows(scope), expr)
    }
}

/// The number of an app; missing only if the script was parsed without the profile's names.
pub fn resolved(app: &ast::AppRef) -> Bind<crate::flow::apps::AppId> {
    let written = &app.written.text;
    app.id.ok_or_else(|| {
        EngineError::argument(say!(
            "{written} was not resolved",
            "{written} が解決されていません"
        ))
        .at(app.written.span)
    })
}

/// The columns of a CTE under its own column list.
fn renamed(columns: &[ColumnInfo], cte: &Cte) -> Bind<Vec<ColumnInfo>> {
    if cte.columns.is_empty() {
        return Ok(columns.to_vec());
    }
    if cte.columns.len() != columns.len() {
        let (listed, found) = (cte.columns.len(), columns.len());
        return Err(EngineError::argument(say!(
            "{listed} column names for {found} columns",
            "列名が {listed} 個ですが、列は {found} 個あります"
        ))
        .at(cte.name.span));
    }
    Ok(cte
        .columns
        .iter()
        .zip(columns)
        .map(|(name, column)| ColumnInfo::alias(&name.text, column.kind.clone()))
        .collect())
}

fn refers_to(query: &ast::Query, name: &str) -> bool {
    query.unions.iter().any(|(_, select)| {
        select
            .from
            .iter()
            .chain(select.joins.iter().map(|join| &join.source))
            .any(|source| matches!(&source.table, ast::Table::Named(table) if table.text == name))
    })
}
