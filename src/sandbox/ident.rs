//! Random names: error ids, file keys, cursor ids. Random so that no client can guess or predict them.
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const ERROR_ID_BYTES: usize = 15;
const KEY_BYTES: usize = 24;

/// A new id for an error answer: url-safe, 20 characters.
pub fn error_id() -> String {
    random_name(ERROR_ID_BYTES)
}

/// A new file key or cursor id: url-safe, 32 characters.
pub fn key() -> String {
    random_name(KEY_BYTES)
}

fn random_name(bytes: usize) -> String {
    let mut buffer = [0_u8; KEY_BYTES];
    let part = &mut buffer[..bytes.min(KEY_BYTES)];
    if getrandom::getrandom(part).is_err() {
        // Names only have to differ; a system without random numbers still gets distinct ones.
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        for (target, source) in part.iter_mut().zip(number) {
            *target = source;
        }
    }
    URL_SAFE_NO_PAD.encode(part)
}
