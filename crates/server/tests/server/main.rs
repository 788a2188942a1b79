//! The server as its clients meet it: real sockets, generated clients, a root on a local disk.

mod flight;
mod graphs;
mod harness;
mod health;
mod loads;
mod queries;
mod transport;
