//! Proves that two clocks differ, by inputs that make them differ.
//!
//! An atom is *free* if inputs can make it true and can make it false: a bool input, a delay outside windows of
//! something free, or a comparison of a value that can be any value of its type. Consider an assignment of atoms that
//! makes the clocks differ. If all its atoms are free, and no two of them depend on the same input in the same cycle,
//! then some inputs produce this assignment.

use std::cell::Cell;
use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_ir::flat::{ConstKind, Eq, Flat, Rhs, Var};
use rml_ir::op::{AxisIndex, Binary, Compare, Op, Unary};
use rml_ir::{DType, Value};

use super::bdd::{Atom, FALSE, Node, TRUE};
use super::infer::Inferred;
use super::values::Values;

/// The maximum number of assignments to try.
const WAYS: usize = 64;
/// The maximum number of steps of the search for free atoms.
const STEPS: usize = 20_000;
/// The maximum magnitude of a constant for which inputs are assumed to be both above and below it.
const MODERATE: f64 = 1e15;

/// The maximum distance from a cycle at which different cycles of an input are distinguished.
const REACH: i64 = 8;

/// An input, and how many cycles after the given cycle it is read (before it, if negative); `None` means that it may be
/// read in any cycle.
type Read = (Var, Option<i64>);

/// Conditions with the values that make two clocks differ.
pub(super) type Witness = Vec<(Var, bool)>;

/// Searches for witnesses in one program.
pub(super) struct Witnesses<'a> {
    flat: &'a Flat,
    values: &'a Values,
    inferred: &'a Inferred,
    definition: IndexVec<Var, Option<Eq>>,
    steps: Cell<usize>,
}

impl<'a> Witnesses<'a> {
    pub(super) fn new(flat: &'a Flat, inferred: &'a Inferred, values: &'a Values) -> Self {
        let mut definition = IndexVec::filled(None, flat.vars.len());
        for (eq, equation) in flat.equations.iter_enumerated() {
            definition[equation.lhs] = Some(eq);
        }
        Self { flat, values, inferred, definition, steps: Cell::new(STEPS) }
    }

    /// Values of conditions that make a function true and that some inputs produce.
    pub(super) fn find(&self, function: Node) -> Option<Witness> {
        let mut path = BTreeSet::new();
        let mut ways = self.values.bdd.ways(function, WAYS);
        ways.sort_by_key(Vec::len);
        let way = ways.into_iter().find(|way| {
            let atoms: Vec<Atom> = way.iter().map(|(a, _)| *a).collect();
            self.are_free(&atoms, &mut path)
        })?;
        way.into_iter().map(|(atom, value)| Some((self.values.atoms[atom as usize]?, value))).collect()
    }

    /// Whether inputs can give any combination of values to all of these atoms.
    fn are_free(&self, atoms: &[Atom], path: &mut BTreeSet<Var>) -> bool {
        let mut used: BTreeSet<Read> = BTreeSet::new();
        atoms.iter().all(|atom| {
            let Some(v) = self.values.atoms[*atom as usize] else { return false };
            let inputs = self.inputs(v);
            let are_apart = apart(&inputs, &used);
            used.extend(inputs);
            are_apart && self.is_free_atom(v, path)
        })
    }

    /// Whether inputs can make a condition true and can make it false.
    fn is_free_condition(&self, v: Var, path: &mut BTreeSet<Var>) -> bool {
        let Some(node) = self.values.conditions[v] else { return false };
        node != TRUE && node != FALSE && self.are_free(&self.values.bdd.support(node), path)
    }

    fn is_free_atom(&self, v: Var, path: &mut BTreeSet<Var>) -> bool {
        let Some(eq) = self.definition[v] else { return true };
        let Some(left) = self.steps.get().checked_sub(1) else { return false };
        self.steps.set(left);
        if !path.insert(v) {
            return false;
        }
        let free = match &self.flat.equations[eq].rhs {
            Rhs::Fby { next, window: None, .. }
            | Rhs::FbyBack { next, window: None, .. }
            | Rhs::Post { next, window: None } => self.is_free_condition(*next, path),
            Rhs::Apply { op, args } => self.is_free_comparison(op, args, path),
            _ => false,
        };
        path.remove(&v);
        free
    }

    fn is_free_comparison(&self, op: &Op, args: &[Var], path: &mut BTreeSet<Var>) -> bool {
        let exact = match op {
            Op::Compare(Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge) => false,
            Op::Compare(Compare::Eq | Compare::Ne) => true,
            _ => return false,
        };
        let &[a, b] = args else { return false };
        let mut side = |x: Var, other: Var| {
            let are_apart = apart(&self.inputs(x), &self.inputs(other));
            let is_placed = self.is_moderate(other) || self.takes_all(other, exact, path);
            are_apart && is_placed && self.takes_all(x, exact, path)
        };
        side(a, b) || side(b, a)
    }

