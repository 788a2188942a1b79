//! `load.proto`: loads in one call, over gRPC and over Flight.

use omnigraph_types::{Capture, Failure, GraphName, LoadRequest, LoadedRows, TypeLoad, TypeLoadAnswer, WriteOptions};

use super::common::{
    load_mode_from_wire, load_mode_to_wire, on_conflict_from_wire, on_conflict_to_wire, receipt_from_wire,
    receipt_to_wire, write_mode_from_wire, write_mode_to_wire,
};
use super::field::{branch_name, decoded, graph_name, invalid, optional_commit_id, optional_operation_id, text};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::v1;

impl RequestCodec for v1::LoadRowsHeader {
    type Value = (GraphName, LoadRequest);

    fn to_wire((graph, load): Self::Value) -> Self {
        Self {
            graph: graph.into(),
            branch: load.branch.into(),
            mode: load_mode_to_wire(load.mode),
            operation_id: text(load.options.operation_id),
            expected_head: text(load.options.expected_head),
            on_conflict: on_conflict_to_wire(load.options.on_conflict),
            validate_only: write_mode_to_wire(load.options.mode),
        }
    }

    fn from_wire(header: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("graph", &header.graph)?;
        let load = LoadRequest {
            branch: branch_name("header.branch", &header.branch)?,
            mode: load_mode_from_wire("mode", header.mode)?,
            options: WriteOptions {
                operation_id: optional_operation_id(&header.operation_id)?,
                expected_head: optional_commit_id("expected_head", &header.expected_head)?,
                on_conflict: on_conflict_from_wire("on_conflict", header.on_conflict)?,
                mode: write_mode_from_wire(header.validate_only),
            },
        };
        Ok((graph, load))
    }
}

impl AnswerCodec for v1::LoadRowsResponse {
    type Value = LoadedRows;

    fn to_wire(loaded: LoadedRows) -> Self {
        let rows_read = loaded.receipt.rows_read;
        Self { receipt: Some(receipt_to_wire(loaded.receipt)), rows_read, bytes_read: loaded.bytes_read }
    }

    fn from_wire(response: Self) -> Result<LoadedRows, MalformedAnswer> {
        let receipt = receipt_from_wire("LoadRowsResponse.receipt", response.receipt, response.rows_read)?;
        Ok(LoadedRows { receipt, bytes_read: response.bytes_read })
    }
}

impl RequestCodec for v1::LoadCommand {
    type Value = (GraphName, TypeLoad);

    fn to_wire((graph, put): Self::Value) -> Self {
        let options = put.load.options;
        Self {
            graph: graph.into(),
            branch: put.load.branch.into(),
            r#type: put.type_name,
            mode: load_mode_to_wire(put.load.mode),
            operation_id: text(options.operation_id),
            expected_head: text(options.expected_head),
            load_id: String::new(),
            part_id: String::new(),
            want_capture: match put.capture {
                Capture::Wanted => true,
                Capture::NotWanted => false,
            },
            on_conflict: on_conflict_to_wire(options.on_conflict),
            validate_only: write_mode_to_wire(options.mode),
        }
    }

    /// `InvalidRequest` for a part of an open load: that is not a commit of its own.
    fn from_wire(command: Self) -> Result<Self::Value, Failure> {
        if !command.load_id.is_empty() || !command.part_id.is_empty() {
            return Err(invalid("load_id", "load_id or part_id is set: this command is not a load of its own"));
        }
        let graph = graph_name("cmd.graph", &command.graph)?;
        let load = LoadRequest {
            branch: branch_name("cmd.branch", &command.branch)?,
            mode: load_mode_from_wire("mode", command.mode)?,
            options: WriteOptions {
                operation_id: optional_operation_id(&command.operation_id)?,
                expected_head: optional_commit_id("expected_head", &command.expected_head)?,
                on_conflict: on_conflict_from_wire("on_conflict", command.on_conflict)?,
                mode: write_mode_from_wire(command.validate_only),
            },
        };
        let capture = if command.want_capture { Capture::Wanted } else { Capture::NotWanted };
        Ok((graph, TypeLoad { type_name: command.r#type, load, capture }))
    }
}

impl AnswerCodec for v1::LoadResult {
    type Value = TypeLoadAnswer;

    fn to_wire(answer: TypeLoadAnswer) -> Self {
        use v1::load_result::Result;
        let result = match answer {
            TypeLoadAnswer::Capture(commit) => {
                Result::Capture(v1::LoadCapture { commit: Some(v1::Commit::to_wire(commit)) })
            }
            TypeLoadAnswer::Receipt(receipt) => {
                let rows_read = receipt.rows_read;
                Result::Receipt(v1::LoadReceipt { receipt: Some(receipt_to_wire(receipt)), rows_read })
            }
        };
        Self { result: Some(result) }
    }

    fn from_wire(answer: Self) -> Result<TypeLoadAnswer, MalformedAnswer> {
        use v1::load_result::Result as Part;
        match answer.result {
            Some(Part::Capture(capture)) => decoded("LoadCapture.commit", capture.commit).map(TypeLoadAnswer::Capture),
            Some(Part::Receipt(receipt)) => {
                receipt_from_wire("LoadReceipt.receipt", receipt.receipt, receipt.rows_read)
                    .map(TypeLoadAnswer::Receipt)
            }
            Some(Part::Part(_)) | None => Err(MalformedAnswer { field: "LoadResult.result" }),
        }
    }
}
