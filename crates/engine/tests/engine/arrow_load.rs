//! Arrow batches: columns by name, casts that keep every value, rows by number.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Date64Array, DictionaryArray, FixedSizeListArray, Float32Array, Float64Array,
    Int8Array, Int32Array, Int64Array, LargeListArray, LargeStringArray, ListArray, NullArray, StringArray,
    StringViewArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampSecondArray, UInt64Array,
};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int32Type, Int64Type};
use omnigraph_types::{ConstraintKind, LoadMode, Problem};

use crate::support::{
    SPEC, append, batch, graph, ids, invalid, kind_and_row, list_type, load_batches, mint, p, request, rows, tester,
    value, violation, write_batches,
};

const WIDE: &str = "
node W { k: String @key b: Bool? i: I32? l: I64? u: U32? ul: U64? f: F32? g: F64? d: Date? at: DateTime?
         kind: enum(x, y)? names: [String]? counts: [I32]? v: Vector(2)?
         @range(l, 0..100) @check(k, \"^[a-z]\") }
";

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[tokio::test]
async fn columns_of_other_types_are_cast_where_every_value_is_kept() {
    let (_root, graph) = graph(WIDE).await;
    let dictionary: DictionaryArray<Int32Type> = vec!["x", "y"].into_iter().collect();
    let lists = LargeListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), Some(2)]), None]);
    let vectors = ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(0.5), Some(1.5)]), None]);
    let rows_sent = batch(vec![
        ("g", Arc::new(Float32Array::from(vec![0.5, 1.5]))),
        ("k", Arc::new(StringViewArray::from(vec!["a", "b"]))),
        ("i", Arc::new(Int64Array::from(vec![Some(-1), None]))),
        ("l", Arc::new(Int8Array::from(vec![7, 8]))),
        ("u", Arc::new(UInt64Array::from(vec![4_294_967_295, 0]))),
        ("ul", Arc::new(Int32Array::from(vec![0, 1]))),
        ("f", Arc::new(Float64Array::from(vec![0.1, 2.0]))),
        ("d", Arc::new(Date64Array::from(vec![86_400_000, -86_400_000]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![1_000, 2_000]).with_timezone("+02:00"))),
        ("kind", Arc::new(dictionary)),
        ("counts", Arc::new(lists)),
        ("v", Arc::new(vectors)),
        ("b", Arc::new(NullArray::new(2))),
    ]);
    load_batches(&graph, LoadMode::Append, "W", &[rows_sent]).await.unwrap();
    assert_eq!(
        rows(&graph, "W").await,
        [
            "a|a|-|-1|7|4294967295|0|0.1|0.5|1970-01-02|1970-01-01T00:00:00.001Z|x|-|[1, 2]|[0.5, 1.5]",
            "b|b|-|-|8|0|1|2.0|1.5|1969-12-31|1970-01-01T00:00:00.002Z|y|-|-|-",
        ]
    );
}

#[tokio::test]
async fn more_casts_that_keep_every_value() {
    let (_root, graph) = graph(WIDE).await;
    let names = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(3), Some(4)])], 2);
    let sent = batch(vec![
        ("k", Arc::new(LargeStringArray::from(vec!["a"]))),
        ("g", Arc::new(Int64Array::from(vec![9_007_199_254_740_992]))),
        ("f", Arc::new(UInt64Array::from(vec![16_777_216]))),
        ("d", Arc::new(TimestampSecondArray::from(vec![86_400]))),
        ("at", Arc::new(Date32Array::from(vec![1]))),
        ("counts", Arc::new(names)),
        (
            "v",
            Arc::new(FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(
                [Some(vec![Some(1.0), Some(2.0)])],
                2,
            )),
        ),
    ]);
    load_batches(&graph, LoadMode::Append, "W", &[sent]).await.unwrap();
    let expected = "a|a|-|-|-|-|-|16777216.0|9007199254740992.0|1970-01-02|1970-01-02T00:00:00Z|-|-|[3, 4]|[1.0, 2.0]";
    assert_eq!(rows(&graph, "W").await, [expected]);
}

