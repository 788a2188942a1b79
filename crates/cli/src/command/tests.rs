use clap::CommandFactory;
use clap::error::ErrorKind;

use super::*;

fn parse(line: &str) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(line.split_whitespace())
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
fn version_begins_with_that_of_the_package() {
    assert!(VERSION.starts_with(env!("CARGO_PKG_VERSION")), "{VERSION}");
}

#[test]
fn completions_are_made_for_every_shell() {
    use clap::ValueEnum;
    for shell in clap_complete::Shell::value_variants() {
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut Arguments::command(), "omnigraph", &mut script);
        assert!(String::from_utf8(script).unwrap().contains("recoveries"), "{shell}");
    }
}
