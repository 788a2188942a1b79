//! Faults of the operating system under a real server: what its callers are answered, and what is stored afterwards.

mod disks;
mod stops;
mod syncs;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use omnigraph_client::{Client, ClientError, LoadMode, LoadOptions, WriteReceipt};
use omnigraph_e2e::faults::Faults;
use omnigraph_types::OperationId;

use crate::support::{Server, client, create, ndjson, root, rows};

const SCHEMA: &str = "node P { k: String @key }\n";
/// Interrupted writes are settled by the next write alone, and an owner that is gone counts as gone at once.
const QUIET: [(&str, &str); 2] = [("OMNIGRAPH_RECOVERY_INTERVAL_MS", "0"), ("OMNIGRAPH_RECOVERY_GRACE_MS", "0")];

/// A server under which faults can be ordered, with one row in the only table of graph `g`, and every folder of a load known to it.
struct World {
    server: Server,
    client: Client,
    faults: Faults,
    root: tempfile::TempDir,
}

impl World {
    async fn new(variables: &[(&'static str, &str)]) -> Self {
        let root = root();
        let faults = Faults::of(root.path());
        let all: Vec<_> = faults.variables().chain(QUIET).chain(variables.iter().copied()).collect();
        let server = Server::start(root.path(), &all);
        let client = client(&server).await;
        create(&client, SCHEMA).await;
        load(&client, Client::mint_operation_id(), "first").await.unwrap();
        Self { server, client, faults, root }
    }
}

/// Loads one row.
async fn load(client: &Client, operation_id: OperationId, key: &str) -> Result<WriteReceipt, ClientError> {
    let options = LoadOptions { operation_id, ..LoadOptions::new(LoadMode::Append) };
    ndjson(client, options, &format!("{{\"type\":\"P\",\"data\":{{\"k\":\"{key}\"}}}}\n")).await
}

/// How many rows there are.
async fn count(client: &Client) -> usize {
    rows(client, &["P"]).await["P"]
}

/// Every file below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path);
        }
    }
    found
}
