//! Several pages of one scan in flight at once, with exactly the rows and the order of the scan that asks for one page
//! after the other.
//!
//! A page can only be asked for behind a record that is known, so later pages are guessed: either by record numbers, if
//! these have no gaps, or by an offset that overlaps the page before by one row. A guess is used only if it provably
//! continues where the rows so far end: its first row, or the number it was asked behind, must not lie beyond the last
//! row taken. Everything else is thrown away and asked again behind that row. Records that are added, changed or removed
//! meanwhile can therefore make a guess useless, but never wrong.
//!
//! Rows are taken in order. So that one late page does not leave the other threads idle, a few more pages are asked for
//! than there are threads: they wait for a free one, and are not sent at all once they turn out to be useless.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::flow::apps::{PAGE_ROWS, Page, PageRequest};
use crate::flow::sql::message::say;

use super::EngineError;
use super::in_flight::serve;
use super::pulse::stop_if_asked;
use super::scan::{PageSink, Reader, Scan, id_of};

/// Rows that a guess by offset repeats of the page before.
const OVERLAP: u64 = 1;
/// For so many threads one page waits for a thread: enough for a page that takes half as long again as the others, few
/// enough to be kept in memory while they wait for their turn.
const WAITING_SHARE: usize = 2;

/// A request with the page to fill.
struct Order {
    number: u64,
    request: PageRequest,
    page: Page,
}

/// An answered request.
struct Delivery {
    number: u64,
    result: Result<Page, EngineError>,
}

/// A page that is on its way.
struct Guess {
    number: u64,
    /// Rank among all matching records at which the page is expected to begin.
    start: u64,
    /// Asked behind this record, so that all matching records behind it are in the page from its beginning on.
    behind: Option<u64>,
    /// Rows that the page leaves out between the record it was asked behind and its beginning.
    offset: u64,
}

/// The rest of a scan after its first page.
pub(super) struct Ahead<'r, 'a, 's> {
    reader: &'r mut Reader<'a>,
    scan: &'s Scan,
    /// Last record taken.
    last: u64,
    /// Records taken so far.
    seen: u64,
    /// Matching records when the scan began.
    total: u64,
    /// Record numbers of the last page had no gaps.
    dense: bool,
    guesses: VecDeque<Guess>,
    next_number: u64,
    /// Requests below this number that no thread has taken are not sent any more.
    useless_below: &'s AtomicU64,
    spare: Vec<Page>,
}

impl<'r, 'a, 's> Ahead<'r, 'a, 's> {
    /// Reads the rest after a full first page.
    pub fn read(
        reader: &'r mut Reader<'a>,
        scan: &'s Scan,
        first: &Page,
        total: u64,
        each: PageSink<'_>,
    ) -> Result<(), EngineError> {
        let (apps, observer) = (reader.apps(), reader.observer());
        let useless_below = AtomicU64::new(0);
        let mut ahead = Ahead {
            reader,
            scan,
            last: 0,
            seen: 0,
            total,
            dense: false,
            guesses: VecDeque::new(),
            next_number: 0,
            useless_below: &useless_below,
            spare: Vec::new(),
        };
        ahead.take(first)?;
        // No more threads than pages that are likely to be left.
        let left = total.saturating_sub(ahead.seen).div_ceil(PAGE_ROWS as u64);
        let threads = ahead
            .reader
            .ahead
            .min(usize::try_from(left).unwrap_or(usize::MAX))
            .max(1);
        let (orders, queue) = channel::<Order>();
        let queue = Mutex::new(queue);
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
        let fetch = |order: Order| {
            let mut page = order.page;
            let useless = order.number < useless_below.load(Ordering::SeqCst);
            // A useless page is handed back as it is.
            let result = if useless {
                Ok(page)
            } else {
                stop_if_asked(observer)
                    .and_then(|()| Ok(apps.page(&order.request, &mut page)?))
                    .map(|()| page)
            };
            Delivery {
                number: order.number,
                result,
            }
        };
        thread::scope(|scope| {
            // Dropping the sender at the end of the closure lets the threads stop.
            let orders = orders;
            let Some(delivered) = serve(scope, threads, next, fetch) else {
                return Err(EngineError::argument(say!(
                    "the system gives no thread to read with",
                    "読み取りに使うスレッドを作成できません"
                )));
            };
            let result = ahead.collect(&orders, &delivered, each);
            useless_below.store(u64::MAX, Ordering::SeqCst);
            result
        })
    }

