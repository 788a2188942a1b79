//! How much of a failure is kept so that every client can read it.

/// Bytes of the longest message.
const MESSAGE_BYTES_MAX: usize = 1024;
/// The end of a text that was cut.
const CUT: &str = "…";

/// How much of a failure is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes of the message.
    pub(super) message_bytes: usize,
    /// Items of each list.
    pub(super) items: usize,
    /// Bytes of each text of a detail.
    pub(super) text_bytes: usize,
}

impl Bounds {
    const fn new(message_bytes: usize, items: usize, text_bytes: usize) -> Self {
        Self { message_bytes, items, text_bytes }
    }
}

/// What is tried, in this order, until the trailers fit. Ids are shorter than the shortest text, so they are never cut. With the last
/// step no failure has more than 2 KiB: one message in three copies, one of them percent-encoded, and at most 16 short texts.
pub(super) const STEPS: [Bounds; 8] = [
    Bounds::new(MESSAGE_BYTES_MAX, 10, 1024),
    Bounds::new(MESSAGE_BYTES_MAX, 10, 256),
    Bounds::new(MESSAGE_BYTES_MAX, 10, 96),
    Bounds::new(512, 10, 96),
    Bounds::new(512, 5, 96),
    Bounds::new(256, 3, 96),
    Bounds::new(256, 1, 64),
    Bounds::new(128, 0, 48),
];

/// The text, or as much of it as `bytes` hold, with a mark at the end where it was cut. Cuts between characters.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut end = bytes.saturating_sub(CUT.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &text[..end])
}
