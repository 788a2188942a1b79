//! Panics of libraries that are given bytes which somebody else wrote: a value for the caller, and no line in the log.
//!
//! Some libraries assert about what they read. Whoever calls one contains its panic and refuses the bytes; whoever wrote them must not be able
//! to end a task with them, or to fill the log.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::task::Poll;

use thiserror::Error;

thread_local! {
    /// How many calls are contained on this thread now.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A panic that was caught.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a panic at {place}")]
pub struct Contained {
    /// File and line, if `quiet_contained_panics` was called.
    pub place: String,
}

/// Runs `work`, whose panic is a value. Nothing that it has changed may be used after a panic.
///
/// # Errors
/// Where it panicked.
pub fn contain<T>(work: impl FnOnce() -> T) -> Result<T, Contained> {
    DEPTH.set(DEPTH.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    outcome.map_err(|_| Contained { place: PLACE.take().unwrap_or_else(|| "a place that was not noted".to_owned()) })
}

/// `contain` for a future: a panic in any of its polls ends it.
///
/// # Errors
/// Where it panicked.
pub async fn contain_async<F: Future>(work: F) -> Result<F::Output, Contained> {
    let mut work = Box::pin(work);
    poll_fn(move |context| match contain(|| work.as_mut().poll(context)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(contained) => Poll::Ready(Err(contained)),
    })
    .await
}

/// Sets the process's panic hook, once: panics that are contained are noted, all others go to the hook before it.
pub fn quiet_contained_panics() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if DEPTH.try_with(Cell::get).unwrap_or(0) == 0 {
                return tell(panic);
            }
            let place = panic.location().map(ToString::to_string);
            // A thread that ends has no place to record it, and no caller that reads it.
            let _ = PLACE.try_with(|noted| *noted.borrow_mut() = place);
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn panic_is_a_value_that_names_its_place() {
        quiet_contained_panics();
        assert_eq!(contain(|| 7), Ok(7));
        let place = contain(|| -> u32 { panic!("as asked") }).unwrap_err().place;
        assert!(place.contains("panics.rs:"), "{place}");
    }

    #[test]
    fn panic_of_a_future_ends_it() {
        let mut work = Box::pin(contain_async(async { panic!("as asked") }));
        let mut context = Context::from_waker(Waker::noop());
        let polled: Poll<Result<(), Contained>> = work.as_mut().poll(&mut context);
        assert!(matches!(polled, Poll::Ready(Err(_))), "{polled:?}");
        let mut waits = Box::pin(contain_async(pending::<()>()));
        assert!(waits.as_mut().poll(&mut context).is_pending());
    }
}
