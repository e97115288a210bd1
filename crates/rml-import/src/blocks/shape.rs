//! How the equations of a run are connected, and what a node of them takes and gives.

use std::collections::BTreeMap;

use super::steps::{Steps, apart};
use super::words;
use crate::program::{Rhs, Var};

/// The least saving that a node is made for, in half lines.
pub(super) const LEAST: usize = 16;

/// What is saved by a node in place of `count` runs of that many lines, in half lines. A call is a line, and longer
/// with each further argument and result.
pub(super) fn saved(count: usize, lines: usize, inputs: usize, outputs: usize) -> usize {
    let call = 2 + inputs.saturating_sub(1) + 2 * outputs.saturating_sub(1);
    (2 * count * lines).saturating_sub(count * call + 2 * lines + 4)
}

/// What a step of a run reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Operand {
    /// A result of a step of the run.
    Inside(usize, usize),
    /// A parameter that only the run reads: its number.
    Own(usize),
    Constant,
    /// Anything else.
    Outside,
}

/// Equal runs, and the node that they become.
pub(super) struct Block {
    /// The half lines that are saved.
    pub(super) saved: usize,
    /// The length of the scope that the names of the steps have in common.
    scope: usize,
    /// Where the runs begin, in order.
    pub(super) starts: Vec<usize>,
    pub(super) len: usize,
    /// What each step reads, in order of steps and operands.
    pub(super) operands: Vec<Operand>,
    /// For each operand its number among the arguments, unless it is computed in the node or is a constant of it.
    pub(super) arguments: Vec<Option<usize>>,
    /// For each argument the variables of the runs.
    pub(super) inputs: Vec<Vec<Var>>,
    /// The results that are read outside: of which step, and which one.
    pub(super) outputs: Vec<(usize, usize)>,
}

impl Block {
    /// By what a block is better than another one.
    pub(super) fn rank(&self) -> (usize, usize, std::cmp::Reverse<usize>) {
        (self.saved, self.scope, std::cmp::Reverse(self.starts[0]))
    }
}

/// The blocks among runs of equal steps: those that are connected alike.
pub(super) fn blocks(steps: &Steps<'_>, starts: &[usize], len: usize) -> Vec<Block> {
    let mut classes: BTreeMap<Vec<Operand>, Vec<usize>> = BTreeMap::new();
    for &start in starts {
        classes.entry(operands(steps, start, len)).or_default().push(start);
    }
    classes.into_iter().filter_map(|(operands, starts)| block(steps, &starts, len, operands)).collect()
}

/// The variables that the steps of a run read.
pub(super) fn reads(steps: &Steps<'_>, start: usize, len: usize) -> Vec<Var> {
    let equation = |step: usize| &steps.node.equations[steps.equations[step]];
    (start..start + len).flat_map(|step| equation(step).rhs.operands()).collect()
}

fn operands(steps: &Steps<'_>, start: usize, len: usize) -> Vec<Operand> {
    let mut own: BTreeMap<Var, usize> = BTreeMap::new();
    let run = start..start + len;
    let operand = |var: Var| {
        let Some((k, step)) = steps.definition[var.0] else { return Operand::Outside };
        if let Some(step) = step.filter(|s| run.contains(s)) {
            let place = steps.node.equations[k].lhs.iter().position(|v| *v == var);
            return Operand::Inside(step - start, place.unwrap_or(0));
        }
        match &steps.node.equations[k].rhs {
            Rhs::Const(_) => Operand::Constant,
            Rhs::Param { .. } if steps.readers[var.0].iter().all(|s| run.contains(s)) => {
                let next = own.len();
                Operand::Own(*own.entry(var).or_insert(next))
            }
            Rhs::Param { .. }
            | Rhs::Apply(..)
            | Rhs::Fold { .. }
            | Rhs::If { .. }
            | Rhs::Fby { .. }
            | Rhs::Call { .. }
            | Rhs::Chain { .. } => Operand::Outside,
        }
    };
    reads(steps, start, len).into_iter().map(operand).collect()
}

fn block(steps: &Steps<'_>, starts: &[usize], len: usize, operands: Vec<Operand>) -> Option<Block> {
    let starts: Vec<usize> = apart(starts, len).collect();
    let read: Vec<Vec<Var>> = starts.iter().map(|&start| reads(steps, start, len)).collect();
    let mut inputs: Vec<Vec<Var>> = Vec::new();
    let mut arguments = Vec::new();
    for (i, operand) in operands.iter().enumerate() {
        let vars: Vec<Var> = read.iter().map(|vars| vars[i]).collect();
        let is_input = match operand {
            Operand::Inside(..) | Operand::Own(_) => false,
            Operand::Constant => !same_constant(steps, &vars),
            Operand::Outside => true,
        };
        arguments.push(is_input.then(|| {
            let found = inputs.iter().position(|input| *input == vars);
            found.unwrap_or_else(|| {
                inputs.push(vars);
                inputs.len() - 1
            })
        }));
    }
    let outputs = outputs(steps, &starts, len);
    let own = operands.iter().filter_map(|o| if let Operand::Own(k) = o { Some(k + 1) } else { None });
    let lines = len + own.max().unwrap_or(0);
    let saved = saved(starts.len(), lines, inputs.len(), outputs.len());
    if starts.len() < 2 || saved < LEAST || outputs.is_empty() {
        return None;
    }
    let scope = starts.iter().map(|&start| scope(steps, start, len)).max().unwrap_or(0);
    Some(Block { saved, scope, starts, len, operands, arguments, inputs, outputs })
}

/// Whether variables are constants with the same bits.
fn same_constant(steps: &Steps<'_>, vars: &[Var]) -> bool {
    let value = |var: &Var| {
        let (k, _) = steps.definition[var.0]?;
        if let Rhs::Const(value) = &steps.node.equations[k].rhs { Some(value) } else { None }
    };
    let first = vars.first().and_then(value);
    first.is_some_and(|first| vars.iter().all(|v| value(v).is_some_and(|other| first.same_bits(other))))
}

/// The results of steps that are read outside of some run.
fn outputs(steps: &Steps<'_>, starts: &[usize], len: usize) -> Vec<(usize, usize)> {
    let mut outputs = Vec::new();
    for &start in starts {
        for step in start..start + len {
            for (place, var) in steps.node.equations[steps.equations[step]].lhs.iter().enumerate() {
                if steps.readers[var.0].iter().any(|s| !(start..start + len).contains(s)) {
                    outputs.push((step - start, place));
                }
            }
        }
    }
    outputs.sort_unstable();
    outputs.dedup();
    outputs
}

/// How many words the names of the steps have in common at their beginning.
fn scope(steps: &Steps<'_>, start: usize, len: usize) -> usize {
    let vars = (start..start + len).flat_map(|step| &steps.node.equations[steps.equations[step]].lhs);
    let names: Vec<&str> = vars.filter_map(|v| steps.node.vars[v.0].name.as_deref()).collect();
    words::common_start(&names).len()
}
