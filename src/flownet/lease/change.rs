//! What the holder of a lock wants written, and how that becomes the inner requests of one bulkRequest (D-01).

use std::fmt;

use crate::kintone::{App, BulkItem, Fields, Target, Update};

/// kintone takes at most this many inner requests (KTB-140); the fence is one of them.
const MAX_ITEMS: usize = 20;
/// Records in one inner request (KTB-172).
const MAX_RECORDS: usize = 100;

/// Which of the two machine apps a record lives in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Runs, Node States, locks, holds.
    State,
    /// Invocations, Attempts, Resolutions, operations.
    Audit,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::State => "state",
            Self::Audit => "audit",
        })
    }
}

/// One record change.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new record.
    Insert {
        /// Its app.
        role: Role,
        /// All its fields, `record_key` among them.
        fields: Fields,
    },
    /// New values for a record that we have read or written before.
    Update {
        /// Its app.
        role: Role,
        /// Unique record key.
        record_key: String,
        /// Revision that we know; kintone refuses any other.
        revision: u64,
        /// The record carries a `revision` field that follows kintone's (REC-08).
        counted: bool,
        /// New values.
        fields: Fields,
        /// The values of our fields as we know them: a foreign write is harmless while they hold (D-09).
        known: Fields,
    },
}

impl Change {
    fn role(&self) -> Role {
        match self {
            Self::Insert { role, .. } | Self::Update { role, .. } => *role,
        }
    }

    /// The revision that the record has once this change landed.
    pub fn revision_after(&self) -> u64 {
        match self {
            Self::Insert { .. } => 1,
            Self::Update { revision, .. } => revision + 1,
        }
    }

    fn same_request(&self, other: &Self) -> bool {
        self.role() == other.role()
            && matches!(self, Self::Insert { .. }) == matches!(other, Self::Insert { .. })
    }
}

/// The apps that changes go to.
#[derive(Clone, Copy)]
pub struct Apps<'a> {
    /// State app.
    pub state: &'a App,
    /// Audit app.
    pub audit: &'a App,
}

impl<'a> Apps<'a> {
    /// The app of a role.
    pub fn of(self, role: Role) -> &'a App {
        match role {
            Role::State => self.state,
            Role::Audit => self.audit,
        }
    }
}

/// Positions of changes, one list per inner request, in the order given.
fn requests(changes: &[Change]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (i, change) in changes.iter().enumerate() {
        let fits = groups
            .iter()
            .rposition(|g| changes[g[0]].same_request(change) && g.len() < MAX_RECORDS);
        match fits {
            Some(at) => groups[at].push(i),
            None => groups.push(vec![i]),
        }
    }
    groups
}

/// Cuts changes into parts of which each fits into one bulkRequest with its fence. Each part is a list of inner
/// requests; each inner request a list of positions in `changes`.
pub fn parts(changes: &[Change]) -> Vec<Vec<Vec<usize>>> {
    let groups = requests(changes);
    groups.chunks(MAX_ITEMS - 1).map(<[Vec<usize>]>::to_vec).collect()
}

/// Makes the inner request for the changes at `positions` (all of one role and kind).
pub fn item<'a>(apps: Apps<'a>, changes: &[Change], positions: &[usize]) -> BulkItem<'a> {
    let app = apps.of(changes[positions[0]].role());
    let mut inserts = Vec::new();
    let mut updates = Vec::new();
    for &i in positions {
        match &changes[i] {
            Change::Insert { fields, .. } => inserts.push(fields.clone()),
            Change::Update {
                record_key,
                revision,
                counted,
                fields,
                ..
            } => {
                let fields = if *counted {
                    fields.clone().number("revision", revision + 1)
                } else {
                    fields.clone()
                };
                let target = Target::Key {
                    field: "record_key".to_owned(),
                    value: record_key.clone(),
                };
                updates.push(Update {
                    target,
                    revision: Some(*revision),
                    fields,
                });
            }
        }
    }
    if updates.is_empty() {
        BulkItem::AddAll {
            app,
            records: inserts,
        }
    } else {
        BulkItem::UpdateAll { app, updates }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(role: Role) -> Change {
        Change::Insert {
            role,
            fields: Fields::new(),
        }
    }

    #[test]
    fn one_commit_carries_nineteen_hundred_records() {
        let many: Vec<Change> = (0..1900).map(|_| insert(Role::State)).collect();
        assert_eq!(parts(&many).len(), 1);
        let more: Vec<Change> = (0..1901).map(|_| insert(Role::State)).collect();
        assert_eq!(parts(&more).len(), 2);
    }

    #[test]
    fn one_app_and_kind_share_an_inner_request() {
        let mixed = [insert(Role::State), insert(Role::Audit), insert(Role::State)];
        assert_eq!(parts(&mixed), vec![vec![vec![0, 2], vec![1]]]);
    }
}
