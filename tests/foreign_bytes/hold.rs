//! The JSON of a hold: what is read is written again so that the same is read, including what we do not know.

use ksql_flownet::flownet::record::Hold;
use ksql_flownet::kintone::Record;
use serde_json::json;

fn hold(reason: &str) -> Option<Hold> {
    let record = json!({
        "$id": {"value": "1"}, "$revision": {"value": "1"}, "record_type": {"value": "CANCEL_REQUEST"},
        "record_key": {"value": "CANCEL:netrun_x"}, "run_id": {"value": "netrun_x"}, "status_reason": {"value": reason},
    });
    let record: Record = serde_json::from_value(record).ok()?;
    Hold::from_record(&record).ok()
}

pub fn check(bytes: &[u8]) {
    let Ok(reason) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Some(first) = hold(reason) {
        let again = hold(&first.reason_text()).expect("what is written can be read");
        assert_eq!(first, again);
    }
}
