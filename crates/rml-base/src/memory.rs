//! Memory accounting: how many bytes the process may use for values, and how many it uses now.
//!
//! Only this module decides whether something is too large. Code whose memory depends on the program or its data asks
//! here first: [`ask`] for temporary memory, a [`Reservation`] for memory that is kept. Tensors reserve their memory as
//! long as they exist, so the sum does not depend on who holds them. The counts are per process.
//!
//! With several threads, the sum that a thread sees is off by less than 64 KiB for each other thread. Asking reserves
//! nothing: memory that several threads ask for at the same time may be granted to each of them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::codes::run::MEMORY_LIMIT;
use crate::diagnostic::Diagnostic;

mod count;

/// The limit in bytes; [`UNSET`] until one is set.
static LIMIT: AtomicU64 = AtomicU64::new(UNSET);

const UNSET: u64 = 0;

/// A number of bytes that is more than can be counted, and more than any limit.
pub const UNCOUNTABLE: u64 = u64::MAX;

/// The most bytes that may be reserved in the process; more than any machine has if no limit is set.
pub fn limit() -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        UNSET => UNCOUNTABLE - 1,
        limit => limit,
    }
}

/// Sets the limit in bytes (at least 1). Reservations that exist stay.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
}

/// Sets the limit in bytes, unless one is set; `bytes` is asked for only then.
pub fn set_default_limit(bytes: impl FnOnce() -> u64) {
    if LIMIT.load(Ordering::Relaxed) == UNSET {
        // Another thread may have set one meanwhile; then that one stays.
        let _ = LIMIT.compare_exchange(UNSET, bytes().max(1), Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// How many bytes are reserved now. Exact if no other thread reserves; otherwise off by less than 64 KiB for each of
/// them.
pub fn used() -> u64 {
    count::used()
}

/// Whether that many bytes more would be within the limit. Nothing is reserved.
///
/// # Errors
/// They would not.
#[inline]
pub fn ask(bytes: u64) -> Result<(), Shortage> {
    let (used, limit) = (used(), limit());
    match used.checked_add(bytes) {
        Some(sum) if sum <= limit => Ok(()),
        _ => Err(Shortage { asked: bytes, used, limit }),
    }
}

/// The bytes of that many elements of that size; [`UNCOUNTABLE`] if there are too many to count.
pub fn bytes_of(elements: usize, size: usize) -> u64 {
    (elements as u64).saturating_mul(size as u64)
}

/// Bytes that something takes as long as this exists.
#[derive(Debug, Default)]
pub struct Reservation {
    bytes: u64,
}

impl Reservation {
    /// Reserves what is already taken, whatever the limit is; ask before taking it.
    #[inline]
    pub fn of(bytes: u64) -> Self {
        count::add(bytes);
        Self { bytes }
    }

    /// Reserves that many bytes more.
    ///
    /// # Errors
    /// They are beyond the limit; then nothing more is reserved.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Shortage> {
        ask(bytes)?;
        count::add(bytes);
        self.bytes += bytes;
        Ok(())
    }

    /// Reserves that many bytes in place of what was reserved, whatever the limit is; for what shrinks and grows and
    /// has asked before it grew.
    #[inline]
    pub fn set(&mut self, bytes: u64) {
        if bytes > self.bytes {
            count::add(bytes - self.bytes);
        } else if bytes < self.bytes {
            count::subtract(self.bytes - bytes);
        }
        self.bytes = bytes;
    }

    /// How many bytes are reserved.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Clone for Reservation {
    /// A copy takes as much again.
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

/// Bytes that were asked for and are not granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// How many were asked for; [`UNCOUNTABLE`] stands for more than can be counted.
    pub asked: u64,
    /// How many were reserved when they were asked for.
    pub used: u64,
    /// The limit.
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
    /// The error `memory-limit`; `what` needs the bytes, as in "the outputs of the run".
    pub fn diagnostic(&self, what: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(MEMORY_LIMIT, format!("{what} would take more memory than is allowed"))
            .note(self.to_string())
            .help("make it smaller, or allow more memory (`--memory SIZE`)")
    }
}

/// A number of bytes for people: `1536 bytes (1.5 KiB)`.
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

    // One test for everything that changes the process's counts.
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
