use super::*;

fn findings(body: &str) -> usize {
    let content = format!("const UNREADABLE: &str = \"unreadable\";\nconst MAX: u64 = 1;\nfn f() {{ {body} }}\n");
    let sources = [Source::parse("crates/a/src/a.rs", &content).unwrap()];
    check(&sources).len()
}

#[test]
fn default_arm_beside_an_arm_about_a_claim_is_found() {
    assert_eq!(findings("match x { Effect::None => 1, _ => 2 }"), 1);
    assert_eq!(findings("match x { 1 => types::Retry::Never, _ => Retry::Now }"), 1);
    assert_eq!(findings("match (x, y) { (Certainty::Unknown, 1) => 1, (_, _) => 2 }"), 1);
    assert_eq!(findings("match x { Effect::None => 1, Effect::Some => 2 }"), 0);
    assert_eq!(findings("match x { 1 => 1, _ => 2 }"), 0);
}

#[test]
fn match_inside_an_arm_is_judged_by_itself() {
    assert_eq!(findings("match x { 1 => match y { Effect::None => 1, Effect::Some => 2 }, _ => 2 }"), 0);
    assert_eq!(findings("match x { 1 => match y { Effect::None => 1, _ => 2 }, 2 => 2 }"), 1);
}

#[test]
fn comparison_of_a_kind_with_a_text_is_found() {
    for body in [
        "found == UNREADABLE",
        "x.member == \"branch\"",
        "\"load\" != row.kind.as_str()",
        "match row.kind.as_str() { \"load\" => 1, other => 2 }",
        "match *kind() { UNREADABLE => 1, other => 2 }",
        "x.kind().as_deref() == UNREADABLE",
    ] {
        assert_eq!(findings(body), 1, "{body}");
    }
    for body in
        ["found == MAX", "x.name == \"branch\"", "x.kind == Kind::Load", "match text { \"load\" => 1, other => 2 }"]
    {
        assert_eq!(findings(body), 0, "{body}");
    }
}

#[test]
fn tests_may_compare_texts() {
    let content = "#[cfg(test)]\nmod tests { fn f() { kind == \"load\"; } }\n";
    assert!(check(&[Source::parse("crates/a/src/a.rs", content).unwrap()]).is_empty());
}
