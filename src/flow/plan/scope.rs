//! What names mean inside one SELECT: its sources, their columns, and how a reference finds one (LNG-24, LNG-25).

use std::sync::Arc;

use crate::flow::apps::{AppId, Field, FieldType, Form};
use crate::flow::exec::EngineError;
use crate::flow::sql::ast::{ColumnRef, Name};
use crate::flow::sql::message::say;
use crate::flow::sql::render;

use super::scalar::ColumnId;
use super::types::{ColumnInfo, Type};

/// Where the rows of a source come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Records of an app.
    App(AppId),
    /// Rows of a table of an app, by its field code.
    Subtable(AppId, String),
    /// A temp table.
    Temp(String),
    /// A common table expression, by its place among all that are visible.
    Cte(usize),
}

/// How a column of a source is found by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// By its name.
    Own,
    /// As `_p.name`.
    Parent,
    /// A field of a table, seen from the parent app: always empty (LNG-25).
    Child,
}

/// A column of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    /// Name and type.
    pub info: ColumnInfo,
    /// How it is found.
    pub access: Access,
    /// A field of the app in which duplicates are prohibited.
    pub unique: bool,
}

/// One source of FROM.
#[derive(Clone, Debug)]
pub struct ScopeSource {
    /// Where rows come from.
    pub origin: Origin,
    /// Names that qualify its columns.
    pub qualifiers: Vec<String>,
    /// Its alias: then the other names qualify its columns only where no source has them for its own.
    pub alias: Option<String>,
    /// Its columns; [`ColumnId::column`] counts here.
    pub columns: Arc<[SourceColumn]>,
}

/// System columns of a subtable's rows (LNG-05).
pub const SUBTABLE_COLUMNS: [(&str, Type); 3] = [
    ("_pid", Type::Number),
    ("_rid", Type::Text),
    ("_idx", Type::Number),
];

impl ScopeSource {
    /// The source of an app's records.
    pub fn app(form: &Form) -> Self {
        let own = form.fields.iter().map(|field| column(field, Access::Own));
        let children = form
            .fields
            .iter()
            .flat_map(|field| &field.children)
            .map(|field| column(field, Access::Child));
        Self {
            origin: Origin::App(form.app),
            qualifiers: vec![form.app.to_string()],
            alias: None,
            columns: own.chain(children).collect(),
        }
    }

    /// The source of a table's rows; `None` if the form has no such table.
    pub fn subtable(form: &Form, code: &str) -> Option<Self> {
        let table = form
            .field(code)
            .filter(|field| field.kind == FieldType::Subtable)?;
        let system = SUBTABLE_COLUMNS.map(|(name, kind)| SourceColumn {
            info: ColumnInfo::exact(name, kind),
            access: Access::Own,
            unique: false,
        });
        let own = table.children.iter().map(|field| column(field, Access::Own));
        let parents = form.fields.iter().map(|field| column(field, Access::Parent));
        Some(Self {
            origin: Origin::Subtable(form.app, code.to_owned()),
            qualifiers: vec![format!("{}${code}", form.app)],
            alias: None,
            columns: system.into_iter().chain(own).chain(parents).collect(),
        })
    }

    /// A source with known columns.
    pub fn relation(origin: Origin, name: &str, columns: &[ColumnInfo]) -> Self {
        let columns = columns
            .iter()
            .map(|info| SourceColumn {
                info: info.clone(),
                access: Access::Own,
                unique: false,
            })
            .collect();
        Self {
            origin,
            qualifiers: vec![name.to_owned()],
            alias: None,
            columns,
        }
    }

    fn is_called(&self, qualifier: &str) -> bool {
        self.qualifiers
            .iter()
            .chain(&self.alias)
            .any(|own| own.eq_ignore_ascii_case(qualifier))
    }

    /// Whether this is the name that sets the source apart: its alias or, without one, any of its names.
    fn is_set_apart_by(&self, qualifier: &str) -> bool {
        match &self.alias {
            Some(alias) => alias.eq_ignore_ascii_case(qualifier),
            None => self.is_called(qualifier),
        }
    }

    /// Columns that `*` stands for, by place.
    pub fn wildcard(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().enumerate().filter_map(|(i, column)| {
            let hidden = column.info.kind.field() == Some(FieldType::Revision);
            (column.access == Access::Own && !hidden).then_some(i)
        })
    }

