//! Which cells a value was computed from, read off the flat equations and a finished trace.

use std::collections::BTreeSet;

use rml_ir::flat::{Eq, Flat, Init, Rhs, Var, Window};
use rml_base::{EntityId, IndexVec};

use super::{Arrow, Place};

/// What is known of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// No value in this cycle.
    Absent,
    /// Not determined.
    Unknown,
    /// Determined; `Some` for a scalar truth value.
    Value(Option<bool>),
}

/// The dependences between the cells of the variables `rows`. Variables that are not shown are passed through: an arrow goes from
/// each shown cell that a value was computed from, directly or by way of hidden ones. `status` tells what is known of a cell.
/// Cells that were not computed have no arrows, and neither have branches that were not taken.
pub fn dependences(flat: &Flat, rows: &[Var], cycles: usize, status: &dyn Fn(Var, usize) -> Status) -> Vec<Arrow> {
    let mut definitions: IndexVec<Var, Option<Eq>> = IndexVec::filled(None, flat.vars.len());
    for (eq, equation) in flat.equations.iter_enumerated() {
        definitions[equation.lhs] = Some(eq);
    }
    let mut row_of: IndexVec<Var, Option<usize>> = IndexVec::filled(None, flat.vars.len());
    for (row, &var) in rows.iter().enumerate() {
        row_of[var] = Some(row);
    }
    let finder = Finder { flat, definitions, row_of, cycles, status };
    let mut arrows = Vec::new();
    for (row, &var) in rows.iter().enumerate() {
        for cycle in 0..cycles {
            let to = Place { row, cycle };
            arrows.extend(finder.sources(var, cycle).into_iter().map(|from| Arrow { from, to }));
        }
    }
    arrows
}

struct Finder<'a> {
    flat: &'a Flat,
    definitions: IndexVec<Var, Option<Eq>>,
    row_of: IndexVec<Var, Option<usize>>,
    cycles: usize,
    status: &'a dyn Fn(Var, usize) -> Status,
}

impl Finder<'_> {
    /// The shown cells that the value of `var` at `cycle` comes from.
    fn sources(&self, var: Var, cycle: usize) -> BTreeSet<Place> {
        let mut shown = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = self.operands(var, cycle);
        while let Some((var, cycle)) = open.pop() {
            if !seen.insert((var, cycle)) {
                continue;
            }
            match self.row_of.get(var).copied().flatten() {
                Some(row) => {
                    shown.insert(Place { row, cycle });
                }
                None => open.extend(self.operands(var, cycle)),
            }
        }
        shown
    }

    fn is_value(&self, var: Var, cycle: usize) -> bool {
        matches!((self.status)(var, cycle), Status::Value(_))
    }

    fn is_true(&self, var: Var, cycle: usize) -> bool {
        (self.status)(var, cycle) == Status::Value(Some(true))
    }

    /// The cells that one equation computes a cell from.
    fn operands(&self, var: Var, cycle: usize) -> Vec<(Var, usize)> {
        let Some(eq) = self.definitions.get(var).copied().flatten() else { return Vec::new() };
        if !self.is_value(var, cycle) {
            return Vec::new();
        }
        let here = |vars: &[Var]| vars.iter().map(|&v| (v, cycle)).collect::<Vec<_>>();
        match &self.flat.equations[eq].rhs {
            Rhs::Const(_) => Vec::new(),
            Rhs::Apply { args, .. } => here(args),
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                here(&[*cond, if self.is_true(*cond, cycle) { *a } else { *b }])
            }
            Rhs::When { value, cond } => here(&[*value, *cond]),
            Rhs::Param { init } => here(&[*init]),
            Rhs::Fby { init, next, window } => self.delayed(self.previous(var, cycle, *window), init, *next, cycle),
            Rhs::FbyBack { init, next, window } => self.delayed(self.next(var, cycle, *window), init, *next, cycle),
            Rhs::Post { next, window } => self.next(var, cycle, *window).map(|m| (*next, m)).into_iter().collect(),
        }
    }

    fn delayed(&self, neighbour: Option<usize>, init: &Init, next: Var, cycle: usize) -> Vec<(Var, usize)> {
        match (neighbour, init) {
            (Some(m), _) => vec![(next, m)],
            (None, Init::Stream(v)) => vec![(*v, cycle)],
            (None, Init::Const(_)) => Vec::new(),
        }
    }

    /// Whether a window or one around it ends with that cycle.
    fn ends(&self, window: Option<Window>, cycle: usize) -> bool {
        let around = std::iter::successors(window, |w| self.flat.windows.get(*w).and_then(|w| w.parent));
        around.filter_map(|w| self.flat.windows.get(w)).any(|w| self.is_true(w.end, cycle))
    }

    /// The last cycle before `cycle` where `var` is present, in the same window.
    fn previous(&self, var: Var, cycle: usize, window: Option<Window>) -> Option<usize> {
        let before = (0..cycle).rev().take_while(|&m| !self.ends(window, m));
        before.into_iter().find(|&m| (self.status)(var, m) != Status::Absent)
    }

    /// The first cycle after `cycle` where `var` is present, in the same window.
    fn next(&self, var: Var, cycle: usize, window: Option<Window>) -> Option<usize> {
        let after = (cycle + 1..self.cycles).take_while(|&m| !self.ends(window, m - 1));
        after.into_iter().find(|&m| (self.status)(var, m) != Status::Absent)
    }
}
