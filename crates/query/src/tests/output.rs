use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, TimeUnit};

use super::{Graph, column, table};

fn graph() -> Graph {
    let rows = r#"{"id":"a","k":"a","age":2,"f":1.0,"tags":["x"],"v":[0.5,1.5],"kind":"B","d":"2024-01-01","at":"2024-01-01T00:00:00Z"}
{"id":"b","k":"b","f":-0.0}
{"id":"c","k":"c","age":2,"f":0.0}
{"id":"d","k":"d","age":1,"f":-1.0}"#;
    Graph::empty().with("P", rows)
}

#[tokio::test]
async fn null_comes_first_ascending_and_last_descending_and_ties_by_id() {
    let graph = graph();
    let up = "match { $p: P } return { $p.k } order { $p.age }";
    assert_eq!(graph.rows(up).await, column(&["b", "d", "a", "c"]));
    let down = "match { $p: P } return { $p.k as key } order { $p.age desc }";
    assert_eq!(graph.rows(down).await, column(&["a", "c", "d", "b"]));
    let zeros = "match { $p: P } return { $p.k } order { $p.f }";
    assert_eq!(graph.rows(zeros).await, column(&["d", "b", "c", "a"]));
}

#[tokio::test]
async fn skip_and_limit_cut_a_total_order() {
    let graph = graph();
    let body = "match { $p: P } return { $p.k as key } order { key desc } skip 1 limit 2";
    assert_eq!(graph.rows(body).await, column(&["c", "b"]));
    let params = "match { $p: P } return { $p.k } order { $p.k } skip $s limit $n";
    let rows = graph.rows_with("$s: I64, $n: U64", params, r#"{"s":3,"n":"18446744073709551615"}"#).await;
    assert_eq!(rows, column(&["d"]));
    assert_eq!(graph.rows("match { $p: P } return { $p.k } limit 3").await.len(), 3);
    assert!(graph.rows("match { $p: P } return { $p.k } order { $p.k } skip 9").await.is_empty());
}

#[tokio::test]
async fn no_rows_still_have_names_types_and_nullability_of_the_schema() {
    let text = "query q() { match { $p: P } return { $p.k, $p.age as a, $p.tags, $p.v, $p.at, $p.kind, $p, count($p.k) as n } limit 0 }";
    let plain = text.replace(", count($p.k) as n", "");
    for (text, rows) in [(plain.as_str(), "limit 0"), (plain.as_str(), "")] {
        let text = text.replace("limit 0", rows);
        let graph = Graph::empty();
        let batch = graph.run(&text, "{}").await.unwrap();
        assert_eq!(batch.num_rows(), 0);
        let schema = batch.schema();
        let described: Vec<_> = schema
            .fields()
            .iter()
            .map(|field| (field.name().as_str(), field.data_type().clone(), field.is_nullable()))
            .collect();
        assert_eq!(described[0], ("p.k", DataType::Utf8, false));
        assert_eq!(described[1], ("a", DataType::Int32, true));
        assert!(matches!(&described[2].1, DataType::List(item) if item.data_type() == &DataType::Utf8));
        assert!(matches!(&described[3].1, DataType::FixedSizeList(_, 2)));
        assert_eq!(described[4].1, DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())));
        assert_eq!((described[5].0, &described[5].1), ("p.kind", &DataType::Utf8));
        let DataType::Struct(fields) = &described[6].1 else { panic!("{:?}", described[6]) };
        assert_eq!((fields[0].name().as_str(), fields[0].is_nullable()), ("id", false));
        assert_eq!((fields[1].name().as_str(), fields[1].is_nullable()), ("k", false));
        assert!(fields.iter().all(|field| field.name() != "b"), "a Blob is never returned");
        assert!(!described[6].2);
    }
}

#[tokio::test]
async fn node_is_a_struct_of_id_and_properties() {
    let batch = graph().run(r#"query q() { match { $p: P { k: "a" } } return { $p } }"#, "{}").await.unwrap();
    let node = batch.column(0).as_struct();
    let text = |name: &str| node.column_by_name(name).unwrap().as_string::<i32>().value(0).to_owned();
    assert_eq!((text("id"), text("k"), text("kind")), ("a".to_owned(), "a".to_owned(), "B".to_owned()));
    assert_eq!(node.column_by_name("v").unwrap().len(), 1);
    assert!(node.column_by_name("n").unwrap().is_null(0));
}

#[tokio::test]
async fn literals_now_and_ids_are_columns() {
    let body =
        r#"match { $p: P { k: "a" } } return { $p.id, 7 as seven, "it's" as text, now(), 1.5 as f, [1, 2] as list }"#;
    let rows = graph().rows(body).await;
    assert_eq!(
        rows,
        table(&["a 7 it's 2024-05-01T10:00:00Z 1.5 [1,_2]"])
            .into_iter()
            .map(|mut row| {
                row[5] = row[5].replace('_', " ");
                row
            })
            .collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn node_orders_by_its_id() {
    let rows = graph().rows("match { $p: P } return { $p as node, $p.k } order { node desc } limit 1").await;
    assert_eq!(rows[0][1], "d");
}

#[tokio::test]
async fn many_rows_keep_their_order_through_batches() {
    let lines: String =
        (0..20_000).map(|row| format!("{{\"id\":\"n{:05}\",\"x\":{}}}\n", (row * 7_919) % 20_000, row % 10)).collect();
    let graph = Graph::empty().with("N", &lines);
    let rows = graph.rows("match { $n: N } return { $n.x, $n.id } order { $n.x desc }").await;
    assert_eq!(rows.len(), 20_000);
    let in_order = |pair: &[Vec<String>]| {
        let key = |row: &Vec<String>| (std::cmp::Reverse(row[0].parse::<i32>().unwrap()), row[1].clone());
        key(&pair[0]) < key(&pair[1])
    };
    assert!(rows.windows(2).all(in_order));
}
