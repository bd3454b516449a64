//! Several requests of one statement in flight: which may be, what a failure among them means, and what is told of it.

use std::cell::RefCell;
use std::sync::{Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use ksql_flownet::flow::apps::{
    AppId, AppSummary, Apps, AppsError, Form, NumberPrecision, Page, PageRequest, WriteChunk, WritePermit,
    WriteTarget, Written,
};
use ksql_flownet::flow::exec::{ChunkEvent, Config, EngineError, ErrorKind, Interrupt, Observer, Session};
use ksql_flownet::flow::script::{ParseOptions, parse};
use ksql_flownet::flow::sql::message::Language;
use serde_json::{Value, json};

use super::kintone::Kintone;
use super::run::config;

/// Longest wait for requests that should come together.
const PATIENCE: Duration = Duration::from_secs(30);
/// Rows of the app that is written: six chunks.
const ROWS: u64 = 550;

/// What a [`Gate`] has seen.
#[derive(Default)]
struct Seen {
    now: usize,
    peak: usize,
    writes: usize,
    threads: Vec<ThreadId>,
    lookups: usize,
    /// The thread of the refused chunk has ended.
    refuser_gone: bool,
}

/// The model behind a gate that lets requests pass in company only.
struct Gate {
    inner: Kintone,
    seen: Mutex<Seen>,
    changed: Condvar,
    /// The write with this number (from 1) and those after it wait until so many have come.
    company: Option<(usize, usize)>,
    /// Lookups of keys wait until so many have come.
    lookups: usize,
    /// The chunk with the record of this number is refused; no other ends before its thread has.
    refused: Option<u64>,
    /// Every write is refused for the reason that this gives for the first record of its chunk.
    all_refused: Option<fn(u64) -> &'static str>,
}

/// Tells the gate that its thread has ended: it has found nothing more to do.
struct Farewell(&'static Gate);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.change(|seen| seen.refuser_gone = true);
    }
}

thread_local! {
    static HELD: RefCell<Option<Farewell>> = const { RefCell::new(None) };
}

impl Gate {
    /// Customers `k1` ... and a table of as many names.
    fn new(customers: u64) -> Self {
        let fixtures = super::read(&super::folder().join("fixtures.json"));
        let names = |count: u64| {
            (1..=count)
                .map(|i| json!([format!("k{i}")]))
                .collect::<Vec<Value>>()
        };
        let tables = json!({
            "APP51": {"fields": {"名": "SINGLE_LINE_TEXT"}, "columns": ["名"], "rows": names(ROWS)},
            "APP52": {
                "fields": {"鍵": {"type": "SINGLE_LINE_TEXT", "unique": true}, "値": "SINGLE_LINE_TEXT"},
                "columns": ["鍵"], "rows": names(customers),
            },
        });
        Self {
            inner: Kintone::new(&fixtures, &tables),
            seen: Mutex::default(),
            changed: Condvar::new(),
            company: None,
            lookups: 0,
            refused: None,
            all_refused: None,
        }
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap());
        self.changed.notify_all();
    }

    fn wait_until(&self, ready: impl Fn(&Seen) -> bool) {
        let seen = self.seen.lock().unwrap();
        let (_seen, late) = self
            .changed
            .wait_timeout_while(seen, PATIENCE, |seen| !ready(seen))
            .unwrap();
        assert!(!late.timed_out(), "the requests did not come together");
    }

    fn peak(&self) -> usize {
        self.seen.lock().unwrap().peak
    }

    fn held(&'static self, chunk: &WriteChunk<'_>) -> Result<(), AppsError> {
        if let Some(why) = self.all_refused
            && let Some(WriteTarget::Id(first)) = chunk.rows().first().map(|row| &row.target)
        {
            return Err(AppsError::new(why(*first)));
        }
        let Some(refused) = self.refused else {
            return Ok(());
        };
        if chunk
            .rows()
            .iter()
            .any(|row| row.target == WriteTarget::Id(refused))
        {
            HELD.with(|held| *held.borrow_mut() = Some(Farewell(self)));
            return Err(AppsError::new("GAIA_XX99"));
        }
        self.wait_until(|seen| seen.refuser_gone);
        Ok(())
    }
}

