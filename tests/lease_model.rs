//! An exhaustive search through the lease and the fenced commit (D-01): two owners, an operator, a network that loses,
//! delays and reorders, and crashes. The decisions of an owner are those of the program ([`decide`]); the rest of the
//! world is modelled here. The same search with the fence removed must find a violation.

use std::collections::{BTreeSet, HashSet, VecDeque};

use ksql_flownet::flownet::lease::decide::{Decision, Expectation, decide};
use ksql_flownet::flownet::record::Lock;
use ksql_flownet::flownet::record::lock::FORCE_RELEASED;
use ksql_flownet::flownet::record::status::AttemptStatus;

/// Commits that each owner wants to make.
const COMMITS: u8 = 2;
/// Times that one commit may be sent.
const SENDS: u8 = 2;
/// How often a person saves the lock record in the browser.
const SAVES: u8 = 1;

/// kintone's lock record: absent, held or taken away.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct StoredLock {
    owner: u8,
    revision: u64,
    business: u64,
}

/// One bulkRequest under way.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Message {
    owner: u8,
    commit: u8,
    expects: u64,
    writes: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Phase {
    /// Has no lock yet.
    Outside,
    /// Holds it, nothing under way.
    Ready,
    /// Sent a commit and does not know what became of it.
    Waiting { sends: u8 },
    /// Knows that the lock is gone, or crashed.
    Over,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Owner {
    phase: Phase,
    /// Commits known to have landed.
    done: u8,
    revision: u64,
    business: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    lock: Option<StoredLock>,
    owners: [Owner; 2],
    network: BTreeSet<Message>,
    /// Commits applied so far: owner, commit, and whether its owner held the lock then.
    applied: Vec<(u8, u8, bool)>,
    saves: u8,
}

impl World {
    fn start() -> Self {
        let owner = Owner {
            phase: Phase::Outside,
            done: 0,
            revision: 0,
            business: 0,
        };
        Self {
            lock: None,
            owners: [owner.clone(), owner],
            network: BTreeSet::new(),
            applied: Vec::new(),
            saves: 0,
        }
    }

    /// What the GET of an owner finds under its two keys.
    fn found_by(&self, owner: u8) -> Vec<Lock> {
        let record = |key: &str, token: String, business: u64, revision: u64, reason: &str| Lock {
            record_id: 1,
            revision,
            business_revision: business,
            record_key: key.to_owned(),
            lock_key: String::new(),
            profile: String::new(),
            owner_invocation_id: String::new(),
            lease_token: token,
            status_reason: reason.to_owned(),
            status: AttemptStatus::Running,
            heartbeat_at: String::new(),
            lease_expires_at: String::new(),
        };
        let held = self
            .lock
            .iter()
            .map(|l| record("LOCK", format!("t{}", l.owner), l.business, l.revision, ""));
        let mine_is_held = self.lock.as_ref().is_some_and(|l| l.owner == owner);
        // Once taken away, the lease of this owner stays as a tombstone.
        let gone = (!mine_is_held && self.owners[usize::from(owner)].phase != Phase::Outside)
            .then(|| record(&format!("DONE{owner}"), String::new(), 99, 99, FORCE_RELEASED));
        held.chain(gone).collect()
    }

    /// Delivers a message, as kintone does with a bulkRequest: all or nothing, behind the fence.
    fn deliver(&mut self, message: &Message, fenced: bool) {
        let holds = self.lock.as_ref().is_some_and(|l| l.owner == message.owner);
        let passes = self
            .lock
            .as_ref()
            .is_some_and(|l| l.owner == message.owner && l.revision == message.expects);
        if passes || !fenced {
            self.applied.push((message.owner, message.commit, holds));
            if let Some(lock) = self.lock.as_mut().filter(|_| passes) {
                lock.revision += 1;
                lock.business = message.writes;
            }
        }
    }

    /// Every state that can follow.
    fn next(&self, fenced: bool) -> Vec<Self> {
        let mut all = Vec::new();
        for owner in 0..2u8 {
            self.owner_steps(owner, &mut all);
        }
        for message in &self.network {
            let mut lost = self.clone();
            lost.network.remove(message);
            let mut delivered = lost.clone();
            delivered.deliver(message, fenced);
            all.extend([lost, delivered]);
        }
        if self.lock.is_some() {
            let mut unlocked = self.clone();
            unlocked.lock = None;
            all.push(unlocked);
        }
        if self.saves < SAVES
            && let Some(lock) = &self.lock
        {
            let mut saved = self.clone();
            saved.lock = Some(StoredLock {
                revision: lock.revision + 1,
                ..lock.clone()
            });
            saved.saves += 1;
            all.push(saved);
        }
        all
    }

    fn owner_steps(&self, id: u8, all: &mut Vec<Self>) {
        let at = usize::from(id);
        let me = &self.owners[at];
        let mut with = |change: &dyn Fn(&mut Self)| {
            let mut next = self.clone();
            change(&mut next);
            all.push(next);
        };
        match me.phase {
            Phase::Over => return,
            Phase::Outside => {
                if self.lock.is_none() {
                    with(&|w| {
                        w.lock = Some(StoredLock {
                            owner: id,
                            revision: 1,
                            business: 1,
                        });
                        w.owners[at] = Owner {
                            phase: Phase::Ready,
                            done: 0,
                            revision: 1,
                            business: 1,
                        };
                    });
                }
                return;
            }
            Phase::Ready if me.done < COMMITS => with(&|w| w.send(at, 1)),
            Phase::Ready => {}
            Phase::Waiting { sends } => with(&|w| {
                let expectation = Expectation {
                    held_key: "LOCK".into(),
                    tombstone_key: format!("DONE{id}"),
                    token: format!("t{id}"),
                    before: me.business,
                    after: me.revision + 1,
                    releases: false,
                };
                match decide(&w.found_by(id), &expectation) {
                    Decision::Landed(revision) => {
                        let done = me.done + 1;
                        w.owners[at] = Owner {
                            phase: Phase::Ready,
                            done,
                            revision,
                            business: me.revision + 1,
                        };
                    }
                    Decision::NotLanded(revision) => {
                        w.owners[at].revision = revision;
                        if sends < SENDS {
                            w.send(at, sends + 1);
                        }
                    }
                    Decision::Lost => w.owners[at].phase = Phase::Over,
                }
            }),
        }
        with(&|w| w.owners[at].phase = Phase::Over);
    }

    /// Sends the present commit of an owner: the first time, or the same request again.
    fn send(&mut self, at: usize, sends: u8) {
        let me = &mut self.owners[at];
        me.phase = Phase::Waiting { sends };
        self.network.insert(Message {
            owner: at as u8,
            commit: me.done,
            expects: me.revision,
            writes: me.revision + 1,
        });
    }

    fn violation(&self) -> Option<String> {
        if let Some((owner, commit, _)) = self.applied.iter().find(|(_, _, held)| !held) {
            return Some(format!(
                "commit {commit} of owner {owner} landed without the lock"
            ));
        }
        for (i, one) in self.applied.iter().enumerate() {
            if self.applied[..i].contains(one) {
                return Some(format!("commit {} of owner {} landed twice", one.1, one.0));
            }
        }
        let believed = self.owners.iter().enumerate().find(|(id, o)| {
            (0..o.done).any(|c| {
                !self
                    .applied
                    .iter()
                    .any(|(who, commit, _)| usize::from(*who) == *id && *commit == c)
            })
        });
        believed.map(|(id, _)| format!("owner {id} believes in a commit that never landed"))
    }
}

/// Breadth-first search; the first violation, and how many states there are.
fn search(fenced: bool) -> (Option<String>, usize) {
    let mut seen = HashSet::from([World::start()]);
    let mut queue = VecDeque::from([World::start()]);
    while let Some(world) = queue.pop_front() {
        if let Some(found) = world.violation() {
            return (Some(format!("{found}: {world:?}")), seen.len());
        }
        for next in world.next(fenced) {
            if seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
    }
    (None, seen.len())
}

#[test]
fn no_write_of_a_fenced_off_owner_lands_and_none_lands_twice() {
    let (found, states) = search(true);
    assert_eq!(found, None);
    assert!(
        states > 1000,
        "only {states} states: the search has lost its subject"
    );
    println!("{states} states, no violation");
}

#[test]
fn without_the_fence_the_search_finds_the_harm() {
    let (found, _) = search(false);
    assert!(found.is_some_and(|f| f.contains("without the lock") || f.contains("landed twice")));
}
