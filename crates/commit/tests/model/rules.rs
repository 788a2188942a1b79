//! The rules of the protocol that can be left out, one at a time, to show that each of them is needed.

macro_rules! rules {
    ($($name:ident => $text:literal,)*) => {
        /// A rule of the protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Rule { $(#[doc = $text] $name,)* }

        impl Rule {
            /// Every rule.
            pub(crate) const ALL: &[Rule] = &[$(Rule::$name,)*];

            /// Its name, as the command line takes it.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Rule::$name => stringify!($name),)* }
            }

            /// What it says.
            pub(crate) fn text(self) -> &'static str {
                match self { $(Rule::$name => $text,)* }
            }
        }
    };
}

rules! {
    TicketIfAbsent => "a ticket is taken only where nobody holds it",
    IntentsStay => "writers do not delete intents",
    UnknownArmRepeated => "an intent put of unknown outcome is repeated, never reported as a failure",
    AbsentArmRepeated => "an intent that exists and is not there is put again while an own put of it may be under way",
    UnknownPublishReadBack => "a publication of unknown outcome is read back, never reported as a failure",
    ExactCommits => "an effect lands at exactly its place or not at all",
    AllOrAbort => "only an attempt with every effect made is rolled forward",
    AbortNamesEffects => "an abort names every planned effect as unsettled",
    DecidedAtOwnVersion => "roll forward and abort exist only at the intent's own version",
    FencedBeforeSettled => "a table is fenced before its unsettled row goes",
    SettledBeforeChanged => "a publication that changes a table waits until its unsettled row is settled",
    SettleLeavesMovedPins => "settling moves a pin only if it is the expected one",
    ReceiptFirst => "an operation that is recorded is answered with its receipt, before everything",
    ReceiptBeforeRefusal => "a strict operation looks for its receipt before it is refused",
    ReceiptOnRemoved => "an operation is also looked for on removed branches of the name",
    TokenAtRearm => "a lost ticket is followed by a comparison of the token",
    OwnTrees => "a branch writes only trees that it owns",
    RetirementOrphans => "an intent whose version is a retirement is an orphan",
    RetirementCompetes => "a branch is removed by the last version of its own chain",
    RemovalByIdentity => "a removal takes the row of its branch's identity, not of its name",
    RemovalFinished => "whoever meets a removed branch that is registered finishes its removal",
    NameFree => "a branch is registered only under a free name",
    SchemaIs => "a clone of main is registered only while main has its schema",
    ExactHead => "a schema apply lands only on the head that it was checked on",
    NoOtherBranches => "a schema apply that needs to be alone is checked on the version it is published onto",
    CommitRetained => "a branch from a commit is registered only while the commit is retained",
    RetentionFirst => "cleanup publishes its retention before it deletes",
    BranchesAtRetention => "cleanup reads the branch list at its retention",
    FreshRetention => "a cleanup that is held up after its retention begins again",
    PendingIntentsKept => "cleanup deletes nothing that a pending intent names",
    UnsettledKept => "cleanup deletes nothing behind the pin of an unsettled table, its fence included",
    PublishedIntentsOnly => "only intents whose version is published are swept",
    OldIntentsOnly => "only intents whose version is old are swept",
    OrphanAge => "what is named no more is deleted only when it is old",
    FreshProof => "nothing is armed or made on a base that was proven newest long ago",
    FreshStaging => "what was staged or cloned long ago is not armed: it is staged again",
}

#[derive(Debug, Clone, Copy, Default)]
/// The rules that a model leaves out.
pub(crate) struct Without(pub(crate) &'static [Rule]);

impl Without {
    /// Whether a rule is in force.
    pub(crate) fn holds(self, rule: Rule) -> bool {
        !self.0.contains(&rule)
    }
}
