//! The sessions by name.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rml::Stream;
use tokio::sync::Mutex as Turn;

/// A session.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The run; none once it has ended, or if a computation panicked. Requests use it in the order in which they asked
    /// for it.
    pub(crate) run: Arc<Turn<Option<Stream>>>,
    /// Requests that hold or wait for the run.
    pending: AtomicUsize,
    used: Mutex<Instant>,
}

/// A request of a session, from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Pending(pub(crate) Arc<Slot>);

impl Drop for Pending {
    fn drop(&mut self) {
        *lock(&self.0.used) = Instant::now();
        self.0.pending.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Slot {
    /// Begins a request, unless `most` are pending.
    pub(crate) fn begin(self: &Arc<Self>, most: usize) -> Option<Pending> {
        let more = |n: usize| (n < most).then_some(n + 1);
        let begun = self.pending.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        begun.ok().map(|_| Pending(Arc::clone(self)))
    }

    fn is_idle(&self, now: Instant, idle: Duration) -> bool {
        let quiet = now.saturating_duration_since(*lock(&self.used));
        self.pending.load(Ordering::SeqCst) == 0 && quiet >= idle
    }
}

/// All sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    slots: Mutex<BTreeMap<String, Option<Arc<Slot>>>>,
    most: usize,
    idle: Duration,
}

/// A reserved place among the sessions, which is freed unless it is filled.
#[derive(Debug)]
pub(crate) struct Place {
    sessions: Arc<Sessions>,
    name: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut slots = lock(&self.sessions.slots);
        if slots.get(&self.name).is_some_and(Option::is_none) {
            slots.remove(&self.name);
        }
    }
}

impl Place {
    /// Begins the session, and returns its name.
    pub(crate) fn fill(self, stream: Stream) -> String {
        let run = Arc::new(Turn::new(Some(stream)));
        let slot = Slot { run, pending: AtomicUsize::new(0), used: Mutex::new(Instant::now()) };
        lock(&self.sessions.slots).insert(self.name.clone(), Some(Arc::new(slot)));
        self.name.clone()
    }
}

impl Sessions {
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Self { slots: Mutex::default(), most, idle }
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.slots).len()
    }

    /// Reserves a place for another session, if there is one; idle sessions are removed first.
    pub(crate) fn place(self: &Arc<Self>, now: Instant) -> Option<Place> {
        if self.count() >= self.most {
            self.sweep(now);
        }
        let mut slots = lock(&self.slots);
        if slots.len() >= self.most {
            return None;
        }
        let name = name();
        slots.insert(name.clone(), None);
        Some(Place { sessions: Arc::clone(self), name })
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<Slot>> {
        lock(&self.slots).get(name).cloned().flatten()
    }

    pub(crate) fn remove(&self, name: &str) {
        lock(&self.slots).remove(name);
    }

    /// Ends idle sessions.
    pub(crate) fn sweep(&self, now: Instant) {
        let is_kept =
            |slot: &Option<Arc<Slot>>| slot.as_ref().is_none_or(|slot| !slot.is_idle(now, self.idle));
        lock(&self.slots).retain(|_, slot| is_kept(slot));
    }
}

/// A name that cannot be guessed.
fn name() -> String {
    let part = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", part(), part())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use rml::{InferOptions, Source};

    use super::*;

    fn stream() -> Stream {
        let source = Source::text("n.rml", "node infer(x) -> (y) y = x;");
        Stream::new(&source, &InferOptions::default()).expect("it compiles")
    }

    #[test]
    fn sessions_are_limited_and_make_room_when_nobody_feeds_them() {
        let idle = Duration::from_secs(60);
        let sessions = Arc::new(Sessions::new(2, idle));
        let now = Instant::now();
        let first = sessions.place(now).expect("room").fill(stream());
        let second = sessions.place(now).expect("room");
        assert!(sessions.place(now).is_none(), "a place that is not filled yet counts");
        drop(second);
        let second = sessions.place(now).expect("it was given back").fill(stream());
        assert_ne!(first, second);
        assert!(sessions.place(now + idle / 2).is_none());
        let pending = sessions.get(&first).and_then(|slot| slot.begin(1)).expect("the first request");
        let third = sessions.place(now + 2 * idle).expect("the second one made room").fill(stream());
        assert!(sessions.get(&first).is_some() && sessions.get(&second).is_none());
        assert!(sessions.get(&third).is_some());
        drop(pending);
        sessions.sweep(now + 10 * idle);
        assert_eq!(sessions.count(), 0);
    }

    #[test]
    fn requests_of_a_session_are_limited() {
        let sessions = Arc::new(Sessions::new(1, Duration::from_secs(1)));
        let name = sessions.place(Instant::now()).expect("room").fill(stream());
        let slot = sessions.get(&name).expect("it is present");
        let first = slot.begin(2);
        let second = slot.begin(2);
        assert!(first.is_some() && second.is_some() && slot.begin(2).is_none());
        drop(first);
        assert!(slot.begin(2).is_some());
    }
}
