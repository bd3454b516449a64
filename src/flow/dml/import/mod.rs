//! IMPORT (LNG-153): the file becomes a table in memory, and the statement an INSERT or UPSERT of a SELECT over it.

mod csv;
mod json;

use std::sync::Arc;

use crate::flow::apps::{ArenaFull, Form};
use crate::flow::exec::world::World;
use crate::flow::exec::{EngineError, ImportSource, Imported, Relation};
use crate::flow::plan::bind::resolved;
use crate::flow::plan::catalog::Catalog;
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::sql::ast::{
    ColumnRef, Expr, Header, Import, ImportFormat, InsertSource, Inspection, Item, Mapping, Name, Query,
    Source, Table,
};
use crate::flow::sql::message::{Message, say};

use super::bind::{self, BoundDml};
use super::target::{self, TargetField};

/// Name of the table that holds the file; no script can write it.
pub(in crate::flow) const IMPORT_TABLE: &str = "(import)";
/// Largest file, 10 MiB (LNG-153).
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// A file as a table.
struct Decoded {
    relation: Relation,
    imported: Imported,
}

/// Decodes the file, if there is one, and binds the statement. Without it (`validate`, `explain`) what needs only the
/// form is checked.
pub(super) fn bind(world: &mut World<'_>, import: &Import) -> Result<BoundDml, EngineError> {
    let form = world.form(resolved(&import.target.app)?)?;
    let fields = target::fields(&form, &import.fields)?;
    let source = supplied(world, import)?;
    let (source, inspection) = if let Some(source) = source {
        let decoded = decode(import, &source, &form, &fields)?;
        world.note_import(decoded.imported);
        let query = over_file(import, decoded.relation.columns());
        world
            .temps
            .insert(IMPORT_TABLE.to_owned(), Arc::new(decoded.relation));
        (InsertSource::Query(Box::new(query)), import.inspection.clone())
    } else {
        // Names in expressions can only be resolved once the header is known.
        let inspection = Inspection {
            checks: Vec::new(),
            disposal: import.inspection.disposal.clone(),
        };
        (InsertSource::Values(Vec::new()), inspection)
    };
    if import.keys.is_empty() {
        return bind::insert(world, &form, &import.fields, &source, &inspection);
    }
    let all = vec![true; fields.len()];
    let masks = (all.clone(), all);
    bind::upsert(
        world,
        false,
        &form,
        &import.fields,
        &import.keys,
        &source,
        masks,
        &inspection,
    )
}

/// The error for an IMPORT that is to run without its file.
pub(in crate::flow) fn required(world: &World<'_>, import: &Import) -> Result<(), EngineError> {
    if supplied(world, import)?.is_some() {
        return Ok(());
    }
    let (name, format) = (&import.file.name.text, import.file.format.word());
    let flag = format.to_ascii_lowercase();
    Err(EngineError::coded(
        "ImportSourceNotSuppliedError",
        say!(
            "the {format} source {name} was not supplied; run with --import-{flag} {name}=/path",
            "{format} の取込元 {name} が指定されていません。--import-{flag} {name}=/パス を付けて実行してください"
        ),
    )
    .at(import.file.name.span))
}

fn supplied(world: &World<'_>, import: &Import) -> Result<Option<ImportSource>, EngineError> {
    let (name, format) = (&import.file.name.text, import.file.format);
    let Some(source) = world.imports.iter().find(|source| source.name == *name) else {
        return Ok(None);
    };
    if source.format == format {
        return Ok(Some(source.clone()));
    }
    let (wanted, found) = (format.word(), source.format.word());
    Err(EngineError::coded(
        "ImportSourceInvalidPayloadError",
        say!(
            "the source {name} is read as {wanted} but was supplied as {found}",
            "取込元 {name} は {wanted} として読まれますが、{found} として指定されています"
        ),
    )
    .at(import.file.name.span))
}

fn decode(
    import: &Import,
    source: &ImportSource,
    form: &Form,
    fields: &[TargetField],
) -> Result<Decoded, EngineError> {
    let bytes = source.bytes.len();
    if bytes > MAX_BYTES {
        return Err(EngineError::coded(
            "ImportSourceTooLargeError",
            say!(
                "the source has {bytes} bytes, more than {MAX_BYTES}; split the file",
                "取込元が {bytes} バイトあり、上限 {MAX_BYTES} バイトを超えています。ファイルを分割してください"
            ),
        )
        .at(import.file.name.span));
    }
    let relation = match import.file.format {
        ImportFormat::Csv => csv::decode(import, &source.bytes, form, fields),
        ImportFormat::Json => json::decode(&source.bytes, fields),
    };
    let relation = relation.map_err(|wrong| {
        let name = &import.file.name.text;
        unreadable(wrong)
            .context(&say!("import source {name}", "取込元 {name}"))
            .at(import.file.name.span)
    })?;
    Ok(Decoded {
        imported: Imported {
            name: source.name.clone(),
            rows: relation.rows() as u64,
            encoding: import.file.encoding,
        },
        relation,
    })
}

/// Why a file is no table for the statement.
struct Unfit(Message);

impl From<ArenaFull> for Unfit {
    fn from(error: ArenaFull) -> Self {
        Self(Message::verbatim(error.to_string()))
    }
}

fn unreadable(Unfit(message): Unfit) -> EngineError {
    EngineError::coded("ImportSourceError", message)
}

/// Columns named and typed as the fields that they become. Elements of a list are parted by commas or, in files that
/// are made for it, by line feeds: only then the column counts as a list already.
fn columns(fields: &[TargetField], lists: bool) -> Vec<ColumnInfo> {
    fields
        .iter()
        .map(|field| {
            let column = field.column();
            if column.kind.is_multi_value() && !lists {
                ColumnInfo::exact(column.name, Type::Text)
            } else {
                column
            }
        })
        .collect()
}

/// `SELECT items FROM file`
fn over_file(import: &Import, columns: &[ColumnInfo]) -> Query {
    let span = import.file.name.span;
    let named = |text: &str| Name {
        text: text.to_owned(),
        span,
    };
    let items = match &import.file.mapping {
        Mapping::Select(items) => items.clone(),
        Mapping::Position | Mapping::Name { .. } => columns
            .iter()
            .map(|column| {
                let column = ColumnRef {
                    qualifier: None,
                    name: named(&column.name),
                };
                Item::Expr(Expr::Column(column), None)
            })
            .collect(),
    };
    let source = Source {
        table: Table::Temp(named(IMPORT_TABLE)),
        alias: None,
    };
    Query::over(source, items, span)
}

/// The names that a file without header line gets.
fn given_names(header: &Header) -> Option<&[Name]> {
    match header {
        Header::Named => None,
        Header::Absent(names) => Some(names),
    }
}
