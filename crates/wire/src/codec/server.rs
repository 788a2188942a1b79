//! `server.proto`: what a server is, and what it reads for its callers.

use omnigraph_types::{Failure, Feature, LimitEntry, LimitUnit, QueryId, QueryState, RunningQuery, ServerInfo};

use super::field::{all, decoded, each, invalid, moment, parsed, timestamp};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::v1;

fn unit_to_wire(unit: LimitUnit) -> i32 {
    let unit = match unit {
        LimitUnit::Bytes => v1::LimitUnit::Bytes,
        LimitUnit::Rows => v1::LimitUnit::Rows,
        LimitUnit::Milliseconds => v1::LimitUnit::Milliseconds,
        LimitUnit::Count => v1::LimitUnit::Count,
        LimitUnit::Newer => v1::LimitUnit::Unspecified,
    };
    unit.into()
}

fn unit_from_wire(number: i32) -> LimitUnit {
    match v1::LimitUnit::try_from(number) {
        Ok(v1::LimitUnit::Bytes) => LimitUnit::Bytes,
        Ok(v1::LimitUnit::Rows) => LimitUnit::Rows,
        Ok(v1::LimitUnit::Milliseconds) => LimitUnit::Milliseconds,
        Ok(v1::LimitUnit::Count) => LimitUnit::Count,
        Ok(v1::LimitUnit::Unspecified) | Err(_) => LimitUnit::Newer,
    }
}

impl AnswerCodec for v1::Limit {
    type Value = LimitEntry<String>;

    fn to_wire(limit: Self::Value) -> Self {
        Self {
            name: limit.name,
            value: limit.value,
            default_value: limit.default,
            unit: unit_to_wire(limit.unit),
            description: limit.description,
        }
    }

    fn from_wire(limit: Self) -> Result<Self::Value, MalformedAnswer> {
        Ok(LimitEntry {
            name: limit.name,
            value: limit.value,
            default: limit.default_value,
            unit: unit_from_wire(limit.unit),
            description: limit.description,
        })
    }
}

impl AnswerCodec for v1::Feature {
    type Value = Feature;

    fn to_wire(feature: Feature) -> Self {
        Self { name: feature.name, enabled: feature.enabled, description: feature.description }
    }

    fn from_wire(feature: Self) -> Result<Feature, MalformedAnswer> {
        Ok(Feature { name: feature.name, enabled: feature.enabled, description: feature.description })
    }
}

impl RequestCodec for v1::GetServerInfoRequest {
    type Value = ();

    fn to_wire((): ()) -> Self {
        Self {}
    }

    fn from_wire(_: Self) -> Result<(), Failure> {
        Ok(())
    }
}

impl AnswerCodec for v1::GetServerInfoResponse {
    type Value = ServerInfo;

    fn to_wire(info: ServerInfo) -> Self {
        Self {
            version: info.version,
            storage_format: info.storage_format,
            limits: each(info.limits),
            features: each(info.features),
            root_id: info.root_id.to_string(),
            root: info.root,
        }
    }

    fn from_wire(info: Self) -> Result<ServerInfo, MalformedAnswer> {
        Ok(ServerInfo {
            version: info.version,
            storage_format: info.storage_format,
            limits: all(info.limits)?,
            features: all(info.features)?,
            root_id: parsed("GetServerInfoResponse.root_id", &info.root_id)?,
            root: info.root,
        })
    }
}

fn state_to_wire(state: QueryState) -> i32 {
    let state = match state {
        QueryState::Queued => v1::QueryState::Queued,
        QueryState::Running => v1::QueryState::Running,
        QueryState::Ending => v1::QueryState::Ending,
        QueryState::Newer => v1::QueryState::Unspecified,
    };
    state.into()
}

fn state_from_wire(number: i32) -> QueryState {
    match v1::QueryState::try_from(number) {
        Ok(v1::QueryState::Queued) => QueryState::Queued,
        Ok(v1::QueryState::Running) => QueryState::Running,
        Ok(v1::QueryState::Ending) => QueryState::Ending,
        Ok(v1::QueryState::Unspecified) | Err(_) => QueryState::Newer,
    }
}

impl AnswerCodec for v1::RunningQuery {
    type Value = RunningQuery;

    fn to_wire(query: RunningQuery) -> Self {
        Self {
            query_id: query.id.to_string(),
            graph: query.graph.into(),
            branch: query.branch.into(),
            actor: query.actor,
            text: query.text,
            started_at: Some(timestamp(query.started_ms)),
            age_ms: query.age_ms,
            state: state_to_wire(query.state),
            rows_sent: query.rows_sent,
            memory_bytes: query.memory_bytes,
        }
    }

    fn from_wire(query: Self) -> Result<RunningQuery, MalformedAnswer> {
        Ok(RunningQuery {
            id: parsed("RunningQuery.query_id", &query.query_id)?,
            graph: parsed("RunningQuery.graph", &query.graph)?,
            branch: parsed("RunningQuery.branch", &query.branch)?,
            actor: query.actor,
            text: query.text,
            started_ms: moment("RunningQuery.started_at", query.started_at)?,
            age_ms: query.age_ms,
            state: state_from_wire(query.state),
            rows_sent: query.rows_sent,
            memory_bytes: query.memory_bytes,
        })
    }
}

impl RequestCodec for v1::ListQueriesRequest {
    type Value = ();

    fn to_wire((): ()) -> Self {
        Self {}
    }

    fn from_wire(_: Self) -> Result<(), Failure> {
        Ok(())
    }
}

impl AnswerCodec for v1::ListQueriesResponse {
    type Value = Vec<RunningQuery>;

    fn to_wire(queries: Self::Value) -> Self {
        Self { queries: each(queries) }
    }

    fn from_wire(answer: Self) -> Result<Self::Value, MalformedAnswer> {
        all(answer.queries)
    }
}

impl RequestCodec for v1::CancelQueryRequest {
    type Value = QueryId;

    fn to_wire(id: QueryId) -> Self {
        Self { query_id: id.to_string() }
    }

    fn from_wire(request: Self) -> Result<QueryId, Failure> {
        let text = &request.query_id;
        let message =
            || format!("query_id is {text:?}: give the id of a query, 26 characters, as ListQueries returns it");
        text.parse().map_err(|_| invalid("query_id", message()))
    }
}

impl AnswerCodec for v1::CancelQueryResponse {
    type Value = RunningQuery;

    fn to_wire(query: RunningQuery) -> Self {
        Self { query: Some(v1::RunningQuery::to_wire(query)) }
    }

    fn from_wire(answer: Self) -> Result<RunningQuery, MalformedAnswer> {
        decoded("CancelQueryResponse.query", answer.query)
    }
}
