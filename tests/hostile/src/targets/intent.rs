//! The bytes at an intent's place. What is read is written and read again as the same, and fits a state without a panic.

use std::sync::OnceLock;

use omnigraph_catalog::{State, stored};
use omnigraph_commit::Intent;

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
        // A version behind which there is none.
        let mut last = sample::intents();
        last.iter_mut().for_each(|intent| intent["base"] = u64::MAX.into());
        sample::intents().into_iter().chain(last).map(|intent| intent.to_string().into_bytes()).collect()
    }

    fn handle(&self, input: &[u8]) -> Result<String, String> {
        let next = sample::VERSION.next();
        let intent = match Intent::from_bytes(input, sample::main_branch(), next) {
            Ok(intent) => intent,
            Err(unreadable) if unreadable.version != next => return Err("names another version".to_owned()),
            Err(unreadable) => return Ok(format!("unreadable, of another format: {}", unreadable.format.is_some())),
        };
        let bytes = intent.to_bytes().map_err(|error| format!("is read and cannot be written: {error}"))?;
        let again = Intent::from_bytes(&bytes, sample::main_branch(), next);
        if again.as_ref() != Ok(&intent) {
            return Err("is read, written, and read as something else".to_owned());
        }
        let state = base();
        let check = intent.token.compare(state);
        // Whether it may be published is asked before; a state must come out of it anyhow.
        let after = state.apply(&intent.publication);
        stored::write_state(&after).map_err(|error| format!("leaves a state that cannot be written: {error}"))?;
        let check = format!("{check:?}");
        Ok(format!("{:?}, {}", intent.publication.kind, check.split('(').next().unwrap_or_default()))
    }
}
