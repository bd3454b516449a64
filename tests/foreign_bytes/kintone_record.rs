//! A record in an answer of kintone: decoding it as any of our record types ends with a value or an error.

use ksql_flownet::flownet::record::{Attempt, Hold, Invocation, Lock, NodeState, Resolution, Run};
use ksql_flownet::kintone::Record;

pub fn check(bytes: &[u8]) {
    let Ok(record) = serde_json::from_slice::<Record>(bytes) else {
        return;
    };
    let _ = Run::from_record(&record);
    let _ = NodeState::from_record(&record);
    let _ = Attempt::from_record(&record);
    let _ = Invocation::from_record(&record);
    let _ = Resolution::from_record(&record);
    let _ = Hold::from_record(&record);
    let _ = Lock::from_record(&record);
    for (code, _) in record.iter() {
        let _ = (
            record.text(code),
            record.number(code),
            record.decimal(code),
            record.flag(code),
        );
        let keys = record.file_keys(code);
        assert!(keys.iter().all(|key| key.len() <= bytes.len()));
    }
}
