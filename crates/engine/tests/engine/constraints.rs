//! Uniqueness, endpoints and cardinality over the final image.

use omnigraph_types::ConstraintKind;

use crate::support::{
    SPEC, append, edge, graph, ids, kind_and_row, merge, n, overwrite, p, rows, violation, violations,
};

const UNIQUE: &str = "
node U { k: String @key email: String? @unique name: String? n: I64? @unique(name, n) }
edge Pair: U -> U { @unique(src, dst) }
";

fn u(k: &str, email: &str) -> String {
    format!("{{\"type\":\"U\",\"data\":{{\"k\":\"{k}\",\"email\":\"{email}\"}}}}\n")
}

fn tuple(k: &str, name: &str, n: i64) -> String {
    format!("{{\"type\":\"U\",\"data\":{{\"k\":\"{k}\",\"name\":\"{name}\",\"n\":{n}}}}}\n")
}

#[tokio::test]
async fn unique_value_twice_in_one_load_is_refused_naming_both_rows() {
    let (_root, graph) = graph(UNIQUE).await;
    let found = violation(append(&graph, &[u("a", "x"), u("b", "y"), u("c", "x")].concat()).await);
    assert_eq!((found.kind, found.source_row), (ConstraintKind::Unique, Some(3)));
    assert_eq!(found.properties, ["email"]);
    assert!(found.message.contains("rows 1 and 3") && found.message.contains('x'), "{}", found.message);
}

#[tokio::test]
async fn unique_value_of_a_committed_row_is_refused_and_named() {
    let (_root, graph) = graph(UNIQUE).await;
    append(&graph, &u("a", "x")).await.unwrap();
    let found = violation(append(&graph, &[u("b", "y"), u("c", "x")].concat()).await);
    assert_eq!((found.kind, found.source_row, found.entity.as_deref()), (ConstraintKind::Unique, Some(2), Some("c")));
}

#[tokio::test]
async fn unique_value_moves_between_rows_in_one_merge() {
    let (_root, graph) = graph(UNIQUE).await;
    append(&graph, &[u("a", "x"), u("b", "y"), u("c", "z")].concat()).await.unwrap();
    merge(&graph, &[u("a", "y"), u("b", "x")].concat()).await.unwrap();
    assert_eq!(rows(&graph, "U").await, ["a|a|y|-|-", "b|b|x|-|-", "c|c|z|-|-"]);
    assert_eq!(kind_and_row(merge(&graph, &u("a", "z")).await), (ConstraintKind::Unique, Some(1)));
}

#[tokio::test]
async fn unique_tuple_with_a_null_member_is_exempt_and_its_members_do_not_run_together() {
    let (_root, graph) = graph("node U { k: String @key a: String? b: String? @unique(a, b) }").await;
    let row =
        |k: &str, a: &str, b: &str| format!("{{\"type\":\"U\",\"data\":{{\"k\":\"{k}\",\"a\":{a},\"b\":{b}}}}}\n");
    let text = [
        row("1", "\"x|y\"", "\"z\""),
        row("2", "\"x\"", "\"y|z\""),
        row("3", "\"x\"", "null"),
        row("4", "\"x\"", "null"),
    ];
    append(&graph, &text.concat()).await.unwrap();
    let again = append(&graph, &row("5", "\"x\"", "\"y|z\"")).await;
    assert_eq!(kind_and_row(again), (ConstraintKind::Unique, Some(1)));
}

#[tokio::test]
async fn unique_with_a_number_first_is_checked_against_committed_rows() {
    let (_root, graph) = graph("node U { k: String @key n: I64 f: F64 @unique(n, f) }").await;
    let row = |k: &str, n: i64, f: &str| format!("{{\"type\":\"U\",\"data\":{{\"k\":\"{k}\",\"n\":{n},\"f\":{f}}}}}\n");
    append(&graph, &row("a", 1, "0.0")).await.unwrap();
    append(&graph, &row("b", 1, "0.5")).await.unwrap();
    assert_eq!(kind_and_row(append(&graph, &row("c", 1, "-0.0")).await), (ConstraintKind::Unique, Some(1)));
}

#[tokio::test]
async fn unique_pairs_of_edges_refuse_the_second_load() {
    let (_root, graph) = graph(UNIQUE).await;
    append(&graph, &[u("a", "x"), u("b", "y")].concat()).await.unwrap();
    let line = r#"{"edge":"pair","from":"a","to":"b"}"#;
    merge(&graph, line).await.unwrap();
    let found = violation(merge(&graph, line).await);
    assert_eq!((found.kind, found.properties), (ConstraintKind::Unique, vec!["src".to_owned(), "dst".to_owned()]));
}

#[tokio::test]
async fn overwrite_may_reuse_the_unique_values_it_replaces() {
    let (_root, graph) = graph(UNIQUE).await;
    append(&graph, &[u("a", "x"), tuple("b", "m", 1)].concat()).await.unwrap();
    overwrite(&graph, &[u("c", "x"), tuple("d", "m", 1)].concat()).await.unwrap();
    assert_eq!(ids(&graph, "U").await, ["c", "d"]);
}

