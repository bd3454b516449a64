//! Patterns of CSV paths (IO-01).

/// Which side a pattern belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternKind {
    /// A source below `<root>/in`.
    Input,
    /// A sink below `<root>/out`.
    Output,
}

impl PatternKind {
    /// The word in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }

    /// The placeholders that may appear, with their braces.
    pub fn placeholders(self) -> &'static [&'static str] {
        match self {
            Self::Input => &["{business_key}", "{profile}"],
            Self::Output => &["{business_key}", "{profile}", "{run_id}", "{node_id}"],
        }
    }
}

/// The first rule of IO-01 that a pattern breaks. The same rules hold again for a path after substitution (IO-03).
pub fn check_pattern(kind: PatternKind, pattern: &str) -> Result<(), String> {
    let fault = if pattern.is_empty() {
        "must not be empty"
    } else if pattern.contains('\0') {
        "must not contain NUL"
    } else if is_absolute(pattern) {
        "must be a relative path without a drive or UNC prefix"
    } else if without_placeholders(kind, pattern).contains(['{', '}']) {
        return Err(format!(
            "{} pattern contains an unknown or malformed placeholder",
            kind.as_str()
        ));
    } else if pattern
        .split(['/', '\\'])
        .any(|segment| matches!(segment, "." | ".."))
    {
        "must not contain '.' or '..' path segments"
    } else {
        return Ok(());
    };
    Err(format!("{} pattern {fault}", kind.as_str()))
}

fn is_absolute(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    matches!(bytes, [b'/' | b'\\', ..]) || matches!(bytes, [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// What remains when every allowed placeholder is taken out, in one pass.
fn without_placeholders(kind: PatternKind, pattern: &str) -> String {
    let mut rest = pattern;
    let mut out = String::new();
    while let Some(c) = rest.chars().next() {
        if let Some(placeholder) = kind.placeholders().iter().find(|p| rest.starts_with(**p)) {
            rest = &rest[placeholder.len()..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_broken_rule_is_reported() {
        let fault = |pattern| check_pattern(PatternKind::Input, pattern).err();
        for pattern in [
            "a.csv",
            "a//b/",
            "1:a",
            "...",
            "a/.b",
            "{profile}/..{business_key}",
        ] {
            assert_eq!(fault(pattern), None, "{pattern}");
        }
        for (pattern, text) in [
            ("", "must not be empty"),
            ("/{x}\0", "must not contain NUL"),
            ("\\a", "relative path"),
            ("z:{x}", "relative path"),
            ("../{x}", "placeholder"),
            ("{pro{profile}file}", "placeholder"),
            ("a\\..\\b", "path segments"),
        ] {
            assert!(
                fault(pattern).is_some_and(|f| f.contains(text)),
                "{pattern}: {text}"
            );
        }
        assert!(check_pattern(PatternKind::Output, "{run_id}{node_id}").is_ok());
    }
}
