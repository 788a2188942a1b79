use std::io::Write;

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    serve: ServeArgs,
}

fn resolve(arguments: &[&str]) -> Result<ServeConfig, ConfigError> {
    resolve_expecting(None, arguments)
}

fn resolve_expecting(expected: Option<RootId>, arguments: &[&str]) -> Result<ServeConfig, ConfigError> {
    Cli::try_parse_from([&["omnigraph"], arguments].concat()).unwrap().serve.resolve(expected)
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

#[test]
fn root_alone_gives_the_defaults() {
    let config = resolve(&["--root", "data"]).unwrap();
    assert_eq!(config.root, "data");
    assert_eq!(config.listen.to_string(), "127.0.0.1:50051");
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.durability, Durability::Full);
}

#[test]
fn root_is_made_where_init_says_so_and_never_where_one_is_expected() {
    let expected = |id, arguments: &[&str]| resolve_expecting(id, arguments).map(|config| config.expected_root);
    let any = expected(None, &["--root", "data"]).unwrap();
    assert_eq!(any, ExpectedRoot::Any(NewRoot::InEmptyFolder));
    let init = expected(None, &["--root", "data", "--init"]).unwrap();
    assert_eq!(init, ExpectedRoot::Any(NewRoot::WhereNothingIs));
    let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
    assert_eq!(expected(Some(id), &["--root", "data"]).unwrap(), ExpectedRoot::Id(id));
    let both = expected(Some(id), &["--root", "data", "--init"]).unwrap_err();
    assert!(matches!(both, ConfigError::InitOfExpected), "{both}");
    let in_file = file("root = 'a'\ninit = true\n");
    let refused = resolve(&["--config", in_file.path().to_str().unwrap()]).unwrap_err();
    assert!(matches!(refused, ConfigError::Unreadable(_)), "{refused}");
}

#[test]
fn flag_wins_over_file_and_file_over_default() {
    let file = file(
        "root = 'a'\nlisten = '127.0.0.1:1'\ndurability = 'os'\n[limits]\nmerge_rows_max = 5\nloads_concurrent_max = 2\n",
    );
    let path = file.path().to_str().unwrap();
    let config = resolve(&["--config", path, "--root", "b", "--merge-rows-max", "7"]).unwrap();
    assert_eq!((config.root.as_str(), config.listen.port()), ("b", 1));
    assert_eq!((config.limits.merge_rows_max, config.limits.loads_concurrent_max), (7, 2));
    assert_eq!(config.durability, Durability::Os);
}

#[test]
fn missing_root_is_told_with_every_way_to_give_it() {
    let text = resolve(&[]).unwrap_err().to_string();
    for way in ["--root", "OMNIGRAPH_ROOT", "configuration file"] {
        assert!(text.contains(way), "{text}");
    }
}

#[test]
fn unknown_key_and_unknown_limit_of_the_file_are_refused_by_name() {
    let wrong_key = file("root = 'a'\nroute = 'b'\n");
    let error = resolve(&["--config", wrong_key.path().to_str().unwrap()]).unwrap_err();
    assert!(error.to_string().contains("route"), "{error}");
    let wrong_limit = file("root = 'a'\n[limits]\nrows = 1\n");
    let error = resolve(&["--config", wrong_limit.path().to_str().unwrap()]).unwrap_err();
    assert!(matches!(error, ConfigError::UnknownLimit { ref name, .. } if name == "rows"), "{error}");
    let none = resolve(&["--root", "a", "--queries-concurrent-max", "0"]).unwrap_err();
    assert!(
        matches!(none, ConfigError::LimitTooSmall { ref name, least: 1, .. } if name == "queries_concurrent_max"),
        "{none}"
    );
}

#[test]
fn file_that_is_not_there_is_refused_by_path() {
    let error = resolve(&["--root", "a", "--config", "/no/such/file.toml"]).unwrap_err();
    assert!(matches!(error, ConfigError::NoFile { .. }), "{error}");
}

#[test]
fn address_off_loopback_is_refused_with_reason_and_way_out_unless_insecure() {
    let refusal = resolve(&["--root", "a", "--listen", "0.0.0.0:50051"]).unwrap().check_exposure().unwrap_err();
    let text = refusal.to_string();
    for part in ["0.0.0.0:50051", "other machines", "127.0.0.1", "--insecure"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(resolve(&["--root", "a", "--listen", "0.0.0.0:1", "--insecure"]).unwrap().check_exposure().is_ok());
    for loopback in ["127.0.0.1:0", "127.3.4.5:0", "[::1]:0"] {
        assert!(resolve(&["--root", "a", "--listen", loopback]).unwrap().check_exposure().is_ok());
    }
}

#[test]
fn every_limit_is_a_flag() {
    for limit in Limits::default().entries() {
        let flag = format!("--{}", limit.name.replace('_', "-"));
        let config = resolve(&["--root", "a", &flag, "3"]).unwrap();
        let set = config.limits.entries().into_iter().find(|entry| entry.name == limit.name).unwrap();
        assert_eq!(set.value, 3, "{}", limit.name);
    }
}

#[test]
fn address_may_be_a_name() {
    for text in ["localhost:50070", "127.0.0.1:50070"] {
        let config = resolve(&["--root", "a", "--listen", text]).unwrap();
        assert_eq!(config.listen.port(), 50_070);
        assert!(config.check_exposure().is_ok(), "{text}");
    }
    for text in ["50070", "localhost"] {
        assert!(parse_listen(text).is_err(), "{text}");
    }
}
