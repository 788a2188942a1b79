//! Texts as a shell takes them, for commands that a person copies.

/// Whether a shell takes the text as it is.
pub(crate) fn is_word(text: &str) -> bool {
    let plain = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | ':');
    !text.is_empty() && text.chars().all(plain)
}

/// The text as one word of a command: in quotes where a shell would change it. Control characters have escapes, which bash and zsh read.
pub(crate) fn shell(text: &str) -> String {
    if is_word(text) {
        return text.to_owned();
    }
    if text.chars().any(char::is_control) {
        return format!("$'{}'", text.chars().map(escaped).collect::<String>());
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn escaped(character: char) -> String {
    match character {
        '\t' => "\\t".to_owned(),
        '\n' => "\\n".to_owned(),
        '\'' | '\\' => format!("\\{character}"),
        control if control.is_ascii_control() => format!("\\x{:02x}", u32::from(control)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_a_shell_would_change_is_quoted() {
        let shown = ["name", " s", "k;f", "it's", "", "a\tb'\u{1b}", "trial/prices"].map(shell);
        assert_eq!(shown, ["name", "' s'", "'k;f'", "'it'\\''s'", "''", "$'a\\tb\\'\\x1b'", "trial/prices"]);
    }
}