impl Apps for &'static Gate {
    fn form(&self, app: AppId) -> Result<Form, AppsError> {
        self.inner.form(app)
    }

    fn states(&self, app: AppId) -> Result<Vec<String>, AppsError> {
        self.inner.states(app)
    }

    fn number_precision(&self, app: AppId) -> Result<NumberPrecision, AppsError> {
        self.inner.number_precision(app)
    }

    fn page(&self, request: &PageRequest, into: &mut Page) -> Result<(), AppsError> {
        if self.lookups > 0 && request.query.contains("鍵 in (") {
            self.change(|seen| seen.lookups += 1);
            self.wait_until(|seen| seen.lookups >= self.lookups);
        }
        self.inner.page(request, into)
    }

    fn write(&self, permit: &WritePermit, chunk: &WriteChunk<'_>) -> Result<Written, AppsError> {
        let mut number = 0;
        self.change(|seen| {
            seen.now += 1;
            seen.peak = seen.peak.max(seen.now);
            seen.writes += 1;
            seen.threads.push(thread::current().id());
            number = seen.writes;
        });
        if let Some((from, together)) = self.company
            && number >= from
        {
            self.wait_until(|seen| seen.writes >= from + together - 1);
        }
        let written = self.held(chunk).and_then(|()| self.inner.write(permit, chunk));
        self.change(|seen| seen.now -= 1);
        written
    }

    fn list(&self) -> Result<Vec<AppSummary>, AppsError> {
        self.inner.list()
    }
}

#[derive(Default)]
struct Watch {
    events: Mutex<Vec<ChunkEvent>>,
    /// Stop once this gate has seen so many writes.
    stop: Option<(&'static Gate, usize)>,
}

impl Observer for Watch {
    fn interrupted(&self) -> Option<Interrupt> {
        let (gate, writes) = self.stop?;
        (gate.seen.lock().unwrap().writes >= writes).then_some(Interrupt::Cancelled)
    }

    fn chunk_written(&self, event: &ChunkEvent) {
        self.events.lock().unwrap().push(event.clone());
    }
}

impl Watch {
    /// Numbers of the chunks told of, sorted; length of the unbroken row and its last key.
    fn told(&self) -> (Vec<u64>, u64, Option<String>) {
        let events = self.events.lock().unwrap();
        let mut chunks: Vec<u64> = events.iter().map(|event| event.chunk).collect();
        chunks.sort_unstable();
        let last = events.iter().rfind(|event| event.unbroken > 0);
        (
            chunks,
            events.iter().map(|event| event.unbroken).sum(),
            last.and_then(|event| event.unbroken_key.clone()),
        )
    }
}

/// The test's own gate for the rest of the process: threads that have ended still refer to it.
fn gate(customers: u64, set: impl FnOnce(&mut Gate)) -> &'static Gate {
    let mut gate = Gate::new(customers);
    set(&mut gate);
    Box::leak(Box::new(gate))
}

fn run(gate: &'static Gate, width: usize, watch: &Watch, sql: &str) -> Result<Written, EngineError> {
    run_with(gate, watch, sql, |config| config.requests_in_flight = width)
}

fn run_with(
    gate: &'static Gate,
    watch: &Watch,
    sql: &str,
    set: impl FnOnce(&mut Config),
) -> Result<Written, EngineError> {
    let mut settings = config(&json!({}), true);
    set(&mut settings);
    let script = parse(&format!("-- @ksql dialect: 1\n{sql}"), &ParseOptions::default());
    assert!(!script.has_errors(), "{sql}: {:?}", script.diagnostics);
    let mut session = Session::new(&gate, settings, watch);
    let mut written = Written::default();
    for statement in &script.statements {
        written += session.run(statement)?.written;
    }
    Ok(written)
}

const UPDATE: &str = "UPDATE APP51 SET 名 = 'x' WHERE 名 != ''";
const DELETE: &str = "DELETE FROM APP51 WHERE 名 != ''";
const UPSERT: &str = "UPSERT INTO APP52 (鍵, 値) SELECT 名, 'x' FROM APP51 KEY (鍵)";

