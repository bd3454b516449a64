//! The apps file (`--apps`): users, spaces, apps with their forms, tokens and rights. Strict: an unknown key is an error,
//! because a misspelt right must not silently become "no right" in somebody's test.
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::form::Form;
use super::{App, Right, Rights, Space, lookup};
use crate::sandbox::error::Language;
use crate::sandbox::value::number::{Precision, Rounding};

/// Most bytes of an apps file.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Most tokens of one app (KTB-23).
const MAX_TOKENS: usize = 20;

/// The apps file as written.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AppsFile {
    /// People who can sign in with a password.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<UserEntry>,
    /// Codes of organizations that ORGANIZATION_SELECT accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub organizations: Vec<NamedCode>,
    /// Codes of groups that GROUP_SELECT accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<NamedCode>,
    /// The apps.
    pub apps: Vec<AppEntry>,
}

/// A code with a name.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NamedCode {
    /// Code.
    pub code: String,
    /// Name; the code when left out.
    #[serde(default)]
    pub name: String,
}

/// A user.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UserEntry {
    /// Login name.
    pub code: String,
    /// Display name; the code when left out.
    #[serde(default)]
    pub name: String,
    /// Password; without one nobody can sign in as this user.
    #[serde(default)]
    pub password: Option<String>,
    /// IANA time zone, default `Asia/Tokyo`.
    #[serde(default)]
    pub timezone: Option<String>,
    /// `ja`, `en`, or left out: follow `Accept-Language` (KTB-03).
    #[serde(default)]
    pub language: Option<String>,
    /// Has every right on every app and may create apps.
    #[serde(default)]
    pub administrator: bool,
}

impl fmt::Debug for UserEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserEntry")
            .field("code", &self.code)
            .finish_non_exhaustive()
    }
}

/// An app.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AppEntry {
    /// App id, at least 1.
    pub id: u64,
    /// Name.
    pub name: String,
    /// App code.
    #[serde(default)]
    pub code: String,
    /// Description.
    #[serde(default)]
    pub description: String,
    /// Space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<Space>,
    /// Field definitions as `form/fields.json` shows them.
    pub properties: Map<String, Json>,
    /// Number precision.
    #[serde(default, rename = "numberPrecision", skip_serializing_if = "Option::is_none")]
    pub number_precision: Option<PrecisionEntry>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenEntry>,
    /// Rights of users who are no administrators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<AccessEntry>,
    /// `exact` (default) or `words`: what `=` means on non-unique single-line text (KTB-69).
    #[serde(default, rename = "textEquality", skip_serializing_if = "Option::is_none")]
    pub text_equality: Option<String>,
    /// Settings revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// A token of an app.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// The token.
    pub token: String,
    /// Its rights.
    pub rights: Vec<Right>,
}

/// Rights of a user on an app.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AccessEntry {
    /// User code.
    pub user: String,
    /// Rights.
    pub rights: Vec<Right>,
}

/// Number precision as `app/settings.json` writes it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PrecisionEntry {
    /// Significant digits, 1 to 30.
    pub digits: u32,
    /// Digits after the point, 0 to 10.
    #[serde(rename = "decimalPlaces")]
    pub decimal_places: u32,
    /// `HALF_EVEN`, `UP` or `DOWN`.
    #[serde(default, rename = "roundingMode")]
    pub rounding_mode: Option<String>,
}

/// Why an apps file cannot be used.
#[derive(Debug)]
pub struct AppsFileError {
    what: String,
}

impl fmt::Display for AppsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

fn refuse(what: String) -> AppsFileError {
    AppsFileError { what }
}

/// A person known to the stand-in.
#[derive(Clone)]
pub struct User {
    /// Login name.
    pub code: String,
    /// Display name.
    pub name: String,
    /// Password, if the user can sign in.
    pub password: Option<String>,
    /// Time zone of TODAY() and of default values.
    pub zone: jiff::tz::TimeZone,
    /// Fixed display language.
    pub language: Option<Language>,
    /// Every right on every app.
    pub administrator: bool,
}

/// Everything the apps file says, checked.
pub struct Directory {
    /// Users; the first is Administrator, in whose name tokens act (KTB-25).
    pub users: Vec<User>,
    /// Organizations by code.
    pub organizations: BTreeMap<String, String>,
    /// Groups by code.
    pub groups: BTreeMap<String, String>,
    /// Apps by id.
    pub apps: BTreeMap<u64, App>,
}

/// Code of the user in whose name tokens act.
pub const ADMINISTRATOR: &str = "Administrator";
const DEFAULT_ZONE: &str = "Asia/Tokyo";

