//! Data files that no manifest names.
//!
//! A file is written once and becomes part of a version only by a commit that lists it. A writer runs Lance's own writer in a task, fed
//! through a short channel: a sender that is faster than the disk waits.
//! Invariant: files know their columns by name, not by the field ids that they were written with, so they fit a table whose columns were
//! given other ids since.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use lance::dataset::fragment::write::FragmentCreateBuilder;
use lance::dataset::{WriteMode, WriteParams};
use lance_core::Error as LanceError;
use lance_core::datatypes::{Field as LanceField, Schema as LanceSchema};
use lance_file::version::LanceFileVersion;
use lance_table::format::{DataFile, Fragment};
use omnigraph_types::TreeId;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::blame::lance_error;
use crate::unfit::Unfit;
use crate::{Certainty, ObjectPath, StorageError, Store, TreeRef};

/// The version of Lance's file format that is written.
pub(crate) const FILE_VERSION: LanceFileVersion = LanceFileVersion::V2_2;
/// Batches that wait for a writer.
const WAITING_BATCHES_MAX: usize = 2;
/// What a writer does, for errors.
const ACTION: &str = "write data files";

/// Bounds of a file writer.
#[derive(Debug, Clone, Copy)]
pub struct FileWriterOptions {
    /// Most rows of one data file.
    pub rows_per_file_max: u64,
}

/// A column of written files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WrittenField {
    id: i32,
    path: Vec<String>,
}

/// Files of one writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    tree: TreeRef,
    fields: Vec<WrittenField>,
    fragments: Vec<Fragment>,
}

/// Written data files, in order, that may be staged into a change of the tree that they were written for, or of a tree made from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedFiles {
    written: Vec<Written>,
}

impl StagedFiles {
    /// No files.
    pub fn empty() -> Self {
        Self { written: Vec::new() }
    }

    /// The files of each writer, with the tree that they were written for.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&TreeRef, &[Fragment])> {
        self.written.iter().map(|written| (&written.tree, written.fragments.as_slice()))
    }

    fn all(&self) -> impl Iterator<Item = &Fragment> {
        self.written.iter().flat_map(|written| &written.fragments)
    }

    /// Rows in all files.
    pub fn rows(&self) -> u64 {
        self.all().filter_map(|fragment| fragment.physical_rows).map(|rows| rows as u64).sum()
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        let sizes = self.all().flat_map(|fragment| &fragment.files).filter_map(|file| file.file_size_bytes.get());
        sizes.map(u64::from).sum()
    }

    /// These files, then the others.
    pub fn concat(mut self, other: Self) -> Self {
        self.written.extend(other.written);
        self
    }

    /// Whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// The files as fragments of a table with this schema; their ids are given at the commit. `bases` are the trees whose files the table
    /// may name.
    pub(crate) fn fragments_for(&self, schema: &LanceSchema, bases: &Bases<'_>) -> Result<Vec<Fragment>, Unfit> {
        let table = ids_by_path(schema);
        let mut fragments = Vec::new();
        for written in &self.written {
            let base_id = bases.find(&written.tree)?;
            let mut ids = HashMap::with_capacity(written.fields.len());
            for field in &written.fields {
                let id = table.get(&field.path).ok_or_else(|| Unfit::NoColumn { path: field.path.clone() })?;
                ids.insert(field.id, *id);
            }
            let moved = ids.iter().any(|(from, to)| from != to);
            for fragment in &written.fragments {
                let mut fragment = fragment.clone();
                for file in &mut fragment.files {
                    file.base_id = base_id;
                    if moved {
                        renumber(file, &ids);
                    }
                }
                fragments.push(fragment);
            }
        }
        Ok(fragments)
    }
}

/// The trees whose files a table may name, with Lance's number of each.
pub(crate) enum Bases<'a> {
    /// A table that is being made: its own files only.
    Own,
    /// An existing table: its own tree, and those that it was cloned from, with Lance's number of each.
    Of {
        /// The table's tree.
        tree: &'a TreeRef,
        /// Trees that it was cloned from.
        clones_of: Vec<(u32, ObjectPath)>,
    },
}

