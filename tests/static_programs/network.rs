//! The example network from start to end in an empty root folder: time zones without zone files, a name from /etc/hosts, TLS
//! with and without the right root certificate, jobs as processes, signals.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::empty_root::{EmptyRoot, Ended, JOBS, Stand, send_sigterm};
use crate::{dns, tls_front};

/// The definition inside the root folder.
const NETWORK: &str = "/jobs/monthly_summary/network.yaml";

/// Midnight of the first of August in Tokyo, said in UTC: the business key is right only with the zone's data.
const AUGUST: &str = "2026-07-31T15:00:00Z";
/// The month whose data gate finds something.
const OCTOBER: &str = "2026-10-01T00:00:00+09:00";

/// Where the name of the server comes from.
#[derive(Clone, Copy)]
enum Names {
    Hosts,
    Dns,
}

/// The root folder with a served kintone behind https.
struct Site {
    root: EmptyRoot,
    stand: Stand,
    environment: Vec<(String, String)>,
}

impl Site {
    fn new(names: Names) -> Site {
        let root = EmptyRoot::new();
        match names {
            Names::Hosts => root.write("/etc/hosts", "127.0.0.1 elsewhere.example\n"),
            Names::Dns => root.write("/etc/resolv.conf", &format!("nameserver {}\n", dns::start())),
        }
        let stand = Stand::start(&root);
        let base_url = format!("https://elsewhere.example:{}", tls_front::start(stand.port));
        let seeded = fs::read_to_string(root.host("/kintone/sandbox.env")).unwrap();
        let mut environment: Vec<(String, String)> = seeded
            .lines()
            .filter_map(|line| line.strip_prefix("export ")?.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let further = [
            ("KSQL_FLOWNET_BASE_URL", base_url.as_str()),
            ("KSQL_FLOWNET_CA_FILE", "/etc/ca.pem"),
            ("KSQL_FLOW_CA_FILE", "/etc/ca.pem"),
            ("KSQL_FLOWNET_PROFILE", "demo"),
            ("KSQL_FLOWNET_REQUESTED_BY", "test"),
            ("KSQL_FLOWNET_EXIT_CODES", "detailed"),
            ("KSQL_FLOW_BIN", "/bin/ksql-flow"),
            ("KSQL_FLOW_CONFIG", "/jobs/monthly_summary/ksql.config.json"),
            ("KSQL_FLOW_WORKDIR", "/work"),
        ];
        for (name, value) in further {
            environment.retain(|(other, _)| other != name);
            environment.push((name.to_owned(), value.to_owned()));
        }
        Site {
            root,
            stand,
            environment,
        }
    }

    fn flownet(&self, arguments: &[&str]) -> Ended {
        self.root.run("ksql-flownet", arguments, &self.environment)
    }

    fn run_network(&self, scheduled_for: &str) -> Ended {
        self.flownet(&[
            "run-network",
            NETWORK,
            "--scheduled-for",
            scheduled_for,
            "--resume",
        ])
    }

    /// What `status` says about the Run of a business key.
    fn status(&self, business_key: &str) -> Value {
        let ended = self
            .flownet(&[
                "status",
                "monthly_summary",
                "--profile",
                "demo",
                "--business-key",
                business_key,
                "--json",
            ])
            .expect(0);
        serde_json::from_str(&ended.out).unwrap()
    }

    /// One call of the stand's control interface.
    fn control(&self, method: &str, name: &str, body: &Value) -> Value {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://127.0.0.1:{}/_control/{name}", self.stand.port))
            .header("Content-Type", "application/json")
            .body(body.to_string())
            .unwrap();
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .allow_non_standard_methods(true)
            .build()
            .into();
        let text = agent.run(request).unwrap().body_mut().read_to_string().unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// How many requests the stand has answered.
    fn requests(&self) -> usize {
        self.control("GET", "log", &Value::Null)["requests"]
            .as_array()
            .unwrap()
            .len()
    }
}

/// Statuses of the nodes, in the order of the definition.
fn node_statuses(status: &Value) -> [&str; 3] {
    let states = status["runs"][0]["node_states"].as_array().unwrap();
    ["intake_gate", "test_data_gate", "deal_summary"].map(|node| {
        let state = states.iter().find(|state| state["node_id"] == node).unwrap();
        state["status"].as_str().unwrap()
    })
}

#[test]
#[ignore = "needs the programs of make static; make test-static runs it"]
fn a_network_runs_over_tls_with_a_name_from_hosts_and_built_in_time_zones() {
    let site = Site::new(Names::Hosts);
    let plan = site
        .flownet(&["plan", NETWORK, "--scheduled-for", AUGUST])
        .expect(0);
    assert!(plan.out.contains("monthly_summary@2026-08"), "{plan:#?}");

    site.run_network(AUGUST).expect(0);
    let status = site.status("monthly_summary@2026-08");
    assert_eq!(status["runs"][0]["status"], "SUCCESS", "{status:#}");
    assert_eq!(node_statuses(&status), ["SUCCESS"; 3], "{status:#}");
    assert_eq!(status["lock"], Value::Null, "{status:#}");

    site.run_network(AUGUST).expect(0);
    let attempts =
        site.status("monthly_summary@2026-08")["runs"][0]["node_states"][0]["latest_attempt_no"].clone();
    assert_eq!(attempts, 1, "the second start runs nothing again");

    site.run_network(OCTOBER).expect(2);
    let status = site.status("monthly_summary@2026-10");
    assert_eq!(
        node_statuses(&status),
        ["SUCCESS", "FAILED", "BLOCKED"],
        "{status:#}"
    );
    assert_eq!(
        site.stand.terminate(),
        Some(0),
        "SIGTERM ends the sandbox in order"
    );
}

#[test]
#[ignore = "needs the programs of make static; make test-static runs it"]
fn the_runner_exports_what_the_network_wrote() {
    let site = Site::new(Names::Hosts);
    site.run_network(AUGUST).expect(0);
    let job = format!("{JOBS}/check/customers.sql");
    let config = format!("{JOBS}/ksql.config.json");
    let arguments = [
        "run",
        "-f",
        &job,
        "--profile",
        "demo",
        "--config",
        &config,
        "--export-csv",
        "/customers.csv",
    ];
    site.root
        .run("ksql-flow", &arguments, &site.environment)
        .expect(0);
    let exported = fs::read_to_string(site.root.host("/customers.csv")).unwrap();
    let mut sums = exported
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap());
    assert!(
        sums.any(|sum| sum.parse::<u64>().is_ok_and(|sum| sum > 0)),
        "{exported}"
    );
}

#[test]
#[ignore = "needs the programs of make static; make test-static runs it"]
fn a_server_with_an_unknown_root_gets_no_request() {
    let site = Site::new(Names::Hosts);
    for ca_file in [None, Some("/etc/other-ca.pem")] {
        let mut environment = site.environment.clone();
        environment.retain(|(name, _)| name != "KSQL_FLOWNET_CA_FILE");
        environment.extend(ca_file.map(|file| ("KSQL_FLOWNET_CA_FILE".to_owned(), file.to_owned())));
        let refused = site
            .root
            .run(
                "ksql-flownet",
                &["status", "monthly_summary", "--profile", "demo"],
                &environment,
            )
            .expect(3);
        assert!(refused.err.contains("certificate"), "{refused:#?}");
        assert_eq!(site.requests(), 0);
    }
}

#[test]
#[ignore = "needs the programs of make static; make test-static runs it"]
fn names_are_asked_for_by_dns() {
    if !rustix::process::geteuid().is_root() {
        println!("not root: no DNS server can be put on port 53, nothing was tested");
        return;
    }
    let site = Site::new(Names::Dns);
    site.flownet(&["status", "monthly_summary", "--profile", "demo"])
        .expect(0);
    assert!(site.requests() > 0);
}

#[test]
#[ignore = "needs the programs of make static; make test-static runs it"]
fn sigterm_ends_job_and_network_in_order() {
    let site = Site::new(Names::Hosts);
    site.control(
        "POST",
        "faults",
        &json!({ "match": { "app": 10 }, "action": "hold_before" }),
    );
    let child = site
        .root
        .command("ksql-flownet")
        .args(["run-network", NETWORK, "--scheduled-for", AUGUST, "--resume"])
        .envs(site.environment.iter().cloned())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let held = wait_for(|| {
        site.control("GET", "holds", &Value::Null)["holds"][0]["id"]
            .as_str()
            .map(str::to_owned)
    });
    send_sigterm(&child);
    site.control("DELETE", "faults", &Value::Null);
    site.control("POST", "release", &json!({ "id": held, "action": "proceed" }));
    let stopped = Ended::from(child.wait_with_output().unwrap());
    assert!(stopped.code.is_some_and(|code| code != 0), "{stopped:#?}");

    let status = site.status("monthly_summary@2026-08");
    println!("{stopped:#?} {status:#}");
    assert_eq!(status["lock"], Value::Null, "{status:#}");
    assert_ne!(status["runs"][0]["status"], "SUCCESS", "{status:#}");

    site.run_network(AUGUST).expect(0);
    let status = site.status("monthly_summary@2026-08");
    assert_eq!(node_statuses(&status), ["SUCCESS"; 3], "{status:#}");
}

/// Asks until there is an answer.
fn wait_for<T>(ask: impl Fn() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(answer) = ask() {
            return answer;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("no answer within half a minute");
}
