use crate::LangError;
use crate::schema::{
    Bound, Member, Nullability, Origin, PropertyType, Scalar, Schema, TypeKind, compile_check, parse_schema,
};

const PARSE_ERROR: &str = "ParseError";
const SCHEMA_ERROR: &str = "SchemaError";

fn accept(text: &str) -> Schema {
    match parse_schema(text) {
        Ok(parsed) => Schema::accept_first(&parsed),
        Err(error) => panic!("{text}\n{error}"),
    }
}

fn refuse(text: &str) -> Vec<(String, String)> {
    match parse_schema(text) {
        Err(LangError::Schema { diagnostics }) => {
            assert!(diagnostics.iter().all(|d| d.span.is_some()), "every finding has its place: {diagnostics:?}");
            diagnostics.into_iter().map(|d| (d.code, d.message)).collect()
        }
        other => panic!("{text} should be refused, got {other:?}"),
    }
}

/// The texts that must be refused, with code and a part of the first message.
const REFUSED: &[(&str, &str, &str)] = &[
    ("node { }", PARSE_ERROR, "expected a type name"),
    ("node port {}", PARSE_ERROR, "expected a type name"),
    ("node Port { Depth: F64 }", PARSE_ERROR, "expected a property"),
    ("node P { a: Text }", PARSE_ERROR, "expected a type, found `Text`"),
    ("node P { a: String?? }", PARSE_ERROR, "found `?`"),
    ("node P { a: enum() }", PARSE_ERROR, "expected an enum value"),
    ("node P { a: enum(x, x) }", SCHEMA_ERROR, "`x` is listed twice"),
    ("node P { v: Vector(0) }", SCHEMA_ERROR, "dimension out of bounds"),
    ("node P { v: Vector(2147483648) }", SCHEMA_ERROR, "dimension out of bounds"),
    ("node P { v: Vector(99999999999999999999) }", SCHEMA_ERROR, "dimension out of bounds"),
    ("node P { a: [Blob] }", SCHEMA_ERROR, "list of Blob"),
    ("node P { a: [Vector(3)] }", SCHEMA_ERROR, "scalars only"),
    ("node P { a: [enum(a)] }", SCHEMA_ERROR, "scalars only"),
    ("node P { a: [[String]] }", SCHEMA_ERROR, "scalars only"),
    ("node P { a: I32 a: String }", SCHEMA_ERROR, "duplicate property"),
    ("node P {} node P {}", SCHEMA_ERROR, "duplicate name"),
    ("node A {} edge A: A -> A", SCHEMA_ERROR, "duplicate name"),
    ("interface A {} node A {}", SCHEMA_ERROR, "duplicate name"),
    ("interface I {} interface I {}", SCHEMA_ERROR, "duplicate name"),
    ("edge E: A -> B", SCHEMA_ERROR, "unknown endpoint"),
    ("interface I {} node A {} edge E: A -> I", SCHEMA_ERROR, "unknown endpoint"),
    ("node A {} edge E: A -> A edge F: A -> E", SCHEMA_ERROR, "unknown endpoint"),
    ("node P implements Nope {}", SCHEMA_ERROR, "unknown interface"),
    ("node P {} edge Knows: P -> P edge KNOWS: P -> P", SCHEMA_ERROR, "differ only by case"),
    ("interface I { a: I32 } node P implements I { a: I64 }", SCHEMA_ERROR, "type conflict"),
    ("interface I { a: I32 } node P implements I { a: I32? }", SCHEMA_ERROR, "type conflict"),
    ("interface I { a: enum(x) } node P implements I { a: enum(x, y) }", SCHEMA_ERROR, "type conflict"),
    (
        "interface I { a: I32 } interface J { a: I32 @index } node P implements I, J {}",
        SCHEMA_ERROR,
        "different annotations",
    ),
    ("node P { a: String? @key }", SCHEMA_ERROR, "must not be nullable"),
    ("node P { a: String @key b: String @key }", SCHEMA_ERROR, "more than one key"),
    ("node P { @key(zz) }", SCHEMA_ERROR, "unknown property"),
    ("node P { @unique(zz) }", SCHEMA_ERROR, "unknown property"),
    ("node P { @index(zz) }", SCHEMA_ERROR, "unknown property"),
    ("node P { @range(zz, 0..1) }", SCHEMA_ERROR, "unknown property"),
    ("node P { @check(zz, \"x\") }", SCHEMA_ERROR, "unknown property"),
    ("node P { @unique(src, dst) }", SCHEMA_ERROR, "unknown property"),
    ("node P { t: [String] @key }", SCHEMA_ERROR, "not allowed on `t`"),
    ("node P { t: [String] @unique(t) }", SCHEMA_ERROR, "not allowed on `t`"),
    ("node P { t: [String] @index(t) }", SCHEMA_ERROR, "not allowed on `t`"),
    ("node P { v: Vector(2) @unique }", SCHEMA_ERROR, "not allowed on `v`"),
    ("node P { v: Vector(2) @key }", SCHEMA_ERROR, "not allowed on `v`"),
    ("node P { b: Blob @index }", SCHEMA_ERROR, "not allowed on `b`"),
    ("node P {} edge E: P -> P { x: I32 @key }", SCHEMA_ERROR, "must hold src and dst"),
    ("node P {} edge E: P -> P { x: I32 @key(src, x) }", SCHEMA_ERROR, "must hold src and dst"),
    ("node P {} edge E: P -> P { s: String v: Vector(2) @embed(s) }", SCHEMA_ERROR, "for nodes, not for edges"),
    ("node P {} edge E: P -> P @card(2..1)", SCHEMA_ERROR, "bad cardinality"),
    ("node P {} edge E: P -> P @card(1)", SCHEMA_ERROR, "bad cardinality"),
    ("node P {} edge E: P -> P @card(..1)", SCHEMA_ERROR, "bad cardinality"),
    ("node P {} edge E: P -> P @card", SCHEMA_ERROR, "bad cardinality"),
    ("node P {} edge E: P -> P @card(0..4294967296)", SCHEMA_ERROR, "bad cardinality"),
    ("node P {} edge E: P -> P @card(0..1) @card(0..1)", SCHEMA_ERROR, "twice"),
    ("node P @card(0..1) {}", SCHEMA_ERROR, "header of an edge type"),
    ("node P { a: String @range(a, 0..1) }", SCHEMA_ERROR, "needs a numeric property"),
    ("node P { a: [I32] @range(a, 0..1) }", SCHEMA_ERROR, "needs a numeric property"),
    ("node P { n: I32 @range(n, 5..1) }", SCHEMA_ERROR, "empty range"),
    ("node P { n: I32 @range(n, 99999999999999999999..) }", SCHEMA_ERROR, "out of range"),
    ("node P { n: F64 @range(n, 1e999..) }", SCHEMA_ERROR, "out of range"),
    ("node P { n: I32 @range(n, ..) }", PARSE_ERROR, "expected a number"),
    ("node P { n: I32 @check(n, \"x\") }", SCHEMA_ERROR, "needs a String property"),
    ("node P { n: enum(x) @check(n, \"x\") }", SCHEMA_ERROR, "needs a String property"),
    ("node P { a: String @check(a, \"[\") }", SCHEMA_ERROR, "does not compile"),
    ("node P { a: String @embed(a) }", SCHEMA_ERROR, "needs a Vector property"),
    ("node P { a: I32 v: Vector(2) @embed(a) }", SCHEMA_ERROR, "no String property"),
    ("node P { v: Vector(2) @embed(zz) }", SCHEMA_ERROR, "no String property"),
    ("node P { v: Vector(2) @embed }", SCHEMA_ERROR, "needs the name of its source"),
    ("node P { a: String v: Vector(2) @embed(a, x=\"y\") }", SCHEMA_ERROR, "unknown argument `x`"),
    ("node P @rename_from {}", SCHEMA_ERROR, "malformed `@rename_from`"),
    ("node P @rename_from(\"\") {}", SCHEMA_ERROR, "malformed `@rename_from`"),
    ("node P @rename_from(\"A\") @rename_from(\"B\") {}", SCHEMA_ERROR, "twice"),
    ("node P @rename_from(\"A\", x=\"y\") {}", SCHEMA_ERROR, "malformed `@rename_from`"),
    ("node P @rename_from(x=\"y\") {}", SCHEMA_ERROR, "malformed `@rename_from`"),
    ("node P { a: String @instruction(\"x\") }", SCHEMA_ERROR, "belongs to types"),
    ("node P { a: String @description(\"\\q\") }", PARSE_ERROR, "unknown escape"),
    ("node P { a: String @description(\"\") }", SCHEMA_ERROR, "malformed `@description`"),
    ("node P { _rowid: U64 }", SCHEMA_ERROR, "reserved name"),
    ("node P { id: String }", SCHEMA_ERROR, "reserved name"),
    ("node P { src: String }", SCHEMA_ERROR, "reserved name"),
    ("node P {} edge E: P -> P { from: String }", SCHEMA_ERROR, "reserved name"),
    ("node String {}", SCHEMA_ERROR, "built-in type"),
    ("node Vector {}", SCHEMA_ERROR, "built-in type"),
    ("node Enum {}", SCHEMA_ERROR, "built-in type"),
    ("node P @uniqe {}", SCHEMA_ERROR, "did you mean `@unique`"),
    ("node P { a: String @uniqe }", SCHEMA_ERROR, "did you mean `@unique`"),
    ("node P { a: String @indexx }", SCHEMA_ERROR, "did you mean `@index`"),
    ("node P { a: String @index @index }", SCHEMA_ERROR, "twice"),
    ("node P @key {}", SCHEMA_ERROR, "header"),
    ("node P @unique(a) { a: String }", SCHEMA_ERROR, "header"),
    ("node P { a: String @unique(\"x\") }", SCHEMA_ERROR, "lists property names"),
    ("node P { a: String @index(\"x\") }", SCHEMA_ERROR, "lists property names"),
    ("node P { a: String @unique(a, a) }", SCHEMA_ERROR, "listed twice"),
    ("interface I @description(\"x\") {}", SCHEMA_ERROR, "interfaces carry no annotations"),
    ("interface I { a: I32 @range(a, 0..1) }", SCHEMA_ERROR, "interface"),
    ("interface I { a: I32 @key(a) }", SCHEMA_ERROR, "interfaces do not carry"),
    ("interface I {} node P implements I, I {}", SCHEMA_ERROR, "listed twice"),
    ("nodePort {}", PARSE_ERROR, "expected `node`"),
    ("node P { a: enum(x,,y) }", PARSE_ERROR, "expected an enum value"),
    ("node P { a: String @key(,a) }", PARSE_ERROR, "expected a property name"),
    ("/* a /* b */ */", PARSE_ERROR, "not allowed here"),
    ("/* a", PARSE_ERROR, "does not end"),
    ("node P { a: String @description(\"x) }", PARSE_ERROR, "does not end"),
    ("node É {}", PARSE_ERROR, "not allowed"),
    ("node P { a: String", PARSE_ERROR, "the end of the text"),
];

