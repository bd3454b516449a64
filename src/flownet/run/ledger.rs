//! The records of one Run in memory: what is stored, what is wanted, and the difference as one commit.
//!
//! The story changes the wanted values; [`Ledger::commit`] sends every difference behind the fence, all or nothing.

use std::fmt;

use crate::flownet::lease::{Change, CommitError, Lease, Role};
use crate::flownet::record::{Attempt, Hold, Invocation, NodeState, Run};
use crate::flownet::rule::transition::{self, Forbidden, Permit};
use crate::kintone::Fields;

/// A record type that the ledger can write.
pub trait Stored: Clone + PartialEq {
    /// Its app.
    const ROLE: Role;
    /// Carries a `revision` field that follows kintone's.
    const COUNTED: bool;
    /// Unique key.
    fn record_key(&self) -> &str;
    /// Known kintone revision.
    fn revision(&self) -> u64;
    /// Notes the revision after a commit.
    fn set_revision(&mut self, revision: u64);
    /// Fields of a new record.
    fn insert_fields(&self) -> Fields;
    /// Fields of an update.
    fn update_fields(&self) -> Fields;
    /// Every field of ours whose stored value is known to the letter: none of them may have been edited (D-09).
    fn known_fields(&self) -> Fields;
}

/// Implements [`Stored`] for a record struct; `also` names a field that follows kintone's revision.
macro_rules! stored {
    ($type:ty, $role:expr, counted: $counted:expr, $update:ident, known: $known:ident $(, also $counter:ident)?) => {
        impl Stored for $type {
            const ROLE: Role = $role;
            const COUNTED: bool = $counted;
            fn record_key(&self) -> &str {
                &self.record_key
            }
            fn revision(&self) -> u64 {
                self.revision
            }
            fn set_revision(&mut self, revision: u64) {
                self.revision = revision;
                $(self.$counter = revision;)?
            }
            fn insert_fields(&self) -> Fields {
                self.to_fields()
            }
            fn update_fields(&self) -> Fields {
                self.$update()
            }
            fn known_fields(&self) -> Fields {
                self.$known()
            }
        }
    };
}

stored!(Run, Role::State, counted: false, aggregate_fields, known: own_fields);
stored!(NodeState, Role::State, counted: true, update_fields, known: update_fields, also business_revision);
stored!(Hold, Role::State, counted: false, update_fields, known: update_fields);
stored!(Invocation, Role::Audit, counted: false, finish_fields, known: to_fields);
stored!(Attempt, Role::Audit, counted: false, update_fields, known: update_fields);

/// One record: wanted value and, unless it is new, the stored one.
#[derive(Clone, Debug)]
pub struct Entry<T> {
    now: T,
    stored: Option<T>,
}

impl<T: Stored> Entry<T> {
    /// A record to insert.
    pub fn fresh(value: T) -> Self {
        Self {
            now: value,
            stored: None,
        }
    }

    /// A record that was read.
    pub fn read(value: T) -> Self {
        Self {
            now: value.clone(),
            stored: Some(value),
        }
    }

    /// The wanted value.
    pub fn get(&self) -> &T {
        &self.now
    }

    /// Changes the wanted value.
    pub fn edit(&mut self) -> &mut T {
        &mut self.now
    }

    /// The difference to the stored record, if there is one.
    pub fn change(&self) -> Option<Change> {
        match &self.stored {
            None => Some(Change::Insert {
                role: T::ROLE,
                fields: self.now.insert_fields(),
            }),
            Some(stored) if *stored != self.now => Some(Change::Update {
                role: T::ROLE,
                record_key: stored.record_key().to_owned(),
                revision: stored.revision(),
                counted: T::COUNTED,
                fields: self.now.update_fields(),
                known: stored.known_fields(),
            }),
            Some(_) => None,
        }
    }

    /// Takes the new revision of a change that landed.
    fn settle(&mut self, revisions: &mut impl Iterator<Item = u64>) {
        let changed = self.stored.as_ref().is_none_or(|s| *s != self.now);
        if let Some(revision) = changed.then(|| revisions.next()).flatten() {
            self.now.set_revision(revision);
            self.stored = Some(self.now.clone());
        }
    }
}

