//! Which edges of the instrumented code ran, if the program was built with the compiler's counters.
//!
//! `cargo xtask fuzz` builds the workspace's own crates with `-sanitizer-coverage-inline-8bit-counters`, as cargo-fuzz does. Each object
//! then registers its counters at the start of the process. Without counters the driver judges by outcomes alone.
#![allow(unsafe_code, reason = "the counters are memory of the compiler's, registered by address")]

use std::sync::Mutex;

/// Addresses of the counters of one object: first, and behind the last.
static REGIONS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Counters that are compared at once.
const BLOCK: usize = 512;
const NOTHING: [u8; BLOCK] = [0; BLOCK];

/// Called by every instrumented object before `main`.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let region = (start as usize, stop as usize);
    let mut regions = REGIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if region.0 < region.1 && !regions.contains(&region) {
        regions.push(region);
    }
}

/// How often an edge ran, in steps that distinguish lengths of a loop only roughly.
fn step(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..=7 => 8,
        8..=15 => 16,
        16..=31 => 32,
        32..=127 => 64,
        128..=255 => 128,
    }
}

/// The counts that have been seen.
#[derive(Debug)]
pub struct Coverage {
    regions: Vec<(usize, usize)>,
    seen: Vec<u8>,
}

impl Coverage {
    /// The counters of this process; none if it was built without.
    pub fn of_this_process() -> Option<Self> {
        let regions = REGIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let counters = regions.iter().map(|(start, stop)| stop - start).sum();
        (counters > 0).then(|| Self { regions, seen: vec![0; counters] })
    }

    /// The number of counters.
    pub fn counters(&self) -> usize {
        self.seen.len()
    }

    /// Edges that ran at least once.
    pub fn edges(&self) -> usize {
        self.seen.iter().filter(|seen| **seen != 0).count()
    }

    /// Sets the counters to zero.
    pub fn reset(&mut self) {
        for &(start, stop) in &self.regions {
            // The region belongs to a loaded object for as long as the process lives; other threads may count meanwhile, and then do.
            unsafe { std::ptr::write_bytes(start as *mut u8, 0, stop - start) };
        }
    }

    /// Whether an edge ran, or ran more or less often, for the first time since the beginning.
    pub fn has_news(&mut self) -> bool {
        let (mut news, mut first) = (false, 0);
        let mut counts = [0; BLOCK];
        for &(start, stop) in &self.regions {
            for block in (start..stop).step_by(BLOCK) {
                let length = BLOCK.min(stop - block);
                // Copied first, because other threads may count meanwhile.
                unsafe { std::ptr::copy_nonoverlapping(block as *const u8, counts.as_mut_ptr(), length) };
                // Most blocks did not run, and comparing them whole is quick in a debug build too.
                if counts[..length] != NOTHING[..length] {
                    for (seen, count) in self.seen[first..].iter_mut().zip(&counts[..length]) {
                        let step = step(*count);
                        news |= *seen & step != step;
                        *seen |= step;
                    }
                }
                first += length;
            }
        }
        news
    }
}
