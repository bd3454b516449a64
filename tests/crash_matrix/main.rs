//! Every kintone request of every scenario, in four modes: killed before it, killed after it, its answer lost, refused with
//! 503 once. Then the same command again if it was killed, and whatever `status` names as the next step until the Run has
//! ended. The checker reads only records (D-01, D-02, D-08).
//!
//! `CRASH_ONLY` takes one scenario, `CRASH_WORKERS` sets the number of stand-ins that work side by side.

#[path = "../support/boundary.rs"]
mod boundary;
#[path = "../support/network.rs"]
mod network;
#[path = "../support/operator.rs"]
mod operator;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/sandbox.rs"]
mod sandbox;

mod locks;
mod people;
mod stage;
mod starts;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use boundary::{Boundary, MODES, Mode, boundaries, disturbed};
use network::said;
use sandbox::Sandbox;
use stage::{Scenario, Stage};

/// The stand-in keeps every record, and every look reads them all: after so many cases a new one is quicker.
const CASES_PER_SANDBOX: usize = 10;
/// Fewer cases than this, and requests were not seen.
const FEWEST_CASES: usize = 500;

/// What one scenario comes to when nothing disturbs it.
struct Plain {
    exit: Option<i32>,
    status: String,
    /// Words of a person on the way to the end.
    people: usize,
    boundaries: Vec<Boundary>,
}

/// One cell of the matrix.
struct Case<'a> {
    scenario: &'static Scenario,
    plain: &'a Plain,
    number: usize,
    at: &'a Boundary,
    mode: Mode,
}

#[derive(Default)]
struct Tally {
    cases: usize,
    people: usize,
    failures: Vec<String>,
}

fn undisturbed(sandbox: &Sandbox, scenario: &'static Scenario) -> Result<Plain, String> {
    let stage = Stage::new(sandbox, scenario, "plain");
    (scenario.before)(&stage);
    let words = (scenario.words)(&stage);
    sandbox.clear_log();
    let output = stage.run(&words);
    let boundaries = boundaries(&sandbox.log());
    if boundaries.is_empty() {
        return Err("the requests were not seen".to_owned());
    }
    let status = stage.book().status();
    let people = (scenario.after)(&stage).map_err(|e| format!("{e}\n{}", said(&output)))?;
    stage.check("at the end")?;
    Ok(Plain {
        exit: output.status.code(),
        status,
        people,
        boundaries,
    })
}

/// From an empty network to the end of its Run. Gives the number of words that a person had to say.
fn disturb(sandbox: &Sandbox, case: &Case<'_>) -> Result<usize, String> {
    let Case {
        scenario,
        plain,
        number,
        mode,
        ..
    } = case;
    let stage = Stage::new(sandbox, scenario, &format!("{number}_{mode:?}"));
    (scenario.before)(&stage);
    let words = (scenario.words)(&stage);
    let args: Vec<&str> = words.iter().map(String::as_str).collect();
    let first = disturbed(sandbox, stage.space.command(&args), case.at, *mode);
    sandbox.clear_faults();
    stage.check("after the fault")?;
    if let Some(output) = &first {
        // The process survived: everything must be as if nothing had happened.
        if output.status.code() != plain.exit || stage.book().status() != plain.status {
            return Err(format!(
                "the surviving process came to another end than {:?} {}: {}",
                plain.exit,
                plain.status,
                said(output)
            ));
        }
    } else {
        // It takes the lock of the dead one by itself (D-08).
        let output = stage.run(&words);
        // A rerun of a Run that has succeeded meanwhile is refused, and nothing is left to do.
        let done = output.status.success() || stage.book().status() == "SUCCESS";
        if plain.exit == Some(0) && !done {
            return Err(format!("the same command again: {}", said(&output)));
        }
    }
    stage.check_event(scenario)?;
    let people = (scenario.after)(&stage)?;
    stage.check_end()?;
    // No fault needs a person where none is needed without it.
    if people > plain.people {
        let expected = plain.people;
        return Err(format!("{people} words of a person, {expected} expected"));
    }
    Ok(people)
}

