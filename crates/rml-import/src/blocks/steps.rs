//! The steps of a node.

use super::alike::{self, Alike};
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

    /// The last step that reads a parameter, which only steps read.
    fn owner(&self, var: Var) -> Option<usize> {
        let (k, _) = self.definition[var.0]?;
        let last = *self.readers[var.0].last()?;
        let is_param = matches!(self.node.equations[k].rhs, Rhs::Param { .. });
        (is_param && last != OUTSIDE).then_some(last)
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
