//! What the operating system said about a failed call, in one phrase that holds no path.
//!
//! Invariant: the phrase is the system's text for a code, or the standard library's for a kind; never the message of an error, which may hold
//! paths.

use std::io;

/// The phrase for an error of the operating system, such as "no space left on device".
pub fn os_phrase(error: &io::Error) -> String {
    let Some(code) = error.raw_os_error() else { return error.kind().to_string() };
    let text = io::Error::from_raw_os_error(code).to_string();
    // The standard library adds the code, which helps a person less than the text.
    let text = text.strip_suffix(&format!(" (os error {code})")).unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrase_is_the_systems_text_without_code_and_without_path() {
        assert_eq!(os_phrase(&io::Error::from_raw_os_error(28)), "no space left on device");
        assert_eq!(os_phrase(&io::Error::from_raw_os_error(13)), "permission denied");
        assert_eq!(os_phrase(&io::Error::from_raw_os_error(30)), "read-only file system");
        let with_path = io::Error::new(io::ErrorKind::PermissionDenied, "open /secret/place");
        assert_eq!(os_phrase(&with_path), "permission denied");
    }
}
