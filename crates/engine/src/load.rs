//! A bulk load: any number of rows of any types, one commit.
//!
//! Rows are written straight into data files that no manifest names, so memory does not grow with the load. Values that must be compared over
//! all rows are kept as fingerprints, within one budget per load, spilled to local disk beyond it. `finish` validates the
//! whole load and commits it.

mod base;
mod check;
mod columns;
mod digest;
mod findings;
mod fingerprint;
mod ids;
mod intake;
mod left_behind;
mod ndjson;
pub(crate) mod points;
mod session;
mod spill;
mod turns;
mod validate;
mod writer;

pub(crate) use base::LoadBase;
pub(crate) use session::LoadParts;
pub use session::{Load, TypeStream};
pub(crate) use turns::Turns;
