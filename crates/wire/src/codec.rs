//! The messages of the contract as values of the one vocabulary, and back: a file per proto file, `to_wire` and `from_wire` side by side.
//!
//! The client encodes the requests that the server decodes, and decodes the answers that the server encodes, by the same code.
//!
//! Invariants:
//! - `from_wire(to_wire(v))` is `v` for every value, except for what the wire does not hold: rows read of what is not a load, and texts and
//!   lists that are empty where empty means none.
//! - A request that is not what the contract says is refused with the path of its field; no text, id or number is replaced by a default.
//! - An answer that is not what the contract says is an error of its own, never a value that looks like an answer. A number of an enum, or a
//!   writer, that only a newer program knows is a value of its own and leaves the rest: what was done must not be lost because of it. Only
//!   what a reader cannot do without is refused: the state of an operation, and the types of a schema's and of rows' columns.

mod branch;
mod commit;
mod common;
mod field;
mod flight;
mod graph;
mod load;
mod maintenance;
mod message;
mod operation;
mod query;
mod schema;
mod server;
#[cfg(test)]
mod tests;
mod value;

pub use common::{load_mode_from_wire, on_conflict_from_wire, read_at_from_wire};
pub use field::{
    branch_name, commit_id, graph_name, invalid, optional_commit_id, optional_operation_id, required_operation_id,
};
pub use message::{AnswerCodec, MalformedAnswer, RequestCodec};
