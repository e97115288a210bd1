//! Runs a node without inputs, which makes its own data, from window to window. Feeding is only a number of cycles, so
//! cycles can be tried and taken back: the end of a window is known only after it has run.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_driver::{Program, show_ends};
use rml_engine::{Block, Feeding, KnownOutputs, Use};
use rml_ir::Value;
use rml_ir::flat::{Rhs, Var};

use crate::engines::Engine;
use crate::runner::incomplete;
use crate::session::Session;

/// A node that runs window by window. A window ends where all outermost windows of the node end; in a node without
/// windows, each cycle is one.
#[derive(Debug)]
pub(crate) struct Rollout {
    session: Session,
    /// The indices of the outputs that are true at ends of windows.
    ends: Vec<usize>,
    /// The fewest cycles of a window so far.
    shortest: Option<usize>,
    /// The most cycles that a window may have.
    longest: usize,
    /// The number of cycles whose outputs were fetched.
    fetched: u64,
}

/// How far to run: to the end of the last of `windows` windows, or to the first end of a window after `cycles` cycles,
/// whichever comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub(crate) windows: u64,
    pub(crate) cycles: u64,
}

impl Reach {
    /// How many windows are within reach, if windows end after these numbers of cycles; at least one.
    fn windows_of(self, ends: &[usize]) -> usize {
        let within = ends.iter().take_while(|cycles| (**cycles as u64) < self.cycles).count();
        let all = usize::try_from(self.windows).unwrap_or(usize::MAX);
        (within + 1).min(all).min(ends.len()).max(1)
    }
}

/// Some windows that have run.
#[derive(Debug)]
pub(crate) struct Stretch {
    pub(crate) windows: u64,
    pub(crate) cycles: u64,
    pub(crate) outputs: Vec<KnownOutputs>,
}

/// The cycles fed since a window began, and their known outputs.
#[derive(Default)]
struct Tried {
    cycles: usize,
    outputs: Vec<KnownOutputs>,
    /// The numbers of cycles after which windows end.
    ends: Vec<usize>,
    known: usize,
}

/// Refuses a program with inputs: there is no data for them.
pub(crate) fn refuse_inputs(program: &Program) -> Result<(), Diagnostic> {
    let Some(input) = program.inputs().first() else { return Ok(()) };
    let what = format!("node {} has inputs, and there is no data that gives them", program.node());
    Err(Diagnostic::error(codes::BAD_OPTION, what)
        .note(format!("the first one is `{}: {}`", input.name, input.ty))
        .help("give the data (`--data FILE`), or let the node make it itself"))
}

impl Rollout {
    /// How many cycles run at once: few enough to notice a signal soon, and enough for a plan to be fast.
    const PIECE: usize = 256;

