use super::{Graph, Rows, column, table};

fn cycle() -> Graph {
    Graph::empty()
        .persons(&["a", "b", "c"])
        .edges("Knows", &[("a", "b"), ("a", "b"), ("b", "c"), ("c", "c"), ("a", "c")])
        .with("N", "{\"id\":\"n1\",\"x\":1}\n{\"id\":\"n2\",\"x\":2}")
        .edges("Works", &[("a", "n1"), ("b", "n1"), ("b", "n2")])
}

#[tokio::test]
async fn unbound_source_ranges_over_every_edge_source() {
    let rows = cycle().set("match { $a knows $b } return { $a.k, $b.k as to }").await;
    assert_eq!(rows, table(&["a b", "a c", "b c", "c c"]));
}

#[tokio::test]
async fn parallel_edges_are_one_pair_without_a_variable_and_two_rows_with_one() {
    let graph = cycle();
    let pairs = r#"match { $a: P { k: "a" }  $a knows $b } return { count($b) as n }"#;
    assert_eq!(graph.rows(pairs).await, column(&["2"]));
    let edges = r#"match { $a: P { k: "a" }  $a $e:knows $b } return { $b.k, $e.id } order { $b.k }"#;
    assert_eq!(graph.rows(edges).await, table(&["b Knows0", "b Knows1", "c Knows4"]));
    let self_loop = "match { $a knows $a } return { $a.k }";
    assert_eq!(graph.rows(self_loop).await, column(&["c"]));
}

#[tokio::test]
async fn known_target_turns_the_traversal_around() {
    let graph = cycle();
    let body = "match { $n: N { x: 1 }  $p works $n } return { $p.k }";
    assert_eq!(graph.set(body).await, column(&["a", "b"]));
    let turned = "match { $n: N { x: 1 }  $n works $p } return { $p.k }";
    assert_eq!(graph.set(turned).await, column(&["a", "b"]));
}

#[tokio::test]
async fn anonymous_end_counts_each_destination_once() {
    let graph = cycle();
    let body = "match { $p: P  $p works $_ } return { $p.k, count($p) as n } order { $p.k }";
    assert_eq!(graph.rows(body).await, table(&["a 1", "b 2"]));
}

#[tokio::test]
async fn unconnected_bindings_are_a_cross_product_and_may_meet_in_one_node() {
    let graph = cycle();
    assert_eq!(graph.rows("match { $p: P  $n: N } return { count($p) as n }").await, column(&["6"]));
    let both = r#"match { $p: P { k: "a" }  $q: P { k: "a" } } return { $p.k, $q.k as other }"#;
    assert_eq!(graph.rows(both).await, table(&["a a"]));
}

#[tokio::test]
async fn edge_properties_filter_and_order() {
    let edges = r#"{"id":"e1","src":"a","dst":"b","since":5}
{"id":"e2","src":"a","dst":"c"}
{"id":"e3","src":"b","dst":"c","since":9}"#;
    let graph = Graph::empty().persons(&["a", "b", "c"]).with("Knows", edges);
    let body = "match { $a $e:knows $b  $e.since >= 5 } return { $e.id, $e.src, $b.k } order { $e.since desc }";
    assert_eq!(graph.rows(body).await, table(&["e3 b c", "e1 a b"]));
    let across = "match { $a $e:knows $b  $b $f:knows $c  $f.since > $e.since } return { $e.id, $f.id as f }";
    assert_eq!(graph.rows(across).await, table(&["e1 e3"]));
    assert_eq!(
        graph.rows(r#"match { $a $e:knows $b  $e.dst = "c"  $e.since is null } return { $a.k }"#).await,
        column(&["a"])
    );
}

#[tokio::test]
async fn keyed_edges_need_no_distinct_step_and_give_the_same_rows() {
    let graph = Graph::empty().persons(&["a", "b", "c"]).edges("Likes", &[("a", "b"), ("b", "c"), ("a", "c")]);
    let body = "match { $a likes $b  $b likes $c } return { $a.k, $b.k as b, $c.k as c }";
    assert_eq!(graph.rows(body).await, table(&["a b c"]));
}

/// Numbers in an order that only looks random, the same in every run.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Every match of `$a knows $b  $b knows $c  $a knows $c`, by trying all triples.
fn triangles(nodes: &[String], edges: &[(String, String)], repeated: Repeats) -> Rows {
    let count = |from: &String, to: &String| {
        let found = edges.iter().filter(|(src, dst)| src == from && dst == to).count();
        match repeated {
            Repeats::Merged => found.min(1),
            Repeats::Kept => found,
        }
    };
    let mut rows = Vec::new();
    for a in nodes {
        for b in nodes {
            for c in nodes {
                for _ in 0..count(a, b) * count(b, c) * count(a, c) {
                    rows.push(vec![a.clone(), b.clone(), c.clone()]);
                }
            }
        }
    }
    rows.sort();
    rows
}

#[derive(Clone, Copy)]
enum Repeats {
    Merged,
    Kept,
}

#[tokio::test]
async fn triangles_are_those_that_a_search_of_all_triples_finds() {
    for seed in 0..4 {
        let mut next = numbers(seed);
        let nodes: Vec<String> = (0..7).map(|node| format!("p{node}")).collect();
        let mut end = || nodes[next(7) as usize].clone();
        let edges: Vec<(String, String)> = (0..25).map(|_| (end(), end())).collect();
        let names: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let ends: Vec<(&str, &str)> = edges.iter().map(|(src, dst)| (src.as_str(), dst.as_str())).collect();
        let graph = Graph::empty().persons(&names).edges("Knows", &ends);
        let pairs = "match { $a knows $b  $b knows $c  $a knows $c } return { $a.k, $b.k as b, $c.k as c }";
        assert_eq!(graph.set(pairs).await, triangles(&nodes, &edges, Repeats::Merged), "seed {seed}");
        let each = "match { $a $e:knows $b  $b $f:knows $c  $a $g:knows $c } return { $a.k, $b.k as b, $c.k as c }";
        assert_eq!(graph.set(each).await, triangles(&nodes, &edges, Repeats::Kept), "seed {seed}");
    }
}

#[tokio::test]
async fn filter_between_ends_and_projection_of_both_keep_the_set() {
    let graph = cycle();
    let body = "match { $a knows $b  $a.k < $b.k } return { $a.k, $b.k as to, $b } order { $a.k, $b.k }";
    let rows = graph.rows(body).await;
    let keys: Rows = rows.iter().map(|row| row[..2].to_vec()).collect();
    assert_eq!(keys, table(&["a b", "a c", "b c"]));
}
