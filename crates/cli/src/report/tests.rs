use std::path::PathBuf;

use omnigraph_types::{
    BranchName, CommitId, ConstraintKind, OperationId, Phase, ReadSetMember, Resource, Span, WriterName,
};

use super::*;

const OPERATION: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M9P";

fn failed(problem: Problem, message: &str) -> ClientError {
    ClientError::from(Failure::new(problem, message))
}

fn write() -> Write {
    Write {
        graph: "airline".parse().unwrap(),
        branch: BranchName::Main,
        operation_id: OPERATION.parse::<OperationId>().unwrap(),
    }
}

fn load(problem: Problem, message: &str) -> CliError {
    CliError::Load(Box::new(FailedLoad { error: failed(problem, message), write: write(), places: Vec::new() }))
}

#[test]
fn conflict_of_a_load_tells_its_fields_and_that_nothing_was_stored() {
    let problem = Problem::ReadSetChanged {
        branch: BranchName::Main,
        member: ReadSetMember::Table("Route".to_owned()),
        expected: "5".to_owned(),
        actual: "6".to_owned(),
    };
    insta::assert_snapshot!(text(&load(problem, "Route changed since the overwrite began")), @r"
    READ_SET_CHANGED: Route changed since the overwrite began
      branch    main
      member    table:Route
      expected  5
      actual    6
    next: nothing was stored; read again, decide again, then send a new request
    ");
}

#[test]
fn open_outcome_tells_how_to_send_again_and_how_to_ask() {
    let problem = Problem::RecoveryRequired {
        operation_id: OPERATION.parse().unwrap(),
        branch: BranchName::Main,
        writer: WriterName::known("load"),
        phase: Phase::Apply,
        reason: "the store does not answer".to_owned(),
    };
    insta::assert_snapshot!(text(&load(problem, "the load is not settled yet")), @r"
    RECOVERY_REQUIRED: the load is not settled yet
      operation  01JZ8Q6Y3V5B7N9D1F3H5K7M9P
      branch     main
      writer     load
      phase      B
      reason     the store does not answer
    next: whether it was stored is not known; send it again, which is safe: the load with --operation-id 01JZ8Q6Y3V5B7N9D1F3H5K7M9P
      or ask: omnigraph operation airline 01JZ8Q6Y3V5B7N9D1F3H5K7M9P
    ");
}

#[test]
fn branch_that_was_not_made_tells_the_operation_to_send_again() {
    let branch = |problem, message, change| CliError::Change {
        error: failed(problem, message),
        change,
        operation_id: OPERATION.parse().unwrap(),
    };
    let contention = Problem::CommitContention { attempts: 64, winner: None };
    insta::assert_snapshot!(text(&branch(contention, "other writers won", Change::CreateBranch)), @r"
    COMMIT_CONTENTION: other writers won
      attempts  64
    next: nothing was made; send it again: omnigraph branch create ... --operation-id 01JZ8Q6Y3V5B7N9D1F3H5K7M9P
    ");
    let missing = Problem::NotFound { resource: Resource::Branch, name: "trial".to_owned() };
    insta::assert_snapshot!(text(&branch(missing, "there is no branch trial", Change::DeleteBranch)), @r"
    BRANCH_NOT_FOUND: there is no branch trial
    next: nothing was deleted
    ");
}

#[test]
fn violations_name_rows_and_the_files_they_came_from() {
    let violation = Violation {
        type_name: "Route".to_owned(),
        entity: Some("[\"OSL\",\"QQQ\"]".to_owned()),
        properties: vec!["dst".to_owned()],
        kind: ConstraintKind::OrphanEdge,
        message: "there is no Airport \"QQQ\"".to_owned(),
        source_row: Some(7),
    };
    let problem = Problem::ConstraintViolation { violations: vec![violation], total: 12 };
    let place = Place { file: PathBuf::from("b.csv"), row: 3, line: None };
    let error = CliError::Load(Box::new(FailedLoad {
        error: failed(problem, "12 rows break a rule"),
        write: write(),
        places: vec![(7, place)],
    }));
    insta::assert_snapshot!(text(&error), @r#"
    CONSTRAINT_VIOLATION: 12 rows break a rule
      orphan_edge  Route.dst "[\"OSL\",\"QQQ\"]" (row 7): there is no Airport "QQQ"
      and          11 more
      row 7 of the load is row 3 of b.csv
    next: nothing was stored
    "#);
}

#[test]
fn wrong_query_shows_its_place() {
    let source = "query q() { match { $a: Aeroport } return { $a } }";
    let diagnostic = Diagnostic {
        code: "T1".to_owned(),
        message: "there is no node type Aeroport".to_owned(),
        span: Some(Span::of(source, 24, 32)),
        hint: Some("did you mean Airport?".to_owned()),
    };
    let error = failed(Problem::QueryInvalid { diagnostics: vec![diagnostic] }, "the query is not valid");
    insta::assert_snapshot!(text(&CliError::Query { error, text: source.to_owned(), params: Vec::new() }), @r"
    QUERY_INVALID: 1 mistake in the text
    T1: there is no node type Aeroport
     --> line 1, column 25
      |
    1 | query q() { match { $a: Aeroport } return { $a } }
      |                         ^^^^^^^^
    hint: did you mean Airport?
    ");
}

#[test]
fn read_of_something_missing_says_only_that() {
    let problem = Problem::NotFound { resource: Resource::Graph, name: "nope".to_owned() };
    assert_eq!(
        text(&CliError::Read(failed(problem, "there is no graph nope"))),
        "GRAPH_NOT_FOUND: there is no graph nope\n"
    );
}

#[test]
fn head_mismatch_names_both_commits() {
    let commit = |text: &str| text.parse::<CommitId>().unwrap();
    let problem = Problem::HeadMismatch {
        expected: commit("01JZ8Q6Y3V5B7N9D1F3H5K7M91"),
        actual: commit("01JZ8Q6Y3V5B7N9D1F3H5K7M92"),
    };
    let text = text(&load(problem, "the head of main is another commit"));
    assert!(text.starts_with("HEAD_MISMATCH: ") && text.contains("expected  01JZ8Q6Y3V5B7N9D1F3H5K7M91"), "{text}");
}

#[test]
fn parameter_that_was_given_is_not_asked_for_again() {
    let next = |params: &[&str]| {
        let problem = Problem::ParamInvalid { parameter: "n".to_owned() };
        let error = failed(problem, "the query declares no parameter $n; it declares: none");
        let params = params.iter().map(|name| (*name).to_owned()).collect();
        text(&CliError::Query { error, text: String::new(), params })
    };
    assert!(next(&["n"]).ends_with("next: correct --param n=..., or leave it out if the query does not declare it\n"));
    assert!(next(&["m"]).contains("give it as --param n="));
}

#[test]
fn file_that_fails_after_an_open_attempt_does_not_say_that_nothing_was_stored() {
    let failed = || CliError::Input(crate::input::InputError::ReaderDied);
    assert!(text(&failed().after(Effect::None, write())).contains("nothing was stored"));
    insta::assert_snapshot!(text(&failed().after(Effect::Unknown, write())), @r"
    error: reading the files ended unexpectedly
    next: an earlier attempt of the load may be stored; ask with
      omnigraph operation airline 01JZ8Q6Y3V5B7N9D1F3H5K7M9P
    ");
    assert!(matches!(CliError::Interrupted.after(Effect::Unknown, write()), CliError::InterruptedCommit(_)));
}

#[test]
fn interrupted_commit_says_that_its_state_is_open() {
    insta::assert_snapshot!(text(&CliError::InterruptedCommit(Box::new(write()))), @r"
    interrupted while the server was committing
    next: whether it is stored is not known yet; ask with
      omnigraph operation airline 01JZ8Q6Y3V5B7N9D1F3H5K7M9P
    ");
}

#[tokio::test]
async fn server_that_does_not_answer_is_told_with_the_way_out() {
    // Port 1 is never a server of ours.
    let error = omnigraph_client::Client::connect("grpc://127.0.0.1:1").await.unwrap_err();
    let text = text(&CliError::Read(error));
    assert!(text.starts_with("error: no connection to grpc://127.0.0.1:1: "), "{text}");
    assert!(text.ends_with("next: start a server with `omnigraph serve --root <root>`, or name another with --url\n"));
}
