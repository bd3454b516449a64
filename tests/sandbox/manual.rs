//! The manual pages name every option, control request and fault action, in both languages and in the same order.
use std::path::Path;

use crate::harness::command;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn pages() -> [(&'static str, String); 2] {
    ["kintone-sandbox.1", "ja/kintone-sandbox.1"].map(|name| (name, page(name)))
}

#[test]
fn every_option_of_the_help_is_described() {
    let help = command().arg("--help").output().expect("help").stdout;
    let help = String::from_utf8_lossy(&help).into_owned();
    let options: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("  --")?.split(' ').next())
        .collect();
    assert!(options.len() >= 11, "{options:?}");
    for (name, page) in pages() {
        for option in &options {
            assert!(page.contains(&format!(".It Fl -{option}")), "{name}: --{option}");
        }
    }
}

#[test]
fn control_requests_and_actions_are_described() {
    for (name, page) in pages() {
        for word in [
            "POST faults",
            "DELETE faults",
            "GET holds",
            "POST release",
            "GET log",
            "DELETE log",
            "GET counters",
            "POST clock",
            "POST latency",
            "POST text_equality",
            "GET records",
            "POST records",
            "PUT records",
            "drop_before",
            "drop_after",
            "cut",
            "status",
            "delay",
            "hold_before",
            "hold_after",
            "when_gone",
        ] {
            assert!(page.contains(word), "{name}: {word}");
        }
    }
}

#[test]
fn both_pages_have_the_same_parts() {
    let shape = |page: &str| -> Vec<String> {
        page.lines()
            .filter(|line| line.starts_with(".Sh") || line.starts_with(".It") || line.starts_with(".Bl"))
            .map(|line| {
                if line.starts_with(".Sh") {
                    ".Sh".to_owned()
                } else {
                    line.to_owned()
                }
            })
            .collect()
    };
    let [(_, english), (_, japanese)] = pages();
    assert_eq!(shape(&english), shape(&japanese));
}
