//! Pages of lists: their size, and the token that continues one.
//!
//! A token is opaque to clients and bound to the request that it continues: it holds a digest of the call and its fields, so that a token of
//! another list is refused instead of being misread.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use omnigraph_types::{Failure, Limits, Page, PageRequest};
use omnigraph_wire::codec::invalid;
use sha2::{Digest, Sha256};

const FIELD: &str = "page_token";
/// First byte of every token: its layout.
const LAYOUT: u8 = 1;
const DIGEST_BYTES: usize = 12;
/// Bytes of the longest token read.
const TOKEN_BYTES_MAX: usize = 1_024;

/// Which list a token belongs to: the call, and every field of the request but the page's own.
#[derive(Debug, Clone, Copy)]
pub struct PageScope<'a> {
    /// The call's name.
    pub call: &'a str,
    /// The fields, in a fixed order.
    pub fields: &'a [&'a str],
}

impl PageScope<'_> {
    /// The token of the page after the item that `cursor` names.
    pub fn token(self, cursor: &str) -> String {
        let mut bytes = vec![LAYOUT];
        bytes.extend_from_slice(&self.digest());
        bytes.extend_from_slice(cursor.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The cursor in a token; none for the empty token, which asks for the first page.
    pub fn cursor(self, token: &str) -> Result<Option<String>, Failure> {
        if token.is_empty() {
            return Ok(None);
        }
        let refused =
            || invalid(FIELD, "page_token is not one that this list gave for these fields: begin again without it");
        if token.len() > TOKEN_BYTES_MAX {
            return Err(refused());
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| refused())?;
        let mut prefix = vec![LAYOUT];
        prefix.extend_from_slice(&self.digest());
        let cursor = bytes.strip_prefix(prefix.as_slice()).ok_or_else(refused)?;
        String::from_utf8(cursor.to_vec()).map(Some).map_err(|_| refused())
    }

    fn digest(self) -> [u8; DIGEST_BYTES] {
        let mut hash = Sha256::new();
        for text in std::iter::once(&self.call).chain(self.fields) {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        let mut digest = [0; DIGEST_BYTES];
        digest.copy_from_slice(&hash.finalize()[..DIGEST_BYTES]);
        digest
    }
}

/// Items of a page: what was asked for, the default for 0, at most the maximum.
fn page_size(asked: u32, limits: &Limits) -> usize {
    let size = if asked == 0 { limits.page_size_default } else { u64::from(asked) };
    usize::try_from(size.min(limits.page_size_max).max(1)).unwrap_or(usize::MAX)
}

/// A page that is being answered: where it begins and how many items it holds.
#[derive(Debug)]
pub struct OpenPage<'a> {
    scope: PageScope<'a>,
    cursor: Option<String>,
    size: usize,
}

impl<'a> OpenPage<'a> {
    /// The page that a request asks for. `InvalidRequest` for a token that is not one of this list.
    pub fn open(scope: PageScope<'a>, request: &PageRequest, limits: &Limits) -> Result<Self, Failure> {
        Ok(Self { scope, cursor: scope.cursor(&request.token)?, size: page_size(request.size, limits) })
    }

    /// The item that the page follows, as the list's cursors name items; none for the first page.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// How many items to read: one more than the page holds, which shows whether another page follows.
    pub fn most(&self) -> usize {
        self.size.saturating_add(1)
    }

    /// The page of the items that were read, at most `most()`. `cursor` names an item.
    pub fn close<T>(self, mut items: Vec<T>, cursor: impl FnOnce(&T) -> String) -> Page<T> {
        let more = items.len() > self.size;
        items.truncate(self.size);
        let next = items.last().filter(|_| more).map(|last| self.scope.token(&cursor(last))).unwrap_or_default();
        Page { items, next }
    }
}

#[cfg(test)]
mod tests {
    use omnigraph_types::Problem;

    use super::*;

    const SCOPE: PageScope<'_> = PageScope { call: "ListCommits", fields: &["g", "main"] };

    #[test]
    fn token_yields_its_cursor_for_the_same_request() {
        assert_eq!(SCOPE.cursor(&SCOPE.token("01J")).unwrap().as_deref(), Some("01J"));
        assert_eq!(SCOPE.cursor("").unwrap(), None);
    }

    #[test]
    fn token_of_another_request_or_no_token_at_all_is_refused() {
        let others = [
            PageScope { call: "ListGraphs", fields: &["g", "main"] },
            PageScope { call: "ListCommits", fields: &["g", "dev"] },
            PageScope { call: "ListCommits", fields: &["gm", "ain"] },
        ];
        let foreign = others.map(|scope| scope.token("01J"));
        for token in foreign.iter().map(String::as_str).chain(["x", "!", "AQ"]) {
            let problem = SCOPE.cursor(token).unwrap_err().problem;
            assert_eq!(problem, Problem::InvalidRequest { field: FIELD.to_owned() });
        }
    }

    #[test]
    fn page_size_has_a_default_and_a_maximum() {
        let limits = Limits::default();
        assert_eq!(page_size(0, &limits), 100);
        assert_eq!(page_size(7, &limits), 7);
        assert_eq!(page_size(u32::MAX, &limits), 1_000);
    }

    #[test]
    fn pages_continue_where_the_one_before_ended_and_the_last_has_no_token() {
        let limits = Limits::default();
        let mut request = PageRequest { size: 2, token: String::new() };
        let mut read = Vec::new();
        loop {
            let page = OpenPage::open(SCOPE, &request, &limits).unwrap();
            let after = page.cursor().map_or(0, |cursor| cursor.parse::<u32>().unwrap());
            let items = (after + 1..=5).take(page.most()).collect();
            let page = page.close(items, u32::to_string);
            read.push(page.items);
            if page.next.is_empty() {
                break;
            }
            request.token = page.next;
        }
        assert_eq!(read, [vec![1, 2], vec![3, 4], vec![5]]);
    }
}
