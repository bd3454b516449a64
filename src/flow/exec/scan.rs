//! Reading an app page by page in the order of `$id` (LNG-193): every page is an idempotent GET after the last record
//! of the page before, so that records added or removed meanwhile are never read twice and never hide others.

use std::ops::ControlFlow;

use crate::flow::apps::{AppId, Apps, PAGE_ROWS, Page, PageRequest};
use crate::flow::plan::push;
use crate::flow::sql::message::say;

use super::EngineError;
use super::config::{Config, DEFAULT_MAX_READ_ROWS, Observer};

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
    /// The rows are folded away at once: the default read limit does not apply (LNG-180).
    pub streaming: bool,
    /// No more than so many matching records are wanted.
    pub at_most: Option<u64>,
}

/// Reads records and counts them.
pub(in crate::flow) struct Reader<'a> {
    apps: &'a dyn Apps,
    observer: &'a dyn Observer,
    max_read_rows: Option<u64>,
    /// Rows read by the statement.
    pub rows_read: u64,
    /// Rows of it that count against the limit.
    limited_rows: u64,
    /// A keyword search was cut short (LNG-181).
    pub search_aborted: bool,
}

impl<'a> Reader<'a> {
    pub fn new(apps: &'a dyn Apps, observer: &'a dyn Observer, config: &Config) -> Self {
        Self {
            apps,
            observer,
            max_read_rows: config.max_read_rows,
            rows_read: 0,
            limited_rows: 0,
            search_aborted: false,
        }
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
    }

    /// Stops between two requests if the run was asked to.
    pub fn check_interrupt(&self) -> Result<(), EngineError> {
        match self.observer.interrupted() {
            Some(interrupt) => Err(EngineError::interrupted(interrupt)),
            None => Ok(()),
        }
    }

    fn limit(&self, streaming: bool) -> Option<u64> {
        match self.max_read_rows {
            None if streaming => None,
            limit => Some(limit.unwrap_or(DEFAULT_MAX_READ_ROWS)),
        }
    }

    fn get(&mut self, request: &PageRequest, page: &mut Page) -> Result<(), EngineError> {
        self.check_interrupt()?;
        self.apps.page(request, page)?;
        self.search_aborted |= page.search_aborted;
        Ok(())
    }

    fn count_rows(&mut self, rows: usize, streaming: bool) -> Result<(), EngineError> {
        self.rows_read += rows as u64;
        if let Some(limit) = self.limit(streaming) {
            self.limited_rows += rows as u64;
            if self.limited_rows > limit {
                return Err(EngineError::read_limit(limit));
            }
        }
        Ok(())
    }

    /// Number of records that a condition matches: one request (LNG-192).
    pub fn count(&mut self, app: AppId, condition: &str) -> Result<u64, EngineError> {
        let query = if condition.is_empty() {
            "limit 1".to_owned()
        } else {
            format!("{condition} limit 1")
        };
        let request = PageRequest {
            app,
            query,
            fields: vec!["$id".to_owned()],
            total_count: true,
        };
        let mut page = Page::new(1);
        self.get(&request, &mut page)?;
        Ok(page.total_count.unwrap_or(page.rows() as u64))
    }

    /// Calls `each` for every page until it breaks or all matching records were seen.
    pub fn scan(
        &mut self,
        scan: &Scan,
        each: &mut dyn FnMut(&Page) -> Result<ControlFlow<()>, EngineError>,
    ) -> Result<(), EngineError> {
        let mut page = Page::new(scan.fields.len());
        let mut last: Option<u64> = None;
        let mut seen = 0u64;
        let mut total: Option<u64> = None;
        loop {
            let condition = match last {
                None => scan.condition.clone(),
                Some(id) => push::and(&scan.condition, &format!("$id > {id}")),
            };
            let wanted = scan
                .at_most
                .map_or(PAGE_ROWS as u64, |most| (most - seen).min(PAGE_ROWS as u64));
            let space = if condition.is_empty() { "" } else { " " };
            let request = PageRequest {
                app: scan.app,
                query: format!("{condition}{space}order by $id asc limit {wanted}"),
                fields: scan.fields.clone(),
                // The number of matches saves the empty page after an exact multiple, and tells at once if it is too much.
                total_count: last.is_none() && scan.at_most.is_none(),
            };
            self.get(&request, &mut page)?;
            if let Some(expected) = page.total_count {
                total = Some(expected);
                if let Some(limit) = self.limit(scan.streaming)
                    && self.limited_rows + expected > limit
                    && scan.at_most.is_none()
                {
                    return Err(EngineError::read_limit(limit));
                }
            }
            self.count_rows(page.rows(), scan.streaming)?;
            seen += page.rows() as u64;
            let full = page.rows() as u64 == wanted;
            if each(&page)?.is_break() || !full {
                return Ok(());
            }
            if total.is_some_and(|total| seen >= total) || scan.at_most.is_some_and(|most| seen >= most) {
                return Ok(());
            }
            last = page
                .rows()
                .checked_sub(1)
                .and_then(|row| page.cell(row, 0).parse().ok());
        }
    }

    /// Reads one window in kintone's own order (LNG-131).
    pub fn ordered(
        &mut self,
        scan: &Scan,
        order: &str,
        limit: u64,
        offset: u64,
        each: &mut dyn FnMut(&Page) -> Result<ControlFlow<()>, EngineError>,
    ) -> Result<(), EngineError> {
        let mut page = Page::new(scan.fields.len());
        let mut seen = 0;
        while seen < limit {
            let wanted = (limit - seen).min(PAGE_ROWS as u64);
            let at = offset + seen;
            if at > MAX_OFFSET {
                return Err(EngineError::argument(say!(
                    "KORDER BY reaches at most offset {MAX_OFFSET}",
                    "KORDER BY で読めるのはオフセット {MAX_OFFSET} までです"
                )));
            }
            let space = if scan.condition.is_empty() { "" } else { " " };
            let condition = &scan.condition;
            let request = PageRequest {
                app: scan.app,
                query: format!("{condition}{space}order by {order} limit {wanted} offset {at}"),
                fields: scan.fields.clone(),
                total_count: false,
            };
            self.get(&request, &mut page)?;
            self.count_rows(page.rows(), scan.streaming)?;
            seen += page.rows() as u64;
            if each(&page)?.is_break() || (page.rows() as u64) < wanted {
                return Ok(());
            }
        }
        Ok(())
    }
}
