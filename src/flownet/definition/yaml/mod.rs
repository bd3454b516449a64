//! The YAML dialect of our files (DEF-02 to DEF-14): text in, a small tree of values out.
//!
//! A third-party parser finds the events; everything that decides what a document *means* is here: types of plain
//! scalars, tags, repeated keys, anchors and their limit, the order of properties. Both the network definition and
//! the poller's allow-list are read this way. Pure: no files, no clock.
//!
//! A `%YAML 1.1` document is read by the 1.1 rules, as version 1.0.0 of the original did: refusing it would stop
//! networks that run today, and bundles already hold such definitions.

mod alias;
mod convert;
mod event;
mod key_text;
mod layout;
mod raw;
mod scalar;
mod scalar_1_1;
mod stand_in;
mod tree;

pub use tree::{Item, NodeId, Tree};

use super::problem::Problem;

/// Deepest nesting of collections. The parser stops there with an error, so no stack can overflow (DEF-10).
pub const MAX_DEPTH: usize = 200;

/// Most aliases in one document. The weights of DEF-08 already bound what they expand to; this bounds the counting.
pub const MAX_ALIASES: usize = 20_000;

/// Reads one document. The error list holds either `YAML_PARSE_ERROR`s or one `YAML_VALUE_INVALID` (DEF-08, DEF-13).
pub fn read(text: &str) -> Result<Tree, Vec<Problem>> {
    let document = event::parse(text)?;
    alias::check(&document).map_err(|problem| vec![problem])?;
    convert::to_tree(&document).map_err(|problem| vec![problem])
}

/// A parse error (DEF-13); `line` and `column` count from 1.
fn parse_error(what: &str, line: usize, column: usize) -> Problem {
    Problem::new(
        "YAML_PARSE_ERROR",
        "$",
        format!("invalid YAML: {what} at line {line}, column {column}"),
    )
}