#[test]
fn wrong_schema_is_refused_with_code_and_reason() {
    for (text, code, part) in REFUSED {
        let findings = refuse(text);
        let (found, message) = &findings[0];
        assert_eq!((found.as_str(), message.contains(part)), (*code, true), "{text}: {findings:?} lacks {part:?}");
    }
}

#[test]
fn all_findings_are_reported_in_the_order_of_the_text() {
    let messages = refuse("node P { a: I32 a: I32 id: String }\nedge E: P -> Q");
    let messages: Vec<&str> = messages.iter().map(|(_, message)| &message[..12]).collect();
    assert_eq!(messages, ["duplicate pr", "`id` is a re", "unknown endp"]);
}

#[test]
fn empty_and_comment_only_texts_are_schemas_without_types() {
    for text in ["", " \r\n\t", "// x", "/* a /* b */", "// only\n/* comments */"] {
        assert_eq!(accept(text).types().len(), 0, "{text:?}");
    }
}

#[test]
fn index_on_the_property_and_in_the_body_is_one_index() {
    let schema = accept("node P { a: String @index @index(a) }");
    assert_eq!(schema.types()[0].indexes.len(), 1);
}

#[test]
fn key_given_twice_alike_is_one_key_and_implies_an_index() {
    let schema = accept("node P { a: String @key @key(a) @index(a) }");
    let def = &schema.types()[0];
    let a = Member::Property(def.property("a").unwrap().id);
    assert_eq!((def.key.clone(), def.indexes.len(), def.indexed_members()), (Some(vec![a]), 0, vec![a]));
}

