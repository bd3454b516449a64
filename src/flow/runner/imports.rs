//! Import files of one run (RNR-130, RNR-131): which of those supplied the script uses, read once and before anything
//! else happens, and what is told about them afterwards.

use std::sync::Arc;

use super::file_flags::{self, SourceFormat};
use super::verdict::{Failure, ResultCode};
use crate::flow::csv::{InputReceipt, MAX_SOURCE_BYTES, Source, SourceError, SourceProblem, merge};
use crate::flow::exec::{ImportSource, Imported};
use crate::flow::script::{ImportFormat, Script};
use crate::flow::sql::message::{Message, say};

/// The files of a run.
#[derive(Default)]
pub struct Imports {
    used: Vec<(Source, ImportFormat)>,
    /// Names that no statement uses.
    pub unused: Vec<String>,
}

impl Imports {
    /// Reads what the script uses.
    ///
    /// # Errors
    /// A source that the script needs is missing, of the other kind, unreadable, or not the expected file.
    pub fn load(script: &Script, supplied: &[file_flags::ImportSource]) -> Result<Self, Failure> {
        let mut imports = Self::default();
        for source in supplied {
            let format = match source.format {
                SourceFormat::Csv => ImportFormat::Csv,
                SourceFormat::Json => ImportFormat::Json,
            };
            if !needs(script).any(|(name, _)| name == source.name) {
                imports.unused.push(source.name.clone());
                continue;
            }
            let read = Source::read(&source.name, &source.path).and_then(|read| match &source.sha256 {
                Some(expected) => read.verify(expected).map(|()| read),
                None => Ok(read),
            });
            imports
                .used
                .push((read.map_err(|error| unusable(&error))?, format));
        }
        imports.check(script)?;
        Ok(imports)
    }

    /// Compares with what a script needs.
    ///
    /// # Errors
    /// A source is missing or of the other kind.
    pub fn check(&self, script: &Script) -> Result<(), Failure> {
        for (name, format) in needs(script) {
            let word = format.word();
            let flag = word.to_ascii_lowercase();
            match self.used.iter().find(|(source, _)| source.name() == name) {
                Some((_, found)) if *found == format => {}
                Some((_, found)) => {
                    let found = found.word();
                    return Err(Failure::invalid(say!(
                        "the script reads {name} as {word}, but it was supplied as {found}",
                        "スクリプトは {name} を {word} として読みますが、{found} として指定されています"
                    )));
                }
                None => {
                    return Err(Failure::invalid(say!(
                        "the script needs the {word} source {name}; start it with run --import-{flag} {name}=/path",
                        "スクリプトには {word} の取込元 {name} が必要です。run --import-{flag} {name}=/パス を付けて実行してください"
                    )));
                }
            }
        }
        Ok(())
    }

    /// The files for the engine.
    pub fn sources(&self) -> Vec<ImportSource> {
        self.used
            .iter()
            .map(|(source, format)| ImportSource {
                name: source.name().to_owned(),
                format: *format,
                bytes: Arc::from(source.bytes()),
            })
            .collect()
    }

    /// Receipts of the used files; records and encoding only of those that were decoded.
    pub fn receipts(&self, imported: &[Imported]) -> Vec<InputReceipt> {
        let receipts = self.used.iter().map(|(source, _)| {
            let decoded = imported.iter().find(|decoded| decoded.name == source.name());
            InputReceipt {
                rows: decoded.map(|decoded| decoded.rows),
                encoding: decoded.map(|decoded| decoded.encoding),
                ..source.receipt()
            }
        });
        merge(receipts.collect())
    }
}

/// The warning about a source that no statement reads.
pub fn unused(name: &str) -> Message {
    say!(
        "the import source {name:?} is not used by the script",
        "取込元 {name:?} はスクリプトで使われていません"
    )
}

fn needs(script: &Script) -> impl Iterator<Item = (&str, ImportFormat)> {
    script
        .statements
        .iter()
        .filter_map(|statement| statement.import_source())
}

fn unusable(error: &SourceError) -> Failure {
    let name = &error.name;
    let problem = match &error.problem {
        SourceProblem::NotARegularFile => say!(
            "not a regular file; give the file itself, not a link or a pipe",
            "通常のファイルではありません。リンクやパイプではなくファイル自体を指定してください"
        ),
        SourceProblem::TooLarge => say!(
            "larger than {MAX_SOURCE_BYTES} bytes; split the file",
            "{MAX_SOURCE_BYTES} バイトを超えています。ファイルを分割してください"
        ),
        SourceProblem::Mutated { expected, found } => say!(
            "its SHA-256 is {found}, expected was {expected}",
            "SHA-256 が {found} です。期待された値は {expected} です"
        ),
        SourceProblem::Unreadable(std::io::ErrorKind::NotFound) => say!(
            "cannot be read: there is no such file; check the path",
            "ファイルがありません。パスを確認してください"
        ),
        SourceProblem::Unreadable(std::io::ErrorKind::PermissionDenied) => say!(
            "cannot be read: no permission; check the mode of the file",
            "読み取る権限がありません。ファイルの権限を確認してください"
        ),
        SourceProblem::Unreadable(kind) => {
            say!("cannot be read: {kind}", "読み取れません: {kind}")
        }
    };
    let code = match error.problem {
        SourceProblem::Mutated { .. } => ResultCode::InputFileMutated,
        _ => ResultCode::ValidationError,
    };
    let source = say!("import source {name:?}", "取込元 {name:?}");
    Failure::new(code, source.joined(": ", &problem))
}
