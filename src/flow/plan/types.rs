//! Types of columns and values: they decide comparison, order and push-down (LNG-42, LNG-45).

use std::sync::Arc;

use crate::flow::apps::{Field, FieldType};
use crate::flow::value::{CompareMode, OptionOrder};

/// The type of a column or value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A computed number, `_pid`, `_idx`.
    Number,
    /// A computed text, `_rid`.
    Text,
    /// A plain column of an app; temp tables and CTEs keep it.
    Field(Arc<FieldOf>),
}

/// What an app says about a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldOf {
    /// kintone type.
    pub kind: FieldType,
    /// Options in their order, where known.
    pub options: Option<Arc<[String]>>,
    /// The same options, ready to compare.
    pub order: Option<Arc<OptionOrder>>,
}

impl Type {
    /// The type of a form field.
    pub fn of(field: &Field) -> Self {
        Self::with_options(field.kind, field.options.as_deref())
    }

    /// The type of a field with known options.
    pub fn with_options(kind: FieldType, options: Option<&[String]>) -> Self {
        let order = options.map(|options| Arc::new(OptionOrder::new(options.iter().map(String::as_str))));
        Self::Field(Arc::new(FieldOf {
            kind,
            options: options.map(Arc::from),
            order,
        }))
    }

    /// The kintone type, if it is a plain column.
    pub fn field(&self) -> Option<FieldType> {
        match self {
            Self::Field(field) => Some(field.kind),
            _ => None,
        }
    }

    /// How values compare; `None` if they have no order (LNG-42).
    pub fn mode(&self) -> Option<CompareMode> {
        let field = match self {
            Self::Number => return Some(CompareMode::Number),
            Self::Text => return Some(CompareMode::Text),
            Self::Field(field) => field,
        };
        Some(match field.kind {
            FieldType::Number | FieldType::CalcNumber | FieldType::Revision => CompareMode::Number,
            FieldType::Id | FieldType::RecordNumber => CompareMode::RecordNumber,
            FieldType::CheckBox
            | FieldType::MultiSelect
            | FieldType::RadioButton
            | FieldType::DropDown
            | FieldType::Status => field
                .order
                .clone()
                .map_or(CompareMode::Text, CompareMode::Options),
            FieldType::SingleLineText
            | FieldType::MultiLineText
            | FieldType::RichText
            | FieldType::Link
            | FieldType::Date
            | FieldType::Time
            | FieldType::DateTime
            | FieldType::CreatedTime
            | FieldType::UpdatedTime
            | FieldType::Creator
            | FieldType::Modifier
            | FieldType::CalcText => CompareMode::Text,
            FieldType::UserSelect
            | FieldType::OrganizationSelect
            | FieldType::GroupSelect
            | FieldType::StatusAssignee
            | FieldType::Category
            | FieldType::File
            | FieldType::Subtable
            | FieldType::Other => return None,
        })
    }

    /// Number mode, for functions and CASE (LNG-45).
    pub fn is_numeric(&self) -> bool {
        matches!(self.mode(), Some(CompareMode::Number))
    }

    /// Several elements in one cell (LNG-48).
    pub fn is_multi_value(&self) -> bool {
        self.field().is_some_and(FieldType::is_multi_value)
    }

    /// May stand left of `= != < <= > >=` and BETWEEN (LNG-52).
    pub fn is_comparable(&self) -> bool {
        self.field().is_none_or(|kind| {
            !kind.is_multi_value()
                && !matches!(
                    kind,
                    FieldType::Creator | FieldType::Modifier | FieldType::Subtable
                )
        })
    }

    /// An instant, compared with day literals (LNG-55).
    pub fn is_instant(&self) -> bool {
        matches!(
            self.field(),
            Some(FieldType::DateTime | FieldType::CreatedTime | FieldType::UpdatedTime)
        )
    }

    /// The type of a value chosen among several: theirs if they agree, else number or text (LNG-45).
    pub fn common<'a>(types: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut types = types.into_iter();
        let Some(first) = types.next() else {
            return Self::Text;
        };
        let mut same = true;
        let mut numeric = first.is_numeric();
        for other in types {
            same &= other == first;
            numeric &= other.is_numeric();
        }
        if same {
            first.clone()
        } else if numeric {
            Self::Number
        } else {
            Self::Text
        }
    }
}

/// A named column of a result, temp table or CTE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Name in results: aliases in lower case (LNG-08).
    pub name: String,
    /// The alias as written, where it differs.
    pub written: Option<String>,
    /// Type.
    pub kind: Type,
}

impl ColumnInfo {
    /// A column named by an alias.
    pub fn alias(written: &str, kind: Type) -> Self {
        let name = written.to_lowercase();
        let written = (name != written).then(|| written.to_owned());
        Self { name, written, kind }
    }

    /// A column with exactly this name.
    pub fn exact(name: impl Into<String>, kind: Type) -> Self {
        Self {
            name: name.into(),
            written: None,
            kind,
        }
    }

    /// True if a later stage may call it so.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.written.as_deref() == Some(name)
    }
}
