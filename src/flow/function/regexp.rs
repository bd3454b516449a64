//! REGEXP_LIKE, REGEXP_SUBSTR, REGEXP_REPLACE (LNG-82): ECMAScript expressions in Unicode mode.
//!
//! The matcher backtracks and cannot be interrupted, so a pattern whose work on a text is not clearly
//! small runs on a thread of its own that is given up after a time limit; the statement then fails.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use regress::{Flags, Match, Regex};

use super::{Context, MAX_RESULT_BYTES, Refusal};
use crate::flow::value::parse_number;

type Outcome = Result<(), Refusal>;

/// Longest accepted pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 10_000;

/// Expressions kept compiled; statements rarely use more than one or two.
const MAX_COMPILED: usize = 32;

/// Time for one expression on one text.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Steps below which a match runs in place: well under a second of work.
const STEPS_IN_PLACE: f64 = 1e6;

/// The compiled expressions of a statement, most recently used last, and the thread for doubtful ones.
#[derive(Debug)]
pub(super) struct Expressions {
    compiled: Vec<Arc<Expression>>,
    worker: Option<Sender<Job>>,
    time_limit: Duration,
}

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug)]
struct Expression {
    pattern: String,
    flags: String,
    regex: Regex,
    work: Work,
}

impl Default for Expressions {
    fn default() -> Self {
        Self {
            compiled: Vec::new(),
            worker: None,
            time_limit: TIME_LIMIT,
        }
    }
}

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

/// The fifth argument of REGEXP_REPLACE: 0 (or nothing) = all matches, n = the n-th.
fn occurrence(argument: Option<&&str>) -> Result<usize, Refusal> {
    let Some(text) = argument else {
        return Ok(0);
    };
    let number = parse_number(text);
    if number >= 0.0 && number.fract() == 0.0 && number.is_finite() {
        Ok(number as usize)
    } else {
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
        template.expand(&m, text, &mut out);
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

impl Expressions {
    fn compile(&mut self, pattern: &str, flags: Option<&&str>) -> Result<Arc<Expression>, Refusal> {
        let flags = flags.copied().unwrap_or("");
        let known = self
            .compiled
            .iter()
            .rposition(|e| e.pattern == pattern && e.flags == flags);
        if let Some(at) = known {
            let expression = self.compiled.remove(at);
            self.compiled.push(Arc::clone(&expression));
            return Ok(expression);
        }
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(Refusal::Argument(format!(
                "the pattern is longer than {MAX_PATTERN_BYTES} bytes"
            )));
        }
        let regex = Regex::with_flags(pattern, parse_flags(flags)?)
            .map_err(|e| Refusal::Argument(format!("'{pattern}' is no regular expression: {}", e.text)))?;
        let expression = Arc::new(Expression {
            pattern: pattern.to_owned(),
            flags: flags.to_owned(),
            regex,
            work: Work::of(pattern),
        });
        if self.compiled.len() == MAX_COMPILED {
            self.compiled.remove(0);
        }
        self.compiled.push(Arc::clone(&expression));
        Ok(expression)
    }

    /// Runs a match in place when it is clearly small, else on the worker with a time limit.
    fn run<T: Send + 'static>(
        &mut self,
        expression: &Arc<Expression>,
        text: &str,
        work: impl FnOnce(&Regex, &str) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        if expression.work.steps(text.len()) <= STEPS_IN_PLACE {
            return Ok(work(&expression.regex, text));
        }
        let (answer, receiver) = mpsc::sync_channel(1);
        let (expression, text) = (Arc::clone(expression), text.to_owned());
        let job: Job = Box::new(move || {
            // Nobody listens any more after the time limit.
            let _ = answer.send(work(&expression.regex, &text));
        });
        let worker = self.worker.get_or_insert_with(start_worker);
        if worker.send(job).is_ok()
            && let Ok(result) = receiver.recv_timeout(self.time_limit)
        {
            return Ok(result);
        }
        self.worker = None;
        Err(Refusal::TooSlow)
    }
}

/// The thread ends when its sender is dropped, or after the job it was given up with.
fn start_worker() -> Sender<Job> {
    let (sender, receiver) = mpsc::channel::<Job>();
    thread::spawn(move || receiver.into_iter().for_each(|job| job()));
    sender
}

/// Only `i`, `m`, `s`, each at most once; Unicode mode always.
fn parse_flags(text: &str) -> Result<Flags, Refusal> {
    let mut flags = Flags {
        unicode: true,
        ..Flags::default()
    };
    for c in text.chars() {
        let flag = match c {
            'i' => &mut flags.icase,
            'm' => &mut flags.multiline,
            's' => &mut flags.dot_all,
            _ => {
                return Err(Refusal::Argument(format!(
                    "unsupported flag '{c}'; use i, m or s"
                )));
            }
        };
        if *flag {
            return Err(Refusal::Argument(format!("flag '{c}' is given twice")));
        }
        *flag = true;
    }
    Ok(flags)
}

