#![doc = include_str!("../README.md")]

mod config;
mod contract;
mod health;
mod logging;
mod routes;
mod rows;
mod serve;
mod services;
mod shutdown;

pub use config::{ConfigError, ExpectedRoot, Exposure, LogFormat, ServeArgs, ServeConfig};
pub use logging::init_logging;
pub use serve::{BoundServer, ServeError, serve};
pub use shutdown::{FORCED_STOP_CODE, shutdown_signal};
