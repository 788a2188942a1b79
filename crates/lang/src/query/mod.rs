//! The query language: text to checked IR, and values into the IR.

mod ast;
mod bind;
mod check;
pub mod ir;
mod parse;

pub use check::{check_query, query_names};
