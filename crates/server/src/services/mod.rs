//! The services of the contract: each decodes its request, calls the engine, encodes the answer.
//!
//! A call that is declared and not offered answers `UNIMPLEMENTED` with its name. No service builds a status: `omnigraph_call::answer` and
//! its siblings do.

pub(crate) mod branch;
pub(crate) mod commit;
pub(crate) mod graph;
pub(crate) mod load;
pub(crate) mod maintenance;
pub(crate) mod mutation;
pub(crate) mod operation;
pub(crate) mod query;
pub(crate) mod schema;
pub(crate) mod server_info;

/// What a caller does instead of a call that is declared and not offered.
const FEATURES_LISTED: &str = "GetServerInfo lists the features of this server";
