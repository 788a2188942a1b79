//! Reading committed rows, and a filter that discards rows which match none of the load.

use arrow::array::RecordBatch;
use futures::TryStreamExt;
use omnigraph_storage::{Predicate, ScanRequest, StagedFiles, Table};

use crate::error::Result;
use crate::load::spill::{SetId, SpillPool};

/// Values of one filtered scan.
const LOOKUP_CHUNK: usize = 1_000;
/// Bits of a filter per fingerprint: about one in eight foreign fingerprints passes.
const FILTER_BITS_PER_RECORD: u64 = 8;
/// Fewest bits of a filter.
const FILTER_BITS_MIN: u64 = 1 << 10;
/// Most bits of a filter: 64 MiB.
const FILTER_BITS_MAX: u64 = 1 << 29;

/// Which committed rows are read.
#[derive(Debug)]
pub(crate) enum Sought {
    /// All.
    All,
    /// Those that hold one of these texts.
    Texts {
        /// The column.
        column: String,
        /// The texts.
        values: Vec<String>,
    },
}

/// Reads columns of committed rows.
pub(crate) async fn visit(
    table: &Table,
    columns: &[String],
    sought: Sought,
    mut each: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let request = |filter| ScanRequest { columns: Some(columns.to_vec()), filter, ..ScanRequest::default() };
    match sought {
        Sought::All => {
            let mut batches = table.scan(request(None)).await?;
            while let Some(batch) = batches.try_next().await? {
                each(&batch)?;
            }
        }
        Sought::Texts { column, values } => {
            for chunk in values.chunks(LOOKUP_CHUNK) {
                let filter = Predicate::IsIn { column: column.clone(), values: chunk.to_vec() };
                let mut batches = table.scan(request(Some(filter))).await?;
                while let Some(batch) = batches.try_next().await? {
                    each(&batch)?;
                }
            }
        }
    }
    Ok(())
}

/// Reads columns of staged rows until `each` returns `Enough`.
pub(crate) async fn visit_staged(
    table: &Table,
    files: &StagedFiles,
    columns: &[String],
    mut each: impl FnMut(&RecordBatch) -> Result<Progress>,
) -> Result<()> {
    let request = ScanRequest { columns: Some(columns.to_vec()), ..ScanRequest::default() };
    let mut batches = table.scan_staged(files, request).await?;
    while let Some(batch) = batches.try_next().await? {
        if each(&batch)? == Progress::Enough {
            break;
        }
    }
    Ok(())
}

/// Whether a reader needs more rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Yes.
    More,
    /// No.
    Enough,
}

/// Reports of a fingerprint that it is in none of some sets, or that it may be in one.
#[derive(Debug)]
pub(crate) struct BitFilter {
    words: Vec<u64>,
}

impl BitFilter {
    /// A filter over the sets.
    pub(crate) fn over(pool: &SpillPool, sets: &[SetId]) -> Result<Self> {
        let records: u64 = sets.iter().map(|set| pool.set(*set).len()).sum();
        let bits = (records * FILTER_BITS_PER_RECORD).next_power_of_two().clamp(FILTER_BITS_MIN, FILTER_BITS_MAX);
        // At most 2^23 words.
        let mut filter = Self { words: vec![0; (bits / 64) as usize] };
        for set in sets {
            pool.for_each_record(*set, |record| {
                let (word, bit) = filter.place(record.fingerprint);
                filter.words[word] |= bit;
            })?;
        }
        Ok(filter)
    }

    fn place(&self, fingerprint: u128) -> (usize, u64) {
        // The low bits fit in a usize on every machine.
        let low = fingerprint as u64;
        ((low >> 6) as usize & (self.words.len() - 1), 1 << (low & 63))
    }

    /// False: certainly in none of the sets.
    pub(crate) fn may_hold(&self, fingerprint: u128) -> bool {
        let (word, bit) = self.place(fingerprint);
        self.words[word] & bit != 0
    }
}
