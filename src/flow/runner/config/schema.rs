//! Which keys a configuration may have, checked for every profile before one is chosen (RNR-21).

use super::ordered_json::Node;
use crate::flow::sql::message::{Message, say};

/// An object type of the configuration: its name in messages and its keys with the type of their value.
struct Shape {
    keys: &'static [(&'static str, Kind)],
}

#[derive(Clone, Copy)]
enum Kind {
    /// Checked where it is read.
    Leaf,
    /// An object of this shape, or null.
    Object(&'static Shape),
    /// An object whose keys are names and whose values have this shape.
    Named(&'static Shape),
}

use Kind::{Leaf, Named, Object};

static TOP: Shape = Shape {
    keys: &[
        ("defaultProfile", Leaf),
        ("profiles", Named(&PROFILE)),
        ("limits", Object(&LIMITS)),
        ("retry", Object(&RETRY)),
        ("notifications", Object(&NOTIFICATIONS)),
        ("logging", Object(&LOGGING)),
    ],
};

static PROFILE: Shape = Shape {
    keys: &[
        ("extends", Leaf),
        ("baseUrl", Leaf),
        ("timezone", Leaf),
        ("auth", Object(&AUTH)),
        ("basicAuth", Object(&BASIC_AUTH)),
        ("clientCert", Object(&CLIENT_CERT)),
        ("proxy", Leaf),
        ("guestSpaceId", Leaf),
        ("apps", Named(&APP)),
        ("logApp", Leaf),
        ("limits", Object(&LIMITS)),
        ("retry", Object(&RETRY)),
        ("notifications", Object(&NOTIFICATIONS)),
        ("logging", Object(&LOGGING)),
        ("httpTimeoutMs", Leaf),
    ],
};

static AUTH: Shape = Shape {
    keys: &[
        ("type", Leaf),
        ("username", Leaf),
        ("password", Leaf),
        ("basicUsername", Leaf),
        ("basicPassword", Leaf),
    ],
};
static BASIC_AUTH: Shape = Shape {
    keys: &[("username", Leaf), ("password", Leaf)],
};
static CLIENT_CERT: Shape = Shape {
    keys: &[("pfxPath", Leaf), ("password", Leaf)],
};
static APP: Shape = Shape {
    keys: &[("id", Leaf), ("tokens", Leaf)],
};
static LIMITS: Shape = Shape {
    keys: &[
        ("maxApiCalls", Leaf),
        ("maxReadRows", Leaf),
        ("maxTempRows", Leaf),
        ("batchTimeoutSec", Leaf),
        ("requestsInFlight", Leaf),
    ],
};
static RETRY: Shape = Shape {
    keys: &[
        ("maxAttempts", Leaf),
        ("initialDelayMs", Leaf),
        ("maxDelayMs", Leaf),
        ("respectRetryAfter", Leaf),
    ],
};
static NOTIFICATIONS: Shape = Shape {
    keys: &[
        ("onFailure", Object(&ON_FAILURE)),
        ("heartbeat", Object(&HEARTBEAT)),
    ],
};
static ON_FAILURE: Shape = Shape {
    keys: &[("webhook", Leaf)],
};
static HEARTBEAT: Shape = Shape {
    keys: &[("url", Leaf), ("on", Leaf)],
};
static LOGGING: Shape = Shape {
    keys: &[("localDir", Leaf), ("maskFields", Leaf), ("stripLiterals", Leaf)],
};

/// The first unknown key, or value of the wrong structure, of the whole configuration.
pub fn check_keys(root: &Node) -> Result<(), Message> {
    check(root, &TOP, "")
}

fn check(node: &Node, shape: &Shape, path: &str) -> Result<(), Message> {
    let Node::Object(members) = node else {
        return Err(not_an_object(path));
    };
    for (key, value) in members {
        let here = join(path, key);
        let Some((_, kind)) = shape.keys.iter().find(|(name, _)| name == key) else {
            let known: Vec<&str> = shape.keys.iter().map(|(name, _)| *name).collect();
            let known = known.join(", ");
            return Err(say!(
                "{here}: unknown key (known here: {known})",
                "{here}: 不明なキーです (使えるキー: {known})"
            ));
        };
        match kind {
            Leaf => {}
            Object(_) if *value == Node::Null => {}
            Object(shape) => check(value, shape, &here)?,
            Named(shape) => {
                let Node::Object(named) = value else {
                    return Err(not_an_object(&here));
                };
                for (name, member) in named {
                    check(member, shape, &join(&here, name))?;
                }
            }
        }
    }
    Ok(())
}

/// The value of a path that must be an object; only for paths below the whole file, which is one.
fn not_an_object(path: &str) -> Message {
    say!(
        "{path}: must be an object",
        "{path}: オブジェクトでなければなりません"
    )
}

/// `path.key`, for messages.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
