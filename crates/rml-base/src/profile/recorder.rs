//! The measurements of one run.

use super::{Cost, Event, Phase, Profile};

/// The kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// A phase of overhead.
    Phase(Phase),
    /// The computation at a site.
    Site(usize),
    /// A call of an engine.
    Run,
    /// Something else, such as a loop.
    Other(&'static str),
}

/// The measurements of one run. Only the run itself writes to it; it [reports](Self::tell) them to the profile from
/// time to time, and at its end.
#[derive(Debug)]
pub struct Recorder {
    profile: Profile,
    /// The site of the profile for each site of the run.
    ids: Vec<usize>,
    costs: Vec<Cost>,
    runs: Cost,
    programs: [Cost; 2],
    events: Vec<Event>,
    left_out: u64,
    told: u64,
}

impl Recorder {
    /// The least time between two reports, in nanoseconds.
    const RARELY: u64 = 100_000_000;

    pub(super) fn new(profile: Profile, ids: Vec<usize>) -> Self {
        let (costs, runs, programs) = (vec![Cost::default(); ids.len()], Cost::default(), Default::default());
        let told = profile.now();
        Self { profile, ids, costs, runs, programs, events: Vec::new(), left_out: 0, told }
    }

    /// The time since the start of the profile, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.profile.now()
    }

    /// Whether the profile keeps events.
    pub fn traces(&self) -> bool {
        self.profile.traces()
    }

    /// Adds a cost to a site of the run.
    pub fn add(&mut self, site: usize, ns: f64, calls: f64) {
        self.costs[site].add(ns, calls);
    }

    /// Adds a call of an engine, including its overhead.
    pub fn run(&mut self, start: u64, end: u64) {
        self.runs.add((end - start) as f64, 1.0);
        self.event(Name::Run, start, end);
    }

    /// Adds the programs that a backend compiled within a call of an engine, and those that it loaded.
    pub fn programs(&mut self, compiled: Cost, loaded: Cost) {
        for (sum, more) in self.programs.iter_mut().zip([compiled, loaded]) {
            sum.add(more.ns, more.calls);
        }
    }

    /// Keeps an event, if the profile keeps any.
    pub fn event(&mut self, name: Name, start: u64, end: u64) {
        if !self.profile.traces() {
            return;
        }
        if self.events.len() == Profile::MOST_EVENTS {
            self.left_out += 1;
            return;
        }
        self.events.push(Event { name, start, end });
    }

    /// Reports the measurements to the profile, unless the last report was a moment ago.
    pub fn tell_rarely(&mut self, now: u64) {
        if now - self.told > Self::RARELY {
            self.tell();
        }
    }

    /// Reports the measurements to the profile.
    pub fn tell(&mut self) {
        let mut state = self.profile.state();
        for (id, cost) in self.ids.iter().zip(&mut self.costs) {
            let Cost { ns, calls } = std::mem::take(cost);
            state.measured.sites[*id].2.add(ns, calls);
        }
        let Cost { ns, calls } = std::mem::take(&mut self.runs);
        state.measured.runs.add(ns, calls);
        for (sum, more) in state.measured.programs.iter_mut().zip(std::mem::take(&mut self.programs)) {
            sum.add(more.ns, more.calls);
        }
        for mut event in self.events.drain(..) {
            if let Name::Site(site) = &mut event.name {
                *site = self.ids[*site];
            }
            state.keep(event);
        }
        state.measured.left_out += std::mem::take(&mut self.left_out);
        drop(state);
        self.told = self.profile.now();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.tell();
    }
}
