//! The schema step (DEF-15 to DEF-21): every object closed, every error listed, in a fixed order.

use super::network::{BusinessKeyPolicy, LockTimes, Network, Node, Period};
use super::problem::{Problem, pointer_segment};
use super::yaml::{Item, NodeId, Tree};
use crate::flownet::key::RESERVED_IDENTIFIER;

/// Longest identifier and name, in code points as written (DEF-20).
const MAX_IDENTIFIER_CHARS: usize = 128;

/// A definition whose form is right, and the lock times as the doubles they were.
pub(super) struct Checked {
    pub network: Network,
    pub lease: f64,
    pub heartbeat: f64,
}

/// Checks a document. All problems, or the definition.
pub(super) fn check(tree: &Tree) -> Result<Checked, Vec<Problem>> {
    let mut checker = Checker {
        tree,
        problems: Vec::new(),
    };
    let checked = checker.network(tree.root());
    match checked {
        Some(checked) if checker.problems.is_empty() => Ok(checked),
        _ => Err(checker.problems),
    }
}

const SCHEMA_INVALID: &str = "SCHEMA_INVALID";

struct Checker<'t> {
    tree: &'t Tree,
    problems: Vec<Problem>,
}

/// The properties of one object, whose presence and names are already checked.
struct Object<'t> {
    tree: &'t Tree,
    id: NodeId,
    path: String,
}

impl Object<'_> {
    /// Value and path of a property.
    fn get(&self, name: &str) -> Option<(NodeId, String)> {
        self.tree
            .property(self.id, name)
            .map(|id| (id, format!("{}/{name}", self.path)))
    }
}

