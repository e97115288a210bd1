//! A call of one function by all threads, which ends when all have ended.
#![allow(unsafe_code)]

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

use super::sync::{
    Arc, AtomicBool, AtomicU64, AtomicUsize, Builder, JoinHandle, Mutex, Ordering, UnsafeCell, fence, park,
    spin_loop, yield_now,
};

/// How often a worker searches for work before it sleeps, and the caller for the end of work before it lets others go
/// first: some tens of microseconds. Once is enough to try all orders.
const LOOKS: usize = if cfg!(all(loom, test)) { 1 } else { 1 << 11 };

/// Threads beside that of the caller.
#[derive(Debug)]
pub struct ThreadPool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// More threads than that are not told apart.
pub const MOST: usize = 32;

/// The work, behind pointers; `call` does a part of it.
#[derive(Clone, Copy)]
struct Job {
    call: unsafe fn(*const (), *mut (), usize),
    function: *const (),
    seats: *mut (),
}

struct Shared {
    /// Below, a bit for each part that nobody has taken; above, how many jobs there were.
    parts: AtomicU64,
    /// Written when all parts of the job before have ended, and read by those who have taken a part.
    job: UnsafeCell<Option<Job>>,
    /// How many parts have not ended; at first, how many workers have not begun.
    left: AtomicUsize,
    /// Which workers sleep.
    asleep: Vec<AtomicBool>,
    stop: AtomicBool,
    /// Whether a part panicked, and with what.
    panicked: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: what a job points to may be used by all threads, as `Pool::run` demands; the job itself is written when no
// worker reads it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl ThreadPool {
    /// A pool for that many threads, the caller's among them.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub fn new(threads: usize) -> io::Result<Self> {
        let workers = threads.min(MOST).saturating_sub(1);
        let shared = Arc::new(Shared {
            parts: AtomicU64::new(0),
            job: UnsafeCell::new(None),
            left: AtomicUsize::new(workers),
            asleep: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        let mut pool = Self { shared, workers: Vec::with_capacity(workers) };
        for worker in 0..workers {
            let shared = Arc::clone(&pool.shared);
            let builder = Builder::new().name(format!("rml {}", worker + 1));
            pool.workers.push(builder.spawn(move || shared.work(worker))?);
        }
        // The parts that threads prefer have been taken by now.
        while pool.shared.left.load(Ordering::Acquire) > 0 {
            yield_now();
        }
        Ok(pool)
    }

    /// Calls `f` for each seat, with its number, and returns when all calls have ended. The caller takes the first one,
    /// and whatever the workers have not begun by then, so that nothing waits for a worker that the system does not
    /// run.
    ///
    /// # Panics
    /// If a call panics, or there are more seats than threads.
    pub fn run<S: Send, F: Fn(usize, &mut S) + Sync>(&mut self, seats: &mut [S], f: &F) {
        unsafe fn call<S, F: Fn(usize, &mut S)>(function: *const (), seats: *mut (), i: usize) {
            // SAFETY: `run` made the pointers of a function and of more than `i` seats, which live until it returns; no
            // other call has this seat.
            let (f, seat) = unsafe { (&*function.cast::<F>(), &mut *seats.cast::<S>().add(i)) };
            f(i, seat);
        }
        assert!(seats.len() <= self.workers.len() + 1, "as many seats as threads at most");
        let function = std::ptr::from_ref(f).cast();
        let job = Job { call: call::<S, F>, function, seats: seats.as_mut_ptr().cast() };
        let shared = &*self.shared;
        // SAFETY: the pool is borrowed mutably, and all parts of the job before have been taken and have ended, so
        // nobody reads it.
        shared.job.with_mut(|place| unsafe { *place = Some(job) });
        shared.left.store(seats.len(), Ordering::Relaxed);
        let jobs = (shared.parts.load(Ordering::Relaxed) >> MOST).wrapping_add(1);
        shared.parts.store(jobs << MOST | ((1 << seats.len()) - 1), Ordering::Release);
        self.wake();
        while let Some(i) = shared.take(0) {
            shared.run(i);
        }
        let mut looks = 0;
        while shared.left.load(Ordering::Acquire) > 0 {
            looks += 1;
            if looks > LOOKS { yield_now() } else { spin_loop() }
        }
        let passed_on = || shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The lock is free again before the panic continues, which would poison it.
        let panic = if shared.panicked.swap(false, Ordering::Relaxed) { passed_on() } else { None };
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Has workers that sleep search for work.
    pub fn wake(&self) {
        // Either this sees that a worker is about to sleep, or the worker sees what was stored before: see `sleep`.
        fence(Ordering::SeqCst);
        for (asleep, worker) in self.shared.asleep.iter().zip(&self.workers) {
            if asleep.load(Ordering::Relaxed) {
                worker.thread().unpark();
            }
        }
    }
}

impl ThreadPool {
    /// Waits until all workers sleep.
    #[cfg(test)]
    pub(super) fn doze(&self) {
        while !self.shared.asleep.iter().all(|asleep| asleep.load(Ordering::SeqCst)) {
            yield_now();
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.wake();
        for worker in self.workers.drain(..) {
            // A worker ends without a result, whatever its jobs did.
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// Takes a part that nobody has, the given one if that is free; none if there is none.
    fn take(&self, own: usize) -> Option<usize> {
        let mut parts = self.parts.load(Ordering::Relaxed);
        loop {
            let free = parts & ((1 << MOST) - 1);
            if free == 0 {
                return None;
            }
            let i = if free >> own & 1 == 1 { own } else { free.trailing_zeros() as usize };
            // The number of the job is part of what is compared, so a part of another one is not taken for it.
            match self.parts.compare_exchange_weak(
                parts,
                parts & !(1 << i),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(i),
                Err(now) => parts = now,
            }
        }
    }

    /// Does a part that was taken.
    fn run(&self, i: usize) {
        let call = || {
            // SAFETY: the job was written before its parts were offered, and is not written again until this part,
            // which is taken, has ended.
            if let Some(job) = self.job.with(|place| unsafe { *place }) {
                // SAFETY: see `call`; each part is taken once.
                unsafe { (job.call)(job.function, job.seats, i) }
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
            self.panicked.store(true, Ordering::Relaxed);
        }
        self.left.fetch_sub(1, Ordering::Release);
    }

    /// The loop of a worker.
    fn work(&self, worker: usize) {
        let mut looks = 0;
        self.left.fetch_sub(1, Ordering::Release);
        while !self.stop.load(Ordering::Relaxed) {
            if let Some(i) = self.take(worker + 1) {
                self.run(i);
                looks = 0;
            } else if looks < LOOKS {
                looks += 1;
                spin_loop();
            } else {
                self.sleep(worker);
                looks = 0;
            }
        }
    }

    fn sleep(&self, worker: usize) {
        // A thread that offers parts, or stops the pool, checks after that whether a worker has to be woken.
        self.asleep[worker].store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let is_idle = self.parts.load(Ordering::Relaxed) & ((1 << MOST) - 1) == 0;
        if is_idle && !self.stop.load(Ordering::Relaxed) {
            park();
        }
        self.asleep[worker].store(false, Ordering::Relaxed);
    }
}
