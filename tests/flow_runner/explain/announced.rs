//! What `explain` announces, read from its lines, and how that differs from what was sent.

use super::sent::{Request, Sent};

/// Bounds of a number as they are printed: `3`, `at least 3`, `1 to 3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    least: u64,
    most: Option<u64>,
}

impl Bounds {
    fn read(text: &str) -> Self {
        let number = |text: &str| {
            text.trim()
                .parse::<u64>()
                .unwrap_or_else(|_| panic!("a number: {text:?}"))
        };
        if let Some(least) = text.strip_prefix("at least ") {
            return Self {
                least: number(least),
                most: None,
            };
        }
        let (least, most) = text.split_once(" to ").unwrap_or((text, text));
        Self {
            least: number(least),
            most: Some(number(most)),
        }
    }

    fn hold(self, number: u64) -> bool {
        number >= self.least && self.most.is_none_or(|most| number <= most)
    }

    fn add(self, other: Self) -> Self {
        Self {
            least: self.least + other.least,
            most: self.most.zip(other.most).map(|(a, b)| a + b),
        }
    }
}

/// A step that sends requests.
#[derive(Debug)]
struct Step {
    kind: &'static str,
    app: u64,
    /// Fields with `true` for those that are certain.
    fields: Vec<(String, bool)>,
    /// Condition and the rest of the query: order, limit.
    query: (String, String),
    bounds: Bounds,
    repeated: bool,
    /// What may take its place.
    instead: Option<Box<Step>>,
}

/// The output of `explain`.
pub struct Announcement {
    steps: Vec<Step>,
    totals: [String; 4],
    /// All of it.
    pub text: String,
}

fn split_query(query: &str) -> (String, String) {
    let at = ["order by ", "limit "]
        .iter()
        .filter_map(|word| query.find(word))
        .min();
    let (condition, rest) = query.split_at(at.unwrap_or(query.len()));
    (condition.trim().to_owned(), rest.to_owned())
}

