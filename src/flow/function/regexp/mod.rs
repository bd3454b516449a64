//! REGEXP_LIKE, REGEXP_SUBSTR, REGEXP_REPLACE (LNG-82): ECMAScript expressions in Unicode mode.

mod expressions;
mod template;
mod work;

use regress::Regex;

use super::{Context, MAX_RESULT_BYTES, Refusal};
use crate::flow::sql::message::unknown;
use crate::flow::value::parse_number;
pub(super) use expressions::Expressions;
use template::Template;

type Outcome = Result<(), Refusal>;

pub(super) fn like(args: &[&str], context: &mut Context, out: &mut String) -> Outcome {
    let expression = context.expressions.compile(args[1], args.get(2))?;
    let found = context
        .expressions
        .run(&expression, args[0], |regex, text| regex.find(text).is_some())?;
    out.push(if found { '1' } else { '0' });
    Ok(())
}

pub(super) fn substr(args: &[&str], context: &mut Context, out: &mut String) -> Outcome {
    let expression = context.expressions.compile(args[1], args.get(2))?;
    let found = context.expressions.run(&expression, args[0], |regex, text| {
        regex.find(text).map(|m| m.range())
    })?;
    if let Some(range) = found {
        out.push_str(&args[0][range]);
    }
    Ok(())
}

pub(super) fn replace(args: &[&str], context: &mut Context, out: &mut String) -> Outcome {
    let expression = context.expressions.compile(args[1], args.get(3))?;
    let template = Template::parse(args[2])?;
    let occurrence = occurrence(args.get(4))?;
    let replaced = context
        .expressions
        .run(&expression, args[0], move |regex, text| {
            replace_matches(regex, text, &template, occurrence)
        })??;
    out.push_str(&replaced);
    Ok(())
}

/// `REGEXP_LIKE` and `REGEXP_SUBSTR` with literals: the pattern must compile with the flags.
pub(super) fn check_match(args: &[Option<&str>]) -> Outcome {
    check_pattern(literal(args, 1), literal(args, 2))
}

/// `REGEXP_REPLACE` with literals: pattern and flags, replacement text, occurrence.
pub(super) fn check_replace(args: &[Option<&str>]) -> Outcome {
    check_pattern(literal(args, 1), literal(args, 3))?;
    if let Some(replacement) = literal(args, 2) {
        Template::parse(replacement)?;
    }
    if let Some(number) = literal(args, 4) {
        occurrence(Some(&number))?;
    }
    Ok(())
}

fn literal<'a>(args: &[Option<&'a str>], at: usize) -> Option<&'a str> {
    args.get(at).copied().flatten()
}

/// Either part alone can be wrong already: an unknown flag, or a pattern without flags.
fn check_pattern(pattern: Option<&str>, flags: Option<&str>) -> Outcome {
    let pattern = pattern.unwrap_or("");
    Expressions::default()
        .compile(pattern, flags.as_ref())
        .map(|_| ())
}

/// The fifth argument of REGEXP_REPLACE: 0 (or nothing) = all matches, n = the n-th.
fn occurrence(argument: Option<&&str>) -> Result<usize, Refusal> {
    let Some(text) = argument else {
        return Ok(0);
    };
    let number = parse_number(text);
    if number >= 0.0 && number.fract() == 0.0 && number.is_finite() {
        Ok(number as usize)
    } else {
        let text = unknown(text);
        Err(Refusal::Argument(format!(
            "'{text}' is no occurrence; use 0 for all matches or n for the n-th"
        )))
    }
}

