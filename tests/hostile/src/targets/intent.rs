//! The bytes at an intent's place. An intent that is read is written and read again as the same, and is applied to a state without a panic.

use std::sync::OnceLock;

use omnigraph_catalog::{State, stored};
use omnigraph_commit::{Intent, NotAnIntent};

use super::sample;
use crate::target::{MemoryBound, Target};

/// The reading of intents.
#[derive(Debug)]
pub struct Intents;

/// The state that the intents are for.
fn base() -> &'static State {
    static BASE: OnceLock<State> = OnceLock::new();
    BASE.get_or_init(sample::state)
}

impl Target for Intents {
    fn name(&self) -> &'static str {
        "intent"
    }

    fn bound(&self) -> MemoryBound {
        MemoryBound { constant: 256 * 1024, factor: 64 }
    }

    fn examples(&self) -> Vec<Vec<u8>> {
        // The last possible version.
        let mut last = sample::intents();
        last.iter_mut().for_each(|intent| intent["base"] = u64::MAX.into());
        sample::intents().into_iter().chain(last).map(|intent| intent.to_string().into_bytes()).collect()
    }

    fn handle(&self, input: &[u8]) -> Result<String, String> {
        let next = sample::VERSION.next();
        let intent = match Intent::from_bytes(input, sample::main_branch(), next) {
            Ok(intent) => intent,
            Err(NotAnIntent::Newer(newer)) if newer.version == next => {
                return Ok(format!("of a newer server: {}", newer.newer.what));
            }
            Err(NotAnIntent::Unreadable(found)) if found.version == next => {
                return Ok(format!("unreadable, of another format: {}", found.format.is_some()));
            }
            Err(NotAnIntent::Newer(_) | NotAnIntent::Unreadable(_)) => return Err("names another version".to_owned()),
        };
        let bytes = intent.to_bytes().map_err(|error| format!("is read and cannot be written: {error}"))?;
        let again = Intent::from_bytes(&bytes, sample::main_branch(), next);
        if again.as_ref() != Ok(&intent) {
            return Err("is read, written, and read as something else".to_owned());
        }
        let state = base();
        let check = intent.token.compare(state);
        // The check above decides whether it may be published; applying it must yield a state in either case.
        let after = state.apply(&intent.publication);
        stored::write_state(&after).map_err(|error| format!("leaves a state that cannot be written: {error}"))?;
        let check = format!("{check:?}");
        Ok(format!("{:?}, {}", intent.publication.kind, check.split('(').next().unwrap_or_default()))
    }
}
