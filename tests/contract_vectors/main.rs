//! The contract's vectors as data-driven tests. `CONTRACT_VECTORS` points them at another folder of the same form.

mod bundle;
mod business_key;
mod canonical_keys;
mod child;
mod classify;
mod cli;
mod decisions;
mod io;
mod profile;
mod support;
mod validate;
