//! A target: something that reads bytes, and what must hold whatever the bytes are.
//!
//! For every input: no panic escapes, no panic occurs at all where the target requires it, the memory held meanwhile stays within a constant and a
//! factor of the input's length, it ends in time, and the target's own assertions hold.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, Once};
use std::time::{Duration, Instant};

use rand::Rng;
use rand::rngs::StdRng;

use crate::{memory, mutate};

/// The longest that one input may take.
pub const TIME_MAX: Duration = Duration::from_secs(10);

/// The most memory that an input may make a target hold.
#[derive(Debug, Clone, Copy)]
pub struct MemoryBound {
    /// Bytes whatever the input.
    pub constant: u64,
    /// Bytes for each byte of the input.
    pub factor: u64,
}

impl MemoryBound {
    /// The bound for an input of so many bytes.
    pub fn of(self, input: usize) -> u64 {
        self.constant + self.factor * input as u64
    }
}

/// Something that reads bytes.
pub trait Target {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What it may hold.
    fn bound(&self) -> MemoryBound;

    /// Valid inputs, and those that were wrong once.
    fn examples(&self) -> Vec<Vec<u8>>;

    /// Handles one input. Returns the kind of outcome, in few words, or the assertion that does not hold.
    ///
    /// # Errors
    /// What does not hold.
    fn handle(&self, input: &[u8]) -> Result<String, String>;

    /// Changes an input once; `other` is another one.
    fn mutate(&self, rng: &mut StdRng, input: &mut Vec<u8>, other: &[u8]) {
        if rng.random_bool(0.5) { mutate::json(rng, input) } else { mutate::bytes(rng, input, other) }
    }
}

/// The outcome of one input.
#[derive(Debug)]
pub struct Handled {
    /// The kind of outcome, or what was violated.
    pub outcome: Result<String, String>,
    /// Most bytes held meanwhile.
    pub peak: u64,
    /// Places of panics that the shipped code caught by itself.
    pub contained: Vec<String>,
}

thread_local! {
    /// Whether this thread handles an input now: the driver then reports its panics.
    static HANDLING: Cell<bool> = const { Cell::new(false) };
}

static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn panics() -> MutexGuard<'static, Vec<String>> {
    PANICS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Records every panic of the process; prints those that no driver reports.
fn watch_panics() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if HANDLING.try_with(Cell::get).unwrap_or(false) {
                let place = panic.location().map_or_else(String::new, ToString::to_string);
                let message = panic.payload_as_str().unwrap_or("a panic without text");
                panics().push(format!("{place}: {}", message.lines().next().unwrap_or_default()));
            } else {
                print(panic);
            }
        }));
    });
}

/// Lets a target handle one input, and checks what must hold.
pub fn handle(target: &dyn Target, input: &[u8]) -> Handled {
    watch_panics();
    HANDLING.set(true);
    panics().clear();
    let started = Instant::now();
    let (outcome, peak) = memory::measure(|| catch_unwind(AssertUnwindSafe(|| target.handle(input))));
    let took = started.elapsed();
    HANDLING.set(false);
    let mut contained = std::mem::take(&mut *panics());
    let allowed = target.bound().of(input.len());
    let outcome = match outcome {
        Err(_) => Err(format!("panic at {}", contained.pop().unwrap_or_default())),
        Ok(Ok(_)) if peak > allowed => {
            Err(format!("memory: {peak} bytes held for an input of {}, {allowed} allowed", input.len()))
        }
        Ok(Ok(_)) if took > TIME_MAX => Err(format!("time: took {took:?}")),
        Ok(outcome) => outcome,
    };
    Handled { outcome, peak, contained }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does what its input names.
    struct Obedient;

    impl Target for Obedient {
        fn name(&self) -> &'static str {
            "obedient"
        }

        fn bound(&self) -> MemoryBound {
            MemoryBound { constant: 10_000, factor: 2 }
        }

        fn examples(&self) -> Vec<Vec<u8>> {
            Vec::new()
        }

        fn handle(&self, input: &[u8]) -> Result<String, String> {
            match input {
                b"panic" => panic!("as asked"),
                b"caught" => Ok(catch_unwind(|| panic!("as asked")).map_or("caught".to_owned(), |()| String::new())),
                b"memory" => Ok(vec![0_u8; 20_000].len().to_string()),
                b"wrong" => Err("as asked".to_owned()),
                _ => Ok("fine".to_owned()),
            }
        }
    }

    fn violation(input: &[u8]) -> String {
        handle(&Obedient, input).outcome.unwrap_err()
    }

    #[test]
    fn panic_memory_and_broken_assertion_are_violations() {
        assert!(violation(b"panic").contains("as asked"));
        assert!(violation(b"memory").starts_with("memory: "));
        assert_eq!(violation(b"wrong"), "as asked");
        assert_eq!(handle(&Obedient, b"").outcome.unwrap(), "fine");
    }

    #[test]
    fn caught_panic_is_reported() {
        let handled = handle(&Obedient, b"caught");
        assert_eq!(handled.outcome.unwrap(), "caught");
        assert_eq!(handled.contained.len(), 1, "{:?}", handled.contained);
        assert!(handled.contained[0].contains("as asked"));
    }
}
