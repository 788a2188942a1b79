//! A root with a server that runs during all cells, and further servers beside it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use omnigraph_client::{Client, ClientOptions, RetryPolicy, Timeout};
use omnigraph_e2e::server::{Server, root};
use omnigraph_types::GraphName;
use tempfile::TempDir;

use crate::error::Violation;
use crate::limits::REQUEST_TIMEOUT;

/// Servers search for interrupted writes at their start only: a later one is found by a request.
const QUIET_SERVER: (&str, &str) = ("OMNIGRAPH_RECOVERY_INTERVAL_MS", "0");

/// A root and the server that was running before the fault.
#[derive(Debug)]
pub(crate) struct Stand {
    folder: TempDir,
    running: Server,
    graphs: AtomicUsize,
}

impl Stand {
    pub(crate) async fn new() -> Result<Arc<Self>, Violation> {
        let folder = root();
        let running = start(folder.path(), Vec::new()).await?;
        Ok(Arc::new(Self { folder, running, graphs: AtomicUsize::new(0) }))
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// A client of the server that runs during all cells.
    pub(crate) async fn running(&self) -> Result<Client, Violation> {
        client(&self.running).await
    }

    /// A name that no graph of this root has had.
    pub(crate) fn graph_name(&self) -> Result<GraphName, Violation> {
        let name = format!("g{}", self.graphs.fetch_add(1, Ordering::Relaxed));
        name.parse().map_err(broken("name a graph"))
    }

    /// Another server of the root, with these variables.
    pub(crate) async fn start(&self, variables: Vec<(&'static str, String)>) -> Result<Server, Violation> {
        start(self.root(), variables).await
    }
}

/// A failure of a step of the cell itself.
pub(crate) fn broken<E: std::fmt::Display>(action: &'static str) -> impl FnOnce(E) -> Violation {
    move |error| Violation::Broken { what: format!("{action}: {error}") }
}

async fn start(root: &Path, variables: Vec<(&'static str, String)>) -> Result<Server, Violation> {
    let root = root.to_owned();
    // Waiting for a process to start would hold a thread that other cells need.
    let started = tokio::task::spawn_blocking(move || {
        let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
        Server::start(&root, &variables.chain([QUIET_SERVER]).collect::<Vec<_>>())
    });
    started.await.map_err(broken("start a server"))
}

/// A client that resends no request by itself, so that a cell sees every answer.
pub(crate) async fn client(server: &Server) -> Result<Client, Violation> {
    client_within(server, REQUEST_TIMEOUT).await
}

/// The same, with another deadline for each request.
pub(crate) async fn client_within(server: &Server, deadline: Duration) -> Result<Client, Violation> {
    let timeout = Timeout::After(deadline);
    let options = ClientOptions { retry: RetryPolicy::never(), timeout, ..ClientOptions::default() };
    Client::connect_with(&server.url, options).await.map_err(broken("connect to a server"))
}
