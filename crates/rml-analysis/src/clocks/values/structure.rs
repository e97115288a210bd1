//! Data shared by all computations of the values of a program.

use indexmap::IndexSet;
use rml_base::IndexVec;
use rml_ir::flat::{ConstId, ConstKind, Eq, Flat, Rhs, Var};
use rml_ir::op::{Compare, Op};
use rml_ir::{Type, Value};

use crate::clocks::constant::{ConstKey, const_key};

/// Numbers of constants, by value.
#[derive(Clone, Default, Debug)]
pub(super) struct Constants {
    keys: IndexSet<ConstKey>,
    /// For each constant: its value, if it is a scalar.
    scalars: Vec<Option<Value>>,
}

impl Constants {
    /// The number of a constant; its value is given if it is a scalar.
    fn number(&mut self, key: ConstKey, scalar: Option<&Value>) -> usize {
        let (number, is_new) = self.keys.insert_full(key);
        if is_new {
            self.scalars.push(scalar.cloned());
        }
        number
    }

    /// The number of a scalar.
    pub(super) fn of_scalar(&mut self, value: &Value) -> usize {
        self.number(ConstKey::scalar(value), Some(value))
    }

    /// The value of a constant, if it is a scalar.
    pub(super) fn scalar(&self, number: usize) -> Option<&Value> {
        self.scalars.get(number)?.as_ref()
    }
}

/// The order in which values are computed within a cycle, and the numbers that labels are made of.
pub(super) struct Structure {
    pub(super) definition: IndexVec<Var, Option<Eq>>,
    /// The constants of the program; `constants` is the number of each.
    pub(super) values: Constants,
    pub(super) constants: IndexVec<ConstId, usize>,
    /// The number of the operator of an equation.
    pub(super) operators: IndexVec<Eq, usize>,
    /// Whether an equation is a trained parameter.
    pub(super) parameters: IndexVec<Eq, bool>,
    pub(super) conditions: IndexVec<Var, bool>,
    pub(super) scalars: IndexVec<Var, bool>,
    pub(super) order: Vec<Var>,
    /// Variables that depend on themselves within a cycle: at least one per circle.
    pub(super) circular: IndexVec<Var, bool>,
}

/// The normal forms of comparisons; these operators have the first numbers.
pub(super) const COMPARISONS: [Op; 3] =
    [Op::Compare(Compare::Lt), Op::Compare(Compare::Le), Op::Compare(Compare::Eq)];

impl Structure {
    pub(super) fn new(flat: &Flat) -> Structure {
        let n = flat.vars.len();
        let mut definition = IndexVec::filled(None, n);
        for (eq, equation) in flat.equations.iter_enumerated() {
            definition[equation.lhs] = Some(eq);
        }
        let mut parameters = IndexVec::filled(false, flat.equations.len());
        for state in flat.states.values() {
            parameters[state.equation] = state.parameter;
        }
        let mut values = Constants::default();
        let number = |k: ConstId| {
            let scalar = match &flat.consts[k].kind {
                ConstKind::Value(value) if value.shape().is_scalar() => Some(value),
                _ => None,
            };
            values.number(const_key(flat, k), scalar)
        };
        let constants = flat.consts.ids().map(number).collect();
        let mut operators: IndexSet<&Op> = COMPARISONS.iter().collect();
        let mut structure = Structure {
            definition,
            values,
            constants,
            operators: flat
                .equations
                .iter()
                .map(|equation| match &equation.rhs {
                    Rhs::Apply { op, .. } => operators.insert_full(op).0,
                    _ => usize::MAX,
                })
                .collect(),
            parameters,
            conditions: flat.vars.iter().map(|v| v.ty == Type::condition()).collect(),
            scalars: flat.vars.iter().map(|v| v.ty.shape.is_scalar()).collect(),
            order: Vec::with_capacity(n),
            circular: IndexVec::filled(false, n),
        };
        let mut state = IndexVec::filled(Visit::New, n);
        for v in flat.vars.ids() {
            structure.visit(flat, v, &mut state);
        }
        structure
    }

    /// Appends a variable after its operands, without recursion.
    fn visit(&mut self, flat: &Flat, root: Var, state: &mut IndexVec<Var, Visit>) {
        let mut stack = vec![(root, false)];
        while let Some((v, done)) = stack.pop() {
            if done {
                state[v] = Visit::Done;
                self.order.push(v);
                continue;
            }
            match state[v] {
                Visit::New => {}
                Visit::Open => {
                    self.circular[v] = true;
                    continue;
                }
                Visit::Done => continue,
            }
            state[v] = Visit::Open;
            stack.push((v, true));
            let Some(eq) = self.definition[v] else { continue };
            let rhs = &flat.equations[eq].rhs;
            if is_immediate(rhs) {
                let at = stack.len();
                rhs.for_each_operand(|x| stack.push((x, false)));
                stack[at..].reverse();
            }
        }
    }
}

/// Whether a value is computed from other values of the same cycle.
pub(super) fn is_immediate(rhs: &Rhs) -> bool {
    matches!(rhs, Rhs::Apply { .. } | Rhs::If { .. } | Rhs::When { .. } | Rhs::Merge { .. })
}

#[derive(Clone, Copy, PartialEq, std::cmp::Eq)]
enum Visit {
    New,
    Open,
    Done,
}
