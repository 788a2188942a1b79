//! Features: the calls of the contract, and what a server may offer beside them.

use crate::named::named_enum;

named_enum! {
    /// What a server may offer beside the calls of the contract. A refusal with `Problem::Unimplemented` has the same name for it that
    /// the server's list of features has.
    pub enum FeatureName {
        /// Loads and reads over Arrow Flight.
        Flight = "Flight",
        /// Commands of Flight SQL.
        FlightSql = "Flight SQL",
        /// Flight loads whose parts are uploaded apart.
        LoadsInParts = "loads in parts",
        /// Flight tickets for a whole graph.
        Exports = "exports",
        /// Encrypted connections.
        Tls = "TLS",
        /// Calls by actors with credentials; without it every actor is anonymous.
        Authentication = "authentication",
        /// Properties of type Blob.
        BlobProperties = "storage of Blob properties",
        /// CreateGraph that only validates the schema.
        GraphValidation = "CreateGraph with validate_only",
        /// Queries that insert, update or delete.
        MutationQueries = "mutation queries",
        /// Clauses that a row must not meet.
        Negation = "negation `not { … }`",
        /// Traversals against and along an edge.
        Undirected = "undirected traversal `<edge>`",
        /// Traversals of several edges.
        Hops = "hop bounds `{m,n}` beyond one hop",
        /// Full-text search.
        Search = "full-text search `search(…)`",
        /// Search for a phrase.
        MatchText = "phrase search `match_text(…)`",
        /// Search for words with mistakes.
        Fuzzy = "fuzzy search `fuzzy(…)`",
        /// Search for the nearest vectors.
        Nearest = "vector search `nearest(…)`",
        /// Ranking of texts.
        Bm25 = "text ranking `bm25(…)`",
        /// Ranking by several searches.
        Rrf = "rank fusion `rrf(…)`",
    }
}

impl FeatureName {
    /// What it is, in a sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Flight => "Bulk loads and reads over Arrow Flight on the same address",
            Self::FlightSql => "Commands of Flight SQL",
            Self::LoadsInParts => "Flight loads whose parts are uploaded apart",
            Self::Exports => "Flight tickets for a whole graph",
            Self::Tls => "Encrypted connections",
            Self::Authentication => "Calls by actors with credentials; without it every actor is anonymous",
            Self::BlobProperties => "Graphs whose types have properties of type Blob",
            Self::GraphValidation => "A check of a schema without making the graph",
            Self::MutationQueries => "Queries that insert, update or delete",
            Self::Negation => "Patterns that must not be there",
            Self::Undirected => "Traversals of an edge in both directions",
            Self::Hops => "Traversals of a chain of edges",
            Self::Search => "Search for words in a text",
            Self::MatchText => "Search for a phrase in a text",
            Self::Fuzzy => "Search for words that are nearly the same",
            Self::Nearest => "Search for the nearest vectors",
            Self::Bm25 => "Order by how well a text fits",
            Self::Rrf => "Order by several rankings together",
        }
    }
}

/// One feature of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Its name: that of a call, such as `MergeBranch`, or a `FeatureName`. The set is open.
    pub name: String,
    /// Whether the server offers it.
    pub enabled: bool,
    /// What it is.
    pub description: String,
}
