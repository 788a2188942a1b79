//! Pages of lists.

/// Which page of a list is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Most items; 0 is the server's default.
    pub size: u32,
    /// `next` of the page before; empty for the first page.
    pub token: String,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Token of the next page; empty on the last page.
    pub next: String,
}
