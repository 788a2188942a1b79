//! Append, merge and overwrite: what happens to existing ids, new ids and types that are not in the load.

use omnigraph_types::{ConstraintKind, LoadMode, LoadRequest, Problem, WriteMode, WriteOutcome};

use crate::support::{
    SPEC, append, commits, edge, graph, ids, kind_and_row, load, merge, mint, n, overwrite, p, request, rows, send,
    value, violation,
};

#[tokio::test]
async fn append_of_an_existing_key_is_a_conflict_and_leaves_no_commit() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, r#"{"type":"P","data":{"k":"a","age":1}}"#).await.unwrap();
    let text = [p("b"), r#"{"type":"P","data":{"k":"a","age":2}}"#.to_owned()].concat();
    let failure = append(&graph, &text).await.unwrap_err();
    let expected =
        Problem::KeyConflict { type_name: "P".to_owned(), ids: vec!["a".to_owned()], total: 1, source_row: Some(2) };
    assert_eq!(failure.problem, expected);
    assert_eq!((value(&graph, "P", "a", "age").await.as_str(), commits(&graph).await), ("1", 2));
}

#[tokio::test]
async fn merge_replaces_the_whole_row_and_counts_what_was_there() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, r#"{"type":"P","data":{"k":"a","age":1,"f":2.5}}"#).await.unwrap();
    let receipt = merge(&graph, &[p("a"), p("b")].concat()).await.unwrap();
    let counts = &receipt.counts[0];
    assert_eq!((counts.inserted, counts.updated, counts.deleted, counts.row_count), (1, 1, 0, 2));
    assert_eq!(value(&graph, "P", "a", "age").await, "-");
    assert_eq!(value(&graph, "P", "a", "f").await, "-");
    assert_eq!(ids(&graph, "P").await, ["a", "b"]);
}

#[tokio::test]
async fn merge_of_an_edge_without_id_doubles_it() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("a")).await.unwrap();
    let line = r#"{"edge":"Knows","from":"a","to":"a"}"#;
    merge(&graph, line).await.unwrap();
    merge(&graph, line).await.unwrap();
    assert_eq!(rows(&graph, "Knows").await.len(), 2);
}

#[tokio::test]
async fn merge_moves_an_edge_by_its_id() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b"), edge("Knows", "a", "a", "e")].concat()).await.unwrap();
    merge(&graph, &edge("Knows", "a", "b", "e")).await.unwrap();
    assert_eq!(rows(&graph, "Knows").await, ["e|a|b"]);
}

#[tokio::test]
async fn overwrite_replaces_only_the_types_in_the_load() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b"), n("n1")].concat()).await.unwrap();
    let receipt = overwrite(&graph, &[p("b"), p("c")].concat()).await.unwrap();
    let counts = &receipt.counts[0];
    assert_eq!((counts.inserted, counts.deleted, counts.row_count), (2, 2, 2));
    assert_eq!(ids(&graph, "P").await, ["b", "c"]);
    assert_eq!(ids(&graph, "N").await, ["n1"]);
}

#[tokio::test]
async fn overwrite_of_edges_resolves_ends_against_committed_nodes() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b"), edge("Knows", "a", "b", "old")].concat()).await.unwrap();
    overwrite(&graph, &edge("Knows", "b", "a", "new")).await.unwrap();
    assert_eq!(rows(&graph, "Knows").await, ["new|b|a"]);
}

#[tokio::test]
async fn overwrite_that_drops_a_node_of_a_kept_edge_is_refused() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b"), edge("Knows", "a", "b", "e")].concat()).await.unwrap();
    let found = violation(overwrite(&graph, &p("a")).await);
    assert_eq!(found.kind, ConstraintKind::OrphanEdge);
    assert_eq!(
        (found.type_name.as_str(), found.entity.as_deref(), found.properties),
        ("Knows", Some("e"), vec!["dst".to_owned()])
    );
    assert!(found.message.contains("\"b\""), "{}", found.message);
    assert_eq!(ids(&graph, "P").await, ["a", "b"]);
}

#[tokio::test]
async fn overwrite_of_nodes_together_with_their_edges_is_taken() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b"), edge("Knows", "a", "b", "e")].concat()).await.unwrap();
    overwrite(&graph, &[edge("Knows", "c", "c", "f"), p("c")].concat()).await.unwrap();
    assert_eq!(ids(&graph, "P").await, ["c"]);
    assert_eq!(rows(&graph, "Knows").await, ["f|c|c"]);
}