impl Bases<'_> {
    fn find(&self, written_for: &TreeRef) -> Result<Option<u32>, Unfit> {
        match self {
            Self::Own => Ok(None),
            Self::Of { tree, .. } if *tree == written_for => Ok(None),
            Self::Of { clones_of, .. } => {
                let folder = written_for.folder();
                let base = clones_of.iter().find(|(_, path)| *path == folder);
                base.map(|(id, _)| Some(*id)).ok_or_else(|| Unfit::OtherTree { tree: written_for.to_string() })
            }
        }
    }
}

/// Gives a data file's columns their ids in the table. Ids that are no column's stay.
fn renumber(file: &mut DataFile, ids: &HashMap<i32, i32>) {
    file.fields = file.fields.iter().map(|id| ids.get(id).copied().unwrap_or(*id)).collect();
}

fn walk<'a>(fields: &'a [LanceField], above: &[String], visit: &mut impl FnMut(Vec<String>, &'a LanceField)) {
    for field in fields {
        let mut path = above.to_vec();
        path.push(field.name.clone());
        walk(&field.children, &path, visit);
        visit(path, field);
    }
}

fn ids_by_path(schema: &LanceSchema) -> HashMap<Vec<String>, i32> {
    let mut ids = HashMap::new();
    walk(&schema.fields, &[], &mut |path, field| {
        ids.insert(path, field.id);
    });
    ids
}

fn written_fields(schema: &LanceSchema) -> Vec<WrittenField> {
    let mut fields = Vec::new();
    walk(&schema.fields, &[], &mut |path, field| fields.push(WrittenField { id: field.id, path }));
    fields
}

/// Ends a writer's stream so that Lance removes what it wrote.
#[derive(Debug, Error)]
#[error("the caller aborted the writer")]
struct Aborted;

/// A batch of other columns than the writer's.
#[derive(Debug, Error)]
#[error("the batch has columns {found:?}, the files have {expected:?}")]
struct OtherColumns {
    expected: Schema,
    found: Schema,
}

/// The writing task; stops when dropped.
#[derive(Debug)]
struct Task(JoinHandle<Result<Vec<Fragment>, LanceError>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Debug)]
struct Running {
    tree: TreeRef,
    batches: mpsc::Sender<Result<RecordBatch, DataFusionError>>,
    task: Task,
    fields: Vec<WrittenField>,
}

/// Streams batches into data files. Dropping it unfinished stops its task and leaves unreferenced files.
#[derive(Debug)]
pub struct FileWriter {
    object: String,
    schema: SchemaRef,
    running: Result<Running, Option<StorageError>>,
}

impl Store {
    /// A writer of data files for the dataset at `path`, which need not exist yet, in its main chain or private tree.
    ///
    /// Must be called inside a Tokio runtime.
    pub fn write_files(
        &self,
        path: &ObjectPath,
        tree: Option<TreeId>,
        schema: SchemaRef,
        options: FileWriterOptions,
    ) -> FileWriter {
        let tree = TreeRef { path: path.clone(), tree };
        let object = tree.to_string();
        let running = match LanceSchema::try_from(schema.as_ref()) {
            Ok(lance_schema) => Ok(self.start_writing(&tree, Arc::clone(&schema), lance_schema, options)),
            Err(error) => Err(Some(lance_error(ACTION, &object, error))),
        };
        FileWriter { object, schema, running }
    }

