//! Two clients collide: an overwrite captures its base, another client commits, and the overwrite is refused with typed fields.
//!
//! `collision <url> <graph>` expects the graph of `tests/data/airline.pg` with its airports and routes loaded. It exits with 0 only if the
//! overwrite was refused exactly so, and nothing of it was stored.

use std::error::Error;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use futures::TryStreamExt;
use omnigraph_client::types::{BranchName, Effect, GraphName, Problem, Retry};
use omnigraph_client::{Capture, Client, ClientError, Columns, LoadMode, LoadOptions, LoadTarget, ReadAt, TypeScan};

/// The type that both clients write.
const TYPE: &str = "Route";
/// The only route that client A's overwrite would leave.
const REPLACEMENT: (&str, &str) = ("00M", "00R");
/// The route that client B adds.
const ADDITION: (&str, &str) = ("00R", "00M");

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(graph)) = (arguments.next(), arguments.next()) else {
        return Err("usage: collision <url> <graph>".into());
    };
    let graph: GraphName = graph.parse()?;
    // Two connections, as of two programs on two machines.
    let (ana, ben) = (Client::connect(&url).await?, Client::connect(&url).await?);
    let target = LoadTarget { graph: graph.clone(), branch: BranchName::Main, type_name: TYPE.to_owned() };

    let options = LoadOptions { capture: Capture::Wanted, ..LoadOptions::new(LoadMode::Overwrite) };
    let replacement = route(REPLACEMENT)?;
    let mut overwrite = ana.load(target.clone(), replacement.schema(), options).await?;
    let base = overwrite.captured().await?;
    overwrite.write(replacement).await?;
    println!("client A  overwrite of {TYPE} begun, based on commit {}", base.id);

    let addition = route(ADDITION)?;
    let mut append = ben.load(target, addition.schema(), LoadOptions::new(LoadMode::Append)).await?;
    append.write(addition).await?;
    let receipt = append.finish().await?;
    println!("client B  one row appended to {TYPE}, commit {}", receipt.head);

    println!("client A  ends its stream");
    let Err(error) = overwrite.finish().await else {
        return Err("the overwrite succeeded although another client had committed".into());
    };
    let ClientError::Failed(failure) = &error else { return Err(error.into()) };
    let Problem::ReadSetChanged { branch, member, expected, actual } = &failure.problem else {
        return Err(error.into());
    };
    println!("client A  refused: READ_SET_CHANGED");
    println!("            branch    {branch}");
    println!("            member    {member}");
    println!("            expected  {expected}");
    println!("            actual    {actual}");
    println!("            effect    {:?}, retry {:?}", failure.effect, failure.retry);
    if failure.effect != Effect::None || failure.retry != Retry::AfterReread {
        return Err("the refusal does not say that nothing was stored and that a reread helps".into());
    }
    check_rows(&ana, graph).await
}

/// One route.
fn route((src, dst): (&str, &str)) -> Result<RecordBatch, Box<dyn Error>> {
    let columns: [(&str, ArrayRef); 3] = [
        ("src", Arc::new(StringArray::from(vec![src]))),
        ("dst", Arc::new(StringArray::from(vec![dst]))),
        ("count", Arc::new(Int64Array::from(vec![1]))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// Client B's route is there, client A's is not.
async fn check_rows(client: &Client, graph: GraphName) -> Result<(), Box<dyn Error>> {
    let scan = TypeScan {
        at: ReadAt::Branch(BranchName::Main),
        type_name: TYPE.to_owned(),
        columns: Columns::Named(vec!["src".to_owned(), "dst".to_owned()]),
    };
    let rows = client.scan_type(&graph, &scan).await?;
    let batches: Vec<RecordBatch> = rows.batches.try_collect().await?;
    let mut routes: Vec<(&str, &str)> = Vec::new();
    for batch in &batches {
        let (src, dst) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
        routes.extend(src.iter().flatten().zip(dst.iter().flatten()));
    }
    if routes.contains(&REPLACEMENT) || !routes.contains(&ADDITION) {
        return Err("the rows are not those that client B left".into());
    }
    println!("rows      {} routes: client B's is there, client A's is not", routes.len());
    Ok(())
}
