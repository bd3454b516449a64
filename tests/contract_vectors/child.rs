//! Cases of child.json: argv of the four runner commands, shapes of the three JSON answers.

use std::path::Path;
use std::time::Duration;

use ksql_flownet::flownet::child::machine::MachineCommand;
use ksql_flownet::flownet::child::{
    EnvPolicy, Export, Import, RunRequest, Runner, inspection, launch, workdir,
};
use ksql_flownet::flownet::profile;
use serde_json::{Value, json};

use crate::support::{Tally, equal, load};

const WORK: &str = "/var/lib/flow";

fn runner(bin_args: &Value, profile: &Value, config: &Value) -> Runner {
    Runner {
        program: "ksql-flow".into(),
        args: serde_json::from_value(bin_args.clone()).expect("words"),
        config: config.as_str().expect("config").into(),
        profile: profile.as_str().expect("profile").to_owned(),
        workdir: WORK.into(),
        grace: Duration::from_secs(1),
        env: EnvPolicy::default(),
    }
}

#[test]
fn machine_commands() {
    let file = load("child.json");
    let case = &file["machineCommands"];
    let runner = runner(&case["binArgs"], &case["profile"], &case["config"]);
    let sql = Path::new(case["sql"].as_str().expect("sql"));
    let mut tally = Tally::default();
    for (name, command) in [
        ("capabilities", MachineCommand::Capabilities),
        ("describeProfile", MachineCommand::DescribeProfile),
        ("inspectJob", MachineCommand::InspectJob(sql)),
    ] {
        let mut argv = vec![json!("ksql-flow")];
        argv.extend(command.arguments(&runner).iter().map(|a| json!(a.to_str())));
        tally.check(name, equal(&json!(argv), &case["argv"][name]));
    }
    tally.finish("child.json machineCommands");
}

fn request(case: &Value) -> RunRequest {
    let text = |key: &str| case[key].as_str().expect("text").to_owned();
    let list = |key: &str| case[key].as_array().cloned().unwrap_or_default();
    let field = |entry: &Value, key: &str| entry[key].as_str().expect("text").to_owned();
    RunRequest {
        sql: text("sqlPath").into(),
        as_of: text("asOf"),
        correlation_id: text("correlationId"),
        attempt_id: text("attemptId"),
        expected_job_id: text("expectedJobId"),
        result_json: workdir::result_path(Path::new(WORK), &text("attemptId")),
        imports: list("imports")
            .iter()
            .map(|i| Import {
                name: field(i, "name"),
                path: field(i, "path").into(),
                sha256: field(i, "sha256"),
            })
            .collect(),
        exports: list("exports")
            .iter()
            .map(|e| Export {
                name: field(e, "name"),
                path: field(e, "path").into(),
            })
            .collect(),
        time_limit: None,
    }
}

#[test]
fn run() {
    let file = load("child.json");
    let mut tally = Tally::default();
    for case in file["run"].as_array().expect("cases") {
        let input = &case["request"];
        let runner = runner(&case["binArgs"], &input["profile"], &input["configPath"]);
        let request = request(input);
        let outcome = match launch::argv(&runner, &request) {
            Ok(argv) => {
                let shown = |text: &str| text.replace(WORK, "<WORK>");
                let argv: Vec<String> = argv.iter().map(|a| shown(a.to_str().expect("text"))).collect();
                let result = request.result_json.to_str().expect("text");
                equal(
                    &json!({"argv": argv, "resultJsonPath": shown(result)}),
                    &case["result"],
                )
            }
            Err(error) => equal(&json!({"error": error.to_string()}), &case["result"]),
        };
        tally.check(&case["title"].to_string(), outcome);
    }
    tally.finish("child.json run");
}

#[test]
fn output_shapes() {
    let file = load("child.json");
    let mut tally = Tally::default();
    for case in file["outputShapes"].as_array().expect("cases") {
        let stdout = case["stdout"].as_str().expect("stdout").as_bytes();
        let answer = match case["command"].as_str() {
            Some("inspectJob") => inspection::parse(stdout).map(|_| ()).map_err(|e| e.code.as_str()),
            Some("describeProfile") => profile::parse_description(stdout)
                .map(|_| ())
                .map_err(|e| e.code()),
            _ => profile::parse_capabilities(stdout)
                .map(|_| ())
                .map_err(|e| e.code()),
        };
        let shown = answer.err().unwrap_or("ok");
        tally.check(&case["title"].to_string(), equal(&json!(shown), &case["result"]));
    }
    tally.finish("child.json outputShapes");
}
