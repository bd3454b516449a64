//! Scans of a plan: their queries and fields at both ends of what only a run knows, and how many requests they take.

use crate::flow::apps::PAGE_ROWS;
use crate::flow::plan::push::{self, Relation as Reach};
use crate::flow::plan::scope::{Origin, ScopeSource};
use crate::flow::sql::message::{Message, say};

use super::{ExplainStep, Explainer, Purpose, reach_word};
use crate::flow::exec::EngineError;
use crate::flow::exec::estimate::Estimate;
use crate::flow::exec::join::JoinTable;
use crate::flow::exec::narrow::KeyFilter;
use crate::flow::exec::scan::{Scan, window_requests};

/// A scan that is announced.
pub(super) struct Planned<'p> {
    /// As it is if kintone can decide what only a run knows.
    pub best: &'p Scan,
    /// As it is if not; the same scan where a run knows no more.
    pub worst: &'p Scan,
    pub reach: Reach,
    /// A run may find that no record can match.
    pub perhaps: bool,
    /// kintone's order with limit and offset.
    pub window: Option<(&'p str, u64, u64)>,
    /// The reader breaks as soon as it has enough.
    pub stops: bool,
}

impl<'p> Planned<'p> {
    /// A scan that is read to its end.
    pub fn whole(best: &'p Scan, worst: &'p Scan, reach: Reach, perhaps: bool) -> Self {
        Self {
            best,
            worst,
            reach,
            perhaps,
            window: None,
            stops: false,
        }
    }

    /// Part of it is known in a run only.
    pub fn is_open(&self) -> bool {
        self.perhaps || self.best.condition != self.worst.condition || self.best.fields != self.worst.fields
    }

    /// Fields, with a mark at those that may not be needed.
    fn fields(&self) -> String {
        let mark = |field: &String| {
            let certain = self.best.fields.contains(field);
            format!("{field}{}", if certain { "" } else { push::LATER })
        };
        self.worst.fields.iter().map(mark).collect::<Vec<_>>().join(", ")
    }
}

