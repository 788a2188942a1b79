use omnigraph_types::{Diagnostic, Effect, Problem, Span};

use super::render;
use crate::LangError;
use crate::query::check_query;
use crate::schema::{Schema, parse_schema};

#[test]
fn finding_is_shown_under_its_line() {
    let source = "node P {\r\n\té: I32\n}";
    let Err(LangError::Schema { diagnostics }) = parse_schema(source) else { panic!("refused") };
    insta::assert_snapshot!(render(&diagnostics[0], source));
    let source = "query q() {\n  match { $p: P }\n  return { $p.kk }\n}";
    let schema = Schema::accept_first(&parse_schema("node P { k: String }").unwrap());
    let Err(LangError::Query { diagnostics }) = check_query(source, None, &schema) else { panic!("refused") };
    insta::assert_snapshot!(render(&diagnostics[0], source));
}

#[test]
fn finding_with_a_place_outside_the_text_is_still_shown() {
    let span = Some(Span { start: 90, end: 99, line: 7, column: 3 });
    let finding = Diagnostic { code: "T6".to_owned(), message: "m".to_owned(), span, hint: Some("h".to_owned()) };
    assert!(render(&finding, "short").contains("line 7, column 3"));
    assert_eq!(render(&Diagnostic { span: None, ..finding }, ""), "T6: m\nhint: h\n");
}

#[test]
fn failures_carry_the_findings_and_change_nothing() {
    let failure = parse_schema("node {").unwrap_err().failure();
    assert!(matches!(&failure.problem, Problem::SchemaInvalid { diagnostics } if diagnostics.len() == 1));
    assert_eq!(failure.effect, Effect::None);
    let schema = Schema::accept_first(&parse_schema("node P {}").unwrap());
    let failure = check_query("query q() { delete P where id = \"x\" }", None, &schema).unwrap_err().failure();
    assert_eq!(failure.problem, Problem::Unimplemented { feature: "mutation queries".to_owned() });
    let failure = check_query("", Some("q"), &schema).unwrap_err().failure();
    assert_eq!(failure.problem, Problem::InvalidRequest { field: "query_name".to_owned() });
}

#[test]
fn long_text_is_clipped_in_a_failure() {
    let failure = parse_schema(&format!("node P {{ a: {} }}", "X".repeat(5_000))).unwrap_err().failure();
    assert!(failure.message.len() < 400, "{}", failure.message);
}
