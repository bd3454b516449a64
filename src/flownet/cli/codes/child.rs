//! Codes: child.

use super::Entry;

pub(super) const ENTRIES: &[Entry] = &[];
