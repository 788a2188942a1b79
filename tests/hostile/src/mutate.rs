//! Changes of an input: of its bytes, and of the JSON values in it.
//!
//! Bytes alone rarely get past a parser. What is JSON keeps its form while one of its values becomes another, so that the readers behind
//! the parser get something to refuse.

use rand::Rng;
use rand::rngs::StdRng;

/// Bytes of the longest input that is kept.
pub const INPUT_BYTES_MAX: usize = 256 * 1024;

/// Numbers at which something ends, in eight little-endian bytes.
const EDGES: [u64; 16] = [
    0,
    1,
    2,
    127,
    128,
    255,
    256,
    65_535,
    65_536,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

/// Values that replace another one.
const VALUES: [&str; 40] = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "2",
    "255",
    "65536",
    "4294967295",
    "4294967296",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551614",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "1e308",
    "1e999",
    "-0.0",
    "0.5",
    "\"\"",
    "\"main\"",
    "\"..\"",
    "\"../../x\"",
    "\"a/b\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\u202e\"",
    "[]",
    "{}",
    "[[]]",
    "[null]",
    "\"7ZZZZZZZZZZZZZZZZZZZZZZZZZ\"",
    "\"8ZZZZZZZZZZZZZZZZZZZZZZZZZ\"",
    "\"00000000000000000000000000\"",
    "\"commit\"",
    "\"abort\"",
    "{\"confirmed\":[]}",
];

/// How deep a value is nested to meet the bounds of parsers.
const NESTING: usize = 2_000;
/// Characters of a long text.
const LONG_TEXT: usize = 20_000;

fn below(rng: &mut StdRng, bound: usize) -> usize {
    if bound == 0 { 0 } else { rng.random_range(0..bound) }
}

/// Random bytes.
pub fn noise(rng: &mut StdRng, most: usize) -> Vec<u8> {
    let length = below(rng, most + 1);
    (0..length).map(|_| rng.random()).collect()
}

/// One change of the bytes; `other` is another input, to take a part of.
pub fn bytes(rng: &mut StdRng, input: &mut Vec<u8>, other: &[u8]) {
    let at = below(rng, input.len() + 1);
    let length = below(rng, input.len() - at + 1).min(1 << below(rng, 12));
    match below(rng, 9) {
        0 if at < input.len() => input[at] ^= 1 << below(rng, 8),
        1 if at < input.len() => input[at] = rng.random(),
        2 => drop(input.drain(at..at + length)),
        3 => {
            let part = input[at..at + length].to_vec();
            let to = below(rng, input.len() + 1);
            input.splice(to..to, part);
        }
        4 => {
            let part = noise(rng, 16);
            input.splice(at..at, part);
        }
        5 => {
            let edge = EDGES[below(rng, EDGES.len())].to_le_bytes();
            let width = [1, 2, 4, 8][below(rng, 4)].min(input.len() - at);
            input[at..at + width].copy_from_slice(&edge[..width]);
        }
        6 => {
            let from = below(rng, other.len() + 1);
            let until = from + below(rng, other.len() - from + 1);
            input.splice(at..at + length, other[from..until].iter().copied());
        }
        7 => input.truncate(at),
        _ => {
            let byte = rng.random::<u8>();
            input.splice(at..at, std::iter::repeat_n(byte, 1 << below(rng, 10)));
        }
    }
    input.truncate(INPUT_BYTES_MAX);
}

/// One small change in place: nothing moves, so that offsets and lengths in the bytes mean what they did.
pub fn in_place(rng: &mut StdRng, input: &mut [u8]) {
    if input.is_empty() {
        return;
    }
    let at = below(rng, input.len());
    match below(rng, 4) {
        0 => input[at] ^= 1 << below(rng, 8),
        1 => input[at] = input[at].wrapping_add([1, 255, 2, 254][below(rng, 4)]),
        2 => input[at] = below(rng, 32).try_into().unwrap_or(0),
        _ => {
            let edge = EDGES[below(rng, EDGES.len())].to_le_bytes();
            let at = at / 4 * 4;
            let width = [4, 8][below(rng, 2)].min(input.len() - at);
            input[at..at + width].copy_from_slice(&edge[..width]);
        }
    }
}

/// Where a JSON value lies: first byte, and behind the last.
type Place = (usize, usize);

/// The strings, numbers, words, arrays and objects in a text that holds JSON among other things.
fn values(text: &[u8]) -> Vec<Place> {
    let (mut places, mut open, mut at) = (Vec::new(), Vec::new(), 0);
    while at < text.len() {
        let start = at;
        match text[at] {
            b'"' => {
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(text.len());
                places.push((start, at));
            }
            b'{' | b'[' => {
                open.push(start);
                at += 1;
            }
            b'}' | b']' => {
                at += 1;
                if let Some(start) = open.pop() {
                    places.push((start, at));
                }
            }
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                while at < text.len() && (text[at].is_ascii_alphanumeric() || matches!(text[at], b'-' | b'+' | b'.')) {
                    at += 1;
                }
                places.push((start, at));
            }
            _ => at += 1,
        }
    }
    places
}

/// One change of one JSON value in the text: another value, a long or deep one, the value of another place, twice the same, or nothing.
pub fn json(rng: &mut StdRng, input: &mut Vec<u8>) {
    let places = values(input);
    if places.is_empty() {
        return;
    }
    let (start, end) = places[below(rng, places.len())];
    let value = match below(rng, 12) {
        0..=5 => VALUES[below(rng, VALUES.len())].as_bytes().to_vec(),
        6 => format!("\"{}\"", "x".repeat(below(rng, LONG_TEXT))).into_bytes(),
        7 => "[".repeat(below(rng, NESTING)).into_bytes(),
        8 | 9 => {
            let (start, end) = places[below(rng, places.len())];
            input[start..end].to_vec()
        }
        10 => [&input[start..end], b",", &input[start..end]].concat(),
        _ => Vec::new(),
    };
    input.splice(start..end, value);
    input.truncate(INPUT_BYTES_MAX);
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn values_are_found_in_text_that_holds_json() {
        let text = br#"x{"a":[1,"b\"c"],"d":null}"#;
        let found: Vec<_> = values(text).into_iter().map(|(start, end)| &text[start..end]).collect();
        let expected: [&[u8]; 7] =
            [b"\"a\"", b"1", br#""b\"c""#, br#"[1,"b\"c"]"#, b"\"d\"", b"null", br#"{"a":[1,"b\"c"],"d":null}"#];
        assert_eq!(found, expected);
    }

    #[test]
    fn same_seed_changes_the_same() {
        let changed = |seed| {
            let mut rng = StdRng::seed_from_u64(seed);
            let mut input = br#"{"a":1}"#.to_vec();
            for _ in 0..20 {
                bytes(&mut rng, &mut input, b"other");
                json(&mut rng, &mut input);
            }
            input
        };
        assert_eq!(changed(7), changed(7));
        assert_ne!(changed(7), changed(8));
    }
}
