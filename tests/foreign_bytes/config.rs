//! A runner's configuration: a profile or an error that names the file, whether secrets are looked up or not.

use ksql_flownet::flow::runner::config::{Secrets, load};

pub fn check(bytes: &[u8]) {
    let file = std::env::temp_dir().join(format!("fuzz-config-{}.json", std::process::id()));
    std::fs::write(&file, bytes).expect("temporary file");
    for secrets in [Secrets::Resolve, Secrets::Skip] {
        for profile in [None, Some("prod")] {
            let _ = load(&file, profile, secrets, &|_| Some("value".to_owned()));
        }
    }
}
