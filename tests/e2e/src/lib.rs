//! What the packages of tests share: real servers as processes, and faults of the system under them.
//!
//! The library links nothing of the product, so that a program that only starts servers and calls them builds fast.

pub mod faults;
pub mod server;
