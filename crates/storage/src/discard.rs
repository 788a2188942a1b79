//! Removing what a writer has staged and nothing names.
//!
//! The caller must know that nothing names it and nothing will: a version whose file is gone cannot be read.

use futures::{StreamExt, TryStreamExt, stream};
use lance::dataset::refs::branch_contents_path;
use lance::dataset::transaction::Operation;
use lance_table::format::Fragment;
use object_store::Error;

use crate::blame::object_error;
use crate::{ObjectPath, StagedChange, StagedFiles, StorageError, Store, Table, TreeRef};

impl StagedFiles {
    /// Where the files lie.
    pub fn paths(&self) -> Vec<ObjectPath> {
        let files = self.written().flat_map(|(tree, fragments)| {
            let data = tree.folder().child("data");
            let files = fragments.iter().flat_map(|fragment| &fragment.files);
            files.map(move |file| data.child(&file.path)).collect::<Vec<_>>()
        });
        files.collect()
    }
}

impl Table {
    /// The files that a change staged on this version adds to those that the version names.
    pub fn added_files(&self, change: &StagedChange) -> Vec<ObjectPath> {
        let fragments: Vec<&Fragment> = match change.operation() {
            Some(Operation::Append { fragments } | Operation::Overwrite { fragments, .. }) => {
                fragments.iter().collect()
            }
            Some(Operation::Update { updated_fragments, new_fragments, .. }) => {
                updated_fragments.iter().chain(new_fragments).collect()
            }
            Some(Operation::Delete { updated_fragments, .. }) => updated_fragments.iter().collect(),
            Some(_) | None => Vec::new(),
        };
        let mut added: Vec<ObjectPath> =
            fragments.into_iter().flat_map(|fragment| self.files_of(fragment)).map(|(path, _)| path).collect();
        let named: std::collections::HashSet<ObjectPath> = self.named_files().map(|(path, _)| path).collect();
        added.retain(|path| !named.contains(path));
        added
    }
}

impl Store {
    /// Removes files; absent ones are no error.
    pub async fn discard(&self, files: &[ObjectPath]) -> Result<(), StorageError> {
        let places: Vec<_> = files.iter().map(|path| Ok(self.location(path))).collect();
        let mut removed = self.objects().delete_stream(stream::iter(places).boxed());
        while let Some(one) = removed.next().await {
            match one {
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(object_error("remove staged files", "a refused change", error)),
            }
        }
        Ok(())
    }

    /// Removes a private tree with everything in it; a main chain stays.
    pub async fn discard_tree(&self, tree: &TreeRef) -> Result<(), StorageError> {
        let Some(name) = tree.tree else { return Ok(()) };
        let reference = branch_contents_path(&self.location(&tree.path), &name.to_string());
        match object_store::ObjectStoreExt::delete(self.objects(), &reference).await {
            Ok(()) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(object_error("remove the name of a private tree", tree, error)),
        }
        self.discard_folder(&tree.folder()).await
    }

    /// Removes everything below a folder.
    pub async fn discard_folder(&self, folder: &ObjectPath) -> Result<(), StorageError> {
        let files: Vec<ObjectPath> = self.walk(folder).map_ok(|meta| meta.path).try_collect().await?;
        self.discard(&files).await
    }
}
