//! What is repeated, how often, and what ends it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ksql_flownet::kintone::{
    BulkItem, Client, Config, ErrorKind, Fields, Outcome, Repeat, Request, Statuses, Target, Timeouts, Update,
};

use crate::server::{Server, Step, app};

const EMPTY_PAGE: &str = r#"{"records":[]}"#;

fn client(server: &Server, change: impl FnOnce(&mut Config)) -> Client {
    let mut config = server.config();
    change(&mut config);
    Client::new(config).unwrap()
}

fn read(client: &Client) -> Result<(), ksql_flownet::kintone::Error> {
    client.records(&app(), "", &[], false).map(|_| ())
}

#[test]
fn a_client_is_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Client>();
}

#[test]
fn a_read_survives_four_faults_and_not_five() {
    let faults = [
        Step::status(503, ""),
        Step::Close,
        Step::status(429, ""),
        Step::status(400, r#"{"code":"GAIA_DA02"}"#),
    ];
    let mut script = faults.to_vec();
    script.push(Step::ok(EMPTY_PAGE));
    let server = Server::start(script);
    let client = server.client();
    read(&client).unwrap();
    assert_eq!(
        (
            server.received().len(),
            client.requests().total,
            client.requests().by_app[&11]
        ),
        (5, 5, 5)
    );

    let server = Server::start([faults.as_slice(), &[Step::status(502, "")]].concat());
    let error = read(&server.client()).unwrap_err();
    assert_eq!(
        (error.status(), error.attempts(), server.received().len()),
        (Some(502), 5, 5)
    );
    assert_eq!(
        error.to_string(),
        "GET records of the state app (app 11) failed: HTTP 502 (5 attempts)"
    );
}

#[test]
fn a_read_does_not_insist_on_what_will_not_pass() {
    for (status, body) in [
        (400, r#"{"code":"GAIA_IQ11"}"#),
        (401, ""),
        (403, ""),
        (404, ""),
        (302, ""),
    ] {
        let server = Server::start(vec![Step::status(status, body)]);
        assert_eq!(read(&server.client()).unwrap_err().attempts(), 1, "{status}");
    }
    let server = Server::start(vec![Step::status(501, "")]);
    let runner = client(&server, |config| config.retry.statuses = Statuses::Runner);
    assert_eq!(read(&runner).unwrap_err().attempts(), 1);
}

#[test]
fn a_connection_that_is_dropped_before_the_request_is_tried_again() {
    let server = Server::start(vec![Step::Drop, Step::Drop, Step::ok(EMPTY_PAGE)]);
    read(&server.client()).unwrap();
    assert_eq!((server.connections(), server.received().len()), (3, 1));
}

#[test]
fn retry_after_is_honoured_and_the_deadline_is_stronger() {
    let later = |seconds: &str| Step::with_header(429, "Retry-After", seconds, "");
    let server = Server::start(vec![later("3600"), Step::ok(EMPTY_PAGE)]);
    let patient = server.client();
    patient.set_read_deadline(Some(Instant::now() + Duration::from_secs(20)));
    // 3600 s are capped at 30 s, which is beyond the deadline: no second try.
    assert_eq!(read(&patient).unwrap_err().attempts(), 1);
    patient.set_read_deadline(None);
    read(&patient).unwrap();

    let server = Server::start(vec![
        later("0"),
        later("Thu, 01 Jan 1970 00:00:00 GMT"),
        Step::ok(EMPTY_PAGE),
    ]);
    read(&client(&server, |config| {
        config.retry.first = Duration::from_hours(1);
    }))
    .unwrap();

    let server = Server::start(vec![later("3600"), Step::ok(EMPTY_PAGE)]);
    read(&client(&server, |config| {
        config.retry.respect_retry_after = false;
    }))
    .unwrap();
}

#[test]
fn settings_beyond_all_reason_do_no_harm() {
    let server = Server::start(vec![
        Step::with_header(503, "Retry-After", "0", ""),
        Step::ok(EMPTY_PAGE),
    ]);
    let client = client(&server, |config| {
        config.timeouts = Timeouts {
            connect: Duration::MAX,
            request: Duration::MAX,
            transfer: Duration::MAX,
        };
        config.retry.first = Duration::MAX;
        config.retry.cap = Duration::MAX;
        config.retry.attempts = u32::MAX;
    });
    client.set_read_deadline(Some(Instant::now() + Duration::from_hours(1)));
    read(&client).unwrap();
}

#[test]
fn a_read_near_its_deadline_gets_no_more_time_than_is_left() {
    let server = Server::start(vec![Step::Hang]);
    let client = server.client();
    client.set_read_deadline(Some(Instant::now()));
    // With the full 60 s this test would not end.
    let error = read(&client).unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Transport, 1));
}

