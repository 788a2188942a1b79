//! Queries, schemas and parameters with mistakes.

use omnigraph_client::{CreateGraph, PageRequest, QueryRequest};
use omnigraph_types::{Diagnostic, Effect, Failure, Problem, Retry};

use super::{World, states};
use crate::support::{append, graph_name, main_branch, refused};

/// The part of `text` that the finding is about.
fn marked<'a>(text: &'a str, diagnostic: &Diagnostic) -> &'a str {
    let span = diagnostic.span.unwrap();
    &text[span.start..span.end]
}

pub(super) async fn query_with_a_mistake_is_refused_at_its_place() -> Failure {
    let world = World::new(&[]).await;
    let text = "query q() {\n  match { $p: Port }\n  return { $p.colour }\n}";
    let query = QueryRequest::new(main_branch(), text);
    let failure = refused(world.client.query_rows(&graph_name(), &query).await.map(|_| ()));
    let Problem::QueryInvalid { diagnostics } = &failure.problem else { panic!("{failure:?}") };
    let [diagnostic] = diagnostics.as_slice() else { panic!("{diagnostics:?}") };
    assert_eq!(diagnostic.span.map(|span| span.line), Some(3));
    assert!(marked(text, diagnostic).contains("colour"), "{diagnostic:?}");
    assert!(diagnostic.message.contains("colour") && !diagnostic.code.is_empty(), "{diagnostic:?}");
    states(&failure, Effect::None, Retry::Never);
    failure
}

pub(super) async fn schema_with_a_mistake_is_refused_at_its_place() -> Failure {
    let world = World::new(&[]).await;
    let text = "node Port { code: String @key }\nedge Ferry: Port -> Harbour { }";
    let failure = refused(world.client.create_graph(CreateGraph::new("other".parse().unwrap(), text)).await);
    let Problem::SchemaInvalid { diagnostics } = &failure.problem else { panic!("{failure:?}") };
    let [diagnostic] = diagnostics.as_slice() else { panic!("{diagnostics:?}") };
    assert_eq!(diagnostic.span.map(|span| span.line), Some(2));
    assert!(marked(text, diagnostic).contains("Harbour"), "{diagnostic:?}");
    states(&failure, Effect::None, Retry::Never);
    let graphs = world.client.list_graphs(PageRequest::default()).await.unwrap();
    assert_eq!(graphs.items.iter().map(|graph| graph.name.to_string()).collect::<Vec<_>>(), ["g"]);
    failure
}

pub(super) async fn sum_beyond_the_range_of_its_type_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let row = |code| format!("{{\"type\":\"Port\",\"data\":{{\"code\":\"{code}\",\"tons\":{}}}}}\n", i64::MAX);
    append(&world.client, &[row("OSL"), row("HAM")].concat()).await.unwrap();
    let text = "query q() { match { $p: Port } return { sum($p.tons) as total } }";
    let query = QueryRequest::new(main_branch(), text);
    let failure = refused(world.client.query_rows(&graph_name(), &query).await.map(|_| ()));
    assert_eq!(failure.problem, Problem::EvaluationFailed { column: "total".to_owned() });
    states(&failure, Effect::None, Retry::Never);
    failure
}

pub(super) async fn parameter_that_is_missing_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let text = "query q($code: String) { match { $p: Port { code: $code } } return { $p.code } }";
    let asked = async |params_json: &str| {
        let mut query = QueryRequest::new(main_branch(), text);
        query.params_json = params_json.to_owned();
        world.client.query_rows(&graph_name(), &query).await.map(|_| ())
    };
    for (params, parameter) in [(r#"{"code":5}"#, "code"), (r#"{"code":"OSL","cod":1}"#, "cod"), ("{}", "code")] {
        let failure = refused(asked(params).await);
        assert_eq!(failure.problem, Problem::ParamInvalid { parameter: parameter.to_owned() }, "{params}");
        states(&failure, Effect::None, Retry::Never);
    }
    asked(r#"{"code":"OSL"}"#).await.unwrap();
    refused(asked("{}").await)
}
