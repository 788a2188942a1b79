//! The steps between a client's batch and its data file: map the columns, check the rows, assign ids, digest, fingerprint.
//!
//! These steps compute and write local temporary files only, so they run outside of the async threads. Only the spill files grow with
//! the load.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::datatypes::SchemaRef;
use omnigraph_columns::mapping::{DST, ID, SRC};
use omnigraph_columns::views::text;
use omnigraph_lang::schema::Cardinality;
use omnigraph_types::{Clock, Limits, TableId};

use crate::cause::Defect;
use crate::error::{EngineError, Result};
use crate::load::check::Checked;
use crate::load::columns::{AbsentIds, ColumnPlan};
use crate::load::digest::{ColumnDigest, DigestHead, DigestStream, load_digest};
use crate::load::findings::RowNumbers;
use crate::load::fingerprint::{Fingerprinter, RecentlySeen};
use crate::load::ids::{Ids, Known, ids_of};
use crate::load::spill::{SetId, SpillPool};
use crate::schema::TypePlan;

/// The fingerprint sets of one type.
#[derive(Debug, Clone)]
pub(crate) struct TypeSets {
    /// Ids that others may refer to: those not minted here. Tag: source row.
    pub(crate) ids: SetId,
    /// One per `@unique`, tuples without nulls. Tag: source row.
    pub(crate) uniques: Vec<SetId>,
    /// The ends of edges.
    pub(crate) ends: Option<EndSets>,
}

/// Fingerprint sets of an edge type's ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndSets {
    /// Ids in `src`, most repetitions left out. Tag: source row of the first.
    pub(crate) src: SetId,
    /// Ids in `dst`, likewise.
    pub(crate) dst: SetId,
    /// Ids in `src`, one per edge, where `@card` counts them.
    pub(crate) counted: Option<SetId>,
}

/// One type within a load.
#[derive(Debug)]
pub(crate) struct TypeIntake {
    /// The type.
    pub(crate) plan: Arc<TypePlan>,
    /// Rows taken.
    pub(crate) rows: u64,
    /// Its sets.
    pub(crate) sets: TypeSets,
    recent_src: RecentlySeen,
    recent_dst: RecentlySeen,
}

/// One stream of rows of one type.
#[derive(Debug)]
struct StreamIntake {
    columns: ColumnPlan,
    rows: u64,
    digests: Vec<ColumnDigest>,
}

/// A batch in the form of its table.
#[derive(Debug)]
pub(crate) struct TakenBatch {
    /// Its type.
    pub(crate) table: TableId,
    /// In the schema of the table.
    pub(crate) batch: RecordBatch,
}

/// The state of a load whose rows are arriving.
#[derive(Debug)]
pub(crate) struct Intake {
    clock: Arc<dyn Clock>,
    limits: Arc<Limits>,
    hasher: Fingerprinter,
    pool: SpillPool,
    types: BTreeMap<TableId, TypeIntake>,
    streams: Vec<StreamIntake>,
}

/// The rest of an intake after its rows were written to files.
#[derive(Debug)]
pub(crate) struct TakenRows {
    /// Makes the fingerprints of the sets.
    pub(crate) hasher: Fingerprinter,
    /// Owns the sets.
    pub(crate) pool: SpillPool,
    /// The types that have rows.
    pub(crate) types: BTreeMap<TableId, TypeIntake>,
}

impl Intake {
    /// An intake without rows.
    pub(crate) fn new(clock: Arc<dyn Clock>, limits: Arc<Limits>, pool: SpillPool) -> Self {
        let hasher = Fingerprinter::new(clock.as_ref());
        Self { clock, limits, hasher, pool, types: BTreeMap::new(), streams: Vec::new() }
    }

    /// Opens a stream of a type and returns its number.
    pub(crate) fn open(&mut self, plan: &Arc<TypePlan>, schema: &SchemaRef, absent: AbsentIds) -> Result<usize> {
        let columns = ColumnPlan::new(plan, schema, absent)?;
        let digests = vec![ColumnDigest::default(); plan.arrow.fields().len()];
        self.types.entry(plan.def.id).or_insert_with(|| TypeIntake::new(plan.clone(), &mut self.pool));
        self.streams.push(StreamIntake { columns, rows: 0, digests });
        Ok(self.streams.len() - 1)
    }

    /// Rows of one stream so far.
    pub(crate) fn stream_rows(&self, stream: usize) -> u64 {
        self.streams.get(stream).map_or(0, |stream| stream.rows)
    }

