//! Apps: form, number precision, space, tokens and rights. [`file`] reads them from the apps file.
pub mod field;
pub mod file;
pub mod form;
pub mod lookup;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::value::number::Precision;
use form::Form;

/// Rights on one app, of a token or of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// View records.
    pub view: bool,
    /// Add records.
    pub add: bool,
    /// Edit records.
    pub edit: bool,
    /// Delete records.
    pub delete: bool,
    /// Administrate the app.
    pub admin: bool,
}

impl Rights {
    /// Every right.
    pub const ALL: Self = Self {
        view: true,
        add: true,
        edit: true,
        delete: true,
        admin: true,
    };
}

/// One right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// View records.
    View,
    /// Add records.
    Add,
    /// Edit records.
    Edit,
    /// Delete records.
    Delete,
    /// Administrate the app.
    Admin,
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        let mut all = Self::default();
        for right in rights {
            match right {
                Right::View => all.view = true,
                Right::Add => all.add = true,
                Right::Edit => all.edit = true,
                Right::Delete => all.delete = true,
                Right::Admin => all.admin = true,
            }
        }
        all
    }
}

impl Rights {
    /// The rights one by one.
    pub fn list(self) -> Vec<Right> {
        [Right::View, Right::Add, Right::Edit, Right::Delete, Right::Admin]
            .into_iter()
            .filter(|right| self.has(*right))
            .collect()
    }

    /// Whether `right` is among them.
    pub fn has(self, right: Right) -> bool {
        match right {
            Right::View => self.view,
            Right::Add => self.add,
            Right::Edit => self.edit,
            Right::Delete => self.delete,
            Right::Admin => self.admin,
        }
    }
}

/// Space of an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// Space id.
    pub id: u64,
    /// Guest space: only reachable through its own path (KTB-30 to KTB-32).
    #[serde(default)]
    pub guest: bool,
}

/// One app without its records.
#[derive(Clone, Debug)]
pub struct App {
    /// App id.
    pub id: u64,
    /// Name.
    pub name: String,
    /// App code; prefixes record numbers (KTB-40).
    pub code: String,
    /// Description.
    pub description: String,
    /// Space, if any.
    pub space: Option<Space>,
    /// Revision of the app's settings.
    pub revision: u64,
    /// Form.
    pub form: Form,
    /// Number precision.
    pub precision: Precision,
    /// Rights by token.
    pub tokens: HashMap<String, Rights>,
    /// Rights by user code.
    pub access: HashMap<String, Rights>,
    /// `=` on non-unique text matches words instead of the whole text (the disputed observation under KTB-69).
    pub word_equality: bool,
}

impl App {
    /// A record number without the app code: `CODE-7` and `7` mean the same record (KTB-40).
    pub fn without_code<'t>(&self, number: &'t str) -> &'t str {
        let rest = number
            .strip_prefix(&self.code)
            .and_then(|rest| rest.strip_prefix('-'));
        rest.filter(|_| !self.code.is_empty()).unwrap_or(number)
    }

    /// Id of the guest space, if the app lies in one.
    pub fn guest_space(&self) -> Option<u64> {
        self.space.filter(|space| space.guest).map(|space| space.id)
    }
}
