//! `seed`: example apps and data in a directory, ready for `serve`. Records go straight into a journal, so that a million
//! orders take seconds.
pub mod business;
pub mod system;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::app::file::{ADMINISTRATOR, AccessEntry, AppEntry, AppsFile, TokenEntry, UserEntry};
use super::app::form::Form;
use super::app::{Right, Space};
use super::record::Record;
use super::store::codec;
use super::store::journal::{FILE_NAME, sealed};
use business::Generator;

/// Most orders or customers.
const MAX_RECORDS: u64 = 5_000_000;
/// Records per journal line.
const CHUNK: u64 = 500;

const STATE: u64 = 1;
const AUDIT: u64 = 2;
const REQUESTS: u64 = 3;
const JOB_LOG: u64 = 4;
const ORDERS: u64 = 10;
const CUSTOMERS: u64 = 20;

/// What to seed.
#[derive(Debug)]
pub struct SeedOptions {
    /// Target directory.
    pub dir: PathBuf,
    /// Number of orders.
    pub orders: u64,
    /// Number of customers.
    pub customers: u64,
    /// Seed of the generated data.
    pub seed: u64,
    /// Port in the environment file.
    pub port: u16,
}

impl Default for SeedOptions {
    fn default() -> Self {
        Self {
            dir: PathBuf::new(),
            orders: 600,
            customers: 40,
            seed: 1,
            port: 0,
        }
    }
}

impl SeedOptions {
    /// Refuses numbers beyond the limits.
    pub fn check(&self) -> Result<(), String> {
        if self.orders > MAX_RECORDS || self.customers > MAX_RECORDS {
            return Err(format!("--orders and --customers are at most {MAX_RECORDS}"));
        }
        if self.customers == 0 {
            return Err("--customers is at least 1: every order has a customer".to_owned());
        }
        Ok(())
    }
}

/// Why nothing was seeded.
#[derive(Debug)]
pub enum SeedError {
    /// The directory already holds something.
    Exists(PathBuf),
    /// The file system refused.
    Io(PathBuf, io::Error),
    /// A built-in definition is wrong; a defect of this program.
    Definition(String),
}

impl fmt::Display for SeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(path) => {
                write!(
                    f,
                    "{} already exists; remove it or choose another --dir",
                    path.display()
                )
            }
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Definition(what) => write!(f, "built-in definition: {what}"),
        }
    }
}

/// Writes apps file, data and environment file.
pub fn run(options: &SeedOptions) -> Result<(), SeedError> {
    let dir = &options.dir;
    let (apps, data, env) = (dir.join("apps.json"), dir.join("data"), dir.join("sandbox.env"));
    for path in [&apps, &data, &env] {
        if path.exists() {
            return Err(SeedError::Exists(path.clone()));
        }
    }
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| SeedError::Io(path, error)
    };
    fs::create_dir_all(&data).map_err(io(&data))?;
    let journal = data.join(FILE_NAME);
    write_data(options, &journal)?;
    let text = serde_json::to_string_pretty(&apps_file())
        .map_err(|error| SeedError::Definition(error.to_string()))?;
    fs::write(&apps, text + "\n").map_err(io(&apps))?;
    fs::write(&env, environment(options.port)).map_err(io(&env))
}

fn write_data(options: &SeedOptions, path: &Path) -> Result<(), SeedError> {
    let io = |error| SeedError::Io(path.to_owned(), error);
    let file = File::create_new(path).map_err(io)?;
    let mut out = BufWriter::with_capacity(1 << 20, &file);
    for (app, form) in forms() {
        let form = Form::read(&form).map_err(SeedError::Definition)?;
        let mut ops = Vec::new();
        codec::form(&mut ops, app, &form);
        out.write_all(&sealed(&codec::line(0, &ops))).map_err(io)?;
    }
    let generator = |form: &Map<String, Json>, purpose| {
        Generator::new(form, options.seed, purpose, options.customers, options.orders)
            .map_err(SeedError::Definition)
    };
    let mut customers = generator(&business::customers_form(), CUSTOMERS)?;
    write_records(&mut out, CUSTOMERS, options.customers, |number| {
        customers.customer(number)
    })
    .map_err(io)?;
    let mut orders = generator(&business::orders_form(), ORDERS)?;
    write_records(&mut out, ORDERS, options.orders, |number| orders.order(number)).map_err(io)?;
    out.flush().map_err(io)?;
    drop(out);
    file.sync_all().map_err(io)
}

