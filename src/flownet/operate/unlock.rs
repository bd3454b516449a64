//! force-unlock-network: takes the Network lock from an owner whose stop is confirmed (OPR-21 to OPR-27).
//!
//! Tombstone and audit record are one request fenced by the revision that was decided on; a second call for the same owner
//! tells about the first one.

use serde_json::Value;

use super::desk::Desk;
use super::is_blank;
use super::stop::{self, Method};
use crate::flownet::clock::uuid;
use crate::flownet::key;
use crate::flownet::lease::forced::{Forced, ForcedError};
use crate::flownet::lease::store;
use crate::flownet::operate::cloud_run::Api;
use crate::flownet::record::lock::FORCE_RELEASED;
use crate::flownet::record::{Lock, operation};
use crate::flownet::run::Failure;
use crate::flownet::time::MINUTE_MS;
use crate::kintone::query;

/// A force-unlock-network command.
pub struct Request<'a> {
    /// Network.
    pub network_id: &'a str,
    /// Profile.
    pub profile: &'a str,
    /// The owner that the operator means.
    pub expected_owner: &'a str,
    /// Why, as the file says.
    pub reason: &'a str,
    /// Incident or ticket.
    pub evidence_ref: &'a str,
    /// Who confirmed the stop.
    pub stop_confirmed_by: &'a str,
    /// Evidence of the stop.
    pub stop_evidence_ref: &'a str,
    /// The word for the stop method.
    pub stop_method: &'a str,
    /// Name of this host.
    pub host: &'a str,
    /// Cloud Run, when there is a token for it.
    pub cloud_run: Option<&'a Api>,
}

/// A lock that is free now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Released {
    /// N1 key.
    pub lock_key: String,
    /// The owner that lost it.
    pub previous_owner: String,
    /// Revision of the tombstone.
    pub revision: u64,
    /// `net_unlock_<uuid>`.
    pub event_id: String,
    /// An earlier call did it: who and when.
    pub earlier: Option<(String, String)>,
}

/// Carries the command out.
pub fn run(desk: &Desk, request: &Request<'_>) -> Result<Released, Failure> {
    refuse_blank(desk, request)?;
    let lock_key = key::lock_key(request.profile, request.network_id)?;
    let held_key = key::held_lock_record_key(&lock_key)?;
    let keys = (held_key.as_str(), lock_key.as_str());
    let lock = match read(desk, keys, "LOCK_READ_FAILED")? {
        Some(lock) if lock.owner_word() == request.expected_owner => lock,
        other => {
            let refusal = wrong_owner(request, other.as_ref());
            return earlier(desk, request, &lock_key)?.ok_or(refusal);
        }
    };
    let now = desk.clock.now();
    // An end that cannot be read protects nobody: the stop of the owner is confirmed all the same, and a live owner is
    // fenced off by the release.
    if lock.expires().is_some_and(|end| end.plus_ms(MINUTE_MS) > now) {
        return Err(Failure::new(
            "LEASE_STILL_ACTIVE",
            format!(
                "the lease of {} lasts until {} plus one minute",
                lock.owner_invocation_id, lock.lease_expires_at
            ),
        ));
    }
    let method = Method::parse(request.stop_method)
        .ok_or_else(|| not_confirmed(&format!("'{}' is no stop method", request.stop_method)))?;
    let detail = stop::confirm(&stop::Question {
        method,
        instance: lock.owner_instance_id(),
        host: request.host,
        cloud_run: request.cloud_run,
        confirmed_by: request.stop_confirmed_by,
        now,
    })
    .map_err(|why| not_confirmed(&why))?;
    refuse_moved(desk, keys, &lock)?;
    release(desk, request, &lock_key, &lock, method, &detail)
}

fn not_confirmed(why: &str) -> Failure {
    Failure::new(
        "STOP_NOT_CONFIRMED",
        format!("the owner's stop is not confirmed: {why}"),
    )
}

/// Row 1 of OPR-22: the first blank text.
fn refuse_blank(desk: &Desk, request: &Request<'_>) -> Result<(), Failure> {
    for (name, text) in [
        ("networkId", request.network_id),
        ("profile", request.profile),
        ("expectedOwnerInvocationId", request.expected_owner),
        ("reason", request.reason),
        ("evidenceRef", request.evidence_ref),
        ("stopConfirmedBy", request.stop_confirmed_by),
        ("stopEvidenceRef", request.stop_evidence_ref),
        ("stopMethod", request.stop_method),
        ("servicePrincipal", &desk.service_principal),
        ("requestedBy", &desk.requested_by),
    ] {
        if is_blank(text) {
            return Err(Failure::new(
                "INVALID_ARGUMENT",
                format!("{name} must not be blank"),
            ));
        }
    }
    Ok(())
}