    fn collect(
        &mut self,
        orders: &Sender<Order>,
        delivered: &Receiver<Delivery>,
        each: PageSink<'_>,
    ) -> Result<(), EngineError> {
        let mut waiting: BTreeMap<u64, Result<Page, EngineError>> = BTreeMap::new();
        loop {
            self.order(orders)?;
            let Some(guess) = self.guesses.pop_front() else {
                return Ok(());
            };
            let result = loop {
                if let Some(result) = waiting.remove(&guess.number) {
                    break result;
                }
                // The workers live as long as this loop: a closed channel cannot happen before the answer.
                let Ok(delivery) = delivered.recv() else {
                    return Ok(());
                };
                if delivery.number >= guess.number {
                    waiting.insert(delivery.number, delivery.result);
                } else if let Ok(page) = delivery.result {
                    self.spare.push(page);
                }
            };
            let mut page = result?;
            self.reader.search_aborted |= page.search_aborted;
            if !self.continues(&guess, &page)? {
                // Everything that was guessed behind it is as useless: ask again behind the last row.
                self.guesses.clear();
                self.useless_below.store(self.next_number, Ordering::SeqCst);
                self.spare.push(page);
                continue;
            }
            let rows = page.rows() as u64;
            let complete = rows < PAGE_ROWS as u64 || page.total_count == Some(guess.offset + rows);
            let known = (0..page.rows())
                .take_while(|row| id_of(&page, *row).is_ok_and(|id| id <= self.last))
                .count();
            page.skip_rows(known);
            let fresh = page.rows();
            if fresh > 0 {
                self.reader.count_rows(fresh, self.scan.limit)?;
                self.take(&page)?;
                if each(&page)?.is_break() {
                    return Ok(());
                }
            }
            self.spare.push(page);
            if complete {
                return Ok(());
            }
        }
    }

    /// True if the page holds the matching records right behind the last row taken.
    fn continues(&self, guess: &Guess, page: &Page) -> Result<bool, EngineError> {
        if let Some(behind) = guess.behind {
            return Ok(behind <= self.last);
        }
        Ok(page.rows() > 0 && id_of(page, 0)? <= self.last)
    }

    /// Notes the rows of a page as taken.
    fn take(&mut self, page: &Page) -> Result<(), EngineError> {
        let rows = page.rows() as u64;
        let first = id_of(page, 0)?;
        self.last = id_of(page, page.rows().saturating_sub(1))?;
        self.dense = self.last - first + 1 == rows;
        self.seen += rows;
        Ok(())
    }

