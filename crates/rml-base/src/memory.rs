//! Memory accounting: how many bytes the process may use for values, and how many it uses at present.
//!
//! Only this module decides whether something is too large. Code whose memory depends on the program or its data first
//! calls [`ask`] for temporary memory, or makes a [`Reservation`] for memory that is kept. A tensor reserves its memory
//! as long as it exists, so the sum does not depend on its owner. The counts are per process.
//!
//! With several threads, the sum that a thread sees is off by less than 64 KiB for each other thread. [`ask`] reserves
//! nothing: if several threads ask for memory at the same time, each of them may be granted the same bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::codes::run::MEMORY_LIMIT;
use crate::diagnostic::Diagnostic;

mod count;

/// The limit in bytes; [`UNSET`] until one is set.
static LIMIT: AtomicU64 = AtomicU64::new(UNSET);

const UNSET: u64 = 0;

/// A number of bytes that is too large to count; it exceeds every limit.
pub const UNCOUNTABLE: u64 = u64::MAX;

/// The maximum number of bytes that the process may reserve. If no limit is set, this is more than any machine has.
pub fn limit() -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        UNSET => UNCOUNTABLE - 1,
        limit => limit,
    }
}

/// Sets the limit in bytes (at least 1). Existing reservations are kept.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
}

/// Sets the limit in bytes, unless one is set; only then is `bytes` called.
pub fn set_default_limit(bytes: impl FnOnce() -> u64) {
    if LIMIT.load(Ordering::Relaxed) == UNSET {
        // If another thread has set a limit meanwhile, that limit is kept.
        let _ = LIMIT.compare_exchange(UNSET, bytes().max(1), Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The number of bytes reserved at present. It is exact if no other thread reserves memory; otherwise it is off by less
/// than 64 KiB for each other thread.
pub fn used() -> u64 {
    count::used()
}

/// Checks that `bytes` more bytes are within the limit. Reserves nothing.
///
/// # Errors
/// The bytes would exceed the limit.
#[inline]
pub fn ask(bytes: u64) -> Result<(), Shortage> {
    let (used, limit) = (used(), limit());
    match used.checked_add(bytes) {
        Some(sum) if sum <= limit => Ok(()),
        _ => Err(Shortage { asked: bytes, used, limit }),
    }
}

/// The size of `elements` elements of `size` bytes each; [`UNCOUNTABLE`] if it is too large to count.
pub fn bytes_of(elements: usize, size: usize) -> u64 {
    (elements as u64).saturating_mul(size as u64)
}

/// A number of bytes that counts as reserved as long as this value exists.
#[derive(Debug, Default)]
pub struct Reservation {
    bytes: u64,
}

impl Reservation {
    /// Reserves bytes that are already allocated, whatever the limit is; call [`ask`] before the allocation.
    #[inline]
    pub fn of(bytes: u64) -> Self {
        count::add(bytes);
        Self { bytes }
    }

    /// Reserves `bytes` more bytes.
    ///
    /// # Errors
    /// The bytes would exceed the limit; then no more bytes are reserved.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Shortage> {
        ask(bytes)?;
        count::add(bytes);
        self.bytes += bytes;
        Ok(())
    }

    /// Changes the reservation to `bytes` bytes, whatever the limit is. It is meant for memory that grows and shrinks;
    /// call [`ask`] before the memory grows.
    #[inline]
    pub fn set(&mut self, bytes: u64) {
        if bytes > self.bytes {
            count::add(bytes - self.bytes);
        } else if bytes < self.bytes {
            count::subtract(self.bytes - bytes);
        }
        self.bytes = bytes;
    }

    /// The number of bytes reserved.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Clone for Reservation {
    /// A copy reserves the same number of bytes again.
    fn clone(&self) -> Self {
        Self::of(self.bytes)
    }
}

impl Drop for Reservation {
    #[inline]
    fn drop(&mut self) {
        count::subtract(self.bytes);
    }
}

/// A request for memory that was not granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// The number of bytes asked for; [`UNCOUNTABLE`] if it is too large to count.
    pub asked: u64,
    /// The number of bytes that were reserved at the time of the request.
    pub used: u64,
    /// The limit in bytes.
    pub limit: u64,
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let asked = match self.asked {
            UNCOUNTABLE => "more bytes than can be counted".to_owned(),
            bytes => size(bytes),
        };
        write!(f, "{asked} asked for, {} in use, at most {} allowed", size(self.used), size(self.limit))
    }
}

