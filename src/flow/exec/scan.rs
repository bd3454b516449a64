//! Reading an app page by page in the order of `$id` (LNG-193): every page is an idempotent GET after the last record
//! of the page before, so that records added or removed meanwhile are never read twice and never hide others.

use std::ops::ControlFlow;

use crate::flow::apps::{AppId, Apps, PAGE_ROWS, Page, PageRequest};
use crate::flow::plan::push;
use crate::flow::sql::message::{Message, say};

use super::EngineError;
use super::ahead::Ahead;
use super::config::{Config, DEFAULT_MAX_READ_ROWS, Observer};
use super::estimate::Estimate;
use super::pulse::stop_if_asked;

/// kintone's largest offset.
const MAX_OFFSET: u64 = 10_000;

/// What to read.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Scan {
    /// The app.
    pub app: AppId,
    /// kintone condition; empty for all records.
    pub condition: String,
    /// Fields; the first one is `$id`.
    pub fields: Vec<String>,
    /// Whether the read limit counts these rows.
    pub limit: ReadLimit,
    /// No more than so many matching records are wanted.
    pub at_most: Option<u64>,
    /// The reader may break before the end: neither is the number of matches a reason to fail, nor are pages guessed.
    pub partial: bool,
}

/// Takes pages until it breaks.
pub(in crate::flow) type PageSink<'s> = &'s mut dyn FnMut(&Page) -> Result<ControlFlow<()>, EngineError>;

impl Scan {
    /// Records to ask for after so many.
    fn wanted(&self, seen: u64) -> u64 {
        let page = PAGE_ROWS as u64;
        self.at_most.map_or(page, |most| (most - seen).min(page))
    }

    /// The first request.
    pub(super) fn first(&self) -> PageRequest {
        self.after(None, self.wanted(0), 0)
    }

    /// Requests that [`Reader::scan`] takes when so many records match and pages are asked for so far ahead.
    pub(super) fn requests(&self, matches: Estimate, ahead: usize) -> Estimate {
        if let Some(most) = self.at_most {
            return window_requests(most, matches).map(|requests| requests.max(1));
        }
        let pages = matches.map(|matches| matches.div_ceil(PAGE_ROWS as u64).max(1));
        // Whoever reads may stop after any page. Otherwise a page after the next one is guessed, and guessed again.
        if self.partial {
            return Estimate { least: 1, ..pages };
        }
        Estimate {
            least: pages.least,
            most: pages.most.filter(|pages| ahead <= 1 || *pages <= 2),
        }
    }

    /// A request of [`Reader::ordered`].
    pub(super) fn ordered(&self, order: &str, limit: u64, offset: u64) -> PageRequest {
        let space = if self.condition.is_empty() { "" } else { " " };
        let condition = &self.condition;
        PageRequest {
            app: self.app,
            query: format!("{condition}{space}order by {order} limit {limit} offset {offset}"),
            fields: self.fields.clone(),
            total_count: false,
        }
    }

    /// The request for matching records behind a record, `offset` of them left out.
    pub(super) fn after(&self, last: Option<u64>, limit: u64, offset: u64) -> PageRequest {
        let condition = match last {
            None => self.condition.clone(),
            Some(id) => push::and(&self.condition, &format!("$id > {id}")),
        };
        let space = if condition.is_empty() { "" } else { " " };
        let offset = if offset == 0 {
            String::new()
        } else {
            format!(" offset {offset}")
        };
        PageRequest {
            app: self.app,
            query: format!("{condition}{space}order by $id asc limit {limit}{offset}"),
            fields: self.fields.clone(),
            total_count: false,
        }
    }
}

/// Requests for a window of the matching records, page by page until one is not full.
pub(super) fn window_requests(limit: u64, matches: Estimate) -> Estimate {
    let page = PAGE_ROWS as u64;
    let whole = limit.div_ceil(page);
    matches
        .map(|matches| (matches / page + 1).min(whole))
        .capped(Some(whole))
}

