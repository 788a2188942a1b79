#![doc = include_str!("../README.md")]

#[rustfmt::skip]
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "written by `cargo xtask gen` from proto/")]
#[path = "gen/mod.rs"]
mod generated;

pub use generated::google;
pub use generated::omnigraph::v1;

/// The contract's file descriptors with all that they import: what server reflection answers from.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("gen/descriptors.binpb");
