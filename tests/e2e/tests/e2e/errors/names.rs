//! Names that are unknown or taken, and calls that are not offered.

use omnigraph_client::{CreateBranch, CreateGraph, PageRequest, ReadAt};
use omnigraph_types::{BranchName, CommitId, Effect, Failure, Problem, Resource, Retry};
use omnigraph_wire::v1;
use omnigraph_wire::v1::commit_service_client::CommitServiceClient;
use omnigraph_wire::v1::mutation_service_client::MutationServiceClient;

use super::wire::channel;
use super::{World, states};
use crate::support::{graph_name, main_branch, refused};

fn not_found(failure: &Failure, resource: Resource, name: &str) {
    assert_eq!(failure.problem, Problem::NotFound { resource, name: name.to_owned() });
    assert!(failure.message.contains(name), "{}", failure.message);
    states(failure, Effect::None, Retry::Never);
}

pub(super) async fn graph_that_is_not_there_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let failure = refused(world.client.get_graph(&"nope".parse().unwrap()).await);
    not_found(&failure, Resource::Graph, "nope");
    failure
}

pub(super) async fn branch_that_is_not_there_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let branch: BranchName = "feature/x".parse().unwrap();
    not_found(
        &refused(world.client.get_schema(&graph_name(), &ReadAt::Branch(branch.clone())).await),
        Resource::Branch,
        "feature/x",
    );
    let failure = refused(world.client.list_commits(&graph_name(), &branch, PageRequest::default()).await);
    not_found(&failure, Resource::Branch, "feature/x");
    failure
}

pub(super) async fn commit_that_is_not_there_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let commit: CommitId = id.parse().unwrap();
    let failure = refused(world.client.get_commit(&graph_name(), commit).await);
    not_found(&failure, Resource::Commit, id);
    not_found(&refused(world.client.get_schema(&graph_name(), &ReadAt::Commit(commit)).await), Resource::Commit, id);
    failure
}

pub(super) async fn type_that_is_not_there_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let failure = refused(world.client.type_schema(&graph_name(), &BranchName::Main, "Prt").await);
    not_found(&failure, Resource::Type, "Prt");
    failure
}

pub(super) async fn query_that_does_not_run_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let failure = refused(world.client.cancel_query(id.parse().unwrap()).await);
    not_found(&failure, Resource::Operation, id);
    assert_eq!(world.client.list_queries().await.unwrap(), []);
    failure
}

pub(super) async fn graph_that_exists_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let before = world.client.get_graph(&graph_name()).await.unwrap();
    let failure = refused(world.client.create_graph(CreateGraph::new(graph_name(), "node Other {}")).await);
    assert_eq!(failure.problem, Problem::AlreadyExists { resource: Resource::Graph, name: "g".to_owned() });
    states(&failure, Effect::None, Retry::Never);
    assert_eq!(world.client.get_graph(&graph_name()).await.unwrap(), before);
    failure
}

pub(super) async fn branch_that_exists_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let name: BranchName = "feature/x".parse().unwrap();
    let made =
        world.client.create_branch(&graph_name(), CreateBranch::new(name.clone())).await.unwrap().branch.unwrap();
    let failure = refused(world.client.create_branch(&graph_name(), CreateBranch::new(name.clone())).await);
    assert_eq!(failure.problem, Problem::AlreadyExists { resource: Resource::Branch, name: name.to_string() });
    states(&failure, Effect::None, Retry::Never);
    assert_eq!(world.client.get_branch(&graph_name(), &name).await.unwrap(), made);
    failure
}

pub(super) async fn branch_name_that_is_none_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let mut commits = CommitServiceClient::new(channel(&world.server).await);
    let request = v1::ListCommitsRequest { graph: "g".into(), branch: "a\nb".into(), ..Default::default() };
    let failure = omnigraph_wire::from_status(&commits.list_commits(request).await.unwrap_err());
    assert_eq!(failure.problem, Problem::InvalidRequest { field: "branch".to_owned() });
    states(&failure, Effect::None, Retry::Never);
    let request = v1::GetCommitRequest { graph: "G!".into(), commit: "01ARZ3NDEKTSV4RRFFQ69G5FAV".into() };
    let graph = omnigraph_wire::from_status(&commits.get_commit(request).await.unwrap_err());
    assert_eq!(graph.problem, Problem::InvalidRequest { field: "graph".to_owned() });
    failure
}

pub(super) async fn call_that_is_not_offered_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let mut mutations = MutationServiceClient::new(channel(&world.server).await);
    let request = v1::MutateRequest { graph: "g".into(), branch: "main".into(), ..Default::default() };
    let failure = omnigraph_wire::from_status(&mutations.mutate(request).await.unwrap_err());
    assert_eq!(failure.problem, Problem::Unimplemented { feature: "Mutate".to_owned() });
    states(&failure, Effect::None, Retry::Never);
    assert!(world.client.get_schema(&graph_name(), &main_branch()).await.is_ok());
    failure
}
