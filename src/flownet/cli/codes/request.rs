//! Codes: request.

use super::Entry;

pub(super) const ENTRIES: &[Entry] = &[];
