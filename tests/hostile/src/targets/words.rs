//! Words of a client: tickets, commands, descriptors, call headers, statuses, page tokens. The first byte says which.
//!
//! Every refusal reports a wrong request or a feature that is not offered, with a status that fits in a client's trailers.

use arrow_flight::FlightDescriptor;
use omnigraph_call::PageScope;
use omnigraph_flight::untrusted;
use omnigraph_types::{Failure, Problem};
use omnigraph_wire::google::rpc;
use omnigraph_wire::v1 as wire;
use prost::Message;
use prost_types::Any;
use tonic::metadata::MetadataMap;

use crate::target::{MemoryBound, Target};

/// Bytes of all trailers of an error, before base64: the contract's bound.
pub(super) const TRAILERS_BYTES_MAX: usize = 4 * 1024;
const DOORS: u8 = 6;
const COMMIT: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M02";

/// The reading of tickets, commands, headers, statuses and page tokens.
#[derive(Debug)]
pub struct Words;

fn read_point() -> Option<wire::ReadPoint> {
    Some(wire::ReadPoint { point: Some(wire::read_point::Point::Commit(COMMIT.to_owned())) })
}

fn table() -> wire::TableTicket {
    wire::TableTicket { graph: "g".into(), at: read_point(), r#type: "Port".into(), columns: vec!["id".into()] }
}

fn query() -> wire::QueryTicket {
    let moment =
        wire::BranchAtTime { branch: "main".into(), time: Some(prost_types::Timestamp { seconds: 1, nanos: 2 }) };
    wire::QueryTicket {
        graph: "g".into(),
        at: Some(wire::ReadPoint { point: Some(wire::read_point::Point::BranchAtTime(moment)) }),
        query: "query q() { match { $p: Port } return { $p.id } }".into(),
        query_name: "q".into(),
        params_json: "{\"n\":1}".into(),
    }
}

fn load() -> wire::LoadCommand {
    wire::LoadCommand {
        graph: "g".into(),
        branch: "main".into(),
        r#type: "Port".into(),
        mode: 1,
        operation_id: COMMIT.into(),
        want_capture: true,
        ..Default::default()
    }
}

fn command(name: &str, message: &impl Message) -> Vec<u8> {
    Any { type_url: format!("type.googleapis.com/{name}"), value: message.encode_to_vec() }.encode_to_vec()
}

fn descriptor(cmd: Vec<u8>) -> Vec<u8> {
    FlightDescriptor::new_cmd(cmd).encode_to_vec()
}

fn path(parts: [&str; 3]) -> Vec<u8> {
    FlightDescriptor::new_path(parts.map(str::to_owned).to_vec()).encode_to_vec()
}

fn status() -> Vec<u8> {
    let problem =
        Problem::KeyConflict { type_name: "Port".into(), ids: vec!["OSL".into()], total: 7, source_row: Some(3) };
    omnigraph_wire::to_rpc_status(&Failure::new(problem, "in the way")).encode_to_vec()
}

/// The kind of a failure that a client may receive for words that it sent.
pub(super) fn refusal(failure: &Failure) -> Result<String, String> {
    let status = omnigraph_wire::to_status(failure);
    let mut headers = http::HeaderMap::new();
    status.add_header(&mut headers).map_err(|error| format!("the status is no header: {error}"))?;
    let bytes: usize = status.details().len() + status.message().len();
    if bytes > TRAILERS_BYTES_MAX {
        return Err(format!("the status takes {bytes} bytes: {:?}", failure.problem));
    }
    match &failure.problem {
        Problem::InvalidRequest { .. } => Ok("invalid".to_owned()),
        Problem::Unimplemented { .. } => Ok("not offered".to_owned()),
        Problem::LoadInvalid { .. } => Ok("load invalid".to_owned()),
        Problem::ResourceLimit { .. } => Ok("limit".to_owned()),
        other => Err(format!("words are refused as {other:?}")),
    }
}

fn outcome_of(read: Result<String, Failure>) -> Result<String, String> {
    match read {
        Ok(text) => Ok(text.split([' ', '(']).next().unwrap_or_default().to_owned()),
        Err(failure) => refusal(&failure),
    }
}

/// A status that a client reads: encoded again it is the same, within the trailers' bound.
fn read_status(bytes: &[u8]) -> Result<String, String> {
    let Ok(status) = rpc::Status::decode(bytes) else { return Ok("no status".to_owned()) };
    let failure = omnigraph_wire::from_rpc_status(&status);
    let again = omnigraph_wire::to_rpc_status(&failure);
    let length = again.encoded_len();
    if length > TRAILERS_BYTES_MAX {
        return Err(format!("encoded again it takes {length} bytes: {failure:?}"));
    }
    let kind = format!("{:?}", failure.problem);
    Ok(format!("status {}", kind.split([' ', '{']).next().unwrap_or_default()))
}

/// Call headers as lines `name: value`, of a load by path.
fn headers(text: &[u8]) -> Result<String, String> {
    let mut headers = http::HeaderMap::new();
    for line in text.split(|byte| *byte == b'\n') {
        let (name, value) = line.split_at(line.iter().position(|byte| *byte == b':').unwrap_or(line.len()));
        let value = value.get(1..).unwrap_or_default();
        if let (Ok(name), Ok(value)) = (name.try_into(), http::HeaderValue::from_bytes(value)) {
            let name: http::HeaderName = name;
            headers.append(name, value);
        }
    }
    let descriptor = FlightDescriptor::new_path(["g", "main", "Port"].map(str::to_owned).to_vec());
    outcome_of(untrusted::put_command(Some(descriptor), MetadataMap::from_headers(headers)))
}

fn page_token(text: &str) -> Result<String, String> {
    let list = PageScope { call: "ListCommits", fields: &["g", "main"] };
    match list.cursor(text) {
        Ok(None) => Ok("first page".to_owned()),
        Ok(Some(cursor)) if list.token(&cursor) == text => Ok("page".to_owned()),
        // Base64 has more than one text for some bytes; the cursor is what counts.
        Ok(Some(cursor)) if list.cursor(&list.token(&cursor)).ok().flatten() == Some(cursor.clone()) => {
            Ok("page".to_owned())
        }
        Ok(Some(cursor)) => Err(format!("cursor {cursor:?} is not the one of its own token")),
        Err(failure) => refusal(&failure),
    }
}

impl Target for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn bound(&self) -> MemoryBound {
        MemoryBound { constant: 256 * 1024, factor: 64 }
    }

    fn examples(&self) -> Vec<Vec<u8>> {
        use wire::ticket::Ticket;
        let ticket = |ticket| wire::Ticket { ticket: Some(ticket) }.encode_to_vec();
        let with = |door: u8, bytes: Vec<u8>| [vec![door], bytes].concat();
        let list = PageScope { call: "ListCommits", fields: &["g", "main"] };
        let headers = format!(
            "x-omnigraph-mode:merge\nx-omnigraph-end:unmarked\nx-omnigraph-validate-only:true\nx-omnigraph-on-conflict:retry\nx-omnigraph-operation-id:{COMMIT}\nx-omnigraph-expected-head:{COMMIT}"
        );
        vec![
            with(0, ticket(Ticket::Table(table()))),
            with(0, ticket(Ticket::Query(query()))),
            with(1, descriptor(command("omnigraph.v1.LoadCommand", &load()))),
            with(1, path(["g", "trial/ü", "Port"])),
            with(2, descriptor(command("omnigraph.v1.TableTicket", &table()))),
            with(2, descriptor(command("omnigraph.v1.QueryTicket", &query()))),
            with(2, descriptor(command("arrow.flight.protocol.sql.CommandStatementQuery", &table()))),
            with(2, path(["g", "main", "Port"])),
            with(3, status()),
            with(4, headers.into_bytes()),
            with(5, list.token(COMMIT).into_bytes()),
        ]
    }

    fn handle(&self, input: &[u8]) -> Result<String, String> {
        let Some((door, bytes)) = input.split_first() else { return Ok("nothing".to_owned()) };
        match door % DOORS {
            0 => outcome_of(untrusted::ticket(bytes)),
            1 => match FlightDescriptor::decode(bytes) {
                Ok(descriptor) => outcome_of(untrusted::put_command(Some(descriptor), MetadataMap::new())),
                Err(_) => Ok("no descriptor".to_owned()),
            },
            2 => match FlightDescriptor::decode(bytes) {
                Ok(descriptor) => outcome_of(untrusted::descriptor(descriptor)),
                Err(_) => Ok("no descriptor".to_owned()),
            },
            3 => read_status(bytes),
            4 => headers(bytes),
            _ => page_token(&String::from_utf8_lossy(bytes)),
        }
    }
}
