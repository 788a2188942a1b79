//! Sets of fingerprints that do not fit in memory: partitioned by their first bits, spilled to unnamed temporary files.
//!
//! Why: a comparison of two sets needs to pair equal fingerprints only, and these are in the same partition of both. A pool owns all
//! sets of one load, so one budget bounds them together and the largest set is spilled first. Sets are read slice by slice; a
//! slice is some partitions, or a part of one, with a bounded number of records.
//!
//! Buffers are blocks that the sets of a pool share and that are freed only with the pool: allocating and freeing them in turn would
//! fragment the allocator's arenas, which would grow with the length of a load.
//!
//! Invariants: records of one set come back slice by slice in the order they were pushed; the pool's blocks are worth at most its budget
//! once `relieve` returned; dropping the pool frees memory and disk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::error::{EngineError, Result};

/// Partitions of a set.
const PARTITIONS: usize = 64;
/// Bits of a fingerprint that select its partition.
const PARTITION_BITS: u32 = PARTITIONS.trailing_zeros();
/// Bytes of one record: 16 of the fingerprint, 8 of the tag.
const RECORD_BYTES: usize = 24;
/// Bytes of one block of a buffer.
const BLOCK_BYTES: usize = RECORD_BYTES * 512;
/// Bytes read from a spill file at once.
const READ_BYTES: usize = RECORD_BYTES * 8_192;
/// Estimated bytes of a map's entry for one record while a slice is processed.
const ENTRY_BYTES: u64 = 96;
/// Threads that process slices at once.
const THREADS_MAX: usize = 8;
/// Records below which slices are processed without threads.
const THREADED_RECORDS_MIN: u64 = 65_536;
/// Most passes over one partition, as bits beyond the partition's own that select a slice of it.
const PASS_BITS_MAX: u32 = 16;

/// One fingerprint with a number of its owner, such as its source row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// The fingerprint.
    pub(crate) fingerprint: u128,
    /// The owner's number.
    pub(crate) tag: u64,
}

impl Record {
    fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..16].copy_from_slice(&self.fingerprint.to_le_bytes());
        bytes[16..].copy_from_slice(&self.tag.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let mut fingerprint = [0; 16];
        let mut tag = [0; 8];
        fingerprint.copy_from_slice(&bytes[..16]);
        tag.copy_from_slice(&bytes[16..RECORD_BYTES]);
        Self { fingerprint: u128::from_le_bytes(fingerprint), tag: u64::from_le_bytes(tag) }
    }
}

fn partition_of(fingerprint: u128) -> usize {
    // The top bits fit in a usize on every machine.
    (fingerprint >> (128 - PARTITION_BITS)) as usize
}

/// One run of a partition's records in the spill file.
#[derive(Debug, Clone, Copy)]
struct Extent {
    offset: u64,
    bytes: usize,
}

/// Blocks of memory that the sets of one pool share.
#[derive(Debug, Default)]
struct Blocks {
    free: Mutex<Vec<Vec<u8>>>,
}

impl Blocks {
    fn free(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn take(&self) -> Vec<u8> {
        self.free().pop().unwrap_or_else(|| Vec::with_capacity(BLOCK_BYTES))
    }

    fn give(&self, blocks: impl Iterator<Item = Vec<u8>>) {
        let mut free = self.free();
        free.extend(blocks.map(|mut block| {
            block.clear();
            block
        }));
    }
}

#[derive(Debug, Default)]
struct Partition {
    /// All but the last are full.
    buffer: Vec<Vec<u8>>,
    extents: Vec<Extent>,
    records: u64,
}

/// One set of records.
#[derive(Debug)]
pub(crate) struct FingerprintSet {
    blocks: Arc<Blocks>,
    partitions: Vec<Partition>,
    file: Option<Mutex<File>>,
    file_bytes: u64,
    /// Bytes of the blocks that it holds.
    buffered: u64,
    records: u64,
}

impl Drop for FingerprintSet {
    fn drop(&mut self) {
        self.blocks.give(self.partitions.iter_mut().flat_map(|partition| partition.buffer.drain(..)));
    }
}

impl FingerprintSet {
    fn new(blocks: Arc<Blocks>) -> Self {
        Self { blocks, partitions: Vec::new(), file: None, file_bytes: 0, buffered: 0, records: 0 }
    }

    /// Records pushed.
    pub(crate) fn len(&self) -> u64 {
        self.records
    }

