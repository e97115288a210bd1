//! Runs of equations that are the same, and which of them save most.

use super::alike::{self, Alike};
use super::shape::{self, Block};
use crate::program::{Node, Rhs, Var};

/// The steps of a node: the equations that compute something, in order. Constants and parameters belong to the steps
/// that read them.
pub(super) struct Steps<'n> {
    pub(super) node: &'n Node,
    /// The equation of each step.
    pub(super) equations: Vec<usize>,
    /// What each step is.
    pub(super) labels: Vec<usize>,
    /// The equation of each variable, and the step that it is.
    pub(super) definition: Vec<Option<(usize, Option<usize>)>>,
    /// The steps that read each variable; for an output, or what a delay reads, one that does not exist.
    pub(super) readers: Vec<Vec<usize>>,
    /// How many lines the steps before each one are, with their parameters.
    pub(super) lines: Vec<usize>,
}

/// The number of a reader that is no step.
const OUTSIDE: usize = usize::MAX;

/// A run that may repeat.
struct Run {
    /// At most how much is saved.
    most: usize,
    start: usize,
    len: usize,
}

impl<'n> Steps<'n> {
    pub(super) fn of(node: &'n Node, alike: &mut Alike) -> Self {
        let n = node.vars.len();
        let mut steps = Self {
            node,
            equations: Vec::new(),
            labels: Vec::new(),
            definition: vec![None; n],
            readers: vec![Vec::new(); n],
            lines: Vec::new(),
        };
        for (k, equation) in node.equations.iter().enumerate() {
            let is_step = !matches!(equation.rhs, Rhs::Const(_) | Rhs::Param { .. });
            let step = is_step.then_some(steps.equations.len());
            equation.lhs.iter().for_each(|v| steps.definition[v.0] = Some((k, step)));
            if let Some(step) = step {
                steps.equations.push(k);
                equation.rhs.operands().iter().for_each(|v| steps.readers[v.0].push(step));
            }
        }
        for equation in &node.equations {
            if let Rhs::Fby { init, next } = equation.rhs {
                [init, next].iter().for_each(|v| steps.readers[v.0].push(OUTSIDE));
            }
        }
        node.outputs.iter().for_each(|v| steps.readers[v.0].push(OUTSIDE));
        steps.label(alike);
        steps.count();
        steps
    }

    fn label(&mut self, alike: &mut Alike) {
        for (step, &k) in self.equations.iter().enumerate() {
            let equation = &self.node.equations[k];
            // Delays and chains are in no block.
            let own = match equation.rhs {
                Rhs::Fby { .. } | Rhs::Chain { .. } => format!(" {step}"),
                Rhs::Const(_)
                | Rhs::Apply(..)
                | Rhs::Fold { .. }
                | Rhs::Param { .. }
                | Rhs::If { .. }
                | Rhs::Call { .. } => String::new(),
            };
            let types = |vars: &[Var]| vars.iter().map(|v| format!(" {}", self.kind(*v))).collect::<String>();
            let of = types(&equation.rhs.operands());
            let text = format!("{}{own}{of} ->{}", alike::what(equation), types(&equation.lhs));
            self.labels.push(alike.number(text));
        }
    }

    /// The type of a variable, and whether it is a constant or a parameter.
    fn kind(&self, var: Var) -> String {
        let what = match self.definition[var.0].map(|(k, _)| &self.node.equations[k].rhs) {
            Some(Rhs::Const(_)) => "constant",
            Some(Rhs::Param { frozen, .. }) => {
                if *frozen {
                    "frozen"
                } else {
                    "parameter"
                }
            }
            Some(
                Rhs::Apply(..)
                | Rhs::Fold { .. }
                | Rhs::If { .. }
                | Rhs::Fby { .. }
                | Rhs::Call { .. }
                | Rhs::Chain { .. },
            )
            | None => "",
        };
        format!("{what}{}", self.node.ty(var))
    }

    fn count(&mut self) {
        let mut lines = 0;
        for (step, &k) in self.equations.iter().enumerate() {
            self.lines.push(lines);
            let mut read = self.node.equations[k].rhs.operands();
            read.sort_unstable();
            read.dedup();
            lines += 1 + read.iter().filter(|v| self.owner(**v) == Some(step)).count();
        }
        self.lines.push(lines);
    }

    /// The only step that reads a parameter.
    fn owner(&self, var: Var) -> Option<usize> {
        let (k, _) = self.definition[var.0]?;
        let (first, last) = (self.readers[var.0].first()?, self.readers[var.0].last()?);
        let is_param = matches!(self.node.equations[k].rhs, Rhs::Param { .. });
        (is_param && first == last).then_some(*first)
    }

    /// The runs that occur several times, those first that may save most.
    fn runs(&self, work: &mut usize) -> Vec<Run> {
        let n = self.labels.len();
        let mut hashes = vec![0_u64; n];
        let mut starts: Vec<usize> = (0..n).collect();
        let mut runs = Vec::new();
        for len in 1..=n / 2 {
            starts.retain(|s| s + len <= n);
            if starts.is_empty() || *work < starts.len() {
                break;
            }
            *work -= starts.len();
            for &s in &starts {
                let label = self.labels[s + len - 1] as u64 + 1;
                hashes[s] = (hashes[s] ^ label).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            }
            starts.sort_unstable_by_key(|s| (hashes[*s], *s));
            let mut again = Vec::new();
            for group in starts.chunk_by(|a, b| hashes[*a] == hashes[*b]) {
                let count = apart(group, len).count();
                if count < 2 {
                    continue;
                }
                again.extend_from_slice(group);
                let lines = self.lines[group[0] + len] - self.lines[group[0]];
                runs.push(Run { most: shape::saved(count, lines, 1, 1), start: group[0], len });
            }
            starts = again;
        }
        runs.retain(|run| run.most >= shape::LEAST);
        runs.sort_by(|a, b| b.most.cmp(&a.most).then(a.start.cmp(&b.start)));
        runs
    }

    /// Where a run occurs.
    fn occurrences(&self, run: &Run) -> Vec<usize> {
        let labels = &self.labels[run.start..run.start + run.len];
        let windows = self.labels.windows(run.len).enumerate();
        windows.filter(|(_, window)| *window == labels).map(|(s, _)| s).collect()
    }
}

/// The starts of runs of a length that do not overlap.
pub(super) fn apart(starts: &[usize], len: usize) -> impl Iterator<Item = usize> {
    let mut end = 0;
    starts.iter().copied().filter(move |&s| {
        let is_free = s >= end;
        if is_free {
            end = s + len;
        }
        is_free
    })
}

/// The block of a node that saves most.
pub(super) fn best(node: &Node, alike: &mut Alike, work: &mut usize) -> Option<Block> {
    let steps = Steps::of(node, alike);
    let mut best: Option<Block> = None;
    for run in steps.runs(work) {
        if best.as_ref().is_some_and(|b| b.saved > run.most) || *work < steps.labels.len() {
            break;
        }
        *work -= steps.labels.len();
        let starts = steps.occurrences(&run);
        for block in shape::blocks(&steps, &starts, run.len) {
            if best.as_ref().is_none_or(|b| block.rank() > b.rank()) {
                best = Some(block);
            }
        }
    }
    best
}