impl<'t> Checker<'t> {
    fn invalid(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(SCHEMA_INVALID, path, message));
    }

    /// Type, missing keys, unknown keys (DEF-18, steps 1 and 3).
    fn object(&mut self, id: NodeId, path: &str, required: &[&str], optional: &[&str]) -> Option<Object<'t>> {
        let Item::Map(entries) = self.tree.get(id) else {
            self.invalid(path, "must be object");
            return None;
        };
        for name in required {
            if self.tree.property(id, name).is_none() {
                self.invalid(path, format!("must have required property '{name}'"));
            }
        }
        for (name, _) in entries {
            if !required.contains(&name.as_str()) && !optional.contains(&name.as_str()) {
                self.problems.push(Problem::new(
                    "UNKNOWN_PROPERTY",
                    path,
                    format!("unknown property '{name}'"),
                ));
            }
        }
        Some(Object {
            tree: self.tree,
            id,
            path: path.to_owned(),
        })
    }

    fn network(&mut self, root: NodeId) -> Option<Checked> {
        let object = self.object(
            root,
            "$",
            &[
                "schema_version",
                "network_id",
                "business_key_policy",
                "network_lock",
                "nodes",
            ],
            &["description", "max_active_runs"],
        )?;
        if let Some((id, path)) = object.get("schema_version")
            && *self.tree.get(id) != Item::Number(1.0)
        {
            self.invalid(&path, "must be equal to constant");
        }
        let network_id = object
            .get("network_id")
            .and_then(|(id, path)| self.identifier(id, &path));
        let description = object
            .get("description")
            .and_then(|(id, path)| self.text(id, &path, 0));
        let policy = object
            .get("business_key_policy")
            .and_then(|(id, path)| self.policy(id, &path));
        let max_active_runs = match object.get("max_active_runs") {
            None => Some(1.0),
            Some((id, path)) => self.positive_integer(id, &path),
        };
        let lock = object
            .get("network_lock")
            .and_then(|(id, path)| self.lock(id, &path));
        let nodes = object.get("nodes").and_then(|(id, path)| self.nodes(id, &path));
        let (lease, heartbeat) = lock?;
        Some(Checked {
            network: Network {
                schema_version: 1,
                network_id: network_id?,
                description,
                policy: policy?,
                max_active_runs: max_active_runs? as u64,
                lock: LockTimes {
                    lease_sec: lease as u64,
                    heartbeat_sec: heartbeat as u64,
                },
                nodes: nodes?,
            },
            lease,
            heartbeat,
        })
    }

    /// Text of at least `min` code points.
    fn text(&mut self, id: NodeId, path: &str, min: usize) -> Option<String> {
        let Item::Text(text) = self.tree.get(id) else {
            self.invalid(path, "must be string");
            return None;
        };
        if text.chars().count() < min {
            self.invalid(path, format!("must NOT have fewer than {min} characters"));
        }
        Some(text.clone())
    }

    /// An identifier (DEF-20); a value of another type breaks two rules.
    fn identifier(&mut self, id: NodeId, path: &str) -> Option<String> {
        let Item::Text(text) = self.tree.get(id) else {
            self.invalid(path, "must NOT be valid");
            self.invalid(path, "must be string");
            return None;
        };
        self.identifier_text(text, path, |c| matches!(c, ':' | '\0'));
        Some(text.clone())
    }

    /// Forbidden text first, then the length. Whether the text passed.
    fn identifier_text(&mut self, text: &str, path: &str, forbidden: fn(char) -> bool) -> bool {
        let before = self.problems.len();
        if text.contains(forbidden) || text == RESERVED_IDENTIFIER {
            self.invalid(path, "must NOT be valid");
        }
        let length = text.chars().count();
        if length < 1 {
            self.invalid(path, "must NOT have fewer than 1 characters");
        } else if length > MAX_IDENTIFIER_CHARS {
            self.invalid(path, "must NOT have more than 128 characters");
        }
        self.problems.len() == before
    }

    /// A finite number without fraction, at least 1 (DEF-19).
    fn positive_integer(&mut self, id: NodeId, path: &str) -> Option<f64> {
        match self.tree.get(id) {
            Item::Number(n) if n.is_finite() && n.fract() == 0.0 => {
                if *n < 1.0 {
                    self.invalid(path, "must be >= 1");
                }
                Some(*n)
            }
            _ => {
                self.invalid(path, "must be integer");
                None
            }
        }
    }

    /// The two forms of a policy (DEF-21). If neither fits, the errors of both are listed.
    fn policy(&mut self, id: NodeId, path: &str) -> Option<BusinessKeyPolicy> {
        let before = self.problems.len();
        let scheduled = self.scheduled(id, path);
        if self.problems.len() == before {
            return scheduled;
        }
        let after_scheduled = self.problems.len();
        self.explicit(id, path);
        if self.problems.len() == after_scheduled {
            self.problems.truncate(before);
            return Some(BusinessKeyPolicy::Explicit);
        }
        self.invalid(path, "must match exactly one schema in oneOf");
        None
    }

    fn scheduled(&mut self, id: NodeId, path: &str) -> Option<BusinessKeyPolicy> {
        let object = self.object(id, path, &["type", "period", "timezone", "format"], &[])?;
        self.constant(&object, "type", "scheduled_period");
        let period = match object.get("period").map(|(id, _)| self.tree.get(id)) {
            Some(Item::Text(text)) if text == Period::Day.as_str() => Some(Period::Day),
            Some(Item::Text(text)) if text == Period::Month.as_str() => Some(Period::Month),
            Some(_) => {
                self.invalid(
                    &format!("{path}/period"),
                    "must be equal to one of the allowed values",
                );
                None
            }
            None => None,
        };
        let timezone = object
            .get("timezone")
            .and_then(|(id, path)| self.text(id, &path, 1));
        let format = object
            .get("format")
            .and_then(|(id, path)| self.text(id, &path, 1));
        Some(BusinessKeyPolicy::Scheduled {
            period: period?,
            timezone: timezone?,
            format: format?,
        })
    }

    fn explicit(&mut self, id: NodeId, path: &str) {
        if let Some(object) = self.object(id, path, &["type"], &[]) {
            self.constant(&object, "type", "explicit");
        }
    }

    fn constant(&mut self, object: &Object<'_>, name: &str, expected: &str) {
        if let Some((id, path)) = object.get(name)
            && !matches!(self.tree.get(id), Item::Text(text) if text == expected)
        {
            self.invalid(&path, "must be equal to constant");
        }
    }

    fn lock(&mut self, id: NodeId, path: &str) -> Option<(f64, f64)> {
        let object = self.object(id, path, &["lease_duration_sec", "heartbeat_interval_sec"], &[])?;
        let lease = object
            .get("lease_duration_sec")
            .and_then(|(id, path)| self.positive_integer(id, &path));
        let heartbeat = object
            .get("heartbeat_interval_sec")
            .and_then(|(id, path)| self.positive_integer(id, &path));
        Some((lease?, heartbeat?))
    }

    fn list(&mut self, id: NodeId, path: &str) -> Option<&'t [NodeId]> {
        if let Item::List(items) = self.tree.get(id) {
            return Some(items);
        }
        self.invalid(path, "must be array");
        None
    }

    fn nodes(&mut self, id: NodeId, path: &str) -> Option<Vec<Node>> {
        let items = self.list(id, path)?;
        if items.is_empty() {
            self.invalid(path, "must NOT have fewer than 1 items");
        }
        let nodes: Vec<Option<Node>> = items
            .iter()
            .enumerate()
            .map(|(i, id)| self.node(*id, &format!("{path}/{i}")))
            .collect();
        nodes.into_iter().collect()
    }

    fn node(&mut self, id: NodeId, path: &str) -> Option<Node> {
        let object = self.object(
            id,
            path,
            &["id", "job_id", "sql", "depends_on", "trigger_rule", "idempotent"],
            &["inputs", "outputs"],
        )?;
        let node_id = object.get("id").and_then(|(id, path)| self.identifier(id, &path));
        let job_id = object
            .get("job_id")
            .and_then(|(id, path)| self.identifier(id, &path));
        let sql = object.get("sql").and_then(|(id, path)| self.text(id, &path, 1));
        let depends_on = object
            .get("depends_on")
            .and_then(|(id, path)| self.dependencies(id, &path));
        let trigger_rule = object
            .get("trigger_rule")
            .and_then(|(id, path)| self.trigger_rule(id, &path));
        let idempotent = object
            .get("idempotent")
            .and_then(|(id, path)| self.boolean(id, &path));
        let inputs = self.patterns(&object, "inputs");
        let outputs = self.patterns(&object, "outputs");
        Some(Node {
            id: node_id?,
            job_id: job_id?,
            sql: sql?,
            depends_on: depends_on?,
            trigger_rule: trigger_rule?,
            idempotent: idempotent?,
            inputs: inputs?,
            outputs: outputs?,
        })
    }

    fn dependencies(&mut self, id: NodeId, path: &str) -> Option<Vec<String>> {
        let items = self.list(id, path)?;
        let ids: Vec<Option<String>> = items
            .iter()
            .enumerate()
            .map(|(i, id)| self.identifier(*id, &format!("{path}/{i}")))
            .collect();
        ids.into_iter().collect()
    }

    fn trigger_rule(&mut self, id: NodeId, path: &str) -> Option<String> {
        match self.tree.get(id) {
            Item::Text(text) if matches!(text.as_str(), "all_success" | "none_failed" | "all_done") => {
                Some(text.clone())
            }
            _ => {
                self.invalid(path, "must be equal to one of the allowed values");
                None
            }
        }
    }

    fn boolean(&mut self, id: NodeId, path: &str) -> Option<bool> {
        if let Item::Bool(value) = self.tree.get(id) {
            return Some(*value);
        }
        self.invalid(path, "must be boolean");
        None
    }

    /// `inputs` or `outputs`: all name errors, then the values (DEF-18, steps 2 and 4).
    fn patterns(&mut self, object: &Object<'_>, name: &str) -> Option<Vec<(String, String)>> {
        let Some((id, path)) = object.get(name) else {
            return Some(Vec::new());
        };
        let Item::Map(entries) = self.tree.get(id) else {
            self.invalid(&path, "must be object");
            return None;
        };
        for (name, _) in entries {
            if !self.identifier_text(name, &path, is_forbidden_in_name) {
                self.invalid(&path, "property name must be valid");
            }
        }
        let patterns: Vec<Option<(String, String)>> = entries
            .iter()
            .map(|(name, id)| {
                let path = format!("{path}/{}", pointer_segment(name));
                self.text(*id, &path, 1).map(|pattern| (name.clone(), pattern))
            })
            .collect();
        patterns.into_iter().collect()
    }
}

fn is_forbidden_in_name(c: char) -> bool {
    matches!(c, ':' | '=' | '\0'..='\u{1f}' | '\u{7f}')
}
