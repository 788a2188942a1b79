//! Texts of a client that the server reads by itself, for programs that hold hostile ones against it.
//!
//! Nothing of the product calls this.

use omnigraph_types::Failure;

use crate::page::PageScope;

/// The cursor in the page token of a list of two fields, or the token of that list for this cursor.
pub struct PageTokens<'a> {
    /// The fields.
    pub fields: [&'a str; 2],
}

impl PageTokens<'_> {
    fn scope(&self) -> PageScope<'_> {
        PageScope { call: "ListCommits", fields: &self.fields }
    }

    /// The cursor in a token; none for the empty token.
    ///
    /// # Errors
    /// The failure that answers a call with another token.
    pub fn cursor(&self, token: &str) -> Result<Option<String>, Failure> {
        self.scope().cursor(token)
    }

    /// The token for a cursor.
    pub fn token(&self, cursor: &str) -> String {
        self.scope().token(cursor)
    }
}