fn read(
    desk: &Desk,
    (held_key, lock_key): (&str, &str),
    code: &'static str,
) -> Result<Option<Lock>, Failure> {
    let found = store::network_lock(&desk.client, &desk.state, held_key, lock_key)
        .map_err(|e| Failure::new(code, format!("the network lock could not be read: {e}")))?;
    match <[Lock; 1]>::try_from(found) {
        Ok([lock]) => Ok(Some(lock)),
        Err(none) if none.is_empty() => Ok(None),
        Err(several) => Err(Failure::new(
            code,
            format!("{} records hold the network lock", several.len()),
        )),
    }
}

/// Rows 3 and 4 of OPR-22.
fn wrong_owner(request: &Request<'_>, held: Option<&Lock>) -> Failure {
    match held {
        None => Failure::new(
            "LOCK_NOT_FOUND",
            format!(
                "network '{}' of profile '{}' is not locked",
                request.network_id, request.profile
            ),
        ),
        Some(lock) => Failure::new(
            "OWNER_MISMATCH",
            format!(
                "the lock is held by {}, not by {}",
                lock.owner_word(),
                request.expected_owner
            ),
        ),
    }
}

/// The second look of row 7: the owner must not have moved while its stop was being confirmed.
fn refuse_moved(desk: &Desk, keys: (&str, &str), lock: &Lock) -> Result<(), Failure> {
    let again = read(desk, keys, "HEARTBEAT_ADVANCED")?;
    let same = again.is_some_and(|now| {
        now.revision == lock.revision
            && now.heartbeat_at == lock.heartbeat_at
            && now.owner_invocation_id == lock.owner_invocation_id
            && now.lease_token == lock.lease_token
    });
    if same {
        return Ok(());
    }
    Err(Failure::new(
        "HEARTBEAT_ADVANCED",
        "the lock changed while the stop was being confirmed: its owner lives",
    ))
}

fn release(
    desk: &Desk,
    request: &Request<'_>,
    lock_key: &str,
    lock: &Lock,
    method: Method,
    detail: &str,
) -> Result<Released, Failure> {
    let event_id = format!("net_unlock_{}", uuid()?);
    let forced = Forced {
        event_id: &event_id,
        network_id: request.network_id,
        lock_key,
        lock,
        service_principal: &desk.service_principal,
        requested_by: &desk.requested_by,
        stop_confirmed_by: request.stop_confirmed_by,
        stop_method: method.as_str(),
        stop_evidence_ref: request.stop_evidence_ref,
        stop_detail: detail,
        reason: request.reason,
        evidence_ref: request.evidence_ref,
    };
    match forced.release(&desk.client, &*desk.clock, &desk.state, &desk.audit) {
        Ok(revision) => Ok(Released {
            lock_key: lock_key.to_owned(),
            previous_owner: lock.owner_invocation_id.clone(),
            revision,
            event_id,
            earlier: None,
        }),
        Err(ForcedError::ByOther) => earlier(desk, request, lock_key)?
            .ok_or_else(|| Failure::new("REVISION_CONFLICT", ForcedError::ByOther.to_string())),
        Err(e @ ForcedError::Changed) => Err(Failure::new("REVISION_CONFLICT", e.to_string())),
        Err(e @ (ForcedError::Refused(_) | ForcedError::Unconfirmed(_) | ForcedError::Broken(_))) => {
            Err(Failure::new("RELEASE_UNCONFIRMED", e.to_string()))
        }
    }
}

/// How many forced releases are looked through, newest first: one page.
const RELEASES: usize = 500;

/// The forced release of this owner's lock that is on record, if there is one.
fn earlier(desk: &Desk, request: &Request<'_>, lock_key: &str) -> Result<Option<Released>, Failure> {
    let condition = query::and(&[
        query::one_of("record_type", &[operation::RECORD_TYPE]),
        query::one_of("result_code", &[FORCE_RELEASED]),
    ]);
    let newest = format!("{condition} order by $id desc limit {RELEASES}");
    let page = desk.client.records(&desk.audit, &newest, &[], false)?;
    Ok(page
        .records
        .iter()
        .filter_map(|r| serde_json::from_str::<Value>(r.text("reason")).ok())
        .find_map(|event| {
            let text = |key: &str| event.get(key).and_then(Value::as_str);
            let meant = text("event_type") == Some(FORCE_RELEASED)
                && text("lock_key") == Some(lock_key)
                && text("previous_owner_invocation_id") == Some(request.expected_owner);
            meant.then(|| Released {
                lock_key: lock_key.to_owned(),
                previous_owner: request.expected_owner.to_owned(),
                revision: event
                    .get("post_release_revision")
                    .and_then(Value::as_u64)
                    .unwrap_or(0),
                event_id: text("event_id").unwrap_or_default().to_owned(),
                earlier: Some((
                    text("requested_by").unwrap_or_default().to_owned(),
                    text("released_at").unwrap_or_default().to_owned(),
                )),
            })
        }))
}
