//! Words of a client in the texts of the engine: quoted, listed, and cut where they are long.

use omnigraph_lang::clip;

/// A client's text in quotes, cut where it is long.
pub(crate) fn quote(text: &str) -> String {
    format!("{:?}", clip(text))
}

/// Names that a message lists.
const LIST_NAMES_MAX: usize = 20;

/// Names, separated by commas, the rest counted.
pub(crate) fn list<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<String> = names.iter().take(LIST_NAMES_MAX).map(|name| clip(name.as_ref())).collect();
    match names.len().saturating_sub(LIST_NAMES_MAX) {
        0 if shown.is_empty() => "none".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
