use super::{Graph, column};

fn ages() -> Graph {
    let rows = r#"{"id":"a","k":"a","age":2,"f":2.5,"n":9007199254740993,"u":18446744073709551615}
{"id":"b","k":"b","age":3,"f":0.0,"n":-5,"u":5}
{"id":"c","k":"c","f":-0.0,"n":9007199254740992,"u":9007199254740993}
{"id":"d","k":"d","age":-7,"f":9007199254740992.0,"n":2}"#;
    Graph::empty().with("P", rows)
}

async fn keys(graph: &Graph, filter: &str) -> Vec<Vec<String>> {
    graph.set(&format!("match {{ $p: P  {filter} }} return {{ $p.k }}")).await
}

#[tokio::test]
async fn fraction_matches_no_integer_and_bounds_are_not_cut() {
    let graph = ages();
    assert!(keys(&graph, "$p.age = 2.7").await.is_empty());
    assert_eq!(keys(&graph, "$p.age != 2.7").await, column(&["a", "b", "d"]));
    assert_eq!(keys(&graph, "$p.age < 2.7").await, column(&["a", "d"]));
    assert_eq!(keys(&graph, "$p.age >= 2.7").await, column(&["b"]));
    assert_eq!(keys(&graph, "$p.age > -5").await, column(&["a", "b"]));
    assert_eq!(keys(&graph, "$p.age < 1e5").await, column(&["a", "b", "d"]));
}

