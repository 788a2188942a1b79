#![doc = include_str!("../README.md")]

mod budget;
mod control;
mod error;
mod input;
mod number;
mod pattern;
mod plan;
mod predicate;
mod run;
mod shape;
mod step;
mod sum;
mod tables;
mod text;
mod uses;

#[cfg(test)]
mod tests;

pub use control::{ReadControl, Stopped};
pub use error::QueryError;
pub use run::{QueryBatches, QueryOptions, QueryOutput, SpillPlace, run};
