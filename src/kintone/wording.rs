//! What the client says to people, in English and Japanese (D-06). Codes and names, and what the system or kintone itself
//! says, are the same in both.

use std::fmt::{self, Write as _};

use super::config::App;
use super::error::{Error, ErrorKind, Outcome};
use super::transport::{Cause, Phase};
use crate::language::{Language, Text, text};

/// A text in both languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phrase {
    english: String,
    japanese: String,
}

impl Phrase {
    pub fn new(english: impl Into<String>, japanese: impl Into<String>) -> Self {
        Self {
            english: english.into(),
            japanese: japanese.into(),
        }
    }

    pub fn get(&self, language: Language) -> &str {
        match language {
            Language::English => &self.english,
            Language::Japanese => &self.japanese,
        }
    }

    /// The same with every text changed.
    pub fn map(&self, change: impl Fn(&str) -> String) -> Self {
        Self::new(change(&self.english), change(&self.japanese))
    }
}

impl From<Text> for Phrase {
    fn from(text: Text) -> Self {
        Self::new(text.en, text.ja)
    }
}

/// The same in both languages: what was said elsewhere.
impl From<&str> for Phrase {
    fn from(text: &str) -> Self {
        Self::new(text, text)
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&Self> for Phrase {
    fn from(phrase: &Self) -> Self {
        phrase.clone()
    }
}

/// A request as messages name it: `GET records of the state app (app 11)`, `GET records of LAPP_orders (app 10)`.
pub(super) fn request_label(method: &str, path: &str, apps: &[&App]) -> Phrase {
    let resource = path.strip_suffix(".json").unwrap_or(path);
    let mut english = format!("{method} {resource}");
    let mut japanese = Vec::new();
    for (index, app) in apps.iter().enumerate() {
        english.push_str(if index == 0 { " of " } else { " and " });
        english.push_str(&named(app));
        japanese.extend(named_in_japanese(app));
    }
    let apps = if japanese.is_empty() {
        String::new()
    } else {
        format!(" ({})", japanese.join("、"))
    };
    Phrase::new(english, format!("{method} {resource}{apps}"))
}

/// A name, `LAPP_orders`, stands alone; a description, `state app`, is one of a kind.
fn is_name(role: &str) -> bool {
    role.starts_with(|first: char| !first.is_lowercase())
}

fn named(app: &App) -> String {
    let role = &app.role;
    let article = if is_name(role) { "" } else { "the " };
    match (role.is_empty(), app.id) {
        (true, id) => format!("app {id}"),
        (false, 0) => format!("{article}{role}"),
        (false, id) => format!("{article}{role} (app {id})"),
    }
}

/// Descriptions are English words: the number says enough.
fn named_in_japanese(app: &App) -> Option<String> {
    match (is_name(&app.role), app.id) {
        (true, 0) => Some(app.role.clone()),
        (true, id) => Some(format!("{}: アプリ {id}", app.role)),
        (false, 0) => None,
        (false, id) => Some(format!("アプリ {id}")),
    }
}

impl Cause {
    /// How far a request got that has no answer, and what ended it.
    pub fn text(&self, language: Language) -> String {
        format!(
            "{}: {}",
            self.phase.words().get(language),
            self.detail.get(language)
        )
    }
}

impl Phase {
    fn words(self) -> Text {
        match self {
            Self::Request => text("bad request", "送信できないリクエストです"),
            Self::Resolve => text("host name not resolved", "ホスト名を解決できません"),
            Self::Connect => text("no connection", "接続できません"),
            Self::Proxy => text("the proxy refused", "プロキシに拒否されました"),
            Self::Handshake => text("TLS handshake failed", "TLS ハンドシェイクに失敗しました"),
            Self::Certificate => text(
                "server certificate not accepted",
                "サーバー証明書を受け入れられません",
            ),
            Self::Answer => text("no complete answer", "完全な応答がありません"),
            Self::TooLarge => text("answer too large", "応答が大きすぎます"),
        }
    }
}

impl Error {
    /// What to look at, where the failure tells.
    fn hint(&self) -> Option<Text> {
        Some(match (self.code(), self.kind(), self.phase()) {
            (Some("GAIA_IL23"), ..) => text(
                "the app lives in a guest space: set the guest space id",
                "ゲストスペース内のアプリです。ゲストスペース ID を設定してください",
            ),
            (Some("GAIA_IA02"), ..) => text(
                "the API token is unknown; a new one works only after the app was updated",
                "API トークンが登録されていません。新しいトークンはアプリを更新するまで使えません",
            ),
            (Some("GAIA_DA03"), ..) => text(
                "two API tokens of one app were given",
                "同じアプリの API トークンが 2 つ指定されています",
            ),
            (Some("GAIA_AP01"), ..) => text(
                "check the app id and the base URL",
                "アプリ ID と URL を確認してください",
            ),
            (Some("GAIA_TM12"), ..) => text(
                "all cursors of the domain are in use, for 10 minutes at most",
                "ドメインのカーソルがすべて使用中です (最長 10 分)",
            ),
            (_, ErrorKind::Auth, _) => text(
                "check the credentials and their rights",
                "認証情報とその権限を確認してください",
            ),
            (_, ErrorKind::TooMany, _) => text(
                "too many requests on the domain at the moment",
                "ドメインへのリクエストが一時的に多すぎます",
            ),
            (_, ErrorKind::Unexpected, _) => text("check the base URL", "URL を確認してください"),
            (_, _, Some(Phase::Resolve | Phase::Connect)) => text(
                "check the base URL, the proxy and the network",
                "URL、プロキシ、ネットワークを確認してください",
            ),
            (_, _, Some(Phase::Certificate)) => text(
                "if a proxy of the company opens TLS, add its authority to the CA file",
                "社内プロキシが TLS を復号している場合は、その認証局を CA ファイルに加えてください",
            ),
            _ => return None,
        })
    }

    /// One line without secrets and without text that kintone sent, apart from its code.
    pub fn text(&self, language: Language) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(language, &mut out);
        out
    }

    fn write(&self, language: Language, out: &mut String) -> fmt::Result {
        let say = |english: &'static str, japanese: &'static str| text(english, japanese).get(language);
        write!(
            out,
            "{}{}",
            self.label().get(language),
            say(" failed: ", " が失敗しました: ")
        )?;
        match (self.cause(), self.note(), self.status()) {
            (Some(cause), _, _) => out.push_str(&cause.text(language)),
            (None, Some(note), Some(status)) => write!(out, "HTTP {status}, {}", note.get(language))?,
            (None, Some(note), None) => out.push_str(note.get(language)),
            (None, None, Some(status)) => write!(out, "HTTP {status}")?,
            (None, None, None) => out.push_str(say("no answer", "応答がありません")),
        }
        if let Some(code) = self.code() {
            write!(out, " {code}")?;
        }
        if let Some(index) = self.bulk_index() {
            match language {
                Language::English => write!(out, " in inner request {index}")?,
                Language::Japanese => write!(out, " (内側のリクエスト {index})")?,
            }
        }
        let paths: Vec<&str> = self.paths().map(|(path, _)| path).collect();
        if !paths.is_empty() {
            let paths = paths.join(", ");
            match language {
                Language::English => write!(out, " at {paths}")?,
                Language::Japanese => write!(out, " ({paths})")?,
            }
        }
        if let Some(hint) = self.hint() {
            write!(out, "{}{}", say("; ", "。"), hint.get(language))?;
        }
        let attempts = self.attempts();
        if attempts > 1 {
            match language {
                Language::English => write!(out, " ({attempts} attempts)")?,
                Language::Japanese => write!(out, " (試行 {attempts} 回)")?,
            }
        }
        if self.outcome() == Outcome::Unknown {
            out.push_str(say(
                "; whether it took effect is unknown",
                "。反映されたかどうかは不明です",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Error {
        let label = request_label("PUT", "record.json", &[&app(11, "state app")]);
        Error::answer(label, status, body.as_bytes(), None)
    }

    fn app(id: u64, role: &str) -> App {
        App {
            id,
            role: role.to_owned(),
            auth: super::super::Auth::Tokens(Vec::new()),
        }
    }

    #[test]
    fn apps_are_named_by_what_they_are_called_or_are_for() {
        for (id, role, english, japanese) in [
            (
                11,
                "state app",
                "GET records of the state app (app 11)",
                "GET records (アプリ 11)",
            ),
            (
                20,
                "LAPP_受注",
                "GET records of LAPP_受注 (app 20)",
                "GET records (LAPP_受注: アプリ 20)",
            ),
            (
                30,
                "APP30",
                "GET records of APP30 (app 30)",
                "GET records (APP30: アプリ 30)",
            ),
            (7, "", "GET records of app 7", "GET records (アプリ 7)"),
            (0, "app list", "GET records of the app list", "GET records"),
        ] {
            let label = request_label("GET", "records.json", &[&app(id, role)]);
            assert_eq!(label, Phrase::new(english, japanese));
        }
    }

    #[test]
    fn says_what_to_look_at() {
        for (status, body, english, japanese) in [
            (400, r#"{"code":"GAIA_IL23"}"#, "guest space", "ゲストスペース"),
            (400, r#"{"code":"GAIA_IA02"}"#, "app was updated", "アプリを更新"),
            (403, "", "rights", "権限"),
            (302, "", "base URL", "URL を確認"),
        ] {
            let error = answer(status, body);
            assert!(error.text(Language::English).contains(english), "{error}");
            assert!(error.text(Language::Japanese).contains(japanese), "{error:?}");
        }
        assert_eq!(answer(409, r#"{"code":"GAIA_CO02"}"#).hint(), None);
        let cause = Cause::new(Phase::Certificate, "unknown issuer");
        let error = Error::transport("x", cause, false).to_string();
        assert!(error.contains("CA file"), "{error}");
    }

    #[test]
    fn codes_names_and_numbers_are_the_same_in_japanese() {
        let error = answer(
            503,
            r#"{"results":[{},{"code":"CB_VA01","errors":{"record.lock_key.value":{"messages":["a"]}}}]}"#,
        );
        assert_eq!(
            error.text(Language::Japanese),
            "PUT record (アプリ 11) が失敗しました: HTTP 503 CB_VA01 (内側のリクエスト 1) (record.lock_key.value)。反映されたかどうかは不明です"
        );
        let cause = Cause::new(Phase::Connect, text("timed out", "時間切れです"));
        assert_eq!(
            Error::transport("GET x", cause, false).text(Language::Japanese),
            "GET x が失敗しました: 接続できません: 時間切れです。URL、プロキシ、ネットワークを確認してください"
        );
    }
}