#[test]
fn a_deadline_that_is_moved_in_time_lets_a_read_go_on() {
    let server = Server::start(vec![Step::status(503, ""), Step::ok(EMPTY_PAGE)]);
    let client = server.client();
    // A frozen process wakes up after its deadline; the heartbeat renews the lease while the read fails.
    client.set_read_deadline(Some(Instant::now()));
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| read(&client));
        while server.received().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        client.set_read_deadline(Some(Instant::now() + Duration::from_hours(1)));
        reading.join().unwrap().unwrap();
    });
}

#[test]
fn the_stop_flag_ends_a_wait() {
    let stop = Arc::new(AtomicBool::new(false));
    let server = Server::start(vec![Step::with_header(503, "Retry-After", "30", "")]);
    let client = client(&server, |config| config.stop = Some(stop.clone()));
    let waiting = std::thread::spawn(move || read(&client).unwrap_err().attempts());
    while server.received().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    stop.store(true, Ordering::Relaxed);
    assert_eq!(waiting.join().unwrap(), 1);
}

#[test]
fn the_request_limit_counts_repetitions() {
    let server = Server::start(vec![
        Step::status(503, ""),
        Step::status(503, ""),
        Step::ok(EMPTY_PAGE),
    ]);
    let client = client(&server, |config| config.max_requests = Some(2));
    let error = read(&client).unwrap_err();
    assert_eq!(
        (error.kind(), error.attempts(), server.received().len()),
        (ErrorKind::BudgetExhausted, 2, 2)
    );
    let error = client.add(&app(), &Fields::new()).unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome(), error.attempts()),
        (ErrorKind::BudgetExhausted, Outcome::NotApplied, 0)
    );
    assert_eq!(client.requests().total, 2);
}

#[test]
fn a_read_only_client_sends_no_write() {
    let server = Server::start(vec![Step::ok(EMPTY_PAGE)]);
    let client = client(&server, |config| config.read_only = true);
    let app = app();
    let fields = Fields::new();
    let item = BulkItem::Add {
        app: &app,
        fields: fields.clone(),
    };
    for error in [
        client.add(&app, &fields).unwrap_err(),
        client.update(&app, &Target::Id(1), None, &fields).unwrap_err(),
        client.delete(&app, &[1], None).unwrap_err(),
        client.bulk(&[item]).unwrap_err(),
        client.upload(&app, "a", "text/plain", b"x").unwrap_err(),
        client
            .send(&Request::post("records/cursor.json", &[&app], &()))
            .unwrap_err(),
    ] {
        assert_eq!(
            (error.kind(), error.outcome()),
            (ErrorKind::ReadOnly, Outcome::NotApplied)
        );
    }
    read(&client).unwrap();
    assert_eq!((server.received().len(), client.requests().total), (1, 1));
}

#[test]
fn too_much_for_one_request_is_refused_here() {
    let server = Server::start(vec![]);
    let (client, app) = (server.client(), app());
    let fields = vec![Fields::new(); 101];
    let many: Vec<BulkItem> = fields[..21]
        .iter()
        .map(|f| BulkItem::Add {
            app: &app,
            fields: f.clone(),
        })
        .collect();
    for error in [
        client.add_all(&app, &fields).unwrap_err(),
        client.delete(&app, &[1; 101], None).unwrap_err(),
        client.bulk(&many).unwrap_err(),
        client.bulk(&[]).unwrap_err(),
        client
            .bulk(&[BulkItem::AddAll {
                app: &app,
                records: vec![],
            }])
            .unwrap_err(),
        client
            .bulk(&[BulkItem::AddAll {
                app: &app,
                records: fields.clone(),
            }])
            .unwrap_err(),
    ] {
        assert_eq!(
            (error.kind(), error.outcome(), error.attempts()),
            (ErrorKind::Request, Outcome::NotApplied, 0)
        );
    }
    assert_eq!(client.add_all(&app, &[]).unwrap(), []);
    client.delete(&app, &[], None).unwrap();
    assert_eq!(server.connections(), 0);
}

