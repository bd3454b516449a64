//! Keyset reads (QRY-16).

use ksql_flownet::kintone::{Answer, Client, ErrorKind};

use crate::server::{Server, Step, app};

fn page(ids: impl Iterator<Item = u64>) -> Step {
    let records: Vec<_> = ids
        .map(|id| serde_json::json!({ "$id": { "value": id.to_string() } }))
        .collect();
    Step::ok(&serde_json::json!({ "records": records, "totalCount": null }).to_string())
}

fn queries(server: &Server) -> Vec<String> {
    server
        .received()
        .iter()
        .map(|r| r.target.replace("%20", " ").replace("%24", "$"))
        .collect()
}

#[test]
fn goes_on_until_a_page_is_not_full() {
    let server = Server::start(vec![
        page(1..=500),
        page((1000..1999).step_by(2)),
        page(std::iter::empty()),
    ]);
    let records = server.client().all_by_id(&app(), "a = 1", &["a"]).unwrap();
    assert_eq!((records.len(), records[999].id()), (1000, 1998));
    let tail = "order by $id asc limit 500&fields%5B0%5D=a&fields%5B1%5D=$id";
    assert_eq!(
        queries(&server),
        [0, 500, 1998].map(|last| {
            format!("/k/v1/records.json?app=11&query=%28a %3D 1%29 and $id %3E {last} {tail}")
        })
    );
}

#[test]
fn no_condition_and_all_fields() {
    let server = Server::start(vec![page(3..=3)]);
    assert_eq!(server.client().all_by_id(&app(), "", &[]).unwrap().len(), 1);
    assert_eq!(
        queries(&server),
        ["/k/v1/records.json?app=11&query=$id %3E 0 order by $id asc limit 500"]
    );
}

#[test]
fn ids_that_do_not_rise_are_a_broken_answer() {
    for ids in [vec![2, 1], vec![0], vec![5, 5]] {
        let server = Server::start(vec![page(ids.into_iter())]);
        let mut config = server.config();
        config.retry.attempts = 1;
        let error = Client::new(config)
            .unwrap()
            .all_by_id(&app(), "", &[])
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BodyInvalid);
    }
}

#[test]
fn pages_end_when_the_caller_has_enough() {
    let server = Server::start(vec![page(1..=500), page(501..=1000)]);
    let mut seen = 0;
    server
        .client()
        .each_page(&app(), "", &["$id"], |records| {
            seen += records.len();
            false
        })
        .unwrap();
    assert_eq!((seen, server.received().len()), (500, 1));
}

#[test]
fn the_raw_body_and_an_own_decoder() {
    let body = r#"{"records":[],"totalCount":"0"}"#;
    let server = Server::start(vec![
        Step::ok("{"),
        Step::ok(body),
        Step::ok("{}"),
        Step::ok(body),
    ]);
    let client = server.client();
    assert_eq!(
        client.records_body(&app(), "", &[], true).unwrap(),
        body.as_bytes()
    );
    let length = |answer: &Answer| (answer.body.len() > 2).then_some(answer.body.len());
    assert_eq!(
        client.records_with(&app(), "", &[], true, length).unwrap(),
        body.len()
    );
    assert_eq!(server.received().len(), 4);
}

#[test]
fn form_and_settings() {
    let server = Server::start(vec![
        Step::ok(r#"{"properties":{},"revision":"3"}"#),
        Step::ok(r#"{"name":"x"}"#),
    ]);
    let client = server.client();
    assert_eq!(client.form_fields(&app()).unwrap()["revision"], "3");
    assert_eq!(client.app_settings(&app()).unwrap()["name"], "x");
    assert_eq!(
        queries(&server),
        [
            "/k/v1/app/form/fields.json?app=11",
            "/k/v1/app/settings.json?app=11"
        ]
    );
}