impl std::error::Error for Shortage {}

impl Shortage {
    /// The error `memory-limit`; `what` names what needs the bytes, as in "the outputs of the run".
    pub fn diagnostic(&self, what: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(MEMORY_LIMIT, format!("{what} would take more memory than is allowed"))
            .note(self.to_string())
            .help("make it smaller, or allow more memory (`--memory SIZE`)")
    }
}

/// A number of bytes in readable form: `1536 bytes (1.5 KiB)`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10) as usize;
    match power.checked_sub(1) {
        None => format!("{bytes} bytes"),
        #[allow(clippy::cast_precision_loss, reason = "rounded to one digit after the point anyway")]
        Some(unit) => {
            format!("{bytes} bytes ({:.1} {})", bytes as f64 / 1024_f64.powf(power as f64), UNITS[unit])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(1023), "1023 bytes");
        assert_eq!(size(1536), "1536 bytes (1.5 KiB)");
        assert_eq!(size(4_000_000_000), "4000000000 bytes (3.7 GiB)");
        assert_eq!(size(u64::MAX), "18446744073709551615 bytes (16.0 EiB)");
    }

    fn threads_see_each_other_after_a_step() {
        let barrier = std::sync::Barrier::new(5);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let parts = [1000; 100].map(Reservation::of);
                    assert!(used() >= 100_000, "a thread sees its own at once");
                    barrier.wait();
                    barrier.wait();
                    drop(parts);
                });
            }
            barrier.wait();
            assert!((400_000 - 4 * count::STEP..=400_000).contains(&used()), "{}", used());
            assert!(used() > 0, "all have taken a step");
            barrier.wait();
        });
        let sent = std::thread::spawn(|| Reservation::of(10)).join().unwrap();
        assert_eq!(used(), 10, "a thread that has ended leaves nothing uncounted");
        drop(sent);
        assert_eq!(used(), 0);
    }

    // A single test covers all changes of the process's counts, because tests run in parallel.
    #[test]
    fn what_is_reserved_counts_until_it_is_dropped() {
        assert!(ask(1 << 60).is_ok() && ask(UNCOUNTABLE).is_err(), "no limit is set yet");
        set_default_limit(|| 1000);
        set_default_limit(|| unreachable!("there is a limit"));
        let mut kept = Reservation::of(600);
        assert_eq!((used(), limit()), (600, 1000));
        assert!(ask(400).is_ok());
        assert_eq!(ask(401), Err(Shortage { asked: 401, used: 600, limit: 1000 }));
        assert!(kept.grow(401).is_err() && kept.bytes() == 600, "a refusal reserves nothing");
        kept.grow(100).unwrap();
        let copy = kept.clone();
        assert_eq!((used(), copy.bytes()), (1400, 700));
        kept.set(100);
        assert_eq!((used(), kept.bytes()), (800, 100));
        kept.set(2000);
        assert_eq!(used(), 2700);
        drop((kept, copy));
        assert_eq!(used(), 0);
        threads_see_each_other_after_a_step();
        assert!(ask(bytes_of(usize::MAX, 8)).is_err());
        set_limit(0);
        assert_eq!(limit(), 1);
        let d = ask(2048).unwrap_err().diagnostic("this constant");
        assert_eq!(d.notes, ["2048 bytes (2.0 KiB) asked for, 0 bytes in use, at most 1 bytes allowed"]);
    }
}
