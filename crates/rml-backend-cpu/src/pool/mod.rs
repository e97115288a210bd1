//! Threads that wait for work.
//!
//! An idle worker polls for work for some tens of microseconds, about the gap between the parts of a window, and then
//! sleeps. So work that comes soon starts after a tenth of a microsecond, and no processor time is wasted between
//! windows.

mod ffi;
#[cfg(all(loom, test))]
mod model;
mod sync;

pub use ffi::{MOST, ThreadPool};

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_seat_has_its_part_done_once() {
        for threads in [1, 2, 3, 5] {
            let mut pool = ThreadPool::new(threads).expect("threads");
            for round in 0..200 {
                let mut seats: Vec<usize> = (0..threads.min(1 + round % 5)).collect();
                pool.run(&mut seats, &|i, seat: &mut usize| *seat += 100 * (i + 1));
                let wanted: Vec<usize> = (0..seats.len()).map(|i| i + 100 * (i + 1)).collect();
                assert_eq!(seats, wanted);
                if round == 100 {
                    // Workers that sleep are woken.
                    pool.doze();
                }
            }
        }
    }

    /// If a thread panics, all others end first, and the pool stays usable.
    #[test]
    fn a_panic_is_passed_on() {
        let mut pool = ThreadPool::new(3).expect("threads");
        for culprit in 0..3 {
            let ended = AtomicUsize::new(0);
            let mut seats = [(); 3];
            let call = std::panic::AssertUnwindSafe(|| {
                pool.run(&mut seats, &|i, (): &mut ()| {
                    assert!(i != culprit, "part {i}");
                    ended.fetch_add(1, Ordering::SeqCst);
                });
            });
            let panic = std::panic::catch_unwind(call).expect_err("it panics");
            assert_eq!(panic.downcast_ref::<String>(), Some(&format!("part {culprit}")));
            assert_eq!(ended.load(Ordering::SeqCst), 2);
        }
    }

    #[test]
    #[should_panic(expected = "as many seats as threads at most")]
    fn there_are_no_more_seats_than_threads() {
        ThreadPool::new(2).expect("threads").run(&mut [(); 3], &|_, (): &mut ()| {});
    }
}
