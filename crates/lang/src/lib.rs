#![doc = include_str!("../README.md")]

pub mod date;
pub mod error;
pub mod json;
pub mod key;
pub mod number;
pub mod params;
pub mod query;
pub mod schema;
pub mod value;

pub use error::LangError;
