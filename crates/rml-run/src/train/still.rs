//! Finds trainings in which an epoch changes no parameter, or the first epoch leaves some parameters unchanged.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, Fnv};
use rml_driver::Program;
use rml_ir::flat::State;
use rml_ir::{Data, Value};

use super::options::BestBy;
use super::updates::is_kept;
use crate::runner::Metrics;

/// The states of a training by key.
type States = IndexMap<Arc<str>, Value>;

/// Averages of two epochs with a smaller relative difference are equal except for rounding. A loss counts as 0 if it is
/// smaller than this, or smaller than this part of the first loss.
const SAME: f64 = 1e-6;

/// The parameters that have a gradient, with their previous values.
pub(super) struct Still {
    keys: Vec<Arc<str>>,
    /// How many batches an epoch has.
    batches: usize,
    /// The schedule of the library that scales updates, if it may end at 0.
    schedule: Option<&'static str>,
    /// During the first epoch of a training: a hash of each parameter at the start.
    start: Option<Vec<String>>,
    /// The same at the end of the previous epoch, if the next one may change nothing.
    before: Option<Vec<String>>,
    /// The averages of the first and the last epoch observed.
    seen: Option<(Metrics, Metrics)>,
}

impl Still {
    /// Watches the parameters that have a gradient, if there are any. `start` has the initial states of a new training.
    pub(super) fn new(program: &Program, start: Option<&States>, batches: usize) -> Option<Self> {
        let learned = |key: &str, state: &State| {
            program.learned().contains(key) && !is_kept(program.flat(), state.equation)
        };
        let states = program.flat().states.iter().filter(|(key, state)| learned(key, state));
        let keys: Vec<Arc<str>> = states.map(|(key, _)| Arc::clone(key)).collect();
        let start = start.map(|states| hash(&keys, states));
        let schedule = schedule(program);
        (!keys.is_empty()).then_some(Self { keys, start, batches, schedule, before: None, seen: None })
    }

    /// The finding after an epoch with these averages, if it changed no parameter. The states are requested only after
    /// the first epochs and if the averages stay the same.
    ///
    /// # Errors
    /// The states cannot be read.
    pub(super) fn finding(
        &mut self,
        epoch: u64,
        metrics: &Metrics,
        states: &mut dyn FnMut() -> Result<States, Error>,
    ) -> Result<Option<Diagnostic>, Error> {
        let stays = self.seen.as_ref().is_some_and(|(_, last)| are_same(last, metrics));
        let first = self.seen.take().map_or_else(|| metrics.clone(), |(first, _)| first);
        let is_learned = is_learned(&first, metrics);
        self.seen = Some((first, metrics.clone()));
        if self.start.is_none() && self.before.is_none() && !stays {
            return Ok(None);
        }
        let states = states()?;
        let now = hash(&self.keys, &states);
        let start = self.start.take();
        let found = match (&start, &self.before) {
            (Some(start), _) if *start == now => Some(self.at_first(&states)),
            (Some(start), _) if self.batches >= SEVERAL && start.iter().zip(&now).any(|(a, b)| a == b) => {
                Some(self.some_at_first(&states, start, &now))
            }
            (_, Some(before)) if *before == now && !is_learned => Some(self.later(epoch)),
            _ => None,
        };
        self.before = (start.is_some() || stays).then_some(now);
        Ok(found)
    }

    /// The finding that the first epoch changed no parameter.
    fn at_first(&self, states: &States) -> Diagnostic {
        let zero = self.keys.iter().all(|key| states.get(key).is_some_and(is_zero));
        let d = Diagnostic::warning(codes::ZERO_GRADIENT, "no parameter has changed in the first epoch")
            .note("every gradient that reached a parameter was 0, or too small to change it");
        if zero { d.note(ZEROS).help(DIFFER) } else { d.help(LOOK) }
    }

    /// The finding that a later epoch changed no parameter.
    fn later(&self, epoch: u64) -> Diagnostic {
        let what = format!("no parameter changed in epoch {epoch}, so the training makes no more progress");
        let d = Diagnostic::warning(codes::ZERO_GRADIENT, what);
        let Some(schedule) = self.schedule else {
            return d
                .note("every gradient that reached a parameter was 0, or too small to change it")
                .help("a `relu` passes no gradient where its input is negative: leave it out after the last layer, and lower the learning rate")
                .help(LOOK);
        };
        let plural = if self.batches == 1 { "" } else { "s" };
        d.note("every gradient that reached a parameter was 0, or the optimiser made 0 of it")
            .note(format!("an epoch has {} update{plural}", self.batches))
            .help(format!("a schedule is 0 at its end: `{schedule}` after `total` updates, so let `total` be that of all epochs, in updates"))
            .help(LOOK)
    }

    /// The finding that the first epoch changed only some parameters.
    fn some_at_first(&self, states: &States, start: &[String], now: &[String]) -> Diagnostic {
        let same = self.keys.iter().zip(start.iter().zip(now)).filter(|(_, (a, b))| a == b);
        let same: Vec<&Arc<str>> = same.map(|(key, _)| key).collect();
        let zero = same.iter().all(|key| states.get(*key).is_some_and(is_zero));
        let mut shown: Vec<String> = same.iter().take(SHOWN).map(|key| format!("`{key}`")).collect();
        if same.len() > SHOWN {
            shown.push(format!("{} more", same.len() - SHOWN));
        }
        let verb = if same.len() == 1 { "has" } else { "have" };
        let what = format!("{} {verb} not changed in the first epoch", listed(&shown));
        let d = Diagnostic::warning(codes::ZERO_GRADIENT, what)
            .note("a gradient of 0 reached it in every window, or one too small to change it");
        if zero { d.note(ZEROS).help(DIFFER) } else { d.help(LOOK) }
    }
}

