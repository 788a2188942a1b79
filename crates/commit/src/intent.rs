//! The intent: the durable record of one attempt's effects and of what it will publish, and the ticket for its version.
//!
//! An intent is put if absent at (branch, version) and never deleted by a writer, so a put that succeeds means that nobody ever held
//! this version (I-3). It is complete when it is put: a roll forward needs nothing else.

use omnigraph_catalog::{Newer, Publication, Snapshot};
use omnigraph_types::{AttemptId, BranchId, Clock, GraphVersion, OperationId, WriterName};

use crate::effect::Effect;
use crate::failpoint::WriterPoints;
use crate::token::{ReadSet, Token};

mod v2;

/// One attempt's plan, durable before its first effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The writer: `load`, `settle`.
    pub writer: WriterName,
    /// Who asked.
    pub actor: String,
    /// The branch.
    pub branch_id: BranchId,
    /// The version N that the publication follows; the intent is the ticket for N+1.
    pub base: GraphVersion,
    /// What the write rests on.
    pub token: Token,
    /// How often the operation was aborted before.
    pub aborts: u32,
    /// When it was put, in milliseconds since 1970-01-01T00:00:00Z, by the owner's clock.
    pub armed_ms: u64,
    /// The planned effects.
    pub effects: Vec<Effect>,
    /// What will be published as N+1.
    pub publication: Publication,
}

/// What an attempt will do, before it becomes an intent for one version.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The kind of writer.
    pub(crate) writer: WriterPoints,
    /// Who asked.
    pub(crate) actor: String,
    /// What the write rests on.
    pub(crate) token: Token,
    /// How often the operation was aborted before.
    pub(crate) aborts: u32,
    /// The planned effects.
    pub(crate) effects: Vec<Effect>,
    /// What will be published.
    pub(crate) publication: Publication,
}

impl Plan {
    /// A plan without effects: it rests on the branch and its schema alone.
    pub(crate) fn without_effects(
        writer: WriterPoints,
        actor: String,
        base: &Snapshot,
        publication: Publication,
    ) -> Self {
        let token = Token::capture(base.state(), &ReadSet::default());
        Self { writer, actor, token, aborts: 0, effects: Vec::new(), publication }
    }
}

impl Intent {
    /// The intent that would make a plan version N+1, where `base` is N. The only place in which intents are made.
    pub(crate) fn mint(plan: Plan, base: &Snapshot, clock: &dyn Clock) -> Self {
        Self {
            writer: plan.writer.name(),
            actor: plan.actor,
            branch_id: base.branch_id(),
            base: base.version(),
            token: plan.token,
            aborts: plan.aborts,
            armed_ms: clock.wall_ms(),
            effects: plan.effects,
            publication: plan.publication,
        }
    }

    /// The attempt.
    pub fn attempt_id(&self) -> AttemptId {
        self.publication.decision.attempt_id
    }

    /// The operation that names the attempt where only one can be named.
    pub fn operation_id(&self) -> OperationId {
        self.publication.operations.first().operation_id
    }

    /// Whether the attempt works for an operation.
    pub fn is_for(&self, operation: OperationId) -> bool {
        self.publication.operations.contains(operation)
    }

    /// The version it is the ticket for.
    pub fn version(&self) -> GraphVersion {
        self.base.next()
    }
}

/// An object at an intent's path that is no intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The version that it is a ticket for.
    pub version: GraphVersion,
    /// SHA-256 in hexadecimal: of its bytes, or, of a folder and of what is too large to be read, of what is known of it.
    pub content: String,
    /// The older format that it names, if it is an older program's.
    pub format: Option<u32>,
}

/// An intent that only a newer server knows whole. It is never settled by this one, neither way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewerIntent {
    /// The version that it is a ticket for.
    pub version: GraphVersion,
    /// What this program does not know of it, such as `a publication`.
    pub newer: Newer,
}

/// What lies at an intent's path instead of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAnIntent {
    /// An intent of a newer server.
    Newer(NewerIntent),
    /// Anything else.
    Unreadable(Unreadable),
}
