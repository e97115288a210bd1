//! An allocator that counts the allocations of a thread, and the bytes that are allocated.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<usize> = const { Cell::new(0) };
}

fn count(taken: usize, given: usize) {
    // A thread that ends may allocate after its counters were dropped.
    let _ = COUNT.try_with(|n| n.set(n.get() + 1));
    hold(taken, given);
}

/// A thread may free memory that another thread allocated, so the count may wrap.
fn hold(taken: usize, given: usize) {
    let _ = HELD.try_with(|n| n.set(n.get().wrapping_add(taken).wrapping_sub(given)));
}

// SAFETY: each call is forwarded to the system's allocator without changes; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller fulfils the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The number of allocations of `body`.
pub(crate) fn allocations_in(body: impl FnOnce()) -> usize {
    let before = COUNT.get();
    body();
    COUNT.get() - before
}

/// The number of bytes that `body` allocated and did not free, and its result.
pub(crate) fn bytes_kept_by<T>(body: impl FnOnce() -> T) -> (usize, T) {
    let before = HELD.get();
    let result = body();
    (HELD.get().wrapping_sub(before), result)
}
