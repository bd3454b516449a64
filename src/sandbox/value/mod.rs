//! Stored values of record fields. Small on purpose: a benchmark app holds a million records of ten fields.
pub mod datetime;
pub mod number;
mod text;

pub use text::Text;

/// One stored value. `Empty` stands for null, `""` and "nothing chosen" alike; how it reads depends on the field's
/// type (KTB-45).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    #[default]
    Empty,
    /// Text, number, date, time, date-time or single choice; never the empty string.
    Text(Text),
    /// Several choices or codes; never empty.
    List(Box<[Text]>),
    /// Attached files; never empty.
    Files(Box<[FileRef]>),
    /// Rows of a SUBTABLE; never empty.
    Rows(Box<[Row]>),
}

impl Value {
    /// A text value; the empty string becomes [`Value::Empty`].
    pub fn text(text: &str) -> Self {
        if text.is_empty() {
            Self::Empty
        } else {
            Self::Text(Text::new(text))
        }
    }

    /// A list value; the empty list becomes [`Value::Empty`].
    pub fn list(items: Vec<Text>) -> Self {
        if items.is_empty() {
            Self::Empty
        } else {
            Self::List(items.into())
        }
    }

    /// True for [`Value::Empty`].
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// The text of a text value, else `""`.
    pub fn as_text(&self) -> &str {
        match self {
            Self::Text(text) => text.as_str(),
            _ => "",
        }
    }

    /// The rows of a table value, else none.
    pub fn rows(&self) -> &[Row] {
        match self {
            Self::Rows(rows) => rows,
            _ => &[],
        }
    }

    /// The files of a file value, else none.
    pub fn files(&self) -> &[FileRef] {
        match self {
            Self::Files(files) => files,
            _ => &[],
        }
    }
}

/// One row of a SUBTABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Row id, given by the service, never used again (KTB-112, KTB-113).
    pub id: u64,
    /// Cells in the order of the table's fields.
    pub cells: Box<[Value]>,
}

/// One attached file (KTB-48).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRef {
    /// Download key; differs from the upload key (KTB-150).
    pub key: String,
    /// Name of the content in the data directory.
    pub blob: String,
    /// File name as uploaded.
    pub name: String,
    /// Media type as uploaded.
    pub content_type: String,
    /// Bytes.
    pub size: u64,
}
