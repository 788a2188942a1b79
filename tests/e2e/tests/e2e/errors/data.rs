//! Rows that cannot be loaded.

use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field};
use omnigraph_client::{LoadMode, LoadOptions, LoadTarget};
use omnigraph_types::{BranchName, ConstraintKind, Effect, Failure, Problem, Retry, Violation};

use super::{World, states};
use crate::support::{append, graph_name, head, ndjson, refused, rows};

const PORTS: &str = r#"{"type":"Port","data":{"code":"OSL","name":"Oslo"}}
{"type":"Port","data":{"code":"BGO"}}
"#;

async fn with_ports(variables: &[(&str, &str)]) -> World {
    let world = World::new(variables).await;
    append(&world.client, PORTS).await.unwrap();
    world
}

pub(super) async fn key_that_exists_is_refused() -> Failure {
    let world = with_ports(&[]).await;
    let before = head(&world.client).await;
    let text = r#"{"type":"Port","data":{"code":"SVG"}}
{"type":"Port","data":{"code":"OSL"}}
{"type":"Port","data":{"code":"BGO"}}
"#;
    let failure = refused(append(&world.client, text).await);
    let Problem::KeyConflict { type_name, ids, total, source_row } = &failure.problem else { panic!("{failure:?}") };
    let mut ids: Vec<_> = ids.iter().map(String::as_str).collect();
    ids.sort_unstable();
    assert_eq!((type_name.as_str(), ids, *total), ("Port", vec!["BGO", "OSL"], 2));
    assert!(matches!(source_row, Some(2 | 3)), "{failure:?}");
    states(&failure, Effect::None, Retry::Never);
    assert_eq!((head(&world.client).await, rows(&world.client, &["Port"]).await["Port"]), (before, 2));
    failure
}

/// A row that breaks one rule, as the second line of a load, and the failure that it causes.
struct Broken {
    kind: ConstraintKind,
    line: &'static str,
    type_name: &'static str,
    entity: Option<&'static str>,
    properties: &'static [&'static str],
    /// Part of the message: the offending value, or the missing member.
    says: &'static str,
}

const BROKEN: &[Broken] = &[
    Broken {
        kind: ConstraintKind::Null,
        line: r#"{"edge":"Ferry","from":"OSL","to":"BGO","data":{"id":"f"}}"#,
        type_name: "Ferry",
        entity: None,
        properties: &["minutes"],
        says: "null",
    },
    Broken {
        kind: ConstraintKind::Range,
        line: r#"{"type":"Port","data":{"code":"SVG","depth":60.5}}"#,
        type_name: "Port",
        entity: Some("SVG"),
        properties: &["depth"],
        says: "60.5",
    },
    Broken {
        kind: ConstraintKind::Check,
        line: r#"{"type":"Port","data":{"code":"svg"}}"#,
        type_name: "Port",
        entity: Some("svg"),
        properties: &["code"],
        says: "svg",
    },
    Broken {
        kind: ConstraintKind::Enum,
        line: r#"{"type":"Port","data":{"code":"SVG","country":"se"}}"#,
        type_name: "Port",
        entity: Some("SVG"),
        properties: &["country"],
        says: "se",
    },
    Broken {
        kind: ConstraintKind::Unique,
        line: r#"{"type":"Port","data":{"code":"SVG","name":"Oslo"}}"#,
        type_name: "Port",
        entity: Some("SVG"),
        properties: &["name"],
        says: "Oslo",
    },
    Broken {
        kind: ConstraintKind::OrphanEdge,
        line: r#"{"edge":"Ferry","from":"OSL","to":"NOPE","data":{"id":"f","minutes":5}}"#,
        type_name: "Ferry",
        entity: Some("f"),
        properties: &["dst"],
        says: "NOPE",
    },
];

pub(super) async fn row_that_breaks_a_rule_is_refused() -> Failure {
    let world = with_ports(&[]).await;
    let before = head(&world.client).await;
    for broken in BROKEN {
        let text = format!("{{\"type\":\"Port\",\"data\":{{\"code\":\"TRD\"}}}}\n{}\n", broken.line);
        let failure = refused(append(&world.client, &text).await);
        let violation = one_violation(&failure);
        let expected = Violation {
            type_name: broken.type_name.to_owned(),
            entity: broken.entity.map(str::to_owned),
            properties: broken.properties.iter().map(ToString::to_string).collect(),
            kind: broken.kind,
            message: violation.message.clone(),
            source_row: Some(2),
        };
        assert_eq!(violation, &expected, "{}", broken.line);
        assert!(violation.message.contains(broken.says), "{failure:?}");
        states(&failure, Effect::None, Retry::Never);
    }
    let cardinality = too_many_edges(&world).await;
    vector_that_is_not_finite(&world).await;
    assert_eq!((head(&world.client).await, rows(&world.client, &["Port"]).await["Port"]), (before, 2));
    cardinality
}