    fn start_writing(
        &self,
        tree: &TreeRef,
        schema: SchemaRef,
        lance_schema: LanceSchema,
        options: FileWriterOptions,
    ) -> Running {
        let (batches, receiver) = mpsc::channel(WAITING_BATCHES_MAX);
        let incoming =
            stream::unfold(
                receiver,
                |mut receiver| async move { receiver.recv().await.map(|batch| (batch, receiver)) },
            );
        let incoming: SendableRecordBatchStream = Box::pin(RecordBatchStreamAdapter::new(schema, incoming));
        let params = WriteParams {
            max_rows_per_file: usize::try_from(options.rows_per_file_max.max(1)).unwrap_or(usize::MAX),
            mode: WriteMode::Append,
            store_params: Some(self.params()),
            session: Some(self.session()),
            commit_handler: Some(self.exact()),
            data_storage_version: Some(FILE_VERSION),
            skip_auto_cleanup: true,
            ..Default::default()
        };
        let uri = self.uri(&tree.folder());
        let fields = written_fields(&lance_schema);
        let task = tokio::spawn(async move {
            let builder = FragmentCreateBuilder::new(&uri).schema(&lance_schema).write_params(&params);
            builder.write_fragments(incoming).await
        });
        Running { tree: tree.clone(), batches, task: Task(task), fields }
    }
}

impl FileWriter {
    /// Adds rows; waits while the writer is behind.
    ///
    /// # Errors
    /// `Mismatch` for other columns than the writer's; what made the writer stop, once; after that a `Store` error.
    pub async fn write(&mut self, batch: RecordBatch) -> Result<(), StorageError> {
        if !same_columns(&self.schema, &batch.schema()) {
            let columns = OtherColumns { expected: bare(&self.schema), found: bare(&batch.schema()) };
            return Err(StorageError::Mismatch {
                action: ACTION,
                object: self.object.clone(),
                source: Box::new(columns),
            });
        }
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let running = match &mut self.running {
            Ok(running) => running,
            Err(error) => return Err(error.take().unwrap_or_else(|| stopped(&self.object))),
        };
        if running.batches.send(Ok(batch)).await.is_ok() {
            return Ok(());
        }
        let ended = end(running, &self.object).await;
        self.running = Err(None);
        Err(ended.err().unwrap_or_else(|| stopped(&self.object)))
    }

    /// Completes the files.
    ///
    /// # Errors
    /// What made the writer stop.
    pub async fn finish(self) -> Result<StagedFiles, StorageError> {
        let running = self.running.map_err(|error| error.unwrap_or_else(|| stopped(&self.object)))?;
        let Running { tree, batches, mut task, fields } = running;
        drop(batches);
        let fragments = joined(&mut task, &self.object).await?;
        if fragments.is_empty() {
            return Ok(StagedFiles::empty());
        }
        Ok(StagedFiles { written: vec![Written { tree, fields, fragments }] })
    }

    /// Stops, and removes the files written so far where the store permits it.
    pub async fn abort(self) {
        let Ok(mut running) = self.running else { return };
        let stop = DataFusionError::External(Box::new(Aborted));
        // A writer that takes no more batches has failed, and then Lance has removed its files already.
        if running.batches.send(Err(stop)).await.is_ok() {
            let _stopped = end(&mut running, &self.object).await;
        }
    }
}

async fn end(running: &mut Running, object: &str) -> Result<Vec<Fragment>, StorageError> {
    joined(&mut running.task, object).await
}

async fn joined(task: &mut Task, object: &str) -> Result<Vec<Fragment>, StorageError> {
    match (&mut task.0).await {
        Ok(result) => result.map_err(|error| lance_error(ACTION, object, error)),
        Err(error) => Err(StorageError::Store {
            action: ACTION,
            object: object.to_owned(),
            certainty: Certainty::NotApplied,
            source: Box::new(error),
        }),
    }
}

fn stopped(object: &str) -> StorageError {
    StorageError::Store {
        action: ACTION,
        object: object.to_owned(),
        certainty: Certainty::NotApplied,
        source: "the writer has stopped".into(),
    }
}

fn same_columns(expected: &SchemaRef, found: &SchemaRef) -> bool {
    Arc::ptr_eq(expected, found)
        || (expected.fields().len() == found.fields().len()
            && expected
                .fields()
                .iter()
                .zip(found.fields())
                .all(|(a, b)| a.name() == b.name() && a.data_type().equals_datatype(b.data_type())))
}

fn bare(schema: &SchemaRef) -> Schema {
    Schema::new(schema.fields().clone())
}
