//! The number of bytes that are reserved in the process.
//!
//! Each thread collects its changes, and adds them to the process's count in steps of [`STEP`] bytes and when the
//! thread ends. A thread sees its own changes at once, and those of others after a step. So [`used`] is exact with one
//! thread, and otherwise off by less than [`STEP`] bytes for each other thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

/// The number of bytes that a thread reserves or frees before other threads see them.
pub(super) const STEP: u64 = 64 << 10;

/// The sum of the changes that threads have added. It is negative for a moment if one thread frees bytes that another
/// thread has not added yet.
static SHARED: AtomicI64 = AtomicI64::new(0);

/// The changes that a thread has not added yet.
struct Pending(Cell<i64>);

impl Drop for Pending {
    fn drop(&mut self) {
        SHARED.fetch_add(self.0.get(), Ordering::Relaxed);
    }
}

thread_local! {
    static PENDING: Pending = const { Pending(Cell::new(0)) };
}

fn change(bytes: i64) {
    let counted = PENDING.try_with(|Pending(pending)| {
        let sum = pending.get().wrapping_add(bytes);
        if sum.unsigned_abs() < STEP {
            pending.set(sum);
        } else {
            SHARED.fetch_add(sum, Ordering::Relaxed);
            pending.set(0);
        }
    });
    if counted.is_err() {
        // The thread is ending and its own count is gone.
        SHARED.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Counts bytes as reserved.
#[inline]
pub(super) fn add(bytes: u64) {
    change(bytes.cast_signed());
}

/// Counts bytes as free.
#[inline]
pub(super) fn subtract(bytes: u64) {
    change(bytes.cast_signed().wrapping_neg());
}

/// The number of bytes reserved at present.
pub(super) fn used() -> u64 {
    let own = PENDING.try_with(|Pending(pending)| pending.get()).unwrap_or(0);
    SHARED.load(Ordering::Relaxed).wrapping_add(own).max(0).cast_unsigned()
}
