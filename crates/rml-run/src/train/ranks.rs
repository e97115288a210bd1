//! The processes that train together. Each computes some shards of each step, and all of them update the parameters by
//! the same sum (SHARD-4).

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_collective::Group;
use serde_json::Value as Json;

/// The ranks that train together, as one of them sees it.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);";
/// use rml::{Columns, Format, Ranks, Source, TrainOptions, collective::Threads};
///
/// let train = move |ranks: Option<Ranks>| {
///     let source = Source::text("line.rml", text);
///     let data = Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", Format::Csv, "data.csv")?;
///     let options = TrainOptions { shards: Some(2), ranks, ..TrainOptions::default() };
///     Ok::<_, rml::Error>(rml::train(&source, &data, &options, &mut ())?.epochs[9].train["loss"].to_bits())
/// };
/// let alone = train(None)?;
/// let ranks = Threads::group(2).into_iter().map(|rank| {
///     std::thread::spawn(move || train(Some(Ranks::new(rank))))
/// });
/// for rank in ranks.collect::<Vec<_>>() {
///     assert_eq!(rank.join().unwrap()?, alone);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Ranks {
    rank: usize,
    size: usize,
    joined: Arc<Mutex<Joined>>,
    /// Whether the ranks agreed to stop.
    stops: Arc<AtomicBool>,
}

struct Joined {
    group: Box<dyn Group>,
    /// How many steps were exchanged.
    steps: u64,
}

impl fmt::Debug for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.size)
    }
}

impl Ranks {
    /// The ranks of a group, for one training.
    pub fn new(group: impl Group + 'static) -> Self {
        let (rank, size) = (group.rank(), group.size());
        let joined = Arc::new(Mutex::new(Joined { group: Box::new(group), steps: 0 }));
        Self { rank, size, joined, stops: Arc::default() }
    }

    /// Whether this is the rank that writes files.
    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// Which of the ranks this is.
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether the ranks agreed to stop after the last step.
    pub(super) fn stops(&self) -> bool {
        self.stops.load(Ordering::SeqCst)
    }

    /// The shards that this rank computes.
    pub(super) fn shards(&self, shards: usize) -> Range<usize> {
        self.shards_of(self.rank, shards)
    }

    /// The shards that a rank computes.
    pub(super) fn shards_of(&self, rank: usize, shards: usize) -> Range<usize> {
        shards * rank / self.size..shards * (rank + 1) / self.size
    }

    /// Sends each rank its message of a step, and returns their messages to this one, by rank. All ranks stop after a
    /// step in which one of them is `asked` to.
    pub(super) fn step(&self, to: Vec<Vec<u8>>, asked: bool) -> Result<Vec<Vec<u8>>, Diagnostic> {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        joined.steps += 1;
        let head = [&joined.steps.to_le_bytes()[..], &[u8::from(asked)]].concat();
        let to = to.into_iter().map(|message| [&head[..], &message].concat()).collect();
        let mut all = joined.group.exchange(to)?;
        for (rank, message) in all.iter_mut().enumerate() {
            if message.len() < head.len() || message[..8] != head[..8] {
                return Err(differ(format!("rank {rank} is at another step than rank {}", self.rank))
                    .note(format!("here it is step {}", joined.steps)));
            }
            if message[8] != 0 {
                self.stops.store(true, Ordering::SeqCst);
            }
            message.drain(..head.len());
        }
        Ok(all)
    }

    /// Sends the same to all ranks, and returns what they sent, by rank.
    pub(super) fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, Diagnostic> {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        rml_collective::all_gather(&mut *joined.group, own)
    }

    /// Checks that all ranks train the same. `own` is an object that says what this one trains.
    ///
    /// # Errors
    /// The first entry that differs, with the values of both ranks.
    pub(super) fn agree(&self, own: &Json) -> Result<(), Diagnostic> {
        let all = self.gather(own.to_string().as_bytes())?;
        let all: Vec<Json> =
            all.iter().map(|text| serde_json::from_slice(text).unwrap_or_default()).collect();
        let first = &all[0];
        for (rank, other) in all.iter().enumerate() {
            let entries = first.as_object().into_iter().flatten();
            let mut entries = entries.map(|(name, value)| (name, value, &other[name.as_str()]));
            let Some((name, here, there)) = entries.find(|(_, here, there)| here != there) else { continue };
            return Err(differ(format!("rank {rank} trains something else than rank 0: `{name}` differs"))
                .note(format!("rank 0 has {here}, rank {rank} has {there}"))
                .help("start all ranks with the same program, data and flags"));
        }
        Ok(())
    }

    /// Tells the other ranks that this one ends with an error.
    pub fn fail(&self, error: &Error) {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let what = error.diagnostics().iter().next().map_or_else(|| error.to_string(), |d| d.message.clone());
        joined.group.fail(&what);
    }
}

/// The error that ranks do not do the same.
pub(super) fn differ(what: String) -> Diagnostic {
    Diagnostic::error(codes::RANKS_DIFFER, what)
}
