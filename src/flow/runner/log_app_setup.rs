//! `validate --check-logapp` and `init-logapp` (RNR-65, RNR-66).

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::command::Flags;
use super::config::Authentication;
use super::connection::{Connection, Use};
use super::log_fields;
use super::verdict::{Exit, Failure, ResultCode};
use crate::flow::sql::message::say;
use crate::kintone::{App, Auth, Client, Request};

/// Name of a new log app.
const DEFAULT_NAME: &str = "kSQL Flow 実行ログ";
/// How often, and how far apart, the deployment is asked for.
const POLLS: u32 = 30;
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Compares the log app's form with what the runner needs.
///
/// # Errors
/// No log app configured; the form cannot be read.
pub fn check(connection: &Connection) -> Result<Exit, Failure> {
    let console = &connection.console;
    let client = connection.client(&Use {
        read_only: true,
        ..Use::default()
    })?;
    let Some(entry) = connection.profile.log_app_entry() else {
        let profile = &connection.profile.name;
        return Err(Failure::invalid(say!(
            "the profile {profile} has no logApp",
            "プロファイル {profile} に logApp がありません"
        )));
    };
    let form = client.form_fields(&connection.profile.address(entry.id)?)?;
    let comparison = log_fields::compare(&form["properties"]);
    for error in &comparison.errors {
        console.progress(say!("error", "エラー").joined(": ", error));
    }
    for note in &comparison.notes {
        console.progress(say!("note", "参考").joined(": ", note));
    }
    let (name, id, errors) = (&entry.name, entry.id, comparison.errors.len());
    if errors == 0 {
        console.progress(say!(
            "log app {name} (app {id}): OK",
            "ログアプリ {name} (アプリ {id}): OK"
        ));
        return Ok(Exit::Done);
    }
    console.progress(say!(
        "log app {name} (app {id}): NG (errors {errors})",
        "ログアプリ {name} (アプリ {id}): NG (エラー {errors})"
    ));
    Ok(Exit::Invalid)
}

/// Creates and deploys the log app.
///
/// # Errors
/// The profile does not authenticate by password; kintone refuses a step; the deployment fails or takes too long.
pub fn create(connection: &Connection, flags: &Flags) -> Result<Exit, Failure> {
    let Authentication::Password { user, password } = &connection.profile.auth else {
        return Err(Failure::invalid(say!(
            "init-logapp needs auth.type password: an API token cannot create an app",
            "init-logapp には auth.type password が必要です。API トークンではアプリを作成できません"
        )));
    };
    let name = flags
        .value("--name")
        .filter(|name| !name.is_empty())
        .unwrap_or(DEFAULT_NAME);
    let client = connection.client(&Use::default())?;
    let console = &connection.console;
    let mut app = App {
        id: 0,
        role: "new log app".to_owned(),
        auth: Auth::Password {
            user: user.clone(),
            password: password.clone(),
        },
    };
    let answer = post(&client, "preview/app.json", &app, &json!({"name": name}))?;
    let id = answer["app"]
        .as_str()
        .and_then(|id| id.parse().ok())
        .or_else(|| answer["app"].as_u64());
    app.id = id.ok_or_else(|| {
        Failure::new(
            ResultCode::ApiError,
            say!(
                "kintone did not tell the id of the new app",
                "kintone から新しいアプリの ID が返されませんでした"
            ),
        )
    })?;
    let id = app.id;
    console.progress(say!(
        "app {id} created: {name}",
        "アプリ {id} を作成しました: {name}"
    ));
    let fields = json!({"app": app.id, "properties": log_fields::creation_properties()});
    post(&client, "preview/app/form/fields.json", &app, &fields)?;
    post(
        &client,
        "preview/app/deploy.json",
        &app,
        &json!({"apps": [{"app": app.id}]}),
    )?;
    console.progress(say!("deploying", "アプリを公開しています"));
    for _ in 0..POLLS {
        let request = Request::get("preview/app/deploy.json", &app, vec![("apps", json!([app.id]))]);
        let answer = client.send_json(&request)?;
        match answer["apps"][0]["status"].as_str() {
            Some("SUCCESS") => {
                let profile = &connection.profile.name;
                console.progress(say!(
                    "done. Add to apps of the profile {profile}: {{\"id\": {id}}} with a token that may view, add and edit, and name it in logApp",
                    "完了しました。閲覧・追加・編集のできるトークンと共に {{\"id\": {id}}} をプロファイル {profile} の apps に加え、logApp に指定してください"
                ));
                return Ok(Exit::Done);
            }
            Some(status @ ("FAIL" | "CANCEL")) => {
                return Err(Failure::new(
                    ResultCode::ApiError,
                    say!(
                        "the deployment of app {id} ended with {status}: look at the app's settings in kintone",
                        "アプリ {id} の公開が {status} で終わりました。kintone でアプリの設定を確認してください"
                    ),
                ));
            }
            _ => thread::sleep(POLL_INTERVAL),
        }
    }
    Err(Failure::new(
        ResultCode::ApiError,
        say!(
            "the deployment of app {id} is not finished yet: look at the app's settings in kintone",
            "アプリ {id} の公開がまだ終わっていません。kintone でアプリの設定を確認してください"
        ),
    ))
}

fn post(client: &Client, path: &str, app: &App, body: &Value) -> Result<Value, Failure> {
    client
        .send_json(&Request::post(path, &[app], body))
        .map_err(Failure::from)
}
