//! The store calls of operations, and that a branch costs the same for graphs of any size.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use omnigraph_engine::{Durability, PinCommit};
use omnigraph_types::{BranchName, CreateBranch, ReadAt, WriteMode};
use serde_json::{Value, json};

use crate::commit::ours::{Ours, SCHEMA, Table, caller};
use crate::error::BenchError;
use crate::report::{machine, median_us, profile, rounded};
use crate::trace::{CallTrace, Requests};

/// Commits before anything is counted.
const COMMITS_BEFORE: u64 = 20;
/// Most branches of one measurement.
const BRANCHES_MAX: u64 = 1_000;

#[derive(Debug, Args)]
pub(crate) struct RequestsArguments {
    /// Branches made of the small and of the large graph, in turn.
    #[arg(long, default_value_t = 40)]
    branches: u64,
    /// Types of the large graph; the small one has two.
    #[arg(long, default_value_t = 1_000)]
    types: u64,
    /// Folder to write into; a folder of the system's for temporary files if not given.
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

/// Counts, measures, and returns the result.
pub(crate) async fn run(arguments: &RequestsArguments) -> Result<Value, BenchError> {
    if !(1..=BRANCHES_MAX).contains(&arguments.branches) {
        let rule = "give 1 to 1000 branches";
        return Err(BenchError::Option { option: "branches", value: arguments.branches, rule });
    }
    let folder = match &arguments.dir {
        Some(folder) => tempfile::Builder::new().prefix("omnigraph-bench-").tempdir_in(folder),
        None => tempfile::Builder::new().prefix("omnigraph-bench-").tempdir(),
    };
    let folder = folder.map_err(BenchError::io("make a folder for the data"))?;
    let counted = count(&folder.path().join("counted")).await?;
    for (what, requests) in &counted {
        eprintln!("{what:<24} {:>3} requests, {:>3} one after another", requests.total, requests.sequential);
    }
    let small = Ours::open(&folder.path().join("small"), Durability::Full, SCHEMA, Vec::new()).await?;
    let many: String = (0..arguments.types).map(|n| format!("node T{n} {{ name: String }}\n")).collect();
    let large = Ours::open(&folder.path().join("large"), Durability::Full, &many, Vec::new()).await?;
    let (mut small_took, mut large_took) = (Vec::new(), Vec::new());
    for number in 0..arguments.branches {
        small_took.push(create_branch(&small, number).await?);
        large_took.push(create_branch(&large, number).await?);
    }
    let (small_us, large_us) = (median_us(&small_took), median_us(&large_took));
    let ratio = large_us / small_us.max(f64::MIN_POSITIVE);
    eprintln!("branch create: {small_us:.0} µs with 2 types, {large_us:.0} µs with {}: {ratio:.3}", arguments.types);
    let counts = counted.into_iter().map(|(what, requests)| {
        let Requests { total, sequential, by_call } = requests;
        (what.to_owned(), json!({ "total": total, "sequential": sequential, "by_call": by_call }))
    });
    Ok(json!({
        "bench": "requests",
        "requests": Value::Object(counts.collect()),
        "branch_create_us": small_us.round(),
        "branch_create_us_many_types": large_us.round(),
        "branch_create_ratio": rounded(ratio),
        "types": arguments.types,
        "branches": arguments.branches,
        "counted": "store calls, ours and Lance's, from an operation's first call to its answer; sequential: the longest chain of calls of \
             which each began after the one before had ended",
        "machine": machine(),
        "profile": profile(),
    }))
}

fn name(number: u64) -> Result<BranchName, BenchError> {
    format!("branch/{number}").parse().map_err(BenchError::name)
}

async fn create_branch(ours: &Ours, number: u64) -> Result<Duration, BenchError> {
    let request = CreateBranch {
        name: name(number)?,
        source: ReadAt::Branch(BranchName::Main),
        operation_id: None,
        expected_head: None,
        mode: WriteMode::Commit,
    };
    let started = Instant::now();
    ours.graph().run(&caller(), request).await.map_err(BenchError::engine("make a branch"))?;
    Ok(started.elapsed())
}

/// Requests of each operation on a graph that has had a few commits.
async fn count(root: &Path) -> Result<Vec<(&'static str, Requests)>, BenchError> {
    let trace = CallTrace::new();
    let ours = Ours::open(root, Durability::Full, SCHEMA, vec![Arc::new(trace.clone())]).await?;
    for number in 0..COMMITS_BEFORE {
        ours.append(Table::Keyless, number).await?;
    }
    let mut counted = Vec::new();
    trace.start();
    ours.append(Table::Keyless, COMMITS_BEFORE).await?;
    counted.push(("load", trace.finish()));
    trace.start();
    create_branch(&ours, 0).await?;
    counted.push(("branch_create", trace.finish()));
    trace.start();
    ours.append_on(name(0)?, Table::Keyless, 0).await?;
    counted.push(("first_load_on_branch", trace.finish()));
    trace.start();
    ours.append_on(name(0)?, Table::Keyless, 1).await?;
    counted.push(("next_load_on_branch", trace.finish()));
    trace.start();
    head(&ours).await?;
    counted.push(("head_read_warm", trace.finish()));

    // Another process, which has seen nothing of the graph yet, reads the same head.
    let trace = CallTrace::new();
    let cold = Ours::reopen(root, Durability::Full, vec![Arc::new(trace.clone())], || trace.start()).await?;
    head(&cold).await?;
    counted.push(("head_read_cold", trace.finish()));
    Ok(counted)
}

async fn head(ours: &Ours) -> Result<(), BenchError> {
    let snapshot = ours.graph().run(&caller(), PinCommit { at: ReadAt::Branch(BranchName::Main) }).await;
    snapshot.map(drop).map_err(BenchError::engine("read the head"))
}