#[tokio::test]
async fn null_is_left_out_by_every_comparison_and_by_its_negation() {
    let graph = ages();
    assert_eq!(keys(&graph, "$p.age < 3").await, column(&["a", "d"]));
    assert_eq!(keys(&graph, "$p.age != 3").await, column(&["a", "d"]));
    assert_eq!(keys(&graph, "not $p.age = 3").await, column(&["a", "d"]));
    assert_eq!(keys(&graph, "not $p.age = 2.7").await, column(&["a", "b", "d"]));
    assert_eq!(keys(&graph, "$p.age is null").await, column(&["c"]));
    assert_eq!(keys(&graph, "$p.age is not null").await, column(&["a", "b", "d"]));
    assert_eq!(keys(&graph, r#"$p.age = 3 or $p.k = "c""#).await, column(&["b", "c"]));
    assert_eq!(keys(&graph, r#"not ($p.age = 3 and $p.k = "c")"#).await, column(&["a", "b", "d"]));
}

#[tokio::test]
async fn columns_of_different_numeric_types_compare_by_exact_value() {
    let graph = ages();
    // 9007199254740993 and 9007199254740992.0 are one double apart only after rounding.
    let both = "match { $p: P  $q: P  $p.n = $q.f } return { $p.k, $q.k as other }";
    assert_eq!(graph.set(both).await, vec![vec!["c".to_owned(), "d".to_owned()]]);
    let above = r#"match { $p: P  $q: P  $q.k = "d"  $p.n > $q.f } return { $p.k }"#;
    assert_eq!(graph.set(above).await, column(&["a"]));
    let integers = "match { $p: P  $q: P  $p.n = $q.u } return { $p.k, $q.k as other }";
    assert_eq!(graph.set(integers).await, vec![vec!["a".to_owned(), "c".to_owned()]]);
    let signs = "match { $p: P  $p.n < $p.u } return { $p.k }";
    assert_eq!(graph.set(signs).await, column(&["a", "b", "c"]));
    let mixed = "match { $p: P  $p.age < $p.f } return { $p.k }";
    assert_eq!(graph.set(mixed).await, column(&["a", "d"]));
}

#[tokio::test]
async fn both_zeros_are_equal() {
    let graph = ages();
    assert_eq!(keys(&graph, "$p.f = 0.0").await, column(&["b", "c"]));
    assert_eq!(keys(&graph, "$p.f < 0.0").await, column(&[]));
    assert_eq!(keys(&graph, "$p.f >= 0").await, column(&["a", "b", "c", "d"]));
    assert_eq!(keys(&graph, "$p.f in [0, 7]").await, column(&["b", "c"]));
    let joined = "match { $p: P  $q: P  $p.f = $q.f  $p.k != $q.k } return { $p.k }";
    assert_eq!(graph.set(joined).await, column(&["b", "c"]));
}

fn texts() -> Graph {
    let rows = r#"{"id":"100%","k":"100%","tags":["x","y"],"nums":[1,2],"repoName":"R'1 -- \"","order":"o","kind":"a"}
{"id":"1000","k":"1000","tags":[],"nums":[3],"kind":"B"}
{"id":"A_b","k":"A_b","repoName":"r"}
{"id":"Axb","k":"Axb"}
{"id":"é","k":"é"}"#;
    Graph::empty().with("P", rows)
}

#[tokio::test]
async fn percent_and_underscore_and_case_are_ordinary_characters() {
    let graph = texts();
    assert_eq!(keys(&graph, r#"$p.k contains "%""#).await, column(&["100%"]));
    assert_eq!(keys(&graph, r#"$p.k contains "_""#).await, column(&["A_b"]));
    assert_eq!(keys(&graph, r#"$p.k contains "a""#).await, column(&[]));
    assert_eq!(keys(&graph, r#"$p.k contains """#).await.len(), 5);
    assert_eq!(keys(&graph, r#"$p.k starts_with "100%""#).await, column(&["100%"]));
    assert_eq!(keys(&graph, r#"$p.k starts_with "A_""#).await, column(&["A_b"]));
    assert_eq!(keys(&graph, r#"$p.k starts_with "\\""#).await, column(&[]));
    assert_eq!(keys(&graph, r#"$p.repoName contains $p.order"#).await, column(&[]));
}

#[tokio::test]
async fn text_is_ordered_by_bytes() {
    let graph = texts();
    assert_eq!(keys(&graph, r#"$p.k < "A_b""#).await, column(&["100%", "1000"]));
    assert_eq!(keys(&graph, r#"$p.k > "a""#).await, column(&["é"]));
}

#[tokio::test]
async fn list_membership_works_both_ways_and_null_is_unknown() {
    let graph = texts();
    assert_eq!(keys(&graph, r#"$p.tags contains "x""#).await, column(&["100%"]));
    assert_eq!(keys(&graph, r#"not $p.tags contains "x""#).await, column(&["1000"]));
    assert_eq!(keys(&graph, r#"["1000", "é", "zz"] contains $p.k"#).await, column(&["1000", "é"]));
    assert_eq!(keys(&graph, r#"$p.k in ["1000"]"#).await, column(&["1000"]));
    assert_eq!(keys(&graph, "$p.nums contains 2.0").await, column(&["100%"]));
    assert_eq!(keys(&graph, "$p.nums contains 2.5").await, column(&[]));
    assert_eq!(keys(&graph, "not $p.nums contains 2.5").await, column(&["100%", "1000"]));
    assert_eq!(keys(&graph, r#"$p.kind in ["a"]"#).await, column(&["100%"]));
    let body = "match { $p: P  $xs contains $p.k } return { $p.k }";
    let mut found = graph.rows_with("$xs: [String]", body, r#"{"xs":["é","100%"]}"#).await;
    found.sort();
    assert_eq!(found, column(&["100%", "é"]));
    assert!(graph.rows_with("$xs: [String]", body, r#"{"xs":[]}"#).await.is_empty());
    let negated = "match { $p: P  not $xs contains $p.k } return { $p.k }";
    assert_eq!(graph.rows_with("$xs: [String]", negated, r#"{"xs":[]}"#).await.len(), 5);
    let by_column = "match { $p: P  $q: P  $p.tags contains $q.k } return { $p.k }";
    assert!(graph.rows(by_column).await.is_empty());
}

#[tokio::test]
async fn inline_match_of_a_list_means_contains() {
    let graph = texts();
    let body = r#"match { $p: P { tags: "y", kind: "a" } } return { $p.k }"#;
    assert_eq!(graph.rows(body).await, column(&["100%"]));
}

#[tokio::test]
async fn names_like_keywords_and_mixed_case_and_quotes_are_only_names_and_text() {
    let graph = texts();
    assert_eq!(keys(&graph, r#"$p.order = "o""#).await, column(&["100%"]));
    assert_eq!(keys(&graph, r#"$p.repoName = "R'1 -- \"""#).await, column(&["100%"]));
    let body = "match { $p: P } return { $p.repoName, $p.order as order } order { $p.repoName desc } limit 1";
    assert_eq!(graph.rows(body).await, vec![vec!["r".to_owned(), "null".to_owned()]]);
}

#[tokio::test]
async fn nullable_parameter_left_out_matches_nothing() {
    let graph = ages();
    let body = "match { $p: P  $p.age = $x } return { $p.k }";
    assert!(graph.rows_with("$x: I32?", body, "{}").await.is_empty());
    assert_eq!(graph.rows_with("$x: I32?", body, r#"{"x":3}"#).await, column(&["b"]));
    let exact = "match { $p: P  $p.n = $x } return { $p.k }";
    assert_eq!(graph.rows_with("$x: I64", exact, r#"{"x":"9007199254740993"}"#).await, column(&["a"]));
}

#[tokio::test]
async fn dates_compare_with_literals_and_now() {
    let rows = r#"{"id":"a","k":"a","d":"2024-01-01","at":"2024-05-01T09:59:59.999Z"}
{"id":"b","k":"b","d":"2024-06-01","at":"2024-05-01T10:00:00.001Z"}"#;
    let graph = Graph::empty().with("P", rows);
    assert_eq!(keys(&graph, r#"$p.d < date("2024-02-01")"#).await, column(&["a"]));
    assert_eq!(keys(&graph, "$p.at > now()").await, column(&["b"]));
    assert_eq!(keys(&graph, r#"$p.at = datetime("2024-05-01T10:00:00.001Z")"#).await, column(&["b"]));
}

#[tokio::test]
async fn key_of_a_number_is_found_by_value() {
    let graph = Graph::empty().with("K", "{\"id\":\"7\",\"code\":7}\n{\"id\":\"8\",\"code\":8}");
    assert_eq!(graph.rows("match { $k: K { code: 7 } } return { $k.id }").await, column(&["7"]));
    assert_eq!(graph.rows("match { $k: K  $k.code = 8.0 } return { $k.id }").await, column(&["8"]));
}
