//! Texts that messages and ids are made of.
//!
//! Invariant: a value quoted from a client's text is clipped, so that no message grows with the input.

use std::fmt::Write;

/// Characters of a client's text that a message quotes.
const QUOTE_CHARS_MAX: usize = 80;

/// The text, cut with `…` where it is long.
pub fn clip(text: &str) -> String {
    match text.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Names, separated by commas and clipped as a whole.
pub(crate) fn list<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<String> = names.iter().map(|name| clip(name.as_ref())).collect();
    clip(&names.join(", "))
}

/// Appends formatted text.
pub(crate) fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}

/// Appends a JSON string that escapes only `"`, `\` and control characters; everything else stays raw.
pub(crate) fn write_json_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || c < ' ' || c == '\u{7f}') {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => put(out, format_args!("\\u{control:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::clip;

    #[test]
    fn long_text_is_clipped_at_a_character() {
        assert_eq!(clip(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
        assert_eq!(clip(&"é".repeat(80)), "é".repeat(80));
    }
}