/// A rough upper bound of backtracking, read off the pattern text.
#[derive(Clone, Copy, Debug)]
struct Work {
    /// Quantifiers on single atoms and back references: each may try every length.
    loops: i32,
    /// Alternatives: each may double the paths.
    branches: i32,
    /// A quantified group: paths may multiply with every repetition.
    nested: bool,
}

impl Work {
    fn of(pattern: &str) -> Self {
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

    fn steps(self, text_bytes: usize) -> f64 {
        if self.nested {
            return f64::INFINITY;
        }
        ((text_bytes + 1) as f64).powi(self.loops + 1) * 2f64.powi(self.branches)
    }
}

/// A replacement text: literals and references.
#[derive(Debug)]
struct Template(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Literal(String),
    /// `$&`
    Whole,
    /// `$1` to `$99`: the digits decide once the number of groups is known.
    Group(String),
    /// `$<name>`
    Named(String),
}

impl Template {
    fn parse(text: &str) -> Result<Self, Refusal> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            literal.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let (piece, length) = match rest.as_bytes() {
                [b'$', ..] => {
                    literal.push('$');
                    rest = &rest[1..];
                    continue;
                }
                [b'`' | b'\'', ..] => {
                    return Err(Refusal::Argument(
                        "the replacement text may not use $` or $'".to_owned(),
                    ));
                }
                [b'&', ..] => (Piece::Whole, 1),
                [b'0'..=b'9', b'0'..=b'9', ..] => (Piece::Group(rest[..2].to_owned()), 2),
                [b'0'..=b'9', ..] => (Piece::Group(rest[..1].to_owned()), 1),
                [b'<', ..] if rest.contains('>') => {
                    let end = rest.find('>').unwrap_or(1);
                    (Piece::Named(rest[1..end].to_owned()), end + 1)
                }
                _ => {
                    literal.push('$');
                    continue;
                }
            };
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(piece);
            rest = &rest[length..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self(pieces))
    }

    fn expand(&self, m: &Match, text: &str, out: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => out.push_str(literal),
                Piece::Whole => out.push_str(&text[m.range()]),
                Piece::Group(digits) => expand_group(digits, m, text, out),
                Piece::Named(name) if m.named_groups().next().is_none() => {
                    out.extend(["$<", name, ">"]);
                }
                Piece::Named(name) => {
                    if let Some(range) = m.named_group(name) {
                        out.push_str(&text[range]);
                    }
                }
            }
        }
    }
}

/// Two digits when such a group exists, else one digit, else the text itself.
fn expand_group(digits: &str, m: &Match, text: &str, out: &mut String) {
    let groups = m.groups().count() - 1;
    for length in (1..=digits.len()).rev() {
        let number: usize = digits[..length].parse().unwrap_or(0);
        if (1..=groups).contains(&number) {
            if let Some(range) = m.group(number) {
                out.push_str(&text[range]);
            }
            out.push_str(&digits[length..]);
            return;
        }
    }
    out.push('$');
    out.push_str(digits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::calendar::Zone;

    type Eval = fn(&[&str], &mut Context, &mut String) -> Outcome;

    fn context() -> Context {
        Context::new(jiff::Timestamp::UNIX_EPOCH, Zone::utc())
    }

    fn eval(function: Eval, args: &[&str]) -> Result<String, Refusal> {
        let mut out = String::new();
        function(args, &mut context(), &mut out).map(|()| out)
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
        let long = "a".repeat(MAX_PATTERN_BYTES + 1);
        assert!(matches!(like(&["a", &long]), Err(Refusal::Argument(_))));
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

    #[test]
    fn doubtful_patterns_answer_from_the_worker() {
        let mut context = context();
        for (text, expected) in [("090-1234-5678", "1"), ("090-", "0"), ("1-2", "1")] {
            let mut out = String::new();
            like(&[text, r"^(\d+-)+\d+$"], &mut context, &mut out).unwrap();
            assert_eq!(out, expected);
        }
        assert!(context.expressions.worker.is_some());
    }

    #[test]
    fn a_catastrophic_pattern_ends_the_statement() {
        let mut context = context();
        context.expressions.time_limit = Duration::from_millis(1);
        let text = format!("{}!", "a".repeat(24));
        let mut out = String::new();
        let result = like(&[&text, "^(a+)+$"], &mut context, &mut out);
        assert_eq!(result, Err(Refusal::TooSlow));
        // The next expression gets a new worker.
        context.expressions.time_limit = TIME_LIMIT;
        like(&["aaa", "^(a+)+$"], &mut context, &mut out).unwrap();
        assert_eq!(out, "1");
    }

    #[test]
    fn compiled_expressions_are_kept_and_bounded() {
        let mut context = context();
        let mut out = String::new();
        for i in 0..MAX_COMPILED + 3 {
            like(&["x", &format!("x{{{i}}}")], &mut context, &mut out).unwrap();
            like(&["x", "y"], &mut context, &mut out).unwrap();
        }
        assert_eq!(context.expressions.compiled.len(), MAX_COMPILED);
        assert_eq!(context.expressions.compiled.last().unwrap().pattern, "y");
    }
}
