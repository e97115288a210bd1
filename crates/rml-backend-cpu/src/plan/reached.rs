//! Progress of a block of a plan that waits.

use super::code::Code;
use super::wants::Wants;

/// How far a block has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    /// For each tape, the first tick at which it is not available.
    pub(super) tapes: Vec<usize>,
    /// In a loop backward: whether each tape is available at this tick, and at the one after.
    pub(super) there: [Vec<bool>; 2],
    /// Whether the value of each register is known.
    pub(super) known: Vec<bool>,
}

impl Reached {
    pub(super) fn begin(&mut self, tapes: usize, registers: usize, ticks: usize) {
        let fill = |bits: &mut Vec<bool>, n: usize| {
            bits.clear();
            bits.resize(n, false);
        };
        self.tapes.clear();
        self.tapes.resize(tapes, ticks);
        self.there.iter_mut().for_each(|bits| fill(bits, tapes));
        self.known.clear();
        self.known.resize(registers, true);
    }

    /// The first of that many ticks at which a wanted value is missing.
    pub(super) fn end(&self, wants: &Wants, ticks: usize) -> usize {
        if wants.first.iter().any(|want| self.tapes[want.tape] <= want.far(0)) {
            return 0;
        }
        let behind = wants.behind.iter().map(|want| want.before(self.tapes[want.tape]).max(1));
        behind.min().unwrap_or(ticks).min(ticks)
    }
}

/// How many ticks of a block are done: those by which all outputs and register writes are available.
pub(super) fn done(code: &Code, reached: &Reached, ticks: usize) -> usize {
    let written = code.passes.iter().filter(|pass| !pass.backward).flat_map(|pass| &pass.puts);
    let written = written.chain(&code.commits).map(|put| &put.wants);
    code.taken.iter().chain(written).map(|wants| reached.end(wants, ticks)).min().unwrap_or(ticks)
}
