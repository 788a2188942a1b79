use crate::schema::{Cardinality, Schema, TypeKind, parse_schema};

#[test]
fn constraints_are_shown_as_the_language_writes_them() {
    let text = r#"
        node Port { code: String @key country: String depth: F64? @range(depth, 0..60.5) @unique(country, depth)
                    @index(country) @check(code, "^\"\\d\n$") }
        edge Links: Port -> Port @card(1..) { w: I64 @key(dst, src, w) }
        edge Bare: Port -> Port
        node Area {}
    "#;
    let schema = Schema::accept_first(&parse_schema(text).unwrap());
    let names: Vec<&str> = schema.types_by_name().iter().map(|def| def.name.as_str()).collect();
    assert_eq!(names, ["Area", "Port", "Bare", "Links"]);
    let port = schema.type_by_name("Port").unwrap();
    let expected =
        ["@unique(country, depth)", "@index(country)", "@range(depth, 0..60.5)", r#"@check(code, "^\"\\d\n$")"#];
    assert_eq!(port.constraint_texts(), expected);
    let links = schema.type_by_name("Links").unwrap();
    assert_eq!(links.key_text().unwrap(), "@key(dst, src, w)");
    assert_eq!(links.columns(links.key.as_ref().unwrap()), ["dst", "src", "w"]);
    let TypeKind::Edge { from, card, .. } = links.kind else { panic!("an edge") };
    assert_eq!(schema.type_name(from), "Port");
    assert!(card.is_bounded() && !Cardinality::ANY.is_bounded());
}
