//! The write protocol against a real store: rounds, faults at every store call, fail points, two processes on one root.

mod branches;
mod change_sets;
mod clocks;
mod durable;
mod faults;
mod guards;
mod held_up;
mod newer;
mod orders;
mod outcomes;
mod receipts;
mod repairs;
mod rounds;
mod stores;
mod world;