#[test]
fn the_runner_repeats_writes_that_bear_it() {
    let again = |script: Vec<Step>| {
        let server = Server::start(script);
        let client = client(&server, |config| config.retry.writes = true);
        (server, client)
    };
    let update = Update {
        target: Target::key("k", "v"),
        revision: None,
        fields: Fields::new(),
    };

    let done = r#"{"records":[{"id":"1","revision":"2","operation":"UPDATE"}]}"#;
    let (server, client) = again(vec![Step::status(503, ""), Step::Close, Step::ok(done)]);
    client.upsert_all(&app(), std::slice::from_ref(&update)).unwrap();
    assert_eq!(server.received().len(), 3);

    // An insert may have happened: stop. A proved refusal: go on.
    let (server, client) = again(vec![Step::status(503, "")]);
    assert_eq!(
        client.add(&app(), &Fields::new()).unwrap_err().outcome(),
        Outcome::Unknown
    );
    assert_eq!(server.received().len(), 1);
    let (server, client) = again(vec![
        Step::status(429, ""),
        Step::ok(r#"{"id":"1","revision":"1"}"#),
    ]);
    client.add(&app(), &Fields::new()).unwrap();
    assert_eq!(server.received().len(), 2);

    // A later refusal does not take back that an earlier attempt may have happened.
    let (_, client) = again(vec![Step::Close, Step::status(400, r#"{"code":"CB_VA01"}"#)]);
    let error = client.upsert_all(&app(), &[update]).unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome(), error.attempts()),
        (ErrorKind::Invalid, Outcome::Unknown, 2)
    );

    // A revision check would make the repetition ambiguous.
    let (server, client) = again(vec![Step::Close]);
    client
        .update(&app(), &Target::Id(1), Some(3), &Fields::new())
        .unwrap_err();
    assert_eq!(server.received().len(), 1);
}

#[test]
fn raw_requests_say_for_themselves_what_they_bear() {
    let app = app();
    let body = serde_json::json!({ "apps": [{ "app": 11 }] });
    let server = Server::start(vec![Step::status(500, ""), Step::ok("{}")]);
    let request = Request::post("preview/app/deploy.json", &[&app], &body).repeat(Repeat::Idempotent);
    assert_eq!(server.client().send(&request).unwrap().body, b"{}");
    assert_eq!(server.received()[1].line(), "POST /k/v1/preview/app/deploy.json");
    assert_eq!(server.received()[1].text(), body.to_string());

    // A read cannot be talked out of being one.
    let server = Server::start(vec![Step::status(500, ""), Step::ok("{}")]);
    let parameters = vec![("apps", serde_json::json!([11]))];
    let request = Request::get("preview/app/deploy.json", &app, parameters).repeat(Repeat::Never);
    assert_eq!(
        server.client().send_json(&request).unwrap(),
        serde_json::json!({})
    );
    assert_eq!(
        server.received()[1].line(),
        "GET /k/v1/preview/app/deploy.json?apps%5B0%5D=11"
    );
}

#[test]
fn the_observer_sees_every_attempt_and_the_clock_is_measured() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let dated = Step::with_header(200, "Date", "Thu, 01 Jan 1970 00:00:10 GMT", EMPTY_PAGE);
    let server = Server::start(vec![Step::status(503, ""), dated]);
    let client = client(&server, |config| {
        config.observer = Some(Arc::new(move |trace| {
            let failure = trace.error.map(ToString::to_string);
            log.lock()
                .unwrap()
                .push((trace.request.to_owned(), trace.attempt, failure));
        }));
    });
    assert_eq!(client.clock_offset_ms(), None);
    read(&client).unwrap();
    let request = "GET records of the state app (app 11)".to_owned();
    let failure = Some(format!("{request} failed: HTTP 503"));
    assert_eq!(
        *seen.lock().unwrap(),
        [(request.clone(), 1, failure), (request, 2, None)]
    );
    let day_ms = 86_400_000;
    assert!(client.clock_offset_ms().unwrap() < -50 * 365 * day_ms);
}
