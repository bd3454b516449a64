//! Apps of the tests' own: every field type, required fields, defaults, lookups, guest spaces.
use serde_json::{Map, Value as Json, json};

use crate::harness::{Answer, Sandbox};

/// App with every field type, nothing required. Token `lab` has every right.
pub const LAB: u64 = 100;
/// App with a required field of every type. Token `strict`.
pub const STRICT: u64 = 101;
/// App with defaults. Token `defaults`.
pub const DEFAULTS: u64 = 102;
/// Source of the lookups. Token `source`.
pub const SOURCE: u64 = 103;
/// App with lookups. Token `target`.
pub const TARGET: u64 = 104;
/// Apps in guest spaces 5 and 6 and in the normal space 7. Tokens `guest5`, `guest6`, `space7`.
pub const GUEST5: u64 = 105;
pub const GUEST6: u64 = 106;
pub const SPACE7: u64 = 107;

/// Options as a definition wants them.
pub fn options(labels: &[&str]) -> Json {
    let entries: Map<String, Json> = labels
        .iter()
        .enumerate()
        .map(|(index, label)| {
            (
                (*label).to_owned(),
                json!({ "label": label, "index": index.to_string() }),
            )
        })
        .collect();
    Json::Object(entries)
}

fn app(id: u64, token: &str, properties: &Json) -> Json {
    json!({ "id": id, "name": format!("app {id}"), "properties": properties,
        "tokens": [{ "token": token, "rights": ["view", "add", "edit", "delete", "admin"] }] })
}

fn in_space(mut app: Json, space: u64, guest: bool) -> Json {
    app["space"] = json!({ "id": space, "guest": guest });
    app
}

fn lab() -> Json {
    let mut app = app(
        LAB,
        "lab",
        &json!({
            "text": { "type": "SINGLE_LINE_TEXT" },
            "文字列__1行_": { "type": "SINGLE_LINE_TEXT" },
            "key": { "type": "SINGLE_LINE_TEXT", "unique": true },
            "short": { "type": "SINGLE_LINE_TEXT", "maxLength": "5" },
            "multi": { "type": "MULTI_LINE_TEXT", "maxLength": "3" },
            "rich": { "type": "RICH_TEXT" },
            "link": { "type": "LINK", "protocol": "WEB", "maxLength": "20" },
            "num": { "type": "NUMBER", "minValue": "-10", "maxValue": "1000" },
            "unum": { "type": "NUMBER", "unique": true },
            "date": { "type": "DATE" },
            "udate": { "type": "DATE", "unique": true },
            "time": { "type": "TIME" },
            "dt": { "type": "DATETIME" },
            "drop": { "type": "DROP_DOWN", "options": options(&["a", "b", "c"]) },
            "radio": { "type": "RADIO_BUTTON", "options": options(&["x", "y"]) },
            "check": { "type": "CHECK_BOX", "options": options(&["a", "b", "c"]), "unique": true },
            "msel": { "type": "MULTI_SELECT", "options": options(&["p", "q"]) },
            "users": { "type": "USER_SELECT" },
            "orgs": { "type": "ORGANIZATION_SELECT" },
            "groups": { "type": "GROUP_SELECT" },
            "file": { "type": "FILE" },
            "order": { "type": "SINGLE_LINE_TEXT" },
            "表": { "type": "SUBTABLE", "fields": {
                "t_text": { "type": "SINGLE_LINE_TEXT" },
                "t_num": { "type": "NUMBER", "maxValue": "100" },
                "t_def": { "type": "SINGLE_LINE_TEXT", "defaultValue": "既定" },
                "t_check": { "type": "CHECK_BOX", "options": options(&["a", "b"]) },
                "t_date": { "type": "DATE" },
            } },
        }),
    );
    app["tokens"] = json!([
        { "token": "lab", "rights": ["view", "add", "edit", "delete", "admin"] },
        { "token": "lab-view", "rights": ["view"] },
        { "token": "lab-add", "rights": ["add"] },
        { "token": "lab-edit", "rights": ["edit"] },
        { "token": "lab-plain", "rights": ["view", "add", "edit", "delete"] },
    ]);
    app["access"] = json!([{ "user": "west", "rights": ["view"] }, { "user": "east", "rights": ["view", "add", "edit"] }]);
    app
}

fn strict() -> Json {
    let required = |kind: &str, extra: Json| {
        let mut definition = json!({ "type": kind, "required": true });
        if let (Some(target), Some(source)) = (definition.as_object_mut(), extra.as_object()) {
            target.extend(source.clone());
        }
        definition
    };
    let none = json!({});
    app(
        STRICT,
        "strict",
        &json!({
            "text": required("SINGLE_LINE_TEXT", none.clone()),
            "multi": required("MULTI_LINE_TEXT", none.clone()),
            "rich": required("RICH_TEXT", none.clone()),
            "link": required("LINK", none.clone()),
            "num": required("NUMBER", none.clone()),
            "date": required("DATE", none.clone()),
            "time": required("TIME", none.clone()),
            "dt": required("DATETIME", none.clone()),
            "drop": required("DROP_DOWN", json!({ "options": options(&["a"]) })),
            "radio": required("RADIO_BUTTON", json!({ "options": options(&["a"]) })),
            "check": required("CHECK_BOX", json!({ "options": options(&["a"]) })),
            "msel": required("MULTI_SELECT", json!({ "options": options(&["a"]) })),
            "file": required("FILE", none.clone()),
            "users": required("USER_SELECT", none.clone()),
            "orgs": required("ORGANIZATION_SELECT", none.clone()),
            "groups": required("GROUP_SELECT", none),
            "min": { "type": "SINGLE_LINE_TEXT", "minLength": "3" },
            "表": { "type": "SUBTABLE", "required": true, "fields": {
                "t_req": { "type": "SINGLE_LINE_TEXT", "required": true } } },
        }),
    )
}

