//! A job file: tokens cover the text in order, statements are parts of it, and parsing twice says the same.

use ksql_flownet::flow::script::{ParseOptions, parse};
use ksql_flownet::flow::sql::lex::tokens;

pub fn check(bytes: &[u8]) {
    let Ok(source) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(tokens) = tokens(source) {
        let mut at = 0;
        for token in &tokens {
            assert!(token.span.start >= at && token.span.end >= token.span.start);
            assert!(
                source.get(token.span.start..token.span.end).is_some(),
                "a span cuts a character"
            );
            at = token.span.end;
        }
    }
    for strict in [false, true] {
        let options = ParseOptions { apps: None, strict };
        let script = parse(source, &options);
        for statement in &script.statements {
            assert!(source.contains(&statement.text));
            assert!(statement.line >= 1 && statement.column >= 1);
        }
        let again = parse(source, &options);
        assert_eq!(
            format!("{:?}", script.diagnostics),
            format!("{:?}", again.diagnostics)
        );
    }
}
