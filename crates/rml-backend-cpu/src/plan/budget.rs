//! Windows and the memory that there is: as a whole where that fits, else in segments.

use std::sync::Arc;

use rml_base::memory::{self, Shortage};
use rml_ir::Precision;
use rml_ir::op::Number;
use rml_plan::Plan;

use super::code::Code;
use super::footprint::Footprint;
use super::place::Placement;
use super::segments::Segments;
use super::{Machine, compiled, pack};

/// How windows fit in memory.
#[derive(Debug, Default)]
pub(super) struct Fit {
    /// How windows run in segments, or why they cannot; found out when one does not fit.
    segments: Option<Result<Arc<Segments>, &'static str>>,
    /// The length of the windows that run in segments, and how many ticks these have.
    cut: Option<(usize, usize)>,
}

impl Fit {
    /// How a window of that many ticks runs in segments, and how many ticks these have; none if it runs as a whole.
    pub(super) fn cut(&self, ticks: usize) -> Option<(Arc<Segments>, usize)> {
        match (&self.cut, &self.segments) {
            (Some((cut, size)), Some(Ok(segments))) if *cut == ticks => Some((Arc::clone(segments), *size)),
            _ => None,
        }
    }
}

/// A window takes more memory than there is, also in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong {
    /// What it asks for as a whole.
    pub short: Shortage,
    /// The fewest bytes with which it runs, in segments; or why it does not run in segments.
    pub least: Result<u64, &'static str>,
}

/// What a window takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The bytes of the window as a whole.
    pub whole: u64,
    /// The fewest bytes with which it runs, in segments; or why it does not run in segments.
    pub least: Result<u64, &'static str>,
    /// How it runs in segments with the bytes that there are, if it has to and can.
    pub cut: Option<Cut>,
}

/// A window in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// How many ticks a segment has.
    pub ticks: usize,
    /// The bytes that the window takes.
    pub bytes: u64,
    /// How many loops run again, of how many.
    pub again: (usize, usize),
}

/// What windows of that many ticks of a plan take, and how they run where there are so many bytes.
pub fn budget(plan: &Arc<Plan>, ticks: usize, available: u64) -> Budget {
    let plan = pack::pack(Arc::clone(plan));
    let (code, placement) = compiled(&plan);
    match plan.precision {
        Precision::F32 => Budget::of::<f32>(&code, &placement, ticks, available),
        Precision::F64 => Budget::of::<f64>(&code, &placement, ticks, available),
    }
}

impl Budget {
    fn of<N>(code: &Code, placement: &Placement, ticks: usize, available: u64) -> Self {
        let whole = Footprint::of::<N>(code, placement).at(ticks);
        let segments = Segments::of(code, placement);
        let cut = segments.as_ref().ok().filter(|_| whole > available).and_then(|segments| {
            let size = segments.fit::<N>(code, ticks, available)?;
            let bytes = segments.bytes_of::<N>(code, ticks, size);
            Some(Cut { ticks: size, bytes, again: segments.loops() })
        });
        let least = segments.map(|segments| whole.min(segments.least::<N>(code, ticks).1));
        Self { whole, least, cut }
    }
}

impl<N: Number> Machine<N> {
    /// Asks for the memory of windows of that many ticks. They run in segments from now on if they do not fit as a whole.
    ///
    /// # Errors
    /// They fit in no way.
    pub fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        let asked = memory::ask(self.footprint().at(ticks));
        let Err(short) = asked else {
            self.fit.cut = self.fit.cut.filter(|(cut, _)| *cut != ticks);
            return Ok(());
        };
        let (code, placement) = (&self.code, &self.placement);
        let segments = self.fit.segments.get_or_insert_with(|| Segments::of(code, placement).map(Arc::new));
        let segments = match segments {
            Ok(segments) => segments,
            Err(why) => return Err(TooLong { short, least: Err(*why) }),
        };
        let available = short.limit.saturating_sub(short.used);
        match segments.fit::<N>(code, ticks, available) {
            Some(size) => {
                self.fit.cut = Some((ticks, size));
                Ok(())
            }
            None => Err(TooLong { short, least: Ok(segments.least::<N>(code, ticks).1) }),
        }
    }
}

#[cfg(test)]
impl<N: Number> Machine<N> {
    /// Has windows of that many ticks run in segments of so many.
    pub(super) fn force(&mut self, ticks: usize, size: usize) {
        self.fit.segments = Some(Segments::of(&self.code, &self.placement).map(Arc::new));
        assert!(matches!(self.fit.segments, Some(Ok(_))), "{:?}", self.fit.segments);
        self.fit.cut = Some((ticks, size));
    }
}