/// The apps file.
pub fn apps() -> Json {
    let lookup = |fields: &[(&str, &str)]| {
        let mappings: Vec<Json> = fields
            .iter()
            .map(|(own, related)| json!({ "field": own, "relatedField": related }))
            .collect();
        json!({ "relatedApp": { "app": SOURCE.to_string() }, "relatedKeyField": "code",
            "fieldMappings": mappings, "lookupPickerFields": [], "filterCond": "", "sort": "" })
    };
    let by_number = json!({ "relatedApp": { "app": SOURCE.to_string() }, "relatedKeyField": "レコード番号",
        "fieldMappings": [{ "field": "番号名", "relatedField": "name" }] });
    let text = json!({ "text": { "type": "SINGLE_LINE_TEXT" } });
    let mut coded = app(108, "coded", &text);
    coded["code"] = json!("CODE");
    json!({
        "users": [
            { "code": "admin", "password": "pw", "administrator": true },
            { "code": "east", "name": "東", "password": "pw-east", "timezone": "Pacific/Kiritimati", "language": "ja" },
            { "code": "west", "password": "pw:with:colons", "timezone": "Pacific/Honolulu" },
        ],
        "organizations": [{ "code": "sales", "name": "営業部" }],
        "groups": [{ "code": "staff" }],
        "apps": [
            lab(),
            strict(),
            app(DEFAULTS, "defaults", &json!({
                "text": { "type": "SINGLE_LINE_TEXT", "required": true, "defaultValue": "初期" },
                "num": { "type": "NUMBER", "defaultValue": "7" },
                "drop": { "type": "DROP_DOWN", "options": options(&["a", "b"]), "defaultValue": "b" },
                "check": { "type": "CHECK_BOX", "options": options(&["a", "b"]), "defaultValue": ["a", "b"] },
                "date": { "type": "DATE", "defaultNowValue": true },
                "time": { "type": "TIME", "defaultNowValue": true },
                "dt": { "type": "DATETIME", "defaultNowValue": true },
            })),
            app(SOURCE, "source", &json!({
                "code": { "type": "SINGLE_LINE_TEXT", "unique": true },
                "name": { "type": "SINGLE_LINE_TEXT" },
                "price": { "type": "NUMBER" },
            })),
            app(TARGET, "target", &json!({
                "商品": { "type": "SINGLE_LINE_TEXT", "lookup": lookup(&[("商品名", "name"), ("単価", "price")]) },
                "商品名": { "type": "SINGLE_LINE_TEXT", "defaultValue": "none" },
                "単価": { "type": "NUMBER" },
                "番号": { "type": "NUMBER", "lookup": by_number },
                "番号名": { "type": "SINGLE_LINE_TEXT" },
                "明細": { "type": "SUBTABLE", "fields": {
                    "明細商品": { "type": "SINGLE_LINE_TEXT", "lookup": lookup(&[("明細名", "name")]) },
                    "明細名": { "type": "SINGLE_LINE_TEXT" },
                } },
            })),
            in_space(app(GUEST5, "guest5", &text), 5, true),
            in_space(app(GUEST6, "guest6", &text), 6, true),
            in_space(app(SPACE7, "space7", &text), 7, false),
            coded,
        ],
    })
}

/// A sandbox with these apps.
pub fn start(name: &str) -> Sandbox {
    Sandbox::with_apps(name, &apps())
}

/// `{"code": {"value": v}, ...}` from `{"code": v, ...}`.
pub fn record(values: &Json) -> Json {
    let fields: Map<String, Json> = values
        .as_object()
        .into_iter()
        .flatten()
        .map(|(code, value)| (code.clone(), json!({ "value": value })))
        .collect();
    Json::Object(fields)
}

/// POST record with token `token`.
pub fn add(sandbox: &Sandbox, token: &str, app: u64, values: &Json) -> Answer {
    sandbox.api(
        token,
        "POST",
        "record.json",
        &json!({ "app": app, "record": record(values) }),
    )
}

/// POST record that must succeed; answers the id.
pub fn added(sandbox: &Sandbox, token: &str, app: u64, values: &Json) -> u64 {
    let answer = add(sandbox, token, app, values).ok();
    answer["id"].as_str().and_then(|id| id.parse().ok()).expect("id")
}

/// PUT record by id.
pub fn put(sandbox: &Sandbox, token: &str, app: u64, id: u64, values: &Json) -> Answer {
    sandbox.api(
        token,
        "PUT",
        "record.json",
        &json!({ "app": app, "id": id, "record": record(values) }),
    )
}

/// GET record that must succeed.
pub fn get(sandbox: &Sandbox, token: &str, app: u64, id: u64) -> Json {
    sandbox
        .api(token, "GET", "record.json", &json!({ "app": app, "id": id }))
        .ok()["record"]
        .clone()
}

/// GET records.
pub fn query(sandbox: &Sandbox, token: &str, app: u64, query: &str) -> Answer {
    sandbox.api(
        token,
        "GET",
        "records.json",
        &json!({ "app": app, "query": query }),
    )
}

/// The values of one field in the order of a query's answer.
pub fn column(sandbox: &Sandbox, token: &str, app: u64, text: &str, code: &str) -> Vec<String> {
    let answer = query(sandbox, token, app, text);
    assert_eq!(answer.status, 200, "{text}: {}", answer.body);
    let records = answer.body["records"].as_array().cloned().unwrap_or_default();
    records
        .iter()
        .map(|record| record[code]["value"].as_str().unwrap_or("").to_owned())
        .collect()
}

/// Value of `X-Cybozu-Authorization`.
pub fn password(user: &str, password: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"))
}
