//! Tests of what is stored, of the pure step from a version to the next, and of chains in a real store.

mod apply;
mod chains;
mod golden;
mod newer;
mod preconditions;
mod round_trip;
mod samples;
mod stamps;
