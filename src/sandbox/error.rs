//! What the stand-in refuses, in the service's own words: status, code, texts in two languages and, for CB_VA01 only,
//! the paths of the offending values (KTB-01). The texts are literal because people and tools search for them (KTB-04).
use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::ident::error_id;

/// Language of an answer's texts (KTB-03).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Japanese.
    Ja,
    /// English; also the answer to a request without `Accept-Language` (KTB-93, the newer observation).
    En,
}

/// A text in both languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    ja: Cow<'static, str>,
    en: Cow<'static, str>,
}

impl Message {
    /// A fixed text.
    pub const fn fixed(ja: &'static str, en: &'static str) -> Self {
        Self {
            ja: Cow::Borrowed(ja),
            en: Cow::Borrowed(en),
        }
    }

    /// A text with values filled in.
    pub fn filled(ja: String, en: String) -> Self {
        Self {
            ja: Cow::Owned(ja),
            en: Cow::Owned(en),
        }
    }

    /// The text in `language`.
    pub fn text(&self, language: Language) -> &str {
        match language {
            Language::Ja => &self.ja,
            Language::En => &self.en,
        }
    }
}

/// One refusal. Boxed, because it travels through every `Result` of the handlers.
#[derive(Clone, Debug)]
pub struct ApiError(Box<Refusal>);

#[derive(Clone, Debug)]
struct Refusal {
    status: u16,
    code: &'static str,
    message: Message,
    paths: Violations,
}

/// Offending paths with their messages, in the order of the paths.
#[derive(Clone, Debug, Default)]
pub struct Violations(BTreeMap<String, Vec<Message>>);

impl Violations {
    /// Adds a message to a path; one path may hold several (KTB-01).
    pub fn add(&mut self, path: impl Into<String>, message: Message) {
        self.0.entry(path.into()).or_default().push(message);
    }

    /// Takes over another collection.
    pub fn merge(&mut self, other: Self) {
        for (path, messages) in other.0 {
            self.0.entry(path).or_default().extend(messages);
        }
    }

    /// True when nothing was found wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `Err` with CB_VA01 when something was found wrong.
    pub fn into_result(self) -> Result<(), ApiError> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(ApiError::invalid_paths(self))
        }
    }
}

impl ApiError {
    /// A refusal without paths.
    pub fn new(status: u16, code: &'static str, message: Message) -> Self {
        Self(Box::new(Refusal {
            status,
            code,
            message,
            paths: Violations::default(),
        }))
    }

    /// 400 CB_VA01 with the given paths.
    pub fn invalid_paths(paths: Violations) -> Self {
        Self(Box::new(Refusal {
            status: 400,
            code: "CB_VA01",
            message: INVALID_INPUT,
            paths,
        }))
    }

    /// 400 CB_VA01 with one path and one message.
    pub fn invalid(path: impl Into<String>, message: Message) -> Self {
        let mut paths = Violations::default();
        paths.add(path, message);
        Self::invalid_paths(paths)
    }

    /// 400 CB_VA01: a missing request parameter (KTB-05).
    pub fn missing(parameter: &str) -> Self {
        Self::invalid(parameter, REQUIRED_PARAMETER)
    }

    /// HTTP status.
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// Service code, for example `GAIA_CO02`.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The offending paths of a CB_VA01.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.paths.0.keys().map(String::as_str)
    }

    /// The error body in `language`; every call makes a new `id` (KTB-01).
    pub fn body(&self, language: Language) -> Json {
        let mut body = json!({
            "code": self.0.code,
            "id": error_id(),
            "message": self.0.message.text(language),
        });
        if !self.0.paths.is_empty() {
            let paths: serde_json::Map<String, Json> = self
                .0
                .paths
                .0
                .iter()
                .map(|(path, messages)| {
                    let texts: Vec<&str> = messages.iter().map(|message| message.text(language)).collect();
                    (path.clone(), json!({ "messages": texts }))
                })
                .collect();
            body["errors"] = Json::Object(paths);
        }
        body
    }
}

const INVALID_INPUT: Message = Message::fixed("入力内容が正しくありません。", "Missing or invalid input.");