    /// Keeps as many pages on their way as are allowed and can still be needed.
    fn order(&mut self, orders: &Sender<Order>) -> Result<(), EngineError> {
        let most = self.reader.ahead + self.reader.ahead / WAITING_SHARE;
        while self.guesses.len() < most {
            // Right behind the last row taken nothing is guessed: that page is asked for whatever was expected.
            let fresh = self
                .guesses
                .back()
                .map_or(self.seen, |before| before.start + PAGE_ROWS as u64);
            if fresh >= self.total && !self.guesses.is_empty() {
                return Ok(());
            }
            self.reader.check_interrupt()?;
            let limit = PAGE_ROWS as u64;
            let number = self.next_number;
            let (guess, request) = if self.dense || self.guesses.is_empty() {
                let behind = Some(self.last + (fresh - self.seen));
                let guess = Guess {
                    number,
                    start: fresh,
                    behind,
                    offset: 0,
                };
                (guess, self.scan.after(behind, limit, 0))
            } else {
                let start = fresh - OVERLAP;
                let offset = start - self.seen;
                let guess = Guess {
                    number,
                    start,
                    behind: None,
                    offset,
                };
                (guess, self.scan.after(Some(self.last), limit, offset))
            };
            // The page that should be the last tells whether it is.
            let request = PageRequest {
                total_count: guess.start + limit >= self.total,
                ..request
            };
            let page = self.spare.pop().unwrap_or_default();
            if orders
                .send(Order {
                    number: guess.number,
                    request,
                    page,
                })
                .is_err()
            {
                return Ok(());
            }
            self.next_number += 1;
            self.guesses.push_back(guess);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicUsize;

    use proptest::prelude::*;

    use super::*;
    use crate::flow::apps::{
        AppId, AppMap, AppSummary, Apps, AppsError, Form, NumberPrecision, WriteChunk, WritePermit, Written,
    };
    use crate::flow::calendar::{AsOf, Zone};
    use crate::flow::exec::scan::ReadLimit;
    use crate::flow::exec::{Config, Unobserved};

    /// An app of which only record numbers matter; records come and go before certain requests.
    struct Numbers {
        state: Mutex<(BTreeSet<u64>, u64)>,
        changes: Vec<(u64, Change)>,
        now: AtomicUsize,
        most_at_once: AtomicUsize,
    }

    #[derive(Clone, Copy, Debug)]
    enum Change {
        Remove(u64),
        Bring(u64),
    }

    fn number_after(query: &str, word: &str) -> Option<u64> {
        query.split(word).nth(1)?.trim().split(' ').next()?.parse().ok()
    }

    impl Apps for Numbers {
        fn page(&self, request: &PageRequest, into: &mut Page) -> Result<(), AppsError> {
            let at_once = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_at_once.fetch_max(at_once, Ordering::SeqCst);
            thread::yield_now();
            let mut state = self.state.lock().unwrap();
            state.1 += 1;
            let at = state.1;
            for (_, change) in self.changes.iter().filter(|(request, _)| *request == at) {
                match change {
                    Change::Remove(id) => state.0.remove(id),
                    Change::Bring(id) => state.0.insert(*id),
                };
            }
            let query = &request.query;
            let behind = number_after(query, "$id >").unwrap_or(0);
            let limit = number_after(query, "limit").unwrap() as usize;
            let offset = number_after(query, "offset").unwrap_or(0) as usize;
            into.reset(1);
            into.total_count = request
                .total_count
                .then(|| state.0.range(behind + 1..).count() as u64);
            for id in state.0.range(behind + 1..).skip(offset).take(limit) {
                into.push_row([id.to_string().as_str()]).unwrap();
            }
            self.now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }

        fn form(&self, _: AppId) -> Result<Form, AppsError> {
            Err(AppsError::new("none"))
        }

        fn states(&self, _: AppId) -> Result<Vec<String>, AppsError> {
            Err(AppsError::new("none"))
        }

        fn number_precision(&self, _: AppId) -> Result<NumberPrecision, AppsError> {
            Err(AppsError::new("none"))
        }

        fn write(&self, _: &WritePermit, _: &WriteChunk<'_>) -> Result<Written, AppsError> {
            Err(AppsError::new("none"))
        }

        fn list(&self) -> Result<Vec<AppSummary>, AppsError> {
            Err(AppsError::new("none"))
        }
    }

    /// Record numbers in the order of the scan, and the number of requests.
    fn read(ids: &BTreeSet<u64>, changes: &[(u64, Change)], ahead: usize) -> (Vec<u64>, u64) {
        let apps = Numbers {
            state: Mutex::new((ids.clone(), 0)),
            changes: changes.to_vec(),
            now: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
        };
        let mut config = Config::new(AsOf::new(jiff::Timestamp::UNIX_EPOCH, Zone::utc()), AppMap::new());
        config.requests_in_flight = ahead;
        let mut reader = Reader::new(&apps, &Unobserved, &config);
        let scan = Scan {
            app: AppId(1),
            condition: String::new(),
            fields: vec!["$id".to_owned()],
            limit: ReadLimit::Never,
            at_most: None,
            partial: false,
        };
        let mut found = Vec::new();
        reader
            .scan(&scan, &mut |page| {
                for row in 0..page.rows() {
                    found.push(id_of(page, row)?);
                }
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        let requests = apps.state.lock().unwrap().1;
        assert!(apps.most_at_once.into_inner() <= ahead);
        (found, requests)
    }

    /// Numbers with gaps of the given sizes.
    fn numbers() -> impl Strategy<Value = BTreeSet<u64>> {
        let run = (1u64..40, 1usize..900, prop_oneof![Just(1u64), 1u64..4]);
        prop::collection::vec(run, 1..8).prop_map(|runs| {
            let mut next = 0;
            let mut ids = BTreeSet::new();
            for (gap, length, step) in runs {
                next += gap;
                for _ in 0..length {
                    ids.insert(next);
                    next += step;
                }
            }
            ids
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn quiet_data_is_read_as_one_page_after_the_other(ids in numbers(), ahead in 2usize..7) {
            let expected: Vec<u64> = ids.iter().copied().collect();
            let (sequential, needed) = read(&ids, &[], 1);
            prop_assert_eq!(&sequential, &expected);
            prop_assert_eq!(needed, (expected.len() as u64).div_ceil(500).max(1));
            let (found, requests) = read(&ids, &[], ahead);
            prop_assert_eq!(found, expected);
            // Each change between gaps and no gaps may cost the guesses on their way.
            prop_assert!(requests >= needed);
        }

        #[test]
        fn without_gaps_or_with_gaps_everywhere_guesses_are_free(
            rows in prop_oneof![1u64..6000, (1u64..12).prop_map(|pages| pages * 500)],
            step in 1u64..4, ahead in 2usize..7) {
            let ids: BTreeSet<u64> = (1..=rows).map(|i| i * step).collect();
            let (_, needed) = read(&ids, &[], 1);
            let (found, requests) = read(&ids, &[], ahead);
            prop_assert_eq!(found.len() as u64, rows);
            prop_assert!(requests <= needed + 1, "{} instead of {}", requests, needed);
        }

        #[test]
        fn changes_meanwhile_hide_nothing_and_repeat_nothing(
            ids in numbers(),
            changes in prop::collection::vec((2u64..14, 1u64..3000, any::<bool>()), 0..40),
            ahead in 1usize..7,
        ) {
            let changes: Vec<(u64, Change)> = changes
                .into_iter()
                .map(|(at, id, remove)| (at, if remove { Change::Remove(id) } else { Change::Bring(id) }))
                .collect();
            let (found, _) = read(&ids, &changes, ahead);
            prop_assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "out of order or twice");
            let touched = |id: u64| changes.iter().any(|(_, change)| matches!(change, Change::Remove(c) | Change::Bring(c) if *c == id));
            let found: BTreeSet<u64> = found.into_iter().collect();
            let missing = ids.iter().filter(|id| !touched(**id) && !found.contains(id)).count();
            prop_assert_eq!(missing, 0, "what was there all the time is missing");
            prop_assert!(found.iter().all(|id| ids.contains(id) || touched(*id)));
        }
    }
}
