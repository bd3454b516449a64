//! A job script as a whole: header, statements, and everything that can be said about it without a request.

mod header;

use std::sync::Arc;

pub use crate::flow::sql::ast::ImportFormat;
pub use header::Header;

use crate::flow::apps::{AppId, AppMap};
use crate::flow::sql::ast;
use crate::flow::sql::diagnostic::{Diagnostic, Problem, Severity, code};
use crate::flow::sql::message::say;
use crate::flow::sql::parse::{self, Parsed};
use crate::flow::sql::position::{Lines, Position, Span};
use crate::flow::sql::{lex, rules};

/// The longest script, in bytes.
const MAX_SCRIPT_BYTES: usize = 4 * 1024 * 1024;

/// What parsing needs to know.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParseOptions<'a> {
    /// Logical names of the profile; without them names stay unresolved and the script cannot run.
    pub apps: Option<&'a AppMap>,
    /// A plain INSERT is an error (`--strict`).
    pub strict: bool,
}

/// A parsed script.
#[derive(Clone, Debug)]
pub struct Script {
    /// The header.
    pub header: Header,
    /// The statements that parsed, in order.
    pub statements: Vec<Statement>,
    /// Findings in order of place; with an error the script must not run (LNG-10).
    pub diagnostics: Vec<Diagnostic>,
}

impl Script {
    /// True if the script must not run.
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// One statement of a script.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Place in the script, from 0.
    pub index: usize,
    /// What it is.
    pub kind: StatementKind,
    /// Its text without the semicolon.
    pub text: String,
    /// Line of its first token, from 1.
    pub line: usize,
    /// Column of its first token in UTF-16 units, from 1.
    pub column: usize,
    /// It is written in dialect 1.
    pub(in crate::flow) flow: bool,
    /// Its tree.
    pub(in crate::flow) tree: ast::Statement,
    /// The apps it names.
    pub(in crate::flow) apps: Vec<AppId>,
    /// Where it begins in the script.
    pub(in crate::flow) start: usize,
    /// The places of the script.
    lines: Arc<Lines>,
}

impl Statement {
    /// The same place with another tree: the statement inside EXPLAIN.
    pub(in crate::flow) fn with_tree(&self, tree: ast::Statement) -> Self {
        Self {
            kind: StatementKind::of(&tree),
            tree,
            ..self.clone()
        }
    }

    /// The file that the statement reads: the name that `--import-csv` or `--import-json` gives to it (RNR-130).
    pub fn import_source(&self) -> Option<(&str, ImportFormat)> {
        match &self.tree {
            ast::Statement::Import(import) => Some((&import.file.name.text, import.file.format)),
            _ => None,
        }
    }

    /// The text of a span in this statement.
    pub(in crate::flow) fn source(&self, span: Span) -> &str {
        Span {
            start: span.start.saturating_sub(self.start),
            end: span.end.saturating_sub(self.start),
        }
        .slice(&self.text)
    }

    /// The line and column of a span in this statement.
    pub(in crate::flow) fn position(&self, span: Span) -> Position {
        self.lines.position(span.start)
    }
}

/// Kinds of statements, as logs name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// SELECT.
    Select,
    /// CREATE TEMP TABLE.
    CreateTempTable,
    /// DROP TEMP TABLE.
    DropTempTable,
    /// SET.
    Set,
    /// DECLARE.
    Declare,
    /// ASSERT and ASSERT WARN.
    Assert,
    /// EXIT SUCCESS IF.
    Exit,
    /// INSERT.
    Insert,
    /// UPSERT.
    Upsert,
    /// MERGE.
    Merge,
    /// IMPORT.
    Import,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// SHOW APPS.
    ShowApps,
    /// DESCRIBE.
    Describe,
    /// EXPLAIN.
    Explain,
}

