//! What each call sends, and how its answer is read.

use ksql_flownet::kintone::{Added, BulkItem, Fields, Secret, Target, Update, Upserted};

use crate::server::{Server, Step, app, audit};

#[test]
fn a_read_has_token_query_and_no_content_type() {
    let body = r#"{"records":[{"$id":{"type":"__ID__","value":"7"},"$revision":{"type":"__REVISION__","value":"2"},
        "status":{"type":"DROP_DOWN","value":null}}],"totalCount":"41"}"#;
    let server = Server::start(vec![Step::ok(body)]);
    let client = server.client();
    let page = client
        .records(&app(), "record_key in (\"K\")", &["$id", "status"], true)
        .unwrap();
    assert_eq!(
        (page.records[0].id(), page.records[0].revision(), page.total),
        (7, 2, Some(41))
    );
    assert_eq!(page.records[0].text("status"), "");
    let got = &server.received()[0];
    assert_eq!(
        got.line(),
        "GET /k/v1/records.json?app=11&query=record_key%20in%20%28%22K%22%29&fields%5B0%5D=%24id&fields%5B1%5D=status&totalCount=true"
    );
    assert_eq!(got.header("x-cybozu-api-token"), Some("state-token"));
    assert_eq!(got.header("accept-language"), Some("ja"));
    assert_eq!(
        got.header("user-agent"),
        Some(concat!("ksql-flownet/", env!("CARGO_PKG_VERSION")))
    );
    for absent in [
        "content-type",
        "content-length",
        "transfer-encoding",
        "authorization",
    ] {
        assert_eq!(got.header(absent), None, "{absent}");
    }
    assert_eq!(client.requests().by_app[&11], 1);
}