/// The least number of batches in an epoch that is judged by single parameters: an update changes a layer before
/// parameters that are 0 only once these are not 0 any more.
const SEVERAL: usize = 3;
/// The number of parameters that a message names.
const SHOWN: usize = 4;
const ZEROS: &str = "where parameters that are all 0 are multiplied by each other, as by two layers, their gradients are 0 as well";
const DIFFER: &str = "begin matrices with numbers that differ, `param(glorot_uniform([..]))` in place of `param(zeros([..]))`; a bias may begin at 0";

/// `a, b and c`
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

const LOOK: &str = "look at where the gradient gets lost: `rml trace` shows every value, and `--stats` the norms of gradients";

/// The schedule of the library that scales the updates of a program and may end at 0.
fn schedule(program: &Program) -> Option<&'static str> {
    const SCHEDULES: [&str; 3] = ["warm_up_cosine", "cosine", "linear"];
    let of = |part: &str| {
        let (name, _) = part.rsplit_once('_')?;
        SCHEDULES.iter().position(|schedule| *schedule == name)
    };
    let paths = program.flat().vars.iter().filter_map(|data| data.name.as_deref());
    let found = paths.filter_map(|path| Some((path, path.split('.').find_map(of)?)));
    let (_, first) = found.filter(|(path, _)| is_update(program, path)).min_by_key(|(_, place)| *place)?;
    SCHEDULES.get(first).copied()
}

/// Whether a variable belongs to the optimiser, whose instances have the paths of parameters.
fn is_update(program: &Program, path: &str) -> bool {
    let primal: Vec<&str> = path.split('.').map(|part| part.trim_start_matches("diff_")).collect();
    let primal = primal.join(".");
    program.learned().iter().any(|key| primal.strip_prefix(&**key).is_some_and(|rest| rest.starts_with('.')))
}

/// Whether two epochs have the same averages except for rounding.
fn are_same(last: &Metrics, now: &Metrics) -> bool {
    let is_same = |a: f64, b: f64| a == b || (a - b).abs() <= SAME * a.abs().max(b.abs());
    last.len() == now.len() && now.iter().all(|(name, x)| last.get(name).is_some_and(|y| is_same(*x, *y)))
}

/// Whether nothing remains to learn: a loss is practically 0, or an accuracy is 1.
fn is_learned(first: &Metrics, now: &Metrics) -> bool {
    now.iter().any(|(name, x)| match BestBy::usual(name) {
        Some(BestBy::Min) => x.abs() <= SAME * first.get(name).map_or(1.0, |first| first.abs().max(1.0)),
        Some(BestBy::Max) => *x >= 1.0,
        None => false,
    })
}

/// Whether all elements are 0.
fn is_zero(value: &Value) -> bool {
    match value.to_data() {
        Data::F32(v) => v.iter().all(|x| *x == 0.0),
        Data::F64(v) => v.iter().all(|x| *x == 0.0),
        Data::Bool(_) | Data::Int(_) => false,
    }
}

/// A hash of the elements of each of these states.
fn hash(keys: &[Arc<str>], states: &States) -> Vec<String> {
    let hash = |key: &Arc<str>| {
        let mut hash = Fnv::default();
        match states.get(key).map(Value::to_data) {
            Some(Data::F32(v)) => v.iter().for_each(|x| hash.bytes(x.to_le_bytes())),
            Some(Data::F64(v)) => v.iter().for_each(|x| hash.bytes(x.to_le_bytes())),
            Some(Data::Bool(_) | Data::Int(_)) | None => {}
        }
        hash.hex()
    };
    keys.iter().map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(loss: f64) -> Metrics {
        Metrics::from([("loss".to_owned(), loss)])
    }

    /// The epochs with a finding; each entry has the loss of an epoch and the value of the parameter at its end.
    fn found(epochs: &[(f64, f32)]) -> Vec<u64> {
        let states = |x: f32| States::from([("k".into(), Value::F32(x))]);
        let keys = vec!["k".into()];
        let start = Some(hash(&keys, &states(1.0)));
        let mut still = Still { keys, start, batches: 1, schedule: None, before: None, seen: None };
        let one = |(epoch, (loss, x)): (u64, &(f64, f32))| {
            let found = still.finding(epoch, &losses(*loss), &mut || Ok(states(*x)));
            found.unwrap().map(|_| epoch)
        };
        (1..).zip(epochs).filter_map(one).collect()
    }

    #[test]
    fn epochs_that_change_nothing_are_found() {
        assert_eq!(found(&[(3.0, 1.0)]), [1]);
        assert_eq!(found(&[(3.0, 0.5), (2.0, 0.5)]), [2]);
        let late = [(3.0, 0.5), (2.0, 0.4), (1.0, 0.3), (0.9, 0.3), (0.9, 0.3), (0.9, 0.3)];
        assert_eq!(found(&late), [6]);
        assert!(found(&[(3.0, 0.5), (2.0, 0.4), (2.0, 0.3), (2.0, 0.2)]).is_empty());
    }

    #[test]
    fn a_loss_of_nothing_is_none() {
        assert!(found(&[(3.0, 0.5), (1e-7, 0.5), (1e-7, 0.5)]).is_empty());
        assert!(found(&[(1e9, 0.5), (1.0, 0.5), (1.0, 0.5)]).is_empty());
    }
}