/// A value that cannot be built although the syntax is right (DEF-08).
fn value_error(what: &str) -> Problem {
    Problem::new("YAML_VALUE_INVALID", "$", format!("invalid YAML value: {what}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code(text: &str) -> Option<&'static str> {
        read(text).err().map(|problems| problems[0].code)
    }

    /// The value of the property `a` of a document.
    fn a(text: &str) -> Item {
        let tree = read(text).unwrap_or_else(|problems| panic!("{text:?}: {problems:?}"));
        let id = tree.property(tree.root(), "a").expect("a property a");
        tree.get(id).clone()
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        for open in ["[", "{a: ", "- ", "? "] {
            assert_eq!(code(&open.repeat(100_000)), Some("YAML_PARSE_ERROR"));
        }
    }

    #[test]
    fn the_closing_bracket_may_stand_below_its_key_and_nothing_else() {
        assert!(matches!(a("a: [\n  1\n]\n"), Item::List(_)));
        assert!(matches!(a("a:\n- {\n  b: 1\n }\n"), Item::List(_)));
        for text in [
            "a: [\n1 ]\n",
            "a: [ [\n] ]\n",
            "b:\n  a: [\n]\n",
            "a: 'x\ny'\n",
            "a: \"x\n\ny\"\n",
        ] {
            assert_eq!(code(text), Some("YAML_PARSE_ERROR"), "{text:?}");
        }
    }

    #[test]
    fn a_value_may_follow_its_colon_without_a_space_in_a_flow_map() {
        assert!(matches!(a("{a:[b], c:{d: e}}"), Item::List(_)));
        assert_eq!(a("{a: \"b:[c]\"}"), Item::Text("b:[c]".to_owned()));
    }

    #[test]
    fn raw_control_characters_and_lone_returns_are_text() {
        assert_eq!(a("a: x\u{1}y\rz\r\n"), Item::Text("x\u{1}y\rz".to_owned()));
        assert_eq!(a("a: \"x\0y\""), Item::Text("x\0y".to_owned()));
    }

    #[test]
    fn only_one_document() {
        for text in ["a: 1\n---\n", "a: 1\n...\nb: 1\n", "...\na: 1\n"] {
            assert_eq!(code(text), Some("YAML_PARSE_ERROR"), "{text:?}");
        }
        assert_eq!(a("---\na: 1\n...\n# end\n"), Item::Number(1.0));
    }

    #[test]
    fn keys_repeat_by_value_and_type() {
        assert_eq!(code("{1: a, 0x1: b}"), Some("YAML_PARSE_ERROR"));
        assert_eq!(code("{~: a, null: b}"), Some("YAML_PARSE_ERROR"));
        assert_eq!(code("{1: a, \"1\": b}"), None);
        assert_eq!(code("{.nan: a, .nan: b}"), None);
        let many = read(&"a: 1\n".repeat(10_000)).expect_err("repeated keys");
        assert!(many.len() < 200);
    }

    #[test]
    fn merges_belong_to_yaml_1_1() {
        let text = "b: &b {p: 1, q: 2}\na: {<<: *b, q: 3}\n";
        let names = |item: Item| match item {
            Item::Map(entries) => entries.into_iter().map(|e| e.0).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(names(a(text)), ["<<", "q"]);
        assert_eq!(names(a(&format!("%YAML 1.1\n---\n{text}"))), ["p", "q"]);
        assert_eq!(
            code("%YAML 1.1\n---\na: &a {<<: *a}\n"),
            Some("YAML_VALUE_INVALID")
        );
    }

    #[test]
    fn a_chain_of_merges_cannot_describe_a_huge_map() {
        let keys: Vec<String> = (0..2_000).map(|i| format!("k{i}: 1")).collect();
        let merges = "- {<<: *m}\n".repeat(90);
        let text = format!("%YAML 1.1\n---\n- &m {{{}}}\n{merges}", keys.join(", "));
        assert_eq!(code(&text), Some("YAML_VALUE_INVALID"));
    }

    #[test]
    fn aliases_are_counted_by_weight() {
        let list = |n: usize| format!("a: &a x\nb: [{}]\n", "*a, ".repeat(n));
        assert_eq!(code(&list(99)), None);
        assert_eq!(code(&list(100)), Some("YAML_VALUE_INVALID"));
        let empty = format!("a: &a []\nb: [{}]\n", "*a, ".repeat(5_000));
        assert_eq!(code(&empty), None);
        assert_eq!(code("a: &a [*a]\n"), None);
    }

    #[test]
    fn properties_that_are_array_indices_come_first() {
        let tree = read("b: 1\n10: 1\n\"9\": 1\n01: 1\n").expect("a map");
        let Item::Map(entries) = tree.get(tree.root()) else {
            panic!("a map");
        };
        let names: Vec<&str> = entries.iter().map(|e| e.0.as_str()).collect();
        // `01` is the number 1.
        assert_eq!(names, ["1", "9", "10", "b"]);
    }

    /// Pieces that documents are made of, right and wrong.
    const PIECES: [&str; 40] = [
        "a",
        "b:",
        ": ",
        "\n",
        "\n  ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "'",
        "\"",
        "|\n",
        ">-\n",
        "#c",
        "&a ",
        "*a",
        "!t ",
        "!!str ",
        "!!set ",
        "? ",
        "---\n",
        "...\n",
        "~",
        "1",
        "0x1F",
        "\t",
        "\r",
        "\r\n",
        "<<: ",
        "%YAML 1.1\n---\n",
        "\u{1}",
        "\u{feff}",
        "\u{e000}",
        "あ",
        " ",
        "\\",
        "{a:[b]}",
        "!<x> ",
    ];

    proptest! {
        #[test]
        fn reading_never_panics(text in any::<String>()) {
            let _ = read(&text);
        }

        #[test]
        fn reading_pieces_never_panics(
            pieces in prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..30),
        ) {
            let _ = read(&pieces.concat());
        }

        #[test]
        fn plain_text_comes_back(text in "[a-z][a-z0-9 ]{0,20}[a-z]") {
            prop_assume!(!["null", "true", "false"].contains(&text.as_str()));
            prop_assert_eq!(a(&format!("a: {text}\n")), Item::Text(text.clone()));
            prop_assert_eq!(a(&format!("a: '{text}' # c\n")), Item::Text(text));
        }

        #[test]
        fn quoted_text_comes_back(text in any::<String>()) {
            let quoted = serde_json::to_string(&text).expect("a JSON text");
            prop_assert_eq!(a(&format!("{{a: {quoted}}}")), Item::Text(text));
        }
    }
}
