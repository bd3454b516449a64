//! Which zone this host is in, read the way the C library finds it; only the name is taken, the rules
//! come from the bundled data.

use std::path::Path;

/// Where the system keeps its zone: a link into the zone database, and a file with the name.
const LOCALTIME: &str = "/etc/localtime";
const TIMEZONE: &str = "/etc/timezone";

/// The host's zone name, if it can be told.
pub(super) fn zone_name() -> Option<String> {
    match std::env::var("TZ") {
        Ok(value) => name_of_variable(&value),
        Err(_) => std::fs::read_link(LOCALTIME)
            .ok()
            .and_then(|target| name_in_database(&target))
            .or_else(|| {
                let text = std::fs::read_to_string(TIMEZONE).ok()?;
                let name = text.trim();
                (!name.is_empty()).then(|| name.to_owned())
            }),
    }
}

/// `TZ` may begin with a colon, may be a path into the zone database, and means UTC when empty.
fn name_of_variable(value: &str) -> Option<String> {
    let value = value.strip_prefix(':').unwrap_or(value);
    match value {
        "" => Some("UTC".to_owned()),
        path if path.starts_with('/') => name_in_database(Path::new(path)),
        name => Some(name.to_owned()),
    }
}

fn name_in_database(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let (_, name) = text.split_once("zoneinfo/")?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_may_be_a_name_a_path_or_empty() {
        assert_eq!(name_of_variable("Asia/Tokyo").as_deref(), Some("Asia/Tokyo"));
        assert_eq!(name_of_variable(":Europe/Paris").as_deref(), Some("Europe/Paris"));
        assert_eq!(
            name_of_variable("/usr/share/zoneinfo/Asia/Tokyo").as_deref(),
            Some("Asia/Tokyo")
        );
        assert_eq!(name_of_variable("").as_deref(), Some("UTC"));
        assert_eq!(name_of_variable("/somewhere/else"), None);
    }
}
