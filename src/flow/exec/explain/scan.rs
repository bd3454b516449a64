//! Scans of a plan: their queries and fields, and how many requests they take, whatever a run finds.

use crate::flow::apps::PAGE_ROWS;
use crate::flow::plan::filter::Filter;
use crate::flow::plan::push::{self, Relation as Reach};
use crate::flow::plan::scope::{Origin, ScopeSource};
use crate::flow::sql::message::{Message, say};

use super::later::{Outlooks, is_branching, may_fail};
use super::{ExplainStep, Explainer, Purpose, reach_word};
use crate::flow::exec::EngineError;
use crate::flow::exec::estimate::Estimate;
use crate::flow::exec::join::JoinTable;
use crate::flow::exec::narrow::KeyFilter;
use crate::flow::exec::scan::{Scan, window_requests};

/// A scan that is announced.
pub(super) struct Planned<'p> {
    pub scan: Outlooks<&'p Scan>,
    pub reach: Reach,
    /// What is sent of the condition depends on what a run finds.
    pub open: bool,
    /// A run may find that no record can match.
    pub perhaps: bool,
    /// kintone's order with limit and offset.
    pub window: Option<(&'p str, u64, u64)>,
    /// The reader breaks as soon as it has enough.
    pub stops: bool,
}

impl<'p> Planned<'p> {
    /// A scan with a condition, of which this much is left to a run, that is read to its end.
    pub fn new(scan: Outlooks<&'p Scan>, filter: &Filter, reach: Reach) -> Self {
        let known = &scan.known.condition;
        Self {
            open: is_branching(filter) || scan.best.condition != *known || scan.kept.condition != *known,
            perhaps: may_fail(filter),
            scan,
            reach,
            window: None,
            stops: false,
        }
    }

    /// Fields, with a mark at those that may not be needed.
    fn fields(&self) -> String {
        let mark = |field: &String| {
            let certain = self.scan.known.fields.contains(field);
            format!("{field}{}", if certain { "" } else { push::LATER })
        };
        self.scan
            .kept
            .fields
            .iter()
            .map(mark)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The first request.
    fn query(&self) -> String {
        let scan = self.scan.best;
        if let Some((order, limit, offset)) = self.window {
            return scan.ordered(order, limit.min(PAGE_ROWS as u64), offset).query;
        }
        let query = scan.first().query;
        match query.rsplit_once(' ') {
            // kintone gets the LIMIT only if it decides the whole condition.
            Some((query, _)) if self.scan.known.at_most != self.scan.kept.at_most => {
                format!("{query} {}", push::LATER)
            }
            _ => query,
        }
    }

    /// Requests if so many records match.
    pub fn requests(&self, matches: Estimate, ahead: usize) -> Estimate {
        match self.window {
            Some((_, 0, _)) => Estimate::exactly(0),
            Some((_, limit, offset)) => {
                window_requests(limit, matches.map(|matches| matches.saturating_sub(offset)))
            }
            None => {
                let [known, kept] =
                    [self.scan.known, self.scan.kept].map(|scan| scan.requests(matches, ahead));
                known.or(kept)
            }
        }
    }
}

impl Explainer<'_, '_, '_> {
    /// Records that match.
    pub(super) fn count(&mut self, planned: &Planned<'_>) -> Result<Estimate, EngineError> {
        let Scan { app, condition, .. } = planned.scan.known;
        self.counted.push((*app, condition.clone(), planned.perhaps));
        let matches = Estimate::exactly(self.executor.reader.count(*app, condition)?);
        Ok(if self.foreseen.changed.contains(app) {
            Estimate::ANY
        } else if planned.open {
            matches.or_none()
        } else {
            matches
        })
    }

    /// Adds a scan; the records that match.
    pub(super) fn scan(&mut self, planned: &Planned<'_>) -> Result<Estimate, EngineError> {
        let matches = self.count(planned)?;
        let mut notes = Vec::new();
        let mut requests = planned.requests(matches, self.executor.reader.ahead);
        let many = requests.exact().is_none_or(|pages| pages > 1);
        if planned.stops && many && planned.scan.kept.at_most.is_none() {
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
        let known = planned.scan.known;
        let refused = matches
            .exact()
            .and_then(|matches| self.executor.reader.foresee(known, matches));
        if let Some(most) = refused {
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
        if planned.open {
            notes.push(say!(
                "a run decides about ?, and which parts of the condition are sent",
                "? と、条件のどの部分を送るかは、実行時に決まります"
            ));
        } else if planned.scan.known.fields != planned.scan.kept.fields {
            notes.push(say!(
                "fields with ? are read if what a run finds asks for them",
                "? の付いたフィールドは、実行時に必要になれば読みます"
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
            query: Some(planned.query()),
            relation: Some(reach_word(planned.reach)),
            ..ExplainStep::new(say!("scan", "読み取り"))
        };
        let step = step.detail(planned.fields()).on(planned.scan.best.app);
        self.step(step.requests(Purpose::Read, requests).notes(notes));
    }

    /// Adds the scan that takes the place of the step before if kintone cannot decide the condition; its requests are
    /// within the bounds given there.
    pub(super) fn alternative(&mut self, planned: &Planned<'_>) {
        let step = ExplainStep {
            query: Some(planned.scan.kept.first().query),
            ..ExplainStep::new(say!("or scan", "または読み取り"))
        };
        self.step(step.detail(planned.fields()).on(planned.scan.kept.app));
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
                    ..planned.requests(matches, self.executor.reader.ahead)
                };
                self.narrowed(planned, &condition, requests, Vec::new());
            }
            return Ok(Estimate::ANY);
        }
        let met = rows.get(earlier).copied().unwrap_or(Estimate::ANY);
        let (outline, narrow) = keys.outline(met);
        let matches = self.count(planned)?;
        let all = planned.requests(matches, self.executor.reader.ahead);
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
        let narrowed = planned.scan.map(|scan| narrow(scan));
        let planned = Planned {
            scan: narrowed.map(|scan| scan),
            ..*planned
        };
        self.announce(&planned, requests, notes);
    }

    /// Whether the rows of a source are in memory already.
    fn is_there(&self, source: &ScopeSource) -> bool {
        matches!(&source.origin, Origin::Temp(name) if self.executor.temps.contains_key(name))
    }
}
