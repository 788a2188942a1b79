//! Readers of binary formats panic on some damaged files. Here the panic ends the file with an error.
//!
//! Invariant: what panicked is not used again.

use omnigraph_types::{Contained, contain};

/// Items until the end or the first panic.
pub(super) fn contained_items<T, E>(
    items: impl Iterator<Item = Result<T, E>>,
    failed: impl Fn(Contained) -> E,
) -> impl Iterator<Item = Result<T, E>> {
    let mut items = Some(items);
    std::iter::from_fn(move || match contain(|| items.as_mut().and_then(Iterator::next)) {
        Ok(item) => item,
        Err(contained) => {
            // It may be in any state, so its destructor does not run either.
            std::mem::forget(items.take());
            Some(Err(failed(contained)))
        }
    })
}

#[cfg(test)]
mod tests {
    use omnigraph_types::quiet_contained_panics;

    use super::*;

    #[test]
    fn panic_ends_the_items_with_an_error() {
        quiet_contained_panics();
        let items = (0..3).map(|number| if number == 1 { panic!("damage") } else { Ok::<_, Contained>(number) });
        let all: Vec<_> = contained_items(items, |contained| contained).collect();
        assert_eq!((all.len(), &all[0]), (2, &Ok(0)));
        assert!(all[1].as_ref().is_err_and(|contained| contained.place.contains("contained.rs")), "{all:?}");
    }
}
