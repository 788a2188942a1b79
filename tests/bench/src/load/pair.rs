//! One run of ours and of the floor, each on a fresh server and an empty folder that is removed afterwards.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tempfile::TempDir;

use super::client::{connect, create_graph, load};
use super::process::Programs;
use super::rows::{Columns, Rows};
use crate::error::BenchError;

/// Where the data goes.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// The system's folder for temporary files.
    System,
    /// Below this folder.
    Folder(PathBuf),
}

impl Place {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        folder.map_or(Self::System, Self::Folder)
    }

    fn fresh(&self) -> Result<TempDir, BenchError> {
        let builder = |prefix| tempfile::Builder::new().prefix(prefix).to_owned();
        let made = match self {
            Self::System => builder("omnigraph-bench-").tempdir(),
            Self::Folder(folder) => builder("omnigraph-bench-").tempdir_in(folder),
        };
        made.map_err(BenchError::io("make a folder for the data"))
    }
}

/// Seconds of the same load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) ours: f64,
    pub(crate) floor: Floor,
}

/// Seconds of the floor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Floor {
    /// Until its last answer, its files not synced.
    pub(crate) loading: f64,
    /// Syncing them afterwards.
    pub(crate) syncing: f64,
}

impl Floor {
    /// Until the load is as safe as ours.
    pub(crate) fn synced(self) -> f64 {
        self.loading + self.syncing
    }
}

/// One run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loaded {
    pub(crate) nodes: Measured,
    pub(crate) edges: Measured,
    /// Most memory of the server over both loads.
    pub(crate) rss_peak_bytes: u64,
}

/// Loads nodes and edges into ours, then into the floor, which gets a fresh server for each.
pub(crate) async fn measure_pair(programs: &Programs, place: &Place, rows: u64) -> Result<Loaded, BenchError> {
    let (ours_nodes, ours_edges, rss_peak_bytes) = {
        let folder = place.fresh()?;
        let server = programs.start_server(folder.path()).await?;
        let channel = connect(&server).await?;
        create_graph(&channel).await?;
        let nodes = load(&channel, Rows::Nodes, Columns::Sent, rows).await?;
        let edges = load(&channel, Rows::Edges, Columns::Sent, rows).await?;
        (nodes, edges, server.peak_bytes()?)
    };
    let nodes = Measured { ours: ours_nodes, floor: measure_floor(programs, place, Rows::Nodes, rows).await? };
    let edges = Measured { ours: ours_edges, floor: measure_floor(programs, place, Rows::Edges, rows).await? };
    Ok(Loaded { nodes, edges, rss_peak_bytes })
}

async fn measure_floor(programs: &Programs, place: &Place, rows: Rows, total: u64) -> Result<Floor, BenchError> {
    let folder = place.fresh()?;
    let server = programs.start_floor(folder.path()).await?;
    let channel = connect(&server).await?;
    let loading = load(&channel, rows, Columns::Stored, total).await?;
    let started = Instant::now();
    sync_below(folder.path()).map_err(BenchError::io("sync the floor's files"))?;
    Ok(Floor { loading, syncing: started.elapsed().as_secs_f64() })
}

/// Syncs every file and folder below a folder, and the folder itself.
fn sync_below(folder: &Path) -> io::Result<()> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                File::open(entry.path())?.sync_all()?;
            }
        }
        File::open(&folder)?.sync_all()?;
    }
    Ok(())
}

/// Loads nodes into a fresh server of ours and returns the most memory it held.
pub(crate) async fn measure_ours(programs: &Programs, place: &Place, rows: u64) -> Result<u64, BenchError> {
    let folder = place.fresh()?;
    let server = programs.start_server(folder.path()).await?;
    let channel = connect(&server).await?;
    create_graph(&channel).await?;
    load(&channel, Rows::Nodes, Columns::Sent, rows).await?;
    server.peak_bytes()
}