#[test]
fn unknown_annotation_is_kept_with_a_warning() {
    let parsed = parse_schema("node P @colour(\"red\", shade=2) { a: String @team(core) }").unwrap();
    assert_eq!(parsed.warnings.len(), 2);
    let schema = Schema::accept_first(&parsed);
    assert_eq!(schema.types()[0].metadata.annotations[0].name, "colour");
}

#[test]
fn rename_from_is_reported_and_not_part_of_the_schema() {
    let parsed = parse_schema("node P @rename_from(\"Gone\") { a: String @rename_from(\"b\") }").unwrap();
    let renames: Vec<_> = parsed.renames.iter().map(|r| (r.property.as_deref(), r.from.as_str())).collect();
    assert_eq!(renames, [(None, "Gone"), (Some("a"), "b")]);
    assert_eq!(Schema::accept_first(&parsed), accept("node P { a: String }"));
}

#[test]
fn words_of_the_grammar_are_property_names() {
    let schema =
        accept("node P { order: I32 set: I32, node: I32 type: I32 enum: enum(a) not: Bool limit: I32 null: I32 }");
    assert_eq!(schema.types()[0].properties.len(), 8);
}

#[test]
fn enum_values_may_begin_with_digits_and_hold_dashes() {
    let schema = accept("node P { a: enum(b-1, 2x, -5, _, a--b, 1e5,) }");
    let expected = ["-5", "1e5", "2x", "_", "a--b", "b-1"].map(str::to_owned).to_vec();
    assert_eq!(schema.types()[0].properties[0].ty, PropertyType::Enum(expected));
}

