//! What a lookup definition must fulfil across apps: the source exists, its key is unique or the record number, and every
//! mapped field exists on both sides (KTB-122, KTB-163).
use std::fmt;

use super::App;
use super::form::{Place, System};

/// Why a lookup definition cannot work.
#[derive(Debug, PartialEq, Eq)]
pub enum LookupError {
    /// The source app does not exist.
    NoApp {
        /// Code of the lookup field.
        lookup: String,
        /// The missing app.
        app: u64,
    },
    /// The key is neither unique nor the record number.
    Key {
        /// Code of the lookup field.
        lookup: String,
        /// The key's code.
        key: String,
    },
    /// A mapped field does not exist.
    NoField {
        /// Code of the lookup field.
        lookup: String,
        /// The missing field's code.
        field: String,
    },
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoApp { lookup, app } => write!(f, "lookup {lookup:?}: source app {app} does not exist"),
            Self::Key { lookup, key } => {
                write!(
                    f,
                    "lookup {lookup:?}: key {key:?} is neither unique nor the record number"
                )
            }
            Self::NoField { lookup, field } => write!(f, "lookup {lookup:?}: field {field:?} does not exist"),
        }
    }
}

/// Checks all lookups of an app; `find` answers the apps that may be sources.
pub fn check<'a>(app: &'a App, find: impl Fn(u64) -> Option<&'a App>) -> Result<(), LookupError> {
    let cells = app.form.fields.iter().flat_map(|field| field.cells.iter());
    for field in app.form.fields.iter().chain(cells) {
        let Some(definition) = &field.lookup else { continue };
        let lookup = field.code.clone();
        let source = if definition.app == app.id {
            Some(app)
        } else {
            find(definition.app)
        };
        let Some(source) = source else {
            return Err(LookupError::NoApp {
                lookup,
                app: definition.app,
            });
        };
        let missing = definition.mappings.iter().find_map(|(own, related)| {
            let own = app.form.place(own).is_none().then_some(own);
            own.or_else(|| source.form.place(related).is_none().then_some(related))
        });
        if let Some(field) = missing {
            return Err(LookupError::NoField {
                lookup,
                field: field.clone(),
            });
        }
        let usable = match source.form.place(&definition.key) {
            Some(Place::Slot(slot)) => source.form.fields[slot].unique,
            Some(Place::System(System::RecordNumber)) => true,
            _ => false,
        };
        if !usable {
            return Err(LookupError::Key {
                lookup,
                key: definition.key.clone(),
            });
        }
    }
    Ok(())
}
