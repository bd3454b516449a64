//! Compiled expressions, and how long one may work on one text.
//!
//! The matcher backtracks and cannot be interrupted, so a pattern whose work on a text is not clearly
//! small runs on a thread of its own that is given up after a time limit; the statement then fails.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use regress::{Flags, Regex};

use super::work::Work;
use crate::flow::function::Refusal;
use crate::flow::sql::message::unknown;

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
pub(in crate::flow::function) struct Expressions {
    compiled: Vec<Arc<Expression>>,
    worker: Option<Sender<Job>>,
    time_limit: Duration,
}

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug)]
pub(super) struct Expression {
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

impl Expressions {
    /// The expression of a pattern and its flags, compiled at most once.
    pub(super) fn compile(
        &mut self,
        pattern: &str,
        flags: Option<&&str>,
    ) -> Result<Arc<Expression>, Refusal> {
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
        let regex = Regex::with_flags(pattern, parse_flags(flags)?).map_err(|e| {
            let (pattern, reason) = (unknown(pattern), unknown(&e.text));
            Refusal::Argument(format!("'{pattern}' is no regular expression: {reason}"))
        })?;
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
    pub(super) fn run<T: Send + 'static>(
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

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(expressions: &mut Expressions, text: &str, pattern: &str) -> Result<bool, Refusal> {
        let expression = expressions.compile(pattern, None)?;
        expressions.run(&expression, text, |regex, text| regex.find(text).is_some())
    }

    #[test]
    fn doubtful_patterns_answer_from_the_worker() {
        let mut expressions = Expressions::default();
        for (text, expected) in [("090-1234-5678", true), ("090-", false), ("1-2", true)] {
            assert_eq!(matches(&mut expressions, text, r"^(\d+-)+\d+$"), Ok(expected));
        }
        assert!(expressions.worker.is_some());
    }

    #[test]
    fn a_catastrophic_pattern_ends_the_statement() {
        let mut expressions = Expressions {
            time_limit: Duration::from_millis(1),
            ..Expressions::default()
        };
        let text = format!("{}!", "a".repeat(24));
        assert_eq!(matches(&mut expressions, &text, "^(a+)+$"), Err(Refusal::TooSlow));
        // The next expression gets a new worker.
        expressions.time_limit = TIME_LIMIT;
        assert_eq!(matches(&mut expressions, "aaa", "^(a+)+$"), Ok(true));
    }

    #[test]
    fn compiled_expressions_are_kept_and_bounded() {
        let mut expressions = Expressions::default();
        for i in 0..MAX_COMPILED + 3 {
            expressions.compile(&format!("x{{{i}}}"), None).unwrap();
            expressions.compile("y", None).unwrap();
        }
        assert_eq!(expressions.compiled.len(), MAX_COMPILED);
        assert_eq!(expressions.compiled.last().unwrap().pattern, "y");
    }

    #[test]
    fn patterns_have_a_greatest_length() {
        let long = "a".repeat(MAX_PATTERN_BYTES + 1);
        let mut expressions = Expressions::default();
        assert!(matches!(
            expressions.compile(&long, None),
            Err(Refusal::Argument(_))
        ));
        assert!(expressions.compile(&long[1..], None).is_ok());
    }
}