#[tokio::test]
async fn value_that_a_cast_would_change_is_refused_by_row_and_column() {
    let (_root, graph) = graph(WIDE).await;
    let cases: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int64Array::from(vec![1, 2_147_483_648]))),
        ("u", Arc::new(Int32Array::from(vec![1, -1]))),
        ("g", Arc::new(Int64Array::from(vec![1, 9_007_199_254_740_993]))),
        ("g", Arc::new(UInt64Array::from(vec![1, u64::MAX]))),
        ("f", Arc::new(Int32Array::from(vec![1, 16_777_217]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![1_000, 1_001]))),
        ("at", Arc::new(TimestampSecondArray::from(vec![1, i64::MAX]))),
        ("d", Arc::new(Date64Array::from(vec![0, 1]))),
        (
            "counts",
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([
                Some(vec![Some(1), Some(2)]),
                Some(vec![Some(3), Some(i64::MAX)]),
            ])),
        ),
    ];
    for (column, array) in cases {
        let sent = batch(vec![("k", texts(&["a", "b"])), (column, array)]);
        let found = invalid(load_batches(&graph, LoadMode::Append, "W", &[sent]).await);
        assert_eq!(found, (Some(2), Some(column.to_owned())));
    }
}

#[tokio::test]
async fn value_outside_of_its_type_or_rule_is_a_violation_by_row() {
    let (_root, graph) = graph(WIDE).await;
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        [Some(vec![Some(1.0), Some(2.0)]), Some(vec![Some(1.0), None])],
        2,
    );
    let cases: Vec<(&str, ArrayRef, ConstraintKind)> = vec![
        ("g", Arc::new(Float64Array::from(vec![1.0, f64::NAN])), ConstraintKind::Range),
        ("f", Arc::new(Float64Array::from(vec![1.0, 1e300])), ConstraintKind::Range),
        ("l", Arc::new(Int64Array::from(vec![0, 101])), ConstraintKind::Range),
        ("d", Arc::new(Date32Array::from(vec![0, 3_000_000])), ConstraintKind::Range),
        (
            "at",
            Arc::new(TimestampMillisecondArray::from(vec![0, i64::MAX]).with_timezone("UTC")),
            ConstraintKind::Range,
        ),
        ("kind", texts(&["x", "X"]), ConstraintKind::Enum),
        ("k", texts(&["a", "B"]), ConstraintKind::Check),
        ("k", Arc::new(StringArray::from(vec![Some("a"), None])), ConstraintKind::Null),
        ("v", Arc::new(vectors), ConstraintKind::Vector),
        (
            "v",
            Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>([
                Some(vec![Some(1.0), Some(2.0)]),
                Some(vec![Some(1.0)]),
            ])),
            ConstraintKind::Vector,
        ),
        (
            "counts",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), Some(vec![None])])),
            ConstraintKind::Null,
        ),
    ];
    for (column, array, kind) in cases {
        let mut columns = vec![(column, array)];
        if column != "k" {
            columns.push(("k", texts(&["a", "b"])));
        }
        let found = violation(load_batches(&graph, LoadMode::Append, "W", &[batch(columns)]).await);
        assert_eq!((found.kind, found.source_row, found.properties), (kind, Some(2), vec![column.to_owned()]));
    }
    assert_eq!(ids(&graph, "W").await.len(), 0);
}

#[tokio::test]
async fn what_lies_under_a_null_is_not_looked_at() {
    let (_root, graph) = graph(WIDE).await;
    let nulls = arrow::buffer::NullBuffer::from(vec![true, false]);
    let sent = batch(vec![
        ("k", texts(&["a", "b"])),
        ("g", Arc::new(Float64Array::new(vec![1.0, f64::NAN].into(), Some(nulls.clone())))),
        ("l", Arc::new(Int64Array::new(vec![1, 101].into(), Some(nulls.clone())))),
        ("i", Arc::new(Int64Array::new(vec![1, i64::MAX].into(), Some(nulls)))),
    ]);
    load_batches(&graph, LoadMode::Append, "W", &[sent]).await.unwrap();
    assert_eq!(ids(&graph, "W").await, ["a", "b"]);
}