#[test]
fn updates_and_deletions_are_in_flight_together() {
    for sql in [UPDATE, DELETE] {
        for width in [1, 2, 4] {
            let gate = gate(0, |gate| gate.company = Some((1, width)));
            let watch = Watch::default();
            let written = run(gate, width, &watch, sql).unwrap();
            assert_eq!(written.total(), ROWS, "{sql}");
            assert_eq!(gate.peak(), width, "{sql}");
            assert_eq!(watch.told(), (vec![1, 2, 3, 4, 5, 6], 6, None), "{sql}");
        }
    }
}

#[test]
fn a_single_chunk_needs_no_thread() {
    for sql in [
        "UPDATE APP51 SET 名 = 'x' WHERE $id <= 100",
        "DELETE FROM APP51 WHERE $id <= 100",
        "UPSERT INTO APP52 (鍵, 値) SELECT 名, 'x' FROM APP51 WHERE $id <= 100 KEY (鍵)",
    ] {
        let gate = gate(ROWS, |_| ());
        run(gate, 4, &Watch::default(), sql).unwrap();
        assert_eq!(
            gate.seen.lock().unwrap().threads,
            [thread::current().id()],
            "{sql}"
        );
    }
}

#[test]
fn a_refused_chunk_ends_the_statement_when_those_in_flight_have_landed() {
    let gate = gate(0, |gate| {
        gate.company = Some((1, 4));
        gate.refused = Some(150);
    });
    let watch = Watch::default();
    let error = run(gate, 4, &watch, UPDATE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Apps);
    assert_eq!(error.apps_error().unwrap().to_string(), "GAIA_XX99");
    // Chunk 2 is missing: 3 and 4 are written, but nothing may be said to be done up to them.
    assert_eq!(watch.told(), (vec![1, 3, 4], 1, None));
    assert_eq!(gate.inner.writes().len(), 300);
    assert_eq!(
        gate.seen.lock().unwrap().writes,
        4,
        "nothing was begun after the refusal"
    );
    let text = error.message(Language::English);
    assert!(
        text.ends_with(
            "it was chunk 2 of the statement, of which 300 records are known to be written (2 later chunks among them)"
        ),
        "{text}"
    );
    let text = error.message(Language::Japanese);
    assert!(
        text.contains("2 番目のチャンク") && text.contains("300 レコード"),
        "{text}"
    );
}

#[test]
fn of_several_failures_the_first_chunk_speaks_and_the_others_are_named() {
    let gate = gate(0, |gate| {
        gate.company = Some((1, 4));
        gate.all_refused = Some(|first| if first == 201 { "lost" } else { "refused" });
    });
    let watch = Watch::default();
    let error = run(gate, 4, &watch, UPDATE).unwrap_err();
    assert_eq!(
        error.message(Language::English),
        "ApiError: refused; it was chunk 1 of the statement, of which 0 records are known to be written; \
         chunk 3 failed too: lost; chunks 2, 4 failed in the same way"
    );
    assert_eq!(watch.told(), (vec![], 0, None));
}

#[test]
fn an_interrupt_lets_those_in_flight_land() {
    let gate = gate(0, |gate| gate.company = Some((1, 4)));
    let watch = Watch {
        stop: Some((gate, 4)),
        ..Watch::default()
    };
    let error = run(gate, 4, &watch, UPDATE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted(Interrupt::Cancelled));
    assert_eq!(watch.told(), (vec![1, 2, 3, 4], 4, None));
    assert_eq!(gate.inner.writes().len(), 400);
}

/// Keys in the order of the new records' numbers.
fn keys_by_number(gate: &Gate) -> Vec<String> {
    let state = gate.inner.state.lock().unwrap();
    let app = &state.apps[&AppId(52)];
    app.records.iter().map(|record| app.cell(record, "鍵")).collect()
}

#[test]
fn a_first_load_is_numbered_in_the_order_of_the_source() {
    let gate = gate(0, |_| ());
    let watch = Watch::default();
    let written = run(gate, 4, &watch, UPSERT).unwrap();
    assert_eq!((written.inserted, gate.peak()), (ROWS, 1));
    let expected: Vec<String> = (1..=ROWS).map(|i| format!("k{i}")).collect();
    assert_eq!(keys_by_number(gate), expected);
    assert_eq!(watch.told(), ((1..=6).collect(), 6, Some("k550".to_owned())));
}

