//! What descriptors and tickets of Flight calls name: a load, a table or a query.
//!
//! A `cmd` is a message of the contract packed in `google.protobuf.Any`. A ticket is the bytes of an `omnigraph.v1.Ticket`.

use arrow_flight::FlightDescriptor;
use arrow_flight::flight_descriptor::DescriptorType;
use omnigraph_engine::{LoadMode, OnConflict, ReadAt, ValidateOnly};
use omnigraph_types::{BranchName, CommitId, Failure, GraphName, OperationId};
use omnigraph_wire::v1 as wire;
use prost::Message;
use prost_types::Any;
use tonic::metadata::MetadataMap;

use crate::{FlightFault, convert};

const MODE_HEADER: &str = "x-omnigraph-mode";
const OPERATION_ID_HEADER: &str = "x-omnigraph-operation-id";
const EXPECTED_HEAD_HEADER: &str = "x-omnigraph-expected-head";
const END_HEADER: &str = "x-omnigraph-end";
/// Type URLs of Flight SQL's commands begin with this after their host.
const FLIGHT_SQL_PREFIX: &str = "arrow.flight.protocol.sql.";

/// Whether the client wants to be told what an overwrite is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capture {
    Wanted,
    NotWanted,
}

/// What makes the end of a stream an end that the client meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The end of the request body.
    OfBody,
    /// A message without rows whose `app_metadata` is `end`, and then the end of the request body.
    Marked,
}

/// A DoPut that is its own commit.
#[derive(Debug)]
pub(crate) struct PutCommand {
    pub(crate) graph: GraphName,
    pub(crate) branch: BranchName,
    pub(crate) type_name: String,
    pub(crate) mode: LoadMode,
    pub(crate) operation_id: Option<OperationId>,
    pub(crate) expected_head: Option<CommitId>,
    pub(crate) on_conflict: OnConflict,
    pub(crate) validate_only: ValidateOnly,
    pub(crate) capture: Capture,
    pub(crate) end: StreamEnd,
}

/// One type's rows.
#[derive(Debug, Clone)]
pub(crate) struct TableRead {
    pub(crate) graph: GraphName,
    pub(crate) at: ReadAt,
    pub(crate) type_name: String,
    pub(crate) columns: Vec<String>,
}

/// A query's result.
#[derive(Debug, Clone)]
pub(crate) struct QueryRead {
    pub(crate) graph: GraphName,
    pub(crate) at: ReadAt,
    pub(crate) query: String,
    pub(crate) query_name: String,
    pub(crate) params_json: String,
}

/// What a DoGet reads.
#[derive(Debug, Clone)]
pub(crate) enum Read {
    Table(TableRead),
    Query(QueryRead),
}

/// A descriptor's content.
enum Target {
    Path { graph: GraphName, branch: BranchName, type_name: String },
    Command(Any),
}

fn target(descriptor: Option<FlightDescriptor>) -> Result<Target, Failure> {
    let descriptor = descriptor.ok_or_else(|| FlightFault::NoDescriptor.failure())?;
    match descriptor.r#type() {
        DescriptorType::Path => {
            let parts = descriptor.path.len();
            let [graph, branch, type_name] =
                <[String; 3]>::try_from(descriptor.path).map_err(|_| FlightFault::BadPath { parts }.failure())?;
            let graph = convert::graph_name("descriptor.path[0]", &graph)?;
            let branch = convert::branch_name("descriptor.path[1]", &branch)?;
            Ok(Target::Path { graph, branch, type_name })
        }
        DescriptorType::Cmd => Ok(Target::Command(command(&descriptor.cmd)?)),
        DescriptorType::Unknown => Err(FlightFault::NoDescriptor.failure()),
    }
}

fn command(bytes: &[u8]) -> Result<Any, Failure> {
    let any = Any::decode(bytes).ok().filter(|any| !any.type_url.is_empty());
    let any = any.ok_or_else(|| FlightFault::Unreadable { field: "cmd", expected: COMMAND_EXPECTED }.failure())?;
    if type_name(&any).starts_with(FLIGHT_SQL_PREFIX) {
        let instead = "load with a path [graph, branch, type] and the header x-omnigraph-mode, and read with an omnigraph.v1.QueryTicket";
        return Err(FlightFault::NotOffered { feature: "Flight SQL", instead }.failure());
    }
    Ok(any)
}

