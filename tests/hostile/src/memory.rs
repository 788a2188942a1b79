//! The memory that one thread holds, and its peak since the last reset: the global allocator counts for each thread by itself.
//!
//! A thread's own count makes it exact whatever other tests of the same process do. Memory that is freed by another thread than took it
//! is counted as held; what is measured here runs on one thread.
#![allow(unsafe_code, reason = "an allocator is unsafe by its trait; this one adds numbers and hands on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counting;

fn count(change: i64) {
    // A thread that ends has no counters, and no reader of them.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + change);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

// Every call is handed to the system's allocator as it came, so the caller keeps its contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-size(layout.size()));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both blocks may exist for a moment.
        count(size(new_size));
        let moved = unsafe { System.realloc(pointer, layout, new_size) };
        count(-size(layout.size()));
        moved
    }
}

/// Runs `work` and returns its result with the most bytes that this thread held meanwhile beyond those that it held before.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = HELD.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    let result = work();
    let most = PEAK.with(Cell::get);
    (result, u64::try_from(most - before).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_is_what_was_held_at_once_and_not_what_is_left() {
        let (left, peak) = measure(|| {
            drop(vec![1_u8; 3_000_000]);
            drop(vec![1_u8; 2_000_000]);
            vec![1_u8; 1_000]
        });
        assert_eq!(left.len(), 1_000);
        assert!((3_000_000..3_100_000).contains(&peak), "{peak}");
    }
}
