//! kintone query text from values, escaped so that no value can end its literal (KTB-50 to KTB-54).

/// A value as a query literal, quotes included.
///
/// Backslash and quote are escaped, tab, LF and CR become `\t`, `\n`, `\r` (KTB-51). Other control characters have no
/// escape and would be a syntax error (KTB-52): each becomes U+FFFD, so that the literal finds nothing rather than
/// another record; callers re-check equality anyway (QRY-18).
pub fn literal(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `field in ("a", "b")`; works for text and drop-down fields alike (QRY-01). With no value it finds nothing.
pub fn one_of<S: AsRef<str>>(field: &str, values: &[S]) -> String {
    let list: Vec<String> = values.iter().map(|v| literal(v.as_ref())).collect();
    if list.is_empty() {
        // An empty list is a syntax error; no record has an id below 1.
        return "$id < 1".to_owned();
    }
    format!("{field} in ({})", list.join(", "))
}

/// `field not in ("a", "b")`.
pub fn none_of<S: AsRef<str>>(field: &str, values: &[S]) -> String {
    let list: Vec<String> = values.iter().map(|v| literal(v.as_ref())).collect();
    format!("{field} not in ({})", list.join(", "))
}

/// `field = "value"` for text and number fields; drop-downs need [`one_of`] (KTB-60).
pub fn equals(field: &str, value: &str) -> String {
    format!("{field} = {}", literal(value))
}

/// `$id > n`.
pub fn id_above(id: u64) -> String {
    format!("$id > {id}")
}

/// All conditions at once. Empty ones are left out; one that holds `or` must come in parentheses (see [`or`]).
pub fn and<S: AsRef<str>>(conditions: &[S]) -> String {
    joined(conditions, " and ")
}

/// At least one condition, in parentheses.
pub fn or<S: AsRef<str>>(conditions: &[S]) -> String {
    let text = joined(conditions, " or ");
    if text.is_empty() {
        text
    } else {
        format!("({text})")
    }
}

fn joined<S: AsRef<str>>(conditions: &[S], word: &str) -> String {
    let parts: Vec<&str> = conditions
        .iter()
        .map(AsRef::as_ref)
        .filter(|c| !c.is_empty())
        .collect();
    parts.join(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_the_contract_queries() {
        assert_eq!(
            and(&[
                one_of("record_type", &["NODE_STATE"]),
                one_of("run_id", &["netrun_1"]),
                id_above(7)
            ]),
            r#"record_type in ("NODE_STATE") and run_id in ("netrun_1") and $id > 7"#
        );
        assert_eq!(
            equals("attempt_id", "a\"b\\c\td\ne"),
            r#"attempt_id = "a\"b\\c\td\ne""#
        );
        assert_eq!(literal("a\u{1}\u{85}"), "\"a\u{fffd}\u{fffd}\"");
        assert_eq!(one_of::<&str>("f", &[]), "$id < 1");
        assert_eq!(or(&["a = 1", "", "b = 2"]), "(a = 1 or b = 2)");
        assert_eq!(and(&["", ""]), "");
        assert_eq!(or(&[""]), "");
    }

    /// Reads one literal by KTB-50 to KTB-52; gives the value and the rest.
    fn read(text: &str) -> Option<(String, &str)> {
        let mut value = String::new();
        let mut chars = text.strip_prefix('"')?.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return Some((value, &text[at + 2..])),
                '\\' => value.push(match chars.next()?.1 {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    c @ ('"' | '\\') => c,
                    _ => return None,
                }),
                c if c.is_control() => return None,
                c => value.push(c),
            }
        }
        None
    }

    proptest! {
        #[test]
        fn a_literal_reads_back_as_its_value(value in any::<String>(), tail in "[ )\"a-z]*") {
            let keep = |c: char| if c.is_control() && !"\t\n\r".contains(c) { '\u{fffd}' } else { c };
            let kept: String = value.chars().map(keep).collect();
            let text = format!("{}{tail}", literal(&value));
            prop_assert_eq!(read(&text), Some((kept, tail.as_str())));
        }

        #[test]
        fn quote_heavy_values_stay_inside(value in "[\"\\\\\t\n\r()= a]{0,40}") {
            let text = literal(&value);
            prop_assert_eq!(read(&text), Some((value, "")));
        }
    }
}
