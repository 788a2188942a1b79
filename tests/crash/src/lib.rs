#![doc = include_str!("../README.md")]

mod cell;
mod check;
mod deed;
mod error;
mod limits;
mod matrix;
mod model;
mod oracle;
mod run;
mod stand;

pub use cell::{Cell, Fault, IMPOSSIBLE, Impossible, Next, Tables, Writer};
pub use check::Seen;
pub use error::{CellName, Violation};
pub use matrix::{Report, run};
pub use model::Rows;
pub use run::Shown;
