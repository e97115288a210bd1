//! The time that a run takes: by place in the source, and for overhead beside the computation.
//!
//! A [`Profile`] is one measurement, shared by all runs of a command. Each measured run has its own [`Recorder`], so no
//! lock is taken while it runs. Reading the clock takes longer than a small operator; therefore a [`Sampler`] chooses
//! which of many small steps are timed, and the other steps are assumed to take the same time.

mod recorder;
mod sampler;

pub use recorder::{Name, Recorder};
pub use sampler::Sampler;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::{Sources, Span};

/// Work beside the computation of the program itself.
///
/// ```
/// # use rml_base::profile as rml;
/// assert_eq!(rml::Phase::ALL.map(rml::Phase::name), ["compilation", "data", "checkpoints", "exchange"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// Compilation, from the source text to the code that an engine runs.
    Compile,
    /// Reading data and assembling windows.
    Data,
    /// Reading and writing checkpoints.
    Checkpoint,
    /// Waiting for the messages of other processes, and sending messages to them.
    Exchange,
}

impl Phase {
    /// All phases.
    pub const ALL: [Phase; 4] = [Phase::Compile, Phase::Data, Phase::Checkpoint, Phase::Exchange];

    /// The name of the phase, for people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Compile => "compilation",
            Phase::Data => "data",
            Phase::Checkpoint => "checkpoints",
            Phase::Exchange => "exchange",
        }
    }
}

/// An operator at a place in the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Site {
    /// The place in the source.
    pub span: Span,
    /// The name of the operator.
    pub what: &'static str,
}

/// The time that something took, and how often it was done.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Cost {
    /// The time in nanoseconds.
    pub ns: f64,
    /// The number of times.
    pub calls: f64,
}

impl Cost {
    /// Adds a time and a number of calls.
    pub fn add(&mut self, ns: f64, calls: f64) {
        self.ns += ns;
        self.calls += calls;
    }
}

/// Something that took place during an interval; times are in nanoseconds since the start of the profile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event {
    /// The kind of event.
    pub name: Name,
    /// The start time.
    pub start: u64,
    /// The end time.
    pub end: u64,
}

/// The results of a measurement.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The time since the start of the profile, in nanoseconds.
    pub total: u64,
    /// The cost of each phase, in the order of [`Phase::ALL`].
    pub phases: [Cost; 4],
    /// The programs that a backend compiled within calls of engines, and those that it loaded instead of compiling
    /// them.
    pub programs: [Cost; 2],
    /// The calls of engines, including their overhead: copying inputs, outputs and states.
    pub runs: Cost,
    /// The operators by place, with their costs.
    pub sites: Vec<(Arc<Sources>, Site, Cost)>,
    /// The events that were kept. A [`Name::Site`] is an index into `sites`.
    pub events: Vec<Event>,
    /// The number of events that were not kept.
    pub left_out: u64,
}

/// One measurement. All clones of it share the measurement.
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
    /// The index of each site in `measured.sites`. The first part of a key is the address of the site's sources.
    known: BTreeMap<(usize, Site), usize>,
    /// The phases in progress, outermost first: the start time, and the time of inner phases.
    open: Vec<(Phase, u64, u64)>,
    /// The numbers of events kept: those within calls of engines, and the others.
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

    /// Keeps an event, unless the limit for its kind is reached. Events within calls have a limit of their own, so they
    /// cannot displace events of calls and phases.
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
    /// The maximum number of events kept within calls of engines; the same limit applies separately to calls and
    /// phases.
    pub const MOST_EVENTS: usize = 50_000;

    /// Starts a measurement of times; with `traces`, also of the events and when they happened.
    pub fn new(traces: bool) -> Self {
        Self(Arc::new(Shared { origin: Instant::now(), traces, state: Mutex::default() }))
    }

    /// Whether events are kept.
    pub fn traces(&self) -> bool {
        self.0.traces
    }

    /// The time since the start of the profile, in nanoseconds.
    pub fn now(&self) -> u64 {
        u64::try_from(self.0.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `what` and counts its time for a phase. The time of an inner phase counts only for that phase.
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

    /// The measurement so far. It contains the runs that have ended, and the parts that other runs have
    /// [reported](Recorder::tell).
    pub fn measured(&self) -> Measured {
        let total = self.now();
        Measured { total, ..self.state().measured.clone() }
    }

    /// The profile, for the program with these texts.
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
    /// A recorder for a run with these sites.
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
        let [compile, data, checkpoint, exchange] = measured.phases;
        assert!(data.ns >= 1_900_000.0 && compile.ns + data.ns <= measured.total as f64, "{measured:?}");
        assert_eq!([compile, data, checkpoint, exchange].map(|cost| cost.calls), [1.0, 1.0, 0.0, 0.0]);
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
