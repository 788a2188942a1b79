#![doc = include_str!("../README.md")]
#![allow(
    clippy::result_large_err,
    reason = "`Failure` and `Status` are large by nature, and made once per failed call"
)]

mod bounds;
mod call;
pub mod convert;
mod decode;
mod describe;
mod encode;
mod fault;
mod get;
mod put;
mod request_body;
mod service;
mod ticket;
#[doc(hidden)]
pub mod untrusted;

pub use call::{BodyFault, BodyState, CallContext, WholeBody};
pub use encode::split_batch;
pub use fault::{FlightFault, refuse, stream_failure};
pub use request_body::{BrokenBody, WatchedBody};
pub use service::{FlightService, flight_server};
