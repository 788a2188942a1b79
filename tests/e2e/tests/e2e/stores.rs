//! The same servers on roots in S3 and Azure, emulated on this machine: loads, branches, reads, and a server that dies while it commits.

use omnigraph_client::{CreateBranch, DeleteBranch, DeleteGraph, LoadMode, LoadOptions, PageRequest, ReadAt};
use omnigraph_testkit::Emulators;
use omnigraph_types::{BranchName, OperationId};
use ulid::Ulid;

use crate::support::{Server, airline, append, client, graph_name, main_branch, ndjson, ndjson_on, rows, rows_at};

const TYPES: [&str; 2] = ["Airport", "Route"];

fn two_tables(prefix: &str) -> String {
    let airport = |iata: String| {
        format!(
            "{{\"type\":\"Airport\",\"data\":{{\"iata\":\"{iata}\",\"name\":\"x\",\"country\":\"USA\",\"latitude\":1,\"longitude\":2}}}}\n"
        )
    };
    let route =
        format!("{{\"edge\":\"Route\",\"from\":\"{prefix}1\",\"to\":\"{prefix}2\",\"data\":{{\"count\":7}}}}\n");
    [airport(format!("{prefix}1")), airport(format!("{prefix}2")), route].concat()
}

async fn counts(client: &omnigraph_client::Client, at: ReadAt) -> (usize, usize) {
    let rows = rows_at(client, at, &TYPES).await;
    (rows["Airport"], rows["Route"])
}

async fn graph_lives_on(root: &str) {
    let variables: Vec<(&str, &str)> =
        Emulators::running().variables().iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let first = Server::start(root, &variables);
    let client_of_first = client(&first).await;
    airline(&client_of_first).await;
    append(&client_of_first, &two_tables("A")).await.unwrap();

    let second = Server::start(root, &variables);
    let client_of_second = client(&second).await;
    let dev = BranchName::Named("dev/1".to_owned());
    client_of_second.create_branch(&graph_name(), CreateBranch::new(dev.clone())).await.unwrap();
    ndjson_on(&client_of_first, &dev, LoadOptions::new(LoadMode::Append), &two_tables("D")).await.unwrap();
    append(&client_of_second, &two_tables("B")).await.unwrap();
    assert_eq!(counts(&client_of_first, main_branch()).await, (4, 2), "{root}");
    assert_eq!(counts(&client_of_second, ReadAt::Branch(dev.clone())).await, (4, 2), "{root}");

    let mut doomed = variables.clone();
    doomed.push(("OMNIGRAPH_FAILPOINTS", "g/load.C.before=kill"));
    let doomed = Server::start(root, &doomed);
    let operation_id = OperationId(Ulid::new());
    let options = || LoadOptions { operation_id, ..LoadOptions::new(LoadMode::Append) };
    ndjson(&client(&doomed).await, options(), &two_tables("C")).await.expect_err("it was killed");
    append(&client_of_second, &two_tables("E")).await.expect("another server writes without a restart");
    let log = second.log();
    let steps: Vec<_> = log.lines().filter_map(|line| line.split_once("recovery: ").map(|(_, text)| text)).collect();
    let [found, decided, now] = steps[..] else { panic!("{root}: a recovery logs three lines: {log}") };
    assert!(found.starts_with("found an interrupted write"), "{found}");
    assert!(decided.starts_with("decided to complete the write, which has changed 2 of its 2 tables"), "{decided}");
    assert!(now.starts_with("now the write is published"), "{now}");
    let receipt = ndjson(&client_of_first, options(), &two_tables("C")).await.expect("the operation is there, once");
    assert!(receipt.commit.is_some(), "{root}");
    let total = rows(&client_of_first, &TYPES).await;
    assert_eq!((total["Airport"], total["Route"]), (8, 4), "{root}");
    let recovered = client_of_second.list_recoveries(&graph_name(), &BranchName::Main, PageRequest::default()).await;
    assert_eq!(recovered.unwrap().items[0].operation_id, operation_id, "{root}");

    client_of_first.delete_branch(&graph_name(), DeleteBranch::new(dev)).await.unwrap();
    client_of_second.delete_graph(DeleteGraph::new(graph_name())).await.unwrap();
    airline(&client_of_first).await;
    assert_eq!(
        counts(&client_of_second, main_branch()).await,
        (0, 0),
        "{root}: a graph of the same name is another graph"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn graph_in_s3_is_written_by_several_servers_and_survives_one() {
    graph_lives_on(&Emulators::running().s3_root()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn graph_in_azure_is_written_by_several_servers_and_survives_one() {
    graph_lives_on(&Emulators::running().azure_root()).await;
}

#[test]
fn root_that_cannot_be_served_is_refused_with_the_way_out() {
    let nowhere = [("AWS_ENDPOINT_URL", "http://127.0.0.1:9"), ("AWS_ALLOW_HTTP", "true"), ("AWS_ACCESS_KEY_ID", "a")];
    let wrong = [("AWS_SECRET_ACCESS_KEY", "b"), ("AZURE_STORAGE_ACCOUNT_NAME", "")];
    for (root, text) in [
        ("gs://bucket/graphs", "use a local path, file://, s3:// or az://"),
        ("s3:///graphs", "s3://bucket/prefix"),
        ("s3://bucket/graphs", "check AWS_REGION, AWS_ENDPOINT_URL"),
        ("az://container/graphs", "check AZURE_STORAGE_ACCOUNT_NAME"),
        ("s3://endpoint/without-scheme", "http://host:port"),
    ] {
        let mut command = omnigraph_e2e::server::omnigraph();
        command.args(["serve", "--listen", "127.0.0.1:0", "--root", root]).envs(nowhere).envs(wrong);
        if root.contains("without-scheme") {
            command.env("AWS_ENDPOINT_URL", "127.0.0.1:9000");
        }
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(text), "{root}: {errors}");
    }
}