fn one_violation(failure: &Failure) -> &Violation {
    match &failure.problem {
        Problem::ConstraintViolation { violations, total: 1 } if violations.len() == 1 => &violations[0],
        _ => panic!("{failure:?}"),
    }
}

async fn too_many_edges(world: &World) -> Failure {
    let ferry =
        |to: &str| format!("{{\"edge\":\"Ferry\",\"from\":\"OSL\",\"to\":\"{to}\",\"data\":{{\"minutes\":5}}}}\n");
    let failure = refused(append(&world.client, &[ferry("BGO"), ferry("OSL")].concat()).await);
    let violation = one_violation(&failure);
    assert_eq!((violation.kind, violation.type_name.as_str()), (ConstraintKind::Cardinality, "Ferry"));
    assert!(violation.message.contains("OSL") && violation.message.contains('2'), "{failure:?}");
    states(&failure, Effect::None, Retry::Never);
    failure
}

async fn vector_that_is_not_finite(world: &World) {
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let numbers = Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0, f32::INFINITY]));
    let sketch = FixedSizeListArray::try_new(item, 2, numbers, None).unwrap();
    let columns: [(&str, ArrayRef); 2] =
        [("code", Arc::new(StringArray::from(vec!["SVG", "TRD"]))), ("sketch", Arc::new(sketch))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let target = LoadTarget { graph: graph_name(), branch: BranchName::Main, type_name: "Port".to_owned() };
    let mut loader = world.client.load(target, batch.schema(), LoadOptions::new(LoadMode::Append)).await.unwrap();
    let sent = loader.write(batch).await;
    let failure = refused(match sent {
        Ok(()) => loader.finish().await,
        Err(error) => Err(error),
    });
    let violation = one_violation(&failure);
    assert_eq!(
        (violation.kind, violation.entity.as_deref(), violation.source_row),
        (ConstraintKind::Vector, Some("TRD"), Some(2))
    );
    assert_eq!(violation.properties, ["sketch"]);
}

pub(super) async fn line_that_is_not_a_row_is_refused() -> Failure {
    let world = with_ports(&[]).await;
    let cases = [
        ("not json", None, None),
        (r#"{"type":"Port","data":{"code":"SVG","colour":"red"}}"#, Some("Port"), Some("colour")),
        (r#"{"type":"Port","data":{"code":"SVG","depth":"deep"}}"#, Some("Port"), Some("depth")),
        (r#"{"type":"Port","data":{"code":"SVG","code":"TRD"}}"#, None, None),
    ];
    let mut last = None;
    for (line, type_name, column) in cases {
        // A blank line counts.
        let failure = refused(
            append(&world.client, &format!("\n{{\"type\":\"Port\",\"data\":{{\"code\":\"TRD\"}}}}\n{line}\n")).await,
        );
        let Problem::LoadInvalid { type_name: found_type, row, column: found_column } = &failure.problem else {
            panic!("{line}: {failure:?}")
        };
        assert_eq!(*row, Some(3), "{line}: {failure:?}");
        if type_name.is_some() {
            assert_eq!((found_type.as_deref(), found_column.as_deref()), (type_name, column), "{line}");
        }
        states(&failure, Effect::None, Retry::Never);
        last = Some(failure);
    }
    assert_eq!(rows(&world.client, &["Port"]).await["Port"], 2);
    last.unwrap()
}

pub(super) async fn merge_over_the_limit_is_refused() -> Failure {
    let world = with_ports(&[("OMNIGRAPH_MERGE_ROWS_MAX", "1")]).await;
    let failure = refused(ndjson(&world.client, LoadOptions::new(LoadMode::Merge), PORTS).await);
    let expected = Problem::ResourceLimit { limit: "merge_rows_max".to_owned(), value: 1, asked: 2 };
    assert_eq!(failure.problem, expected);
    states(&failure, Effect::None, Retry::Never);
    failure
}