impl Explainer<'_, '_, '_> {
    /// Records that match what is known of the condition.
    pub(super) fn count(&mut self, planned: &Planned<'_>) -> Result<Estimate, EngineError> {
        let Planned { worst, perhaps, .. } = planned;
        self.counted.push((worst.app, worst.condition.clone(), *perhaps));
        let matches = self.executor.reader.count(worst.app, &worst.condition)?;
        Ok(if self.foreseen.changed.contains(&worst.app) {
            Estimate::ANY
        } else {
            Estimate::exactly(matches)
        })
    }

    /// Adds a scan; the records that match what is known of its condition.
    pub(super) fn scan(&mut self, planned: &Planned<'_>) -> Result<Estimate, EngineError> {
        let matches = self.count(planned)?;
        let ahead = self.executor.reader.ahead;
        let mut notes = Vec::new();
        let mut requests = match planned.window {
            Some((_, 0, _)) => Estimate::exactly(0),
            Some((_, limit, offset)) => {
                window_requests(limit, matches.map(|matches| matches.saturating_sub(offset)))
            }
            None => planned.worst.requests(matches, ahead),
        };
        if planned.stops && requests.exact().is_none_or(|pages| pages > 1) && planned.best.at_most.is_none() {
            requests.least = 1;
            notes.push(say!(
                "as soon as LIMIT has its rows, no more",
                "LIMIT の行数に達したら終わります"
            ));
        } else if requests.most.is_none() && matches.most.is_some() {
            notes.push(say!(
                "pages that are asked for ahead may be asked for again",
                "先読みしたページを読み直すことがあります"
            ));
        }
        if matches.most.is_none() {
            notes.push(say!(
                "an earlier statement writes to this app",
                "前の文がこのアプリに書き込みます"
            ));
        }
        if planned.is_open() {
            requests.least = requests.least.min(1);
        } else if let Some(most) = matches
            .exact()
            .and_then(|matches| self.executor.reader.foresee(planned.best, matches))
        {
            requests.least = 1;
            notes.push(say!(
                "a run fails here: more than {most} records (limits.maxReadRows)",
                "レコードが {most} 件 (limits.maxReadRows) を超えるため、実行するとここで失敗します"
            ));
        }
        self.announce(planned, requests, notes);
        Ok(matches)
    }

    /// Adds the step of a scan.
    fn announce(&mut self, planned: &Planned<'_>, mut requests: Estimate, mut notes: Vec<Message>) {
        let scan = planned.best;
        let query = match planned.window {
            Some((order, limit, offset)) => scan.ordered(order, limit.min(PAGE_ROWS as u64), offset).query,
            None => scan.first().query,
        };
        if planned.best.condition != planned.worst.condition || planned.best.fields != planned.worst.fields {
            notes.push(say!(
                "? is known in a run only, and sent if kintone can decide it",
                "? は実行時に決まり、kintone で評価できる値なら送ります"
            ));
        }
        if planned.perhaps {
            requests = requests.or_none();
            notes.push(say!(
                "none if nothing can match",
                "該当がありえなければ送りません"
            ));
        }
        let step = ExplainStep {
            query: Some(query),
            relation: Some(reach_word(planned.reach)),
            ..ExplainStep::new(say!("scan", "読み取り"))
        };
        let step = step.detail(planned.fields()).on(scan.app);
        self.step(step.requests(Purpose::Read, requests).notes(notes));
    }

    /// A source of a join that is asked for keys of an earlier one, if these are few.
    pub(super) fn keyed(
        &mut self,
        planned: &Planned<'_>,
        keys: &KeyFilter<'_>,
        sources: &[ScopeSource],
        tables: &[JoinTable],
        rows: &[Estimate],
    ) -> Result<Estimate, EngineError> {
        let earlier = keys.earlier.source;
        let known = sources.get(earlier).is_some_and(|source| self.is_there(source));
        if known {
            let Some(conditions) = keys.conditions(tables) else {
                return self.scan(planned).map(|_| Estimate::ANY);
            };
            let matches = self.count(planned)?;
            for condition in conditions {
                let requests = Estimate {
                    least: 1,
                    ..planned.worst.requests(matches, self.executor.reader.ahead)
                };
                self.narrowed(planned, &condition, requests, Vec::new());
            }
            return Ok(Estimate::ANY);
        }
        let met = rows.get(earlier).copied().unwrap_or(Estimate::ANY);
        let (outline, narrow) = keys.outline(met);
        let matches = self.count(planned)?;
        let all = planned.worst.requests(matches, self.executor.reader.ahead);
        let pages = matches.most.map(|matches| matches / PAGE_ROWS as u64);
        let split = narrow
            .most
            .zip(pages)
            .map(|(conditions, pages)| conditions + pages);
        let most = all.most.zip(split).map(|(all, split)| all.max(split));
        let note = say!(
            "by the keys of the rows before, up to 300, 50 at once; else all",
            "先に読んだ行のキー (300 個まで、50 個ずつ) で絞り込みます。それ以外はすべて読みます"
        );
        let requests = Estimate {
            least: narrow.least,
            most,
        };
        self.narrowed(planned, &outline, requests, vec![note]);
        Ok(matches.or_none())
    }

    /// Adds a scan with a further condition.
    fn narrowed(&mut self, planned: &Planned<'_>, condition: &str, requests: Estimate, notes: Vec<Message>) {
        let narrow = |scan: &Scan| Scan {
            condition: push::and(condition, &scan.condition),
            ..scan.clone()
        };
        let (best, worst) = (narrow(planned.best), narrow(planned.worst));
        let planned = Planned::whole(&best, &worst, planned.reach, planned.perhaps);
        self.announce(&planned, requests, notes);
    }

    /// Whether the rows of a source are in memory already.
    fn is_there(&self, source: &ScopeSource) -> bool {
        matches!(&source.origin, Origin::Temp(name) if self.executor.temps.contains_key(name))
    }
}
