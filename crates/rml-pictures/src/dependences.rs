//! Which cells a value was computed from, read off the flat equations and a finished trace.

use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_ir::flat::{Flat, Init, Rhs, Var, Window};

use crate::chronogram::{Arrow, CellIndex};
use crate::rows::StreamNames;

/// What is known about a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellStatus {
    /// No value in this cycle.
    Absent,
    /// Not determined.
    Unknown,
    /// Determined; `Some` for a scalar truth value.
    Value(Option<bool>),
}

/// The dependences between the cells of the variables `rows`. Variables that are not shown are passed through: an arrow
/// goes from each shown cell that a value was computed from, directly or by way of hidden ones; a copy counts as the
/// variable that it is a copy of. `status` tells what is known about a cell. An arrow to a cell that is not determined
/// comes from a cell that it waits for, which is not determined either. Absent cells have no arrows, and neither have
/// branches that were not taken.
pub fn dependences(
    flat: &Flat,
    rows: &[Var],
    cycles: usize,
    status: &dyn Fn(Var, usize) -> CellStatus,
) -> Vec<Arrow> {
    let names = StreamNames::new(flat);
    let mut row_of: IndexVec<Var, Option<usize>> = IndexVec::filled(None, flat.vars.len());
    for (row, &var) in rows.iter().enumerate() {
        row_of[var] = Some(row);
    }
    for v in flat.vars.ids() {
        row_of[v] = row_of[v].or(row_of[names.group(v)]);
    }
    let finder = Finder { row_of, cells: Cells { flat, names: &names, cycles, status } };
    let mut arrows = Vec::new();
    for (row, &var) in rows.iter().enumerate() {
        for cycle in 0..cycles {
            let to = CellIndex { row, cycle };
            arrows.extend(finder.sources(var, to).into_iter().map(|from| Arrow { from, to }));
        }
    }
    arrows
}

struct Finder<'a> {
    row_of: IndexVec<Var, Option<usize>>,
    cells: Cells<'a>,
}

impl Finder<'_> {
    /// The shown cells that the value of `var` at the place `to` comes from, or that it waits for.
    fn sources(&self, var: Var, to: CellIndex) -> BTreeSet<CellIndex> {
        let mut shown = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = self.cells.operands(var, to.cycle);
        while let Some((var, cycle)) = open.pop() {
            if !seen.insert((var, cycle)) {
                continue;
            }
            match self.row_of.get(var).copied().flatten() {
                Some(row) if (CellIndex { row, cycle }) != to => {
                    shown.insert(CellIndex { row, cycle });
                }
                _ => open.extend(self.cells.operands(var, cycle)),
            }
        }
        shown
    }
}

/// A finished trace of a program: what is known about each variable in each cycle.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    pub(crate) flat: &'a Flat,
    pub(crate) names: &'a StreamNames<'a>,
    pub(crate) cycles: usize,
    pub(crate) status: &'a dyn Fn(Var, usize) -> CellStatus,
}

