use proptest::prelude::*;

use crate::LangError;
use crate::query::ir::{
    Aggregate, CheckedQuery, Column, CompareOp, Direction, Domain, Grouping, Operand, OrderTarget, OutputType,
    Predicate, ProjectionExpr, RowCount, TieBreak, VariableKind,
};
use crate::query::{check_query, query_names};
use crate::schema::{Nullability, PropertyType, Scalar, Schema, parse_schema};
use crate::value::Value;

const SCHEMA: &str = "
    node P { k: String @key age: I32? u: U64? f: F64? d: Date? at: DateTime? tags: [String]? kind: enum(a, B)? v: Vector(2)? b: Blob?
             order: I32? repoName: String? flag: Bool? nums: [I64]? }
    node N { x: I32 }
    edge Knows: P -> P { since: Date? }
    edge Works: P -> N @card(0..1)
    edge Owns: P -> N";

fn schema() -> Schema {
    Schema::accept_first(&parse_schema(SCHEMA).unwrap())
}

fn accept(text: &str) -> CheckedQuery {
    check_query(text, None, &schema()).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// A query over this pattern and return block.
fn read(pattern: &str, result: &str) -> String {
    format!(
        "query q($s: String, $num: I32?, $xs: [String], $count: U32, $d: Date) {{ match {{ {pattern} }} {result} }}"
    )
}

fn accept_read(pattern: &str, result: &str) -> CheckedQuery {
    accept(&read(pattern, result))
}

fn codes(text: &str) -> Vec<String> {
    match check_query(text, None, &schema()) {
        Err(LangError::Query { diagnostics }) => {
            assert!(diagnostics.iter().all(|d| d.span.is_some()), "every finding has its place: {diagnostics:?}");
            diagnostics.into_iter().map(|d| d.code).collect()
        }
        other => panic!("{text} should be refused, got {other:?}"),
    }
}

/// Variables with their types, and traversals as `src-[edge]->dst` with variable numbers.
fn shape(query: &CheckedQuery) -> (Vec<String>, Vec<String>) {
    let read = &query.read;
    let name = |id: crate::query::ir::VarId| read.variable(id).name.clone().unwrap_or_else(|| format!("_{}", id.0));
    let variables = read.variables.iter().map(|v| format!("{}: {}", v.name.as_deref().unwrap_or("_"), v.type_name));
    let traversals = read.traversals.iter().map(|t| {
        let edge = t.edge_var.map_or(t.edge_name.clone(), |id| format!("{}:{}", name(id), t.edge_name));
        format!("{}-[{edge}]->{}", name(t.src), name(t.dst))
    });
    (variables.collect(), traversals.collect())
}

#[test]
fn wrong_reads_are_refused_with_their_code() {
    let known = [
        ("$p: Q", "return { $p.k }", "T1"),
        ("$p: Knows", "return { $p.id }", "T1"),
        ("$p: P { zz: 1 }", "return { $p.k }", "T2"),
        ("$p: P { age: \"x\" }", "return { $p.k }", "T3"),
        ("$p: P { kind: \"zz\" }", "return { $p.k }", "T3"),
        ("$p: P { tags: [\"x\"] }", "return { $p.k }", "T3"),
        ("$p: P { age: null }", "return { $p.k }", "T3"),
        ("$p: P { d: \"2024-01-01\" }", "return { $p.k }", "T3"),
        ("$p: P { age: $s }", "return { $p.k }", "T7"),
        ("$p: P { k: $q }", "return { $p.k }", "T6"),
        ("$p: P $q: P { k: $p }", "return { $p.k }", "T6"),
        ("$p: P { b: \"x\" }", "return { $p.k }", "T24"),
        ("$p: P $p zz $q", "return { $p.k }", "T4"),
        ("$p: N $p knows $q", "return { $p.x }", "T5"),
        ("$p: P $p works $q $q knows $r", "return { $p.k }", "T5"),
        ("$p: P $q: P $p works $q", "return { $p.k }", "T5"),
        ("$p: P $p.zz = 1", "return { $p.k }", "T6"),
        ("$p: P $q.k = \"x\"", "return { $p.k }", "T6"),
        ("$p: P", "return { $q }", "T6"),
        ("$p: P $s.k = \"x\"", "return { $p.k }", "T6"),
        ("$p: P $p.age = \"x\"", "return { $p.k }", "T7"),
        ("$p: P $p.tags = \"x\"", "return { $p.k }", "T7"),
        ("$p: P $p.v = $p.v", "return { $p.k }", "T7"),
        ("$p: P $p.d = \"2024-01-01\"", "return { $p.k }", "T7"),
        ("$p: P $p.d = $p.at", "return { $p.k }", "T7"),
        ("$p: P $p.age contains 1", "return { $p.k }", "T7"),
        ("$p: P $p.tags contains 1", "return { $p.k }", "T7"),
        ("$p: P $p.tags contains $xs", "return { $p.k }", "T7"),
        ("$p: P $p.k in \"x\"", "return { $p.k }", "T7"),
        ("$p: P $p.age starts_with \"x\"", "return { $p.k }", "T7"),
        ("$p: P $p.k = null", "return { $p.k }", "T7"),
        ("$p: P $p = \"x\"", "return { $p.k }", "T7"),
        ("$p: P $p.kind = \"zz\"", "return { $p.k }", "T3"),
        ("$p: P $p.kind != \"b\"", "return { $p.k }", "T3"),
        ("$p: P $p.d = date(\"2024-02-30\")", "return { $p.k }", "T3"),
        ("$p: P $p.at = datetime(\"x\")", "return { $p.k }", "T3"),
        ("$p: P [1, \"x\"] contains $p.age", "return { $p.k }", "T3"),
        ("$p: P [1, null] contains $p.age", "return { $p.k }", "T3"),
        ("$p: P [[1]] contains $p.age", "return { $p.k }", "T3"),
        ("$p: P count($p) > 1", "return { $p.k }", "T8"),
        ("$p: P", "return { count(count($p)) }", "T8"),
        ("$p: P", "return { sum($p) }", "T8"),
        ("$p: P", "return { sum($p.k) }", "T8"),
        ("$p: P", "return { avg($p.d) }", "T8"),
        ("$p: P", "return { min($p.flag) }", "T8"),
        ("$p: P", "return { max($p.tags) }", "T8"),
        ("$p: P", "return { count(1) }", "T8"),
        ("$p: P", "return { count($q) }", "T6"),
        ("$p: P", "return { count($p) as n, 1 }", "T9"),
        ("$p: P", "return { count($p) as n, $s }", "T9"),
        ("$p: P", "return { count($p) as n } order { $p.k }", "T9"),
        ("$p: P $p knows{0,2} $q", "return { $p.k }", "T15"),
        ("$p: P $p knows{3,2} $q", "return { $p.k }", "T15"),
        ("$p: P $p works{1,2} $q", "return { $p.k }", "T15"),
        ("$p: P $p <works> $q", "return { $p.k }", "T22"),
        ("$p: P $p $e:knows $q", "return { $e }", "T23"),
        ("$p: P $p $e:knows $q", "return { count($e) }", "T23"),
        ("$p: P $p $e:knows $q $e knows $p", "return { $p.k }", "T23"),
        ("$p: P $p $e:knows{1,1} $q", "return { $p.k }", "T23"),
        ("$p: P $p $_:knows $q", "return { $p.k }", "T23"),
        ("$p: P $p $q:knows $q", "return { $p.k }", "T28"),
        ("$p: P $p $e:knows $q $p $e:knows $r", "return { $p.k }", "T28"),
        ("$p: P", "return { $p.b }", "T24"),
        ("$p: P $p.b is null", "return { $p.k }", "T24"),
        ("$p: P", "return { $p.k, $p.k }", "T25"),
        ("$p: P", "return { $p.k as x, $p.age as x }", "T25"),
        ("$p: P", "return { $p.k } order { nope }", "T26"),
        ("$p: P", "return { $p.k as x, x as y }", "T26"),
        ("$p: P $p.k = k", "return { $p.k }", "T26"),
        ("$p: P $p: N", "return { $p.k }", "T28"),
        ("$s: P", "return { $s.k }", "T28"),
        ("$p: P $s knows $p", "return { $p.k }", "T28"),
        ("$_: P", "return { 1 }", "T6"),
        ("$p: P $_ knows $_", "return { $p.k }", "T6"),
        ("$p: P $p knows $_", "return { $_.k }", "T6"),
        ("$p: P", "return { $p.k } order { $p.tags }", "T7"),
        ("$p: P", "return { $p.v as x } order { x }", "T7"),
        ("$p: P", "return { $p.k } limit $s", "T7"),
        ("$p: P", "return { $p.k } limit $num", "T7"),
        ("$p: P", "return { $p.k } skip $zz", "T6"),
    ];
    for (pattern, result, code) in known {
        let text = read(pattern, result);
        assert_eq!(codes(&text).first().map(String::as_str), Some(code), "{text}");
    }
}

#[test]
fn texts_outside_the_grammar_are_parse_errors() {
    let known = [
        read("$p: P", "return { $p.k } limit5"),
        read("$p: P", "return { $p.k } limit -1"),
        read("$p: P", "return { $p.k } limit 1 skip 1"),
        read("$p: P", "return { $p.k,, $p.age }"),
        read("$p: P", "return { }"),
        read("$p: P", "return { $p.k } order { }"),
        read("$p: P", "return { $p.k } garbage"),
        read("", "return { 1 }"),
        read("$p Knows $q", "return { $p.k }"),
        read("$p: p", "return { $p.k }"),
        read("$p knows{2} $q", "return { $p.k }"),
        read("$p knows{1,} $q", "return { $p.k }"),
        read("$p: P $p.u = 18446744073709551616", "return { $p.k }"),
        read("$p: P $p.f = 1e999", "return { $p.k }"),
        read("$p: P $p.f = 1.", "return { $p.k }"),
        read("$p: P $p.f = .5", "return { $p.k }"),
        read("$p: P $p.k = \"\\q\"", "return { $p.k }"),
        read("$p: P $p.k ~ \"x\"", "return { $p.k }"),
        read("$p: P $p.k", "return { $p.k }"),
        read("$p: P ($p.k = \"x\"", "return { $p.k }"),
        read("$p: P nope($p.k) = 1", "return { $p.k }"),
        read("$P: P", "return { $p.k }"),
        read(&format!("$p: P {}$p.k = \"x\"", "not ".repeat(100)), "return { $p.k }"),
        "queryx() { match { $p: P } return { $p.k } }".to_owned(),
        "query q() { match { $p: P } return { $p.k } } garbage".to_owned(),
        "query q($a: enum(x)) { match { $p: P } return { $p.k } }".to_owned(),
        "query q($a: I32,, $b: I32) { match { $p: P } return { $p.k } }".to_owned(),
        "query q() @note(\"x\") { match { $p: P } return { $p.k } }".to_owned(),
        "query q() { delete P }".to_owned(),
        "query q() { insert knows { from: \"a\" } }".to_owned(),
        "query q() { insert P { } }".to_owned(),
    ];
    for text in known {
        assert_eq!(codes(&text), ["ParseError"], "{text}");
    }
}

#[test]
fn names_used_twice_are_refused() {
    let two = "query a() { match { $p: P } return { $p.k } } query a() { match { $p: P } return { $p.k } }";
    assert_eq!(codes(two), ["T28"]);
    assert_eq!(codes("query q($a: I32, $a: I32) { match { $p: P } return { $p.k } }"), ["T28"]);
    assert_eq!(codes("query q($__now: I32) { match { $p: P } return { $p.k } }"), ["T28"]);
    assert_eq!(codes("query q($b: Blob) { match { $p: P } return { $p.k } }"), ["T24"]);
}

#[test]
fn all_findings_are_reported_in_the_order_of_the_text() {
    assert_eq!(
        codes(&read("$p: P $p.zz = 1 and $p.b = 2", "return { $p.k, $p.k } order { nope }")),
        ["T6", "T24", "T25", "T26"]
    );
}

#[test]
fn what_is_recognized_and_not_run_is_named() {
    let known = [
        (read("$p: P not { $p knows $_ }", "return { $p.k }"), "negation"),
        (read("$p: P $p knows{1,3} $q", "return { $p.k }"), "hop bounds"),
        (read("$p: P $p <knows> $q", "return { $p.k }"), "undirected"),
        (read("$p: P $p $e:<knows> $q", "return { $p.k }"), "undirected"),
        (read("$p: P search($p.k, \"x\")", "return { $p.k }"), "search"),
        (read("$p: P fuzzy($p.k, \"x\", 1)", "return { $p.k }"), "fuzzy"),
        (read("$p: P match_text($p.k, $s)", "return { $p.k }"), "match_text"),
        (read("$p: P", "return { $p.k } order { nearest($p.v, [1, 2]) } limit 3"), "nearest"),
        (read("$p: P", "return { bm25($p.k, \"x\") as r } order { r } limit 3"), "bm25"),
        (read("$p: P", "return { $p.k } order { rrf(nearest($p.v, [1, 2]), bm25($p.k, $s), 60) } limit 3"), "rrf"),
        ("query q() { insert P { k: \"a\" tags: [\"x\"], f: 1 d: now() } }".to_owned(), "mutation"),
        (
            "query q() { update P set { age: 1 } where k = \"a\" or (age > 3 and not order is null) }".to_owned(),
            "mutation",
        ),
        ("query q($x: String) { delete Works where to = $x }".to_owned(), "mutation"),
    ];
    for (text, part) in known {
        match check_query(&text, None, &schema()) {
            Err(LangError::Unimplemented { feature, .. }) => {
                assert!(feature.as_str().contains(part), "{text}: {feature}")
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn deletes_mixed_with_writes_are_refused_before_anything_else() {
    assert_eq!(codes("query q() { insert P { k: \"a\" } delete P where k = \"b\" }"), ["T27"]);
}

#[test]
fn one_query_of_several_is_chosen_by_name() {
    let text = "query a() { match { $p: P } return { $p.k } } query b() { delete P where k = \"x\" }";
    assert_eq!(query_names(text).unwrap(), ["a", "b"]);
    assert_eq!(check_query(text, Some("a"), &schema()).unwrap().name, "a");
    assert!(matches!(check_query(text, Some("b"), &schema()), Err(LangError::Unimplemented { .. })));
    assert!(matches!(check_query(text, Some("c"), &schema()), Err(LangError::QueryUnknown { .. })));
    assert!(matches!(check_query(text, None, &schema()), Err(LangError::QueryNotNamed { .. })));
    assert!(matches!(check_query("", None, &schema()), Err(LangError::QueryNotNamed { .. })));
}

#[test]
fn direction_follows_from_the_types_of_the_ends() {
    let known = [
        ("$p: P $p works $n", "p-[Works]->n"),
        ("$n: N $n works $p", "p-[Works]->n"),
        ("$n: N $p works $n", "p-[Works]->n"),
        ("$p: P $n works $p", "p-[Works]->n"),
        ("$n works $p $n: N", "p-[Works]->n"),
        ("$a works $b", "a-[Works]->b"),
        ("$a knows $b", "a-[Knows]->b"),
        ("$p: P $a kNOWS $p", "a-[Knows]->p"),
        ("$p: P $p knows $p", "p-[Knows]->p"),
        ("$p: P $p $e:works $n", "p-[e:Works]->n"),
        ("$n: N $_ works $n", "_1-[Works]->n"),
        ("$n: N $n works $_", "_1-[Works]->n"),
        ("$p: P $p knows{1,1} $q", "p-[Knows]->q"),
    ];
    for (pattern, traversal) in known {
        let query = accept_read(pattern, "return { 1 as one }");
        assert_eq!(shape(&query).1, [traversal], "{pattern}");
    }
}

#[test]
fn known_ends_decide_before_unknown_ones_wherever_they_stand() {
    let query = accept_read("$x works $y  $y owns $z  $z: N", "return { $y.k }");
    assert_eq!(shape(&query).1, ["y-[Works]->x", "y-[Owns]->z"]);
}

#[test]
fn each_anonymous_end_is_a_variable_of_its_own_and_breaks_no_ties() {
    let query =
        accept_read("$q: P $p: P $p knows $_ $_ knows $p $p $e:knows $q", "return { $p.k } order { $p.age desc }");
    let (variables, _) = shape(&query);
    assert_eq!(variables, ["q: P", "p: P", "_: P", "_: P", "e: Knows"]);
    assert_eq!(query.read.variables[4].kind, VariableKind::Edge);
    let TieBreak::Variables(ids) = &query.read.tie_break else { panic!("variables") };
    let names: Vec<&str> = ids.iter().map(|id| query.read.variable(*id).name.as_deref().unwrap()).collect();
    assert_eq!(names, ["e", "p", "q"]);
    assert_eq!(query.read.order[0].direction, Direction::Descending);
}

#[test]
fn repeated_binding_adds_conditions_to_one_variable() {
    let query = accept_read("$p: P { age: 3 } $p: P { k: $s, tags: \"x\", }", "return { $p.k }");
    assert_eq!(query.read.variables.len(), 1);
    assert_eq!(query.read.filters.len(), 3);
    assert!(matches!(query.read.filters[2], Predicate::ListContains { .. }));
}

#[test]
fn comparisons_know_how_values_are_compared() {
    let known = [
        ("$p.age > -5", Domain::Integers),
        ("$p.age = $num", Domain::Same(Scalar::I32)),
        ("$p.age = 2.7", Domain::IntegerAndFloat),
        ("$p.age < $p.u", Domain::Integers),
        ("$p.f >= 1e5", Domain::Floats),
        ("$p.f = $p.u", Domain::IntegerAndFloat),
        ("$p.k < \"b\"", Domain::Same(Scalar::String)),
        ("$p.kind = \"B\"", Domain::Same(Scalar::String)),
        ("$p.kind = $p.repoName", Domain::Same(Scalar::String)),
        ("$p.flag = true", Domain::Same(Scalar::Bool)),
        ("$p.d = date(\"2024-01-01\")", Domain::Same(Scalar::Date)),
        ("$p.at <= now()", Domain::Same(Scalar::DateTime)),
        ("$p.u = 18446744073709551615", Domain::Same(Scalar::U64)),
        ("$p.u > -9223372036854775808", Domain::Integers),
        ("$p.id = $s", Domain::Same(Scalar::String)),
        ("$p.order = 1", Domain::Integers),
    ];
    for (filter, expected) in known {
        let query = accept_read(&format!("$p: P {filter}"), "return { $p.k }");
        let [Predicate::Compare { domain, .. }] = query.read.filters.as_slice() else {
            panic!("{filter}: one comparison")
        };
        assert_eq!(*domain, expected, "{filter}");
    }
}

#[test]
fn words_between_operands_are_operators_where_no_edge_can_be() {
    let query = accept_read("$p: P $xs contains $p.k $p.k contains \"%\" $p.k in $xs $s in $p.tags", "return { $p.k }");
    let kinds: Vec<bool> = query.read.filters.iter().map(|f| matches!(f, Predicate::ListContains { .. })).collect();
    assert_eq!(kinds, [true, false, true, true]);
    assert!(matches!(&query.read.filters[1], Predicate::TextContains { .. }));
    let query =
        accept_read("$p: P [] contains $p.age $p.k starts_with \"a\" [1, 2.5] contains $p.age", "return { $p.k }");
    let Predicate::ListContains { list: Operand::Literal(Value::List(items), ty), .. } = &query.read.filters[0] else {
        panic!("a list")
    };
    assert_eq!((items.len(), ty), (0, &PropertyType::List(Scalar::I32)));
    assert!(matches!(&query.read.filters[1], Predicate::StartsWith { .. }));
}

#[test]
fn conditions_nest_with_and_before_or() {
    let query = accept_read(
        "$p: P $p.k = \"a\" or $p.k = \"b\" and not ($p.age is null or $p.d is not null)",
        "return { $p.k }",
    );
    let [Predicate::Or(parts)] = query.read.filters.as_slice() else { panic!("one disjunction") };
    let [Predicate::Compare { .. }, Predicate::And(parts)] = parts.as_slice() else { panic!("{parts:?}") };
    let [_, Predicate::Not(inner)] = parts.as_slice() else { panic!("{parts:?}") };
    assert!(matches!(inner.as_ref(), Predicate::Or(parts) if matches!(parts[1], Predicate::Not(_))));
}

#[test]
fn columns_have_names_types_and_nullability() {
    let query = accept_read(
        "$p: P $p $e:knows $q",
        "return { $p.k $p.age as years, $p, count($p.f) sum($p.age) sum($p.u), avg($p.age) min($p.d) max($p.kind) count($q), $e.since, $e.id }",
    );
    let columns: Vec<(String, bool)> = query
        .read
        .projections
        .iter()
        .map(|p| (format!("{}: {:?}", p.name, p.ty), p.nullability == Nullability::Nullable))
        .collect();
    insta::assert_debug_snapshot!(columns);
    assert_eq!(query.read.grouping, Grouping::By(vec![0, 1, 2, 10, 11]));
    assert_eq!(query.read.projections[9].expr, ProjectionExpr::Aggregate(Aggregate::CountRows));
}

#[test]
fn entity_constant_and_parameter_columns_are_accepted_without_aggregates() {
    let query = accept_read("$p: P", "return { $p, 1, now(), $s, $xs as list, [1, 2] as numbers }");
    let names: Vec<&str> = query.read.projections.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["p", "literal", "now", "s", "list", "numbers"]);
    assert_eq!(query.read.projections[0].ty, OutputType::Entity(query.read.variables[0].type_id));
    assert_eq!(query.read.grouping, Grouping::None);
}

#[test]
fn order_refers_to_properties_aliases_and_group_keys() {
    let query = accept_read("$p: P", "return { $p.k as x, $p.age } order { x desc, $p.f, } skip 2 limit $count");
    let read = &query.read;
    assert_eq!(read.order[0].target, OrderTarget::Projection(0));
    assert!(matches!(&read.order[1].target, OrderTarget::Access(access) if access.column.name() == "f"));
    assert_eq!((&read.skip, &read.limit), (&Some(RowCount::Literal(2)), &Some(RowCount::Param("count".to_owned()))));
    let query = accept_read("$p: P", "return { $p.k, count($p) as n } order { n desc, $p.k asc } limit 0");
    assert_eq!(query.read.order[1].target, OrderTarget::Projection(0));
    assert_eq!(query.read.tie_break, TieBreak::Projections(vec![0]));
}

#[test]
fn specification_examples_parse() {
    let text = "query per_port() @description(\"d\") @instruction(\"i\") {
                  match { $n: N  $v works $n } return { $n.x, count($v) as n } order { n desc } }";
    let query = accept(text);
    assert_eq!((query.description.as_deref(), query.instruction.as_deref()), (Some("d"), Some("i")));
    assert_eq!(shape(&query).1, ["v-[Works]->n"]);
    let text = "query f($c: String,) { match { $p: P $p $d:knows $q $q.k = $c } return { $p.k, $q.k as port, $d.since } order { $d.since desc } limit 20 }";
    let query = accept(text);
    let Predicate::Compare {
        left: Operand::Access(access), op: CompareOp::Equal, right: Operand::Param(param), ..
    } = &query.read.filters[0]
    else {
        panic!("a comparison with the parameter")
    };
    assert_eq!((access.column.name(), param.name.as_str()), ("k", "c"));
    assert!(matches!(access.column, Column::Property(_)));
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "query q() { ",
        "query q($s: String) { ",
        "match { ",
        "return { ",
        "order { ",
        "} ",
        "{ ",
        "$p: P ",
        "$p ",
        "$q ",
        "$s ",
        "$_ ",
        "$e:knows ",
        "knows ",
        "works ",
        "<knows> ",
        "$p.k ",
        "$p.age ",
        "$p.b ",
        "= ",
        "< ",
        "contains ",
        "in ",
        "is ",
        "null ",
        "not ",
        "and ",
        "or ",
        "( ",
        ") ",
        "1 ",
        "-2.5 ",
        "\"x\" ",
        "[ ",
        "] ",
        ", ",
        "count( ",
        "sum( ",
        "as x ",
        "x ",
        "desc ",
        "skip ",
        "limit ",
        "now() ",
        "date(\"2024-01-01\") ",
        "search( ",
        "insert P ",
        "delete P where ",
        "{1,2} ",
        ": ",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn checker_never_panics_on_arbitrary_text(text in ".{0,200}") {
        let _ = check_query(&text, None, &schema());
    }

    #[test]
    fn checker_never_panics_on_shuffled_pieces_and_refusals_say_why(text in pieces()) {
        if let Err(LangError::Query { diagnostics }) = check_query(&text, None, &schema()) {
            prop_assert!(!diagnostics.is_empty());
        }
    }

    #[test]
    fn checker_never_panics_inside_a_read_and_refusals_say_why(pattern in pieces(), result in pieces()) {
        let text = format!("query q($s: String) {{ match {{ $p: P {pattern} }} return {{ {result} }} }}");
        if let Err(LangError::Query { diagnostics }) = check_query(&text, None, &schema()) {
            prop_assert!(!diagnostics.is_empty(), "{}", text);
        }
    }
}

#[test]
fn unknown_type_is_one_finding_that_lists_the_types() {
    let found = |text: &str| match check_query(text, None, &schema()) {
        Err(LangError::Query { diagnostics }) => diagnostics,
        other => panic!("{other:?}"),
    };
    let one = |text: &str| {
        let diagnostics = found(text);
        assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
        diagnostics[0].hint.clone().unwrap_or_default()
    };
    let hint = one(&read("$a: Nope  $a.age > 1", "return { $a.name, count($a) as n } order { n }"));
    assert_eq!(hint, "node types: N, P");
    let hint = one(&read("$a: Nope  $a works $b", "return { $b.x, $a.k }"));
    assert_eq!(hint, "node types: N, P");
    let hint = one(&read("$a $e:nope $b  $e.x = $b.y", "return { $a.name }"));
    assert!(hint.ends_with(": Knows, Owns, Works"), "{hint}");
}
