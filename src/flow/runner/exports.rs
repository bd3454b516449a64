//! CSV files of a successful job: the sinks checked before any request, written after the last statement (RNR-132..134).

use super::file_flags::Exports;
use super::verdict::{Failure, ResultCode};
use crate::flow::apps::FieldType;
use crate::flow::csv::{CellKind, Column, Committed, ExportError, Serialised, Sink, Writer, commit};
use crate::flow::durable_file;
use crate::flow::exec::{Relation, Session};
use crate::flow::plan::types::Type;
use crate::flow::script::{Script, StatementKind};
use crate::flow::sql::ast;
use crate::flow::sql::message::say;

/// Checks that the script makes what is to be exported.
///
/// # Errors
/// A named sink without exactly one temp table that lives to the end; an unnamed one without a single SELECT.
pub fn check(script: &Script, exports: &Exports) -> Result<(), Failure> {
    for (name, _) in &exports.sinks {
        if name.is_empty() {
            if !matches!(script.statements.as_slice(), [only] if only.kind == StatementKind::Select) {
                return Err(Failure::invalid(say!(
                    "--export-csv FILE needs a script of one SELECT; name a temp table with --export-csv NAME=FILE",
                    "--export-csv FILE は SELECT 1 文だけのスクリプトで使えます。一時テーブルは --export-csv NAME=FILE で指定してください"
                )));
            }
            continue;
        }
        let count = |wanted: fn(&ast::Statement) -> Option<&str>| {
            script
                .statements
                .iter()
                .filter(|statement| wanted(&statement.tree) == Some(name))
                .count()
        };
        let problem = match (count(created), count(dropped)) {
            (1, 0) => continue,
            (0, _) => say!(
                "the script creates no such temp table",
                "スクリプトはその一時テーブルを作成しません"
            ),
            (1, _) => say!("the script drops it", "スクリプトがそれを削除します"),
            _ => say!(
                "the script creates it several times",
                "スクリプトがそれを複数回作成します"
            ),
        };
        return Err(Failure::invalid(
            problem.put(|_, problem| format!("--export-csv {name}: {problem}")),
        ));
    }
    Ok(())
}

/// Checks that every file can be written, before the first request (RNR-134).
///
/// # Errors
/// A folder that is missing or not writable; a target that is a folder, a link or no regular file.
pub fn preflight(exports: &Exports) -> Result<(), Failure> {
    for (_, path) in &exports.sinks {
        durable_file::probe(path).map_err(|error| {
            let path = path.display();
            Failure::invalid(say!(
                "--export-csv: {path} cannot be written: {error}; nothing was run",
                "--export-csv: {path} に書き込めません: {error}。何も実行していません"
            ))
        })?;
    }
    Ok(())
}

fn created(tree: &ast::Statement) -> Option<&str> {
    match tree {
        ast::Statement::CreateTemp(name, _) => Some(&name.text),
        _ => None,
    }
}

fn dropped(tree: &ast::Statement) -> Option<&str> {
    match tree {
        ast::Statement::DropTemp(name) => Some(&name.text),
        _ => None,
    }
}

/// Writes all files, none before all are serialised. A sink whose temp table was not made, because EXIT came first, is
/// left out.
///
/// # Errors
/// A table that CSV or the encoding cannot hold (nothing was written); what was written and why not more is in the
/// second case's [`Committed`].
pub fn write(
    exports: &Exports,
    session: &Session<'_>,
    result: Option<&Relation>,
) -> Result<Committed, Failure> {
    let mut sinks = Vec::new();
    for (name, path) in &exports.sinks {
        let table = if name.is_empty() {
            result
        } else {
            session.temp_table(name)
        };
        let Some(table) = table else { continue };
        let file = serialise(table, exports).map_err(|error| {
            let shown = if name.is_empty() { "the result" } else { name };
            Failure::detailed(
                ResultCode::SqlError,
                "EXPORT_ERROR",
                say!("export of {shown}: {error}", "{shown} のエクスポート: {error}"),
            )
        })?;
        sinks.push(Sink {
            name: name.clone(),
            path: path.clone(),
            file,
        });
    }
    Ok(commit(sinks))
}

fn serialise(table: &Relation, exports: &Exports) -> Result<Serialised, ExportError> {
    let columns: Vec<Column> = table
        .columns()
        .iter()
        .map(|column| Column {
            name: column.name.clone(),
            kind: cell_kind(&column.kind),
        })
        .collect();
    let mut writer = Writer::new(&columns, exports.zone.as_ref())?;
    for row in 0..table.rows() {
        writer.row((0..columns.len()).map(|column| table.cell(row, column)))?;
    }
    writer.finish(exports.encoding)
}

fn cell_kind(kind: &Type) -> CellKind {
    match kind.field() {
        Some(FieldType::DateTime | FieldType::CreatedTime | FieldType::UpdatedTime) => CellKind::DateTime,
        Some(FieldType::Subtable) => CellKind::Subtable,
        Some(FieldType::File) => CellKind::File,
        // NUMBER, CALC and computed numbers; numbers of text fields are texts.
        _ if kind.is_numeric() => CellKind::Number,
        _ => CellKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::csv::Encoding;
    use crate::flow::script::{ParseOptions, parse};

    fn checked(sql: &str, names: &[&str]) -> Result<(), Failure> {
        let sinks = names
            .iter()
            .map(|&name| (name.to_owned(), "/tmp/x".into()))
            .collect();
        let exports = Exports {
            sinks,
            encoding: Encoding::Utf8,
            zone: None,
        };
        let script = parse(sql, &ParseOptions::default());
        assert!(!script.has_errors(), "{:?}", script.diagnostics);
        check(&script, &exports)
    }

    #[test]
    fn sinks_are_tables_that_live_to_the_end() {
        const TWO: &str = "CREATE TEMP TABLE #a AS SELECT 1 AS x; CREATE TEMP TABLE #b AS SELECT 2 AS y";
        assert_eq!(checked(TWO, &["a", "b"]), Ok(()));
        assert_eq!(checked("SELECT 1 AS x", &[""]), Ok(()));
        let dropped = format!("{TWO}; DROP TEMP TABLE #a");
        let again = format!("{dropped}; CREATE TEMP TABLE #a AS SELECT 1 AS x");
        for (sql, name, problem) in [
            (TWO, "c", "--export-csv c: the script creates no such temp table"),
            (dropped.as_str(), "a", "--export-csv a: the script drops it"),
            (
                again.as_str(),
                "a",
                "--export-csv a: the script creates it several times",
            ),
            (TWO, "", "--export-csv FILE needs a script of one SELECT"),
        ] {
            let failure = checked(sql, &[name]).expect_err(problem);
            assert!(failure.to_string().starts_with(problem), "{failure}");
        }
    }
}
