//! Servers as processes, and words for what the tests do with them.

mod graph;
mod python;
mod server;

pub(crate) use graph::{
    GRAPH, airline, append, client, create, graph_name, head, main_branch, ndjson, ndjson_on, reason, refused, rows,
    rows_at,
};
pub(crate) use python::{start_until, verdict};
pub(crate) use server::{Server, omnigraph, root, workspace};
