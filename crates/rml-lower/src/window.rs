//! From a plan and a number of ticks to the graph of a window.

use rml_ir::op::Op;
use rml_plan::{Ends, Output, Plan, Region};

use crate::batch::Val;
use crate::graph::{Graph, Node};
use crate::lower::{At, Begin, Lower, Source, State};

/// An output at ticks that follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) value: Val,
    /// Where it is present; everywhere if there is none.
    pub(crate) present: Option<Val>,
}

/// The graph of a window.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) graph: Graph,
    pub(crate) sources: Vec<(Source, Node)>,
    /// Registers behind the window.
    pub(crate) registers: Vec<State>,
    pub(crate) outputs: Vec<Vec<Cells>>,
    /// Where the program finds the ends of windows: whether each tick is one.
    pub(crate) ended: Option<Val>,
}

impl Window {
    fn of(lower: Lower<'_>, outputs: Vec<Vec<Cells>>, ended: Option<Val>) -> Self {
        Self { graph: lower.g, sources: lower.sources, registers: lower.registers, outputs, ended }
    }
}

fn region(lower: &mut Lower<'_>, region: &Region) {
    match region {
        Region::Over(parts) => parts.iter().for_each(|part| lower.over(part)),
        Region::Loop { backward, parts, writes, .. } => lower.turn(*backward, parts, writes),
    }
}

fn cells(lower: &mut Lower<'_>, output: &Output) -> Vec<Cells> {
    let mut cells = Vec::new();
    for (from, to, i) in lower.alike(|p| output.cases.iter().position(|(at, ..)| at.contains(p))) {
        let (_, when, atom) = &output.cases[i];
        let at = At::Ticks(from, to);
        if let Some(value) = lower.read(*atom, at) {
            cells.push(Cells { from, to, value, present: lower.holds(when, at) });
        }
    }
    cells
}

/// The graph of a window of that many ticks, of which at least one is done, in which registers are set or not when it
/// begins.
pub(crate) fn window(plan: &Plan, ticks: usize, begins: &[Begin]) -> Window {
    let mut lower = Lower::new(plan, ticks, begins, false);
    for each in &plan.regions {
        region(&mut lower, each);
    }
    let ended = ended(&mut lower);
    lower.commit();
    lower.turn(false, &[], &plan.commits);
    let outputs = plan.outputs.iter().map(|output| cells(&mut lower, output)).collect();
    Window::of(lower, outputs, ended)
}

/// Whether each tick is the last one of a window, where the program says so.
fn ended(lower: &mut Lower<'_>) -> Option<Val> {
    let Ends::Found { conds, .. } = &lower.plan.ends else { return None };
    let at = At::Ticks(0, lower.ticks);
    let ends: Vec<Val> = conds.iter().filter_map(|end| lower.is(*end, at)).collect();
    lower.join(&Op::Or, ends, at)
}

/// The graph of a search for the end of a window in that many ticks; it has no outputs.
pub(crate) fn search(plan: &Plan, ticks: usize, begins: &[Begin]) -> Window {
    let mut lower = Lower::new(plan, ticks, begins, true);
    plan.regions.first().into_iter().for_each(|first| region(&mut lower, first));
    let ended = ended(&mut lower);
    Window::of(lower, Vec::new(), ended)
}