    /// Whether inputs can give almost any value to a scalar; with `exact`, every value.
    fn takes_all(&self, v: Var, exact: bool, path: &mut BTreeSet<Var>) -> bool {
        let is_num = self.flat.vars[v].ty.dtype == DType::Num;
        let Some(eq) = self.definition[v] else { return true };
        let Some(left) = self.steps.get().checked_sub(1) else { return false };
        self.steps.set(left);
        if !path.insert(v) {
            return false;
        }
        let free = match &self.flat.equations[eq].rhs {
            Rhs::When { value, .. } => self.takes_all(*value, exact, path),
            Rhs::Fby { next, window: None, .. }
            | Rhs::FbyBack { next, window: None, .. }
            | Rhs::Post { next, window: None } => self.takes_all(*next, exact, path),
            Rhs::Apply { op, args } => match (op, args.as_slice()) {
                (Op::Copy | Op::StopGradient | Op::Unary(Unary::Neg), [x]) => self.takes_all(*x, exact, path),
                (Op::Index { items }, [x]) => {
                    items.iter().all(|i| matches!(i, AxisIndex::At(_))) && self.takes_all(*x, exact, path)
                }
                (Op::Binary(Binary::Add | Binary::Sub), [a, b]) if !(is_num && exact) => {
                    (self.is_moderate(*b) && self.takes_all(*a, exact, path))
                        || (self.is_moderate(*a) && self.takes_all(*b, exact, path))
                }
                _ => false,
            },
            _ => false,
        };
        path.remove(&v);
        free
    }

    /// Whether a variable is a constant that is neither very large nor NaN.
    fn is_moderate(&self, v: Var) -> bool {
        let Some(eq) = self.definition[v] else { return false };
        match &self.flat.equations[eq].rhs {
            Rhs::Const(k) => match &self.flat.consts[*k].kind {
                #[allow(clippy::cast_precision_loss, reason = "only the magnitude counts")]
                ConstKind::Value(Value::Int(i)) => (*i as f64).abs() < MODERATE,
                ConstKind::Value(value) => value.as_num().is_some_and(|x| x.abs() < MODERATE),
                ConstKind::Random(_) | ConstKind::Apply { .. } => false,
            },
            Rhs::Apply { op: Op::Copy | Op::Unary(Unary::Neg), args } => {
                args.first().is_some_and(|x| self.is_moderate_constant(*x))
            }
            Rhs::When { value, .. } => self.is_moderate_constant(*value),
            _ => false,
        }
    }

    fn is_moderate_constant(&self, v: Var) -> bool {
        let is_const = |eq: Eq| matches!(self.flat.equations[eq].rhs, Rhs::Const(_));
        self.definition[v].is_some_and(is_const) && self.is_moderate(v)
    }

    /// The inputs on which a variable depends in a cycle that is far from both ends of the trace. Through delays that
    /// tick in every cycle and never restart, the cycle in which an input is read is known.
    fn inputs(&self, v: Var) -> BTreeSet<Read> {
        let mut seen = BTreeSet::from([(v, Some(0))]);
        let mut stack = vec![(v, Some(0))];
        let mut inputs = BTreeSet::new();
        while let Some((v, at)) = stack.pop() {
            let Some(eq) = self.definition[v] else {
                inputs.insert((v, at));
                continue;
            };
            let reads = self.reads(v, &self.flat.equations[eq].rhs, at);
            stack.extend(reads.into_iter().filter(|read| seen.insert(*read)));
        }
        inputs
    }

    /// The variables that `rhs`, the right side of the equation of `v`, reads.
    fn reads(&self, v: Var, rhs: &Rhs, at: Option<i64>) -> Vec<Read> {
        let presence = self.values.presences[self.inferred.of[v]];
        let counts_all = rhs.window().is_none() && presence.root.is_none() && presence.on == TRUE;
        let step = match rhs {
            Rhs::Fby { .. } if counts_all => Some(-1),
            Rhs::FbyBack { .. } | Rhs::Post { .. } if counts_all => Some(1),
            Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => None,
            _ => Some(0),
        };
        let there = at.zip(step).map(|(at, step)| at + step).filter(|at| at.abs() <= REACH);
        let mut reads = Vec::new();
        rhs.for_each_operand(|x| reads.push((x, there)));
        let mut window = rhs.window();
        while let Some(w) = window {
            reads.push((self.flat.windows[w].end, None));
            window = self.flat.windows[w].parent;
        }
        reads
    }
}

/// Whether no input is in both sets for the same cycle.
fn apart(one: &BTreeSet<Read>, other: &BTreeSet<Read>) -> bool {
    one.iter().all(|&(v, at)| {
        let of_input = || other.range((v, None)..=(v, Some(i64::MAX))).map(|(_, other)| *other);
        of_input().all(|other| at.is_some() && other.is_some() && at != other)
    })
}
