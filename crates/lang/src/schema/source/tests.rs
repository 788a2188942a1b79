use proptest::prelude::*;

use crate::schema::{ContractError, Schema, SchemaHash, parse_schema};

fn accept(text: &str) -> Schema {
    Schema::accept_first(&parse_schema(text).unwrap_or_else(|error| panic!("{text}\n{error}")))
}

const RICH: &str = r#"
interface Coded { code: String @key @description("c") vec: Vector(3)? @embed(code, model="m") n: I32? @team(core) }
node Port @description("Sea \"port\"\n\\") @instruction("look") @colour("red", shade=-2.5, on=true) implements Coded {
  country: enum(no, dk, se)
  depth: F64? @description("metres")
  low: F32?
  @range(depth, 0..60.5) @range(low, ..0.1) @range(n, -3..)
  @unique(country, depth) @unique(depth) @check(code, "^\\w+$") @index(country)
}
node Plain {}
edge Links: Port -> Plain @card(1..3) { w: I64 @key(src, dst, w) @index(src) @range(w, ..18446744073709551615) }
edge Bare: Plain -> Plain
"#;

#[test]
fn source_parses_to_the_same_schema() {
    let schema = accept(RICH);
    let source = schema.to_source();
    assert_eq!(accept(&source), schema, "{source}");
    assert_eq!(accept(&source).to_source(), source);
}

#[test]
fn source_of_a_rich_schema_reads_well() {
    insta::assert_snapshot!(accept(RICH).to_source());
}

#[test]
fn contract_round_trips_and_its_bytes_are_canonical() {
    let schema = accept(RICH);
    let bytes = schema.to_canonical_json();
    let read = Schema::from_json(&bytes).unwrap();
    assert_eq!(read, schema);
    assert_eq!(read.to_canonical_json(), bytes);
    let hash: SchemaHash = schema.hash().to_string().parse().unwrap();
    assert_eq!(hash, schema.hash());
}

#[test]
fn contract_of_a_small_schema_has_these_bytes() {
    let text = String::from_utf8(accept("node P { k: String @key a: enum(b, a)? }").to_canonical_json()).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn order_that_means_nothing_changes_no_hash() {
    let one =
        "node A { k: String e: enum(x, y) @key(k) @unique(k, e) @index(e) @range(n, 0..) @check(k, \"a\") n: I32 }
               node B {} edge E: A -> B";
    let other =
        "// a comment\nedge E: A -> B node B {} node A { k: String @check(k, \"a\") e: enum(y, x) n: I32 @range(n, 0..)
               @index(e) @unique(e, k) @unique(k, e) @key(k) }";
    assert_eq!(accept(one).hash(), accept(other).hash());
    assert_eq!(accept("node P { a: String @unique }").hash(), accept("node P { a: String @unique(a) }").hash());
}

#[test]
fn key_order_is_part_of_the_schema() {
    let text = |key: &str| format!("node A {{ a: String b: String @key({key}) }}");
    assert_ne!(accept(&text("a, b")).hash(), accept(&text("b, a")).hash());
}

#[test]
fn contract_of_another_format_or_with_dangling_ids_is_refused() {
    let bytes = accept("node P { k: String @key }").to_canonical_json();
    let text = String::from_utf8(bytes).unwrap();
    let replaced = |from: &str, to: &str| {
        assert!(text.contains(from), "{text} holds {from}");
        Schema::from_json(text.replace(from, to).as_bytes())
    };
    assert_eq!(replaced("\"format\":1", "\"format\":2"), Err(ContractError::Format { found: 2 }));
    let dangling = replaced("\"key\":[{\"property\":1}]", "\"key\":[{\"property\":7}]");
    assert!(matches!(dangling, Err(ContractError::Invariant { .. })), "{dangling:?}");
    let unallocated = replaced("\"next_table_id\":2", "\"next_table_id\":1");
    assert!(matches!(unallocated, Err(ContractError::Invariant { .. })), "{unallocated:?}");
    assert!(matches!(Schema::from_json(b"{}"), Err(ContractError::Json { .. })));
}

#[test]
fn hash_text_of_another_form_is_refused() {
    for text in ["", "00", &"0".repeat(63), &"G".repeat(64), &"A".repeat(64)] {
        assert!(text.parse::<SchemaHash>().is_err(), "{text:?}");
    }
}

/// Pieces that schema texts are made of, so that arbitrary sequences reach deep into the parser.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "node ",
        "edge ",
        "interface ",
        "P ",
        "Q ",
        "a",
        "b",
        ": ",
        "{ ",
        "} ",
        "String",
        "I32",
        "F32",
        "? ",
        "@",
        "key",
        "unique",
        "range",
        "check",
        "card",
        "embed",
        "rename_from",
        "(",
        ")",
        ",",
        "..",
        "1",
        "-5",
        "2.5",
        "\"x\"",
        "-> ",
        "enum",
        "Vector",
        "[",
        "]",
        "implements ",
        "=",
        "$x",
        "é",
        "/*",
        "*/",
        "//",
        "\n",
        "\"",
        "\\",
        "99999999999999999999999999999999999999999",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn parser_never_panics_on_arbitrary_text(text in ".{0,200}") {
        let _ = parse_schema(&text);
    }

    #[test]
    fn whatever_parses_round_trips_through_source_and_contract(text in pieces()) {
        if let Ok(parsed) = parse_schema(&text) {
            let schema = Schema::accept_first(&parsed);
            prop_assert_eq!(&accept(&schema.to_source()), &schema);
            prop_assert_eq!(&Schema::from_json(&schema.to_canonical_json()).unwrap(), &schema);
        }
    }

    #[test]
    fn generated_schema_round_trips_through_source_and_contract(
        types in prop::collection::vec(("[A-Z][a-z]{1,3}[0-9]", prop::collection::vec(("[a-z]{2,3}[0-9]", 0_usize..9), 0..5)), 0..5),
    ) {
        let spellings = ["String", "[I64]?", "enum(b, a-1)", "Vector(3)?", "Blob", "F32", "DateTime?", "U64", "Bool"];
        let mut text = String::new();
        for (name, properties) in types {
            text.push_str(&format!("node {name} {{\n"));
            for (property, spelling) in properties {
                text.push_str(&format!("{property}: {} @index\n", spellings[spelling]));
            }
            text.push_str("}\n");
        }
        if let Ok(parsed) = parse_schema(&text) {
            let schema = Schema::accept_first(&parsed);
            prop_assert_eq!(&accept(&schema.to_source()), &schema);
            prop_assert_eq!(&Schema::from_json(&schema.to_canonical_json()).unwrap(), &schema);
        }
    }
}
