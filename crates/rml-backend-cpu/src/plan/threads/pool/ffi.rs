//! A call of one function by all threads, which ends when all have ended.
#![allow(unsafe_code)]

use std::any::Any;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, park, yield_now};

/// How often a worker looks for work before it sleeps, and the caller for the end of work before it lets others go first: some
/// tens of microseconds.
const LOOKS: usize = 1 << 11;

/// Threads beside that of the caller.
#[derive(Debug)]
pub(in super::super) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// A part of the work, with its number, behind pointers.
#[derive(Clone, Copy)]
struct Job {
    call: unsafe fn(*const (), *mut (), usize),
    function: *const (),
    seats: *mut (),
    count: usize,
}

struct Shared {
    /// How many jobs there were.
    epoch: AtomicUsize,
    /// Written before the epoch changes, and read behind that, until all workers have ended.
    job: UnsafeCell<Option<Job>>,
    /// How many workers have not ended.
    left: AtomicUsize,
    /// Which workers sleep.
    asleep: Vec<AtomicBool>,
    stop: AtomicBool,
    /// Whether a worker panicked, and with what.
    panicked: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: what a job points to may be used by all threads, as `Pool::run` demands; the job itself is written when no worker reads it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl Pool {
    /// A pool for so many threads, the caller's among them.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub(in super::super) fn new(threads: usize) -> io::Result<Self> {
        let workers = threads.saturating_sub(1);
        let shared = Arc::new(Shared {
            epoch: AtomicUsize::new(0),
            job: UnsafeCell::new(None),
            left: AtomicUsize::new(0),
            asleep: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        let mut pool = Self { shared, workers: Vec::with_capacity(workers) };
        for worker in 0..workers {
            let shared = Arc::clone(&pool.shared);
            let builder = std::thread::Builder::new().name(format!("rml {}", worker + 1));
            pool.workers.push(builder.spawn(move || shared.work(worker))?);
        }
        Ok(pool)
    }

    /// Calls `f` for each seat, with its number; the first one on the caller's thread. Returns when all calls have ended.
    ///
    /// # Panics
    /// If a call panics, or there are more seats than threads.
    pub(in super::super) fn run<S: Send, F: Fn(usize, &mut S) + Sync>(&mut self, seats: &mut [S], f: &F) {
        unsafe fn call<S, F: Fn(usize, &mut S)>(function: *const (), seats: *mut (), i: usize) {
            // SAFETY: `run` made the pointers of a function and of more than `i` seats, which live until it returns; no other call has this seat.
            let (f, seat) = unsafe { (&*function.cast::<F>(), &mut *seats.cast::<S>().add(i)) };
            f(i, seat);
        }
        assert!(seats.len() <= self.workers.len() + 1, "as many seats as threads at most");
        let (count, function) = (seats.len(), std::ptr::from_ref(f).cast());
        let job = Job { call: call::<S, F>, function, seats: seats.as_mut_ptr().cast(), count };
        let shared = &*self.shared;
        // SAFETY: the pool is borrowed mutably, and all workers have ended the job before, so nobody reads it.
        unsafe { *shared.job.get() = Some(job) };
        shared.left.store(self.workers.len(), Ordering::Relaxed);
        shared.epoch.fetch_add(1, Ordering::SeqCst);
        self.wake();
        let own = catch_unwind(AssertUnwindSafe(|| {
            if count > 0 {
                // SAFETY: see `call`; no worker takes seat 0.
                unsafe { (job.call)(job.function, job.seats, 0) }
            }
        }));
        let mut looks = 0;
        while shared.left.load(Ordering::Acquire) > 0 {
            looks += 1;
            if looks > LOOKS { yield_now() } else { spin_loop() }
        }
        let theirs = if shared.panicked.swap(false, Ordering::Relaxed) { shared.taken() } else { None };
        if let Some(panic) = own.err().or(theirs) {
            resume_unwind(panic);
        }
    }

    /// Has workers that sleep look for work.
    pub(in super::super) fn wake(&self) {
        for (asleep, worker) in self.shared.asleep.iter().zip(&self.workers) {
            if asleep.load(Ordering::SeqCst) {
                worker.thread().unpark();
            }
        }
    }
}

impl Pool {
    /// Waits until all workers sleep.
    #[cfg(test)]
    pub(super) fn doze(&self) {
        while !self.shared.asleep.iter().all(|asleep| asleep.load(Ordering::SeqCst)) {
            yield_now();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.epoch.fetch_add(1, Ordering::SeqCst);
        self.wake();
        for worker in self.workers.drain(..) {
            // A worker ends without a result, whatever its jobs did.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn taken(&self) -> Option<Box<dyn Any + Send>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What a worker does.
    fn work(&self, worker: usize) {
        let mut seen = 0;
        loop {
            seen = self.next(worker, seen);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            // SAFETY: the job was written before the epoch changed, and is not written again until this worker has ended it.
            if let Some(job) = unsafe { *self.job.get() }
                && worker + 1 < job.count
            {
                // SAFETY: see `call`; each worker takes a seat of its own.
                let call = || unsafe { (job.call)(job.function, job.seats, worker + 1) };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
                    *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
                    self.panicked.store(true, Ordering::Relaxed);
                }
            }
            self.left.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for the job behind the one that was seen.
    fn next(&self, worker: usize, seen: usize) -> usize {
        loop {
            for _ in 0..LOOKS {
                let epoch = self.epoch.load(Ordering::Acquire);
                if epoch != seen {
                    return epoch;
                }
                spin_loop();
            }
            // Whoever changes the epoch looks whether there is somebody to wake behind that.
            self.asleep[worker].store(true, Ordering::SeqCst);
            if self.epoch.load(Ordering::SeqCst) == seen {
                park();
            }
            self.asleep[worker].store(false, Ordering::SeqCst);
        }
    }
}