fn write_records(
    out: &mut impl Write,
    app: u64,
    count: u64,
    mut record: impl FnMut(u64) -> Record,
) -> io::Result<()> {
    let mut rows = Vec::new();
    for number in 1..=count {
        codec::row(&mut rows, number, &record(number), ADMINISTRATOR, ADMINISTRATOR);
        if number % CHUNK == 0 || number == count {
            let mut ops = Vec::new();
            codec::put(&mut ops, app, &rows);
            out.write_all(&sealed(&codec::line(0, &ops)))?;
            rows.clear();
        }
    }
    Ok(())
}

fn forms() -> [(u64, Map<String, Json>); 6] {
    [
        (STATE, system::state(AUDIT, REQUESTS, JOB_LOG)),
        (AUDIT, system::audit()),
        (REQUESTS, system::requests()),
        (JOB_LOG, system::job_log()),
        (ORDERS, business::orders_form()),
        (CUSTOMERS, business::customers_form()),
    ]
}

/// Tokens of the apps with their rights (APP-15) and the variables that carry them.
const TOKENS: [(u64, &str, &[Right], &str); 7] = [
    (
        STATE,
        "sandbox-state",
        &[Right::View, Right::Add, Right::Edit],
        "KSQL_FLOWNET_STATE_API_TOKEN",
    ),
    (
        AUDIT,
        "sandbox-audit",
        &[Right::View, Right::Add, Right::Edit],
        "KSQL_FLOWNET_AUDIT_API_TOKEN",
    ),
    (
        REQUESTS,
        "sandbox-requests",
        &[Right::View, Right::Edit],
        "KSQL_FLOWNET_REQUEST_API_TOKEN",
    ),
    (
        JOB_LOG,
        "sandbox-log-view",
        &[Right::View],
        "KSQL_FLOW_LOG_API_TOKEN",
    ),
    (
        JOB_LOG,
        "sandbox-log",
        &[Right::View, Right::Add, Right::Edit],
        "KSQL_TOKEN_LOGS",
    ),
    (
        ORDERS,
        "sandbox-orders",
        &[Right::View, Right::Add, Right::Edit, Right::Delete],
        "KSQL_TOKEN_ORDERS",
    ),
    (
        CUSTOMERS,
        "sandbox-customers",
        &[Right::View, Right::Add, Right::Edit, Right::Delete],
        "KSQL_TOKEN_CUSTOMERS",
    ),
];

/// App ids and the variables that carry them.
const APP_IDS: [(u64, &str); 4] = [
    (STATE, "KSQL_FLOWNET_STATE_APP_ID"),
    (AUDIT, "KSQL_FLOWNET_AUDIT_APP_ID"),
    (REQUESTS, "KSQL_FLOWNET_REQUEST_APP_ID"),
    (JOB_LOG, "KSQL_FLOW_LOG_APP_ID"),
];

/// A user of the board: files requests, views the rest (APP-14).
const BOARD_USER: &str = "operator";

fn apps_file() -> AppsFile {
    let names = [
        "kSQL-FlowNet 実行管理",
        "kSQL-FlowNet 監査履歴",
        "kSQL-FlowNet 操作要求",
        "kSQL Flow 実行ログ",
        "受注",
        "顧客マスタ",
    ];
    let apps = forms()
        .into_iter()
        .zip(names)
        .map(|((id, properties), name)| AppEntry {
            id,
            name: name.to_owned(),
            code: String::new(),
            description: String::new(),
            space: None::<Space>,
            properties,
            number_precision: None,
            tokens: TOKENS
                .iter()
                .filter(|(app, ..)| *app == id)
                .map(|(_, token, rights, _)| TokenEntry {
                    token: (*token).to_owned(),
                    rights: rights.to_vec(),
                })
                .collect(),
            access: vec![AccessEntry {
                user: BOARD_USER.to_owned(),
                rights: if id == REQUESTS {
                    vec![Right::View, Right::Add, Right::Edit]
                } else {
                    vec![Right::View]
                },
            }],
            text_equality: None,
            revision: None,
        })
        .collect();
    let user = |code: &str, administrator| UserEntry {
        code: code.to_owned(),
        name: code.to_owned(),
        password: Some(format!("{code}-password")),
        timezone: None,
        language: None,
        administrator,
    };
    AppsFile {
        users: vec![user("admin", true), user(BOARD_USER, false)],
        organizations: Vec::new(),
        groups: Vec::new(),
        apps,
    }
}

fn environment(port: u16) -> String {
    use std::fmt::Write as _;
    let mut text = format!(
        "# Generated by kintone-sandbox seed. Source it in a shell.\nexport KSQL_FLOWNET_BASE_URL=http://127.0.0.1:{port}\n"
    );
    for (id, name) in APP_IDS {
        let _ = writeln!(text, "export {name}={id}");
    }
    for (_, token, _, name) in TOKENS {
        let _ = writeln!(text, "export {name}={token}");
    }
    text
}