/// The request of [`Reader::count`].
pub(super) fn counting(app: AppId, condition: &str) -> PageRequest {
    let space = if condition.is_empty() { "" } else { " " };
    PageRequest {
        app,
        query: format!("{condition}{space}limit 1"),
        fields: vec!["$id".to_owned()],
        total_count: true,
    }
}

/// kintone refuses what lies behind its largest offset (LNG-131).
pub(super) fn check_offset(offset: u64) -> Result<(), EngineError> {
    if offset <= MAX_OFFSET {
        return Ok(());
    }
    Err(EngineError::argument(say!(
        "KORDER BY reaches at most offset {MAX_OFFSET}",
        "KORDER BY で読めるのはオフセット {MAX_OFFSET} までです"
    )))
}

/// The record number of a row.
pub(super) fn id_of(page: &Page, row: usize) -> Result<u64, EngineError> {
    page.cell(row, 0).parse().map_err(|_| {
        EngineError::argument(say!(
            "kintone sent a record without a number",
            "kintone から番号のないレコードが返されました"
        ))
    })
}

/// When `limits.maxReadRows` counts the rows of a scan (LNG-180).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) enum ReadLimit {
    /// Rows are kept or needed together.
    Always,
    /// Only if a limit is configured: rows go into aggregates at once.
    Configured,
    /// Rows are folded into groups at once, or their number is bounded otherwise, as by the keys that are looked up.
    Never,
}

/// Reads records and counts them.
pub(in crate::flow) struct Reader<'a> {
    apps: &'a dyn Apps,
    observer: &'a dyn Observer,
    max_read_rows: Option<u64>,
    /// Page requests in flight at once.
    pub(super) ahead: usize,
    /// Rows read by the statement.
    pub rows_read: u64,
    /// Rows of it that count against the limit.
    limited_rows: u64,
    /// A keyword search was cut short (LNG-181).
    pub search_aborted: bool,
    /// Rows that series of the statement have made.
    pub rows_generated: u64,
    /// What else the author of the statement should know about how it was read.
    pub notes: Vec<Message>,
}

impl<'a> Reader<'a> {
    pub fn new(apps: &'a dyn Apps, observer: &'a dyn Observer, config: &Config) -> Self {
        Self {
            apps,
            observer,
            max_read_rows: config.max_read_rows,
            ahead: config.width(),
            rows_read: 0,
            limited_rows: 0,
            search_aborted: false,
            rows_generated: 0,
            notes: Vec::new(),
        }
    }

    /// Another reader of the same kintone that asks for one page after the other: for reads that are themselves several
    /// in flight.
    pub fn single(&self) -> Self {
        Self {
            ahead: 1,
            rows_read: 0,
            limited_rows: 0,
            search_aborted: false,
            rows_generated: 0,
            notes: Vec::new(),
            ..*self
        }
    }

    /// Counts what a [`single`](Self::single) reader has read.
    pub fn absorb(&mut self, other: &Self) {
        self.rows_read += other.rows_read;
        self.limited_rows += other.limited_rows;
        self.search_aborted |= other.search_aborted;
    }

