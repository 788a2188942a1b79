#![doc = include_str!("../README.md")]

mod code;
pub mod date;
pub mod error;
mod findings;
pub mod json;
pub mod key;
mod lex;
pub mod ndjson;
pub mod number;
pub mod params;
pub mod query;
pub mod schema;
mod text;
pub mod value;

pub use error::LangError;
pub use text::clip;
