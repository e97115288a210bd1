//! Windows whose end the program finds.

use std::ops::Range;

use rml_ir::Position;
use rml_ir::op::Number;

use super::code::Pass;
use super::listed::{Entry, Listed};
use super::profile::{self, Probe};
use super::run::Run;
use super::{Machine, Suspect};

/// How far the end of a window was searched for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Search {
    #[default]
    None,
    /// The end is not among the first ticks; this many were tried.
    Past(usize),
    /// The window has that many ticks.
    Found(usize),
}

impl Search {
    /// How many ticks were begun.
    pub(super) fn done(self) -> usize {
        match self {
            Search::None => 0,
            Search::Past(ticks) | Search::Found(ticks) => ticks,
        }
    }
}

impl<N: Number> Machine<N> {
    /// Searches for the end of the next window, if the plan [finds](rml_plan::Ends::Found) it, among its first `ticks`
    /// ticks, whose inputs are set. Returns the length of the window; none if it does not end within these ticks.
    /// Further calls continue the search, until a window is run.
    ///
    /// # Errors
    /// If an operator has no result. Then no register has changed.
    pub fn find(&mut self, ticks: usize) -> Result<Option<usize>, Suspect> {
        let from = match self.search {
            Search::Found(found) => return Ok(Some(found)),
            Search::Past(from) => from,
            Search::None => {
                self.begin();
                0
            }
        };
        if self.code.ending.is_none() {
            return Ok(None);
        }
        self.bind(ticks);
        let mut probe = self.probe.take();
        let found = self.seek(from..ticks, profile::timed(&mut probe));
        self.probe = probe;
        match found {
            Ok(Some(ticks)) => self.search = Search::Found(ticks),
            Ok(None) => self.search = Search::Past(from.max(ticks)),
            Err(_) => self.undo(),
        }
        found
    }

    fn seek(&mut self, ticks: Range<usize>, mut probe: Option<&mut Probe>) -> Result<Option<usize>, Suspect> {
        let begin = probe.as_mut().map(|probe| probe.begin_loop());
        let mut run = self.run();
        let Some(pass) = run.code.passes.first() else { return Ok(None) };
        let mut found = Ok(None);
        for t in ticks {
            found = run.seek(pass, t, probe.as_deref_mut()).map(|is_last| is_last.then_some(t + 1));
            if found != Ok(None) {
                break;
            }
        }
        if let (Some(probe), Some(begin)) = (probe, begin) {
            probe.looped(pass, begin);
        }
        found
    }

    /// Abandons the search for the end of a window.
    pub fn abandon(&mut self) {
        if self.search != Search::None {
            self.undo();
        }
    }
}

impl<N: Number> Run<'_, N> {
    /// Runs a tick of the first loop. If it turns out to be the last one, stops as soon as that is known, and returns
    /// true.
    fn seek(&mut self, pass: &Pass, t: usize, mut probe: Option<&mut Probe>) -> Result<bool, Suspect> {
        let code = self.code;
        let Some(ending) = &code.ending else { return Ok(false) };
        // As long as the end is not found, no tick is the last one.
        let p = if t == 0 { Position::First } else { Position::Middle };
        self.listed(&code.search[0][p.index()], t, probe.as_deref_mut())?;
        if ending.conds.iter().any(|g| self.holds(std::slice::from_ref(g), t)) {
            return Ok(true);
        }
        self.listed(&code.search[1][p.index()], t, probe)?;
        self.puts_at(&pass.puts, t, p);
        Ok(false)
    }

    fn listed(&mut self, list: &[Entry], t: usize, probe: Option<&mut Probe>) -> Result<(), Suspect> {
        match probe {
            None => self.entries(list, t),
            Some(probe) => self.timed_tick(probe, 0, list, t),
        }
    }

    /// The rest of the last tick of the loop that found the end.
    pub(super) fn close(&mut self, code: &Listed) -> Result<(), Suspect> {
        if let (Some(_), Some(pass)) = (&code.ending, code.passes.first()) {
            let ticks = self.bound.ticks;
            self.entries(&code.search[1][Position::of(ticks - 1, ticks).index()], ticks - 1)?;
            self.puts(&pass.puts, ticks - 1);
        }
        Ok(())
    }
}
