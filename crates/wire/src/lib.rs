#![doc = include_str!("../README.md")]

#[rustfmt::skip]
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "written by `cargo xtask gen` from proto/")]
#[path = "gen/mod.rs"]
mod generated;

mod names;
mod status;

pub use generated::google;
pub use generated::omnigraph::v1;
pub use names::{ResourceName, ResourceNameError};
pub use status::{ERROR_DOMAIN, REASON_TRAILER, from_rpc_status, from_status, to_rpc_status, to_status};

/// The contract's file descriptors with all that they import: what server reflection answers from.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("gen/descriptors.binpb");
