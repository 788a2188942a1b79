//! The query language: text to checked IR, and values into the IR.

mod bind;
pub mod ir;
