use std::collections::VecDeque;
use std::future::poll_fn;

use omnigraph_types::Problem;

use super::*;

/// A body of given frames that ends with or without the END_STREAM flag.
struct Script {
    frames: VecDeque<Result<Bytes, BrokenBody>>,
    flagged: bool,
}

impl Body for Script {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        Poll::Ready(self.frames.pop_front().map(|frame| frame.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.flagged && self.frames.is_empty()
    }
}

fn limits() -> Limits {
    Limits { request_bytes_max: 6, message_bytes_max: 10, ..Limits::default() }
}

fn message(body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Reads a body whose bytes come in frames of `frame_bytes`, and returns its state and the error that ended it.
async fn read(bytes: &[u8], frame_bytes: usize, flagged: bool) -> (BodyState, Option<BrokenBody>) {
    let frames = bytes.chunks(frame_bytes).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    let state = BodyState::default();
    let mut body = WatchedBody::new(Script { frames, flagged }, state.clone(), &limits());
    loop {
        match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            Some(Ok(_)) => {}
            Some(Err(error)) => return (state, Some(error)),
            None => return (state, None),
        }
    }
}

#[tokio::test]
async fn body_with_end_flag_between_messages_is_whole_in_any_framing() {
    let bytes = [message(b"one"), message(b""), message(b"0123456789")].concat();
    for frame_bytes in 1..=bytes.len() {
        let (state, error) = read(&bytes, frame_bytes, true).await;
        assert_eq!(error, None);
        assert!(state.require_whole().is_ok());
    }
}

#[tokio::test]
async fn body_that_ends_without_its_flag_is_broken() {
    let (state, error) = read(&message(b"one"), 4, false).await;
    assert_eq!(error, Some(BrokenBody::EndedEarly));
    assert_eq!(state.fault(), Some(CallFault::Broken));
    assert_eq!(state.require_whole().unwrap_err().problem, Problem::Cancelled);
}

#[tokio::test]
async fn body_that_ends_within_a_message_is_broken() {
    let bytes = message(b"one");
    for kept in 1..bytes.len() {
        let (state, error) = read(&bytes[..kept], 3, true).await;
        assert_eq!(error, Some(BrokenBody::EndedEarly), "{kept} bytes");
        assert!(state.require_whole().is_err());
    }
}

#[tokio::test]
async fn message_longer_than_the_limit_is_refused_with_its_length() {
    let bytes = [message(b"one"), message(b"0123456789a")].concat();
    let (state, error) = read(&bytes, 2, true).await;
    assert_eq!(error, Some(BrokenBody::TooLarge { name: "message_bytes_max", limit: 10, asked: 11 }));
    assert_eq!(state.fault(), Some(CallFault::MessageTooLarge { name: "message_bytes_max", limit: 10, asked: 11 }));
}

#[tokio::test]
async fn first_message_has_a_limit_of_its_own() {
    let (state, error) = read(&message(b"0123456"), 2, true).await;
    assert_eq!(error, Some(BrokenBody::TooLarge { name: "request_bytes_max", limit: 6, asked: 7 }));
    assert!(state.require_whole().is_err());
    let bytes = [message(b"012345"), message(b"0123456789")].concat();
    assert_eq!(read(&bytes, 2, true).await.1, None);
}

#[tokio::test]
async fn body_that_is_still_open_is_not_whole() {
    assert!(BodyState::default().require_whole().is_err());
}