#[tokio::test]
async fn columns_that_do_not_fit_are_refused_before_data() {
    let (_root, graph) = graph(SPEC).await;
    let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let mut refused = async |type_name: &str, columns: Vec<(&str, ArrayRef)>| {
        let failure = load.accept_schema(type_name, &batch(columns).schema()).await.unwrap_err();
        (failure.problem, failure.message)
    };
    let (problem, message) = refused("P", vec![("k", texts(&["a"])), ("agee", ints.clone())]).await;
    assert!(matches!(problem, Problem::LoadInvalid { column: Some(column), .. } if column == "agee"));
    assert!(message.contains("age I32") && message.contains("kind String"), "{message}");
    let (problem, message) = refused("P", vec![("age", ints.clone())]).await;
    assert!(matches!(problem, Problem::LoadInvalid { column: Some(column), .. } if column == "k"));
    assert!(message.contains("needs the column \"k\""), "{message}");
    let (problem, _) = refused("Knows", vec![("src", texts(&["a"]))]).await;
    assert!(matches!(problem, Problem::LoadInvalid { column: Some(column), .. } if column == "dst"));
    let (problem, message) = refused("P", vec![("k", ints.clone())]).await;
    assert!(matches!(problem, Problem::LoadInvalid { column: Some(column), .. } if column == "k"));
    assert!(message.contains("is String"), "{message}");
    let (problem, _) = refused("P", vec![("k", texts(&["a"])), ("age", Arc::new(Float64Array::from(vec![1.0])))]).await;
    assert!(matches!(problem, Problem::LoadInvalid { column: Some(column), .. } if column == "age"));
    let (problem, _) =
        refused("P", vec![("k", texts(&["a"])), ("tags", Arc::new(BooleanArray::from(vec![true])))]).await;
    assert!(matches!(problem, Problem::LoadInvalid { column: Some(column), .. } if column == "tags"));
    let (problem, message) = refused("Nope", vec![("k", texts(&["a"]))]).await;
    assert!(matches!(problem, Problem::NotFound { name, .. } if name == "Nope"));
    assert!(message.contains("Knows"), "{message}");
}

#[tokio::test]
async fn supplied_ids_of_keyed_types_must_equal_the_key() {
    let (_root, graph) = graph("node I { n: I64 @key }").await;
    let numbers = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
    let sent = |ids: Vec<Option<&str>>| {
        batch(vec![("id", Arc::new(StringArray::from(ids)) as ArrayRef), ("n", numbers(vec![6, 7]))])
    };
    for wrong in [sent(vec![Some("6"), Some("007")]), sent(vec![Some("6"), None])] {
        let found = invalid(load_batches(&graph, LoadMode::Append, "I", &[wrong]).await);
        assert_eq!(found, (Some(2), Some("id".to_owned())));
    }
    load_batches(&graph, LoadMode::Append, "I", &[sent(vec![Some("6"), Some("7")])]).await.unwrap();
    assert_eq!(ids(&graph, "I").await, ["6", "7"]);
}

#[tokio::test]
async fn ids_of_keyless_types_are_the_clients_or_fresh_ulids() {
    let (_root, graph) = graph("node N { x: I32 }").await;
    let x: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let some: ArrayRef = Arc::new(StringArray::from(vec![Some("mine"), None, None]));
    load_batches(&graph, LoadMode::Append, "N", &[batch(vec![("id", some), ("x", x.clone())])]).await.unwrap();
    load_batches(&graph, LoadMode::Append, "N", &[batch(vec![("x", x)])]).await.unwrap();
    let found = ids(&graph, "N").await;
    assert_eq!(found.iter().filter(|id| *id == "mine").count(), 1);
    let minted: std::collections::BTreeSet<_> = found.iter().filter(|id| id.len() == 26).collect();
    assert_eq!(minted.len(), 5);
    let again: ArrayRef = Arc::new(StringArray::from(vec!["mine"]));
    let again = batch(vec![("id", again), ("x", Arc::new(Int32Array::from(vec![9])))]);
    let failure = load_batches(&graph, LoadMode::Append, "N", &[again]).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::KeyConflict { .. }));
}

