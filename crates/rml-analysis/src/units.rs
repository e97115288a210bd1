//! Determines which numbers of a program are on the scale of an input, such as the target of a regression.
//!
//! The loss `mean((o - y) * (o - y))` compares `o` with the input `y`, so `o` is a value of `y`, `o - y` a difference
//! of two such values, and the loss a product of two differences. If `y` was scaled, these numbers can be brought back
//! to its unit:
//!
//! - **U1** what only moves or selects numbers keeps their unit, and so do the mean, the largest and the smallest one.
//!   The numbers of a delay whose next value is made of the one before, as in a memory, have the unit of all that
//!   enters it;
//! - **U2** a number that is computed from parameters and subtracted from a value, or from which one is subtracted, is
//!   a value of the same input;
//! - **U3** the difference of two values, and sums, differences, absolute values and constant multiples of differences
//!   are differences; a value and a difference make a value;
//! - **U4** products, quotients and roots of products of differences have the sum, the difference and the half of their
//!   exponents;
//! - **U5** numbers for which different rules give different units have none, and neither do all others.
//!
//! If the elements of an input have scales of their own, moving and combining elements gives no unit.

use indexmap::{IndexMap, IndexSet};
use rml_base::{IndexVec, Span};
use rml_ir::flat::{Equation, Flat, Init, Rhs, Var};
use rml_ir::op::{Binary, Class, Op, Reduction, Unary};

/// The unit of a number. The first part of a unit is the number of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberUnit {
    /// A value of the input.
    Value(usize),
    /// A product of this many differences of its values.
    Differences(usize, u32),
}

impl NumberUnit {
    fn input(self) -> usize {
        match self {
            NumberUnit::Value(input) | NumberUnit::Differences(input, _) => input,
        }
    }
}

/// The units of variables. `values` are variables that are known to be values of inputs, and `uniform` says for each
/// input whether all its elements have one scale.
///
/// Requires: F1 to F6.
pub fn units(flat: &Flat, values: &[(Var, usize)], uniform: &[bool]) -> IndexMap<Var, NumberUnit> {
    let constants =
        closure(flat, |e| matches!(e.rhs, Rhs::Const(_)), |operands| operands.iter().all(|is| *is));
    let learned = learned(flat);
    let by = flat.equations.iter().map(|e| (e.lhs, e)).collect();
    let found = values.iter().map(|(v, input)| (*v, Some(NumberUnit::Value(*input)))).collect();
    let mut finder = Finder { flat, by, uniform, constants, learned, found, changed: true };
    while std::mem::take(&mut finder.changed) {
        flat.equations.iter().for_each(|e| finder.equation(e));
    }
    finder.found.into_iter().filter_map(|(v, unit)| Some((v, unit?))).collect()
}

/// The first place where numbers on the scale of an input are combined to numbers without a unit, before parameters
/// take part: the number of the input, and the place.
pub fn lost(flat: &Flat, found: &IndexMap<Var, NumberUnit>) -> Option<(usize, Span)> {
    let learned = learned(flat);
    flat.equations.iter().find_map(|e| {
        let is_computed = matches!(e.rhs, Rhs::Apply { .. }) && flat.vars[e.lhs].ty.is_num();
        if !is_computed || learned[e.lhs] || found.contains_key(&e.lhs) {
            return None;
        }
        let mut unit = None;
        e.rhs.for_each_operand(|v| unit = unit.or(found.get(&v)));
        Some((unit?.input(), e.span))
    })
}

/// The variables that are computed from parameters.
fn learned(flat: &Flat) -> IndexVec<Var, bool> {
    let parameters =
        |e: &Equation| flat.states.values().any(|s| s.parameter && flat.equations[s.equation].lhs == e.lhs);
    closure(flat, parameters, |operands| operands.iter().any(|is| *is))
}

/// The variables that equations of a kind define, and those that follow from their operands.
fn closure(
    flat: &Flat,
    begins: impl Fn(&Equation) -> bool,
    follows: impl Fn(&[bool]) -> bool,
) -> IndexVec<Var, bool> {
    let mut found: IndexVec<Var, bool> = flat.vars.iter().map(|_| false).collect();
    flat.equations.iter().filter(|e| begins(e)).for_each(|e| found[e.lhs] = true);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for e in flat.equations.iter() {
            let mut operands = Vec::new();
            e.rhs.for_each_operand(|v| operands.push(found[v]));
            if !found[e.lhs] && !operands.is_empty() && follows(&operands) {
                found[e.lhs] = true;
                changed = true;
            }
        }
    }
    found
}

