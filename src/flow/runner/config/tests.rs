//! Vectors for the configuration file.

use proptest::prelude::*;

use super::{Authentication, HeartbeatOn, Message, Profile, Secrets, parse};
use crate::flow::sql::message::Language;

fn environment(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("secret-token-1".to_owned()),
        "URL" => Some("https://example.cybozu.com/".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn load(json: &str) -> Result<Profile, Message> {
    parse(json.as_bytes(), None, Secrets::Resolve, &environment)
}

/// A configuration whose chosen profile has the given members beside a base URL.
fn with(members: &str) -> String {
    format!(
        r#"{{"defaultProfile":"p","profiles":{{"p":{{"baseUrl":"https://example.cybozu.com"{members}}}}}}}"#
    )
}

#[test]
fn defaults_are_filled_in() {
    let profile = load(&with("")).expect("valid");
    assert_eq!(profile.base_url_text, "https://example.cybozu.com");
    assert_eq!(profile.limits.batch_timeout_sec, 3600);
    assert_eq!(profile.limits.max_api_calls, None);
    assert_eq!(profile.limits.requests_in_flight, 4);
    assert_eq!(profile.retry.max_attempts.to_string(), "5");
    assert_eq!(profile.http_timeout_ms.to_string(), "30000");
    assert_eq!(profile.logging.local_dir.to_str(), Some(".ksql/logs"));
    assert!(matches!(profile.auth, Authentication::ApiToken));
    assert!(profile.timezone.is_none() && profile.apps.is_empty());
}

#[test]
fn mistakes_name_their_key() {
    for (json, message) in [
        ("[]".to_owned(), "profiles: must be an object"),
        ("{".to_owned(), "not valid JSON"),
        (r#"{"profiles":{}}"#.to_owned(), "no defaultProfile"),
        (
            r#"{"profiles":{},"defaultProfile":"x"}"#.to_owned(),
            "there is no profile \"x\"",
        ),
        (
            r#"{"profiles":{"a":{}},"defaultProfile":"a"}"#.to_owned(),
            "profiles.a.baseUrl: is required",
        ),
        (
            r#"{"profiles":{"a":{},"b":{"urll":1}},"defaultProfile":"a"}"#.to_owned(),
            "profiles.b.urll: unknown key",
        ),
        (r#"{"profiles":{},"limit":{}}"#.to_owned(), "limit: unknown key"),
        (
            with(r#","apps":{"受注":{"id":1,"token":[]}}"#),
            "profiles.p.apps.受注.token: unknown key",
        ),
        (
            with(r#","apps":{"受注":{"id":0}}"#),
            "profiles.p.apps.受注.id: must be a whole number above 0",
        ),
        (
            with(r#","apps":{"受注":{"id":1,"id":2}}"#),
            "not valid JSON: the key \"id\" stands twice",
        ),
        (
            with(r#","apps":{"a":{"id":1,"tokens":["env:NOPE"]}}"#),
            "profiles.p.apps.a.tokens: the environment variable NOPE",
        ),
        (
            with(r#","apps":{"a":{"id":1,"tokens":["env:EMPTY"]}}"#),
            "profiles.p.apps.a.tokens: the environment variable EMPTY",
        ),
        (
            with(r#","apps":{"a":{"id":1,"tokens":["1","2","3","4","5","6","7","8","9","10"]}}"#),
            "profiles.p.apps.a.tokens: must be a list of at most 9",
        ),
        (
            with(r#","logApp":"x""#),
            "profiles.p.logApp: \"x\" is not in apps",
        ),
        (
            with(r#","timezone":"Asia/Tokio""#),
            "profiles.p.timezone: unknown time zone",
        ),
        (
            with(r#","proxy":"http://proxy""#),
            "profiles.p.proxy: not supported",
        ),
        (
            with(r#","clientCert":{"pfxPath":"a","password":"b"}"#),
            "profiles.p.clientCert: not supported",
        ),
        (
            with(r#","auth":{"type":"oauth"}"#),
            "profiles.p.auth.type: must be",
        ),
        (
            with(r#","auth":{"type":"password","username":"a"}"#),
            "profiles.p.auth: type password needs",
        ),
        (
            with(r#","auth":{"type":"basic","username":"a","password":"b"}"#),
            "profiles.p.auth: type basic needs basicAuth",
        ),
        (
            with(r#","limits":{"maxReadRows":200001}"#),
            "profiles.p.limits.maxReadRows: must be at most",
        ),
        (
            with(r#","limits":{"requestsInFlight":11}"#),
            "profiles.p.limits.requestsInFlight: must be a whole number from 1 to 10",
        ),
        (
            with(r#","limits":{"maxApiCalls":1.5}"#),
            "profiles.p.limits.maxApiCalls: must be a whole",
        ),
        (
            with(r#","httpTimeoutMs":0"#),
            "profiles.p.httpTimeoutMs: must be a number above 0",
        ),
        (
            with(r#","retry":{"respectRetryAfter":1}"#),
            "profiles.p.retry.respectRetryAfter: must be",
        ),
        (
            with(r#","notifications":{"heartbeat":{"url":"https://x","on":"never"}}"#),
            "profiles.p.notifications.heartbeat.on",
        ),
        (
            with(r#","logging":{"maskFields":"x"}"#),
            "profiles.p.logging.maskFields: must be a list",
        ),
        (
            with(r#","extends":"p""#),
            "profiles.p.extends: the profiles extend each other",
        ),
        (
            with(r#","extends":"q""#),
            "profiles.p.extends: there is no profile \"q\"",
        ),
        (
            with(r#","guestSpaceId":-1"#),
            "profiles.p.guestSpaceId: must be a whole number",
        ),
    ] {
        let error = load(&json).expect_err(&json);
        let english = error.text(Language::English);
        assert!(english.starts_with(message), "{json}\n{error}");
        // The same key in Japanese, with words of its own.
        let japanese = error.text(Language::Japanese);
        assert!(!japanese.is_ascii() && japanese != english, "{json}\n{japanese}");
        let key = english.split_once(": ").map_or("", |(key, _)| key);
        assert!(key.contains(' ') || japanese.contains(key), "{json}\n{japanese}");
    }
}

#[test]
fn nearer_profiles_replace_whole_keys_but_never_lend_apps() {
    let json = r#"{"defaultProfile":"stg","limits":{"maxTempRows":7},"profiles":{
        "prod":{"baseUrl":"env:URL","timezone":"Asia/Tokyo","guestSpaceId":4,"apps":{"a":{"id":1}},"logApp":"a",
                "limits":{"maxApiCalls":5,"maxReadRows":6},"logging":{"stripLiterals":true}},
        "stg":{"extends":"prod","guestSpaceId":null,"limits":{"maxApiCalls":9}}}}"#;
    let profile = load(json).expect("valid");
    assert_eq!(profile.base_url_text, "https://example.cybozu.com");
    assert_eq!(profile.timezone.as_deref(), Some("Asia/Tokyo"));
    assert_eq!(profile.guest_space, None);
    assert!(profile.apps.is_empty() && profile.log_app.is_none());
    assert_eq!(profile.limits.max_api_calls, Some(9));
    assert_eq!(profile.limits.max_read_rows, None, "limits are replaced whole");
    assert_eq!(
        profile.limits.max_temp_rows, None,
        "the file's limits are replaced too"
    );
    assert!(profile.logging.strip_literals);
}

#[test]
fn names_that_sql_cannot_tell_apart_are_refused() {
    let json = with(r#","apps":{"受注a":{"id":1},"受注A":{"id":2}}"#);
    let error = load(&json).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "profiles.p.apps: \"受注A\" and \"受注a\" are one name in SQL"
    );
}

#[test]
fn other_profiles_need_no_environment() {
    let json = r#"{"defaultProfile":"a","profiles":{"a":{"baseUrl":"env:URL"},
        "b":{"baseUrl":"env:NOPE","apps":{"x":{"id":1,"tokens":["env:NOPE"]}}}}}"#;
    assert!(load(json).is_ok());
    assert!(parse(json.as_bytes(), Some("b"), Secrets::Resolve, &environment).is_err());
}

#[test]
fn secrets_are_not_needed_for_inspection() {
    let json = with(r#","apps":{"a":{"id":1,"tokens":["env:NOPE"]}}"#);
    assert!(parse(json.as_bytes(), None, Secrets::Skip, &environment).is_ok());
}

#[test]
fn the_later_of_two_names_gives_the_tokens() {
    let json = with(r#","apps":{"z":{"id":1,"tokens":["11111111"]},"a":{"id":1,"tokens":["22222222"]}}"#);
    let profile = load(&json).expect("valid");
    assert_eq!(profile.app_by_id(1).expect("entry").name, "a");
    let profile = load(&with(r#","apps":{"z":{"id":1}}"#)).expect("valid");
    let failure = profile.address(1).expect_err("no token");
    assert!(
        failure.to_string().starts_with("LAPP_z (app 1) has no API token"),
        "{failure}"
    );
}

#[test]
fn long_secrets_and_urls_are_noted_for_masking() {
    let json = with(
        r#","auth":{"type":"basic","username":"u","password":"pass","basicUsername":"b","basicPassword":"xyz"},
        "apps":{"a":{"id":1,"tokens":["env:TOKEN","short"]}},
        "notifications":{"onFailure":{"webhook":"https://hooks.example/x"},"heartbeat":{"url":"https://beat.example","on":"always"}}"#,
    );
    let profile = load(&json).expect("valid");
    let masked: Vec<&str> = profile
        .masked
        .iter()
        .map(crate::kintone::Secret::expose)
        .collect();
    assert_eq!(
        masked,
        [
            "Yjp4eXo=",
            "pass",
            "dTpwYXNz",
            "secret-token-1",
            "https://hooks.example/x",
            "https://beat.example"
        ]
    );
    assert_eq!(
        profile.notifications.heartbeat.map(|(_, on)| on),
        Some(HeartbeatOn::Always)
    );
    assert!(!format!("{profile:?}", profile = load(&json).expect("valid")).contains("secret-token-1"));
}

proptest! {
    #[test]
    fn any_file_is_read_or_refused_without_showing_a_secret(
        at in 0_usize..600, insert in prop_oneof!["\\PC{0,3}", Just("null".to_owned()), Just("{}".to_owned())],
        cut in 0_usize..4,
    ) {
        let json = with(
            r#","timezone":"Asia/Tokyo","auth":{"type":"basic","username":"u","password":"secret-password",
            "basicUsername":"b","basicPassword":"secret-basic"},"guestSpaceId":3,"httpTimeoutMs":1.5,"logApp":"a",
            "apps":{"a":{"id":1,"tokens":["env:TOKEN","secret-token-2"]}},"limits":{"maxApiCalls":5},
            "retry":{"maxAttempts":2},"logging":{"maskFields":["x"],"stripLiterals":true},
            "notifications":{"onFailure":{"webhook":"https://secret-hook"},"heartbeat":{"url":"env:URL","on":"always"}}"#,
        );
        prop_assert!(load(&json).is_ok());
        let mut chars: Vec<char> = json.chars().collect();
        let from = at.min(chars.len());
        let to = (from + cut).min(chars.len());
        chars.splice(from..to, insert.chars());
        let mutated: String = chars.into_iter().collect();
        if let Err(error) = load(&mutated) {
            for language in [Language::English, Language::Japanese] {
                prop_assert!(!error.text(language).contains("secret"), "{error}");
            }
        }
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_json() {
    assert_eq!(
        load(&format!("\u{feff}{}", with(""))).map(|profile| profile.name),
        Ok("p".to_owned())
    );
}
