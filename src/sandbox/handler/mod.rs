//! The APIs. A read gets the state, a write gets a transaction; bulkRequest runs the same write functions inside one.
pub mod app;
pub mod bulk;
pub mod cursor;
pub mod file;
pub mod form;
pub mod params;
pub mod record;
pub mod write;

use std::sync::Arc;

use jiff::Timestamp;

use super::app::App;
use super::auth::Caller;
use super::error::{ApiError, app_not_found, guest_path_needed, user_forbidden};
use super::store::state::{AppState, State};
use params::Params;

/// What every API knows about its request.
pub struct Context<'a> {
    /// The sender.
    pub caller: &'a Caller,
    /// Guest space of the path.
    pub guest_space: Option<u64>,
    /// The service's time.
    pub now: Timestamp,
}

impl Context<'_> {
    /// The app a request names, if the path may reach it (KTB-05, KTB-06, KTB-08, KTB-30, KTB-32).
    pub fn app<'s>(&self, state: &'s State, params: &Params) -> Result<&'s AppState, ApiError> {
        self.reach(state, params.id("app")?)
    }

    /// The app with an id, if the path may reach it.
    pub fn reach<'s>(&self, state: &'s State, id: u64) -> Result<&'s AppState, ApiError> {
        let found = state.apps.get(&id).ok_or_else(|| app_not_found(id))?;
        match (self.guest_space, found.app.guest_space()) {
            (None, None) => Ok(found),
            (None, Some(_)) => Err(guest_path_needed()),
            (Some(wanted), Some(space)) if wanted == space => Ok(found),
            (Some(_), _) => Err(user_forbidden()),
        }
    }

    /// The definition of the app a write names; shared, because the transaction changes the state meanwhile.
    pub fn app_for_write(&self, state: &State, params: &Params) -> Result<Arc<App>, ApiError> {
        self.app(state, params).map(|found| Arc::clone(&found.app))
    }
}