#[tokio::test]
async fn edge_before_its_nodes_is_taken_and_an_orphan_is_named() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[edge("Knows", "a", "b", "e"), p("b"), p("a")].concat()).await.unwrap();
    let text = [p("c"), edge("Knows", "c", "a", "f"), edge("Knows", "c", "nobody", "g")].concat();
    let found = violation(append(&graph, &text).await);
    assert_eq!((found.kind, found.source_row), (ConstraintKind::OrphanEdge, Some(3)));
    assert_eq!((found.type_name.as_str(), found.entity.as_deref()), ("Knows", Some("g")));
    assert_eq!(found.properties, ["dst"]);
    assert!(found.message.contains("\"nobody\" is no P"), "{}", found.message);
    assert_eq!(ids(&graph, "P").await, ["a", "b"]);
}

#[tokio::test]
async fn edge_has_both_its_ends() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), n("n1")].concat()).await.unwrap();
    for (edge, missing) in [(edge("Works", "nobody", "n1", "e"), "src"), (edge("Works", "a", "nothing", "e"), "dst")] {
        let found = violation(append(&graph, &edge).await);
        assert_eq!((found.kind, found.properties), (ConstraintKind::OrphanEdge, vec![missing.to_owned()]));
    }
}

#[tokio::test]
async fn required_value_that_is_no_key_is_there() {
    let (_root, graph) = graph(SPEC).await;
    for line in [r#"{"type":"N"}"#, r#"{"type":"N","data":{"x":null}}"#] {
        let found = violation(append(&graph, line).await);
        assert_eq!((found.kind, found.properties), (ConstraintKind::Null, vec!["x".to_owned()]));
    }
}

#[tokio::test]
async fn node_of_another_type_is_no_endpoint() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), n("n1")].concat()).await.unwrap();
    assert_eq!(
        kind_and_row(append(&graph, &edge("Knows", "a", "n1", "e")).await),
        (ConstraintKind::OrphanEdge, Some(1))
    );
}

#[tokio::test]
async fn many_orphans_are_counted_and_the_first_are_listed() {
    let (_root, graph) = graph(SPEC).await;
    let text: String = (0..50).map(|at| edge("Knows", "a", &format!("gone{at}"), &format!("e{at}"))).collect();
    let found = violations(append(&graph, &[p("a"), text].concat()).await);
    let listed: Vec<_> = found.iter().map(|violation| violation.source_row.unwrap()).collect();
    assert_eq!(listed, (2..12).collect::<Vec<_>>());
}

#[tokio::test]
async fn second_edge_of_a_source_bounded_to_one_is_refused() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), n("n1"), n("n2"), edge("Works", "a", "n1", "w")].concat()).await.unwrap();
    let found = violation(append(&graph, &edge("Works", "a", "n2", "w2")).await);
    assert_eq!((found.kind, found.source_row), (ConstraintKind::Cardinality, Some(1)));
    assert!(found.message.starts_with("2 edges would leave \"a\""), "{}", found.message);
    merge(&graph, &edge("Works", "a", "n2", "w")).await.unwrap();
    assert_eq!(rows(&graph, "Works").await, ["w|a|n2"]);
    let both = [edge("Works", "a", "n1", "x"), edge("Works", "a", "n2", "y")].concat();
    assert_eq!(violation(overwrite(&graph, &both).await).kind, ConstraintKind::Cardinality);
}

#[tokio::test]
async fn moving_the_last_edge_of_a_source_that_needs_one_is_refused() {
    let (_root, graph) = graph(SPEC).await;
    let text = [p("a"), p("b"), n("n1"), edge("Owns", "a", "n1", "o1"), edge("Owns", "b", "n1", "o2")].concat();
    append(&graph, &text).await.unwrap();
    let found = violation(merge(&graph, &edge("Owns", "b", "n1", "o1")).await);
    assert_eq!((found.kind, found.source_row), (ConstraintKind::Cardinality, None));
    assert!(found.message.starts_with("0 edges would leave \"a\""), "{}", found.message);
    let moved = [edge("Owns", "b", "n1", "o1"), edge("Owns", "a", "n1", "o3")].concat();
    merge(&graph, &moved).await.unwrap();
    assert_eq!(rows(&graph, "Owns").await, ["o1|b|n1", "o2|b|n1", "o3|a|n1"]);
}

#[tokio::test]
async fn node_without_the_edges_it_should_have_is_taken_until_an_edge_write_touches_it() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b"), n("n1"), edge("Owns", "a", "n1", "o1")].concat()).await.unwrap();
    let found = violation(overwrite(&graph, &edge("Owns", "b", "n1", "o2")).await);
    assert!(found.message.starts_with("0 edges would leave \"a\""), "{}", found.message);
    overwrite(&graph, &[p("b"), edge("Owns", "b", "n1", "o2")].concat()).await.unwrap();
    assert_eq!(ids(&graph, "P").await, ["b"]);
}

#[tokio::test]
async fn self_loops_and_parallel_edges_are_stored() {
    let (_root, graph) = graph(SPEC).await;
    let text = [p("a"), edge("Knows", "a", "a", "e1"), edge("Knows", "a", "a", "e2")].concat();
    append(&graph, &text).await.unwrap();
    assert_eq!(rows(&graph, "Knows").await, ["e1|a|a", "e2|a|a"]);
}
