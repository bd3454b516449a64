//! The service's query language: [`lex`] and [`parse`] read the text (KTB-50 to KTB-57), [`bind`] checks it against a form
//! (KTB-58 to KTB-65), [`eval`] applies it to records (KTB-66 to KTB-74), [`select`] finds a page.
pub mod bind;
pub mod eval;
pub mod function;
pub mod lex;
pub mod parse;
pub mod select;
pub mod words;