/// A commit that was not made.
#[derive(Debug)]
pub enum LedgerError {
    /// The state machine forbids it; nothing was sent (INVALID_STATE_TRANSITION).
    Forbidden(Forbidden),
    /// The fence or kintone refused it.
    Commit(CommitError),
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(e) => e.fmt(f),
            Self::Commit(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for LedgerError {}

/// Everything that is known of one Run.
#[derive(Debug)]
pub struct Ledger {
    /// The Run.
    pub run: Entry<Run>,
    /// Node States in definition order.
    pub nodes: Vec<Entry<NodeState>>,
    /// The hold, if there ever was one.
    pub hold: Option<Entry<Hold>>,
    /// Invocations, oldest first.
    pub invocations: Vec<Entry<Invocation>>,
    /// Attempts, oldest first.
    pub attempts: Vec<Entry<Attempt>>,
    /// Audit records to insert with the next commit.
    pub operations: Vec<Fields>,
    /// Why the next commit may leave a final status.
    pub permits: Vec<(String, Permit)>,
}

impl Ledger {
    /// A Run that was read, and nothing else yet.
    pub fn of(run: Run) -> Self {
        Self {
            run: Entry::read(run),
            nodes: Vec::new(),
            hold: None,
            invocations: Vec::new(),
            attempts: Vec::new(),
            operations: Vec::new(),
            permits: Vec::new(),
        }
    }

    /// The entry of a node.
    pub fn node(&self, node_id: &str) -> Option<&NodeState> {
        self.nodes.iter().map(Entry::get).find(|n| n.node_id == node_id)
    }

    /// The entry of a node, to change.
    pub fn edit_node(&mut self, node_id: &str) -> Option<&mut NodeState> {
        self.nodes
            .iter_mut()
            .find(|n| n.now.node_id == node_id)
            .map(Entry::edit)
    }

    /// The entry of an attempt, to change.
    pub fn edit_attempt(&mut self, attempt_id: &str) -> Option<&mut Attempt> {
        self.attempts
            .iter_mut()
            .find(|a| a.now.attempt_id == attempt_id)
            .map(Entry::edit)
    }

    /// The entry of an attempt.
    pub fn attempt(&self, attempt_id: &str) -> Option<&Attempt> {
        self.attempts
            .iter()
            .map(Entry::get)
            .find(|a| a.attempt_id == attempt_id)
    }

    /// The entry of an invocation, to change.
    pub fn edit_invocation(&mut self, invocation_id: &str) -> Option<&mut Invocation> {
        self.invocations
            .iter_mut()
            .find(|i| i.now.invocation_id == invocation_id)
            .map(Entry::edit)
    }

    /// Lets a node leave a final status with the next commit.
    pub fn permit(&mut self, node_id: &str, permit: Permit) {
        self.permits.push((node_id.to_owned(), permit));
    }

    fn check_transitions(&self) -> Result<(), Forbidden> {
        for entry in &self.nodes {
            let Some(stored) = &entry.stored else { continue };
            let permit = self
                .permits
                .iter()
                .rev()
                .find(|(id, _)| *id == stored.node_id)
                .map_or(Permit::None, |(_, permit)| *permit);
            if !transition::is_allowed(stored.status, entry.now.status, stored.idempotent, permit) {
                return Err(Forbidden {
                    node_id: stored.node_id.clone(),
                    from: stored.status,
                    to: entry.now.status,
                });
            }
        }
        Ok(())
    }

    /// Every difference, in the order in which [`Self::settle`] takes the revisions back.
    fn changes(&self) -> Vec<Change> {
        let mut all: Vec<Change> = Vec::new();
        all.extend(self.run.change());
        // Before the nodes: of a network too large for one commit, the first part must tell who made it.
        all.extend(self.invocations.iter().filter_map(Entry::change));
        all.extend(self.hold.iter().filter_map(Entry::change));
        all.extend(self.nodes.iter().filter_map(Entry::change));
        all.extend(self.attempts.iter().filter_map(Entry::change));
        all.extend(self.operations.iter().map(|f| Change::Insert {
            role: Role::Audit,
            fields: f.clone(),
        }));
        all
    }

    fn settle(&mut self, revisions: Vec<u64>) {
        let mut revisions = revisions.into_iter();
        self.run.settle(&mut revisions);
        self.invocations.iter_mut().for_each(|e| e.settle(&mut revisions));
        self.hold.iter_mut().for_each(|e| e.settle(&mut revisions));
        self.nodes.iter_mut().for_each(|e| e.settle(&mut revisions));
        self.attempts.iter_mut().for_each(|e| e.settle(&mut revisions));
        self.operations.clear();
        self.permits.clear();
    }

    /// Writes every difference behind the fence. After an error the stored values are as before.
    pub fn commit(&mut self, lease: &Lease) -> Result<(), LedgerError> {
        self.check_transitions().map_err(LedgerError::Forbidden)?;
        let mut changes = self.changes();
        let revisions = lease.commit(&mut changes).map_err(LedgerError::Commit)?;
        self.settle(revisions);
        Ok(())
    }

    /// The differences for the last commit, which releases the lock as well.
    pub fn last_changes(&self) -> Result<Vec<Change>, LedgerError> {
        self.check_transitions().map_err(LedgerError::Forbidden)?;
        Ok(self.changes())
    }

    /// Takes back every difference that was not committed.
    pub fn discard(&mut self) {
        fn back<T: Stored>(entry: &mut Entry<T>) {
            if let Some(stored) = &entry.stored {
                entry.now = stored.clone();
            }
        }
        back(&mut self.run);
        self.nodes.iter_mut().for_each(back);
        self.hold.iter_mut().for_each(back);
        self.invocations.iter_mut().for_each(back);
        self.attempts.iter_mut().for_each(back);
        self.nodes.retain(|e| e.stored.is_some());
        self.invocations.retain(|e| e.stored.is_some());
        self.attempts.retain(|e| e.stored.is_some());
        self.operations.clear();
        self.permits.clear();
    }
}
