//! status: what the lock and the Runs look like, and which commands lead on (STA rules).

use super::super::advice;
use super::super::codes::ExitClass;
use serde::Serialize;

use super::super::output::{Output, Requests, escape};
use super::super::report::Failure;
use super::super::settings::{ControlSettings, Environment, IoSettings, check_profile};
use super::super::walk::Words;

use super::{settings_failure, traffic, translate};
use crate::flownet::clock::{Clock as _, SystemClock};
use crate::flownet::ordered_json::Object;
use crate::flownet::status::{self, Question, Selection};
use crate::kintone::Client;

const FALLBACK: &str = "STATUS_FAILED";

/// The arguments of status.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// The network.
    pub network_id: String,
    /// The profile.
    pub profile: String,
    /// The Run to show in detail, by id.
    pub run_id: Option<String>,
    /// The Run to show in detail, by business key.
    pub business_key: Option<String>,
}

/// Runs the command.
pub fn run(words: &Words, env: &Environment<'_>, output: &mut Output<'_>) -> Result<ExitClass, Failure> {
    let value = |flag: &str| words.value(flag).map(str::to_owned);
    let arguments = Arguments {
        network_id: words.operand().to_owned(),
        profile: value("--profile").unwrap_or_default(),
        run_id: value("--run-id"),
        business_key: value("--business-key"),
    };
    let wrong = settings_failure(FALLBACK);
    let settings = ControlSettings::read_all(env).map_err(&wrong)?;
    check_profile("--profile", &arguments.profile).map_err(&wrong)?;
    let words = advice::Words {
        runner_config: env.optional("KSQL_FLOW_CONFIG").map_err(&wrong)?,
    };
    // Only a machine that runs jobs with files knows how long they are kept.
    let retention_days = IoSettings::read(env).ok().map(|io| io.retention_days);
    execute(&arguments, &settings, retention_days, &words, output).map_err(|failure| {
        failure
            .fact("network_id", arguments.network_id)
            .fact("profile", arguments.profile)
    })
}

/// The JSON answer: the document of the contract, then additive keys (D-07).
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    document: &'a Object,
    requests: Requests,
}

/// The work itself.
fn execute(
    arguments: &Arguments,
    settings: &ControlSettings,
    retention_days: Option<u64>,
    wording: &advice::Words,
    output: &mut Output<'_>,
) -> Result<ExitClass, Failure> {
    let client = Client::new(settings.client_config()).map_err(|e| Failure::new(FALLBACK, e.to_string()))?;
    let selection = match (&arguments.run_id, &arguments.business_key) {
        (Some(id), _) => Selection::RunId(id.clone()),
        (None, Some(key)) => Selection::BusinessKey(key.clone()),
        (None, None) => Selection::All,
    };
    let now = SystemClock.now();
    let gathered = status::gather(&Question {
        client: &client,
        state: &settings.state_app(),
        audit: &settings.audit_app(),
        network_id: &arguments.network_id,
        profile: &arguments.profile,
        selection,
        retention_days,
        now,
    });
    let requests = traffic(&client, output);
    let facts = gathered.map_err(translate)?;
    let document = status::document(&facts, now, wording);
    if output.choices().json {
        output.json_pretty(&Answer {
            document: &document,
            requests,
        });
    } else {
        let advices = status::advices(&facts, now);
        let language = output.choices().language;
        let further = |place: usize| match (facts.runs.get(place), advices.get(place)) {
            (Some(run), Some(found)) => wording.lines(&facts, run, found, language),
            _ => Vec::new(),
        };
        for line in status::text(&document, escape, &further) {
            output.result(&line);
        }
    }
    Ok(ExitClass::Done)
}