#[tokio::test]
async fn empty_load_changes_nothing_in_every_mode() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("a")).await.unwrap();
    for mode in [LoadMode::Append, LoadMode::Merge, LoadMode::Overwrite] {
        let receipt = load(&graph, mode, "\n\r\n").await.unwrap();
        assert_eq!((receipt.outcome, receipt.commit, receipt.counts.len()), (WriteOutcome::Unchanged, None, 0));
    }
    assert_eq!((ids(&graph, "P").await, commits(&graph).await), (vec!["a".to_owned()], 2));
}

#[tokio::test]
async fn same_key_twice_is_refused_in_every_mode_naming_both_lines() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("x")).await.unwrap();
    for mode in [LoadMode::Append, LoadMode::Merge, LoadMode::Overwrite] {
        let text = [p("a"), "\n".to_owned(), p("b"), p("a")].concat();
        let found = violation(load(&graph, mode, &text).await);
        assert_eq!(
            (found.kind, found.source_row, found.entity.as_deref()),
            (ConstraintKind::Unique, Some(4), Some("a"))
        );
        assert!(found.message.contains("rows 1 and 4"), "{}", found.message);
    }
    assert_eq!(ids(&graph, "P").await, ["x"]);
}

#[tokio::test]
async fn same_explicit_edge_id_twice_is_refused() {
    let (_root, graph) = graph(SPEC).await;
    let text = [p("a"), edge("Knows", "a", "a", "e"), edge("Knows", "a", "a", "e")].concat();
    assert_eq!(kind_and_row(merge(&graph, &text).await), (ConstraintKind::Unique, Some(3)));
}

#[tokio::test]
async fn validate_only_tells_the_counts_and_commits_nothing() {
    let (_root, graph) = graph(SPEC).await;
    let mut dry = request(LoadMode::Append);
    dry.options.mode = WriteMode::ValidateOnly;
    let receipt = send(&graph, dry, &[p("a"), p("b")].concat()).await.unwrap();
    assert_eq!((receipt.outcome, receipt.commit), (WriteOutcome::Validated, None));
    assert_eq!((receipt.counts[0].inserted, receipt.counts[0].row_count), (2, 2));
    assert_eq!((ids(&graph, "P").await.len(), commits(&graph).await), (0, 1));
}

#[tokio::test]
async fn validate_only_refuses_what_a_commit_would() {
    let (_root, graph) = graph(SPEC).await;
    let mut dry = request(LoadMode::Append);
    dry.options.mode = WriteMode::ValidateOnly;
    let refused = send(&graph, dry, &edge("Knows", "a", "a", "e")).await;
    assert!(matches!(refused.unwrap_err().problem, Problem::ConstraintViolation { .. }));
}

#[tokio::test]
async fn resend_of_the_same_content_answers_with_the_first_commit() {
    let (_root, graph) = graph(SPEC).await;
    let mut again = request(LoadMode::Append);
    again.options.operation_id = Some(mint());
    let text = [p("a"), n("n1"), r#"{"type":"N","data":{"x":7}}"#.to_owned()].concat();
    let first = send(&graph, again.clone(), &text).await.unwrap();
    let second = send(&graph, again.clone(), &text).await.unwrap();
    assert_eq!((first.outcome, second.outcome), (WriteOutcome::Committed, WriteOutcome::Replayed));
    assert_eq!(first.commit, second.commit);
    let other = send(&graph, again, &text.replace('7', "8")).await.unwrap_err();
    let commit = first.commit.map(|commit| commit.id);
    assert!(matches!(other.problem, Problem::OperationIdReused { commit: found, .. } if found == commit), "{other:?}");
    assert_eq!(commits(&graph).await, 2);
}

#[tokio::test]
async fn the_same_rows_in_other_order_or_mode_are_other_content() {
    let (_root, graph) = graph(SPEC).await;
    let mut first = request(LoadMode::Append);
    first.options.operation_id = Some(mint());
    send(&graph, first.clone(), &[p("a"), p("b")].concat()).await.unwrap();
    let reordered = send(&graph, first.clone(), &[p("b"), p("a")].concat()).await.unwrap_err();
    let other_mode = LoadRequest { mode: LoadMode::Merge, ..first };
    let merged = send(&graph, other_mode, &[p("a"), p("b")].concat()).await.unwrap_err();
    for failure in [reordered, merged] {
        assert!(matches!(failure.problem, Problem::OperationIdReused { .. }), "{failure:?}");
    }
}
