use omnigraph_types::Problem;

use super::Graph;

/// That many persons with 64 characters of text each.
fn persons(count: usize) -> String {
    let row = |at: usize| {
        let key = format!("{:08}", (at * 7_919) % count);
        format!("{{\"id\":\"{key}\",\"k\":\"{key}\",\"repoName\":\"{}\"}}\n", "x".repeat(64))
    };
    (0..count).map(row).collect()
}

/// A ring of edges.
fn ring(count: usize) -> String {
    (0..count)
        .map(|at| format!("{{\"id\":\"e{at:08}\",\"src\":\"{at:08}\",\"dst\":\"{:08}\"}}\n", (at + 1) % count))
        .collect()
}

#[tokio::test]
async fn sort_beyond_the_budget_spills_and_stays_in_order() {
    let graph = Graph::empty().with("P", &persons(40_000)).memory(4 * 1024 * 1024);
    let rows = graph.rows("match { $p: P } return { $p.k, $p.repoName } order { $p.k desc }").await;
    assert_eq!((rows.len(), rows[0][0].as_str(), rows[39_999][0].as_str()), (40_000, "00039999", "00000000"));
    assert!(rows.windows(2).all(|pair| pair[0][0] > pair[1][0]));
}

#[tokio::test]
async fn join_beyond_the_budget_of_hash_joins_runs_as_merge_join() {
    let count = 30_000;
    let graph = Graph::empty().with("P", &persons(count)).with("Knows", &ring(count)).memory(6 * 1024 * 1024);
    let body = r#"match { $a: P  $a $e:knows $b  $b: P  $a.repoName = $b.repoName } return { count($e.id) as n }"#;
    assert_eq!(graph.rows(body).await, super::column(&["30000"]));
}

#[tokio::test]
async fn exhausted_budget_names_its_limit_and_what_was_asked() {
    let graph = Graph::empty().with("P", &persons(30_000)).memory(256 * 1024);
    let problem = graph.problem("match { $p: P  $q: P } return { $p.repoName, $q.repoName as other }").await;
    let Problem::ResourceLimit { limit, value, asked } = problem else { panic!("{problem:?}") };
    assert_eq!((limit.as_str(), value), ("query_memory_bytes_max", 256 * 1024));
    assert!(asked > value, "{asked}");
}
