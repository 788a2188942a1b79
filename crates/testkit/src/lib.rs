#![doc = include_str!("../README.md")]

mod batches;
mod counting;
mod emulators;
mod fault;
mod store;
mod syncs;

pub use batches::{edge_batch, edge_schema, ids_in, node_batch, node_schema};
pub use counting::{CountingHook, SeenCall};
pub use emulators::Emulators;
pub use fault::{FaultHook, FaultPlan, LatePut, Pause};
pub use omnigraph_storage::StoreCall;
pub use store::{EVERY_STORE, TempStore, create_table, fresh_mark, mark_of, staged_rows};
pub use syncs::{SeenSync, SyncHook};
