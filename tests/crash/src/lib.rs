#![doc = include_str!("../README.md")]

mod cell;
mod cell_name;
mod check;
mod deed;
mod error;
mod limits;
mod matrix;
mod model;
mod oracle;
mod points;
mod run;
mod stand;
mod victim;
mod world;

pub use cell::{Cell, Fault, IMPOSSIBLE, Impossible, Next, Tables, Writer};
pub use cell_name::CellName;
pub use check::Seen;
pub use error::Violation;
pub use matrix::{Report, run};
pub use model::Rows;
pub use run::Shown;
