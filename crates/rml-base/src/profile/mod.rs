//! Where the time of a run goes: by place in the source, and by overhead beside the computation.
//!
//! A [`Profile`] is one measurement, shared by all runs of a command. A run that measures has a [`Recorder`] of its
//! own, so that nothing is locked while it runs. Reading the clock takes longer than a small operator does; so a
//! [`Sampler`] chooses which of many small steps are timed; the others are assumed to take as long.

mod recorder;
mod sampler;

pub use recorder::{Name, Recorder};
pub use sampler::Sampler;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::{Sources, Span};

/// What is done beside what the program computes.
///
/// ```
/// # use rml_base::profile as rml;
/// assert_eq!(rml::Phase::ALL.map(rml::Phase::name), ["compilation", "data", "checkpoints"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// From source text to what an engine runs.
    Compile,
    /// Reading data, and putting windows of them together.
    Data,
    /// Reading and writing checkpoints.
    Checkpoint,
}

impl Phase {
    /// All of them.
    pub const ALL: [Phase; 3] = [Phase::Compile, Phase::Data, Phase::Checkpoint];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Compile => "compilation",
            Phase::Data => "data",
            Phase::Checkpoint => "checkpoints",
        }
    }
}

/// What is computed at a place in the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Site {
    /// The place.
    pub span: Span,
    /// The operator.
    pub what: &'static str,
}

/// How much time something took, and how often it was done.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Cost {
    /// Nanoseconds.
    pub ns: f64,
    /// How often.
    pub calls: f64,
}

impl Cost {
    /// Adds to it.
    pub fn add(&mut self, ns: f64, calls: f64) {
        self.ns += ns;
        self.calls += calls;
    }
}

/// Something that happened from one time to another, in nanoseconds since the profile began.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event {
    /// What happened.
    pub name: Name,
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Since the profile began, in nanoseconds.
    pub total: u64,
    /// Each phase, in the order of [`Phase::ALL`].
    pub phases: [Cost; 3],
    /// The programs that a backend compiled within calls of engines, and those that it loaded instead.
    pub programs: [Cost; 2],
    /// The calls of engines, with what they do beside computing: copying inputs, outputs and states.
    pub runs: Cost,
    /// What is computed, by place.
    pub sites: Vec<(Arc<Sources>, Site, Cost)>,
    /// What happened, as far as it was kept. A [`Name::Site`] is one of `sites`.
    pub events: Vec<Event>,
    /// How many events were not kept.
    pub left_out: u64,
}

/// One measurement. Clones of it are the same one.
///
/// ```
/// # use rml_base::profile as rml;
/// use rml::{Phase, Profile};
///
/// let profile = Profile::new(false);
/// let sum: u32 = profile.time(Phase::Data, || (0..10).sum());
/// assert_eq!(sum, 45);
/// assert_eq!(profile.measured().phases[1].calls, 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct Profile(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    origin: Instant,
    /// Whether events are kept.
    traces: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    measured: Measured,
    /// The place of each site among those measured, by the address of its sources.
    known: BTreeMap<(usize, Site), usize>,
    /// The phases that are open: since when, and how long others took within them.
    open: Vec<(Phase, u64, u64)>,
    /// How many events are kept of what happens within calls of engines, and of what happens around it.
    kept: [usize; 2],
}

impl State {
    fn site(&mut self, sources: &Arc<Sources>, site: Site) -> usize {
        let sites = &mut self.measured.sites;
        *self.known.entry((Arc::as_ptr(sources).addr(), site)).or_insert_with_key(|(_, site)| {
            sites.push((Arc::clone(sources), *site, Cost::default()));
            sites.len() - 1
        })
    }

    /// Keeps an event, unless there are too many of its kind. What happens within calls leaves room for the calls and
    /// phases.
    fn keep(&mut self, event: Event) {
        let is_outer = matches!(event.name, Name::Phase(_) | Name::Run);
        let kept = &mut self.kept[usize::from(is_outer)];
        if *kept < Profile::MOST_EVENTS {
            *kept += 1;
            self.measured.events.push(event);
        } else {
            self.measured.left_out += 1;
        }
    }
}