const COMMAND_EXPECTED: &str =
    "give a google.protobuf.Any that holds an omnigraph.v1.LoadCommand (to load), TableTicket or QueryTicket (to read)";
const TICKET_EXPECTED: &str = "give the ticket of a GetFlightInfo, or the bytes of an omnigraph.v1.Ticket";

fn type_name(any: &Any) -> &str {
    any.type_url.rsplit('/').next().unwrap_or_default()
}

fn unpack<M: Message + Default>(any: &Any) -> Result<M, Failure> {
    let unreadable = FlightFault::Unreadable { field: "cmd", expected: COMMAND_EXPECTED };
    M::decode(any.value.as_slice()).map_err(|_| unreadable.failure())
}

impl PutCommand {
    /// What a DoPut's first descriptor and its call headers ask for.
    pub(crate) fn parse(descriptor: Option<FlightDescriptor>, headers: &MetadataMap) -> Result<Self, Failure> {
        match target(descriptor)? {
            Target::Path { graph, branch, type_name } => Ok(Self {
                graph,
                branch,
                type_name,
                mode: header_mode(headers)?,
                operation_id: convert::operation_id(header(headers, OPERATION_ID_HEADER)?.unwrap_or_default())?,
                expected_head: convert::expected_head(header(headers, EXPECTED_HEAD_HEADER)?.unwrap_or_default())?,
                on_conflict: OnConflict::ByKind,
                validate_only: ValidateOnly::No,
                capture: Capture::NotWanted,
                end: header_end(headers)?,
            }),
            Target::Command(any) if type_name(&any) == "omnigraph.v1.LoadCommand" => {
                Self::from_wire(unpack(&any)?, header_end(headers)?)
            }
            Target::Command(_) => Err(FlightFault::Unreadable { field: "cmd", expected: COMMAND_EXPECTED }.failure()),
        }
    }

    fn from_wire(command: wire::LoadCommand, end: StreamEnd) -> Result<Self, Failure> {
        if !command.load_id.is_empty() || !command.part_id.is_empty() {
            let instead = "leave load_id and part_id out, so that the stream is its own commit";
            return Err(FlightFault::NotOffered { feature: "loads in parts", instead }.failure());
        }
        Ok(Self {
            graph: convert::graph_name("cmd.graph", &command.graph)?,
            branch: convert::branch_name("cmd.branch", &command.branch)?,
            type_name: command.r#type,
            mode: convert::load_mode(command.mode)?,
            operation_id: convert::operation_id(&command.operation_id)?,
            expected_head: convert::expected_head(&command.expected_head)?,
            on_conflict: convert::on_conflict(command.on_conflict)?,
            validate_only: convert::validate_only(command.validate_only),
            capture: if command.want_capture { Capture::Wanted } else { Capture::NotWanted },
            end,
        })
    }
}

fn header_mode(headers: &MetadataMap) -> Result<LoadMode, Failure> {
    match header(headers, MODE_HEADER)? {
        None => Err(FlightFault::MissingMode.failure()),
        Some("append") => Ok(LoadMode::Append),
        Some("merge") => Ok(LoadMode::Merge),
        Some("overwrite") => Ok(LoadMode::Overwrite),
        Some(other) => Err(bad_header(MODE_HEADER, other, "use append, merge or overwrite")),
    }
}

fn header_end(headers: &MetadataMap) -> Result<StreamEnd, Failure> {
    match header(headers, END_HEADER)? {
        None => Ok(StreamEnd::OfBody),
        Some("marked") => Ok(StreamEnd::Marked),
        Some(other) => Err(bad_header(END_HEADER, other, "use marked, or leave it out")),
    }
}

