#![doc = include_str!("../README.md")]
#![allow(
    clippy::result_large_err,
    reason = "`Failure` and `Status` are large by nature, and made once per failed call"
)]

mod config;
mod contract;
mod health;
mod logging;
mod page;
mod rows;
mod serve;
mod services;
mod transport;
#[doc(hidden)]
pub mod untrusted;

pub use config::{ConfigError, Exposure, LogFormat, ServeArgs, ServeConfig};
pub use logging::init_logging;
pub use serve::{BoundServer, ServeError, serve, shutdown_signal};
