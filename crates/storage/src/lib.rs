#![doc = include_str!("../README.md")]

mod bounded;
mod change;
mod commit;
mod error;
mod exact;
mod files;
mod hook;
mod hooked;
mod object;
mod path;
mod provider;
mod remote;
mod root;
mod scan;
mod store;
mod table;
mod tree;
mod walk;

pub use change::{StagedChange, TransactionInfo, TransactionKind, TransactionMark};
pub use commit::CommitOutcome;
pub use error::{Certainty, Misplaced, StorageError, reading_error};
pub use files::{FileWriter, FileWriterOptions, StagedFiles};
pub use hook::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};
pub use object::{Object, ObjectMeta, PutOutcome};
pub use path::{ObjectPath, PathError};
pub use root::StoreKind;
pub use scan::{BatchStream, Predicate, ScanOrder, ScanRequest};
pub use store::{Durability, Store, StoreOptions};
pub use table::{FragmentInfo, Table};
pub use tree::{Existence, Pin, TreeRef};
pub use walk::{ObjectStream, TableFile, TreeFile};
