//! A campaign: chunks of cases of all targets in turn, several workers at a time, until the time or the rounds are
//! over.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::child::{End, Event, watch};
use crate::{Case, Corpus, Finding, Target, minimise, worker};

/// What to run.
#[derive(Debug)]
pub struct Settings {
    /// For how long at most.
    pub time: Duration,
    /// How many turns each target has at most; `None` = until the time is over.
    pub rounds: Option<u64>,
    /// The seed of all cases.
    pub seed: u64,
    /// The targets, which take turns.
    pub targets: Vec<&'static Target>,
    /// How many workers at a time.
    pub jobs: usize,
    /// Where failing cases are written.
    pub folder: PathBuf,
}

/// What one target did.
#[derive(Clone, Copy, Default, Debug)]
pub struct Count {
    /// How many cases began.
    pub cases: u64,
    /// The time of its workers.
    pub time: Duration,
}

/// A failing case that was written to disk.
#[derive(Debug)]
pub struct Kept {
    /// What is wrong.
    pub finding: Finding,
    /// The file.
    pub path: PathBuf,
    /// How many cases failed in the same way.
    pub times: usize,
}

/// What a campaign gave.
#[derive(Debug, Default)]
pub struct Report {
    /// By target.
    pub counts: BTreeMap<&'static str, Count>,
    /// One case for each cause.
    pub kept: Vec<Kept>,
}

/// What all jobs share.
struct State {
    /// The next turn; each target has one in each round.
    turn: usize,
    counts: BTreeMap<&'static str, Count>,
    /// By signature.
    found: BTreeMap<String, (Finding, Case, usize)>,
    /// Why the campaign cannot continue.
    broken: Option<String>,
}

/// Runs a campaign; `say` is told each new finding when it is made.
///
/// # Errors
/// Workers that cannot be started, files that cannot be read or written.
pub fn run(settings: &Settings, say: &(dyn Fn(&str) + Sync)) -> Result<Report, String> {
    let corpus = Corpus::load()?;
    let deadline = Instant::now() + settings.time;
    let state = Mutex::new(State { turn: 0, counts: BTreeMap::new(), found: BTreeMap::new(), broken: None });
    let job = || {
        while Instant::now() < deadline {
            let Ok(mut now) = state.lock() else { return };
            let turn = now.turn;
            let round = (turn / settings.targets.len()) as u64;
            if now.broken.is_some() || settings.rounds.is_some_and(|rounds| round >= rounds) {
                return;
            }
            now.turn += 1;
            drop(now);
            let target = settings.targets[turn % settings.targets.len()];
            let chunk = Chunk { target, settings, corpus: &corpus, state: &state, deadline, say };
            let outcome = chunk.run(round * target.chunk..(round + 1) * target.chunk);
            if let (Err(why), Ok(mut now)) = (outcome, state.lock()) {
                now.broken = Some(why);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.max(1) {
            scope.spawn(job);
        }
    });
    let state = state.into_inner().map_err(|_| "a job panicked")?;
    match state.broken {
        Some(why) => Err(why),
        None => keep(state, settings, say),
    }
}

/// Some cases of one target.
struct Chunk<'a> {
    target: &'static Target,
    settings: &'a Settings,
    corpus: &'a Corpus,
    state: &'a Mutex<State>,
    deadline: Instant,
    say: &'a (dyn Fn(&str) + Sync),
}

impl Chunk<'_> {
    /// Runs the cases of these numbers, in as many workers as it takes.
    fn run(&self, mut numbers: std::ops::Range<u64>) -> Result<(), String> {
        let start = Instant::now();
        let mut cases = 0;
        while !numbers.is_empty() {
            let args = ["worker", self.target.name]
                .map(str::to_owned)
                .into_iter()
                .chain([self.settings.seed, numbers.start, numbers.end].map(|n| n.to_string()));
            let end = watch(self.target, &args.collect::<Vec<_>>(), self.deadline, |event| match event {
                Event::Case => cases += 1,
                Event::Found(number, finding) => self.found(number, finding),
            })?;
            match end {
                End::Done | End::Late => break,
                End::In(number) => numbers.start = number + 1,
            }
        }
        if let Ok(mut state) = self.state.lock() {
            let count = state.counts.entry(self.target.name).or_default();
            count.cases += cases;
            count.time += start.elapsed();
        }
        Ok(())
    }

    fn found(&self, number: u64, finding: Finding) {
        let Ok(mut state) = self.state.lock() else { return };
        if let Some((_, _, times)) = state.found.get_mut(&finding.signature()) {
            *times += 1;
            return;
        }
        (self.say)(&format!("{} {number}: {}: {}", self.target.name, finding.kind, finding.message));
        let case = worker::case(self.target, self.corpus, self.settings.seed, number);
        state.found.insert(finding.signature(), (finding, case, 1));
    }
}

/// More cases than this are written as they are, not made smaller first.
const MADE_SMALLER: usize = 12;

/// Makes what was found smaller, and writes it.
fn keep(state: State, settings: &Settings, say: &(dyn Fn(&str) + Sync)) -> Result<Report, String> {
    let mut kept = Vec::new();
    for (number, (finding, case, times)) in state.found.into_values().enumerate() {
        let target = settings.targets.iter().find(|t| t.name == finding.target).ok_or("no such target")?;
        let (case, finding) = if number < MADE_SMALLER {
            say(&format!("making a case of {} smaller ({} bytes)", target.name, case.bytes.len()));
            minimise::smallest(target, case, finding)?
        } else {
            (case, finding)
        };
        let path = finding.write(&settings.folder, &case)?;
        kept.push(Kept { finding, path, times });
    }
    Ok(Report { counts: state.counts, kept })
}

/// Runs one case in a process of its own; what is wrong with it, if anything.
///
/// # Errors
/// A process that cannot be started.
pub fn replay(target: &Target, case: &Case) -> Result<Option<Finding>, String> {
    minimise::in_child(target, case, Duration::from_secs(3600))
}
