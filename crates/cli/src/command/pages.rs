//! Lists that come in pages.

use omnigraph_client::{ClientError, Page, PageRequest};

use crate::error::CliError;

/// Pages that a list reads at most; more items than that are no list for a terminal.
const PAGES_MAX: usize = 1_000;

/// Every item of a list.
pub(crate) async fn all<T>(
    fetch: impl AsyncFn(PageRequest) -> Result<Page<T>, ClientError>,
) -> Result<Vec<T>, CliError> {
    let mut items = Vec::new();
    let mut page = PageRequest::default();
    for _ in 0..PAGES_MAX {
        let next = fetch(page).await?;
        items.extend(next.items);
        if next.next.is_empty() {
            break;
        }
        page = PageRequest { size: 0, token: next.next };
    }
    Ok(items)
}

/// The first items of a list, `most` of them or all that there are.
pub(crate) async fn first<T>(
    most: u32,
    fetch: impl AsyncFn(PageRequest) -> Result<Page<T>, ClientError>,
) -> Result<Vec<T>, CliError> {
    let wanted = usize::try_from(most).unwrap_or(usize::MAX);
    let mut items = Vec::new();
    let mut page = PageRequest { size: most, token: String::new() };
    // Every page but the last has at least one item, so the limit bounds the pages as well.
    while items.len() < wanted {
        let next = fetch(page).await?;
        let ended = next.next.is_empty() || next.items.is_empty();
        items.extend(next.items);
        if ended {
            break;
        }
        page = PageRequest { size: most, token: next.next };
    }
    items.truncate(wanted);
    Ok(items)
}
