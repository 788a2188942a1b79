//! Rules about the contract that its linter does not know.

use super::finding::Finding;

/// Where the contract of the product lies.
const FOLDER: &str = "proto/omnigraph/";
/// The option by which a call says whether a client may send it again.
const IDEMPOTENCY: &str = "idempotency_level";

/// Checks one proto file: every call has an idempotency level.
pub(super) fn check(name: &str, content: &str) -> Vec<Finding> {
    if !name.starts_with(FOLDER) || !name.ends_with(".proto") {
        return Vec::new();
    }
    let code: String =
        content.lines().map(|line| format!("{}\n", line.split("//").next().unwrap_or_default())).collect();
    let mut findings = Vec::new();
    for (at, _) in code.match_indices("rpc ") {
        let starts_a_line =
            code[..at].lines().next_back().is_none_or(|before| before.trim().is_empty()) || code[..at].ends_with('\n');
        if !starts_a_line {
            continue;
        }
        let call = &code[at..];
        let answer = call.find("returns").unwrap_or(0);
        let end = call[answer..].find([';', '{']).map_or(call.len(), |end| answer + end);
        let options = match call[end..].starts_with('{') {
            true => call[end..].split('}').next().unwrap_or_default(),
            false => "",
        };
        if !options.contains(IDEMPOTENCY) {
            let call = call["rpc ".len()..].split('(').next().unwrap_or_default().trim();
            let what = format!("rpc {call} has no {IDEMPOTENCY}: say whether a client may send it again");
            findings.push(Finding::at(name, code[..at].lines().count().max(1), what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_without_an_idempotency_level_is_found() {
        let text = "service A {\n  // rpc in a comment\n  rpc Get(G) returns (R) {\n    option idempotency_level = NO_SIDE_EFFECTS;\n  }\n  \
                    rpc Put(P) returns (R);\n  rpc Cut(P)\n      returns (stream R) {\n    option deprecated = true;\n  }\n}\n";
        let found = check("proto/omnigraph/v1/a.proto", text);
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [Some(6), Some(7)], "{found:?}");
        assert!(check("proto/google/rpc/a.proto", text).is_empty());
    }
}
