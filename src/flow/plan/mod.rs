//! From a syntax tree to what is done: names and types bound, conditions pushed down, fields chosen.

pub mod bind;
pub mod catalog;
pub mod filter;
pub mod push;
pub mod query;
pub mod scalar;
pub mod scope;
pub mod series;
pub mod tautology;
pub mod types;
