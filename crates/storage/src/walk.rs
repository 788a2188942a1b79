//! Which files exist, and which of them a version names: for checks of a whole graph.
//!
//! Invariant: nothing here holds a list of all objects; they are streamed, and the caller bounds what it keeps.

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use lance_core::Error as LanceError;
use lance_table::format::{DataFile, Fragment};
use lance_table::io::deletion::relative_deletion_file_path;
use omnigraph_types::{TableVersion, TreeId, contain_async};

use crate::blame::reading_error;
use crate::error::Source;
use crate::manifest::version_in;
use crate::{Certainty, ObjectMeta, ObjectPath, StorageError, Store, Table, TreeRef};

/// Objects, one after another, in no order.
pub type ObjectStream<'a> = BoxStream<'a, Result<ObjectMeta, StorageError>>;

/// What a file of a dataset is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableFile {
    /// The manifest of a version.
    Version(TableVersion),
    /// Rows, or marks of deleted rows.
    Data,
    /// Anything else, such as a transaction.
    Other,
}

/// A file of a dataset, with the tree that it lies in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// The tree; none is the dataset's main chain.
    pub tree: Option<TreeId>,
    /// What it is.
    pub file: TableFile,
}

impl TreeFile {
    /// The role of the object at `path` in the dataset at `dataset`; none if it is not inside.
    pub fn of(dataset: &ObjectPath, path: &ObjectPath) -> Option<Self> {
        let below = path.as_str().strip_prefix(dataset.as_str())?.strip_prefix('/')?;
        let in_tree = below.strip_prefix("tree/").and_then(|below| below.split_once('/'));
        let (tree, below) = match in_tree {
            Some((tree, below)) => (Some(tree.parse().ok()?), below),
            None => (None, below),
        };
        let file = match below.split_once('/') {
            Some(("_versions", name)) => {
                version_in(name).map_or(TableFile::Other, |at| TableFile::Version(TableVersion(at)))
            }
            Some(("data" | "_deletions", _)) => TableFile::Data,
            Some(_) | None => TableFile::Other,
        };
        Some(Self { tree, file })
    }
}

impl Store {
    /// All objects below `prefix`, in the store's order.
    pub fn walk(&self, prefix: &ObjectPath) -> ObjectStream<'_> {
        let object = prefix.to_string();
        let listed = self.objects().list(Some(&self.location(prefix)));
        listed
            .map_err(move |error| StorageError::Store {
                action: "list objects",
                object: object.clone(),
                certainty: Certainty::NotApplied,
                source: Box::new(error),
            })
            .try_filter_map(async |meta| {
                Ok(self.object_path(&meta.location).map(|path| ObjectMeta {
                    path,
                    size: meta.size,
                    etag: meta.e_tag,
                    last_modified_ms: meta.last_modified.timestamp_millis(),
                }))
            })
            .boxed()
    }

    /// The versions of a tree, the newest first.
    pub async fn versions(&self, tree: &TreeRef) -> Result<Vec<TableVersion>, StorageError> {
        let folder = tree.folder().child("_versions");
        let names = self.walk(&folder).try_filter_map(async |meta| {
            Ok(meta.path.as_str().rsplit('/').next().and_then(version_in).map(TableVersion))
        });
        let mut versions: Vec<TableVersion> = names.try_collect().await?;
        versions.sort_unstable_by(|a, b| b.cmp(a));
        Ok(versions)
    }
}

impl Table {
    /// The files that this version names: data, with their sizes where it records them, and marks of deleted rows. Those of trees outside the
    /// root are left out.
    pub fn named_files(&self) -> impl Iterator<Item = (ObjectPath, Option<u64>)> {
        self.dataset().fragments().iter().flat_map(|fragment| self.files_of(fragment))
    }

    /// The files of a fragment of this version, or of one that is staged on it.
    pub(crate) fn files_of(&self, fragment: &Fragment) -> Vec<(ObjectPath, Option<u64>)> {
        let bytes = |file: &DataFile| file.file_size_bytes.get().map(u64::from);
        let data = fragment.files.iter().map(|file| (file.base_id, format!("data/{}", file.path), bytes(file)));
        let deletions = fragment.deletion_file.iter();
        let deletions = deletions.map(|file| (file.base_id, relative_deletion_file_path(fragment.id, file), None));
        let paths = data.chain(deletions);
        paths.filter_map(|(base, file, bytes)| Some((self.folder_of(base)?.child(file), bytes))).collect()
    }

    /// The files with marks of deleted rows that this version names, each with its fragment. Those of trees outside the root are left out.
    pub fn deletion_files(&self) -> Vec<(u64, ObjectPath)> {
        let file = |fragment: &Fragment| {
            let file = fragment.deletion_file.as_ref()?;
            Some((fragment.id, self.folder_of(file.base_id)?.child(relative_deletion_file_path(fragment.id, file))))
        };
        self.dataset().fragments().iter().filter_map(file).collect()
    }

    /// Reads the marks of deleted rows of a fragment.
    ///
    /// # Errors
    /// `Corrupt` where they cannot be read as such, or their number is not the one that the version records.
    pub async fn read_deletions(&self, fragment: u64) -> Result<(), StorageError> {
        let found = usize::try_from(fragment).ok().and_then(|id| self.dataset().get_fragment(id));
        let Some(found) = found else { return Ok(()) };
        let corrupt = |source: Source| StorageError::Corrupt {
            object: format!("{} fragment {fragment}", self.pin()),
            expected: "marks of deleted rows",
            source,
        };
        // Lance panics on some damaged files.
        let read = contain_async(found.get_deletion_vector()).await.map_err(|panic| corrupt(panic.into()))?;
        let failed =
            |error: LanceError| reading_error("read marks of deleted rows", error.into()).unwrap_or_else(corrupt);
        let marks = read.map_err(failed)?;
        let recorded = found.metadata().deletion_file.as_ref().and_then(|file| file.num_deleted_rows);
        match (marks, recorded) {
            (Some(marks), Some(recorded)) if marks.len() != recorded => {
                Err(corrupt(format!("{} marks, and {recorded} are recorded", marks.len()).into()))
            }
            _ => Ok(()),
        }
    }

    /// The folder of this tree, or of one that it was cloned from; none if that lies outside the root.
    fn folder_of(&self, base: Option<u32>) -> Option<ObjectPath> {
        let tree = self.pin().tree;
        let Some(base) = base else { return Some(tree.folder()) };
        let path = &self.dataset().manifest().base_paths.get(&base)?.path;
        let (_, below) = path.split_once(tree.path.as_str())?;
        ObjectPath::parse_text(format!("{}{below}", tree.path)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_of_a_dataset_is_known_by_its_place() {
        let dataset = ObjectPath::new("g/tables/nodes/1");
        let of = |below: &str| TreeFile::of(&dataset, &dataset.child(below)).unwrap();
        let tree = "01JZ8Q6Y3V5B7N9D1F3H5K7M9P";
        assert_eq!(of("data/a.lance"), TreeFile { tree: None, file: TableFile::Data });
        let version = of("_versions/18446744073709551612.manifest");
        assert_eq!(version, TreeFile { tree: None, file: TableFile::Version(TableVersion(3)) });
        assert_eq!(of(&format!("tree/{tree}/_deletions/x.bin")).tree, tree.parse().ok());
        assert_eq!(of("_transactions/x.txn").file, TableFile::Other);
        assert_eq!(TreeFile::of(&dataset, &ObjectPath::new("g/tables/nodes/10/data/a")), None);
    }
}