/// Whether a text has the form of a pattern, in which `?` stands for anything.
fn has_form(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('?');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    for (place, part) in parts.iter().enumerate() {
        if place + 1 == parts.len() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

/// The pattern without the parts that hold a `?`: what is sent where kintone cannot decide them.
fn without_later(pattern: &str) -> String {
    let known = pattern.split(" and ").filter(|part| !part.contains('?'));
    known.collect::<Vec<_>>().join(" and ")
}

fn step(line: &str) -> Option<Step> {
    let kinds = [
        ("scan ", "read"),
        ("count ", "read"),
        ("look up ", "read"),
        ("form ", "form"),
        ("states ", "states"),
        ("settings ", "settings"),
        ("write ", "write"),
    ];
    // What takes the place of a step has no bounds of its own.
    let line = line.strip_prefix("or ").unwrap_or(line);
    let (word, kind) = kinds.into_iter().find(|(word, _)| line.starts_with(word))?;
    let (before, rest) = line.split_once("APP").expect("an app");
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .expect("more than an app");
    let (app, rest) = rest.split_at(digits);
    let facts = rest.strip_prefix(" (").and_then(|rest| rest.split_once(')'));
    let (facts, query) = facts.unwrap_or(("at least 0 requests", rest));
    let requests = facts.rsplit(", ").next().expect("requests");
    let number = requests
        .strip_suffix(" requests")
        .or_else(|| requests.strip_suffix(" request"));
    let fields = before[word.len()..].trim();
    let fields = fields
        .split(", ")
        .filter(|field| kind == "read" && !field.is_empty());
    let fields = fields.map(|field| match field.strip_suffix('?') {
        Some(field) => (field.to_owned(), false),
        None => (field.to_owned(), true),
    });
    let counts = (word == "count ").then(|| ("$id".to_owned(), true));
    Some(Step {
        kind,
        app: app.parse().expect("an app number"),
        fields: fields.chain(counts).collect(),
        query: split_query(query.strip_prefix(": ").unwrap_or_default()),
        bounds: Bounds::read(number.expect("requests")),
        repeated: false,
        instead: None,
    })
}

impl Step {
    fn announces(&self, request: &Request) -> bool {
        if self.kind != request.kind || self.app != request.app {
            return false;
        }
        if self
            .instead
            .as_ref()
            .is_some_and(|other| other.announces(request))
        {
            return true;
        }
        if self.kind != "read" {
            return true;
        }
        let certain = self.fields.iter().filter(|(_, certain)| *certain);
        let fields = certain.clone().all(|(field, _)| request.fields.contains(field))
            && request
                .fields
                .iter()
                .all(|field| self.fields.iter().any(|(own, _)| own == field));
        let (condition, rest) = split_query(&request.query);
        let forms = [self.query.0.clone(), without_later(&self.query.0)];
        let first = has_form(&self.query.1, &rest) && forms.iter().any(|form| has_form(form, &condition));
        fields && (first || forms.iter().any(|form| self.goes_on(form, &condition, &rest)))
    }

    /// A later page of the scan.
    fn goes_on(&self, form: &str, condition: &str, rest: &str) -> bool {
        let order = |text: &str| text.split(" limit ").next().map(str::to_owned);
        if self.query.1.contains(" offset ") {
            return has_form(form, condition) && order(rest) == order(&self.query.1);
        }
        let behind = if form.is_empty() {
            "$id > ?".to_owned()
        } else {
            format!("({form}) and $id > ?")
        };
        has_form(&behind, condition) && rest.starts_with("order by $id asc limit ")
    }
}

impl Announcement {
    /// Reads the output.
    pub fn read(text: &str) -> Self {
        let lines = text.lines().map(str::trim);
        let mut steps: Vec<Step> = Vec::new();
        // Statements behind an EXIT are announced for the case that they are reached.
        let (mut exit, mut behind) = (false, false);
        for line in lines.clone() {
            behind |= exit && line.starts_with('#');
            exit |= line.starts_with('#') && line.ends_with(" EXIT");
            let Some(mut step) = step(line) else { continue };
            step.bounds.least = if behind { 0 } else { step.bounds.least };
            match steps.last_mut().filter(|_| line.starts_with("or ")) {
                Some(before) => before.instead = Some(Box::new(step)),
                None => steps.push(step),
            }
        }
        let total = lines
            .clone()
            .find_map(|line| line.strip_prefix("estimated requests: "))
            .expect("totals");
        let total = total.split(';').next().unwrap_or_default();
        let totals: Vec<String> = total.split(", ").map(str::to_owned).collect();
        let words = [
            " to read",
            " to write",
            " for forms and settings",
            " for lock and log",
        ];
        let totals = std::array::from_fn(|place| {
            totals[place]
                .strip_suffix(words[place])
                .expect("the order of the totals")
                .to_owned()
        });
        // The same thing announced twice is one announcement of both.
        for later in (1..steps.len()).rev() {
            let same = |step: &Step, other: &Step| {
                (step.kind, step.app, &step.query, &step.fields)
                    == (other.kind, other.app, &other.query, &other.fields)
            };
            let (before, after) = steps.split_at_mut(later);
            if let Some(first) = before.iter_mut().find(|first| same(first, &after[0])) {
                first.bounds = first.bounds.add(after[0].bounds);
                first.repeated = true;
                steps.remove(later);
            }
        }
        Self {
            steps,
            totals,
            text: text.to_owned(),
        }
    }

    /// Read, written, definitions: as they are printed.
    pub fn totals(&self) -> [&str; 3] {
        [&self.totals[0], &self.totals[1], &self.totals[2]]
    }

    /// Everything in which it differs from what was sent.
    pub fn differences(&self, sent: &Sent) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut counts = vec![0; self.steps.len()];
        let mut reached = 0;
        for request in &sent.requests {
            match self.steps.iter().position(|step| step.announces(request)) {
                None => wrong.push(format!("not announced: {request:?}")),
                Some(place) => {
                    counts[place] += 1;
                    let step = &self.steps[place];
                    if counts[place] == 1 && place < reached && !step.repeated && step.kind != "form" {
                        wrong.push(format!("announced for earlier: {request:?}"));
                    }
                    reached = reached.max(place);
                }
            }
        }
        for (step, count) in self.steps.iter().zip(counts) {
            if !step.bounds.hold(count) {
                wrong.push(format!("{count} requests for {step:?}"));
            }
        }
        let number = |kinds: &[&str]| {
            let requests = sent
                .requests
                .iter()
                .filter(|request| kinds.contains(&request.kind));
            requests.count() as u64
        };
        let sums = [
            number(&["read"]),
            number(&["write"]),
            number(&["form", "states", "settings"]),
            sent.log,
        ];
        for (total, sum) in self.totals.iter().zip(sums) {
            if !Bounds::read(total).hold(sum) {
                wrong.push(format!("{sum} requests instead of {total}"));
            }
        }
        wrong
    }
}

#[test]
fn forms_of_queries_are_told_apart() {
    for (form, text, fits) in [
        ("a > ?", "a > 299", true),
        ("a > ?", "b > 299", false),
        ("k in (?) and a = 1", "k in (\"x\", \"y\") and a = 1", true),
        ("k in (?) and a = 1", "k in (\"x\", \"y\") and a = 2", false),
        ("a = 1", "a = 1 and b = 2", false),
        ("", "a = 1", false),
    ] {
        assert_eq!(has_form(form, text), fits, "{form} {text}");
    }
    let sent = |query: &str, fields: &[&str]| Request {
        kind: "read",
        app: 7,
        query: query.to_owned(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
    };
    let scan =
        step("scan $id, a, b? APP7 (exact, 2 requests): a > 1 order by $id asc limit 500").expect("a scan");
    for (query, fields, fits) in [
        ("a > 1 order by $id asc limit 500", &["$id", "a"][..], true),
        (
            "(a > 1) and $id > 500 order by $id asc limit 500",
            &["$id", "a", "b"],
            true,
        ),
        ("a > 1 order by $id asc limit 5", &["$id", "a"], false),
        ("a > 1 order by $id asc limit 500", &["$id"], false),
        ("a > 1 order by $id asc limit 500", &["$id", "a", "c"], false),
        ("order by $id asc limit 500", &["$id", "a"], false),
    ] {
        assert_eq!(scan.announces(&sent(query, fields)), fits, "{query} {fields:?}");
    }
}