#[test]
fn a_long_read_goes_as_post_and_is_still_a_read() {
    let server = Server::start(vec![
        Step::status(503, ""),
        Step::ok(r#"{"records":[],"totalCount":null}"#),
    ]);
    let mut config = server.config();
    config.read_only = true;
    let client = ksql_flownet::kintone::Client::new(config).unwrap();
    let query = format!("k in (\"{}\")", "x".repeat(5000));
    let page = client.records(&app(), &query, &["$id"], false).unwrap();
    assert_eq!((page.records.len(), page.total), (0, None));
    let got = &server.received()[1];
    assert_eq!(got.line(), "POST /k/v1/records.json");
    assert_eq!(got.header("x-http-method-override"), Some("GET"));
    assert_eq!(got.header("content-type"), Some("application/json"));
    let sent: serde_json::Value = serde_json::from_slice(&got.body).unwrap();
    assert_eq!(
        sent,
        serde_json::json!({ "app": 11, "query": query, "fields": ["$id"] })
    );
}

#[test]
fn writes_send_json_and_read_ids() {
    let server = Server::start(vec![
        Step::ok(r#"{"id":"5","revision":"1"}"#),
        Step::ok(r#"{"ids":["6","7"],"revisions":["1","1"]}"#),
        Step::ok(r#"{"revision":"3"}"#),
        Step::ok(r#"{"records":[{"id":"5","revision":"4"}]}"#),
        Step::ok(
            r#"{"records":[{"id":"8","revision":"1","operation":"INSERT"},{"id":"5","revision":"5","operation":"UPDATE"}]}"#,
        ),
        Step::ok("{}"),
    ]);
    let client = server.client();
    let fields = Fields::new().text("a", "x");
    let app = app();
    assert_eq!(client.add(&app, &fields).unwrap(), Added { id: 5, revision: 1 });
    assert_eq!(
        client.add_all(&app, &[fields.clone(), fields.clone()]).unwrap()[1],
        Added { id: 7, revision: 1 }
    );
    assert_eq!(
        client
            .update(&app, &Target::key("k", "v"), Some(2), &fields)
            .unwrap(),
        3
    );
    let update = |target| Update {
        target,
        revision: None,
        fields: fields.clone(),
    };
    assert_eq!(client.update_all(&app, &[update(Target::Id(5))]).unwrap(), [4]);
    let upserted = client
        .upsert_all(
            &app,
            &[update(Target::key("k", "n")), update(Target::key("k", "v"))],
        )
        .unwrap();
    assert_eq!(
        upserted,
        [
            Upserted {
                id: 8,
                revision: 1,
                inserted: true
            },
            Upserted {
                id: 5,
                revision: 5,
                inserted: false
            }
        ]
    );
    client.delete(&app, &[5], None).unwrap();
    let lines: Vec<String> = server
        .received()
        .iter()
        .map(|r| format!("{} {}", r.line(), r.text()))
        .collect();
    assert_eq!(
        lines,
        [
            r#"POST /k/v1/record.json {"app":11,"record":{"a":{"value":"x"}}}"#,
            r#"POST /k/v1/records.json {"app":11,"records":[{"a":{"value":"x"}},{"a":{"value":"x"}}]}"#,
            r#"PUT /k/v1/record.json {"app":11,"updateKey":{"field":"k","value":"v"},"revision":2,"record":{"a":{"value":"x"}}}"#,
            r#"PUT /k/v1/records.json {"app":11,"records":[{"id":5,"record":{"a":{"value":"x"}}}]}"#,
            concat!(
                r#"PUT /k/v1/records.json {"app":11,"upsert":true,"records":[{"updateKey":{"field":"k","value":"n"},"record":{"a":{"value":"x"}}},"#,
                r#"{"updateKey":{"field":"k","value":"v"},"record":{"a":{"value":"x"}}}]}"#
            ),
            r#"DELETE /k/v1/records.json {"app":11,"ids":[5]}"#,
        ]
    );
    assert_eq!((client.requests().total, client.requests().by_app[&11]), (6, 6));
}

#[test]
fn bulk_joins_tokens_and_charges_inner_requests() {
    let server = Server::start(vec![
        Step::ok(
            r#"{"results":[{"revision":"2"},{"id":"9","revision":"1"},{"ids":["1"],"revisions":["1"]}]}"#,
        ),
        Step::status(
            409,
            r#"{"results":[{"code":"GAIA_CO02","id":"i","message":"m"},{},{}]}"#,
        ),
    ]);
    let mut config = server.config();
    config.guest_space = Some(4);
    config.basic_auth = Some(Secret::new("u:p"));
    let client = ksql_flownet::kintone::Client::new(config).unwrap();
    let (state, audit) = (app(), audit());
    let fence = Update {
        target: Target::Id(1),
        revision: Some(1),
        fields: Fields::new().number("revision", 2),
    };
    let items = [
        BulkItem::Update {
            app: &state,
            update: fence,
        },
        BulkItem::Add {
            app: &audit,
            fields: Fields::new().text("b", "y"),
        },
        BulkItem::AddAll {
            app: &state,
            records: vec![Fields::new()],
        },
    ];
    let results = client.bulk(&items).unwrap();
    assert_eq!(results[0]["revision"], "2");
    let got = &server.received()[0];
    assert_eq!(got.line(), "POST /k/guest/4/v1/bulkRequest.json");
    assert_eq!(got.header("x-cybozu-api-token"), Some("state-token,audit-token"));
    assert_eq!(got.header("authorization"), Some("Basic dTpw"));
    assert_eq!(
        got.text(),
        concat!(
            r#"{"requests":[{"method":"PUT","api":"/k/guest/4/v1/record.json","payload":{"app":11,"id":1,"revision":1,"record":{"revision":{"value":2}}}},"#,
            r#"{"method":"POST","api":"/k/guest/4/v1/record.json","payload":{"app":12,"record":{"b":{"value":"y"}}}},"#,
            r#"{"method":"POST","api":"/k/guest/4/v1/records.json","payload":{"app":11,"records":[{}]}}]}"#
        )
    );
    let error = client.bulk(&items).unwrap_err();
    assert_eq!((error.bulk_index(), error.code()), (Some(0), Some("GAIA_CO02")));
    assert_eq!(
        error.to_string(),
        "POST bulkRequest of the state app (app 11) and the audit app (app 12) failed: HTTP 409 GAIA_CO02 in inner request 0"
    );
    let counts = client.requests();
    assert_eq!((counts.total, counts.by_app[&11], counts.by_app[&12]), (2, 4, 2));
}
