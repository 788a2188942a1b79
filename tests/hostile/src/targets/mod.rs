//! The readers that receive hostile bytes.

mod flight;
mod intent;
mod requests;
mod rows;
mod sample;
mod words;

pub use flight::{Flight, hostile_streams};
pub use intent::Intents;
pub use requests::{Requests, preparations};
pub use rows::Rows;
pub use words::Words;

use crate::target::Target;

/// All targets.
///
/// # Panics
/// If the server that `requests` calls does not start.
pub fn all() -> Vec<Box<dyn Target>> {
    vec![Box::new(Intents), Box::new(Rows), Box::new(Flight), Box::new(Words), Box::new(Requests::start())]
}
