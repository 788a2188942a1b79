//! `demo`: a server on a fresh folder, airports and routes in it, a query, and two clients that collide.
//!
//! It drives the product from outside, as a user would: the server and every step are processes of the built binary. The server runs under
//! a shell that stops it when this process is gone, however it went; its folder is removed at the end.

mod serving;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::tools;
use crate::workspace::{Workspace, run as run_command, say};

use serving::{Folder, Server};

/// The graph of the demo.
const GRAPH: &str = "airline";
/// The ten airports with the most flights, with how many airports their routes reach.
const BUSIEST: &str = "\
query busiest() {
  match { $a: Airport  $a $r:route $b }
  return { $a.iata as airport, $a.city as city, count($r.count) as routes, sum($r.count) as flights }
  order { flights desc }
  limit 10
}";

/// How much the demo loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// What is committed: airports and routes.
    Small,
    /// Three million flights as well.
    Full,
}

/// Shows the product at work, and fails if any step does.
pub(crate) fn run(workspace: &Workspace, size: Size) -> Result<()> {
    let begun = Instant::now();
    let Programs { binary, collision } = build(workspace)?;
    let flights = match size {
        Size::Small => None,
        Size::Full => Some(tools::flights(workspace)?),
    };
    say(&format!("built in {:.0} s", begun.elapsed().as_secs_f64()));

    let shown = Instant::now();
    let folder = Folder::create()?;
    let server = Server::start(&binary, folder.path())?;
    let demo = Demo { workspace, binary, url: server.url().to_owned() };
    demo.load(flights.as_deref())?;
    demo.heading("The busiest airports, by summed count of flights");
    demo.omnigraph(&["query", GRAPH, "--text", BUSIEST])?;
    demo.collide(&collision)?;
    demo.heading("What was committed");
    demo.omnigraph(&["log", GRAPH])?;
    server.stop()?;
    folder.remove()?;
    println!("\nDone: shown in {:.0} s, {:.0} s in all.", shown.elapsed().as_secs_f64(), begun.elapsed().as_secs_f64());
    Ok(())
}

/// What the demo runs.
struct Programs {
    /// The product's binary.
    binary: PathBuf,
    /// The example in which two clients collide.
    collision: PathBuf,
}

/// Builds both in one go and with the whole workspace's features, so that what they share with each other and with the tests is compiled once.
fn build(workspace: &Workspace) -> Result<Programs> {
    let targets = ["build", "--workspace", "--bin", "omnigraph", "--example", "collision"];
    run_command(&mut workspace.cargo(targets), "see the messages above")?;
    let built = workspace.target().join("debug");
    let program = |name: &str| built.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    Ok(Programs { binary: program("omnigraph"), collision: program("examples/collision") })
}

/// What the steps need.
struct Demo<'a> {
    workspace: &'a Workspace,
    binary: PathBuf,
    url: String,
}

impl Demo<'_> {
    fn load(&self, flights: Option<&Path>) -> Result<()> {
        self.heading("A graph with a schema");
        self.omnigraph(&["graph", "create", GRAPH, "--schema", "tests/data/airline.pg"])?;
        self.heading("Airports: one CSV file, one commit");
        self.omnigraph(&["load", GRAPH, "--type", "Airport", "tests/data/airports.csv", "--mode", "append"])?;
        self.heading("Routes between them: columns renamed on the way");
        let ends = ["--rename", "origin=src", "--rename", "destination=dst"];
        let routes = ["load", GRAPH, "--type", "Route", "tests/data/flights-airport.csv", "--mode", "append"];
        self.omnigraph(&[&routes[..], &ends[..]].concat())?;
        if let Some(flights) = flights {
            self.heading("Three million flights: one Parquet file, one commit");
            let file = flights.display().to_string();
            let load = ["load", GRAPH, "--type", "Flight", &file, "--mode", "append", "--rename", "date=departed"];
            self.omnigraph(&[&load[..], &ends[..]].concat())?;
        }
        Ok(())
    }

    fn collide(&self, collision: &Path) -> Result<()> {
        self.heading("Two clients collide: an overwrite, and a commit that comes before its end");
        self.step(self.workspace.command(collision).args([self.url.as_str(), GRAPH]))
    }

    fn omnigraph(&self, arguments: &[&str]) -> Result<()> {
        let shown: Vec<String> = arguments.iter().map(|argument| shell_word(argument)).collect();
        println!("$ omnigraph {}", shown.join(" "));
        self.step(self.workspace.command(&self.binary).env("OMNIGRAPH_URL", &self.url).args(arguments))
    }

    fn step(&self, command: &mut Command) -> Result<()> {
        let program = command.get_program().to_string_lossy().into_owned();
        let status = command.status().map_err(|source| Error::new(format!("start {program}: {source}")))?;
        match status.success() {
            true => Ok(()),
            false => Err(Error::new(format!("a step of the demo failed: {status}"))
                .way_out("read its message above, and the warnings of the server")),
        }
    }

    fn heading(&self, text: &str) {
        println!("\n== {text}");
    }
}

/// An argument as one would type it.
fn shell_word(argument: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=./".contains(&byte);
    match argument.bytes().all(plain) {
        true => argument.to_owned(),
        false => format!("'{argument}'"),
    }
}