/// Reads and checks an apps file.
pub fn read(path: &Path) -> Result<Directory, AppsFileError> {
    let shown = path.display();
    let size = std::fs::metadata(path)
        .map_err(|error| refuse(format!("{shown}: {error}")))?
        .len();
    if size > MAX_FILE {
        return Err(refuse(format!("{shown}: larger than {MAX_FILE} bytes")));
    }
    let text = std::fs::read(path).map_err(|error| refuse(format!("{shown}: {error}")))?;
    let file: AppsFile =
        serde_json::from_slice(&text).map_err(|error| refuse(format!("{shown}: {error}")))?;
    check(file).map_err(|error| refuse(format!("{shown}: {error}")))
}

/// Checks the parsed file.
pub fn check(file: AppsFile) -> Result<Directory, AppsFileError> {
    let users = check_users(file.users)?;
    let mut apps = BTreeMap::new();
    let mut tokens = HashSet::new();
    for entry in file.apps {
        let id = entry.id;
        for token in &entry.tokens {
            if !tokens.insert(token.token.clone()) {
                return Err(refuse(format!(
                    "app {id}: one of its tokens is used twice in the file"
                )));
            }
        }
        let app = build(entry).map_err(|problem| refuse(format!("app {id}: {problem}")))?;
        if apps.insert(id, app).is_some() {
            return Err(refuse(format!("app id {id} is used twice")));
        }
    }
    for app in apps.values() {
        lookup::check(app, |id| apps.get(&id))
            .map_err(|problem| refuse(format!("app {}: {problem}", app.id)))?;
    }
    Ok(Directory {
        users,
        organizations: names(file.organizations),
        groups: names(file.groups),
        apps,
    })
}

fn names(entries: Vec<NamedCode>) -> BTreeMap<String, String> {
    let name = |entry: &NamedCode| {
        if entry.name.is_empty() {
            entry.code.clone()
        } else {
            entry.name.clone()
        }
    };
    entries
        .into_iter()
        .map(|entry| (entry.code.clone(), name(&entry)))
        .collect()
}

fn check_users(entries: Vec<UserEntry>) -> Result<Vec<User>, AppsFileError> {
    let mut users = Vec::new();
    if !entries.iter().any(|entry| entry.code == ADMINISTRATOR) {
        users.push(check_user(UserEntry {
            code: ADMINISTRATOR.to_owned(),
            name: ADMINISTRATOR.to_owned(),
            password: None,
            timezone: None,
            language: None,
            administrator: true,
        })?);
    }
    for entry in entries {
        if users.iter().any(|user: &User| user.code == entry.code) {
            return Err(refuse(format!("user {:?} is named twice", entry.code)));
        }
        let user = check_user(entry)?;
        if user.code == ADMINISTRATOR {
            users.insert(0, user);
        } else {
            users.push(user);
        }
    }
    Ok(users)
}

fn check_user(entry: UserEntry) -> Result<User, AppsFileError> {
    let code = entry.code;
    if code.is_empty() || code.contains(':') {
        return Err(refuse(format!(
            "user code {code:?} must not be empty and must not contain a colon"
        )));
    }
    let zone = entry.timezone.as_deref().unwrap_or(DEFAULT_ZONE);
    let zone = jiff::tz::TimeZone::get(zone)
        .map_err(|_| refuse(format!("user {code:?}: time zone {zone:?} is not known")))?;
    let language = match entry.language.as_deref() {
        None => None,
        Some("ja") => Some(Language::Ja),
        Some("en") => Some(Language::En),
        Some(other) => {
            return Err(refuse(format!(
                "user {code:?}: language must be ja or en, not {other:?}"
            )));
        }
    };
    let name = if entry.name.is_empty() {
        code.clone()
    } else {
        entry.name
    };
    Ok(User {
        code,
        name,
        password: entry.password,
        zone,
        language,
        administrator: entry.administrator,
    })
}

