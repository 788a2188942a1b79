#![doc = include_str!("../README.md")]

pub mod caller;
pub mod chaos;
pub mod check;
pub mod error;
pub mod fleet;
pub mod history;
pub mod lineage;
pub mod measure;
pub mod race;
pub mod record;
pub mod sample;
pub mod settle;
pub mod soak;
pub mod store;
pub mod tickets;
pub mod workload;
