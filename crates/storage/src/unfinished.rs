//! Files of a local root that were never completed: a killed process leaves them beside the places that they would have got.
//!
//! Why apart from `walk`: the object store leaves them out of its lists, and no reader ever opens one. Other kinds of store keep unfinished objects to
//! themselves.

use std::path::Path as FsPath;
use std::time::UNIX_EPOCH;

use crate::root::StoreKind;
use crate::{Certainty, ObjectMeta, ObjectPath, StorageError, Store};

/// Most unfinished files that one call reports.
const UNFINISHED_MAX: usize = 100_000;

impl Store {
    /// The unfinished files below `prefix`, those of writes that are running included; at most 100,000. None on a store that is not local.
    pub async fn unfinished(&self, prefix: &ObjectPath) -> Result<Vec<ObjectMeta>, StorageError> {
        match self.kind() {
            StoreKind::Local => {}
            StoreKind::S3 | StoreKind::Azure => return Ok(Vec::new()),
        }
        let (root, below) = (self.root().to_owned(), prefix.clone());
        let walked = tokio::task::spawn_blocking(move || walk(FsPath::new(&root), &below)).await;
        let failed = |source| StorageError::Store {
            action: "list unfinished files",
            object: prefix.to_string(),
            certainty: Certainty::NotApplied,
            source,
        };
        walked.map_err(|error| failed(error.into()))?.map_err(|error| failed(error.into()))
    }
}

fn walk(root: &FsPath, below: &ObjectPath) -> std::io::Result<Vec<ObjectMeta>> {
    let (mut found, mut folders) = (Vec::new(), vec![below.clone()]);
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(root.join(folder.as_str())) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let Ok(path) = ObjectPath::parse_text(format!("{folder}/{name}")) else { continue };
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => folders.push(path),
                Ok(meta) if is_unfinished(&name) && found.len() < UNFINISHED_MAX => {
                    let modified = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
                    let last_modified_ms = i64::try_from(modified.as_millis()).unwrap_or(i64::MAX);
                    found.push(ObjectMeta { path, size: meta.len(), etag: None, last_modified_ms });
                }
                Ok(_) => {}
                // It was completed meanwhile.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(found)
}

/// Whether a file's name is its place's with `#` and a number after it.
fn is_unfinished(name: &str) -> bool {
    let number = name.rsplit_once('#').map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_file_is_known_by_its_name() {
        assert!(is_unfinished("a.lance#1") && is_unfinished("x#20"));
        assert!(!is_unfinished("a.lance") && !is_unfinished("a#") && !is_unfinished("a#b") && !is_unfinished("1"));
    }
}
