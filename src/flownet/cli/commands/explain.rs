//! explain: the code table for people who found a code in a log.

use serde::Serialize;

use super::super::codes::ExitClass;
use super::super::codes::{self, Entry, Facts};
use super::super::language::Language;
use super::super::output::Output;
use super::super::report::Failure;
use super::super::walk::Words;

/// A code as JSON.
#[derive(Serialize)]
struct Explained {
    code: &'static str,
    exit_status: u8,
    explanation: &'static str,
    next: Vec<String>,
}

/// Runs the command.
pub fn run(words: &Words, output: &mut Output<'_>) -> Result<ExitClass, Failure> {
    let code = words.operand();
    if code.is_empty() {
        if output.choices().json {
            let all: Vec<_> = codes::entries().map(explained).collect();
            output.json(&all);
        }
        for entry in codes::entries() {
            let says = entry.says.get(output.choices().language);
            output.result(&format!(
                "{:<34} {:>2}  {says}",
                entry.code,
                entry.class.detailed()
            ));
        }
        return Ok(ExitClass::Done);
    }
    let Some(entry) = codes::find(code) else {
        return Err(Failure::new("CODE_UNKNOWN", format!("there is no code '{code}'")));
    };
    if output.choices().json {
        output.json(&explained(entry));
    }
    let language = output.choices().language;
    output.result(&format!("{}: {}", entry.code, entry.says.get(language)));
    output.result(&format!(
        "exit status: {} (detailed), {} (simple)",
        entry.class.detailed(),
        u8::from(entry.class != ExitClass::Done)
    ));
    for step in codes::next_steps(entry.code, &Facts::default(), language) {
        output.result(&format!("next: {step}"));
    }
    Ok(ExitClass::Done)
}

fn explained(entry: &'static Entry) -> Explained {
    Explained {
        code: entry.code,
        exit_status: entry.class.detailed(),
        explanation: entry.says.en,
        next: codes::next_steps(entry.code, &Facts::default(), Language::English),
    }
}