    /// kintone.
    pub fn apps(&self) -> &'a dyn Apps {
        self.apps
    }

    /// Whom the run tells.
    pub fn observer(&self) -> &'a dyn Observer {
        self.observer
    }

    /// Begins a statement.
    pub fn reset(&mut self) {
        self.rows_read = 0;
        self.limited_rows = 0;
        self.search_aborted = false;
        self.rows_generated = 0;
        self.notes.clear();
    }

    /// Stops between two requests if the run was asked to.
    pub fn check_interrupt(&self) -> Result<(), EngineError> {
        stop_if_asked(self.observer)
    }

    fn limit(&self, limit: ReadLimit) -> Option<u64> {
        match limit {
            ReadLimit::Always => Some(self.max_read_rows.unwrap_or(DEFAULT_MAX_READ_ROWS)),
            ReadLimit::Configured => self.max_read_rows,
            ReadLimit::Never => None,
        }
    }

    /// Takes the rows of a scan as read that is only planned; the limit that would stop it.
    pub(super) fn foresee(&mut self, scan: &Scan, matches: u64) -> Option<u64> {
        let rows = match scan.at_most {
            Some(most) => matches.min(most),
            None if scan.partial => return None,
            None => matches,
        };
        let most = self.limit(scan.limit)?;
        self.limited_rows += rows;
        (self.limited_rows > most).then_some(most)
    }

    fn get(&mut self, request: &PageRequest, page: &mut Page) -> Result<(), EngineError> {
        self.check_interrupt()?;
        self.apps.page(request, page)?;
        self.search_aborted |= page.search_aborted;
        Ok(())
    }

    pub(super) fn count_rows(&mut self, rows: usize, limit: ReadLimit) -> Result<(), EngineError> {
        self.rows_read += rows as u64;
        if let Some(most) = self.limit(limit) {
            self.limited_rows += rows as u64;
            if self.limited_rows > most {
                return Err(EngineError::read_limit(most));
            }
        }
        Ok(())
    }

    /// Number of records that a condition matches: one request (LNG-192).
    pub fn count(&mut self, app: AppId, condition: &str) -> Result<u64, EngineError> {
        let mut page = Page::new(1);
        self.get(&counting(app, condition), &mut page)?;
        Ok(page.total_count.unwrap_or(page.rows() as u64))
    }

    /// Calls `each` for every page until it breaks or all matching records were seen.
    pub fn scan(&mut self, scan: &Scan, each: PageSink<'_>) -> Result<(), EngineError> {
        let mut page = Page::new(scan.fields.len());
        let mut last: Option<u64> = None;
        let mut seen = 0u64;
        let mut total = 0;
        loop {
            let wanted = scan.wanted(seen);
            // The first page tells the number of matches, the one that should be the last tells whether it is: that saves
            // the empty page after an exact multiple.
            let counted = scan.at_most.is_none() && (last.is_none() || seen + wanted >= total);
            let request = PageRequest {
                total_count: counted,
                ..scan.after(last, wanted, 0)
            };
            self.get(&request, &mut page)?;
            let rows = page.rows() as u64;
            if let (None, Some(matches)) = (last, page.total_count) {
                total = matches;
                if let Some(most) = self.limit(scan.limit)
                    && self.limited_rows + total > most
                    && !scan.partial
                {
                    return Err(EngineError::read_limit(most));
                }
            }
            self.count_rows(page.rows(), scan.limit)?;
            seen += rows;
            let complete = rows < wanted || page.total_count == Some(rows) || scan.at_most == Some(seen);
            if each(&page)?.is_break() || complete {
                return Ok(());
            }
            last = Some(id_of(&page, page.rows() - 1)?);
            if self.ahead > 1 && scan.at_most.is_none() && !scan.partial && page.total_count.is_some() {
                return Ahead::read(self, scan, &page, total, each);
            }
        }
    }

    /// Reads one window in kintone's own order (LNG-131).
    pub fn ordered(
        &mut self,
        scan: &Scan,
        order: &str,
        limit: u64,
        offset: u64,
        each: PageSink<'_>,
    ) -> Result<(), EngineError> {
        let mut page = Page::new(scan.fields.len());
        let mut seen = 0;
        while seen < limit {
            let wanted = (limit - seen).min(PAGE_ROWS as u64);
            let at = offset + seen;
            check_offset(at)?;
            self.get(&scan.ordered(order, wanted, at), &mut page)?;
            self.count_rows(page.rows(), scan.limit)?;
            seen += page.rows() as u64;
            if each(&page)?.is_break() || (page.rows() as u64) < wanted {
                return Ok(());
            }
        }
        Ok(())
    }
}
