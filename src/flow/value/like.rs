//! LIKE (LNG-49): `%` any run, `_` one code point, no escape character; neither crosses the end of a
//! line, and a pattern without wildcard is a substring test.

/// A LIKE pattern, looked at once and matched many times.
#[derive(Clone, Debug)]
pub struct LikePattern {
    pattern: Box<str>,
    wildcards: bool,
}

impl LikePattern {
    /// Prepares a pattern; every text is one.
    pub fn new(pattern: &str) -> Self {
        Self {
            wildcards: pattern.contains(['%', '_']),
            pattern: pattern.into(),
        }
    }

    /// True when the text matches; case-sensitive.
    pub fn matches(&self, text: &str) -> bool {
        if self.wildcards {
            matches(text, &self.pattern)
        } else {
            text.contains(&*self.pattern)
        }
    }
}

/// Matches once; prefer [`LikePattern`] for many rows.
pub fn like(text: &str, pattern: &str) -> bool {
    LikePattern::new(pattern).matches(text)
}

/// What the dot of ECMAScript does not match.
fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Walks both texts once and, on a mismatch, lets the latest `%` take one more character. Going back to an
/// earlier `%` can never help, so the work is bounded by text length times pattern length.
fn matches(text: &str, pattern: &str) -> bool {
    let (mut t, mut p) = (text, pattern);
    let mut latest: Option<(&str, &str)> = None;
    loop {
        let mut rest_of_pattern = p.chars();
        let mut rest_of_text = t.chars();
        match (rest_of_pattern.next(), rest_of_text.next()) {
            (None, None) => return true,
            (Some('%'), _) => {
                p = rest_of_pattern.as_str();
                latest = Some((p, t));
                continue;
            }
            (Some('_'), Some(c)) if !ends_line(c) => {
                (p, t) = (rest_of_pattern.as_str(), rest_of_text.as_str());
                continue;
            }
            (Some(wanted), Some(c)) if wanted != '_' && wanted == c => {
                (p, t) = (rest_of_pattern.as_str(), rest_of_text.as_str());
                continue;
            }
            _ => {}
        }
        let Some((after, from)) = latest else {
            return false;
        };
        let mut taken = from.chars();
        match taken.next() {
            Some(c) if !ends_line(c) => {
                (p, t) = (after, taken.as_str());
                latest = Some((after, t));
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, pattern, expected) in [
            ("r1", "r_", true),
            ("r4", "%4", true),
            ("r2", "r1", false),
            ("株式会社", "会社", true),
            ("株式会社", "会社%", false),
            ("株式会社", "%会社", true),
            ("株式会社", "株%社", true),
            ("𠮟る", "_る", true),
            ("𠮟る", "__る", false),
            ("abc", "ABC", false),
            ("abc", "", true),
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("", "a", false),
            ("a%b", "a\\%b", false),
            ("aXbXc", "a%X%c", true),
            ("mississippi", "m%iss%pi", true),
            ("mississippi", "m%iss%xi", false),
            ("100%", "100%", true),
            ("a.b", "a.b%", true),
            ("aXb", "a.b%", false),
            ("a\nb", "a%", false),
            ("a\nb", "a_b", false),
            ("a\nb", "a\n%", true),
            ("a\nb", "%\n%", true),
            ("a\rb", "a%b", false),
            ("a\nb", "b", true),
        ] {
            assert_eq!(like(text, pattern), expected, "{text:?} LIKE {pattern:?}");
        }
    }
}
