//! The causes of an error, from itself to its root.

use std::error::Error as StdError;

/// The error and its sources, in order.
pub(crate) fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'a (dyn StdError + 'static) = *error;
        error.source()
    })
}
