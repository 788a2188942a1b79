//! Storage format 2, as data transfer objects: what is stored is exactly what these types say, whatever the types in memory become.
//!
//! Reading is strict: a field that is missing, unknown or of another type is damage. Kinds are open instead: a kind of row, publication, change
//! or precondition that is not named here was written by a newer server of the same format. It is noticed, never guessed: reading goes on
//! without it, and nothing is published onto such a state.

mod branch;
mod kinds;
mod lineage;
mod name;
mod publication;
mod recovery;
mod state;
mod table;

pub use publication::Publication;
pub use recovery::PlannedTransactions;
pub use table::Tree;

pub(crate) use lineage::{Lineage, decode_lineage, encode_lineage};
pub(crate) use name::{decode_name_entry, encode_name_entry};
pub(crate) use state::{Registers, decode_registers, decode_state, encode_registers, encode_state};
