//! Fields that are written: they exist, stand at the top level and can be written (LNG-140); UPSERT keys (LNG-142).

use crate::flow::apps::{Constraints, Field, FieldType, Form};
use crate::flow::exec::EngineError;
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::sql::ast::Name;
use crate::flow::sql::diagnostic::code;
use crate::flow::sql::message::say;

/// A field that a statement writes.
#[derive(Clone, Debug)]
pub(in crate::flow) struct TargetField {
    pub code: String,
    pub kind: FieldType,
    /// Options, where the form lists them.
    pub options: Option<Vec<String>>,
    /// No two records may have the same value.
    pub unique: bool,
    /// What kintone demands of its values.
    pub constraints: Constraints,
    /// Whether kintone takes a value depends on what other records of the app hold at that moment: a unique value may
    /// have to be given up by another record first, and a lookup within the app copies from other records.
    pub entangled: bool,
}

impl TargetField {
    /// Name and type as a column.
    pub fn column(&self) -> ColumnInfo {
        ColumnInfo::exact(
            self.code.as_str(),
            Type::with_options(self.kind, self.options.as_deref()),
        )
    }
}

/// Finds the fields of a list; an error for the first that cannot be written.
pub(super) fn fields(form: &Form, names: &[Name]) -> Result<Vec<TargetField>, EngineError> {
    names.iter().map(|name| field(form, name)).collect()
}

fn field(form: &Form, name: &Name) -> Result<TargetField, EngineError> {
    let text = &name.text;
    let Some(field) = form.field(text) else {
        let error = match form.table_of_child(text) {
            Some(table) => {
                let table = &table.code;
                say!(
                    "{text} is inside the table {table} and cannot be written from here",
                    "{text} はテーブル {table} 内のフィールドなので、ここからは書き込めません"
                )
            }
            None => say!(
                "unknown field code(s): {text}",
                "フィールドコードが見つかりません (unknown field code(s)): {text}"
            ),
        };
        return Err(EngineError::argument(error).at(name.span));
    };
    if !field.kind.is_writable() || field.lookup_copy {
        let kind = field.kind.described();
        let message = if field.lookup_copy {
            say!(
                "{text} is filled by a lookup and cannot be written",
                "{text} はルックアップのコピー先なので書き込めません"
            )
        } else {
            say!(
                "{text} ({kind}) cannot be written",
                "{text} ({kind}) には書き込めません"
            )
        };
        return Err(EngineError::argument(message).at(name.span));
    }
    Ok(TargetField {
        code: text.clone(),
        kind: field.kind,
        options: field.options.clone(),
        unique: field.unique,
        constraints: field.constraints.clone(),
        entangled: field.unique || field.lookup_within,
    })
}

/// Whether a value must be given; kintone does not insist on one for radio buttons (KTB-101).
pub(super) fn is_demanded(kind: FieldType, constraints: &Constraints) -> bool {
    constraints.required && kind != FieldType::RadioButton
}

/// Fields that a new record must have a value for, but gets none from a statement that writes only `written`.
pub(super) fn unwritten_required(form: &Form, written: &[TargetField]) -> Vec<String> {
    form.fields
        .iter()
        .filter(|field| is_demanded(field.kind, &field.constraints) && !field.constraints.has_default)
        .filter(|field| field.kind.is_writable() && !field.lookup_copy)
        .filter(|field| written.iter().all(|own| own.code != field.code))
        .map(|field| field.code.clone())
        .collect()
}

/// Checks the key of an UPSERT or MERGE in dialect 1.
pub(super) fn check_key(form: &Form, name: &Name) -> Result<(), EngineError> {
    let text = &name.text;
    let app = form.app;
    match form.field(text) {
        None => Err(EngineError::coded(
            code::KEY_TYPE,
            say!(
                "the key {text} does not exist in {app}",
                "キー {text} は {app} にありません"
            ),
        )
        .at(name.span)),
        Some(field) if !is_key_type(field) => {
            let kind = field.kind.described();
            Err(EngineError::coded(
                code::KEY_TYPE,
                say!(
                    "the key {text} is {kind}; it must be SINGLE_LINE_TEXT or NUMBER",
                    "キー {text} は {kind} です。文字列 (1 行) か数値でなければなりません"
                ),
            )
            .at(name.span))
        }
        Some(field) if !field.unique => Err(EngineError::coded(
            code::KEY_NOT_UNIQUE,
            say!(
                "the key {text} allows duplicates; prohibit them in the app",
                "キー {text} は重複が許可されています。アプリで「値の重複を禁止する」を設定してください"
            ),
        )
        .at(name.span)),
        Some(_) => Ok(()),
    }
}

/// Types that kintone's upsert can match by.
pub(super) fn is_key_type(field: &Field) -> bool {
    matches!(field.kind, FieldType::SingleLineText | FieldType::Number)
}
