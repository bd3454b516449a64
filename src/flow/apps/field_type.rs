//! kintone's field types: names on the wire, and what each means for values, conditions and writes.

/// kintone's field types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// `$id`, known to every app.
    Id,
    /// `$revision`, known to every app.
    Revision,
    /// RECORD_NUMBER.
    RecordNumber,
    /// CREATOR.
    Creator,
    /// MODIFIER.
    Modifier,
    /// CREATED_TIME.
    CreatedTime,
    /// UPDATED_TIME.
    UpdatedTime,
    /// SINGLE_LINE_TEXT.
    SingleLineText,
    /// MULTI_LINE_TEXT.
    MultiLineText,
    /// RICH_TEXT.
    RichText,
    /// LINK.
    Link,
    /// NUMBER.
    Number,
    /// CALC with a number format.
    CalcNumber,
    /// CALC with a date, time or duration format.
    CalcText,
    /// CHECK_BOX.
    CheckBox,
    /// RADIO_BUTTON.
    RadioButton,
    /// DROP_DOWN.
    DropDown,
    /// MULTI_SELECT.
    MultiSelect,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// DATETIME.
    DateTime,
    /// USER_SELECT.
    UserSelect,
    /// ORGANIZATION_SELECT.
    OrganizationSelect,
    /// GROUP_SELECT.
    GroupSelect,
    /// STATUS.
    Status,
    /// STATUS_ASSIGNEE.
    StatusAssignee,
    /// CATEGORY.
    Category,
    /// FILE.
    File,
    /// SUBTABLE.
    Subtable,
    /// Anything else that carries no value for a query (labels, related records, types of the future).
    Other,
}

impl FieldType {
    /// Reads a type name of the interface. CALC needs its `format`, see [`FieldType::calc`].
    pub fn parse(name: &str) -> Self {
        match name {
            "__ID__" => Self::Id,
            "__REVISION__" => Self::Revision,
            "RECORD_NUMBER" => Self::RecordNumber,
            "CREATOR" => Self::Creator,
            "MODIFIER" => Self::Modifier,
            "CREATED_TIME" => Self::CreatedTime,
            "UPDATED_TIME" => Self::UpdatedTime,
            "SINGLE_LINE_TEXT" => Self::SingleLineText,
            "MULTI_LINE_TEXT" => Self::MultiLineText,
            "RICH_TEXT" => Self::RichText,
            "LINK" => Self::Link,
            "NUMBER" => Self::Number,
            "CALC" => Self::CalcNumber,
            "CHECK_BOX" => Self::CheckBox,
            "RADIO_BUTTON" => Self::RadioButton,
            "DROP_DOWN" => Self::DropDown,
            "MULTI_SELECT" => Self::MultiSelect,
            "DATE" => Self::Date,
            "TIME" => Self::Time,
            "DATETIME" => Self::DateTime,
            "USER_SELECT" => Self::UserSelect,
            "ORGANIZATION_SELECT" => Self::OrganizationSelect,
            "GROUP_SELECT" => Self::GroupSelect,
            "STATUS" => Self::Status,
            "STATUS_ASSIGNEE" => Self::StatusAssignee,
            "CATEGORY" => Self::Category,
            "FILE" => Self::File,
            "SUBTABLE" => Self::Subtable,
            _ => Self::Other,
        }
    }

    /// The type of a CALC field with this display format.
    pub fn calc(format: &str) -> Self {
        match format {
            "" | "NUMBER" | "NUMBER_DIGIT" => Self::CalcNumber,
            _ => Self::CalcText,
        }
    }

    /// The type for people: the interface's names of what has no type in a form mean nothing to them.
    pub fn described(self) -> &'static str {
        match self {
            Self::Id => "record id",
            Self::Revision => "revision",
            other => other.name(),
        }
    }

    /// The name of the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "__ID__",
            Self::Revision => "__REVISION__",
            Self::RecordNumber => "RECORD_NUMBER",
            Self::Creator => "CREATOR",
            Self::Modifier => "MODIFIER",
            Self::CreatedTime => "CREATED_TIME",
            Self::UpdatedTime => "UPDATED_TIME",
            Self::SingleLineText => "SINGLE_LINE_TEXT",
            Self::MultiLineText => "MULTI_LINE_TEXT",
            Self::RichText => "RICH_TEXT",
            Self::Link => "LINK",
            Self::Number => "NUMBER",
            Self::CalcNumber | Self::CalcText => "CALC",
            Self::CheckBox => "CHECK_BOX",
            Self::RadioButton => "RADIO_BUTTON",
            Self::DropDown => "DROP_DOWN",
            Self::MultiSelect => "MULTI_SELECT",
            Self::Date => "DATE",
            Self::Time => "TIME",
            Self::DateTime => "DATETIME",
            Self::UserSelect => "USER_SELECT",
            Self::OrganizationSelect => "ORGANIZATION_SELECT",
            Self::GroupSelect => "GROUP_SELECT",
            Self::Status => "STATUS",
            Self::StatusAssignee => "STATUS_ASSIGNEE",
            Self::Category => "CATEGORY",
            Self::File => "FILE",
            Self::Subtable => "SUBTABLE",
            Self::Other => "OTHER",
        }
    }

    /// Several elements in one cell: `IN` means overlap (LNG-48).
    pub fn is_multi_value(self) -> bool {
        self.is_option_list() || self.is_code_list() || matches!(self, Self::Category | Self::File)
    }

    /// CHECK_BOX and MULTI_SELECT.
    pub fn is_option_list(self) -> bool {
        matches!(self, Self::CheckBox | Self::MultiSelect)
    }

    /// Lists of users, organisations or groups, by code.
    pub fn is_code_list(self) -> bool {
        matches!(
            self,
            Self::UserSelect | Self::OrganizationSelect | Self::GroupSelect | Self::StatusAssignee
        )
    }

    /// kintone takes the field in `order by` (LNG-131).
    pub fn is_sortable(self) -> bool {
        !matches!(
            self,
            Self::MultiLineText
                | Self::RichText
                | Self::CheckBox
                | Self::MultiSelect
                | Self::UserSelect
                | Self::OrganizationSelect
                | Self::GroupSelect
                | Self::File
                | Self::Subtable
        )
    }

    /// Values are one or more of the field's options.
    pub fn has_options(self) -> bool {
        matches!(
            self,
            Self::CheckBox | Self::MultiSelect | Self::RadioButton | Self::DropDown | Self::Status
        )
    }

    /// May stand in the field list of an INSERT, UPSERT or UPDATE (LNG-140); lookup copies are decided per field.
    pub fn is_writable(self) -> bool {
        matches!(
            self,
            Self::SingleLineText
                | Self::MultiLineText
                | Self::RichText
                | Self::Link
                | Self::Number
                | Self::CheckBox
                | Self::RadioButton
                | Self::DropDown
                | Self::MultiSelect
                | Self::Date
                | Self::Time
                | Self::DateTime
                | Self::UserSelect
                | Self::OrganizationSelect
                | Self::GroupSelect
        )
    }
}
