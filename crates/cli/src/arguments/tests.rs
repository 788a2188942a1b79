use clap::CommandFactory;
use clap::error::ErrorKind;
use omnigraph_client::ReadAt;

use super::*;

fn parse(line: &str) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(line.split_whitespace())
}

fn load(line: &str) -> LoadArguments {
    match parse(line).unwrap().command {
        Command::Load(arguments) => arguments,
        other => panic!("{other:?}"),
    }
}

#[test]
fn grammar_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn load_without_a_mode_is_refused() {
    let error = parse("omnigraph load g --type A a.csv").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn load_takes_files_renames_and_columns() {
    let arguments =
        load("omnigraph load g a.csv b.csv --type R --mode merge --rename o=src --rename d=dst --skip-column x,y");
    assert_eq!(arguments.files, [PathBuf::from("a.csv"), PathBuf::from("b.csv")]);
    assert_eq!(arguments.rename[1], Rename { from: "d".to_owned(), to: "dst".to_owned() });
    assert_eq!(arguments.skip_column, ["x", "y"]);
    assert_eq!((arguments.mode, arguments.branch), (Mode::Merge, BranchName::Main));
}

#[test]
fn names_and_ids_are_checked_before_anything_is_sent() {
    for line in [
        "omnigraph graph show UPPER",
        "omnigraph operation g not-an-id",
        "omnigraph load g a.csv --mode append --expected-head x",
        "omnigraph load g a.csv --mode append --rename nothing",
        "omnigraph load g a.csv --mode append --batch-rows 0",
        "omnigraph --timeout 5x graph list",
        "omnigraph branch create g trial --from-commit x",
        "omnigraph branch create g trial --at-time yesterday",
        "omnigraph branch delete g trial --expected-head x",
        "omnigraph recoveries g --limit 0",
    ] {
        assert_eq!(parse(line).unwrap_err().kind(), ErrorKind::ValueValidation, "{line}");
    }
}

#[test]
fn parameter_that_is_not_json_shows_how_it_is_written() {
    let error = "code=OSL".parse::<Param>().unwrap_err();
    assert_eq!(error, r#"OSL is not JSON; a text is written in quotes: --param 'code="OSL"'"#);
    assert_eq!("$n=5".parse::<Param>().unwrap(), Param { name: "n".to_owned(), json: "5".to_owned() });
}

#[test]
fn timeout_takes_a_number_and_a_unit() {
    let milliseconds = |text: &str| match parse_timeout(text) {
        Ok(Timeout::After(duration)) => Some(duration.as_millis()),
        Ok(Timeout::Server) | Err(_) => None,
    };
    assert_eq!(
        ["500ms", "30s", "2", "10m", "2h"].map(milliseconds),
        [500, 30_000, 2_000, 600_000, 7_200_000].map(Some)
    );
    assert_eq!(["", "0", "s", "-1s", "1.5s", "5x", "99999999999999999999h"].map(milliseconds), [None; 7]);
}

fn branch(line: &str) -> CreateBranchArguments {
    match parse(line).unwrap().command {
        Command::Branch(BranchCommand::Create(arguments)) => arguments,
        other => panic!("{other:?}"),
    }
}

#[test]
fn branch_begins_at_a_head_a_commit_or_a_moment() {
    let source = |options: &str| branch(&format!("omnigraph branch create g trial/a {options}")).source();
    let trial = || "trial".parse::<BranchName>().unwrap();
    assert_eq!(source(""), ReadAt::Branch(BranchName::Main));
    assert_eq!(source("--from trial"), ReadAt::Branch(trial()));
    let id = "01JZ8Q6Y3V5B7N9D1F3H5K7M9P";
    assert_eq!(source(&format!("--from-commit {id}")), ReadAt::Commit(id.parse().unwrap()));
    let at = |branch| ReadAt::BranchAtTime { branch, time_ms: 1_001 };
    assert_eq!(source("--at-time 1970-01-01T00:00:01.001Z"), at(BranchName::Main));
    assert_eq!(source("--from trial --at-time 1970-01-01T00:00:01.001Z"), at(trial()));
    for options in ["--from trial", "--at-time 2026-05-01T12:00:00Z"] {
        let line = format!("omnigraph branch create g a --from-commit {id} {options}");
        assert_eq!(parse(&line).unwrap_err().kind(), ErrorKind::ArgumentConflict, "{line}");
    }
}
