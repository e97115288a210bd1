//! Fits windows into memory: as a whole if possible, otherwise in segments.

use std::cell::OnceCell;
use std::sync::Arc;

use rml_base::memory::{self, Shortage};
use rml_executor::TooLong;
use rml_ir::Precision;
use rml_ir::op::Number;
use rml_plan::Plan;

use super::footprint::footprint;
use super::listed::Listed;
use super::place::Placement;
use super::segments::Segments;
use super::threads::Team;
use super::{Machine, compiled};

/// Windows of at least this many bytes run in segments: they do not fit in the caches, but most values are read in the
/// segment that computes them.
const LARGE: u64 = 14 << 20;

/// Code with more operands runs as a whole if that fits in memory: each segment binds all operands, which costs time.
const OPERANDS: usize = 2048;

/// Code, the placement of its values, and how many elements of each type belong to single threads.
type Compiled<'a> = (&'a Listed, &'a Placement, [usize; 3]);

/// How windows fit in memory.
#[derive(Debug, Default)]
pub(super) struct Fit {
    /// For each [`Way`]: how windows run in segments, or why they cannot. Computed on first use.
    ways: [OnceCell<Result<Arc<Segments>, &'static str>>; 2],
    /// For windows that run in segments: their length, the segments, and the ticks per segment.
    cut: Option<(usize, Arc<Segments>, usize)>,
}

impl Fit {
    /// The segments of a window of `ticks` ticks, and the ticks per segment; none if it runs as a whole.
    pub(super) fn cut(&self, ticks: usize) -> Option<(Arc<Segments>, usize)> {
        let (_, segments, size) = self.cut.as_ref().filter(|(cut, ..)| *cut == ticks)?;
        Some((Arc::clone(segments), *size))
    }

    /// How windows of code run in segments that store what is needed later, or compute it again.
    fn segments(&self, all: Compiled<'_>, way: Way) -> Result<&Arc<Segments>, &'static str> {
        let of = || Segments::of(all, way == Way::Stored).map(Arc::new);
        self.ways[way as usize].get_or_init(of).as_ref().map_err(|why| *why)
    }

    /// Decides how a window of `ticks` ticks runs in `available` bytes: as a whole (none), or in segments of some size.
    ///
    /// # Errors
    /// The window needs more memory: at least the bytes in the error, or it cannot run in segments.
    fn choose<N>(
        &self,
        all: Compiled<'_>,
        ticks: usize,
        available: u64,
    ) -> Result<Option<(Way, usize)>, Result<u64, &'static str>> {
        let (code, placement, _) = all;
        let whole = footprint::<N>(code, placement).at(ticks);
        let fits = whole <= available;
        if fits && !(whole >= LARGE && code.refs.len() <= OPERANDS) {
            return Ok(None);
        }
        if let Ok(stored) = self.segments(all, Way::Stored) {
            let sizes = [stored.near::<N>(ticks), stored.shortest(ticks)];
            let most = available.min(whole);
            let is_granted = |size: &usize| *size < ticks && stored.bytes_of::<N>(code, ticks, *size) <= most;
            if let Some(size) = sizes.into_iter().find(is_granted) {
                return Ok(Some((Way::Stored, size)));
            }
        }
        if fits {
            return Ok(None);
        }
        let again = self.segments(all, Way::Again).map_err(Err)?;
        let (size, bytes) = again.least::<N>(code, ticks);
        if bytes <= available { Ok(Some((Way::Again, size))) } else { Err(Ok(bytes)) }
    }
}

/// How to handle values that a later sweep needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Stored,
    Again,
}

/// The memory of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The bytes of the window as a whole.
    pub whole: u64,
    /// The fewest bytes in which the window runs, in segments; or why it cannot run in segments.
    pub least: Result<u64, &'static str>,
    /// The segments chosen for the available bytes; none if the window runs as a whole, or does not fit.
    pub cut: Option<Segmented>,
}

/// A window in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segmented {
    /// How many ticks a segment has.
    pub ticks: usize,
    /// The bytes that the window takes.
    pub bytes: u64,
    /// How many loops run more than once, and how many loops there are.
    pub again: (usize, usize),
}

/// The memory that windows of `ticks` ticks of a plan need, and how they run if `available` bytes are free.
pub fn budget(plan: &Arc<Plan>, ticks: usize, available: u64) -> Budget {
    let plan = rml_plan::pack(Arc::clone(plan));
    let (code, placement) = compiled(&plan);
    match plan.precision {
        Precision::F32 => Budget::of::<f32>(&code, &placement, ticks, available),
        Precision::F64 => Budget::of::<f64>(&code, &placement, ticks, available),
    }
}

impl Budget {
    fn of<N>(code: &Listed, placement: &Placement, ticks: usize, available: u64) -> Self {
        let (fit, all) = (Fit::default(), (code, placement, [0; 3]));
        let whole = footprint::<N>(code, placement).at(ticks);
        let chosen = fit.choose::<N>(all, ticks, available).ok().flatten();
        let cut = chosen.and_then(|(way, size)| {
            let segments = fit.segments(all, way).ok()?;
            let bytes = segments.bytes_of::<N>(code, ticks, size);
            Some(Segmented { ticks: size, bytes, again: segments.loops() })
        });
        let again = fit.segments(all, Way::Again);
        let least = again.map(|segments| whole.min(segments.least::<N>(code, ticks).1));
        Self { whole, least, cut }
    }
}

impl<N: Number> Machine<N> {
    /// Requests memory for windows of `ticks` ticks. From now on they run in segments if they are large, or do not fit
    /// as a whole.
    ///
    /// # Errors
    /// The window fits neither as a whole nor in segments.
    pub fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        self.turn(ticks);
        let (used, limit) = (memory::used(), memory::limit());
        let available = limit.saturating_sub(used);
        let all = (&*self.code, &self.placement, Team::own(self.team.as_deref()));
        match self.fit.choose::<N>(all, ticks, available) {
            Ok(None) => {
                self.fit.cut = None;
                Ok(())
            }
            Ok(Some((way, size))) => {
                let segments = self.fit.segments(all, way);
                self.fit.cut = segments.ok().map(|segments| (ticks, Arc::clone(segments), size));
                Ok(())
            }
            Err(least) => {
                Err(TooLong { short: Shortage { asked: self.footprint().at(ticks), used, limit }, least })
            }
        }
    }
}

#[cfg(test)]
impl<N: Number> Machine<N> {
    /// Makes windows of `ticks` ticks run as a whole, or with `cut` in segments of that many ticks, with values for
    /// later sweeps stored or not.
    pub(super) fn force(&mut self, ticks: usize, cut: Option<(usize, bool)>) {
        let all = (&*self.code, &self.placement, Team::own(self.team.as_deref()));
        self.fit.cut = cut.map(|(size, is_stored)| {
            let segments = Segments::of(all, is_stored).expect("it runs in segments");
            (ticks, Arc::new(segments), size)
        });
    }
}
