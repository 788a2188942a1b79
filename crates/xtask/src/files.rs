//! Files of the repository: listing, reading, comparing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Folders deeper than this are no part of this repository's layout.
const DEPTH_MAX: usize = 32;

/// Every file below a folder, sorted, without folders that `skip` names.
pub(crate) fn below(folder: &Path, skip: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        if depth > DEPTH_MAX {
            return Err(Error::new(format!("list {}: more than {DEPTH_MAX} folders deep", folder.display())));
        }
        let entries = fs::read_dir(&folder).map_err(|source| Error::io("list", &folder, &source))?;
        for entry in entries {
            let entry = entry.map_err(|source| Error::io("list", &folder, &source))?;
            let kind = entry.file_type().map_err(|source| Error::io("look at", &entry.path(), &source))?;
            if kind.is_dir() && !skip.contains(&entry.file_name().to_string_lossy().as_ref()) {
                folders.push((entry.path(), depth + 1));
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// A file's bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|source| Error::io("read", path, &source))
}

/// Writes a file and the folders above it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    fs::write(path, bytes).map_err(|source| Error::io("write", path, &source))
}

/// Makes a folder and the folders above it.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|source| Error::io("make folder", path, &source))
}

/// Removes a folder with all in it, if it is there.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    if path.exists() { fs::remove_dir_all(path).map_err(|source| Error::io("remove", path, &source)) } else { Ok(()) }
}

/// Names, relative to `folder`, of the files that are not the same in both folders.
#[cfg_attr(not(feature = "gen"), allow(dead_code, reason = "only the generator compares folders"))]
pub(crate) fn differing(folder: &Path, other: &Path) -> Result<Vec<String>> {
    let mut names: Vec<PathBuf> = Vec::new();
    for root in [folder, other] {
        if root.exists() {
            names.extend(
                below(root, &[])?.iter().filter_map(|file| file.strip_prefix(root).ok().map(Path::to_path_buf)),
            );
        }
    }
    names.sort();
    names.dedup();
    let same = |name: &PathBuf| match (fs::read(folder.join(name)), fs::read(other.join(name))) {
        (Ok(left), Ok(right)) => left == right,
        _ => false,
    };
    Ok(names.iter().filter(|name| !same(name)).map(|name| name.display().to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_missing_or_different_are_named() {
        let root = tempfile::tempdir().unwrap();
        let (left, right) = (root.path().join("left"), root.path().join("right"));
        for (folder, name, text) in [
            (&left, "same", "1"),
            (&right, "same", "1"),
            (&left, "other", "1"),
            (&right, "other", "2"),
            (&right, "d/new", "1"),
        ] {
            write(&folder.join(name), text.as_bytes()).unwrap();
        }
        assert_eq!(differing(&left, &right).unwrap(), ["d/new", "other"]);
        assert!(differing(&left, &left).unwrap().is_empty());
    }
}