impl Cells<'_> {
    /// The equation that defines a variable.
    pub(crate) fn rhs(&self, var: Var) -> Option<&Rhs> {
        Some(&self.flat.equations[self.names.definition(var)?].rhs)
    }

    fn is_unknown(&self, var: Var, cycle: usize) -> bool {
        (self.status)(var, cycle) == CellStatus::Unknown
    }

    fn is_value(&self, var: Var, cycle: usize) -> bool {
        matches!((self.status)(var, cycle), CellStatus::Value(_))
    }

    pub(crate) fn is_absent(&self, var: Var, cycle: usize) -> bool {
        (self.status)(var, cycle) == CellStatus::Absent
    }

    pub(crate) fn is_true(&self, var: Var, cycle: usize) -> bool {
        (self.status)(var, cycle) == CellStatus::Value(Some(true))
    }

    /// The cells that one equation computes a cell from; of a cell that is not determined, those that are not
    /// determined either.
    fn operands(&self, var: Var, cycle: usize) -> Vec<(Var, usize)> {
        let Some(rhs) = self.rhs(var) else { return Vec::new() };
        if self.is_unknown(var, cycle) {
            let mut awaited = self.reads(rhs, var, cycle);
            awaited.retain(|&(v, n)| self.is_unknown(v, n));
            return awaited;
        }
        if self.is_value(var, cycle) { self.reads(rhs, var, cycle) } else { Vec::new() }
    }

    /// The cells that an equation reads for a cell that it defines.
    fn reads(&self, rhs: &Rhs, var: Var, cycle: usize) -> Vec<(Var, usize)> {
        let here = |vars: &[Var]| vars.iter().map(|&v| (v, cycle)).collect::<Vec<_>>();
        match rhs {
            Rhs::Const(_) => Vec::new(),
            Rhs::Apply { args, .. } => here(args),
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                let taken = if self.is_true(*cond, cycle) { *a } else { *b };
                // As long as the condition is unknown, so is the branch.
                if self.is_unknown(*cond, cycle) { here(&[*cond]) } else { here(&[*cond, taken]) }
            }
            Rhs::When { value, cond } => here(&[*value, *cond]),
            Rhs::Param { init } => here(&[*init]),
            Rhs::Fby { init, next, window } => {
                self.delayed(self.previous(var, cycle, *window), init, *next, cycle)
            }
            Rhs::FbyBack { init, next, window } => {
                self.delayed(self.next(var, cycle, *window), init, *next, cycle)
            }
            Rhs::Post { next, window } => {
                self.next(var, cycle, *window).map(|m| (*next, m)).into_iter().collect()
            }
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
    pub(crate) fn ends(&self, window: Option<Window>, cycle: usize) -> bool {
        let around = std::iter::successors(window, |w| self.flat.windows.get(*w).and_then(|w| w.parent));
        around.filter_map(|w| self.flat.windows.get(w)).any(|w| self.is_true(w.end, cycle))
    }

    /// The last cycle before `cycle` where `var` is present, in the same window.
    pub(crate) fn previous(&self, var: Var, cycle: usize, window: Option<Window>) -> Option<usize> {
        let before = (0..cycle).rev().take_while(|&m| !self.ends(window, m));
        before.into_iter().find(|&m| (self.status)(var, m) != CellStatus::Absent)
    }

    /// The first cycle after `cycle` where `var` is present, in the same window.
    pub(crate) fn next(&self, var: Var, cycle: usize, window: Option<Window>) -> Option<usize> {
        let after = (cycle + 1..self.cycles).take_while(|&m| !self.ends(window, m - 1));
        after.into_iter().find(|&m| (self.status)(var, m) != CellStatus::Absent)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use indexmap::IndexMap;
    use rml_base::{EntityId, FileId, Span};
    use rml_ir::flat::{ConstKind, Constant, Equation, VarData, WindowData};
    use rml_ir::op::{Binary, Op};
    use rml_ir::{DType, Precision, Type, Value};

    use super::*;

    fn span() -> Span {
        Span::new(FileId::from_index(0), 0, 0)
    }

    /// A program whose variable `k` is defined by the `k`-th entry; `None` = an input.
    fn program(equations: Vec<Option<Rhs>>, windows: &[WindowData]) -> Flat {
        let ty = Type::scalar(DType::Num);
        let data = |_| VarData { name: None, ty: ty.clone(), span: span(), asserts: None, cases: None };
        let constant = Constant { kind: ConstKind::Value(Value::F64(0.0)), ty: ty.clone(), text: None };
        let defined = equations.iter().cloned().enumerate();
        Flat {
            name: Arc::from("main"),
            precision: Precision::F64,
            inputs: Vec::new(),
            outputs: Vec::new(),
            claims: Vec::new(),
            vars: (0..equations.len()).map(data).collect(),
            consts: std::iter::once(constant).collect(),
            random_keys: IndexMap::new(),
            windows: windows.iter().copied().collect(),
            equations: defined
                .filter_map(|(k, rhs)| Some(Equation { lhs: Var::from_index(k), rhs: rhs?, span: span() }))
                .collect(),
            states: IndexMap::new(),
        }
    }

    /// One text a variable: `.` absent, `?` unknown, `t` and `f` truth values, anything else a number.
    fn arrows(flat: &Flat, rows: &[u32], cells: &[&str]) -> Vec<((usize, usize), (usize, usize))> {
        let status = |var: Var, cycle: usize| match cells[var.index()].as_bytes()[cycle] {
            b'.' => CellStatus::Absent,
            b'?' => CellStatus::Unknown,
            b't' => CellStatus::Value(Some(true)),
            b'f' => CellStatus::Value(Some(false)),
            _ => CellStatus::Value(None),
        };
        let rows: Vec<Var> = rows.iter().map(|&v| Var(v)).collect();
        let place = |p: CellIndex| (p.row, p.cycle);
        dependences(flat, &rows, cells[0].len(), &status)
            .into_iter()
            .map(|a| (place(a.from), place(a.to)))
            .collect()
    }

    fn zero() -> Init {
        Init::Const(EntityId::from_index(0))
    }

    #[test]
    fn backfill_reads_the_input_or_its_own_future() {
        // 0 i, 1 bp, 2 o, 3 i when bp, 4 post o, 5 not bp, 6 (post o) when not bp
        let flat = program(
            vec![
                None,
                None,
                Some(Rhs::Merge { cond: Var(1), on_true: Var(3), on_false: Var(6) }),
                Some(Rhs::When { value: Var(0), cond: Var(1) }),
                Some(Rhs::Post { next: Var(2), window: None }),
                Some(Rhs::Apply { op: Op::Not, args: vec![Var(1)] }),
                Some(Rhs::When { value: Var(4), cond: Var(5) }),
            ],
            &[],
        );
        let cells = ["1.23", "f.tf", "2.2?", "..2.", "2.??", "t.ft", "2..?"];
        let (i, bp, o) = (0, 1, 2);
        let expected = [((bp, 0), (o, 0)), ((o, 2), (o, 0)), ((i, 2), (o, 2)), ((bp, 2), (o, 2))];
        assert_eq!(arrows(&flat, &[0, 1, 2], &cells), expected);
    }

    #[test]
    fn what_is_not_determined_points_at_what_it_waits_for() {
        // 0 o = post u, 1 u = o + k, 2 k, 3 u' = copy of u
        let flat = program(
            vec![
                Some(Rhs::Post { next: Var(3), window: None }),
                Some(Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![Var(0), Var(2)] }),
                None,
                Some(Rhs::Apply { op: Op::Copy, args: vec![Var(1)] }),
            ],
            &[],
        );
        let cells = ["??", "??", "11", "??"];
        let (o, u) = (0, 1);
        let expected = [((u, 1), (o, 0)), ((o, 0), (u, 0)), ((o, 1), (u, 1))];
        assert_eq!(arrows(&flat, &[0, 1, 2], &cells), expected);
    }

    #[test]
    fn a_delay_skips_absent_cycles_and_starts_from_its_stream() {
        let delay = Rhs::Fby { init: Init::Stream(Var(0)), next: Var(1), window: None };
        let flat = program(vec![None, None, Some(delay)], &[]);
        let cells = ["1.23", "4.56", "1.45"];
        assert_eq!(arrows(&flat, &[0, 1, 2], &cells), [((0, 0), (2, 0)), ((1, 0), (2, 2)), ((1, 2), (2, 3))]);
    }

    #[test]
    fn windows_cut_delays_in_both_directions() {
        let window = Some(Window::from_index(1));
        let flat = program(
            vec![
                None,
                None,
                None,
                Some(Rhs::Fby { init: zero(), next: Var(0), window }),
                Some(Rhs::FbyBack { init: zero(), next: Var(0), window }),
            ],
            &[
                WindowData { end: Var(1), parent: None },
                WindowData { end: Var(2), parent: Some(Window::from_index(0)) },
            ],
        );
        // A boundary after cycle 1 (the window around) and after cycle 2 (the window itself).
        let cells = ["12345", "ftfff", "fftff", "01004", "20050"];
        let (x, before, after) = (0, 1, 2);
        assert_eq!(
            arrows(&flat, &[0, 3, 4], &cells),
            [((x, 0), (before, 1)), ((x, 3), (before, 4)), ((x, 1), (after, 0)), ((x, 4), (after, 3))]
        );
    }

    #[test]
    fn only_the_branch_taken_and_computed_cells_have_arrows() {
        let choice = Rhs::If { cond: Var(0), then: Var(1), other: Var(2) };
        let flat = program(vec![None, None, None, Some(choice)], &[]);
        let cells = ["tf.", "1?.", "?3.", "13."];
        assert_eq!(
            arrows(&flat, &[0, 1, 2, 3], &cells),
            [((0, 0), (3, 0)), ((1, 0), (3, 0)), ((0, 1), (3, 1)), ((2, 1), (3, 1))]
        );
        let waiting = program(vec![None, Some(Rhs::Post { next: Var(0), window: None })], &[]);
        assert_eq!(arrows(&waiting, &[0, 1], &["12", "2?"]), [((0, 1), (1, 0))]);
    }
}