fn replace_matches(
    regex: &Regex,
    text: &str,
    template: &Template,
    occurrence: usize,
) -> Result<String, Refusal> {
    let mut out = String::new();
    let mut copied = 0;
    for (i, m) in regex.find_iter(text).enumerate() {
        if occurrence != 0 && i + 1 != occurrence {
            continue;
        }
        out.push_str(&text[copied..m.start()]);
        template.expand(&m, text, &mut out)?;
        copied = m.end();
        if out.len() > MAX_RESULT_BYTES {
            return Err(Refusal::TooLong);
        }
        if i + 1 == occurrence {
            break;
        }
    }
    out.push_str(&text[copied..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::calendar::Zone;

    type Eval = fn(&[&str], &mut Context, &mut String) -> Outcome;

    fn eval(function: Eval, args: &[&str]) -> Result<String, Refusal> {
        let mut out = String::new();
        let mut context = Context::new(jiff::Timestamp::UNIX_EPOCH, Zone::utc());
        function(args, &mut context, &mut out).map(|()| out)
    }

    #[test]
    fn flags_change_the_match_and_others_are_refused() {
        let like = |args: &[&str]| eval(like, args);
        assert_eq!(like(&["ABC", "b"]).unwrap(), "0");
        assert_eq!(like(&["ABC", "b", "i"]).unwrap(), "1");
        assert_eq!(like(&["a\nb", "^b$"]).unwrap(), "0");
        assert_eq!(like(&["a\nb", "^b$", "m"]).unwrap(), "1");
        assert_eq!(like(&["a\nb", "a.b"]).unwrap(), "0");
        assert_eq!(like(&["a\nb", "a.b", "s"]).unwrap(), "1");
        assert_eq!(like(&["A\nB", "a.b$", "ims"]).unwrap(), "1");
        assert_eq!(like(&["😀", "^.$"]).unwrap(), "1");
        assert_eq!(like(&["漢", r"^\p{Script=Han}$"]).unwrap(), "1");
        assert_eq!(like(&["", ""]).unwrap(), "1");
        for flags in ["g", "u", "y", "ii", "I", "i "] {
            assert!(
                matches!(like(&["a", "a", flags]), Err(Refusal::Argument(_))),
                "{flags}"
            );
        }
        for pattern in ["(", "[", "a{2", r"\u{110000}", "*", r"\-"] {
            assert!(
                matches!(like(&["a", pattern]), Err(Refusal::Argument(_))),
                "{pattern}"
            );
        }
    }

    #[test]
    fn substr_gives_the_first_match_or_nothing() {
        assert_eq!(eval(substr, &["価格は1200円", r"\d+"]).unwrap(), "1200");
        assert_eq!(eval(substr, &["abc", r"\d+"]).unwrap(), "");
        assert_eq!(eval(substr, &["x=1", r"(?<=x=)\d"]).unwrap(), "1");
    }

    #[test]
    fn replacement_texts() {
        for (text, pattern, replacement, expected) in [
            ("abc", "b", "[$&]", "a[b]c"),
            ("abc", "b", "$$", "a$c"),
            ("abc", "b", "$", "a$c"),
            ("abc", "b", "$x$0", "a$x$0c"),
            ("abc", "(b)", "$1$2", "ab$2c"),
            ("abc", "(b)", "$01$10", "abb0c"),
            ("abc", "(x)?b", "<$1>", "a<>c"),
            ("2026-08", r"(?<y>\d+)-(?<m>\d+)", "$<m>/$<y>$<n>", "08/2026"),
            ("abc", "b", "$<y>", "a$<y>c"),
            ("abc", "(?<y>b)", "$<y", "a$<yc"),
            ("abc", "", "-", "-a-b-c-"),
            ("あ😀", "", "-", "-あ-😀-"),
            ("abc", "z", "-", "abc"),
        ] {
            let result = eval(replace, &[text, pattern, replacement]);
            assert_eq!(result.as_deref(), Ok(expected), "{text} {pattern} {replacement}");
        }
        let groups = "(a)".repeat(12);
        assert_eq!(
            eval(replace, &["aaaaaaaaaaaa!", &groups, "$12$11"]).unwrap(),
            "aa!"
        );
        for replacement in ["$`", "x$'"] {
            assert!(matches!(
                eval(replace, &["a", "a", replacement]),
                Err(Refusal::Argument(_))
            ));
        }
    }

    #[test]
    fn occurrences() {
        let nth = |n: &str| eval(replace, &["aaa", "a", "b", "", n]);
        assert_eq!(nth("0").unwrap(), "bbb");
        assert_eq!(nth("2").unwrap(), "aba");
        assert_eq!(nth("4").unwrap(), "aaa");
        for n in ["-1", "1.5", "x", "Infinity"] {
            assert!(matches!(nth(n), Err(Refusal::Argument(_))), "{n}");
        }
    }
}