struct Finder<'f> {
    flat: &'f Flat,
    /// The equation of each variable.
    by: IndexMap<Var, &'f Equation>,
    uniform: &'f [bool],
    constants: IndexVec<Var, bool>,
    /// The variables that are computed from parameters.
    learned: IndexVec<Var, bool>,
    /// The units found; `None` = contradictory.
    found: IndexMap<Var, Option<NumberUnit>>,
    changed: bool,
}

impl Finder<'_> {
    fn of(&self, v: Var) -> Option<NumberUnit> {
        self.found.get(&v).copied().flatten()
    }

    fn set(&mut self, v: Var, unit: NumberUnit) {
        let before = self.found.entry(v).or_insert_with(|| {
            self.changed = true;
            Some(unit)
        });
        if before.is_some_and(|before| before != unit) {
            *before = None;
            self.changed = true;
        }
    }

    fn equation(&mut self, e: &Equation) {
        match &e.rhs {
            Rhs::Const(_) | Rhs::Param { .. } => {}
            Rhs::When { value, .. } => self.moved(e.lhs, &[*value]),
            Rhs::Merge { on_true, on_false, .. } => self.moved(e.lhs, &[*on_true, *on_false]),
            Rhs::If { then, other, .. } => self.moved(e.lhs, &[*then, *other]),
            Rhs::Post { next, .. } => self.moved(e.lhs, &[*next]),
            Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => {
                match init {
                    Init::Stream(init) => self.moved(e.lhs, &[*init, *next]),
                    Init::Const(_) => self.moved(e.lhs, &[*next]),
                }
                if !self.found.contains_key(&e.lhs)
                    && let Some(unit) = self.entering(e.lhs)
                {
                    self.set(e.lhs, unit);
                }
            }
            Rhs::Apply { op, args } => self.apply(e.lhs, op, args),
        }
    }

    /// U1: the result has the unit that all operands have, except for constants. Operands that are computed from
    /// parameters have the unit of the result.
    fn moved(&mut self, lhs: Var, operands: &[Var]) {
        let known: Vec<Option<NumberUnit>> =
            operands.iter().filter(|v| !self.constants[**v]).map(|v| self.of(*v)).collect();
        if let [Some(unit), rest @ ..] = &known[..]
            && rest.iter().all(|other| *other == Some(*unit))
        {
            self.set(lhs, *unit);
        }
        if let Some(unit @ NumberUnit::Value(_)) = self.of(lhs) {
            for v in operands.iter().filter(|v| self.learned[**v]).copied().collect::<Vec<_>>() {
                self.set(v, unit);
            }
        }
    }

    /// U1: the unit of all numbers that are moved to a variable, also by way of itself.
    fn entering(&self, delay: Var) -> Option<NumberUnit> {
        let shape = |v: Var| &self.flat.vars[v].ty.shape;
        let (mut seen, mut waiting) = (IndexSet::new(), vec![delay]);
        let (mut unit, mut is_one_shape) = (None, true);
        while let Some(v) = waiting.pop() {
            if self.constants[v] || !seen.insert(v) {
                continue;
            }
            is_one_shape &= shape(v) == shape(delay);
            match self.found.get(&v) {
                Some(found) if found.is_none() || unit.is_some_and(|unit| *found != Some(unit)) => {
                    return None;
                }
                Some(found) => unit = *found,
                None => waiting.extend(moves(self.by.get(&v)?)?),
            }
        }
        unit.filter(|unit| is_one_shape || self.uniform[unit.input()])
    }

    /// Whether elements of an input's unit may be moved from one of these shapes to the other.
    fn movable(&self, unit: Option<NumberUnit>, lhs: Var, operand: Var) -> bool {
        let shape = |v: Var| &self.flat.vars[v].ty.shape;
        unit.is_some_and(|unit| self.uniform[unit.input()]) || shape(lhs) == shape(operand)
    }

    fn apply(&mut self, lhs: Var, op: &Op, args: &[Var]) {
        let unit = args.iter().find_map(|v| self.of(*v)).or_else(|| self.of(lhs));
        let movable = args.iter().all(|v| self.movable(unit, lhs, *v));
        match op.class() {
            Class::Identity => self.moved(lhs, args),
            // Other positions are zeros.
            Class::Layout if !movable || matches!(op, Op::Unindex { .. }) => {}
            Class::Layout => self.moved(lhs, args),
            Class::Fold if movable => self.fold(lhs, op, args),
            Class::Pointwise => self.pointwise(lhs, op, args),
            Class::Fold | Class::Along | Class::Product | Class::Sliding | Class::Lookup | Class::Random => {}
        }
    }

    fn fold(&mut self, lhs: Var, op: &Op, args: &[Var]) {
        let (&[x], Op::Reduce(reduction, _)) = (args, op) else { return };
        let keeps = match reduction {
            Reduction::Mean | Reduction::Max | Reduction::Min => true,
            Reduction::Sum => matches!(self.of(x), Some(NumberUnit::Differences(_, _))),
            Reduction::Prod | Reduction::LogSumExp | Reduction::ArgMax | Reduction::ArgMin => false,
            Reduction::Any | Reduction::All => false,
        };
        if keeps {
            self.moved(lhs, &[x]);
        }
    }

    fn pointwise(&mut self, lhs: Var, op: &Op, args: &[Var]) {
        // All other operators of the class give truth values, or numbers that rules say nothing about.
        let unit = if let (Op::Binary(binary), &[a, b]) = (op, args) {
            if *binary == Binary::Sub {
                self.compared(a, b);
            }
            self.binary(*binary, a, b)
        } else if let (Op::Unary(unary), &[x]) = (op, args) {
            self.unary(*unary, x)
        } else {
            if let (Op::Where, &[_, a, b]) = (op, args) {
                self.moved(lhs, &[a, b]);
            }
            None
        };
        if let Some(unit) = unit {
            self.set(lhs, unit);
        }
    }

    /// U2.
    fn compared(&mut self, a: Var, b: Var) {
        for (known, other) in [(a, b), (b, a)] {
            if let Some(unit @ NumberUnit::Value(_)) = self.of(known)
                && self.learned[other]
                && !self.found.contains_key(&other)
                && self.movable(Some(unit), known, other)
            {
                self.set(other, unit);
            }
        }
    }

    /// U3, U4.
    fn unary(&self, unary: Unary, x: Var) -> Option<NumberUnit> {
        let NumberUnit::Differences(input, n) = self.of(x)? else { return None };
        match unary {
            Unary::Neg | Unary::Abs | Unary::Relu | Unary::Flush => Some(NumberUnit::Differences(input, n)),
            Unary::Sqrt => n.is_multiple_of(2).then_some(NumberUnit::Differences(input, n / 2)),
            Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round | Unary::Exp | Unary::Expm1 => None,
            Unary::Log | Unary::Log1p | Unary::Sin | Unary::Cos | Unary::Erf | Unary::Gelu => None,
            Unary::Softplus | Unary::Sigmoid | Unary::Tanh => None,
        }
    }

    /// U1, U3, U4.
    fn binary(&self, binary: Binary, a: Var, b: Var) -> Option<NumberUnit> {
        use NumberUnit::{Differences, Value};
        let units = (self.of(a), self.of(b));
        match (binary, units) {
            (Binary::Sub, (Some(Value(x)), Some(Value(y)))) if x == y => Some(Differences(x, 1)),
            (Binary::Add, (Some(Differences(y, 1)), Some(Value(x)))) if x == y => Some(Value(x)),
            (Binary::Add | Binary::Sub, (Some(Value(x)), Some(Differences(y, 1)))) if x == y => {
                Some(Value(x))
            }
            (Binary::Add | Binary::Sub, (Some(Differences(x, n)), Some(Differences(y, m)))) => {
                (x == y && n == m).then_some(Differences(x, n))
            }
            (Binary::Mul, (Some(Differences(x, n)), Some(Differences(y, m)))) if x == y => {
                Some(Differences(x, n + m))
            }
            (Binary::Div, (Some(Differences(x, n)), Some(Differences(y, m)))) if x == y && n > m => {
                Some(Differences(x, n - m))
            }
            (Binary::Mul | Binary::Div, (Some(unit @ Differences(_, _)), None)) if self.constants[b] => {
                Some(unit)
            }
            (Binary::Mul, (None, Some(unit @ Differences(_, _)))) if self.constants[a] => Some(unit),
            (Binary::Minimum | Binary::Maximum, (Some(x), Some(y))) if x == y => Some(x),
            (
                Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Minimum | Binary::Maximum,
                _,
            )
            | (Binary::Mod | Binary::Pow | Binary::Atan2 | Binary::LogAddExp, _) => None,
        }
    }
}

/// The operands whose numbers an equation moves; none if it computes others.
fn moves(e: &Equation) -> Option<Vec<Var>> {
    Some(match &e.rhs {
        Rhs::When { value, .. } => vec![*value],
        Rhs::Merge { on_true, on_false, .. } => vec![*on_true, *on_false],
        Rhs::If { then, other, .. } => vec![*then, *other],
        Rhs::Post { next, .. } => vec![*next],
        Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => match init {
            Init::Stream(init) => vec![*init, *next],
            Init::Const(_) => vec![*next],
        },
        Rhs::Apply { op: Op::Unindex { .. }, .. } => return None,
        Rhs::Apply { op, args } if matches!(op.class(), Class::Identity | Class::Layout) => args.clone(),
        Rhs::Apply { .. } | Rhs::Const(_) | Rhs::Param { .. } => return None,
    })
}