/// Runs `work` on as many stand-ins at once as the machine bears; each job gets one that is not too full.
fn side_by_side<J: Sync>(jobs: &[J], work: impl Fn(&Sandbox, &J) + Sync) {
    let next = AtomicUsize::new(0);
    let workers = random::number("CRASH_WORKERS", 4);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                let mut sandbox = None;
                let mut used = 0;
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if used % CASES_PER_SANDBOX == 0 {
                        let name = format!("crash-{worker}-{used}");
                        sandbox = Some(Sandbox::seeded(&name, &["--orders", "1"], &[]));
                    }
                    used += 1;
                    if let Some(sandbox) = &sandbox {
                        work(sandbox, job);
                    }
                }
            });
        }
    });
}

#[test]
fn every_scenario_survives_every_boundary() {
    let only = std::env::var("CRASH_ONLY").ok();
    let scenarios: Vec<&'static Scenario> = [starts::SCENARIOS, locks::SCENARIOS, people::SCENARIOS]
        .into_iter()
        .flatten()
        .filter(|s| only.as_deref().is_none_or(|name| name == s.name))
        .collect();
    let plains = Mutex::new(BTreeMap::new());
    let tallies: Mutex<BTreeMap<&str, Tally>> = Mutex::default();
    side_by_side(&scenarios, |sandbox, scenario| {
        match undisturbed(sandbox, scenario) {
            Ok(plain) => drop(plains.lock().expect("lock").insert(scenario.name, plain)),
            Err(why) => {
                let mut tallies = tallies.lock().expect("lock");
                let tally = tallies.entry(scenario.name).or_default();
                tally
                    .failures
                    .push(format!("{} undisturbed: {why}", scenario.name));
            }
        }
    });
    let plains = plains.into_inner().expect("lock");
    let mut cases = Vec::new();
    for scenario in scenarios {
        let Some(plain) = plains.get(scenario.name) else {
            continue;
        };
        for (i, at) in plain.boundaries.iter().enumerate() {
            cases.extend(MODES.map(|mode| Case {
                scenario,
                plain,
                number: i + 1,
                at,
                mode,
            }));
        }
    }
    side_by_side(&cases, |sandbox, case| {
        // A panic of the harness is a failure of its case only.
        let ended = catch_unwind(AssertUnwindSafe(|| disturb(sandbox, case)))
            .unwrap_or_else(|_| Err("the harness panicked, see above".to_owned()));
        if ended.is_err() {
            sandbox.clear_faults();
        }
        let mut tallies = tallies.lock().expect("lock");
        let tally = tallies.entry(case.scenario.name).or_default();
        tally.cases += 1;
        match ended {
            Ok(people) => tally.people += usize::from(people > case.plain.people),
            Err(why) => {
                let case = format!(
                    "{} {} {:?} {:?}",
                    case.scenario.name, case.number, case.mode, case.at
                );
                println!("failed: {case}: {why}");
                tally.failures.push(case);
            }
        }
    });
    report(&tallies.into_inner().expect("lock"), &plains, only.is_some());
}

fn report(tallies: &BTreeMap<&str, Tally>, plains: &BTreeMap<&str, Plain>, partial: bool) {
    let (mut cases, mut people, mut asked) = (0, 0, 0);
    let mut failures = Vec::new();
    for (name, tally) in tallies {
        let by_story = plains.get(name).map_or(0, |p| p.people);
        println!(
            "{name}: {} cases, {} failures, {} needed a human because of the fault; the story itself asks {by_story} times",
            tally.cases,
            tally.failures.len(),
            tally.people
        );
        cases += tally.cases;
        people += tally.people;
        asked += usize::from(by_story > 0) * tally.cases;
        failures.extend(tally.failures.iter().cloned());
    }
    println!(
        "crash matrix: {cases} cases, {} failures, {people} needed a human because of the fault, {asked} ask for one anyway",
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(partial || cases >= FEWEST_CASES, "only {cases} cases");
}
