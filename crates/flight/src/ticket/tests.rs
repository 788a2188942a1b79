use omnigraph_types::{CommitId, LoadMode, OnConflict, Problem, WriteMode};

use super::*;
use crate::load_headers::{END, EXPECTED_HEAD, MODE, ON_CONFLICT, OPERATION_ID, VALIDATE_ONLY};

fn path(parts: &[&str]) -> Option<FlightDescriptor> {
    Some(FlightDescriptor::new_path(parts.iter().map(ToString::to_string).collect()))
}

fn headers(pairs: &[(&'static str, &str)]) -> OwnHeaders {
    let mut request = tonic::Request::new(());
    for (name, value) in pairs {
        request.metadata_mut().append(*name, value.parse().unwrap());
    }
    OwnHeaders::take(&mut request)
}

fn cmd(name: &str, message: &impl Message) -> FlightDescriptor {
    let any = Any { type_url: format!("type.googleapis.com/{name}"), value: message.encode_to_vec() };
    FlightDescriptor::new_cmd(any.encode_to_vec())
}

fn field(failure: Failure) -> String {
    match failure.problem {
        Problem::InvalidRequest { field } => field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn path_and_headers_make_a_load() {
    let id = "01J9ZZZZZZZZZZZZZZZZZZZZZZ";
    let pairs = [(MODE, "merge"), (OPERATION_ID, id), (EXPECTED_HEAD, id)];
    let command = PutCommand::parse(path(&["harbour", "main", "Port"]), headers(&pairs)).unwrap();
    assert_eq!((command.graph.as_str(), command.put.type_name.as_str()), ("harbour", "Port"));
    let load = command.put.load;
    assert_eq!((load.branch, load.mode), (BranchName::Main, LoadMode::Merge));
    assert_eq!(load.options.operation_id.unwrap().to_string(), id);
    assert_eq!(load.options.expected_head.unwrap().to_string(), id);
}

#[test]
fn path_without_mode_or_with_an_unknown_one_is_refused_with_the_modes() {
    for pairs in [&[][..], &[(MODE, "upsert")]] {
        let failure = PutCommand::parse(path(&["g", "main", "T"]), headers(pairs)).unwrap_err();
        assert!(failure.message.contains("overwrite"), "{failure}");
        assert_eq!(field(failure), MODE);
    }
}

#[test]
fn end_is_marked_unless_the_header_gives_it_up() {
    let end = |pairs: &[(&'static str, &str)]| {
        let pairs = [&[(MODE, "append")], pairs].concat();
        PutCommand::parse(path(&["g", "main", "T"]), headers(&pairs)).map(|command| command.end)
    };
    assert_eq!(end(&[]).unwrap(), StreamEnd::Marked);
    assert_eq!(end(&[(END, "marked")]).unwrap(), StreamEnd::Marked);
    assert_eq!(end(&[(END, "unmarked")]).unwrap(), StreamEnd::OfBody);
    assert_eq!(field(end(&[(END, "yes")]).unwrap_err()), END);
    let command = wire::LoadCommand { graph: "g".into(), branch: "main".into(), mode: 1, ..Default::default() };
    let descriptor = Some(cmd("omnigraph.v1.LoadCommand", &command));
    assert_eq!(PutCommand::parse(descriptor, headers(&[(END, "unmarked")])).unwrap().end, StreamEnd::OfBody);
}

#[test]
fn descriptor_without_three_parts_is_refused() {
    for parts in [&[][..], &["g", "main"], &["g", "main", "T", "x"]] {
        assert_eq!(field(PutCommand::parse(path(parts), headers(&[(MODE, "append")])).unwrap_err()), "descriptor.path");
    }
    assert_eq!(field(PutCommand::parse(None, headers(&[(MODE, "append")])).unwrap_err()), "descriptor");
    let failure = PutCommand::parse(path(&["Not A Graph", "main", "T"]), headers(&[(MODE, "append")])).unwrap_err();
    assert_eq!(field(failure), "descriptor.path[0]");
}

#[test]
fn command_makes_a_load() {
    let command = wire::LoadCommand {
        graph: "harbour".into(),
        branch: "main".into(),
        r#type: "Port".into(),
        mode: wire::LoadMode::Overwrite.into(),
        want_capture: true,
        validate_only: true,
        ..Default::default()
    };
    let parsed = PutCommand::parse(Some(cmd("omnigraph.v1.LoadCommand", &command)), OwnHeaders::default()).unwrap();
    assert_eq!((parsed.put.load.mode, parsed.put.capture), (LoadMode::Overwrite, Capture::Wanted));
    assert_eq!(parsed.put.load.options.mode, WriteMode::ValidateOnly);
}

#[test]
fn command_for_a_part_is_not_offered() {
    let command = wire::LoadCommand { load_id: "x".into(), ..Default::default() };
    let failure =
        PutCommand::parse(Some(cmd("omnigraph.v1.LoadCommand", &command)), OwnHeaders::default()).unwrap_err();
    assert_eq!(failure.problem, Problem::Unimplemented { feature: "loads in parts".into() });
}

#[test]
fn flight_sql_command_is_not_offered_by_name() {
    let descriptor = cmd("arrow.flight.protocol.sql.CommandStatementQuery", &Any::default());
    let put = PutCommand::parse(Some(descriptor.clone()), OwnHeaders::default()).unwrap_err();
    let read = Read::from_descriptor(descriptor).unwrap_err();
    for failure in [put, read] {
        assert_eq!(failure.problem, Problem::Unimplemented { feature: "Flight SQL".into() });
    }
}

#[test]
fn command_that_is_no_message_of_the_contract_is_refused() {
    for descriptor in [FlightDescriptor::new_cmd("select 1"), cmd("other.Message", &Any::default())] {
        assert_eq!(field(Read::from_descriptor(descriptor).unwrap_err()), "cmd");
    }
}

#[test]
fn pinned_ticket_reads_the_same_at_the_commit() {
    let query = wire::QueryTicket {
        graph: "g".into(),
        at: None,
        query: "query a() { }".into(),
        query_name: "a".into(),
        params_json: "{}".into(),
    };
    let read = Read::from_descriptor(cmd("omnigraph.v1.QueryTicket", &query)).unwrap();
    let Read::Query(graph, read) = read else { panic!("{read:?}") };
    assert_eq!(read.at, ReadAt::Branch(BranchName::Main));
    let commit: CommitId = "01J9ZZZZZZZZZZZZZZZZZZZZZZ".parse().unwrap();
    let pinned = QueryRequest { at: ReadAt::Commit(commit), ..read };
    let again = Read::from_ticket_bytes(&Read::Query(graph, pinned.clone()).into_ticket_bytes()).unwrap();
    let Read::Query(graph, again) = again else { panic!("{again:?}") };
    assert_eq!((graph.as_str(), again), ("g", pinned));
}

#[test]
fn ticket_of_an_export_or_of_nothing_is_refused() {
    let export = wire::Ticket { ticket: Some(wire::ticket::Ticket::Export(wire::ExportTicket::default())) };
    let failure = Read::from_ticket_bytes(&export.encode_to_vec()).unwrap_err();
    assert_eq!(failure.problem, Problem::Unimplemented { feature: "exports".into() });
    for bytes in [&b""[..], b"\xff\xff"] {
        assert_eq!(field(Read::from_ticket_bytes(bytes).unwrap_err()), "ticket");
    }
}

#[test]
fn header_of_a_load_is_obeyed_or_refused() {
    let load = |pairs: &[(&'static str, &str)]| {
        let pairs = [&[(MODE, "append")], pairs].concat();
        PutCommand::parse(path(&["g", "main", "T"]), headers(&pairs)).map(|command| command.put.load.options)
    };
    assert_eq!(load(&[(VALIDATE_ONLY, "true")]).unwrap().mode, WriteMode::ValidateOnly);
    assert_eq!(load(&[(VALIDATE_ONLY, "false")]).unwrap().mode, WriteMode::Commit);
    assert_eq!(load(&[(ON_CONFLICT, "fail")]).unwrap().on_conflict, OnConflict::Fail);
    assert_eq!(load(&[(ON_CONFLICT, "retry")]).unwrap().on_conflict, OnConflict::Retry);
    assert_eq!(field(load(&[(VALIDATE_ONLY, "1")]).unwrap_err()), VALIDATE_ONLY);
    assert_eq!(field(load(&[(ON_CONFLICT, "RETRY")]).unwrap_err()), ON_CONFLICT);
    assert_eq!(field(load(&[("x-omnigraph-dry-run", "true")]).unwrap_err()), "x-omnigraph-dry-run");
    assert_eq!(field(load(&[("x-omnigraph-validate_only", "true")]).unwrap_err()), "x-omnigraph-validate_only");
    assert_eq!(field(load(&[(VALIDATE_ONLY, "true"), (VALIDATE_ONLY, "true")]).unwrap_err()), VALIDATE_ONLY);
    assert_eq!(field(load(&[(MODE, "append")]).unwrap_err()), MODE);
}

#[test]
fn header_beside_a_command_that_says_the_same_is_refused() {
    let command = wire::LoadCommand { graph: "g".into(), branch: "main".into(), mode: 1, ..Default::default() };
    for name in [MODE, OPERATION_ID, EXPECTED_HEAD, ON_CONFLICT, VALIDATE_ONLY] {
        let descriptor = Some(cmd("omnigraph.v1.LoadCommand", &command));
        let failure = PutCommand::parse(descriptor, headers(&[(name, "true")])).unwrap_err();
        assert!(failure.message.contains(END), "{failure}");
        assert_eq!(field(failure), name);
    }
}
