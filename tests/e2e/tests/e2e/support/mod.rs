//! Servers as processes, and words for what the tests do with them.

mod graph;
mod server;

pub(crate) use graph::{GRAPH, airline, append, client, graph_name, head, main_branch, ndjson, rows};
pub(crate) use server::{Server, root, workspace};
