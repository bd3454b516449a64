//! The answer of `inspect-job`, checked for its shape (RUN-04) and reduced to what a preflight needs (RUN-07).

use serde_json::Value;

use super::machine::{ChildCode, ChildError};
use crate::flownet::rule::result::safe_integer;

/// One finding of the runner about a job file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Code such as `KSQL1306`.
    pub code: String,
    /// `error`, `warning` or another word of the runner.
    pub severity: String,
    /// Line in the file, as the runner counts.
    pub line: i64,
    /// Column in the line.
    pub column: i64,
    /// Text for people; foreign, may hold control characters.
    pub message: String,
}

/// The static facts of one job file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inspection {
    /// Name from the `@ksql name` header, else the file name without `.sql` (RUN-08).
    pub job_id: String,
    /// File name as the runner saw it.
    pub file_name: String,
    /// Dialect number.
    pub dialect: i64,
    /// All findings, in the runner's order.
    pub diagnostics: Vec<Diagnostic>,
    /// Codes of the nondeterministic elements, in the runner's order.
    pub nondeterministic: Vec<String>,
}

impl Inspection {
    /// Findings that make the job fail at run time (item 14: a NEW Run is refused for them).
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|d| d.severity == "error")
    }
}

/// Reads and checks the output of `inspect-job --json`. Unknown keys are allowed everywhere.
pub fn parse(output: &[u8]) -> Result<Inspection, ChildError> {
    let value: Value = serde_json::from_slice(output).map_err(|_| {
        ChildError::new(
            ChildCode::InvalidJson,
            "kSQL-Flow inspect-job returned invalid JSON".into(),
        )
    })?;
    read(&value).ok_or_else(|| {
        ChildError::new(
            ChildCode::OutputInvalid,
            "kSQL-Flow inspect-job output does not match JOB_INSPECTION formatVersion 1".into(),
        )
    })
}

fn read(value: &Value) -> Option<Inspection> {
    let head = safe_integer(&value["formatVersion"]) == Some(1) && value["kind"] == "JOB_INSPECTION";
    let depends_on = value["dependsOn"].as_array()?.iter().all(Value::is_string);
    let timeout = value.get("timeoutSec")?;
    let timeout = timeout.is_null() || safe_integer(timeout).is_some();
    safe_integer(&value["statementCount"])?;
    let nondeterministic = diagnostics(&value["nondeterministicElements"])?;
    (value.is_object() && head && depends_on && timeout).then_some(())?;
    Some(Inspection {
        job_id: text(value, "jobId")?,
        file_name: text(value, "fileName")?,
        dialect: safe_integer(&value["dialect"])?,
        diagnostics: diagnostics(&value["diagnostics"])?,
        nondeterministic: nondeterministic.into_iter().map(|d| d.code).collect(),
    })
}

fn diagnostics(list: &Value) -> Option<Vec<Diagnostic>> {
    list.as_array()?
        .iter()
        .map(|d| {
            Some(Diagnostic {
                code: text(d, "code")?,
                severity: text(d, "severity")?,
                line: safe_integer(&d["line"])?,
                column: safe_integer(&d["column"])?,
                message: text(d, "message")?,
            })
        })
        .collect()
}

fn text(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = r#"{"formatVersion":1,"kind":"JOB_INSPECTION","jobId":"j","fileName":"j.sql","dialect":1,
        "statementCount":1,"dependsOn":[],"timeoutSec":null,
        "diagnostics":[{"code":"KSQL1","severity":"error","line":2,"column":3,"message":"m"},
                       {"code":"KSQL1306","severity":"warning","line":4,"column":1,"message":"n"}],
        "nondeterministicElements":[{"code":"KSQL1306","severity":"warning","line":4,"column":1,"message":"n"}]}"#;

    #[test]
    fn facts_are_taken_over() {
        let inspection = parse(GOOD.as_bytes()).expect("good");
        assert_eq!(inspection.job_id, "j");
        assert_eq!(inspection.nondeterministic, ["KSQL1306"]);
        assert_eq!(inspection.errors().map(|d| d.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn the_code_tells_broken_json_from_a_wrong_shape() {
        let code = |text: &str| parse(text.as_bytes()).expect_err("bad").code;
        assert_eq!(code("{"), ChildCode::InvalidJson);
        assert_eq!(code("\u{feff}{}"), ChildCode::InvalidJson);
        assert_eq!(code("[]"), ChildCode::OutputInvalid);
        assert_eq!(
            code(&GOOD.replace("\"dialect\":1,", "")),
            ChildCode::OutputInvalid
        );
        assert_eq!(code(&GOOD.replace("\"line\":4,", "")), ChildCode::OutputInvalid);
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
