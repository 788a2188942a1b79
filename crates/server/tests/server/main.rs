//! The server as its clients meet it: real sockets, generated clients, a root on a local disk.

#![allow(clippy::result_large_err, reason = "tests hand failures on as they come")]

mod flight;
mod graphs;
mod harness;
mod health;
mod heavy;
mod loads;
mod queries;
mod resets;
mod tables;
mod transport;
