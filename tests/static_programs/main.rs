//! The programs of `make static` as an operator gets them: no loader, within their sizes, and at work in a root folder that
//! holds nothing but themselves, the job files and what each test says. `make test-static` builds and runs this.

mod dns;
mod empty_root;
mod network;
mod tls_front;

use std::process::Command;

use empty_root::static_program;

const MIB: u64 = 1 << 20;

/// Largest size of each program in bytes.
const SIZES: [(&str, u64); 3] = [
    ("ksql-flownet", 4 * MIB),
    ("ksql-flow", 6 * MIB),
    ("kintone-sandbox", 6 * MIB),
];

#[test]
#[ignore = "needs the programs of make static; make test-static runs it"]
fn each_program_stays_below_its_size() {
    for (name, limit) in SIZES {
        let size = static_program(name).metadata().unwrap().len();
        assert!(size < limit, "{name} has {size} bytes; its limit is {limit}");
    }
}

#[test]
#[ignore = "needs the programs of make static; make test-static runs it"]
fn no_program_asks_for_a_loader_or_a_shared_library() {
    for (name, _) in SIZES {
        let output = Command::new("readelf")
            .args(["--wide", "--program-headers", "--dynamic"])
            .arg(static_program(name))
            .output()
            .expect("readelf (package binutils)");
        let headers = String::from_utf8_lossy(&output.stdout);
        assert!(headers.contains("LOAD"), "{name}: {headers}");
        assert!(!headers.contains("INTERP"), "{name}: {headers}");
        assert!(!headers.contains("(NEEDED)"), "{name}: {headers}");
    }
}

#[test]
#[ignore = "needs the programs of make static; make test-static runs it"]
fn no_program_names_a_folder_of_the_machine_that_built_it() {
    let home = std::env::var("HOME").unwrap_or_default();
    for (name, _) in SIZES {
        let bytes = std::fs::read(static_program(name)).unwrap();
        for folder in [env!("CARGO_MANIFEST_DIR"), "/.cargo/registry", "/.rustup/", &home] {
            if folder.len() < 2 {
                continue;
            }
            let found = bytes
                .windows(folder.len())
                .any(|window| window == folder.as_bytes());
            assert!(!found, "{name} contains {folder}");
        }
    }
}
