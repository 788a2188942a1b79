//! The product as its users meet it: the built binary as a process of its own, called over the network by real clients.

mod branches;
mod cli;
mod deadlines;
mod errors;
mod faults;
mod python;
mod repair;
mod resend;
mod stores;
mod streams;
mod support;
mod two_servers;