impl StatementKind {
    /// Upper-case name for logs and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::CreateTempTable => "CREATE_TEMP_TABLE",
            Self::DropTempTable => "DROP_TEMP_TABLE",
            Self::Set => "SET",
            Self::Declare => "DECLARE",
            Self::Assert => "ASSERT",
            Self::Exit => "EXIT",
            Self::Insert => "INSERT",
            Self::Upsert => "UPSERT",
            Self::Merge => "MERGE",
            Self::Import => "IMPORT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::ShowApps => "SHOW_APPS",
            Self::Describe => "DESCRIBE",
            Self::Explain => "EXPLAIN",
        }
    }

    /// True if the statement changes records.
    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::Insert | Self::Upsert | Self::Merge | Self::Import | Self::Update | Self::Delete
        )
    }

    fn of(tree: &ast::Statement) -> Self {
        match tree {
            ast::Statement::Query(_) => Self::Select,
            ast::Statement::CreateTemp(..) => Self::CreateTempTable,
            ast::Statement::DropTemp(_) => Self::DropTempTable,
            ast::Statement::Set(..) => Self::Set,
            ast::Statement::Declare(..) => Self::Declare,
            ast::Statement::Assert { .. } => Self::Assert,
            ast::Statement::Exit(..) => Self::Exit,
            ast::Statement::Insert { .. } => Self::Insert,
            ast::Statement::Upsert { .. } => Self::Upsert,
            ast::Statement::Merge(_) => Self::Merge,
            ast::Statement::Import(_) => Self::Import,
            ast::Statement::Update { .. } => Self::Update,
            ast::Statement::Delete(..) => Self::Delete,
            ast::Statement::ShowApps => Self::ShowApps,
            ast::Statement::Describe(_) => Self::Describe,
            ast::Statement::Explain(_) => Self::Explain,
        }
    }
}

/// Parses a script and checks all that needs no form.
pub fn parse(source: &str, options: &ParseOptions<'_>) -> Script {
    let (header, mut problems) = header::parse(source);
    let parsed = statements(source, &header, options, &mut problems);
    let lines = Arc::new(Lines::of(source));
    let mut diagnostics: Vec<Diagnostic> = problems
        .into_iter()
        .map(|problem| problem.locate(&lines))
        .collect();
    diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
    let flow = header.dialect == 1;
    let statements = parsed
        .into_iter()
        .enumerate()
        .map(|(index, parsed)| {
            let Position { line, column } = lines.position(parsed.span.start);
            Statement {
                index,
                kind: StatementKind::of(&parsed.statement),
                text: parsed.span.slice(source).to_owned(),
                flow,
                line,
                column,
                tree: parsed.statement,
                apps: parsed.apps,
                start: parsed.span.start,
                lines: Arc::clone(&lines),
            }
        })
        .collect();
    Script {
        header,
        statements,
        diagnostics,
    }
}

fn statements(
    source: &str,
    header: &Header,
    options: &ParseOptions<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Parsed> {
    if source.len() > MAX_SCRIPT_BYTES {
        problems.push(Problem::error(
            code::LEXICAL,
            Span::default(),
            say!(
                "the script is longer than {MAX_SCRIPT_BYTES} bytes",
                "スクリプトが {MAX_SCRIPT_BYTES} バイトを超えています"
            ),
        ));
        return Vec::new();
    }
    let tokens = match lex::tokens(source) {
        Ok(tokens) => tokens,
        Err(problem) => {
            problems.push(problem);
            return Vec::new();
        }
    };
    let flow = header.dialect == 1;
    let (parsed, syntax) = parse::statements(
        &tokens,
        parse::Context {
            flow,
            apps: options.apps,
        },
    );
    let complete = syntax.is_empty();
    let count = parsed.len() + syntax.len();
    if complete && parsed.is_empty() {
        problems.push(Problem::syntax(
            Span {
                start: source.len(),
                end: source.len(),
            },
            say!("the script has no statement", "スクリプトに文がありません"),
        ));
    }
    problems.extend(syntax);
    let options = rules::Options {
        flow,
        strict: options.strict,
        statements: count,
    };
    problems.extend(rules::check(&parsed, complete, options));
    parsed
}

#[cfg(test)]
mod tests;
