//! IMPORT, and the clauses about rows with errors that end a write (LNG-153).

use super::{Parse, Parser, unsupported};
use crate::flow::csv::Encoding;
use crate::flow::sql::ast::{
    CheckBlock, Disposal, Expr, Header, Import, ImportFile, ImportFormat, Inspection, Item, Mapping,
    Statement,
};
use crate::flow::sql::diagnostic::Problem;
use crate::flow::sql::message::say;
use crate::flow::sql::position::Span;
use crate::flow::sql::walk::{self, Part};

impl Parser<'_> {
    pub(super) fn import(&mut self) -> Parse<Statement> {
        self.expect_word("IMPORT")?;
        if self.at_word("UPDATE") {
            return Err(unsupported(self.span(), "IMPORT UPDATE"));
        }
        self.expect_word("INTO")?;
        let target = self.target()?;
        let fields = self.parenthesised(|parser| {
            let field = parser.field_name()?;
            if parser.at_symbol("(") {
                return Err(unsupported(field.span, "IMPORT into a subtable"));
            }
            Ok(field)
        })?;
        Self::refuse_repeated(fields.iter())?;
        self.expect_word("FROM")?;
        let file = self.import_file()?;
        for form in [["MATCH", "RECORD"], ["REPLACE", "SUBTABLES"]] {
            if self.at_words(&form) {
                return Err(unsupported(self.span(), &form.join(" ")));
            }
        }
        let key_span = self.span();
        let keys = if self.eat_word("KEY") {
            self.flow_only(key_span, "IMPORT ... KEY")?;
            self.parenthesised(Self::field_name)?
        } else if self.eat_words(&["ON", "DUPLICATE"]) {
            self.parenthesised(Self::field_name)?
        } else {
            Vec::new()
        };
        Self::refuse_repeated(keys.iter())?;
        Self::keys_are_fields(&keys, &fields)?;
        let inspection = self.inspection()?;
        if let Mapping::Select(items) = &file.mapping {
            let (found, wanted) = (items.len(), fields.len());
            // Columns behind those of the fields are there for CHECK only.
            if found < wanted || (found > wanted && inspection.checks.is_empty()) {
                return Err(Problem::syntax(
                    file.name.span,
                    say!(
                        "the SELECT has {found} columns for {wanted} fields",
                        "SELECT は {found} 列ですが、フィールドは {wanted} 個です"
                    ),
                ));
            }
        }
        Ok(Statement::Import(Box::new(Import {
            target,
            fields,
            file,
            keys,
            inspection,
        })))
    }

    fn import_file(&mut self) -> Parse<ImportFile> {
        let format = if self.eat_word("CSV") {
            ImportFormat::Csv
        } else if self.eat_word("JSON") {
            ImportFormat::Json
        } else {
            return Err(self.unexpected(&say!("CSV or JSON", "CSV または JSON")));
        };
        let name = self.name(&say!("the name of an import source", "取込元の名前"))?;
        let mut file = ImportFile {
            format,
            name,
            encoding: Encoding::default(),
            header: Header::Named,
            mapping: Mapping::Position,
        };
        if format == ImportFormat::Json {
            return Ok(file);
        }
        if self.eat_word("ENCODING") {
            let encoding = self.word_at(0).and_then(Encoding::parse);
            file.encoding =
                encoding.ok_or_else(|| self.unexpected(&say!("UTF8 or SJIS", "UTF8 または SJIS")))?;
            self.advance();
        }
        let no_header = self.span();
        if self.eat_words(&["NO", "HEADER"]) {
            let columns = if self.eat_word("COLUMNS") {
                self.parenthesised(Self::field_name)?
            } else {
                Vec::new()
            };
            Self::refuse_repeated(columns.iter())?;
            file.header = Header::Absent(columns);
        }
        if self.eat_word("SELECT") {
            if matches!(&file.header, Header::Absent(columns) if columns.is_empty()) {
                return Err(Problem::syntax(
                    no_header,
                    say!(
                        "SELECT needs column names: NO HEADER COLUMNS (...)",
                        "SELECT には列名が必要です: NO HEADER COLUMNS (...)"
                    ),
                ));
            }
            let items = self.list(Self::item)?;
            for item in &items {
                refuse_impure(item)?;
            }
            file.mapping = Mapping::Select(items);
        }
        let by_name = self.span();
        if self.eat_words(&["BY", "NAME"]) {
            if !matches!((&file.header, &file.mapping), (Header::Named, Mapping::Position)) {
                return Err(Problem::syntax(
                    by_name,
                    say!(
                        "BY NAME goes with a header line and without SELECT",
                        "BY NAME はヘッダ行がある場合に SELECT なしで使います"
                    ),
                ));
            }
            let ignore_unknown = self.eat_words(&["IGNORE", "UNKNOWN", "COLUMNS"]);
            file.mapping = Mapping::Name { ignore_unknown };
        }
        Ok(file)
    }

    /// `{CHECK WHEN …} [VALIDATE ONLY … | ON ERROR SKIP …]`
    pub(super) fn inspection(&mut self) -> Parse<Inspection> {
        let mut checks = Vec::new();
        while self.at_words(&["CHECK", "WHEN"]) {
            self.advance();
            let mut branches = Vec::new();
            while self.eat_word("WHEN") {
                let condition = self.local_condition()?;
                self.expect_word("THEN")?;
                branches.push((condition, self.value()?));
            }
            checks.push(CheckBlock { branches });
        }
        let disposal = if self.eat_words(&["VALIDATE", "ONLY"]) {
            let into = if self.eat_word("INTO") {
                Some(self.temp_name()?)
            } else {
                None
            };
            Disposal::ValidateOnly(into)
        } else if self.eat_words(&["ON", "ERROR"]) {
            self.expect_words(&["SKIP", "INTO"])?;
            let into = self.temp_name()?;
            let reject_limit = if self.eat_words(&["REJECT", "LIMIT"]) {
                Some(self.count()?)
            } else {
                None
            };
            Disposal::Skip { into, reject_limit }
        } else {
            Disposal::Refuse
        };
        Ok(Inspection { checks, disposal })
    }
}

/// The SELECT of an IMPORT is a list of expressions over one record of the file.
fn refuse_impure(item: &Item) -> Parse<()> {
    let refused = |span: Span| {
        Err(Problem::syntax(
            span,
            say!(
                "the SELECT of IMPORT takes expressions over columns of the file only",
                "IMPORT の SELECT に書けるのはファイルの列に対する式だけです"
            ),
        ))
    };
    let value = match item {
        Item::Expr(value, _) => value,
        Item::Wildcard(span) => return refused(*span),
        Item::QualifiedWildcard(name) => return refused(name.span),
        Item::Window(_, alias) => return refused(alias.span),
    };
    let mut found = None;
    walk::value(value, &mut |part| {
        let span = match part {
            Part::Value(inner @ (Expr::Aggregate(_) | Expr::Grouping(..) | Expr::Subquery(..))) => {
                inner.span()
            }
            Part::Value(Expr::Column(column)) if column.qualifier.is_some() => column.span(),
            Part::Query(query) => query.span,
            _ => return,
        };
        found = found.or(Some(span));
    });
    found.map_or(Ok(()), refused)
}