/// A request parameter is missing.
pub const REQUIRED_PARAMETER: Message = Message::fixed("必須です。", "Required field.");
/// A required record field is empty.
pub const REQUIRED_VALUE: Message = Message::fixed("必須です。", "Required.");
/// A unique field would hold a value twice.
pub const DUPLICATE: Message = Message::fixed(
    "値がほかのレコードと重複しています。",
    "This value already exists in another record.",
);
/// A NUMBER that is none.
pub const NOT_A_NUMBER: Message = Message::fixed("数字でなければなりません。", "Only numbers are allowed.");
/// An app id or similar below 1 (KTB-06).
pub const AT_LEAST_ONE: Message = Message::fixed("最小でも1以上です。", "must be greater than or equal to 1");
/// A word that is not one of a fixed list.
pub const NOT_IN_ENUM: Message = Message::fixed(
    "Enum値のいずれかでなければなりません。",
    "must be one of the enum value",
);
/// More than 100 records in a POST.
pub const TOO_MANY_ADDED: Message = Message::fixed(
    "一度に100件までのレコードを追加できます。",
    "A maximum of 100 records can be added at one time.",
);
/// More than 100 records in a PUT.
pub const TOO_MANY_UPDATED: Message = Message::fixed(
    "一度に100件までのレコードを更新できます。",
    "A maximum of 100 records can be updated at one time.",
);
/// No id or more than 100 ids in a DELETE (KTB-07).
pub const BAD_DELETE_COUNT: Message = Message::fixed(
    "一度に1件から100件までのレコードを削除できます。",
    "Between 1 and 100 records can be deleted at one time.",
);
/// The query cannot be parsed (KTB-56). The English text was never recorded; this one is ours.
pub const BAD_QUERY: Message =
    Message::fixed("クエリ記法が間違っています。", "The query syntax is incorrect.");
/// A value has the wrong JSON shape or cannot be read as its type. Our own text.
pub const BAD_FORMAT: Message = Message::fixed(
    "値の形式が正しくありません。",
    "The format of the value is incorrect.",
);
/// A LINK that is not a URL of its protocol (KTB-103). Our own text.
pub const BAD_LINK: Message = Message::fixed(
    "リンクの形式が正しくありません。",
    "The format is incorrect for the link type.",
);
/// Two parameters that exclude each other. Our own text.
pub const EXCLUSIVE: Message = Message::fixed(
    "同時に指定できないパラメーターです。",
    "These parameters cannot be used together.",
);

/// A text longer than `limit` characters.
pub fn too_long(limit: u64) -> Message {
    let bound = limit + 1;
    Message::filled(
        format!("{bound}文字より短くなければなりません。"),
        format!("Enter less than {bound} characters."),
    )
}

/// A text shorter than `limit` characters.
pub fn too_short(limit: u64) -> Message {
    let bound = limit.saturating_sub(1);
    Message::filled(
        format!("{bound}文字より長くなければなりません。"),
        format!("Enter more than {bound} characters."),
    )
}

/// A number above `max`.
pub fn above(max: &str) -> Message {
    Message::filled(
        format!("{max}以下である必要があります。"),
        format!("The value must be {max} or less."),
    )
}

/// A number below `min`.
pub fn below(min: &str) -> Message {
    Message::filled(
        format!("{min}以上である必要があります。"),
        format!("The value must be {min} or more."),
    )
}

/// More integer digits than the app's number precision allows (KTB-173). Our own text.
pub fn too_many_digits(digits: u32) -> Message {
    Message::filled(
        format!("整数部は{digits}桁以下である必要があります。"),
        format!("The integer part must have {digits} digits or less."),
    )
}

/// A value that is not an option of a choice field.
pub fn not_an_option(value: &str) -> Message {
    Message::filled(
        format!("\"{value}\"は選択肢にありません。"),
        format!("The value, \"{value}\", is not in options."),
    )
}

/// 404 GAIA_AP01.
pub fn app_not_found(id: u64) -> ApiError {
    ApiError::new(
        404,
        "GAIA_AP01",
        Message::filled(
            format!("指定したアプリ（id: {id}）が見つかりません。削除されている可能性があります。"),
            format!("The app (ID: {id}) not found. The app may have been deleted."),
        ),
    )
}

/// 404 GAIA_RE01.
pub fn record_not_found(id: u64) -> ApiError {
    ApiError::new(
        404,
        "GAIA_RE01",
        Message::filled(
            format!("指定したレコード（id: {id}）が見つかりません。"),
            format!("The specified record (ID: {id}) is not found."),
        ),
    )
}

/// 404 GAIA_RE20: no record has the update key's value (KTB-134).
pub fn key_not_found() -> ApiError {
    ApiError::new(
        404,
        "GAIA_RE20",
        Message::fixed(
            "更新キーに一致するレコードが見つかりません。",
            "No record matches the update key.",
        ),
    )
}

/// 404 GAIA_BL01.
pub fn file_not_found(key: &str) -> ApiError {
    ApiError::new(
        404,
        "GAIA_BL01",
        Message::filled(
            format!("指定したファイル（id: {key}）が見つかりません。"),
            format!("The specified file (id: {key}) not found."),
        ),
    )
}

/// 409 GAIA_CO02: the revision is not the newest (KTB-130).
pub fn revision_conflict(id: u64) -> ApiError {
    ApiError::new(
        409,
        "GAIA_CO02",
        Message::filled(
            format!(
                "指定したrevisionは最新ではありません。ほかのユーザーがレコードを更新した可能性があります（id: {id}）。"
            ),
            format!("The revision is not the latest. Someone may have updated the record (ID: {id})."),
        ),
    )
}