/// Builds one app from its entry; the error text leaves out the app's id.
pub fn build(entry: AppEntry) -> Result<App, String> {
    if entry.id == 0 {
        return Err("an app id is at least 1".to_owned());
    }
    if entry.tokens.len() > MAX_TOKENS {
        return Err(format!("an app has at most {MAX_TOKENS} tokens"));
    }
    let mut tokens = HashMap::new();
    for TokenEntry { token, rights } in entry.tokens {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',') {
            return Err("a token is non-empty printable ASCII without comma and space".to_owned());
        }
        tokens.insert(token, rights.into_iter().collect::<Rights>());
    }
    let word_equality = match entry.text_equality.as_deref() {
        None | Some("exact") => false,
        Some("words") => true,
        Some(other) => return Err(format!("\"textEquality\" must be exact or words, not {other:?}")),
    };
    Ok(App {
        id: entry.id,
        name: entry.name,
        code: entry.code,
        description: entry.description,
        space: entry.space,
        revision: entry.revision.unwrap_or(1),
        form: Form::read(&entry.properties)?,
        precision: entry
            .number_precision
            .as_ref()
            .map(precision)
            .transpose()?
            .unwrap_or_default(),
        tokens,
        access: entry
            .access
            .into_iter()
            .map(|access| (access.user, access.rights.into_iter().collect()))
            .collect(),
        word_equality,
    })
}

/// The entry of an app: what [`build`] read, for the journal.
pub fn entry(app: &App) -> AppEntry {
    let rounding = match app.precision.rounding {
        Rounding::HalfEven => "HALF_EVEN",
        Rounding::Up => "UP",
        Rounding::Down => "DOWN",
    };
    let tokens = app.tokens.iter().map(|(token, rights)| TokenEntry {
        token: token.clone(),
        rights: rights.list(),
    });
    let access = app.access.iter().map(|(user, rights)| AccessEntry {
        user: user.clone(),
        rights: rights.list(),
    });
    AppEntry {
        id: app.id,
        name: app.name.clone(),
        code: app.code.clone(),
        description: app.description.clone(),
        space: app.space,
        properties: app.form.properties(),
        number_precision: Some(PrecisionEntry {
            digits: app.precision.digits,
            decimal_places: app.precision.decimals,
            rounding_mode: Some(rounding.to_owned()),
        }),
        tokens: tokens.collect(),
        access: access.collect(),
        text_equality: app.word_equality.then(|| "words".to_owned()),
        revision: Some(app.revision),
    }
}

fn precision(entry: &PrecisionEntry) -> Result<Precision, String> {
    let rounding = match entry.rounding_mode.as_deref() {
        None | Some("HALF_EVEN") => Rounding::HalfEven,
        Some("UP") => Rounding::Up,
        Some("DOWN") => Rounding::Down,
        Some(other) => {
            return Err(format!(
                "\"roundingMode\" must be HALF_EVEN, UP or DOWN, not {other:?}"
            ));
        }
    };
    if !(1..=30).contains(&entry.digits) || entry.decimal_places > 10 {
        return Err("\"digits\" is 1 to 30 and \"decimalPlaces\" 0 to 10".to_owned());
    }
    Ok(Precision {
        digits: entry.digits,
        decimals: entry.decimal_places,
        rounding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        match serde_json::from_str::<AppsFile>(text) {
            Ok(file) => check(file)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, word) in [
            (r#"{"apps":[{"id":0,"name":"a","properties":{}}]}"#, "at least 1"),
            (
                r#"{"apps":[{"id":1,"name":"a","properties":{}},{"id":1,"name":"b","properties":{}}]}"#,
                "used twice",
            ),
            (
                r#"{"apps":[{"id":1,"name":"a","properties":{},"rights":[]}]}"#,
                "unknown field",
            ),
            (
                r#"{"apps":[{"id":1,"name":"a","properties":{"f":{"type":"CALC"}}}]}"#,
                "CALC",
            ),
            (
                r#"{"apps":[{"id":1,"name":"a","properties":{},"tokens":[{"token":"a,b","rights":[]}]}]}"#,
                "comma",
            ),
            (r#"{"users":[{"code":"a:b"}],"apps":[]}"#, "colon"),
            (
                r#"{"users":[{"code":"a","timezone":"Mars/Base"}],"apps":[]}"#,
                "time zone",
            ),
            (
                r#"{"apps":[{"id":1,"name":"a","properties":{"l":{"type":"SINGLE_LINE_TEXT","lookup":{
                    "relatedApp":{"app":"2"},"relatedKeyField":"k","fieldMappings":[]}}}}]}"#,
                "source app 2",
            ),
        ] {
            let found = problem(text);
            assert!(found.contains(word), "{text}: {found}");
        }
    }

    #[test]
    fn administrator_is_always_the_first_user() {
        let file: Result<AppsFile, _> = serde_json::from_str(r#"{"users":[{"code":"east"}],"apps":[]}"#);
        let users = file
            .ok()
            .and_then(|file| check(file).ok())
            .map(|directory| directory.users)
            .unwrap_or_default();
        assert_eq!(
            users.iter().map(|user| user.code.as_str()).collect::<Vec<_>>(),
            [ADMINISTRATOR, "east"]
        );
    }
}
