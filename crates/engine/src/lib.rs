#![doc = include_str!("../README.md")]

mod engine;
mod graph;
mod load;
mod snapshot;

pub use engine::{CreateGraph, Engine, EngineOptions, GraphInfo, SettleReport};
pub use graph::{CommitInfo, Graph, OperationState, ReadAt, TypeCounts};
pub use load::{Load, LoadMode, LoadOutcome, LoadReceipt, LoadRequest, OnConflict, TypeStream, ValidateOnly};
pub use omnigraph_storage::Durability;
pub use snapshot::{BatchStream, ColumnInfo, GraphSnapshot, QueryRequest, QueryStream, TypeInfo, TypeKind};
