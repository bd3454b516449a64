//! The body of a refusing answer: what is read of it is never more than what stands there.
#![no_main]

use ksql_flownet::kintone::error::ApiError;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let error = ApiError::parse(bytes);
    let known = error.code.iter().chain(&error.message).map(String::len).sum::<usize>();
    assert!(known <= 2 * bytes.len());
    if error.bulk_index.is_some() {
        assert_ne!(error.code, None, "a failing request of a bulk has a code");
    }
});
