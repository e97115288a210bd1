//! Runs computations on a number of workers, with a bounded queue.

use std::sync::Arc;

use tokio::sync::{Semaphore, TryAcquireError};
use tokio::task::spawn_blocking;

/// Workers, and the queue before them.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// Places in the queue and at the workers.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) workers: Arc<Semaphore>,
}

/// Why a computation has no result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unworked {
    /// The queue is full.
    Full,
    /// The work panicked.
    Panicked,
}

impl Work {
    pub(crate) fn new(workers: usize, queue: usize) -> Self {
        let places = Arc::new(Semaphore::new(workers.saturating_add(queue).min(Semaphore::MAX_PERMITS)));
        Self { places, workers: Arc::new(Semaphore::new(workers)) }
    }

    /// A place in the queue, held until it is dropped.
    pub(crate) fn enter(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Unworked> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|why| match why {
            TryAcquireError::NoPermits | TryAcquireError::Closed => Unworked::Full,
        })
    }

    /// Runs a computation when a worker is free. Once it has begun, it runs to its end, even if nobody waits for it any
    /// more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        place: tokio::sync::OwnedSemaphorePermit,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unworked> {
        let worker = Arc::clone(&self.workers).acquire_owned().await.map_err(|_| Unworked::Full)?;
        let work = move || {
            let result = work();
            drop((worker, place));
            result
        };
        spawn_blocking(work).await.map_err(|_| Unworked::Panicked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_panics_gives_its_place_back() {
        let work = Work::new(1, 0);
        let place = work.enter().expect("the first");
        assert_eq!(work.enter().err(), Some(Unworked::Full));
        let panics = || -> u8 { std::panic::resume_unwind(Box::new("of the test")) };
        assert_eq!(work.run(place, panics).await, Err(Unworked::Panicked));
        let place = work.enter().expect("it is free again");
        assert_eq!(work.run(place, || 3).await, Ok(3));
    }
}
