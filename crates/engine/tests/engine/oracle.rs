//! Random loads against a model that keeps everything in maps, under budgets that force every comparison through spill files.

use std::collections::{BTreeMap, BTreeSet};

use omnigraph_types::{ConstraintKind, LoadMode, Problem};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::test_runner::TestRunner;

use crate::support::{Root, load, rows};

const SCHEMA: &str = "
node A { k: String @key u: I32? @unique }
edge E: A -> A @card(0..2)
";

type Node = (u8, Option<u8>);
type Edge = (u8, u8, u8);

#[derive(Debug, Clone)]
struct Step {
    mode: LoadMode,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    nodes: BTreeMap<u8, Option<u8>>,
    edges: BTreeMap<u8, (u8, u8)>,
}

fn step() -> impl Strategy<Value = Step> {
    let mode = prop_oneof![Just(LoadMode::Append), Just(LoadMode::Merge), Just(LoadMode::Overwrite)];
    let nodes = proptest::collection::vec((0_u8..12, proptest::option::of(0_u8..20)), 0..5);
    let edges = proptest::collection::vec((any::<u8>(), 0_u8..12, 0_u8..12), 0..4);
    (mode, nodes, edges).prop_map(|(mode, nodes, edges)| Step { mode, nodes, edges })
}

/// What must come of a step: the new state, or the kind of refusal.
fn expect(model: &Model, step: &Step) -> Result<Model, &'static str> {
    let mut next = model.clone();
    let node_ids: BTreeSet<u8> = step.nodes.iter().map(|node| node.0).collect();
    let edge_ids: BTreeSet<u8> = step.edges.iter().map(|edge| edge.0).collect();
    if node_ids.len() < step.nodes.len() || edge_ids.len() < step.edges.len() {
        return Err("unique");
    }
    match step.mode {
        LoadMode::Append => {
            if node_ids.iter().any(|id| model.nodes.contains_key(id))
                || edge_ids.iter().any(|id| model.edges.contains_key(id))
            {
                return Err("key");
            }
        }
        LoadMode::Merge => {}
        LoadMode::Overwrite => {
            if !step.nodes.is_empty() {
                next.nodes.clear();
            }
            if !step.edges.is_empty() {
                next.edges.clear();
            }
        }
    }
    let mut touched: BTreeSet<u8> = step.edges.iter().map(|edge| edge.1).collect();
    touched.extend(edge_ids.iter().filter_map(|id| model.edges.get(id)).map(|ends| ends.0));
    next.nodes.extend(step.nodes.iter().copied());
    next.edges.extend(step.edges.iter().map(|&(id, src, dst)| (id, (src, dst))));
    let values: Vec<u8> = next.nodes.values().flatten().copied().collect();
    if values.iter().collect::<BTreeSet<_>>().len() < values.len() {
        return Err("unique");
    }
    if next.edges.values().any(|(src, dst)| !next.nodes.contains_key(src) || !next.nodes.contains_key(dst)) {
        return Err("orphan_edge");
    }
    if touched.iter().any(|source| next.edges.values().filter(|ends| ends.0 == *source).count() > 2) {
        return Err("cardinality");
    }
    Ok(next)
}

fn text(step: &Step) -> String {
    let node = |(k, u): &Node| match u {
        Some(u) => format!("{{\"type\":\"A\",\"data\":{{\"k\":\"n{k}\",\"u\":{u}}}}}\n"),
        None => format!("{{\"type\":\"A\",\"data\":{{\"k\":\"n{k}\"}}}}\n"),
    };
    let edge = |(id, src, dst): &Edge| {
        format!("{{\"edge\":\"e\",\"from\":\"n{src}\",\"to\":\"n{dst}\",\"data\":{{\"id\":\"e{id}\"}}}}\n")
    };
    step.edges.iter().map(edge).chain(step.nodes.iter().map(node)).collect()
}

fn shown(model: &Model) -> (Vec<String>, Vec<String>) {
    let node = |(k, u): (&u8, &Option<u8>)| format!("n{k}|n{k}|{}", u.map_or("-".to_owned(), |u| u.to_string()));
    let mut nodes: Vec<String> = model.nodes.iter().map(node).collect();
    let mut edges: Vec<String> = model.edges.iter().map(|(id, (src, dst))| format!("e{id}|n{src}|n{dst}")).collect();
    nodes.sort();
    edges.sort();
    (nodes, edges)
}

