//! The stored form of an intent, format 2. What is stored is exactly what these types say, whatever the types in memory become.
//!
//! Reading is strict: a field that is missing, unknown or of another type is damage. A later format, and kinds that are not named here, are a
//! newer server's instead: such an intent is never settled, neither way.

use bytes::Bytes;
use omnigraph_catalog::format::v2;
use omnigraph_catalog::{Newer, Reading, STORAGE_FORMAT, sha256_hex};
use omnigraph_types::{BranchId, CommitId, GraphVersion, TableId, TableVersion, TreeId, WriterName};
use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::intent::{Intent, NewerIntent, NotAnIntent, Unreadable};
use crate::token::{Member, Token};

/// The one field of an intent that every format has.
#[derive(Deserialize)]
struct Stamp {
    format: u32,
}

/// A whole intent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IntentBody {
    format: u32,
    writer: WriterName,
    actor: String,
    branch_id: BranchId,
    base: GraphVersion,
    aborts: u32,
    armed_ms: u64,
    token: TokenBody,
    effects: Vec<EffectBody>,
    publication: v2::Publication,
}

/// What the write rests on.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenBody {
    branch_id: BranchId,
    schema_hash: String,
    head: Option<CommitId>,
    tables: Vec<MemberBody>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberBody {
    table: TableId,
    type_name: String,
    tree: Option<TreeId>,
    version: TableVersion,
    content_commit: CommitId,
}

/// Transactions planned on one tree.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EffectBody {
    table: TableId,
    type_name: String,
    tree: v2::Tree,
    expected: TableVersion,
    transactions: Vec<String>,
}

impl From<&Intent> for IntentBody {
    fn from(intent: &Intent) -> Self {
        let member = |(table, member): (&TableId, &Member)| MemberBody {
            table: *table,
            type_name: member.type_name.clone(),
            tree: member.tree,
            version: member.version,
            content_commit: member.content_commit,
        };
        let effect = |effect: &Effect| EffectBody {
            table: effect.table,
            type_name: effect.type_name.clone(),
            tree: (&effect.tree).into(),
            expected: effect.expected,
            transactions: effect.transactions.clone(),
        };
        Self {
            format: STORAGE_FORMAT,
            writer: intent.writer.clone(),
            actor: intent.actor.clone(),
            branch_id: intent.branch_id,
            base: intent.base,
            aborts: intent.aborts,
            armed_ms: intent.armed_ms,
            token: TokenBody {
                branch_id: intent.token.branch_id,
                schema_hash: intent.token.schema_hash.clone(),
                head: intent.token.head,
                tables: intent.token.tables.iter().map(member).collect(),
            },
            effects: intent.effects.iter().map(effect).collect(),
            publication: (&intent.publication).into(),
        }
    }
}

impl IntentBody {
    /// The intent at `version`, if every part of it is known and coherent.
    fn read(self, version: GraphVersion) -> Result<Intent, Unknown> {
        let publication = match self.publication.read() {
            Ok(Reading::Known(publication)) => publication,
            Ok(Reading::Newer(newer)) => return Err(Unknown::Newer(NewerIntent { version, newer })),
            Err(_) => return Err(Unknown::Incoherent),
        };
        let member = |body: MemberBody| {
            let MemberBody { table, type_name, tree, version, content_commit } = body;
            (table, Member { type_name, tree, version, content_commit })
        };
        let effect = |body: EffectBody| Effect {
            table: body.table,
            type_name: body.type_name,
            tree: body.tree.into(),
            expected: body.expected,
            transactions: body.transactions,
        };
        Ok(Intent {
            writer: self.writer,
            actor: self.actor,
            branch_id: self.branch_id,
            base: self.base,
            token: Token {
                branch_id: self.token.branch_id,
                schema_hash: self.token.schema_hash,
                head: self.token.head,
                tables: self.token.tables.into_iter().map(member).collect(),
            },
            aborts: self.aborts,
            armed_ms: self.armed_ms,
            effects: self.effects.into_iter().map(effect).collect(),
            publication,
        })
    }
}

/// Why a body is no intent of this program.
enum Unknown {
    Newer(NewerIntent),
    Incoherent,
}

impl Intent {
    /// Reads the bytes of the object at the path of the intent of `branch` at `version`.
    ///
    /// # Errors
    /// What the object is instead: an intent of a newer server, or unreadable; an intent of another place is unreadable here.
    pub fn from_bytes(bytes: &[u8], branch: BranchId, version: GraphVersion) -> Result<Self, NotAnIntent> {
        let unreadable = |format| NotAnIntent::Unreadable(Unreadable { version, content: sha256_hex(bytes), format });
        let Ok(Stamp { format }) = serde_json::from_slice(bytes) else { return Err(unreadable(None)) };
        if format > STORAGE_FORMAT {
            let newer = Newer { what: format!("an intent of storage format {format}"), format };
            return Err(NotAnIntent::Newer(NewerIntent { version, newer }));
        }
        if format < STORAGE_FORMAT {
            return Err(unreadable(Some(format)));
        }
        let Ok(body) = serde_json::from_slice::<IntentBody>(bytes) else { return Err(unreadable(None)) };
        // `base` is what the bytes say: it may be the last version that a number can hold.
        if body.branch_id != branch || body.base.0.checked_add(1) != Some(version.0) {
            return Err(unreadable(None));
        }
        body.read(version).map_err(|unknown| match unknown {
            Unknown::Newer(newer) => NotAnIntent::Newer(newer),
            Unknown::Incoherent => unreadable(None),
        })
    }

    /// The bytes that are stored.
    ///
    /// # Errors
    /// If it is no value that JSON can hold, which no intent is.
    pub fn to_bytes(&self) -> Result<Bytes, serde_json::Error> {
        serde_json::to_vec(&IntentBody::from(self)).map(Bytes::from)
    }
}

#[cfg(test)]
mod tests;
