//! The `-- @ksql` header of a job file (RNR-40).

use crate::flow::sql::diagnostic::{Problem, code};
use crate::flow::sql::message::say;
use crate::flow::sql::position::Span;

/// What the header of a script says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Logical name of the job; the file name without `.sql` if absent.
    pub name: Option<String>,
    /// Jobs that must have succeeded.
    pub depends_on: Vec<String>,
    /// Time limit in seconds.
    pub timeout: Option<u64>,
    /// 0 or 1.
    pub dialect: u8,
}

/// The greatest integer that every JSON reader keeps exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Reads the leading comment lines; the first other line, a blank one too, ends the header.
pub fn parse(source: &str) -> (Header, Vec<Problem>) {
    let mut header = Header::default();
    let mut problems = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut offset = if source.starts_with('\u{FEFF}') {
        '\u{FEFF}'.len_utf8()
    } else {
        0
    };
    for line in source.get(offset..).unwrap_or("").split_inclusive('\n') {
        let text = line.trim_end_matches(['\n', '\r']);
        let span = Span {
            start: offset,
            end: offset + text.len(),
        };
        offset += line.len();
        let Some(comment) = text.trim_start().strip_prefix("--") else {
            break;
        };
        let comment = comment.trim_start();
        let is_entry = comment
            .get(..5)
            .is_some_and(|word| word.eq_ignore_ascii_case("@ksql"));
        let entry = comment.get(5..).filter(|_| is_entry).unwrap_or("");
        if !entry.starts_with(char::is_whitespace) {
            continue;
        }
        let Some((key, value)) = entry.split_once(':') else {
            continue;
        };
        let key = key.trim().to_ascii_lowercase();
        let value = value.split('#').next().unwrap_or("").trim();
        if seen.contains(&key) {
            problems.push(Problem::warning(
                code::HEADER_TWICE,
                span,
                say!(
                    "{key} is given twice; the first one counts",
                    "{key} が 2 回指定されています。最初の値を使います"
                ),
            ));
            continue;
        }
        if let Err(problem) = header.set(&key, value, span) {
            problems.push(problem);
        }
        seen.push(key);
    }
    (header, problems)
}

impl Header {
    fn set(&mut self, key: &str, value: &str, span: Span) -> Result<(), Problem> {
        match key {
            "name" => {
                if value.is_empty() {
                    return Err(Problem::error(
                        code::HEADER_NAME,
                        span,
                        say!("the job name is empty", "ジョブ名が空です"),
                    ));
                }
                self.name = Some(value.to_owned());
            }
            "depends_on" => {
                let names: Vec<String> = value.split(',').map(|name| name.trim().to_owned()).collect();
                if names.iter().any(String::is_empty) {
                    return Err(Problem::error(
                        code::HEADER_DEPENDS_ON,
                        span,
                        say!(
                            "depends_on holds an empty name",
                            "depends_on に空の名前があります"
                        ),
                    ));
                }
                self.depends_on = names;
            }
            "timeout" => {
                let digits = !value.starts_with('0') && value.bytes().all(|b| b.is_ascii_digit());
                let seconds = value
                    .parse()
                    .ok()
                    .filter(|seconds| digits && (1..=MAX_SAFE_INTEGER).contains(seconds));
                if seconds.is_none() {
                    return Err(Problem::error(
                        code::HEADER_TIMEOUT,
                        span,
                        say!(
                            "timeout is a whole number of seconds from 1",
                            "timeout は 1 以上の整数 (秒) で指定します"
                        ),
                    ));
                }
                self.timeout = seconds;
            }
            "dialect" => match value {
                "0" => self.dialect = 0,
                "1" => self.dialect = 1,
                _ => {
                    return Err(Problem::error(
                        code::HEADER_DIALECT,
                        span,
                        say!("the dialect is 0 or 1", "dialect は 0 か 1 です"),
                    ));
                }
            },
            _ => {
                return Err(Problem::warning(
                    code::HEADER_KEY,
                    span,
                    say!("{key} is no header key", "{key} というヘッダ項目はありません"),
                )
                .hint(say!(
                    "known: name, depends_on, timeout, dialect",
                    "使える項目: name, depends_on, timeout, dialect"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(source: &str) -> Vec<&'static str> {
        parse(source).1.into_iter().map(|problem| problem.code).collect()
    }

    #[test]
    fn the_header_ends_at_the_first_other_line() {
        let (header, problems) = parse(
            "\u{FEFF}-- @ksql name: a  # comment\r\n  -- @KSQL Depends_On: x, y\n-- plain\n-- @ksql dialect:1\n\n-- @ksql timeout: 5\n",
        );
        assert!(problems.is_empty(), "{problems:?}");
        let expected = Header {
            name: Some("a".into()),
            depends_on: vec!["x".into(), "y".into()],
            timeout: None,
            dialect: 1,
        };
        assert_eq!(header, expected);
    }

    #[test]
    fn each_bad_entry_has_its_code() {
        assert_eq!(codes("-- @ksql colour: red"), ["KSQL1001"]);
        assert_eq!(codes("-- @ksql name: a\n-- @ksql name: b"), ["KSQL1002"]);
        assert_eq!(codes("-- @ksql name: # none"), ["KSQL1003"]);
        assert_eq!(codes("-- @ksql depends_on: a,,b"), ["KSQL1004"]);
        for timeout in ["0", "01", "-1", "1.5", "", "9007199254740992"] {
            assert_eq!(
                codes(&format!("-- @ksql timeout: {timeout}")),
                ["KSQL1005"],
                "{timeout}"
            );
        }
        assert_eq!(codes("-- @ksql dialect: 2"), ["KSQL1006"]);
        assert!(codes("-- @ksqlname: a\n--@ksql\n").is_empty());
    }
}
