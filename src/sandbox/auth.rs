//! Who sends a request and what he may do (KTB-20 to KTB-26).
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::tz::TimeZone;

use super::app::{App, Right, Rights};
use super::error::{
    ApiError, Language, illegal_request, login_required, password_refused, token_forbidden, token_twice,
    token_unknown, user_forbidden,
};
use super::record::UserIndex;
use super::store::state::State;

/// Most tokens in one request (KTB-23).
const MAX_TOKENS: usize = 9;

/// The sender of a request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// In whose name records are written (KTB-25).
    pub user: UserIndex,
    /// Time zone of the user: TODAY() and default values follow it (KTB-73, KTB-110).
    pub zone: TimeZone,
    /// Fixed display language of the user.
    pub language: Option<Language>,
    identity: Identity,
}

#[derive(Clone, Debug)]
enum Identity {
    /// Rights by app.
    Tokens(Vec<(u64, Rights)>),
    /// A user; administrators have every right.
    User { code: String, administrator: bool },
}

impl Caller {
    /// Finds the sender: a password header comes before tokens (KTB-22).
    pub fn identify(state: &State, password: Option<&str>, tokens: Option<&str>) -> Result<Self, ApiError> {
        match (password, tokens) {
            (Some(header), _) => Self::by_password(state, header),
            (None, Some(header)) => Self::by_tokens(state, header),
            (None, None) => Err(login_required()),
        }
    }

    /// The administrator, without credentials; for the control interface.
    pub fn administrator(state: &State) -> Self {
        let user = state.user(0);
        Self {
            user: 0,
            zone: user.zone.clone(),
            language: user.language,
            identity: Identity::User {
                code: user.code.clone(),
                administrator: true,
            },
        }
    }

    fn by_password(state: &State, header: &str) -> Result<Self, ApiError> {
        let decoded = STANDARD.decode(header.trim()).map_err(|_| password_refused())?;
        let decoded = String::from_utf8(decoded).map_err(|_| password_refused())?;
        let (code, password) = decoded.split_once(':').ok_or_else(password_refused)?;
        let index = state
            .users
            .iter()
            .position(|user| user.code == code)
            .ok_or_else(password_refused)?;
        let user = &state.users[index];
        if user.password.as_deref() != Some(password) {
            return Err(password_refused());
        }
        Ok(Self {
            user: index as UserIndex,
            zone: user.zone.clone(),
            language: user.language,
            identity: Identity::User {
                code: user.code.clone(),
                administrator: user.administrator,
            },
        })
    }

    fn by_tokens(state: &State, header: &str) -> Result<Self, ApiError> {
        let tokens: Vec<&str> = header
            .split(',')
            .map(str::trim)
            .filter(|token| !token.is_empty())
            .collect();
        if tokens.is_empty() {
            return Err(login_required());
        }
        if tokens.len() > MAX_TOKENS {
            return Err(illegal_request());
        }
        let mut rights: Vec<(u64, Rights)> = Vec::new();
        for token in tokens {
            let (id, granted) = state
                .apps
                .values()
                .find_map(|app| app.app.tokens.get(token).map(|rights| (app.app.id, *rights)))
                .ok_or_else(token_unknown)?;
            if rights.iter().any(|(known, _)| *known == id) {
                return Err(token_twice());
            }
            rights.push((id, granted));
        }
        let administrator = state.user(0);
        Ok(Self {
            user: 0,
            zone: administrator.zone.clone(),
            language: administrator.language,
            identity: Identity::Tokens(rights),
        })
    }

    /// Rights on an app.
    pub fn rights(&self, app: &App) -> Rights {
        match &self.identity {
            Identity::User {
                administrator: true, ..
            } => Rights::ALL,
            Identity::User { code, .. } => app.access.get(code).copied().unwrap_or_default(),
            Identity::Tokens(rights) => rights
                .iter()
                .find(|(id, _)| *id == app.id)
                .map(|(_, rights)| *rights)
                .unwrap_or_default(),
        }
    }

    /// Refuses a request without the right (KTB-24).
    pub fn require(&self, app: &App, right: Right) -> Result<(), ApiError> {
        if self.rights(app).has(right) {
            Ok(())
        } else {
            Err(self.forbidden())
        }
    }

    /// Refuses a request that has none of the rights.
    pub fn require_any(&self, app: &App, rights: &[Right]) -> Result<(), ApiError> {
        let granted = self.rights(app);
        if rights.iter().any(|right| granted.has(*right)) {
            Ok(())
        } else {
            Err(self.forbidden())
        }
    }

    /// Refuses everybody but administrators: creating apps (KTB-164).
    pub fn require_administrator(&self) -> Result<(), ApiError> {
        match self.identity {
            Identity::User {
                administrator: true, ..
            } => Ok(()),
            _ => Err(self.forbidden()),
        }
    }

    /// The refusal for this kind of sender.
    pub fn forbidden(&self) -> ApiError {
        match self.identity {
            Identity::Tokens(_) => token_forbidden(),
            Identity::User { .. } => user_forbidden(),
        }
    }
}