    /// Takes a batch of a stream.
    pub(crate) fn take(&mut self, stream: usize, batch: &RecordBatch, rows: &RowNumbers) -> Result<TakenBatch> {
        let stream = self.streams.get_mut(stream).ok_or(EngineError::from(Defect::StreamOfAnotherLoad))?;
        let plan = stream.columns.type_plan().clone();
        let mapped = stream.columns.map(batch, rows)?;
        let entities = entities(&plan, &mapped.columns, mapped.sent_ids());
        let most = self.limits.error_items_max;
        let checked = Checked { plan: &plan, row_count: batch.num_rows(), rows, entities: entities.as_ref(), most };
        checked.nulls(&mapped.columns)?;
        checked.values(&mapped.columns)?;
        let ids = ids_of(&plan, &mapped, rows, self.clock.as_ref())?;
        stream.digest(&plan, &mapped.columns)?;
        stream.rows += batch.num_rows() as u64;
        let mut columns = mapped.columns;
        columns[ID] = ids.array();
        let batch = RecordBatch::try_new(plan.arrow.clone(), columns)
            .map_err(|source| EngineError::Arrow { action: "assemble a batch", source })?;
        let intake = self.types.get_mut(&plan.def.id).ok_or(EngineError::from(Defect::StreamWithoutType))?;
        intake.fingerprint(&batch, &ids, rows, (&self.hasher, &mut self.pool))?;
        self.pool.relieve()?;
        Ok(TakenBatch { table: plan.def.id, batch })
    }

    /// The digest of everything taken. Streams without rows are no part of it.
    pub(crate) fn digest(&self, head: DigestHead<'_>) -> String {
        let streams = self.streams.iter().filter(|stream| stream.rows > 0).map(|stream| {
            let plan = stream.columns.type_plan();
            let names = plan.arrow.fields().iter().map(|field| field.name().as_str());
            DigestStream { type_name: plan.name(), columns: names.zip(&stream.digests).collect() }
        });
        load_digest(head, streams)
    }

    /// Ends the intake. Types without rows are dropped: the load does not touch them.
    pub(crate) fn finish(self) -> TakenRows {
        let types = self.types.into_iter().filter(|(_, intake)| intake.rows > 0).collect();
        TakenRows { hasher: self.hasher, pool: self.pool, types }
    }
}

/// Ids as far as they are known before ids are computed, for messages.
fn entities(plan: &TypePlan, columns: &[ArrayRef], sent: Option<&StringArray>) -> Option<StringArray> {
    match plan.key.as_slice() {
        [column] => columns[*column].as_string_opt::<i32>().cloned(),
        _ => sent.cloned(),
    }
}

impl StreamIntake {
    /// Digests what the client sent: computed ids are no part of it.
    fn digest(&mut self, plan: &TypePlan, columns: &[ArrayRef]) -> Result<()> {
        for (at, (array, digest)) in columns.iter().zip(&mut self.digests).enumerate() {
            if at == ID && plan.is_keyed() {
                continue;
            }
            if self.columns.has(at) {
                digest.add(array.as_ref())?;
            } else {
                digest.add_nulls(array.len());
            }
        }
        Ok(())
    }
}

impl TypeIntake {
    fn new(plan: Arc<TypePlan>, pool: &mut SpillPool) -> Self {
        let ends = plan.ends.map(|ends| EndSets {
            src: pool.add(),
            dst: pool.add(),
            counted: (ends.card != Cardinality::ANY).then(|| pool.add()),
        });
        let sets = TypeSets { ids: pool.add(), uniques: plan.uniques.iter().map(|_| pool.add()).collect(), ends };
        Self { plan, rows: 0, sets, recent_src: RecentlySeen::default(), recent_dst: RecentlySeen::default() }
    }

    fn fingerprint(
        &mut self,
        batch: &RecordBatch,
        ids: &Ids,
        rows: &RowNumbers,
        (hasher, pool): (&Fingerprinter, &mut SpillPool),
    ) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        let set = pool.set_mut(self.sets.ids);
        let mut push = |row: usize| set.push(hasher.text(ids.column.value(row)), rows.of(row));
        match &ids.known {
            Known::All => (0..batch.num_rows()).for_each(push),
            Known::Some(known) => known.iter().for_each(|&row| push(row)),
            Known::None => {}
        }
        for (columns, set) in self.plan.uniques.iter().zip(&self.sets.uniques) {
            let set = pool.set_mut(*set);
            for (row, tuple) in hasher.tuples(batch, columns)?.into_iter().enumerate() {
                if let Some(fingerprint) = tuple {
                    set.push(fingerprint, rows.of(row));
                }
            }
        }
        let Some(ends) = self.sets.ends else { return Ok(()) };
        let texts = text(batch.column(SRC))?;
        for row in 0..texts.len() {
            let fingerprint = hasher.text(texts.value(row));
            if let Some(counted) = ends.counted {
                pool.set_mut(counted).push(fingerprint, rows.of(row));
            }
            if self.recent_src.is_news(fingerprint) {
                pool.set_mut(ends.src).push(fingerprint, rows.of(row));
            }
        }
        let texts = text(batch.column(DST))?;
        for row in 0..texts.len() {
            let fingerprint = hasher.text(texts.value(row));
            if self.recent_dst.is_news(fingerprint) {
                pool.set_mut(ends.dst).push(fingerprint, rows.of(row));
            }
        }
        Ok(())
    }
}