    /// Columns that `_p.*` stands for, by place.
    pub fn parents(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().enumerate().filter_map(|(i, column)| {
            let hidden = matches!(
                column.info.kind.field(),
                Some(FieldType::Revision | FieldType::Subtable)
            );
            (column.access == Access::Parent && !hidden).then_some(i)
        })
    }
}

fn column(field: &Field, access: Access) -> SourceColumn {
    SourceColumn {
        info: ColumnInfo::exact(&field.code, Type::of(field)),
        access,
        unique: field.unique,
    }
}

/// The sources of one SELECT.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// In the order of FROM.
    pub sources: Vec<ScopeSource>,
}

/// What a reference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A column of the rows.
    Column(ColumnId),
    /// A field of a table seen from its parent: empty.
    Child,
}

impl Scope {
    /// The column of a place.
    pub fn column(&self, id: ColumnId) -> Option<&SourceColumn> {
        self.sources.get(id.source)?.columns.get(id.column)
    }

    /// Its type.
    pub fn kind(&self, id: ColumnId) -> Type {
        self.column(id)
            .map_or(Type::Text, |column| column.info.kind.clone())
    }

    /// Finds a column; `None` if no source has one of this name.
    pub fn find(&self, reference: &ColumnRef) -> Result<Option<Found>, EngineError> {
        let name = &reference.name.text;
        let (qualifier, parent) = match reference
            .qualifier
            .as_ref()
            .map(|qualifier| qualifier.text.as_str())
        {
            Some("_p") => (None, true),
            Some(qualifier) => match qualifier.strip_suffix("._p") {
                Some(alias) => (Some(alias), true),
                None => (Some(qualifier), false),
            },
            None => (None, false),
        };
        let named = qualifier.map(|qualifier| self.called(qualifier));
        if let (Some(qualifier), Some([])) = (qualifier, named.as_deref()) {
            return Err(EngineError::argument(say!(
                "there is no table or alias {qualifier} here",
                "{qualifier} という表または別名はありません"
            ))
            .at(reference.span()));
        }
        let mut matches = Vec::new();
        let mut child = false;
        for (source, content) in self.sources.iter().enumerate() {
            if named.as_ref().is_some_and(|named| !named.contains(&source)) {
                continue;
            }
            for (column, candidate) in content.columns.iter().enumerate() {
                if !candidate.info.answers_to(name) {
                    continue;
                }
                match candidate.access {
                    Access::Own if !parent => matches.push(ColumnId { source, column }),
                    Access::Parent if parent => matches.push(ColumnId { source, column }),
                    Access::Child if !parent => child = true,
                    _ => {}
                }
            }
        }
        match matches.as_slice() {
            [] => Ok(child.then_some(Found::Child)),
            [only] => Ok(Some(Found::Column(*only))),
            _ => {
                let written = render::column(reference);
                Err(EngineError::argument(say!(
                    "ambiguous column {written}: qualify it with an alias",
                    "列 {written} があいまいです (ambiguous column)。別名を付けて指定してください"
                ))
                .at(reference.span()))
            }
        }
    }

    /// The sources that a qualifier names. `app JOIN app b` has two of that name, but only the first is set apart by it.
    fn called(&self, qualifier: &str) -> Vec<usize> {
        let all = |called: &dyn Fn(&ScopeSource) -> bool| -> Vec<usize> {
            let sources = self.sources.iter().enumerate();
            sources
                .filter(|(_, source)| called(source))
                .map(|(place, _)| place)
                .collect()
        };
        let set_apart = all(&|source| source.is_set_apart_by(qualifier));
        if set_apart.is_empty() {
            all(&|source| source.is_called(qualifier))
        } else {
            set_apart
        }
    }

    /// The source that a wildcard's qualifier names.
    pub fn source_called(&self, qualifier: &Name) -> Result<usize, EngineError> {
        let text = &qualifier.text;
        self.called(text).first().copied().ok_or_else(|| {
            EngineError::argument(say!(
                "there is no table or alias {text} here",
                "{text} という表または別名はありません"
            ))
            .at(qualifier.span)
        })
    }
}

/// The error for a name that no source has.
pub fn unknown_column(reference: &ColumnRef) -> EngineError {
    let written = render::column(reference);
    EngineError::argument(say!(
        "unknown field code(s): {written}",
        "フィールドコードが見つかりません (unknown field code(s)): {written}"
    ))
    .at(reference.span())
}