/// 400 with a query code (KTB-58 to KTB-64).
pub fn bad_query(code: &'static str, ja: String, en: String) -> ApiError {
    ApiError::new(400, code, Message::filled(ja, en))
}

/// 401 CB_AU01: no credentials (KTB-20).
pub fn login_required() -> ApiError {
    ApiError::new(
        401,
        "CB_AU01",
        Message::fixed("ログインしてください。", "Please login."),
    )
}

/// 401 CB_WA01: wrong password header (KTB-21).
pub fn password_refused() -> ApiError {
    ApiError::new(
        401,
        "CB_WA01",
        Message::fixed(
            "ユーザーのパスワード認証に失敗しました。「X-Cybozu-Authorization」ヘッダーの値が正しくありません。",
            "Password authentication failed. The value in http header of X-Cybozu-Authorization is not valid.",
        ),
    )
}

/// 400 GAIA_IA02: unknown token (KTB-24).
pub fn token_unknown() -> ApiError {
    ApiError::new(
        400,
        "GAIA_IA02",
        Message::fixed(
            "指定したAPIトークンは、アプリのAPIトークンと一致しません。",
            "The specified API token does not match the API token of an app.",
        ),
    )
}

/// 400 GAIA_DA03: two tokens of one app (KTB-23).
pub fn token_twice() -> ApiError {
    ApiError::new(
        400,
        "GAIA_DA03",
        Message::fixed(
            "同じアプリのAPIトークンが複数指定されています。",
            "More than one API token of the same app is specified.",
        ),
    )
}

/// 403 GAIA_NO01: the tokens give no such right (KTB-24).
pub fn token_forbidden() -> ApiError {
    ApiError::new(
        403,
        "GAIA_NO01",
        Message::fixed(
            "このAPIトークンでは、指定したAPIを実行できません。",
            "Using this API token, you cannot run the specified API.",
        ),
    )
}

/// 403 CB_NO02: the user has no such right.
pub fn user_forbidden() -> ApiError {
    ApiError::new(
        403,
        "CB_NO02",
        Message::fixed("権限がありません。", "No privilege to proceed."),
    )
}

/// 400 CB_IJ01: the body is not JSON (KTB-12).
pub fn body_not_json() -> ApiError {
    ApiError::new(
        400,
        "CB_IJ01",
        Message::fixed("不正なJSON文字列です。", "Invalid JSON string."),
    )
}

/// 400 CB_IL02: an illegal request, for example a GET with a JSON content type but no body (KTB-12).
pub fn illegal_request() -> ApiError {
    ApiError::new(
        400,
        "CB_IL02",
        Message::fixed("不正なリクエストです。", "Illegal request."),
    )
}

/// 400 GAIA_IL23: the app lies in a guest space (KTB-30).
pub fn guest_path_needed() -> ApiError {
    ApiError::new(
        400,
        "GAIA_IL23",
        Message::fixed(
            "ゲストスペース内のアプリを操作する場合は、リクエストの送信先を「/k/guest/（ゲストスペースのID）/v1/...」にします。",
            "To operate an app in a guest space, send the request to \"/k/guest/(guest space ID)/v1/...\".",
        ),
    )
}

/// 429 GAIA_TO04: too many simultaneous requests (KTB-09).
pub fn too_many_requests() -> ApiError {
    ApiError::new(
        429,
        "GAIA_TO04",
        Message::fixed(
            "APIの同時リクエスト数が上限を超えています。",
            "The number of concurrent API requests exceeds the limit.",
        ),
    )
}

/// 404 for a path that is no API of this stand-in.
pub fn no_such_api() -> ApiError {
    ApiError::new(
        404,
        "CB_NA01",
        Message::fixed("このAPIはありません。", "There is no such API in this stand-in."),
    )
}

/// 500: the stand-in's own storage failed; nothing was applied.
pub fn storage_failed() -> ApiError {
    ApiError::new(
        500,
        "SANDBOX_STORAGE",
        Message::fixed(
            "データを保存できませんでした。",
            "The data directory could not be written.",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_has_errors_only_for_validation() {
        let plain = app_not_found(7).body(Language::En);
        assert_eq!(plain["code"], "GAIA_AP01");
        assert_eq!(
            plain["message"],
            "The app (ID: 7) not found. The app may have been deleted."
        );
        assert!(plain.get("errors").is_none());
        let invalid = ApiError::missing("app").body(Language::Ja);
        assert_eq!(invalid["errors"]["app"]["messages"][0], "必須です。");
    }

    #[test]
    fn every_answer_has_its_own_id() {
        let error = login_required();
        assert_ne!(error.body(Language::En)["id"], error.body(Language::En)["id"]);
    }

    #[test]
    fn length_messages_name_the_neighbouring_number() {
        assert_eq!(too_long(64).text(Language::En), "Enter less than 65 characters.");
        assert_eq!(
            too_short(3).text(Language::Ja),
            "2文字より長くなければなりません。"
        );
    }
}
