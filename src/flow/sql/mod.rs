//! The front of the language: text to tokens to syntax tree, with the place of every mistake.

pub mod ast;
pub mod diagnostic;
pub mod lex;
pub mod message;
pub mod parse;
pub mod position;
pub mod render;
pub mod rules;
pub mod walk;
