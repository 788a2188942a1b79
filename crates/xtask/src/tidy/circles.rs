//! Circles of files: inside a crate files form floors, context at the bottom and the door at the top.
//!
//! A file has an arrow to each file that defines a name which it uses. Names are followed through imports and re-exports to their definition, so a
//! detour through `lib.rs` hides nothing. Three things are no arrows: what `lib.rs` and `main.rs` use, that a file declares a module, and that it
//! re-exports names of its own modules. Method calls have no path and are not seen.

mod graph;
mod modules;
mod names;

use std::collections::BTreeMap;

use super::finding::Finding;
use super::source::Source;
use graph::{Graph, Step};
use modules::Crate;

/// Checks the files of one package; every root file (`lib.rs`, `main.rs`) is a crate.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let by_name: BTreeMap<&str, &Source> = sources.iter().map(|source| (source.name.as_str(), source)).collect();
    let mut graph = Graph::default();
    for source in sources.iter().filter(|source| modules::is_root(&source.name)) {
        let tree = Crate::read(source, &by_name);
        for arrow in names::arrows(&tree) {
            graph.add(arrow);
        }
    }
    graph.circles().iter().map(|circle| finding(&circle.files, &circle.shortest)).collect()
}

fn finding(files: &[String], shortest: &[Step]) -> Finding {
    let folder = files[0].split_once("src/").map_or("", |(folder, _)| folder);
    let short = |file: &str| file.rsplit_once("src/").map_or(file, |(_, name)| name).to_owned();
    let steps: Vec<String> = shortest
        .iter()
        .map(|step| format!("{} uses {} of {} (line {})", short(&step.from), step.name, short(&step.to), step.line))
        .collect();
    let files: Vec<String> = files.iter().map(|file| short(file)).collect();
    let what = format!("circle of {} files, {}; the shortest: {}", files.len(), files.join(", "), steps.join(", "));
    Finding::of(format!("{folder}src"), what)
}

#[cfg(test)]
mod tests;
