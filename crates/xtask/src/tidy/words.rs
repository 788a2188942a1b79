//! Words: idioms that hide who does what, in comments, log lines, errors and READMEs.
//!
//! The list holds what has no second, plain sense here; the rest of the style is judgement. Texts are read across line breaks.

use super::finding::Finding;

/// Kinds of file whose prose is checked.
const ENDINGS: [&str; 3] = [".rs", ".md", ".proto"];
/// How a line of prose may begin.
const MARKS: [&str; 4] = ["//!", "///", "//", ">"];

/// The file that lists them.
const OWN_FILE: &str = "crates/xtask/src/tidy/words.rs";

/// An idiom, and what to write.
const IDIOMS: [(&str, &str); 15] = [
    ("told", "say who reports what to whom"),
    ("tells", "returns, reports, says, or distinguishes"),
    ("stands", "is, lies, or exists"),
    ("ground", "name what the decision rests on"),
    ("nobody's", "unreferenced, or not owned"),
    ("somebody's", "foreign"),
    ("somebody else's", "foreign"),
    ("comes to", "reaches, or becomes"),
    ("looks whether", "checks whether"),
    ("look whether", "check whether"),
    ("what is there", "name the thing that exists"),
    ("what there is", "name the thing that exists"),
    ("goes away", "disconnects, or is dropped"),
    ("learns of", "detects, or discovers"),
    ("by hand of", "by"),
];

/// Checks one file.
pub(super) fn check(name: &str, content: &str) -> Vec<Finding> {
    if name == OWN_FILE || !ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Vec::new();
    }
    let prose = Prose::of(content);
    let find = |(idiom, instead): &(&str, &str)| {
        let instead = (*instead).to_owned();
        let of = move |line| Finding::at(name, line, format!("says {idiom:?}: {instead}"));
        prose.lines_with(idiom).map(of).collect::<Vec<_>>()
    };
    IDIOMS.iter().flat_map(find).collect()
}

/// A text with its line breaks and marks of comments taken out.
struct Prose {
    text: String,
    /// Where each line begins in the text.
    begins: Vec<usize>,
}

impl Prose {
    fn of(content: &str) -> Self {
        let mut prose = Self { text: String::with_capacity(content.len()), begins: Vec::new() };
        for line in content.lines() {
            prose.begins.push(prose.text.len());
            let line = line.trim_start();
            let line = MARKS.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
            // A string goes on after a backslash.
            prose.text.push_str(line.trim().trim_end_matches('\\').trim_end());
            prose.text.push(' ');
        }
        prose.text.make_ascii_lowercase();
        prose
    }

    /// The lines, counted from 1, where a phrase begins that has no letter beside it.
    fn lines_with<'a>(&'a self, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
        let is_letter = |c: char| c.is_alphanumeric() || c == '_';
        let alone = move |at: usize| {
            let before = self.text[..at].chars().next_back();
            let after = self.text[at + phrase.len()..].chars().next();
            !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
        };
        let found = self.text.match_indices(phrase).map(|(at, _)| at).filter(move |at| alone(*at));
        found.map(|at| self.begins.partition_point(|begin| *begin <= at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(name: &str, content: &str) -> Vec<Option<usize>> {
        check(name, content).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn idiom_is_found_in_comments_texts_and_readmes() {
        assert_eq!(lines("a.rs", "//! A file.\nlet a = \"the caller is told\";\n// Told twice.\n"), [Some(2), Some(3)]);
        assert_eq!(lines("README.md", "A page.\n> It stands.\n"), [Some(2)]);
        assert_eq!(lines("a.proto", "// It tells which.\n"), [Some(1)]);
        assert!(lines("a.py", "# told\n").is_empty());
    }

    #[test]
    fn idiom_is_found_across_a_line_break() {
        assert_eq!(lines("a.rs", "/// It looks\n    /// whether it is.\n"), [Some(1)]);
        assert_eq!(lines("a.rs", "let a = \"what is \\\n   there\";\n"), [Some(1)]);
    }

    #[test]
    fn part_of_another_word_is_no_idiom() {
        assert!(lines("a.rs", "// background, untold, understands\nfn torn_is_told_at_once() {}\n").is_empty());
    }
}
