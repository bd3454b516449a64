//! The promises of `vendor-policy.md`, held against the dependency tree that cargo really resolves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Crates that the control plane may consist of, build-time ones included (rule 4 of the policy).
const CONTROL_PLANE_CRATES: usize = 65;

/// A crate of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crate {
    name: String,
    version: String,
}

/// A direct dependency and what is below it.
struct Direct {
    licence: String,
    below: BTreeSet<Crate>,
}

/// What cargo resolves for the released target, by direct dependency.
fn tree(arguments: &[&str]) -> BTreeMap<String, Direct> {
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--locked", "--offline", "--no-dedupe", "--prefix=depth"])
        .args(["--target=x86_64-unknown-linux-musl", "--format=|{p}|{l}"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let mut all = BTreeMap::new();
    let mut current = String::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let mut columns = line.split('|');
        // A section such as [dev-dependencies] has no columns.
        let (Some(depth), Some(package), Some(licence)) = (columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        let mut words = package.split(' ');
        let name = words.next().unwrap().to_owned();
        let version = words.next().unwrap().to_owned();
        match depth {
            "0" => {}
            "1" => {
                current.clone_from(&name);
                let licence = licence.trim().to_owned();
                let below = BTreeSet::new();
                all.insert(name, Direct { licence, below });
            }
            _ => {
                let direct: &mut Direct = all.get_mut(&current).unwrap();
                direct.below.insert(Crate { name, version });
            }
        }
    }
    all
}

/// Every crate name of a tree.
fn names(tree: &BTreeMap<String, Direct>) -> BTreeSet<String> {
    let below = tree.values().flat_map(|direct| &direct.below);
    below
        .map(|one| one.name.clone())
        .chain(tree.keys().cloned())
        .collect()
}

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The table rows under a heading of the policy: crate -> cells.
fn policy_rows(heading: &str) -> BTreeMap<String, Vec<String>> {
    let policy = file("vendor-policy.md");
    let (_, section) = policy.split_once(&format!("### {heading}\n")).unwrap();
    let table = section.lines().skip_while(|line| !line.starts_with('|'));
    table
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| {
            let cells: Vec<String> = line
                .trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect();
            (cells[0].clone(), cells)
        })
        .collect()
}

#[test]
fn the_control_plane_stays_within_its_number_of_crates() {
    let tree = tree(&["--no-default-features", "--edges=no-dev"]);
    let direct = tree.keys().map(|name| (name.clone(), String::new()));
    let below = tree.values().flat_map(|direct| &direct.below);
    let mut crates: BTreeSet<(String, String)> =
        below.map(|one| (one.name.clone(), one.version.clone())).collect();
    // A direct dependency that is also somebody else's is in there already, with its version.
    for (name, _) in direct {
        if !crates.iter().any(|(other, _)| *other == name) {
            crates.insert((name, String::new()));
        }
    }
    assert!(
        crates.len() > 20,
        "only {} crates: the tree was not read",
        crates.len()
    );
    assert!(
        crates.len() <= CONTROL_PLANE_CRATES,
        "{} crates under ksql-flownet; vendor-policy.md allows {CONTROL_PLANE_CRATES}",
        crates.len()
    );
}

#[test]
fn nothing_of_the_runner_or_the_sandbox_is_in_the_control_plane() {
    let small = tree(&["--no-default-features", "--edges=no-dev"]);
    let full = tree(&["--edges=no-dev"]);
    let optional: BTreeSet<&String> = full.keys().filter(|name| !small.contains_key(*name)).collect();
    let policy = policy_rows("Runner and sandbox");
    assert_eq!(
        optional,
        policy.keys().collect(),
        "the second tier of vendor-policy.md"
    );

    // A crate of the second tier may be there only because the first tier's own crates bring it (httparse, below ureq).
    let first_tier: BTreeSet<String> = policy_rows("Control plane").into_keys().collect();
    assert_eq!(
        first_tier,
        small.keys().cloned().collect(),
        "the first tier of vendor-policy.md"
    );
    let manifest = file("Cargo.toml");
    for name in &optional {
        let line = manifest
            .lines()
            .find(|line| line.starts_with(&format!("{name} =")))
            .unwrap();
        assert!(line.contains("optional = true"), "{line}");
    }
    let only_theirs: BTreeSet<String> = names(&full).difference(&names(&small)).cloned().collect();
    for name in ["encoding_rs", "regress"] {
        assert!(only_theirs.contains(name), "{name} is in the control plane");
    }
}

#[test]
fn every_direct_dependency_has_a_true_line_in_the_policy() {
    let released = tree(&["--all-features", "--edges=no-dev"]);
    let everything = tree(&["--all-features"]);
    let mut described = BTreeSet::new();
    for (heading, tree) in [
        ("Control plane", &released),
        ("Runner and sandbox", &released),
        ("Tests", &everything),
    ] {
        for (name, cells) in policy_rows(heading) {
            let direct = tree
                .get(&name)
                .unwrap_or_else(|| panic!("{name} is no direct dependency any more"));
            assert_eq!(cells.len(), 8, "{name}");
            assert!(
                cells.iter().all(|cell| !cell.is_empty()),
                "{name} has an empty cell"
            );
            assert_eq!(cells[3], direct.licence, "the licence of {name}");
            assert_eq!(
                cells[4],
                direct.below.len().to_string(),
                "the crates that {name} brings"
            );
            described.insert(name);
        }
    }
    assert_eq!(described, everything.into_keys().collect());
}

#[test]
fn every_crate_comes_from_the_default_registry_with_a_checksum() {
    let lock = file("Cargo.lock");
    let packages: Vec<&str> = lock.split("[[package]]").skip(1).collect();
    assert!(packages.len() > 50);
    for package in packages {
        if package.contains("name = \"ksql-flownet\"") {
            continue;
        }
        assert!(
            package.contains("source = \"registry+https://github.com/rust-lang/crates.io-index\""),
            "{package}"
        );
        assert!(package.contains("checksum = \""), "{package}");
    }
}