    /// Whether nothing was pushed.
    pub(crate) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Adds a record. The pool's `relieve` must follow within a bounded number of records.
    pub(crate) fn push(&mut self, fingerprint: u128, tag: u64) {
        if self.partitions.is_empty() {
            self.partitions.resize_with(PARTITIONS, Partition::default);
        }
        let partition = &mut self.partitions[partition_of(fingerprint)];
        let record = Record { fingerprint, tag }.to_bytes();
        match partition.buffer.last_mut().filter(|block| block.len() < BLOCK_BYTES) {
            Some(block) => block.extend_from_slice(&record),
            None => {
                let mut block = self.blocks.take();
                block.extend_from_slice(&record);
                partition.buffer.push(block);
                self.buffered += BLOCK_BYTES as u64;
            }
        }
        partition.records += 1;
        self.records += 1;
    }

    fn records_of(&self, partitions: &Range<usize>) -> u64 {
        self.partitions.get(partitions.clone()).map_or(0, |some| some.iter().map(|partition| partition.records).sum())
    }

    /// Writes all buffers to the file and gives their blocks back.
    fn spill(&mut self, directory: &Option<PathBuf>) -> io::Result<()> {
        if self.file.is_none() {
            let file = match directory {
                Some(directory) => tempfile::tempfile_in(directory)?,
                None => tempfile::tempfile()?,
            };
            self.file = Some(Mutex::new(file));
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let file = file.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        file.seek(SeekFrom::Start(self.file_bytes))?;
        for partition in &mut self.partitions {
            if partition.buffer.is_empty() {
                continue;
            }
            let mut bytes = 0;
            for block in &partition.buffer {
                file.write_all(block)?;
                bytes += block.len();
            }
            partition.extents.push(Extent { offset: self.file_bytes, bytes });
            self.file_bytes += bytes as u64;
            self.blocks.give(partition.buffer.drain(..));
        }
        self.buffered = 0;
        Ok(())
    }

    /// Calls `each` with every record of a slice, in the order they were pushed within each partition.
    fn read(&self, slice: &Slice, mut each: impl FnMut(Record)) -> io::Result<()> {
        let mut visit = |bytes: &[u8]| {
            for record in bytes.chunks_exact(RECORD_BYTES).map(Record::from_bytes) {
                if slice.holds(record.fingerprint) {
                    each(record);
                }
            }
        };
        let Some(partitions) = self.partitions.get(slice.partitions.clone()) else { return Ok(()) };
        let mut block = Vec::new();
        for partition in partitions {
            for extent in &partition.extents {
                let mut done = 0;
                while done < extent.bytes {
                    block.resize(READ_BYTES.min(extent.bytes - done), 0);
                    self.read_at(extent.offset + done as u64, &mut block)?;
                    visit(&block);
                    done += block.len();
                }
            }
            partition.buffer.iter().for_each(|block| visit(block));
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, block: &mut [u8]) -> io::Result<()> {
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let mut file = file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(block)
    }
}

/// A part of the space of fingerprints.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    partitions: Range<usize>,
    pass: u128,
    pass_bits: u32,
}

impl Slice {
    fn holds(&self, fingerprint: u128) -> bool {
        // The bits below the partition's own select the pass.
        self.pass_bits == 0 || (fingerprint << PARTITION_BITS) >> (128 - self.pass_bits) == self.pass
    }
}

/// Identifies a set of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SetId(usize);

/// All fingerprint sets of one load, under one budget.
#[derive(Debug)]
pub(crate) struct SpillPool {
    blocks: Arc<Blocks>,
    sets: Vec<FingerprintSet>,
    directory: Option<PathBuf>,
    bytes_max: u64,
}

impl SpillPool {
    /// An empty pool that keeps at most `bytes_max` of buffers and spills below `directory`, or where the system keeps temporary files.
    pub(crate) fn new(directory: Option<PathBuf>, bytes_max: u64) -> Self {
        Self { blocks: Arc::default(), sets: Vec::new(), directory, bytes_max }
    }

    /// A new, empty set.
    pub(crate) fn add(&mut self) -> SetId {
        self.sets.push(FingerprintSet::new(self.blocks.clone()));
        SetId(self.sets.len() - 1)
    }

    /// Frees a set; it is empty afterwards.
    pub(crate) fn clear(&mut self, id: SetId) {
        self.sets[id.0] = FingerprintSet::new(self.blocks.clone());
    }

    /// One set.
    pub(crate) fn set(&self, id: SetId) -> &FingerprintSet {
        &self.sets[id.0]
    }

    /// One set, to push to.
    pub(crate) fn set_mut(&mut self, id: SetId) -> &mut FingerprintSet {
        &mut self.sets[id.0]
    }

