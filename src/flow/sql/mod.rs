//! The kSQL language: lexer, parser, AST, binder.
