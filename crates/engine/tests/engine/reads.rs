//! Reading one commit: scans and queries.

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use futures::TryStreamExt;
use omnigraph_engine::PinCommit;
use omnigraph_types::{
    BranchName, ColumnType, Columns, Problem, QueryName, QueryRequest, ReadAt, Resource, ScalarType, TypeInfo, TypeKind,
};

use crate::support::{SPEC, append, edge, graph, p, scan, tester};

#[tokio::test]
async fn types_and_their_columns_are_told() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("a")).await.unwrap();
    let snapshot = graph.run(&tester(), PinCommit { at: ReadAt::Branch(BranchName::Main) }).await.unwrap();
    let types = snapshot.types();
    assert_eq!(types.iter().map(|info| info.name.as_str()).collect::<Vec<_>>(), ["N", "P", "Knows", "Owns", "Works"]);
    assert_eq!(types[1], TypeInfo { name: "P".to_owned(), kind: TypeKind::Node, row_count: 1 });
    let schema = snapshot.arrow_schema("Knows").unwrap();
    assert_eq!(schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["id", "src", "dst"]);
    let missing = snapshot.arrow_schema("Nope").unwrap_err();
    assert!(matches!(missing.problem, Problem::NotFound { resource: Resource::Type, .. }));
}

#[tokio::test]
async fn scan_returns_the_columns_asked_for_with_the_schema_told() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("a")).await.unwrap();
    let snapshot = graph.run(&tester(), PinCommit { at: ReadAt::Branch(BranchName::Main) }).await.unwrap();
    let all: Vec<RecordBatch> =
        snapshot.run(&tester(), scan("P", Columns::All)).await.unwrap().try_collect().await.unwrap();
    assert_eq!(all[0].schema(), snapshot.arrow_schema("P").unwrap());
    let some =
        snapshot.run(&tester(), scan("P", Columns::Named(vec!["age".to_owned(), "id".to_owned()]))).await.unwrap();
    let some: Vec<RecordBatch> = some.try_collect().await.unwrap();
    assert_eq!((some[0].schema().field(0).name().as_str(), some[0].num_columns()), ("age", 2));
    let Err(missing) = snapshot.run(&tester(), scan("P", Columns::Named(vec!["agee".to_owned()]))).await else {
        panic!("a column that is not there")
    };
    assert!(matches!(missing.problem, Problem::InvalidRequest { .. }) && missing.message.contains("age"));
}

#[tokio::test]
async fn snapshot_does_not_see_what_is_loaded_later() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("a")).await.unwrap();
    let snapshot = graph.run(&tester(), PinCommit { at: ReadAt::Branch(BranchName::Main) }).await.unwrap();
    append(&graph, &p("b")).await.unwrap();
    let rows: Vec<RecordBatch> =
        snapshot.run(&tester(), scan("P", Columns::All)).await.unwrap().try_collect().await.unwrap();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    let time_ms = snapshot.commit().time_ms;
    let then = graph
        .run(&tester(), PinCommit { at: ReadAt::BranchAtTime { branch: BranchName::Main, time_ms } })
        .await
        .unwrap();
    assert_eq!(then.commit(), snapshot.commit());
}

#[tokio::test]
async fn query_runs_over_the_snapshot_with_its_parameters() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b"), edge("Knows", "a", "b", "e")].concat()).await.unwrap();
    let text =
        "query friends($k: String) { match { $p: P { k: $k } $p knows $q } return { $q.k as friend, count($q) as n } }";
    let request = QueryRequest {
        at: ReadAt::Branch(BranchName::Main),
        text: text.to_owned(),
        name: QueryName::Only,
        params_json: r#"{"k":"a"}"#.to_owned(),
    };
    let stream = graph.run(&tester(), request.clone()).await.unwrap();
    let names: Vec<_> = stream.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["friend", "n"]);
    assert_eq!(stream.columns[0].ty, ColumnType::Scalar(ScalarType::String));
    let batches: Vec<RecordBatch> = stream.batches.try_collect().await.unwrap();
    assert_eq!(batches[0].column(0).as_string::<i32>().value(0), "b");
    assert_eq!(batches[0].column(1).as_primitive::<Int64Type>().value(0), 1);
    let Err(missing) = graph.run(&tester(), QueryRequest { params_json: String::new(), ..request.clone() }).await
    else {
        panic!("a parameter is missing")
    };
    assert!(matches!(missing.problem, Problem::ParamInvalid { .. }), "{missing:?}");
    let Err(wrong) = graph.run(&tester(), QueryRequest { text: "query q() {".to_owned(), ..request }).await else {
        panic!("a query that does not parse")
    };
    assert!(matches!(wrong.problem, Problem::QueryInvalid { .. }), "{wrong:?}");
}

#[tokio::test]
async fn query_that_returns_too_much_is_refused_by_the_limits_name() {
    let root = crate::support::Root::with(|limits| {
        limits.query_columns_max = 3;
        limits.query_memory_bytes_max = 8 * 1024 * 1024;
    })
    .await;
    let graph = root.graph("node B { name: String @key }").await;
    let long = "x".repeat(4 * 1024 * 1024);
    append(&graph, &format!("{{\"type\":\"B\",\"data\":{{\"name\":\"{long}\"}}}}\n")).await.unwrap();
    let limit_of = async |columns: usize| {
        let returned: Vec<String> = (0..columns).map(|n| format!("$b.name as n{n}")).collect();
        let text = format!("query q() {{ match {{ $b: B }} return {{ {} }} }}", returned.join(", "));
        let request = QueryRequest {
            at: ReadAt::Branch(BranchName::Main),
            text,
            name: QueryName::Only,
            params_json: String::new(),
        };
        let outcome = match graph.run(&tester(), request).await {
            Ok(stream) => stream.batches.try_collect::<Vec<RecordBatch>>().await.map(|batches| batches.len()),
            Err(failure) => Err(failure),
        };
        match outcome {
            Ok(_) => None,
            Err(failure) => match failure.problem {
                Problem::ResourceLimit { limit, .. } => Some(limit),
                other => panic!("{other:?}"),
            },
        }
    };
    assert_eq!(limit_of(1).await, None);
    // The result has the column three times with one buffer, and it is sent three times.
    assert_eq!(limit_of(3).await.as_deref(), Some("query_memory_bytes_max"));
    assert_eq!(limit_of(4).await.as_deref(), Some("query_columns_max"));
}