impl Profile {
    /// The most events that are kept of what happens within calls of engines, and likewise of calls and phases.
    pub const MOST_EVENTS: usize = 50_000;

    /// Begins to measure: times, and with `traces` also what happened when.
    pub fn new(traces: bool) -> Self {
        Self(Arc::new(Shared { origin: Instant::now(), traces, state: Mutex::default() }))
    }

    /// Whether it keeps what happened when.
    pub fn traces(&self) -> bool {
        self.0.traces
    }

    /// The nanoseconds since it began.
    pub fn now(&self) -> u64 {
        u64::try_from(self.0.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something that belongs to a phase. What it does for another phase counts there alone.
    pub fn time<T>(&self, phase: Phase, what: impl FnOnce() -> T) -> T {
        let start = self.now();
        self.state().open.push((phase, start, 0));
        let result = what();
        let end = self.now();
        let mut state = self.state();
        let within = state.open.pop().map_or(0, |(_, _, within)| within);
        if let Some((_, _, around)) = state.open.last_mut() {
            *around += end - start;
        }
        state.measured.phases[phase as usize].add((end - start).saturating_sub(within) as f64, 1.0);
        if self.0.traces {
            state.keep(Event { name: Name::Phase(phase), start, end });
        }
        result
    }

    /// What was measured so far, by the runs that have ended and by what the others have [told](Recorder::tell).
    pub fn measured(&self) -> Measured {
        let total = self.now();
        Measured { total, ..self.state().measured.clone() }
    }

    /// For the program with these texts.
    pub fn scope(&self, sources: &Arc<Sources>) -> Scope {
        Scope { profile: self.clone(), sources: Arc::clone(sources) }
    }
}

/// A profile, for one program.
#[derive(Clone, Debug)]
pub struct Scope {
    profile: Profile,
    sources: Arc<Sources>,
}

impl Scope {
    /// What a run with these sites measures.
    pub fn recorder(&self, sites: impl IntoIterator<Item = Site>) -> Recorder {
        let mut state = self.profile.state();
        let ids = sites.into_iter().map(|site| state.site(&self.sources, site)).collect();
        drop(state);
        Recorder::new(self.profile.clone(), ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileId;

    fn site(start: usize) -> Site {
        Site { span: Span::new(FileId(0), start, start + 1), what: "add" }
    }

    #[test]
    fn a_phase_within_another_counts_once() {
        let profile = Profile::new(true);
        let begin = profile.now();
        profile.time(Phase::Compile, || {
            profile.time(Phase::Data, || while profile.now() < begin + 2_000_000 {});
        });
        let measured = profile.measured();
        let [compile, data, checkpoint] = measured.phases;
        assert!(data.ns >= 1_900_000.0 && compile.ns + data.ns <= measured.total as f64, "{measured:?}");
        assert_eq!((compile.calls, data.calls, checkpoint.calls), (1.0, 1.0, 0.0));
        assert_eq!(measured.events.len(), 2);
    }

    #[test]
    fn sites_of_one_program_are_one_and_events_are_bounded() {
        let (profile, sources) = (Profile::new(true), Arc::new(Sources::new()));
        let scope = profile.scope(&sources);
        for _ in 0..2 {
            let mut recorder = scope.recorder([site(0), site(1), site(0)]);
            for k in 0..3 {
                recorder.add(k, 10.0, 1.0);
            }
            for at in 0..Profile::MOST_EVENTS as u64 {
                recorder.event(Name::Site(1), at, at + 1);
            }
        }
        let measured = profile.measured();
        let costs: Vec<f64> = measured.sites.iter().map(|(_, _, cost)| cost.ns).collect();
        assert_eq!(costs, [40.0, 20.0]);
        assert_eq!(measured.events.len(), Profile::MOST_EVENTS);
        assert_eq!(measured.left_out, Profile::MOST_EVENTS as u64);
        assert!(measured.events.iter().all(|e| e.name == Name::Site(1)));
    }
}
