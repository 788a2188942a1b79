#![doc = include_str!("../README.md")]

mod bounds;
mod decode;
mod describe;
mod encode;
mod fault;
mod get;
mod load_headers;
mod put;
pub mod run;
mod service;
mod ticket;
#[doc(hidden)]
pub mod untrusted;

pub use encode::split_batch;
pub use fault::FlightFault;
pub use service::{FlightService, flight_server};
