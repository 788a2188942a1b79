//! The product as its users meet it: the built binary as a process of its own, called over the network by real clients.

mod crash;
mod resend;
mod support;
mod two_servers;