#[tokio::test]
async fn rows_are_numbered_per_stream_and_types_go_into_one_commit() {
    let (_root, graph) = graph(SPEC).await;
    let people = |names: &[&str]| batch(vec![("k", texts(names))]);
    let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    write_batches(&mut load, "Knows", &[batch(vec![("src", texts(&["a", "b"])), ("dst", texts(&["b", "c"]))])])
        .await
        .unwrap();
    write_batches(&mut load, "P", &[people(&["a"]), people(&["b", "c"])]).await.unwrap();
    assert_eq!(load.rows(), 5);
    let commit = load.finish().await.unwrap().commit.unwrap();
    let counts: Vec<_> = commit.counts.iter().map(|count| (count.type_name.as_str(), count.inserted)).collect();
    assert_eq!(counts, [("Knows", 2), ("P", 3)]);
    let twice =
        load_batches(&graph, LoadMode::Merge, "P", &[people(&["x"]), people(&["y", "z"]), people(&["w", "y"])]).await;
    assert_eq!(kind_and_row(twice), (ConstraintKind::Unique, Some(5)));
}

#[tokio::test]
async fn same_rows_cut_and_typed_otherwise_are_the_same_request() {
    let (_root, graph) = graph(SPEC).await;
    let mut first = request(LoadMode::Append);
    first.options.operation_id = Some(mint());
    let whole =
        batch(vec![("k", texts(&["a", "b"])), ("age", Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef)]);
    let mut load = graph.run(&tester(), first.clone()).await.unwrap();
    write_batches(&mut load, "P", &[whole]).await.unwrap();
    let commit = load.finish().await.unwrap().commit;
    let one = |k: &str, age: Option<i64>| {
        batch(vec![
            ("age", Arc::new(Int64Array::from(vec![age])) as ArrayRef),
            ("k", Arc::new(StringViewArray::from(vec![k])) as ArrayRef),
        ])
    };
    let mut load = graph.run(&tester(), first).await.unwrap();
    write_batches(&mut load, "P", &[one("a", Some(1)), one("b", None)]).await.unwrap();
    assert_eq!(load.finish().await.unwrap().commit, commit);
    assert_eq!(value(&graph, "P", "b", "age").await, "-");
}

#[tokio::test]
async fn empty_stream_touches_nothing_even_in_mode_overwrite() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("a")).await.unwrap();
    let none = batch(vec![("k", texts(&[]))]);
    load_batches(&graph, LoadMode::Overwrite, "P", &[none]).await.unwrap();
    assert_eq!(ids(&graph, "P").await, ["a"]);
}

#[tokio::test]
async fn batch_of_other_columns_than_declared_is_refused() {
    let (_root, graph) = graph(SPEC).await;
    let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    let mut stream = load.accept_schema("P", &batch(vec![("k", texts(&[]))]).schema()).await.unwrap();
    let other = batch(vec![("k", arrow::array::new_null_array(&list_type(DataType::Int32), 1))]);
    let failure = load.write(&mut stream, other).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::LoadInvalid { .. }), "{failure:?}");
}

#[tokio::test]
async fn stream_of_another_load_is_refused() {
    let (_root, graph) = graph(SPEC).await;
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let rows = batch(vec![("x", numbers)]);
    let mut one = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    let mut two = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    let mut of_one = one.accept_schema("N", &rows.schema()).await.unwrap();
    two.accept_schema("N", &rows.schema()).await.unwrap();
    assert!(two.write(&mut of_one, rows.clone()).await.is_err());
    one.write(&mut of_one, rows).await.unwrap();
    assert_eq!(one.finish().await.unwrap().rows_read, 1);
}

#[tokio::test]
async fn null_in_a_required_column_is_refused_by_row() {
    let (_root, graph) = graph(SPEC).await;
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let refused = load_batches(&graph, LoadMode::Append, "N", &[batch(vec![("x", numbers)])]).await;
    assert_eq!(kind_and_row(refused), (ConstraintKind::Null, Some(2)));
}
