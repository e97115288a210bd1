//! A campaign: chunks of cases of all targets in turn, on several workers at the same time, until the time or the
//! rounds are used up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::child::{End, Event, watch};
use crate::{Corpus, Finding, FuzzInput, Target, minimise, worker};

/// The settings of a campaign.
#[derive(Debug)]
pub struct CampaignSettings {
    /// The maximum time.
    pub time: Duration,
    /// The maximum number of turns of each target; `None` = until the time is used up.
    pub rounds: Option<u64>,
    /// The seed of all cases.
    pub seed: u64,
    /// The targets, which run in turn.
    pub targets: Vec<&'static Target>,
    /// The number of workers that run at the same time.
    pub jobs: usize,
    /// The folder for failing cases.
    pub folder: PathBuf,
}

/// The work of one target.
#[derive(Clone, Copy, Default, Debug)]
pub struct Count {
    /// The number of cases that began.
    pub cases: u64,
    /// The total time of the target's workers.
    pub time: Duration,
}

/// A failing case that was written to disk.
#[derive(Debug)]
pub struct SavedCase {
    /// The failure.
    pub finding: Finding,
    /// The path of the file.
    pub path: PathBuf,
    /// The number of cases that failed in the same way.
    pub times: usize,
}

/// The result of a campaign.
#[derive(Debug, Default)]
pub struct CampaignReport {
    /// The counts by target.
    pub counts: BTreeMap<&'static str, Count>,
    /// The failing cases, one for each cause.
    pub kept: Vec<SavedCase>,
}

/// The state that all jobs share.
struct State {
    /// The number of the next turn; each target has one turn per round.
    turn: usize,
    counts: BTreeMap<&'static str, Count>,
    /// The failing cases by signature.
    found: BTreeMap<String, (Finding, FuzzInput, usize)>,
    /// The reason why the campaign cannot continue.
    broken: Option<String>,
}

/// Runs a campaign; `say` receives each new finding at once.
///
/// # Errors
/// A worker cannot be started, or a file cannot be read or written.
pub fn run(settings: &CampaignSettings, say: &(dyn Fn(&str) + Sync)) -> Result<CampaignReport, String> {
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

/// A sequence of cases of one target.
struct Chunk<'a> {
    target: &'static Target,
    settings: &'a CampaignSettings,
    corpus: &'a Corpus,
    state: &'a Mutex<State>,
    deadline: Instant,
    say: &'a (dyn Fn(&str) + Sync),
}

impl Chunk<'_> {
    /// Runs the cases with the given numbers. A new worker continues after each case that ended a worker.
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

/// The maximum number of cases that are reduced; further ones are written as they are.
const MADE_SMALLER: usize = 12;

/// Reduces the failing cases, and writes them.
fn keep(
    state: State,
    settings: &CampaignSettings,
    say: &(dyn Fn(&str) + Sync),
) -> Result<CampaignReport, String> {
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
        kept.push(SavedCase { finding, path, times });
    }
    Ok(CampaignReport { counts: state.counts, kept })
}

/// Runs one case in a separate process; returns its failure, if any.
///
/// # Errors
/// The process cannot be started.
pub fn replay(target: &Target, case: &FuzzInput) -> Result<Option<Finding>, String> {
    minimise::in_child(target, case, Duration::from_secs(3600))
}
