//! One exact version of one tree, opened.
//!
//! Invariant: an opened version never moves.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use lance::Dataset;
use lance_table::format::Fragment;
use omnigraph_types::TableVersion;

use crate::blame::lance_error;
use crate::files::Bases;
use crate::unfit::Unfit;
use crate::{ObjectPath, Pin, StagedFiles, StorageError};

/// One fragment of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentInfo {
    /// Its id, unique in the history of its dataset.
    pub id: u64,
    /// Rows written, deleted ones included.
    pub physical_rows: u64,
    /// Rows deleted since.
    pub deletions: u64,
}

/// One exact version, opened. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Table {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dataset: Arc<Dataset>,
    schema: SchemaRef,
    pin: Pin,
}

impl Table {
    pub(crate) fn new(dataset: Dataset, pin: Pin) -> Self {
        let schema = Arc::new(Schema::from(dataset.schema()));
        Self { inner: Arc::new(Inner { dataset: Arc::new(dataset), schema, pin }) }
    }

    pub(crate) fn dataset(&self) -> &Arc<Dataset> {
        &self.inner.dataset
    }

    /// Which version this is.
    pub fn pin(&self) -> Pin {
        self.inner.pin.clone()
    }

    /// The version.
    pub fn version(&self) -> TableVersion {
        self.inner.pin.version
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.inner.schema)
    }

    /// The trees whose files this version may name.
    pub(crate) fn bases(&self) -> Bases<'_> {
        let inside = |path: &str| {
            let (_, below) = path.split_once(self.inner.pin.tree.path.as_str())?;
            ObjectPath::parse_text(format!("{}{below}", self.inner.pin.tree.path)).ok()
        };
        let bases = self.dataset().manifest().base_paths.values();
        let clones_of = bases.filter_map(|base| Some((base.id, inside(&base.path)?))).collect();
        Bases::Of { tree: &self.inner.pin.tree, clones_of }
    }

    /// URIs of the folders of other trees that data files of this version lie in.
    pub fn base_paths(&self) -> Vec<String> {
        let mut paths: Vec<_> = self.dataset().manifest().base_paths.values().map(|base| base.path.clone()).collect();
        paths.sort_unstable();
        paths
    }

    /// Whether files can become a part of this table: they were written for its tree, or for one that it was made from.
    pub fn takes(&self, files: &StagedFiles) -> bool {
        files.fragments_for(self.dataset().schema(), &self.bases()).is_ok()
    }

    /// Rows, from metadata.
    pub async fn count_rows(&self) -> Result<u64, StorageError> {
        let counted = self.dataset().count_rows(None).await;
        counted.map(|rows| rows as u64).map_err(|error| lance_error("count rows", self.pin(), error))
    }

    /// The fragments, in order.
    pub fn fragments(&self) -> Vec<FragmentInfo> {
        let info = |fragment: &Fragment| FragmentInfo {
            id: fragment.id,
            physical_rows: fragment.physical_rows.unwrap_or(0) as u64,
            deletions: fragment.deletion_file.as_ref().and_then(|file| file.num_deleted_rows).unwrap_or(0) as u64,
        };
        self.dataset().fragments().iter().map(info).collect()
    }

    pub(crate) fn fragments_by_id(&self, ids: &[u64]) -> Result<Vec<Fragment>, Unfit> {
        let find = |id: &u64| {
            let found = self.dataset().fragments().iter().find(|fragment| fragment.id == *id);
            found.cloned().ok_or(Unfit::NoFragment { id: *id })
        };
        ids.iter().map(find).collect()
    }
}
