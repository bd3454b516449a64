//! Push-down: which part of a condition kintone can decide, as one pure function (LNG-190).
//!
//! Results never depend on it. A conjunct that kintone decides exactly is not tested again; one that kintone can only
//! narrow is sent and tested again; everything else is tested here alone.

mod leaf;
mod part;
mod text;

pub use self::text::{and, one_of, quoted};

use self::part::{Beside, Certainty, Pusher};
use self::text::url_bytes;
use super::filter::Filter;
use super::scalar::ColumnId;
use super::types::Type;

/// Limits of a query text.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most elements of one `in` list.
    pub values: usize,
    /// The most bytes of the condition once it is in a URL, where every byte outside ASCII letters and digits takes three.
    pub url_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            values: 100,
            url_bytes: 6_000,
        }
    }
}

/// How the sent condition relates to the whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same records.
    Exact,
    /// A superset; the rest is tested locally.
    Prefilter,
    /// Nothing is sent.
    Local,
}

/// The outcome of push-down.
#[derive(Clone, Debug, PartialEq)]
pub struct Pushed {
    /// kintone query text without order and limit; empty for no condition.
    pub query: String,
    /// How it relates to the whole condition, by kintone's documentation.
    pub relation: Relation,
    /// What is left to test: also what kintone decides, where it was seen to decide otherwise than documented.
    pub rest: Filter,
}

/// What stands in a query for values that only a run knows.
pub const LATER: &str = "?";

/// Who decides about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// kintone alone: it counts, or gives a window of the matching records.
    Remote,
    /// Every record is read and what is left of the condition is tested.
    Tested,
}

/// A field that conditions can be sent about.
#[derive(Clone, Copy, Debug)]
pub struct PushField<'a> {
    /// Field code.
    pub code: &'a str,
    /// Type.
    pub kind: &'a Type,
    /// Duplicates are prohibited.
    pub unique: bool,
}

/// Splits a condition. `field` gives the fields of the app that is asked; other columns are unknown to kintone.
pub fn push<'f>(
    filter: &Filter,
    field: &dyn Fn(ColumnId) -> Option<PushField<'f>>,
    decision: Decision,
    limits: Limits,
) -> Pushed {
    let conjuncts = match filter {
        Filter::Constant(true) => &[],
        Filter::All(parts) => parts.as_slice(),
        single => std::slice::from_ref(single),
    };
    let pusher = Pusher {
        field,
        decision,
        limits,
    };
    // What kintone alone can decide is not tested again, so the parts beside it must be certain.
    let certain = Pusher {
        decision: Decision::Remote,
        ..pusher
    };
    let beside = Beside::of(conjuncts);
    let mut texts: Vec<(String, bool)> = Vec::new();
    let mut rest = Vec::new();
    let mut certainty = Certainty::Exact;
    let mut bytes = 0;
    for conjunct in conjuncts {
        let only_kintone = conjunct.server_test().is_some();
        let sure = if only_kintone { &certain } else { &pusher };
        let (text, certain) = sure.part(conjunct, &beside).split();
        let text = text.filter(|text| {
            let size = url_bytes(text) + url_bytes(" and ()");
            let fits = bytes + size <= limits.url_bytes || only_kintone;
            bytes += if fits { size } else { 0 };
            fits
        });
        let certain = if text.is_some() {
            certain
        } else {
            Certainty::Superset
        };
        texts.extend(text.map(|text| (text, matches!(conjunct, Filter::Any(_)))));
        if certain != Certainty::Exact {
            rest.push(conjunct.clone());
        }
        certainty = certainty.min(certain);
    }
    let alone = texts.len() == 1;
    let query = texts
        .into_iter()
        .map(|(text, alternatives)| {
            if alternatives && !alone {
                format!("({text})")
            } else {
                text
            }
        })
        .collect::<Vec<_>>()
        .join(" and ");
    let relation = match (certainty, query.is_empty()) {
        (Certainty::Exact | Certainty::Doubted, _) => Relation::Exact,
        (Certainty::Superset, false) => Relation::Prefilter,
        (Certainty::Superset, true) => Relation::Local,
    };
    Pushed {
        query,
        relation,
        rest: Filter::all(rest),
    }
}

#[cfg(test)]
mod tests;
