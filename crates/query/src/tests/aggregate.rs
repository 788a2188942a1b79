use arrow::datatypes::DataType;
use omnigraph_types::Problem;

use super::{Graph, column, table};

fn graph() -> Graph {
    let rows = r#"{"id":"a","k":"a","age":2,"n":10,"u":1,"f":0.5,"g":0.25,"kind":"a","d":"2024-01-02","at":"2024-01-02T00:00:00Z"}
{"id":"b","k":"b","age":3,"n":20,"u":2,"f":1.5,"g":0.5,"kind":"a","d":"2024-01-01"}
{"id":"c","k":"c","n":-30,"f":0.0}
{"id":"d","k":"d","age":4,"f":-0.0,"kind":"B"}"#;
    Graph::empty().with("P", rows)
}

#[tokio::test]
async fn aggregates_skip_null_and_have_their_types() {
    let text = "query q() { match { $p: P } return { count($p) as rows, count($p.age), sum($p.age), sum($p.n), sum($p.u), sum($p.g),
        avg($p.age), avg($p.f), min($p.k), max($p.d), max($p.age), min($p.at) } }";
    let batch = graph().run(text, "{}").await.unwrap();
    let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names[..3], ["rows", "count(p.age)", "sum(p.age)"]);
    let types: Vec<_> = batch.schema().fields().iter().map(|field| field.data_type().clone()).collect();
    use DataType::{Date32, Float64, Int32, Int64, UInt64, Utf8};
    assert_eq!(types[..11], [Int64, Int64, Int64, Int64, UInt64, Float64, Float64, Float64, Utf8, Date32, Int32]);
    let expected = "4 3 9 0 3 0.75 3.0 0.5 a 2024-01-02 4 2024-01-02T00:00:00Z";
    assert_eq!(super::text_of(&batch), table(&[expected]));
}

#[tokio::test]
async fn no_rows_give_one_row_without_keys_and_none_with_keys() {
    let graph = Graph::empty();
    assert_eq!(
        graph.rows("match { $p: P } return { count($p) as n, sum($p.n), avg($p.f), min($p.k) }").await,
        table(&["0 null null null"])
    );
    assert!(graph.rows("match { $p: P } return { $p.kind, count($p) as n }").await.is_empty());
}

#[tokio::test]
async fn average_and_sum_over_null_alone_are_null() {
    let rows = graph().rows(r#"match { $p: P { k: "d" } } return { avg($p.n), sum($p.n), count($p.n) as n }"#).await;
    assert_eq!(rows, table(&["null null 0"]));
}

#[tokio::test]
async fn null_is_a_group_of_its_own_and_zeros_are_one_group() {
    let rows = graph().rows("match { $p: P } return { $p.kind, count($p) as n } order { $p.kind }").await;
    assert_eq!(rows, table(&["null 1", "B 1", "a 2"]));
    let rows = graph().rows("match { $p: P } return { $p.f, count($p) as n } order { n desc } limit 1").await;
    assert_eq!(rows, table(&["0.0 2"]));
}

#[tokio::test]
async fn ties_of_groups_come_out_by_key() {
    let graph = Graph::empty().persons(&["c", "a", "d", "b"]);
    let rows = graph.rows("match { $p: P } return { count($p) as n, $p.k } order { n desc }").await;
    assert_eq!(rows, table(&["1 a", "1 b", "1 c", "1 d"]));
}

#[tokio::test]
async fn node_as_key_groups_by_id() {
    let graph = Graph::empty().persons(&["a", "b"]).edges("Knows", &[("a", "b"), ("a", "a"), ("b", "a")]);
    let rows = graph.rows("match { $p: P  $p knows $q } return { $p, count($q) as n } order { n desc }").await;
    assert_eq!(rows.iter().map(|row| row[1].as_str()).collect::<Vec<_>>(), ["2", "1"]);
    assert!(rows[0][0].starts_with("{id: a, k: a, age: "), "{}", rows[0][0]);
}

#[tokio::test]
async fn sums_beyond_the_range_fail_and_at_the_edge_do_not() {
    let rows = r#"{"id":"a","k":"a","n":9223372036854775807,"u":18446744073709551615,"f":1.7e308}
{"id":"b","k":"b","n":-1,"u":0,"f":1.0}
{"id":"c","k":"c","n":1,"f":-1.0}"#;
    let graph = Graph::empty().with("P", rows);
    assert_eq!(
        graph.rows("match { $p: P } return { sum($p.n), sum($p.u) }").await,
        table(&["9223372036854775807 18446744073709551615"])
    );
    let more = r#"{"id":"d","k":"d","n":1,"u":1,"f":1.7e308}"#;
    let graph = graph.with("P", more);
    for (sum, result) in [("sum($p.n)", "I64"), ("sum($p.u)", "U64"), ("sum($p.f)", "F64")] {
        let failure = graph.failure(&format!("match {{ $p: P }} return {{ {sum} as total }}")).await;
        assert_eq!(failure.problem, Problem::EvaluationFailed { column: "total".to_owned() });
        assert!(failure.message.contains("\"total\"") && failure.message.contains(result), "{}", failure.message);
    }
}

#[tokio::test]
async fn average_of_large_floats_is_their_mean_though_their_sum_overflows() {
    let rows = r#"{"id":"a","k":"a","f":1.7e308}
{"id":"b","k":"b","f":1.5e308}"#;
    let graph = Graph::empty().with("P", rows);
    assert_eq!(graph.rows("match { $p: P } return { avg($p.f) }").await, column(&["1.6e308"]));
    let graph = Graph::empty().with("P", &rows.replace(":1", ":-1"));
    assert_eq!(graph.rows("match { $p: P } return { avg($p.f) }").await, column(&["-1.6e308"]));
}

#[tokio::test]
async fn average_of_large_integers_is_taken_from_the_exact_sum() {
    let rows = r#"{"id":"a","k":"a","n":9223372036854775807}
{"id":"b","k":"b","n":9223372036854775807}"#;
    let graph = Graph::empty().with("P", rows);
    assert_eq!(graph.rows("match { $p: P } return { avg($p.n) }").await, column(&["9.223372036854776e18"]));
}

#[tokio::test]
async fn two_columns_of_one_property_are_two_columns() {
    let graph = Graph::empty().persons(&["a", "b"]);
    let rows = graph.rows("match { $p: P } return { $p.k as x, $p.k as y, count($p) as n } order { x desc }").await;
    assert_eq!(rows, table(&["b b 1", "a a 1"]));
}