fn header<'h>(headers: &'h MetadataMap, name: &'static str) -> Result<Option<&'h str>, Failure> {
    let text = |value: &'h tonic::metadata::AsciiMetadataValue| {
        value.to_str().map_err(|_| bad_header(name, "not text", "use visible ASCII characters"))
    };
    headers.get(name).map(text).transpose()
}

fn bad_header(field: &'static str, found: &str, expected: &'static str) -> Failure {
    FlightFault::BadField { field, found: found.to_owned(), expected }.failure()
}

impl Read {
    /// What a descriptor of GetFlightInfo or GetSchema names.
    pub(crate) fn from_descriptor(descriptor: FlightDescriptor) -> Result<Self, Failure> {
        match target(Some(descriptor))? {
            Target::Path { graph, branch, type_name } => {
                Ok(Self::Table(TableRead { graph, at: ReadAt::Branch(branch), type_name, columns: Vec::new() }))
            }
            Target::Command(any) => match type_name(&any) {
                "omnigraph.v1.TableTicket" => Self::from_table(unpack(&any)?),
                "omnigraph.v1.QueryTicket" => Self::from_query(unpack(&any)?),
                "omnigraph.v1.Ticket" => Self::from_ticket(unpack(&any)?),
                _ => Err(FlightFault::Unreadable { field: "cmd", expected: COMMAND_EXPECTED }.failure()),
            },
        }
    }

    /// What the bytes of a DoGet's ticket name.
    pub(crate) fn from_ticket_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        let unreadable = || FlightFault::Unreadable { field: "ticket", expected: TICKET_EXPECTED }.failure();
        Self::from_ticket(wire::Ticket::decode(bytes).map_err(|_| unreadable())?)
    }

    fn from_ticket(ticket: wire::Ticket) -> Result<Self, Failure> {
        use wire::ticket::Ticket;
        match ticket.ticket {
            Some(Ticket::Table(table)) => Self::from_table(table),
            Some(Ticket::Query(query)) => Self::from_query(query),
            Some(Ticket::Export(_)) => {
                let instead = "read the types one by one with TableTickets at one commit";
                Err(FlightFault::NotOffered { feature: "exports", instead }.failure())
            }
            None => Err(FlightFault::Unreadable { field: "ticket", expected: TICKET_EXPECTED }.failure()),
        }
    }

    fn from_table(table: wire::TableTicket) -> Result<Self, Failure> {
        Ok(Self::Table(TableRead {
            graph: convert::graph_name("ticket.graph", &table.graph)?,
            at: convert::read_at(table.at)?,
            type_name: table.r#type,
            columns: table.columns,
        }))
    }

    fn from_query(query: wire::QueryTicket) -> Result<Self, Failure> {
        Ok(Self::Query(QueryRead {
            graph: convert::graph_name("ticket.graph", &query.graph)?,
            at: convert::read_at(query.at)?,
            query: query.query,
            query_name: query.query_name,
            params_json: query.params_json,
        }))
    }

    /// The graph that is read, and the state of it.
    pub(crate) fn place(&self) -> (&GraphName, &ReadAt) {
        match self {
            Self::Table(table) => (&table.graph, &table.at),
            Self::Query(query) => (&query.graph, &query.at),
        }
    }

    /// A ticket for the same read, of one commit whatever happens to the branch.
    pub(crate) fn pinned_ticket(&self, commit: CommitId) -> wire::Ticket {
        use wire::ticket::Ticket;
        let at = Some(wire::ReadPoint { point: Some(wire::read_point::Point::Commit(commit.to_string())) });
        let ticket = match self.clone() {
            Self::Table(table) => Ticket::Table(wire::TableTicket {
                graph: table.graph.to_string(),
                at,
                r#type: table.type_name,
                columns: table.columns,
            }),
            Self::Query(query) => Ticket::Query(wire::QueryTicket {
                graph: query.graph.to_string(),
                at,
                query: query.query,
                query_name: query.query_name,
                params_json: query.params_json,
            }),
        };
        wire::Ticket { ticket: Some(ticket) }
    }
}

#[cfg(test)]
#[path = "ticket/tests.rs"]
mod tests;
