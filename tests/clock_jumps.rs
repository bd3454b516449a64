//! kintone's clock is not ours, and may jump while a Run is under way: no lease is lost or stolen by that (D-03). What a
//! wall clock that is set does to a lease, and a machine that sleeps, is in the tests of the lease itself.

#[path = "support/network.rs"]
mod network;
#[path = "support/operator.rs"]
mod operator;
#[path = "support/sandbox.rs"]
mod sandbox;

use network::{Book, NodeSpec, Workspace, said, violations};
use operator::force_unlock_by;
use sandbox::Sandbox;
use serde_json::json;

const MINUTES: i64 = 60_000;
/// Longer than the lease below: it must be renewed while the clocks disagree.
const SLOW: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]).sleeping(4_000),
    NodeSpec::new("b", &["a"], &["FAILED", "SUCCESS"]).not_idempotent(),
];
const TIMES: (u32, u32) = (3, 1);

fn shift(sandbox: &Sandbox, ms: i64) {
    sandbox.control("POST", "clock", &json!({ "shift_ms": ms }));
}

/// Jumps of kintone's clock while node `a` runs, one after the other.
fn jump(name: &str, jumps: &[i64]) {
    let sandbox = Sandbox::seeded(&format!("clock-{name}"), &["--orders", "1"], &[]);
    let space = Workspace::leased(&sandbox, name, SLOW, TIMES);
    let owner = space.start(&["--business-key", "k"]);
    while space.executions().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for ms in jumps {
        shift(&sandbox, *ms);
        let lock = Book::read(&sandbox, name).held_locks[0].clone();
        // Neither a start nor a person takes the lock of an owner that renews it.
        let rival = space.run_network(&["--business-key", "other"]);
        assert!(said(&rival).contains("[LOCK_CONFLICT]"), "{}", said(&rival));
        let taken = force_unlock_by(&space, &lock, "manual");
        assert!(said(&taken).contains("[LEASE_STILL_ACTIVE]"), "{}", said(&taken));
    }
    let output = owner.wait_with_output().expect("ends");
    let book = Book::read(&sandbox, name);
    assert_eq!(violations(&book, &space.executions()), Vec::<String>::new());
    assert!(book.held_locks.is_empty(), "{}", said(&output));
    assert_eq!(book.nodes()["a"], "SUCCESS", "{}", said(&output));
    assert_eq!(book.nodes()["b"], "FAILED", "{}", said(&output));
    let warned = said(&output).contains("this machine's clock and kintone's differ by");
    let apart = jumps.last().is_some_and(|ms| ms.abs() > MINUTES);
    assert_eq!(warned, apart, "{}", said(&output));
    // The clocks still disagree; a person decides, and the Run goes on to its end.
    let book = Book::read(&sandbox, name);
    assert_eq!(operator::resolve_nodes(&space, &book), Ok(vec!["b".to_owned()]));
    let output = space.run_network(&["--business-key", "k", "--resume"]);
    assert!(output.status.success(), "{}", said(&output));
    let book = Book::read(&sandbox, name);
    assert_eq!(violations(&book, &space.executions()), Vec::<String>::new());
    assert_eq!(book.status(), "SUCCESS");
}

#[test]
fn a_clock_that_jumps_forward_loses_no_lease() {
    jump("forward", &[10 * MINUTES]);
}

#[test]
fn a_clock_that_jumps_backward_gives_no_lease_away() {
    jump("backward", &[-10 * MINUTES]);
}

#[test]
fn a_clock_that_jumps_to_and_fro_changes_nothing() {
    jump("to_and_fro", &[10 * MINUTES, -10 * MINUTES, 0]);
}
