#![doc = include_str!("../README.md")]

mod answer;
mod body_state;
mod client_stream;
mod context;
mod fault;
mod layers;
mod outcome;
mod own_headers;
mod page;
mod watched_body;

pub use answer::{answer, answer_stream, decline};
pub use body_state::WholeBody;
pub use client_stream::{Arrival, ClientStream};
pub use context::CallContext;
pub use fault::not_offered;
pub use layers::CallLayer;
pub use outcome::causes;
pub use own_headers::OwnHeaders;
pub use page::{OpenPage, PageScope};
