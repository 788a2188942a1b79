use std::collections::VecDeque;
use std::future::poll_fn;

use futures::FutureExt;
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
    state.expect_long();
    state.admit_long();
    let mut body = WatchedBody::new(Script { frames, flagged }, state.clone(), &limits(), Pace::Timed);
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

/// A body that never ends, and says nothing after its frames.
struct Silent(VecDeque<Bytes>);

impl Body for Silent {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        self.0.pop_front().map_or(Poll::Pending, |data| Poll::Ready(Some(Ok(Frame::data(data)))))
    }
}

fn silent(frames: &[&[u8]], pace: Pace) -> (WatchedBody<Silent>, BodyState) {
    let state = BodyState::default();
    let frames = frames.iter().map(|frame| Bytes::copy_from_slice(frame)).collect();
    (WatchedBody::new(Silent(frames), state.clone(), &limits(), pace), state)
}

async fn next(body: &mut WatchedBody<Silent>) -> Option<Result<Bytes, BrokenBody>> {
    poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await.map(|frame| frame.map(|frame| frame.into_data().unwrap()))
}

#[tokio::test]
async fn long_message_waits_for_its_leave_and_asks_for_it_once() {
    let (short, long) = (message(b"one"), message(b"0123456"));
    let (mut body, state) = silent(&[&short, &long, &long], Pace::Timed);
    state.expect_long();
    assert_eq!(next(&mut body).await.unwrap().unwrap(), short);
    assert!(next(&mut body).now_or_never().is_none(), "it is read without its leave");
    state.long_announced().now_or_never().expect("the leave is asked for");
    assert!(next(&mut body).now_or_never().is_none());
    state.admit_long();
    assert_eq!(next(&mut body).await.unwrap().unwrap(), long);
    assert_eq!(next(&mut body).await.unwrap().unwrap(), long);
    assert!(state.long_announced().now_or_never().is_none());
}

#[tokio::test]
async fn long_message_of_a_stream_without_turns_is_refused() {
    let (mut body, state) = silent(&[&message(b"one"), &message(b"0123456")], Pace::Timed);
    next(&mut body).await.unwrap().unwrap();
    let refused = BrokenBody::TooLarge { name: "request_bytes_max", limit: 6, asked: 7 };
    assert_eq!(next(&mut body).await, Some(Err(refused)));
    assert!(matches!(state.fault(), Some(CallFault::MessageTooLarge { name: "request_bytes_max", .. })));
}

#[tokio::test]
async fn message_that_does_not_come_to_its_end_is_given_up_however_it_trickles() {
    const LENGTH: usize = 10_000;
    let limits = Limits { stream_idle_timeout_ms: 20, ..Limits::default() };
    let state = BodyState::default();
    let begun = Bytes::from(message(&[0; LENGTH])[..10].to_vec());
    let mut body = WatchedBody::new(Silent([begun].into()), state.clone(), &limits, Pace::Timed);
    for _ in 0..LENGTH {
        let next = tokio::time::timeout(Duration::from_millis(1), next(&mut body)).await;
        match next {
            Ok(Some(Ok(_))) => {}
            Err(_) => body.inner.0.push_back(Bytes::from_static(b"x")),
            Ok(ended) => {
                assert_eq!(ended, Some(Err(BrokenBody::Idle { timeout_ms: 20 })));
                assert_eq!(state.fault(), Some(CallFault::Idle { timeout_ms: 20 }));
                return;
            }
        }
    }
    panic!("the message may take any time");
}

#[tokio::test]
async fn time_begins_anew_with_each_message_and_endless_streams_have_any() {
    let (mut body, _) = silent(&[], Pace::Timed);
    assert!(next(&mut body).now_or_never().is_none());
    assert!(body.patience.waiting.is_some());
    let whole = message(b"one");
    body.inner.0.push_back(Bytes::copy_from_slice(&whole[..6]));
    next(&mut body).await.unwrap().unwrap();
    assert!(body.patience.waiting.is_some(), "a part of a message is none");
    body.inner.0.push_back(Bytes::copy_from_slice(&whole[6..]));
    next(&mut body).await.unwrap().unwrap();
    assert!(body.patience.waiting.is_none());
    let (mut endless, _) = silent(&[], Pace::Any);
    assert!(next(&mut endless).now_or_never().is_none());
    assert!(endless.patience.waiting.is_none());
}