#[test]
fn an_upsert_that_adds_nothing_is_in_flight_together_after_its_first_chunk() {
    let gate = gate(ROWS, |gate| gate.company = Some((2, 4)));
    let watch = Watch::default();
    let written = run(gate, 4, &watch, UPSERT).unwrap();
    assert_eq!((written.updated, gate.peak()), (ROWS, 4));
    assert_eq!(watch.told(), ((1..=6).collect(), 6, Some("k550".to_owned())));
}

#[test]
fn an_upsert_that_begins_to_add_goes_on_one_by_one() {
    // Chunks 1 and 2 change, 3 adds a half; from then on each adds.
    let gate = gate(250, |_| ());
    let watch = Watch::default();
    let written = run(gate, 2, &watch, UPSERT).unwrap();
    assert_eq!((written.inserted, written.updated), (300, 250));
    assert!(gate.peak() <= 2);
    let numbered = keys_by_number(gate);
    // Chunk 2 was in flight with 3, and 4 may have been: only these can have changed places.
    assert_eq!(
        numbered[400..],
        (401..=ROWS).map(|i| format!("k{i}")).collect::<Vec<_>>()
    );
    let (chunks, unbroken, key) = watch.told();
    assert_eq!((chunks.len(), unbroken, key), (6, 6, Some("k550".to_owned())));
}

#[test]
fn order_by_and_keys_that_kintone_may_not_tell_apart_keep_the_order() {
    for sql in [
        "UPSERT INTO APP52 (鍵, 値) SELECT 名, 'x' FROM APP51 ORDER BY 名 DESC KEY (鍵)",
        "UPSERT INTO APP52 (鍵, 値) SELECT 名, 'x' FROM APP51 UNION ALL SELECT 'Ｋ１', 'y' FROM APP51 WHERE $id = 1 KEY (鍵)",
    ] {
        let gate = gate(ROWS, |_| ());
        run(gate, 4, &Watch::default(), sql).unwrap();
        assert_eq!(gate.peak(), 1, "{sql}");
        let threads = gate.seen.lock().unwrap().threads.clone();
        assert!(threads.iter().all(|id| *id == thread::current().id()), "{sql}");
    }
}

#[test]
fn values_that_may_collide_with_those_of_other_records_are_written_in_order() {
    // Each takes the key that the record before it gives up.
    let gate = gate(ROWS, |_| ());
    let sql = "UPDATE APP52 SET 鍵 = CONCAT('k', $id - 1) WHERE 鍵 != ''";
    let written = run(gate, 4, &Watch::default(), sql).unwrap();
    assert_eq!((written.updated, gate.peak()), (ROWS, 1));
    // The same without the unique field.
    let gate = self::gate(ROWS, |gate| gate.company = Some((1, 4)));
    run(
        gate,
        4,
        &Watch::default(),
        "UPDATE APP52 SET 値 = 'x' WHERE 鍵 != ''",
    )
    .unwrap();
    assert_eq!(gate.peak(), 4);
}

#[test]
fn without_the_right_to_upsert_lookups_and_changes_are_in_flight_together_but_additions_are_not() {
    // 250 records are known: 3 chunks to add, then 3 to change.
    let gate = gate(250, |gate| {
        gate.company = Some((4, 3));
        gate.lookups = 4;
    });
    let watch = Watch::default();
    let written = run_with(gate, &watch, UPSERT, |config| config.native_upsert = false).unwrap();
    assert_eq!((written.inserted, written.updated, gate.peak()), (300, 250, 3));
    let expected: Vec<String> = (1..=ROWS).map(|i| format!("k{i}")).collect();
    assert_eq!(keys_by_number(gate), expected);
    let seen = gate.seen.lock().unwrap();
    assert_eq!((seen.lookups, seen.writes), (6, 6));
    assert!(seen.threads[..3].iter().all(|id| *id == thread::current().id()));
    assert_eq!(watch.told(), ((1..=6).collect(), 6, Some("k250".to_owned())));
}
