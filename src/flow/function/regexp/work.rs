//! How much work a pattern can make, judged from its text alone.

/// A rough upper bound of backtracking, read off the pattern text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Quantifiers on single atoms and back references: each may try every length.
    loops: i32,
    /// Alternatives: each may double the paths.
    branches: i32,
    /// A quantified group: paths may multiply with every repetition.
    nested: bool,
}

impl Work {
    pub fn of(pattern: &str) -> Self {
        let mut work = Self {
            loops: 0,
            branches: 0,
            nested: false,
        };
        let bytes = pattern.as_bytes();
        let (mut i, mut class, mut previous) = (0, false, 0u8);
        while i < bytes.len() {
            let c = bytes[i];
            match c {
                b'\\' => {
                    i += 1;
                    let escaped = bytes.get(i).copied().unwrap_or(0);
                    let back_reference = !class && (escaped.is_ascii_digit() || escaped == b'k');
                    work.loops += i32::from(back_reference);
                }
                b'[' => class = true,
                b']' => class = false,
                _ if class => {}
                b'|' => work.branches += 1,
                // `(?` opens a special group, and `?` after a quantifier only makes it lazy.
                b'?' if matches!(previous, b'(' | b'*' | b'+' | b'?' | b'}') => {}
                b'*' | b'+' | b'?' | b'{' => {
                    work.loops += 1;
                    work.nested |= previous == b')';
                }
                _ => {}
            }
            previous = if c == b'\\' { b'\\' } else { c };
            i += 1;
        }
        work
    }

    /// Steps on a text of that many bytes.
    pub fn steps(self, text_bytes: usize) -> f64 {
        if self.nested {
            return f64::INFINITY;
        }
        ((text_bytes + 1) as f64).powi(self.loops + 1) * 2f64.powi(self.branches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_judged_from_the_pattern() {
        let steps = |pattern: &str| Work::of(pattern).steps(9);
        assert!((steps("abc") - 10.0).abs() < 1e-9);
        assert!((steps(r"\d+-x?") - 1000.0).abs() < 1e-9);
        assert!((steps(r"[*+?]\*a|b") - 20.0).abs() < 1e-9);
        assert!((steps(r"(?:a+?)\1") - 1000.0).abs() < 1e-9);
        assert!(steps("(a+)+").is_infinite());
        assert!(steps("(?:a|a)*").is_infinite());
    }
}
