#![doc = include_str!("../README.md")]
// The server is a deep type.
#![recursion_limit = "256"]

pub mod contract;
pub mod cover;
pub mod drive;
pub mod memory;
pub mod mutate;
pub mod rpc;
pub mod target;
pub mod targets;

/// Every program and test of this crate counts what it allocates.
#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;
