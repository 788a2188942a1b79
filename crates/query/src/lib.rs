#![doc = include_str!("../README.md")]

mod budget;
mod error;
mod input;
mod number;
mod pattern;
mod plan;
mod predicate;
mod run;
mod shape;
mod sum;
mod tables;
mod text;
mod uses;

#[cfg(test)]
mod tests;

pub use error::QueryError;
pub use run::{QueryBatches, QueryOptions, QueryOutput, SpillPlace, run};