    /// Spills the largest sets until the buffers are within the budget.
    pub(crate) fn relieve(&mut self) -> Result<()> {
        let mut buffered: u64 = self.sets.iter().map(|set| set.buffered).sum();
        while buffered > self.bytes_max {
            let Some(largest) = self.sets.iter_mut().max_by_key(|set| set.buffered) else { return Ok(()) };
            buffered -= largest.buffered;
            largest
                .spill(&self.directory)
                .map_err(|source| EngineError::Spill { action: "write fingerprints", source })?;
        }
        Ok(())
    }

    /// Works through the space of fingerprints slice by slice, several at once. A slice holds so few records of the `held` sets that a map
    /// of them fits the budget. Results come back in no particular order; the first error wins.
    pub(crate) fn for_each_slice<R: Send>(
        &self,
        held: &[SetId],
        work: impl Fn(&SliceReader<'_>) -> io::Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let records: u64 = held.iter().map(|id| self.set(*id).len()).sum();
        let threads = match records {
            0..THREADED_RECORDS_MIN => 1,
            _ => std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX),
        };
        let slices = self.slices(held, threads);
        let next = AtomicUsize::new(0);
        let run = || {
            let mut results = Vec::new();
            while let Some(slice) = slices.get(next.fetch_add(1, Ordering::Relaxed)) {
                results.push(work(&SliceReader { pool: self, slice })?);
            }
            Ok(results)
        };
        let outcomes: Vec<io::Result<Vec<R>>> = if threads == 1 {
            vec![run()]
        } else {
            std::thread::scope(|scope| {
                let handles: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
                let died = || Err(io::Error::other("a thread died"));
                handles.into_iter().map(|handle| handle.join().unwrap_or_else(|_| died())).collect()
            })
        };
        let mut all = Vec::new();
        for outcome in outcomes {
            all.extend(outcome.map_err(|source| EngineError::Spill { action: "read fingerprints", source })?);
        }
        Ok(all)
    }

    /// Like `for_each_slice`; the records that `work` returns become a new set.
    pub(crate) fn collect_slices(
        &mut self,
        held: &[SetId],
        work: impl Fn(&SliceReader<'_>) -> io::Result<Vec<Record>> + Sync,
    ) -> Result<SetId> {
        let out = Mutex::new(FingerprintSet::new(self.blocks.clone()));
        self.for_each_slice(held, |slice| {
            let records = work(slice)?;
            let mut out = out.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            records.iter().for_each(|record| out.push(record.fingerprint, record.tag));
            if out.buffered > self.bytes_max { out.spill(&self.directory) } else { Ok(()) }
        })?;
        self.sets.push(out.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()));
        self.relieve()?;
        Ok(SetId(self.sets.len() - 1))
    }

    /// Calls `each` with every record of a set, outside of any slice.
    pub(crate) fn for_each_record(&self, set: SetId, each: impl FnMut(Record)) -> Result<()> {
        let everything = Slice { partitions: 0..PARTITIONS, pass: 0, pass_bits: 0 };
        let read = self.set(set).read(&everything, each);
        read.map_err(|source| EngineError::Spill { action: "read fingerprints", source })
    }

    /// Slices whose records of the sets fit the budget, shared by the threads.
    fn slices(&self, held: &[SetId], threads: usize) -> Vec<Slice> {
        let records_max = (self.bytes_max / ENTRY_BYTES / threads as u64).max(1);
        let records_of = |range: &Range<usize>| held.iter().map(|id| self.set(*id).records_of(range)).sum::<u64>();
        let mut slices = Vec::new();
        let mut start = 0;
        while start < PARTITIONS {
            let mut end = start + 1;
            while end < PARTITIONS && records_of(&(start..end + 1)) <= records_max {
                end += 1;
            }
            let wanted_passes = records_of(&(start..end)).div_ceil(records_max).max(1);
            let pass_bits = wanted_passes.next_power_of_two().trailing_zeros().min(PASS_BITS_MAX);
            slices.extend((0..1_u128 << pass_bits).map(|pass| Slice { partitions: start..end, pass, pass_bits }));
            start = end;
        }
        slices
    }
}

/// Reads sets within one slice.
pub(crate) struct SliceReader<'a> {
    pool: &'a SpillPool,
    slice: &'a Slice,
}

impl SliceReader<'_> {
    /// About how many records of the set lie in the slice.
    pub(crate) fn about(&self, set: SetId) -> usize {
        let records = self.pool.set(set).records_of(&self.slice.partitions) >> self.slice.pass_bits;
        usize::try_from(records).unwrap_or_default()
    }

    /// Calls `each` with every record of the set that lies in the slice.
    pub(crate) fn read(&self, set: SetId, each: impl FnMut(Record)) -> io::Result<()> {
        self.pool.set(set).read(self.slice, each)
    }
}

#[cfg(test)]
mod tests;
