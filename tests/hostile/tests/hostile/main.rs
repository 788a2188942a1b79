//! Hostile bytes: to what reads them, to a real server, and in its root.

mod inputs;
mod roots;
mod server;
