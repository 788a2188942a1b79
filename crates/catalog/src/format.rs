//! How what a graph holds is stored: rows of its manifest dataset, intents' publications, and entries of its name.
//!
//! Every version of the format has data transfer objects of its own, with their conversions beside them. Nothing else in this crate is
//! serialized. When a shape changes, the old version's objects stay as they are and convert to the new types in memory.

pub(crate) mod raw;
pub mod v2;
