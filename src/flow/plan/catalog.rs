//! What binding asks for: forms, temp tables, variables, the as-of instant.

use std::sync::Arc;

use crate::flow::apps::{AppId, Form};
use crate::flow::calendar::AsOf;
use crate::flow::exec::EngineError;
use crate::flow::sql::message::Message;
use crate::flow::sql::position::Span;

use super::types::{ColumnInfo, Type};

/// The value of a variable (LNG-12, LNG-13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// Text.
    Text(String),
    /// Number.
    Number(String),
    /// Array.
    List(Vec<String>),
    /// A relative date, as kintone takes it.
    Relative(String),
    /// A number or text that only a run computes.
    Unknown {
        /// It is a number.
        numeric: bool,
    },
}

/// Everything outside a statement that its names can mean.
pub trait Catalog {
    /// The form of an app; read once.
    fn form(&mut self, app: AppId) -> Result<Arc<Form>, EngineError>;

    /// Names of the process states in order; read once.
    fn states(&mut self, app: AppId) -> Result<Arc<[String]>, EngineError>;

    /// The columns of a temp table.
    fn temp(&self, name: &str) -> Option<Vec<ColumnInfo>>;

    /// A variable's value.
    fn variable(&self, name: &str) -> Option<Variable>;

    /// The as-of instant with its zone.
    fn as_of(&self) -> &AsOf;

    /// Notes something the author of the script should know about this place.
    fn warn(&mut self, span: Span, warning: Message);
}

/// The columns of `SHOW APPS` (LNG-19).
pub fn app_list_columns() -> Vec<ColumnInfo> {
    let number = ColumnInfo::exact("アプリID", Type::Number);
    let texts = ["アプリ名", "説明"].map(|name| ColumnInfo::exact(name, Type::Text));
    std::iter::once(number).chain(texts).collect()
}

/// The columns of `DESCRIBE` (LNG-19).
pub fn description_columns() -> Vec<ColumnInfo> {
    [
        "フィールドコード",
        "ラベル",
        "タイプ",
        "サブテーブル",
        "ルックアップ",
        "コピー元",
        "重複禁止",
        "計算式",
    ]
    .map(|name| ColumnInfo::exact(name, Type::Text))
    .into()
}
