//! What a check of a graph counts and reports.

use std::path::{Path, PathBuf};

use futures::TryStreamExt;
use omnigraph_engine::CheckGraph;
use omnigraph_types::{CheckFinding, CheckKind, CheckPart, CheckSummary, UnnamedKind};

use crate::support::{Root, append, merge, tester};

const SCHEMA: &str = "node P { k: String @key n: I64 }";

async fn checked(root: &Root) -> (Vec<CheckFinding>, CheckSummary) {
    let check = CheckGraph { graph: "g".parse().unwrap(), branch: None };
    let parts: Vec<CheckPart> = root.engine.run(&tester(), check).await.unwrap().try_collect().await.unwrap();
    let (mut findings, mut summary) = (Vec::new(), None);
    for part in parts {
        match part {
            CheckPart::Finding(finding) => findings.push(finding),
            CheckPart::Progress(_) => {}
            CheckPart::Summary(last) => summary = Some(last),
        }
    }
    (findings, summary.unwrap())
}

/// Every folder of this name below the root.
fn folders(below: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(folders(&path, name));
            if path.ends_with(name) {
                found.push(path);
            }
        }
    }
    found
}

async fn graph_with_deletions() -> (Root, PathBuf) {
    let root = Root::new().await;
    let graph = root.graph(SCHEMA).await;
    append(
        &graph,
        "{\"type\":\"P\",\"data\":{\"k\":\"a\",\"n\":1}}\n{\"type\":\"P\",\"data\":{\"k\":\"b\",\"n\":2}}\n",
    )
    .await
    .unwrap();
    merge(&graph, "{\"type\":\"P\",\"data\":{\"k\":\"a\",\"n\":3}}\n").await.unwrap();
    let marks = folders(root.folder.path(), "_deletions").pop().expect("a merge marks the rows that it replaces");
    let file = std::fs::read_dir(marks).unwrap().next().unwrap().unwrap().path();
    (root, file)
}

#[tokio::test]
async fn sound_graph_has_no_findings() {
    let (root, _) = graph_with_deletions().await;
    let (findings, summary) = checked(&root).await;
    assert_eq!((findings, summary.needs_person), (Vec::new(), 0));
}

#[tokio::test]
async fn marks_of_deleted_rows_that_were_cut_are_reported() {
    let (root, file) = graph_with_deletions().await;
    let bytes = std::fs::read(&file).unwrap();
    for left in [0, bytes.len() / 2] {
        std::fs::write(&file, &bytes[..left]).unwrap();
        let (findings, summary) = checked(&root).await;
        let [finding] = findings.as_slice() else { panic!("{left} bytes left: {findings:?}") };
        assert_eq!((finding.kind, finding.type_name.as_deref()), (CheckKind::MissingFiles, Some("P")), "{finding:?}");
        assert!(finding.message.contains("cannot be read: 1"), "{finding:?}");
        assert_eq!(summary.needs_person, 1);
    }
}

#[tokio::test]
async fn files_that_a_kill_left_unfinished_are_counted() {
    let (root, _) = graph_with_deletions().await;
    let before = checked(&root).await.1;
    let tables = folders(root.folder.path(), "tables").pop().unwrap();
    let data = folders(&tables, "data").pop().unwrap();
    std::fs::write(data.join("x.lance#1"), [0; 100]).unwrap();
    std::fs::write(data.join("x.lance#2"), [0; 50]).unwrap();
    let intents = folders(root.folder.path(), "__recovery").pop().unwrap();
    let branch = std::fs::read_dir(intents).unwrap().next().unwrap().unwrap().path();
    std::fs::write(branch.join("9.json#1"), [0; 7]).unwrap();
    let (findings, summary) = checked(&root).await;
    assert_eq!(findings, []);
    let count = |summary: &CheckSummary, kind| {
        let of_kind = summary.unnamed.iter().filter(|unnamed| unnamed.kind == kind);
        of_kind.fold((0, 0), |(files, bytes), unnamed| (files + unnamed.files, bytes + unnamed.bytes))
    };
    let (data_before, data_after) = (count(&before, UnnamedKind::Data), count(&summary, UnnamedKind::Data));
    assert_eq!((data_after.0 - data_before.0, data_after.1 - data_before.1), (2, 150), "{summary:?}");
    let (before, after) = (count(&before, UnnamedKind::Intent), count(&summary, UnnamedKind::Intent));
    assert_eq!((after.0 - before.0, after.1 - before.1), (1, 7), "{summary:?}");
}
