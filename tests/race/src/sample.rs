//! What a process holds, and what lies in a store, at one moment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// What a process holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes of memory that are resident.
    pub memory_bytes: u64,
    /// Open files, connections among them.
    pub files: u64,
    /// Threads.
    pub threads: u64,
}

impl Held {
    /// What a process holds now.
    ///
    /// # Panics
    ///
    /// If it is not running.
    pub fn of(pid: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let number = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() as u64;
        Self { memory_bytes: number("VmRSS:") * 1024, files, threads: number("Threads:") }
    }

    /// The middle of each figure.
    pub fn middle(samples: &[Self]) -> Self {
        let middle = |figure: fn(&Self) -> u64| {
            let mut figures: Vec<u64> = samples.iter().map(figure).collect();
            figures.sort_unstable();
            figures.get(figures.len() / 2).copied().unwrap_or(0)
        };
        Self {
            memory_bytes: middle(|held| held.memory_bytes),
            files: middle(|held| held.files),
            threads: middle(|held| held.threads),
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>4} MiB  {:>4} files  {:>3} threads", self.memory_bytes >> 20, self.files, self.threads)
    }
}

/// Bytes below a root, by what they are.
pub fn sizes(root: &Path) -> BTreeMap<&'static str, u64> {
    let mut sizes = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        // Servers make and remove files while they are counted.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => {
                    let below = folder.strip_prefix(root).unwrap_or(&folder);
                    *sizes.entry(kind(below)).or_default() += metadata.len();
                }
                Err(_) => {}
            }
        }
    }
    sizes
}

/// What the files of a folder are, by the layout of the store.
fn kind(folder: &Path) -> &'static str {
    let parts: Vec<String> = folder.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let has = |name: &str| parts.iter().any(|part| part == name);
    match (has("__manifest"), has("tables"), parts.last().map(String::as_str)) {
        (true, _, Some("data")) => "states",
        (true, _, Some("_versions")) => "versions",
        (true, _, Some("_transactions")) => "transactions of versions",
        (_, true, Some("data")) => "rows",
        (_, true, Some("_versions")) => "manifests of tables",
        (_, true, Some("_transactions")) => "transactions of tables",
        (_, true, Some("_deletions")) => "deletions",
        _ if has("__recovery") => "intents",
        _ => "names, schemas, branches",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_the_layout() {
        let of = |path: &str| kind(Path::new(path));
        assert_eq!(of("01J/__manifest/data"), "states");
        assert_eq!(of("01J/__manifest/tree/01K/_versions"), "versions");
        assert_eq!(of("01J/tables/nodes/1/tree/01K/data"), "rows");
        assert_eq!(of("01J/tables/edges/3/_versions"), "manifests of tables");
        assert_eq!(of("01J/__recovery/01B"), "intents");
        assert_eq!(of("__graphs/g"), "names, schemas, branches");
    }

    #[test]
    fn own_process_holds_something_and_the_middle_is_one_of_the_samples() {
        let held = Held::of(std::process::id());
        assert!(held.memory_bytes > 0 && held.files > 0 && held.threads > 0);
        let samples = [1, 9, 2].map(|files| Held { files, ..Held::default() });
        assert_eq!(Held::middle(&samples).files, 2);
    }
}
