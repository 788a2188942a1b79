//! Servers as processes, and words for what the tests do with them.

mod graph;
mod python;

pub(crate) use omnigraph_e2e::server::{Server, omnigraph, root, workspace};

pub(crate) use graph::{
    GRAPH, airline, append, client, create, graph_name, head, main_branch, ndjson, ndjson_on, reason, refused, rows,
    rows_at,
};
pub(crate) use python::{interpreter, start_until, verdict};
