//! Canonical keys (CAN-01 to CAN-04) and the unique keys of kintone records (KEY-02 and KEY-03 of the record contract).
//!
//! One place decides which texts are the same Run, node or lock: every component is checked as typed, brought to
//! NFC and hashed. Nobody else joins identifiers into keys.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;

use crate::flownet::canonical_json::sha256_hex;

/// Longest component, in code points after NFC (CAN-03).
pub const MAX_COMPONENT_CHARS: usize = 128;
/// Longest unique value that kintone indexes, in UTF-16 code units.
pub const MAX_RECORD_KEY_UNITS: usize = 64;
/// Largest integer a JavaScript peer can count exactly.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The identifier that the contract keeps for itself.
pub const RESERVED_IDENTIFIER: &str = "__net__";

/// Why a key cannot be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyError {
    /// Stable code, e.g. `RECORD_KEY_IDENTIFIER_EMPTY`.
    pub code: &'static str,
    /// The component at fault, e.g. `businessKey`.
    pub component: &'static str,
    /// The text of CAN-03.
    pub message: String,
}

impl std::fmt::Display for KeyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for KeyError {}

/// The five canonical key kinds.
#[derive(Clone, Copy)]
enum Kind {
    Run,
    NodeState,
    Attempt,
    NetworkLock,
    JobLock,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Run => "R1",
            Self::NodeState => "S1",
            Self::Attempt => "A1",
            Self::NetworkLock => "N1",
            Self::JobLock => "J1",
        }
    }

    fn is_lock(self) -> bool {
        matches!(self, Self::NetworkLock | Self::JobLock)
    }
}

/// What is wrong with a component, in the order of CAN-03.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Empty,
    Nul,
    Separator,
    Reserved,
    TooLong,
}

impl Fault {
    fn of(text: &str) -> Option<Self> {
        if text.is_empty() {
            Some(Self::Empty)
        } else if text.contains('\0') {
            Some(Self::Nul)
        } else if text.contains(':') {
            Some(Self::Separator)
        } else if text == RESERVED_IDENTIFIER {
            Some(Self::Reserved)
        } else if text.nfc().nth(MAX_COMPONENT_CHARS).is_some() {
            Some(Self::TooLong)
        } else {
            None
        }
    }

    fn code(self, lock: bool) -> &'static str {
        match (self, lock) {
            (Self::Empty, false) => "RECORD_KEY_IDENTIFIER_EMPTY",
            (Self::Nul, false) => "RECORD_KEY_IDENTIFIER_NUL",
            (Self::Separator, false) => "RECORD_KEY_IDENTIFIER_SEPARATOR",
            (Self::Reserved, false) => "RECORD_KEY_IDENTIFIER_RESERVED",
            (Self::TooLong, false) => "RECORD_KEY_IDENTIFIER_TOO_LONG",
            (Self::Empty, true) => "LOCK_KEY_IDENTIFIER_EMPTY",
            (Self::Nul, true) => "LOCK_KEY_IDENTIFIER_NUL",
            (Self::Separator, true) => "LOCK_KEY_IDENTIFIER_SEPARATOR",
            (Self::Reserved, true) => "LOCK_KEY_IDENTIFIER_RESERVED",
            (Self::TooLong, true) => "LOCK_KEY_IDENTIFIER_TOO_LONG",
        }
    }

    /// The sentence of CAN-03 without the component's name.
    fn sentence(self) -> &'static str {
        match self {
            Self::Empty => "must not be empty",
            Self::Nul => "must not contain NUL",
            Self::Separator => "must not contain ':'",
            Self::Reserved => "must not use reserved identifier '__net__'",
            Self::TooLong => "must be at most 128 Unicode characters after NFC normalization",
        }
    }
}

/// Checks one component as R1, S1 and A1 will see it (CAN-03). `component` is the contract's name, e.g. `profile`.
pub fn check_component(component: &'static str, text: &str) -> Result<(), KeyError> {
    check(component, text, false)
}

fn check(component: &'static str, text: &str, lock: bool) -> Result<(), KeyError> {
    match Fault::of(text) {
        None => Ok(()),
        Some(fault) => Err(KeyError {
            code: fault.code(lock),
            component,
            message: format!("{component} {}", fault.sentence()),
        }),
    }
}

