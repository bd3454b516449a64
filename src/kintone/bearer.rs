//! One read of another service with a bearer token, over the transport that kintone gets: the same roots, proxy, time
//! limits and size limits, no redirects (D-04).

use ureq::http::{HeaderValue, Method};

use super::config::{Config, ConfigError};
use super::limit;
use super::secret::Secret;
use super::transport::{Attempt, Wire};
use crate::language::Language;

/// Largest answer that is read, in bytes.
const ANSWER_BYTES: u64 = 1 << 20;

/// Reads `path` (with its leading `/`) of the service that `config` names; gives the status and the body.
///
/// # Errors
/// An unusable setting, or no complete answer. The texts hold no secret.
pub fn get(config: &Config, path: &str, token: &Secret) -> Result<(u16, Vec<u8>), String> {
    let wire = Wire::new(config).map_err(|e: ConfigError| e.to_string())?;
    let mut authorization = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
        .map_err(|_| "the access token holds characters that no header can carry".to_owned())?;
    authorization.set_sensitive(true);
    let headers = [
        ("authorization", authorization),
        ("accept", HeaderValue::from_static("application/json")),
    ];
    let reply = wire.attempt(&Attempt {
        method: Method::GET,
        url: &format!("{}{path}", config.base_url),
        headers: &headers,
        body: &[],
        max_bytes: ANSWER_BYTES,
        timeout: config.timeouts.request.min(limit::ANY_WAIT),
        idle: limit::IDLE_FOR_READS,
    });
    match reply {
        Ok(reply) => Ok((reply.status, reply.body)),
        Err(failure) => Err(failure.cause.text(Language::English)),
    }
}
