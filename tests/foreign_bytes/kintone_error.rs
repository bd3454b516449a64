//! The body of a refusing answer: what is read of it is never more than what stands there.

use ksql_flownet::kintone::error::ApiError;

pub fn check(bytes: &[u8]) {
    let error = ApiError::parse(bytes);
    let known = error
        .code
        .iter()
        .chain(&error.message)
        .map(String::len)
        .sum::<usize>();
    assert!(known <= 2 * bytes.len());
    if error.bulk_index.is_some() {
        assert_ne!(error.code, None, "a failing request of a bulk has a code");
    }
}