fn canonical(kind: Kind, components: &[(&'static str, &str)]) -> Result<String, KeyError> {
    for (name, text) in components {
        check(name, text, kind.is_lock())?;
    }
    let mut preimage = String::from(kind.prefix());
    for (_, text) in components {
        preimage.push('\0');
        preimage.extend(text.nfc());
    }
    Ok(format!(
        "{}:{}",
        kind.prefix(),
        base64url_sha256(preimage.as_bytes())
    ))
}

fn base64url_sha256(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(bytes))
}

/// The `R1` key of a Run.
pub fn run_key(profile: &str, network_id: &str, business_key: &str) -> Result<String, KeyError> {
    canonical(
        Kind::Run,
        &[
            ("profile", profile),
            ("networkId", network_id),
            ("businessKey", business_key),
        ],
    )
}

/// The `S1` key of a node within a Run.
pub fn node_state_key(run_id: &str, node_id: &str) -> Result<String, KeyError> {
    canonical(Kind::NodeState, &[("runId", run_id), ("nodeId", node_id)])
}

/// The `A1` key of the `no`-th attempt of a node. The number is checked first (CAN-03).
pub fn attempt_key(run_id: &str, node_id: &str, no: u64) -> Result<String, KeyError> {
    if !(1..=MAX_SAFE_INTEGER).contains(&no) {
        return Err(KeyError {
            code: "RECORD_KEY_ATTEMPT_NO_INVALID",
            component: "attemptNo",
            message: "attemptNo must be a positive safe integer".to_owned(),
        });
    }
    canonical(
        Kind::Attempt,
        &[
            ("runId", run_id),
            ("nodeId", node_id),
            ("attemptNo", &no.to_string()),
        ],
    )
}

/// The `N1` key of a network's lock.
pub fn lock_key(profile: &str, network_id: &str) -> Result<String, KeyError> {
    canonical(
        Kind::NetworkLock,
        &[("profile", profile), ("networkId", network_id)],
    )
}

/// The `J1` key of a job's lock. Not written by us: the runner locks with the plain text `<profile>:<job_id>`.
pub fn job_key(profile: &str, job_id: &str) -> Result<String, KeyError> {
    canonical(Kind::JobLock, &[("profile", profile), ("jobId", job_id)])
}

/// Prefixes an id and holds the result against kintone's limit for unique values.
fn record_key(prefix: &str, id: &str) -> Result<String, KeyError> {
    let key = format!("{prefix}{id}");
    if key.encode_utf16().count() > MAX_RECORD_KEY_UNITS {
        return Err(KeyError {
            code: "UNIQUE_KEY_TOO_LONG",
            component: "recordKey",
            message: format!("record_key '{key}' must be at most {MAX_RECORD_KEY_UNITS} characters"),
        });
    }
    Ok(key)
}

/// `record_key` of a `NODE_STATE` record, from its `S1` key (KEY-03).
pub fn state_record_key(node_state_key: &str) -> Result<String, KeyError> {
    record_key("STATE:", node_state_key)
}

/// `record_key` of a held `NETWORK_LOCK`, from its `N1` key (KEY-03).
pub fn held_lock_record_key(lock_key: &str) -> Result<String, KeyError> {
    record_key("LOCK:", lock_key)
}

/// `record_key` of a released `NETWORK_LOCK`: one per lease, so that the held key is free again (KEY-03).
pub fn released_lock_record_key(lock_key: &str, lease_token: &str) -> String {
    format!(
        "LOCKDONE:{}",
        base64url_sha256(format!("{lock_key}:{lease_token}").as_bytes())
    )
}

/// `record_key` of a `CANCEL_REQUEST`, the hold of a Run (KEY-03).
pub fn hold_record_key(run_id: &str) -> Result<String, KeyError> {
    record_key("CANCEL:", run_id)
}

/// `record_key` of a `RUN_INVOCATION` (KEY-03).
pub fn invocation_record_key(invocation_id: &str) -> Result<String, KeyError> {
    record_key("INV:", invocation_id)
}

/// `record_key` of a `NODE_ATTEMPT` (KEY-03).
pub fn attempt_record_key(attempt_id: &str) -> Result<String, KeyError> {
    record_key("ATT:", attempt_id)
}

/// `record_key` of an `ATTEMPT_RESOLUTION`; `resolved_at` is the millisecond ISO text (KEY-03).
pub fn resolution_record_key(attempt_id: &str, resolved_at: &str) -> String {
    /// Hex digits kept, so that the prefix and they fill the 64 characters.
    const DIGITS: usize = 60;
    let hex = sha256_hex(format!("{attempt_id}\0{resolved_at}").as_bytes());
    format!("RES:{}", &hex[..DIGITS])
}

/// `record_key` of an `OPERATION_AUDIT` (KEY-03).
pub fn operation_record_key(event_id: &str) -> Result<String, KeyError> {
    record_key("OP:", event_id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RUN: &str = "netrun_00000000-0000-4000-8000-000000000001";

    fn text(key: Result<String, KeyError>) -> String {
        key.expect("a valid key")
    }

    #[test]
    fn measured_keys_of_the_record_contract() {
        assert_eq!(
            text(run_key("prod", "monthly_close", "monthly_close@2026-08")),
            "R1:kS8YLbdbZ-ixFjAyX8IZvP4mZj9HT1WjZVzNiWf8D4s"
        );
        let lock = text(lock_key("prod", "monthly_close"));
        assert_eq!(lock, "N1:dmj63FYc2G5JrhGrGQl6Ybua-wtKm-b9IezI1sWgxek");
        assert_eq!(
            text(node_state_key(RUN, "extract")),
            "S1:Lj0AAGnml6ghR1kLKJ7RDxrhmmwhsLh9PwnKZ6ijmTQ"
        );
        assert_eq!(
            text(attempt_key(RUN, "extract", 1)),
            "A1:rzKVfZoedsW2UyDipmL_qTPhqRfVr-rkcm3_mTWzcqI"
        );
        assert_eq!(
            released_lock_record_key(&lock, "00000000-0000-4000-8000-000000000002"),
            "LOCKDONE:g6LfAmmObeRLlo2tAx6NZ1FuBG216OD_7yZZqUIbKLw"
        );
        assert_eq!(
            resolution_record_key(
                "attempt_00000000-0000-4000-8000-000000000003",
                "2026-08-29T10:00:00.000Z"
            ),
            "RES:b3752488af4e7fa0637e098261f3e7f5d4abfdcbd5389c068d2e7594c2b5"
        );
    }

    #[test]
    fn record_keys_have_the_lengths_of_the_contract() {
        let state = text(node_state_key(RUN, "extract"));
        assert_eq!(text(state_record_key(&state)).len(), 52);
        let lock = text(lock_key("p", "n"));
        assert_eq!(text(held_lock_record_key(&lock)).len(), 51);
        assert_eq!(released_lock_record_key(&lock, "t").len(), 52);
        assert_eq!(text(hold_record_key(RUN)).len(), 50);
        assert_eq!(resolution_record_key("a", "b").len(), 64);
        assert_eq!(
            text(attempt_record_key("attempt_00000000-0000-4000-8000-000000000003")).len(),
            48
        );
        assert_eq!(
            text(invocation_record_key(
                "invoke_00000000-0000-4000-8000-000000000003"
            ))
            .len(),
            47
        );
        assert_eq!(
            text(operation_record_key("00000000-0000-4000-8000-000000000003")).len(),
            39
        );
    }

    #[test]
    fn a_record_key_may_have_64_units_and_no_more() {
        assert!(hold_record_key(&"r".repeat(57)).is_ok());
        assert_eq!(
            hold_record_key(&"r".repeat(58)).map_err(|e| e.code),
            Err("UNIQUE_KEY_TOO_LONG")
        );
        // Astral characters count twice, as in kintone.
        assert!(hold_record_key(&"𠮷".repeat(28)).is_ok());
        assert!(hold_record_key(&"𠮷".repeat(29)).is_err());
    }

    /// Identifiers that pass CAN-03.
    fn identifier() -> impl Strategy<Value = String> {
        "[^:\u{0}]{1,20}".prop_filter("reserved", |t| {
            t != RESERVED_IDENTIFIER && check_component("x", t).is_ok()
        })
    }

    proptest! {
        #[test]
        fn keys_are_46_characters_and_tell_components_apart(
            a in prop::array::uniform3(identifier()),
            b in prop::array::uniform3(identifier()),
        ) {
            let (ka, kb) = (text(run_key(&a[0], &a[1], &a[2])), text(run_key(&b[0], &b[1], &b[2])));
            prop_assert_eq!(ka.len(), 46);
            let same = a.iter().zip(&b).all(|(x, y)| x.nfc().eq(y.nfc()));
            prop_assert_eq!(ka == kb, same);
        }

        #[test]
        fn moving_a_character_between_components_changes_the_key(
            a in identifier(), b in identifier(), c in "[a-z]",
        ) {
            let left = lock_key(&format!("{a}{c}"), &b);
            let right = lock_key(&a, &format!("{c}{b}"));
            if let (Ok(left), Ok(right)) = (left, right) {
                prop_assert_ne!(left, right);
            }
        }
    }
}