async fn replay(steps: &[Step], budget: u64) {
    let root = Root::with(|limits| limits.load_memory_bytes_max = budget).await;
    let graph = root.graph(SCHEMA).await;
    let mut model = Model::default();
    for step in steps {
        let found = load(&graph, step.mode, &text(step)).await;
        match (expect(&model, step), found) {
            (Ok(next), Ok(_)) => model = next,
            (Err(expected), Err(failure)) => {
                let kind = match &failure.problem {
                    Problem::KeyConflict { .. } => "key",
                    Problem::ConstraintViolation { violations, .. } => violations[0].kind.as_str(),
                    other => panic!("{other:?}"),
                };
                assert_eq!(kind, expected, "{step:?} on {model:?}: {failure}");
            }
            (expected, found) => panic!("{step:?} on {model:?}: expected {expected:?}, found {found:?}"),
        }
        let stored = (rows(&graph, "A").await, rows(&graph, "E").await);
        assert_eq!(stored, shown(&model), "{step:?}");
    }
}

#[test]
fn random_loads_do_what_the_model_says() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut runner = TestRunner::new(ProptestConfig { cases: 12, max_shrink_iters: 50, ..ProptestConfig::default() });
    let case = (proptest::collection::vec(step(), 1..12), prop_oneof![Just(0_u64), Just(300), Just(1 << 20)]);
    runner
        .run(&case, |(steps, budget)| {
            runtime.block_on(replay(&steps, budget));
            Ok(())
        })
        .unwrap();
}

#[tokio::test]
async fn large_loads_are_compared_by_scans_within_a_small_budget() {
    let root = Root::with(|limits| limits.load_memory_bytes_max = 200_000).await;
    let graph = root.graph(SCHEMA).await;
    let nodes = |range: std::ops::Range<u32>| -> String {
        range.map(|at| format!("{{\"type\":\"A\",\"data\":{{\"k\":\"n{at}\",\"u\":{at}}}}}\n")).collect()
    };
    let edges = |range: std::ops::Range<u32>, shift: u32| -> String {
        let line = |at: u32| {
            format!(
                "{{\"edge\":\"e\",\"from\":\"n{at}\",\"to\":\"n{}\",\"data\":{{\"id\":\"e{at}x{shift}\"}}}}\n",
                at + shift
            )
        };
        range.map(line).collect()
    };
    load(&graph, LoadMode::Append, &[nodes(0..30_000), edges(0..20_000, 1)].concat()).await.unwrap();
    // Ends are looked for among committed nodes, sources are counted together with committed edges.
    load(&graph, LoadMode::Append, &edges(0..15_000, 2)).await.unwrap();
    let third = load(&graph, LoadMode::Append, &edges(14_990..29_000, 3)).await.unwrap_err();
    let Problem::ConstraintViolation { violations, total } = third.problem else { panic!("{third:?}") };
    assert_eq!((violations[0].kind, violations[0].source_row, total), (ConstraintKind::Cardinality, Some(1), 10));
    let orphans = load(&graph, LoadMode::Append, &edges(20_000..30_005, 0)).await.unwrap_err();
    let Problem::ConstraintViolation { violations, total } = orphans.problem else { panic!("{orphans:?}") };
    assert_eq!((violations[0].kind, violations[0].source_row, total), (ConstraintKind::OrphanEdge, Some(10_001), 10));
    let conflict = load(&graph, LoadMode::Append, &nodes(29_990..45_000)).await.unwrap_err();
    let Problem::KeyConflict { ids, total, source_row, .. } = conflict.problem else { panic!("{conflict:?}") };
    assert_eq!((ids.first().map(String::as_str), ids.len(), total, source_row), (Some("n29990"), 10, 10, Some(1)));
    let merged = load(&graph, LoadMode::Merge, &nodes(15_000..45_000)).await.unwrap();
    assert_eq!(
        (merged.counts[0].updated, merged.counts[0].inserted, merged.counts[0].row_count),
        (15_000, 15_000, 45_000)
    );
    let taken: String = (50_000..70_000)
        .map(|at| format!("{{\"type\":\"A\",\"data\":{{\"k\":\"n{at}\",\"u\":{}}}}}\n", at - 10_000))
        .collect();
    let unique = load(&graph, LoadMode::Append, &taken).await.unwrap_err();
    let Problem::ConstraintViolation { violations, total } = unique.problem else { panic!("{unique:?}") };
    assert_eq!((violations[0].kind, violations[0].source_row, total), (ConstraintKind::Unique, Some(1), 5_000));
    let dropping = load(&graph, LoadMode::Overwrite, &nodes(0..30_000)).await;
    dropping.unwrap();
    let orphaned = load(&graph, LoadMode::Overwrite, &nodes(100..30_000)).await.unwrap_err();
    let Problem::ConstraintViolation { violations, total } = orphaned.problem else { panic!("{orphaned:?}") };
    assert_eq!((violations[0].kind, violations[0].type_name.as_str(), total), (ConstraintKind::OrphanEdge, "E", 100));
}
