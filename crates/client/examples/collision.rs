//! Two clients collide: an overwrite captures its base, another client commits, and the overwrite is refused with typed fields.
//!
//! `collision <url> <graph>` expects a graph with a node type `Airport` whose only required property is its key `iata`. It exits with 0
//! only if the second writer was refused exactly so, and nothing of it was stored.

use std::error::Error;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use futures::TryStreamExt;
use omnigraph_client::types::{BranchName, Effect, GraphName, Problem, Retry};
use omnigraph_client::{Capture, Client, ClientError, Columns, LoadMode, LoadOptions, LoadTarget, ReadAt, Scan};

/// The type that both clients write.
const TYPE: &str = "Airport";

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

    let options = LoadOptions { capture: Capture::Told, ..LoadOptions::new(LoadMode::Overwrite) };
    let replacement = airports(&["AAA"])?;
    let mut overwrite = ana.load(target.clone(), replacement.schema(), options).await?;
    let base = overwrite.captured().await?;
    overwrite.write(replacement).await?;
    println!("client A  overwrite of {TYPE} begun, based on commit {}", base.id);

    let addition = airports(&["ZZZ-demo"])?;
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

/// Airports with nothing but their key.
fn airports(iata: &[&str]) -> Result<RecordBatch, Box<dyn Error>> {
    let column: ArrayRef = Arc::new(StringArray::from(iata.to_vec()));
    Ok(RecordBatch::try_from_iter([("iata", column)])?)
}

/// Client B's row is there, client A's is not.
async fn check_rows(client: &Client, graph: GraphName) -> Result<(), Box<dyn Error>> {
    let scan = Scan {
        graph,
        at: ReadAt::Branch(BranchName::Main),
        type_name: TYPE.to_owned(),
        columns: Columns::Named(vec!["id".to_owned()]),
    };
    let rows = client.scan_type(&scan).await?;
    let batches: Vec<RecordBatch> = rows.batches.try_collect().await?;
    let ids: Vec<&str> = batches
        .iter()
        .filter_map(|batch| batch.column(0).as_any().downcast_ref::<StringArray>())
        .flat_map(|ids| ids.iter().flatten())
        .collect();
    if ids.contains(&"AAA") || !ids.contains(&"ZZZ-demo") {
        return Err("the rows are not those that client B left".into());
    }
    println!("rows      {} airports: client B's row is there, client A's is not", ids.len());
    Ok(())
}