    /// Opens a program in its initial state.
    ///
    /// # Errors
    /// A program with inputs, or a program that the engine declines.
    pub(crate) fn open(program: &Program, engine: &Engine, longest: usize) -> Result<Self, Error> {
        refuse_inputs(program)?;
        let (program, ends) = show_ends(program);
        let session = Session::open(&program, engine, &Use::new(Feeding::Windows { cycles: None }))?;
        Ok(Self { session, ends, shortest: None, longest, fetched: 0 })
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Runs to the end of a window, within reach.
    ///
    /// # Errors
    /// A run that fails, a window that does not end, or one that waits for cycles after it.
    pub(crate) fn advance(&mut self, reach: Reach) -> Result<Stretch, Error> {
        let before = self.session.snapshot()?;
        let mut tried = Tried::default();
        let mut piece = self.first_piece(reach);
        while tried.ends.is_empty() {
            if tried.cycles >= self.longest {
                let waits = tried.known < tried.cycles;
                return Err(self
                    .waits(tried.cycles)
                    .filter(|_| waits)
                    .unwrap_or_else(|| self.endless(tried.cycles)));
            }
            self.feed(piece, &mut tried)?;
            // Pieces grow, so that a plan that searches for an end from the beginning repeats little work.
            piece = Self::PIECE.max(tried.cycles / 2);
            if self.ends.is_empty() && self.session.open_cycles() > 0 {
                return Err(incomplete(&self.session));
            }
        }
        let windows = reach.windows_of(&tried.ends);
        let cycles = tried.ends[windows - 1];
        if tried.known == cycles {
            self.session.take_back();
        } else {
            // The run went past the end, or a cycle before it still waits.
            self.session.take_back();
            self.session.set_snapshot(&before)?;
            tried = Tried::default();
            self.feed(cycles, &mut tried)?;
            if self.session.open_cycles() > 0 {
                return Err(incomplete(&self.session));
            }
        }
        let lengths = tried.ends.iter().scan(0, |last, end| Some(*end - std::mem::replace(last, *end)));
        self.shortest = lengths.chain(self.shortest).min();
        Ok(Stretch { windows: windows as u64, cycles: cycles as u64, outputs: tried.outputs })
    }

    /// The number of cycles to feed first: whole windows within reach, if all are as long as the shortest one so far.
    fn first_piece(&self, reach: Reach) -> usize {
        let most = usize::try_from(reach.windows).unwrap_or(usize::MAX);
        let shortest = self.shortest.unwrap_or(1);
        let windows = (Self::PIECE / shortest).clamp(1, most.max(1));
        (windows * shortest).min(usize::try_from(reach.cycles).unwrap_or(usize::MAX)).max(1)
    }

    /// Feeds this many cycles, and collects the outputs of complete cycles.
    fn feed(&mut self, cycles: usize, tried: &mut Tried) -> Result<(), Error> {
        self.session.feed_block(&Block::new(cycles, Vec::new()))?;
        tried.cycles += cycles;
        // Outputs of open cycles are not fetched, because these cycles may be taken back and run again.
        let complete = self.session.cycles() - self.session.open_cycles();
        while self.fetched < complete {
            let Some(outputs) = self.session.next_known() else { break };
            self.fetched += outputs.cycles() as u64;
            let mut truths = vec![0; outputs.cycles()];
            for place in &self.ends {
                let count = |t: usize, value: &Value| truths[t] += usize::from(value.as_bool() == Some(true));
                outputs.for_each_value(*place, count).map_err(|f| self.session.fail(f.diagnostic()))?;
            }
            let all = self.ends.len();
            let ends =
                truths.iter().enumerate().filter(|(_, n)| **n == all).map(|(t, _)| tried.known + t + 1);
            tried.ends.extend(ends);
            tried.known += outputs.cycles();
            tried.outputs.push(outputs);
        }
        Ok(())
    }

    /// The error of a rollout whose windows do not end because a `fby back` is outside of all windows: its values wait
    /// for the end of the whole trace.
    fn waits(&self, cycles: usize) -> Option<Error> {
        let program = self.session.program();
        let flat = program.flat();
        let (equation, next) = flat.equations.iter().find_map(|equation| {
            let Rhs::FbyBack { next, window: None, .. } = equation.rhs else { return None };
            Some((equation, next))
        })?;
        let path = [equation.lhs, next].into_iter().find_map(|v| flat.instance(v)).unwrap_or_default();
        let outer = path.split('.').next().filter(|outer| !outer.is_empty());
        let what = format!("no window ended within {cycles} cycles, since values wait for later ones");
        let d = Diagnostic::error(codes::ENDLESS_WINDOW, what);
        let end = self.ends.iter().find_map(|place| flat.vars[flat.outputs[*place]].name.as_deref());
        let end = end.unwrap_or("end");
        let called = outer.and_then(|outer| Some((outer.rsplit_once('_')?.0, program.call(path)?)));
        let d = match called {
            Some((name, call)) => {
                let written = program.sources().snippet(call).trim_end_matches(';');
                let d = d.label(
                    call,
                    format!("`{name}` looks back from the end of a window, and nothing ends it"),
                );
                match written.contains(['\n', ';']) || written.contains(" every ") {
                    true => d.help(format!("call it with `every {end}`: `{name}(..) every {end}`")),
                    false => d.help(format!("write `{written} every {end};`")),
                }
            }
            None => d
                .label(equation.span, "this looks back from the end of a window, and nothing ends it")
                .help(format!("define a node with this equation, and call the node with `every {end}`")),
        };
        Some(self.session.fail(d))
    }

    /// The error that no window ends.
    fn endless(&self, cycles: usize) -> Error {
        let flat = self.session.program().flat();
        let ends: Vec<Var> = self.ends.iter().map(|place| flat.outputs[*place]).collect();
        let what = format!("no window ended within {cycles} cycles");
        let mut d = Diagnostic::error(codes::ENDLESS_WINDOW, what);
        for end in &ends {
            let data = &flat.vars[*end];
            d = d.label(
                data.span,
                match &data.name {
                    Some(name) => format!("a window ends where `{name}` is true"),
                    None => "a window ends where this is true".to_owned(),
                },
            );
        }
        if ends.len() > 1 {
            d = d.note("a window of the whole node ends where all of them are true in one cycle");
        }
        self.session.fail(
            d.help("let the condition become true, for example after a number of steps: `end = t == 31`")
                .help("if windows may be longer, allow it (`--look-ahead CYCLES`)"),
        )
    }
}
