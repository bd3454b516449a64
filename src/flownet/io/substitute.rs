//! From a pattern to a relative path: every placeholder becomes one harmless segment (IO-03).

use crate::flownet::definition::{PatternKind, check_pattern};

/// The values of the placeholders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Values<'a> {
    /// `{business_key}`.
    pub business_key: &'a str,
    /// `{profile}`.
    pub profile: &'a str,
    /// `{run_id}`, outputs only.
    pub run_id: &'a str,
    /// `{node_id}`, outputs only.
    pub node_id: &'a str,
}

impl Values<'_> {
    fn of(&self, placeholder: &str) -> &str {
        match placeholder {
            "{business_key}" => self.business_key,
            "{profile}" => self.profile,
            "{run_id}" => self.run_id,
            "{node_id}" => self.node_id,
            _ => "",
        }
    }
}

/// Percent-encodes the UTF-8 bytes: letters, digits, `-`, `_` and `~` stay, everything else becomes `%XX`. A dot is
/// encoded too, so that no value is ever `..`.
pub fn encode(value: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The components of the relative path, or nothing when the result may not be used (IO-01 applied again).
pub(super) fn components(kind: PatternKind, pattern: &str, values: &Values<'_>) -> Option<Vec<String>> {
    let path = kind
        .placeholders()
        .iter()
        .fold(pattern.to_owned(), |path, placeholder| {
            path.replace(placeholder, &encode(values.of(placeholder)))
        });
    check_pattern(kind, &path).ok()?;
    // On Linux a backslash is a letter of a name; doubled and trailing slashes mean nothing (IO-06).
    let components: Vec<String> = path
        .split('/')
        .filter(|c| !c.is_empty())
        .map(str::to_owned)
        .collect();
    (!components.is_empty()).then_some(components)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VALUES: Values<'static> = Values {
        business_key: "../..",
        profile: "p/q",
        run_id: "{node_id}",
        node_id: "n",
    };

    #[test]
    fn values_never_add_a_component() {
        let path = |kind, pattern| components(kind, pattern, &VALUES);
        assert_eq!(
            path(PatternKind::Input, "{business_key}/{profile}//x/"),
            Some(vec!["%2E%2E%2F%2E%2E".into(), "p%2Fq".into(), "x".into()])
        );
        assert_eq!(
            path(PatternKind::Output, "{run_id}"),
            Some(vec!["%7Bnode_id%7D".into()])
        );
        assert_eq!(path(PatternKind::Input, "{run_id}"), None);
        assert_eq!(path(PatternKind::Input, "a/../b"), None);
    }

    proptest! {
        #[test]
        fn no_pattern_and_no_value_leaves_the_root(pattern in "\\PC{0,30}|[./{}a-z_\\\\]{0,30}", value in "\\PC{0,10}") {
            let values = Values { business_key: &value, profile: &value, run_id: &value, node_id: &value };
            for kind in [PatternKind::Input, PatternKind::Output] {
                for component in components(kind, &pattern, &values).into_iter().flatten() {
                    prop_assert!(component != "." && component != ".." && !component.contains(['/', '\0']));
                }
            }
        }
    }
}
