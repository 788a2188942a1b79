#![doc = include_str!("../README.md")]

pub mod cast;
mod error;
pub mod key;
pub mod mapping;
#[cfg(test)]
mod samples;
pub mod values;
pub mod views;

pub use error::ColumnsError;
