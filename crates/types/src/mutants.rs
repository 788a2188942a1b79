//! Numbered mutations of single lines, chosen by the environment: a suite that passes with one of them guards nothing there.
//!
//! Why here: one build serves every mutation, so that all of them can be tried in minutes. The place of a switch is the line whose rule it
//! breaks; `cargo xtask mutants` holds the text of each rule with the test that guards it, and finds the files.
//! Invariant: an optimized build has none.

use std::env;
use std::sync::OnceLock;

/// The variable that names the mutation in force.
const VARIABLE: &str = "OMNIGRAPH_MUTANT";

/// Whether the mutation with this number is in force. Always false in an optimized build.
#[doc(hidden)]
pub fn is_mutant(number: u32) -> bool {
    static CHOSEN: OnceLock<Option<u32>> = OnceLock::new();
    cfg!(debug_assertions)
        && *CHOSEN.get_or_init(|| env::var(VARIABLE).ok().and_then(|text| text.parse().ok())) == Some(number)
}

/// `mutant!(7, original, mutated)`: the first value, or in a test of the tests the second.
#[macro_export]
macro_rules! mutant {
    ($number:literal, $original:expr, $mutated:expr) => {
        if $crate::is_mutant($number) { $mutated } else { $original }
    };
}
