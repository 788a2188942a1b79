//! NDJSON files whose lines are rows of one type: every line gets the envelope that names the type for the server.
//!
//! Invariants: a line stays a line, blank ones too, so that the server's line numbers are those of the files; the text of every value stays
//! as it is; one line and one piece are in memory.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use omnigraph_lang::json::{self, JsonLimits, JsonValue};
use omnigraph_lang::ndjson::{is_blank, strip_byte_order_mark};
use omnigraph_lang::value::encode_text_into;
use omnigraph_types::Limits;

use crate::input::{InputError, LineFault, Meter, open_stream};

/// Bytes of a piece, but for its last line.
const PIECE_BYTES: usize = 256 * 1024;

/// What the lines are rows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    /// A node type.
    Nodes,
    /// An edge type: `src` and `dst` of a line name its ends.
    Edges,
}

/// Opens all files, so that one that is missing is noticed before anything is sent.
pub(super) fn open(
    files: &[PathBuf],
    type_name: &str,
    kind: RowKind,
    meter: &Arc<Meter>,
) -> Result<Enveloped, InputError> {
    let mut waiting = VecDeque::with_capacity(files.len());
    for file in files {
        waiting.push_back((file.clone(), open_stream(file, meter)?));
    }
    let line_bytes_max = Limits::default().ndjson_line_bytes_max;
    Ok(Enveloped {
        waiting,
        current: None,
        type_name: type_name.to_owned(),
        kind,
        line_bytes_max,
        meter: Arc::clone(meter),
    })
}

/// The file that is being read.
struct Current {
    file: PathBuf,
    reader: BufReader<Box<dyn Read + Send>>,
    line: u64,
}

/// The lines of all files in their envelopes, in pieces.
pub(super) struct Enveloped {
    waiting: VecDeque<(PathBuf, Box<dyn Read + Send>)>,
    current: Option<Current>,
    type_name: String,
    kind: RowKind,
    line_bytes_max: u64,
    meter: Arc<Meter>,
}

impl Iterator for Enveloped {
    type Item = Result<Bytes, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut piece = String::new();
        while piece.len() < PIECE_BYTES {
            if self.current.is_none() {
                match self.waiting.pop_front() {
                    Some((file, reader)) => {
                        self.meter.enter(&file);
                        self.current = Some(Current { file, reader: BufReader::new(reader), line: 0 });
                    }
                    None => break,
                }
            }
            if let Err(error) = self.line(&mut piece) {
                return Some(Err(error));
            }
        }
        (!piece.is_empty()).then(|| Ok(piece.into()))
    }
}

impl Enveloped {
    /// Appends the next line of the current file, or ends the file.
    fn line(&mut self, piece: &mut String) -> Result<(), InputError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let mut bytes = Vec::new();
        let read = current.reader.by_ref().take(self.line_bytes_max + 1).read_until(b'\n', &mut bytes);
        read.map_err(|source| InputError::Read { file: current.file.clone(), source })?;
        if bytes.is_empty() {
            self.current = None;
            return Ok(());
        }
        current.line += 1;
        self.meter.add_rows(1);
        let (file, number) = (current.file.clone(), current.line);
        let refused = |fault: LineFault| InputError::Line { file: file.clone(), line: number, fault };
        if bytes.len() as u64 > self.line_bytes_max {
            return Err(refused(LineFault::TooLong { bytes_max: self.line_bytes_max }));
        }
        let text = String::from_utf8(bytes).map_err(|_| refused(LineFault::NotUtf8))?;
        let text = if number == 1 { strip_byte_order_mark(&text) } else { &text };
        if !is_blank(text) {
            envelope(piece, text.trim_ascii(), &self.type_name, self.kind).map_err(refused)?;
        }
        piece.push('\n');
        Ok(())
    }
}

/// Appends the row `text` in its envelope.
fn envelope(out: &mut String, text: &str, type_name: &str, kind: RowKind) -> Result<(), LineFault> {
    let limits =
        JsonLimits { depth_max: JsonLimits::DEPTH_MAX, structurals_max: Limits::default().ndjson_structurals_max };
    let JsonValue::Object(mut members) = json::parse(text, &limits)? else { return Err(LineFault::NotObject) };
    match kind {
        RowKind::Nodes => {
            out.push_str("{\"type\":");
            encode_text_into(out, type_name);
            out.push_str(",\"data\":");
            out.push_str(text);
        }
        RowKind::Edges => {
            out.push_str("{\"edge\":");
            encode_text_into(out, type_name);
            for (member, column) in [("from", "src"), ("to", "dst")] {
                let place = members.iter().position(|(name, _)| name == column || name == member);
                let (_, end) = members.remove(place.ok_or(LineFault::EndMissing { column })?);
                out.push_str(&format!(",\"{member}\":"));
                write(out, &end);
            }
            out.push_str(",\"data\":");
            write(out, &JsonValue::Object(members));
        }
    }
    out.push('}');
    Ok(())
}

/// Appends a value as it was written, but for white space and the escapes of texts.
fn write(out: &mut String, value: &JsonValue<'_>) {
    match value {
        JsonValue::Null => out.push_str("null"),
        JsonValue::Bool(true) => out.push_str("true"),
        JsonValue::Bool(false) => out.push_str("false"),
        JsonValue::Number(token) => out.push_str(token),
        JsonValue::String(text) => encode_text_into(out, text),
        JsonValue::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                write(out, item);
            }
            out.push(']');
        }
        JsonValue::Object(members) => {
            out.push('{');
            for (place, (name, member)) in members.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                encode_text_into(out, name);
                out.push(':');
                write(out, member);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enveloped(kind: RowKind, texts: &[&str]) -> Result<String, InputError> {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = (0..texts.len()).map(|number| folder.path().join(number.to_string())).collect();
        paths.iter().zip(texts).for_each(|(path, text)| std::fs::write(path, text).unwrap());
        let pieces: Vec<Bytes> = open(&paths, "T", kind, &Arc::default())?.collect::<Result<_, _>>()?;
        Ok(String::from_utf8(pieces.concat()).unwrap())
    }

    #[test]
    fn rows_of_nodes_are_put_in_envelopes_line_by_line() {
        let text = enveloped(RowKind::Nodes, &["\u{feff}{\"k\": 1.50}\r\n\n{\"k\":\"é\"}", "{}\n"]).unwrap();
        insta::assert_snapshot!(text, @r#"
        {"type":"T","data":{"k": 1.50}}

        {"type":"T","data":{"k":"é"}}
        {"type":"T","data":{}}
        "#);
    }

    #[test]
    fn ends_of_edges_leave_the_data() {
        let text = enveloped(RowKind::Edges, &["{\"src\":\"a\",\"n\":[1.0,null],\"dst\":\"b\"}\n"]).unwrap();
        assert_eq!(text, "{\"edge\":\"T\",\"from\":\"a\",\"to\":\"b\",\"data\":{\"n\":[1.0,null]}}\n");
    }

    #[test]
    fn line_that_is_no_row_is_named() {
        for (kind, text) in [
            (RowKind::Nodes, "{}\n{}},{\n"),
            (RowKind::Nodes, "{}\n[]\n"),
            (RowKind::Edges, "{\"from\":\"a\",\"to\":\"b\"}\n{\"src\":\"a\"}\n"),
        ] {
            let error = enveloped(kind, &[text]).unwrap_err();
            assert!(matches!(error, InputError::Line { line: 2, .. }), "{text}: {error}");
        }
    }
}