#[test]
fn ranges_are_compared_exactly_and_open_ends_hold_everything() {
    let schema = accept(
        "node P { age: I32? u: U64? f: F32? @range(age, ..5) @range(u, 0..9007199254740992) @range(f, 0.1..1e3) }",
    );
    let ranges = &schema.types()[0].ranges;
    assert!(!ranges[0].contains_i128(6) && ranges[0].contains_i128(5) && ranges[0].contains_i128(-100));
    assert!(!ranges[1].contains_i128(9_007_199_254_740_993) && ranges[1].contains_i128(9_007_199_254_740_992));
    assert!(ranges[2].contains_f64(f64::from(0.1_f32)) && !ranges[2].contains_f64(f64::from(0.1_f32.next_down())));
    assert!(!ranges[2].contains_f64(f64::NAN));
    assert_eq!(ranges[0].max, Some(Bound::Integer(5)));
}

#[test]
fn check_matches_anywhere_in_the_text() {
    let schema = accept("node P { k: String @check(k, \"b\") }");
    let regex = compile_check(&schema.types()[0].checks[0]).unwrap();
    assert!(regex.is_match("abc") && !regex.is_match("ac"));
}

#[test]
fn interface_properties_come_after_the_types_own_with_their_annotations() {
    let schema = accept(EXAMPLE);
    let port = schema.type_by_name("Port").unwrap();
    let names: Vec<(&str, Origin)> = port.properties.iter().map(|p| (p.name.as_str(), p.origin)).collect();
    assert_eq!(names, [("country", Origin::Own), ("depth", Origin::Own), ("code", Origin::Interface)]);
    assert_eq!(port.key, Some(vec![Member::Property(port.property("code").unwrap().id)]));
    assert_eq!(port.metadata.description.as_deref(), Some("Sea port"));
}

#[test]
fn own_declaration_of_an_interface_property_drops_the_interfaces_annotations() {
    let schema = accept("interface I { a: String @key } node P implements I { a: String }");
    assert_eq!(schema.types()[0].key, None);
}

#[test]
fn example_has_the_types_that_it_declares() {
    let schema = accept(EXAMPLE);
    let docked = schema.edge_by_lower_name("dockedAt").unwrap();
    let TypeKind::Edge { from, to, card } = docked.kind else { panic!("an edge") };
    assert_eq!((card.min, card.max), (0, Some(1)));
    assert_eq!(schema.type_by_id(from).unwrap().name, "Vessel");
    assert_eq!(schema.type_by_id(to).unwrap().name, "Port");
    let sister = schema.type_by_name("SisterOf").unwrap();
    assert_eq!(sister.uniques, [vec![Member::Src, Member::Dst]]);
    let vessel = schema.type_by_name("Vessel").unwrap();
    let tags = vessel.property("tags").unwrap();
    assert_eq!((&tags.ty, tags.nullability), (&PropertyType::List(Scalar::String), Nullability::Nullable));
    let key: Vec<&str> = vessel.key.as_ref().unwrap().iter().map(|m| vessel.column(*m)).collect();
    assert_eq!(key, ["registry", "imo"]);
    assert_eq!(schema.edges_of(from).count(), 2);
}

/// The example of the specification.
pub(crate) const EXAMPLE: &str = r#"
interface Coded { code: String @key }
node Port @description("Sea port") implements Coded {
  country: enum(no, dk, se)
  depth: F64?
  @range(depth, 0..60)
}
node Vessel {
  registry: String  imo: U32
  name: String @index
  tags: [String]?   built: Date?   photo: Blob?
  sketch: Vector(4)?
  @key(registry, imo)
  @check(name, "^[A-Z]")
}
edge DockedAt: Vessel -> Port @card(0..1) { since: DateTime }
edge SisterOf: Vessel -> Vessel { @unique(src, dst) }
"#;
