//! Instants of a program, made up: inputs, parameters and delays have arbitrary values, everything else has the value that its equation
//! gives it. What the table says to be equal is equal at each of them.

use std::hash::{DefaultHasher, Hash, Hasher};

use rml_base::{EntityId, IndexVec};
use rml_ir::flat::{ConstId, ConstKind, Flat, Init, Rhs, Var};
use rml_ir::op::{Op, eval};
use rml_ir::{DType, Value};

use crate::clocks::{ClockData, ClockId, Clocks};

/// How many instants are made up.
const INSTANTS: usize = 32;

/// A value at each instant: of a condition 0 or 1, of anything else a number that stands for it.
pub(super) type Row = [u64; INSTANTS];

/// A value that is the same at all instants.
#[derive(Clone, Debug)]
struct Fixed {
    number: u64,
    /// If it is a scalar.
    value: Option<Value>,
}

pub(super) struct Model {
    /// None for what needs itself within an instant, and what needs that, also in other ones.
    pub(super) rows: IndexVec<Var, Option<Box<Row>>>,
    /// Where a clock ticks: 0 or 1.
    pub(super) clocks: IndexVec<ClockId, Option<Box<Row>>>,
    fixed: IndexVec<Var, Option<Fixed>>,
}

fn number(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A number for two numbers: the same for the same ones, and hardly ever for others.
fn mix(a: u64, b: u64) -> u64 {
    let x = (a ^ b.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b;
    let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 32)
}

pub(super) fn is_delay(rhs: &Rhs) -> bool {
    matches!(rhs, Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. })
}

/// The text of a constant: equal for equal ones.
pub(super) fn constant_text(flat: &Flat, k: ConstId) -> String {
    match &flat.consts[k].kind {
        ConstKind::Value(value) => format!("{} {value:?}", flat.consts[k].ty),
        ConstKind::Random(_) | ConstKind::Apply { .. } => format!("unknown {k}"),
    }
}

impl Model {
    pub(super) fn new(flat: &Flat, clocks: &Clocks) -> Model {
        let n = flat.vars.len();
        let mut model = Model {
            rows: IndexVec::filled(None, n),
            clocks: IndexVec::filled(None, clocks.clocks.len()),
            fixed: IndexVec::filled(None, n),
        };
        let mut order = order(flat);
        let known = known(flat, &order);
        order.retain(|(v, _)| known[*v]);
        // A delay that is said to equal a constant makes more constants.
        while model.pass(flat, clocks, &order) {}
        for ck in clocks.clocks.ids() {
            let row = model.clock(clocks, ck);
            model.clocks[ck] = row.map(Box::new);
        }
        model
    }

    /// The number of a variable that has the same value at all instants.
    pub(super) fn fixed(&self, v: Var) -> Option<u64> {
        self.fixed[v].as_ref().map(|f| f.number)
    }

    /// The number of a constant.
    pub(super) fn fixed_constant(&self, flat: &Flat, k: ConstId) -> u64 {
        match &flat.consts[k].kind {
            ConstKind::Value(value) if value.shape().is_scalar() => of_scalar(value.clone()).number,
            _ => number(constant_text(flat, k)),
        }
    }

    /// Computes all rows; whether more delays are found to be constant than before.
    fn pass(&mut self, flat: &Flat, clocks: &Clocks, order: &[(Var, Option<usize>)]) -> bool {
        for (v, equation) in order {
            let rhs = equation.map(|i| &flat.equations.as_slice()[i].rhs);
            if let Some(rhs) = rhs.filter(|rhs| !is_delay(rhs)) {
                self.fixed[*v] = self.fixed_value(flat, *v, rhs);
            }
            let row = self.row(flat, clocks, *v, rhs);
            let condition = flat.vars[*v].ty == rml_ir::Type::condition();
            if let Some(row) = row.filter(|row| condition && row.iter().all(|n| *n == row[0])) {
                self.fixed[*v] = Some(of_scalar(Value::Bool(row[0] == 1)));
            }
            self.rows[*v] = row.map(Box::new);
        }
        let mut of_class: IndexVec<Var, Option<Fixed>> = IndexVec::filled(None, flat.vars.len());
        for (v, fixed) in self.fixed.iter_enumerated() {
            let class = clocks.same[v];
            if of_class[class].is_none() {
                of_class[class].clone_from(fixed);
            }
        }
        let mut more = false;
        // A parameter may be loaded.
        let is_parameter = |eq| flat.states.values().any(|s| s.parameter && s.equation == eq);
        for (eq, equation) in flat.equations.iter_enumerated().filter(|(_, e)| is_delay(&e.rhs)) {
            let v = equation.lhs;
            if self.fixed[v].is_none() {
                let steady = || self.steady(flat, &equation.rhs).filter(|_| !is_parameter(eq));
                let found = of_class[clocks.same[v]].clone().or_else(steady);
                more |= found.is_some();
                self.fixed[v] = found;
            }
        }
        more
    }

    /// The value of a delay of a constant that begins with it.
    fn steady(&self, flat: &Flat, rhs: &Rhs) -> Option<Fixed> {
        let (init, next) = match rhs {
            Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => (Some(init), *next),
            Rhs::Post { next, .. } => (None, *next),
            _ => return None,
        };
        let begins = match init {
            None => None,
            Some(Init::Stream(i)) => Some(self.fixed(*i)?),
            Some(Init::Const(k)) => Some(self.fixed_constant(flat, *k)),
        };
        self.fixed[next].clone().filter(|f| begins.is_none_or(|b| b == f.number))
    }

    fn fixed_value(&self, flat: &Flat, v: Var, rhs: &Rhs) -> Option<Fixed> {
        match rhs {
            Rhs::Const(k) => match &flat.consts[*k].kind {
                ConstKind::Value(value) if value.shape().is_scalar() => Some(of_scalar(value.clone())),
                _ => Some(Fixed { number: number(constant_text(flat, *k)), value: None }),
            },
            Rhs::When { value, .. } => self.fixed[*value].clone(),
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                let (a, b) = (&self.fixed[*a], &self.fixed[*b]);
                match self.fixed[*cond].as_ref().map(|c| c.number) {
                    Some(0) => b.clone(),
                    Some(_) => a.clone(),
                    None => a.clone().filter(|a| b.as_ref().is_some_and(|b| a.number == b.number)),
                }
            }
            Rhs::Apply { op, args } => {
                let operands: Option<Vec<&Fixed>> = args.iter().map(|a| self.fixed[*a].as_ref()).collect();
                let operands = operands?;
                if keeps_value(flat, v, op, args) {
                    return Some(operands[0].clone());
                }
                let values: Option<Vec<&Value>> = operands.iter().map(|f| f.value.as_ref()).collect();
                let scalar = flat.vars[v].ty.shape.is_scalar();
                if let Some(values) = values.filter(|all| scalar && !all.is_empty())
                    && let Ok(value) = eval(op, &values, flat.precision)
                {
                    return Some(of_scalar(value));
                }
                if flat.vars[v].ty == rml_ir::Type::condition() {
                    return None;
                }
                let numbers: Vec<u64> = operands.iter().map(|f| f.number).collect();
                Some(Fixed { number: number((op, numbers)), value: None })
            }
            _ => None,
        }
    }

    fn clock(&self, clocks: &Clocks, ck: ClockId) -> Option<Row> {
        match clocks.clocks[ck] {
            ClockData::Base => Some([1; INSTANTS]),
            ClockData::Unknown => {
                let own = number(("clock", ck));
                Some(std::array::from_fn(|i| mix(own, i as u64) & 1))
            }
            ClockData::On { parent, cond, positive } => {
                let (of, cond) = (self.clocks[parent].as_ref()?, self.rows[cond].as_ref()?);
                Some(std::array::from_fn(|i| of[i] & u64::from((cond[i] == 1) == positive)))
            }
        }
    }

    fn row(&self, flat: &Flat, clocks: &Clocks, v: Var, rhs: Option<&Rhs>) -> Option<Row> {
        if let Some(fixed) = &self.fixed[v] {
            return Some([fixed.number; INSTANTS]);
        }
        let condition = flat.vars[v].ty == rml_ir::Type::condition();
        let bit = |n: u64| if condition { n & 1 } else { n };
        let get = |x: &Var| self.rows[*x].as_ref();
        match rhs {
            None | Some(Rhs::Param { .. }) => {
                let own = number(("own", v));
                Some(std::array::from_fn(|i| bit(mix(own, i as u64))))
            }
            Some(rhs) if is_delay(rhs) => {
                let class = number(("delay", clocks.same[v]));
                Some(std::array::from_fn(|i| bit(mix(class, i as u64))))
            }
            Some(Rhs::When { value, .. }) => get(value).map(|r| **r),
            Some(Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b }) => {
                let (c, a, b) = (get(cond)?, get(a)?, get(b)?);
                Some(std::array::from_fn(|i| if c[i] == 1 { a[i] } else { b[i] }))
            }
            Some(Rhs::Apply { op, args }) => {
                let rows: Option<Vec<&Box<Row>>> = args.iter().map(get).collect();
                let rows = rows?;
                if keeps_value(flat, v, op, args) {
                    return Some(**rows[0]);
                }
                let scalars = args.iter().all(|a| flat.vars[*a].ty.shape.is_scalar());
                let op_number = number(op);
                Some(std::array::from_fn(|i| match rows[..] {
                    [a] if scalars && *op == Op::Not => 1 - a[i],
                    [a, b] if scalars && is_logic(op) => logic(op, flat.vars[args[0]].ty.dtype, a[i], b[i]),
                    _ => bit(rows.iter().fold(op_number, |n, r| mix(n, r[i]))),
                }))
            }
            Some(_) => None,
        }
    }
}

fn of_scalar(value: Value) -> Fixed {
    let number = match value {
        Value::Bool(b) => u64::from(b),
        _ => number(format!("{} {value:?}", value.ty())),
    };
    Fixed { number, value: Some(value) }
}

fn is_logic(op: &Op) -> bool {
    matches!(op, Op::And | Op::Or | Op::Eq | Op::Ne | Op::Lt | Op::Gt | Op::Le | Op::Ge)
}

/// Operators on conditions, and comparisons: arbitrary ones of different numbers, but with one answer to what asks the same.
fn logic(op: &Op, dtype: DType, a: u64, b: u64) -> u64 {
    let less = |a: u64, b: u64| if a == b { 0 } else { mix(mix(1, a), b) & 1 };
    let at_most = |a: u64, b: u64| match dtype {
        DType::Int => 1 - less(b, a),
        // Neither holds of what is no number.
        _ => mix(mix(2, a), b) & 1,
    };
    let equal = u64::from(a == b);
    match (op, dtype) {
        (Op::And, _) => a & b,
        (Op::Or, _) => a | b,
        (Op::Eq, DType::Bool) => equal,
        (Op::Ne, DType::Bool) => 1 - equal,
        (Op::Eq, _) => equal | (mix(mix(3, a.min(b)), a.max(b)) & 1),
        (Op::Ne, _) => 1 - (equal | (mix(mix(3, a.min(b)), a.max(b)) & 1)),
        (Op::Lt, _) => less(a, b),
        (Op::Gt, _) => less(b, a),
        (Op::Le, _) => at_most(a, b),
        _ => at_most(b, a),
    }
}

fn keeps_value(flat: &Flat, v: Var, op: &Op, args: &[Var]) -> bool {
    let keeps = matches!(
        op,
        Op::Copy | Op::StopGradient | Op::Reshape { .. } | Op::Broadcast { .. } | Op::SumTo { .. }
    );
    keeps && flat.vars[args[0]].ty == flat.vars[v].ty
}

/// Of those variables, all that need no others: a delay of something unknown may have been found to be constant by its form.
fn known(flat: &Flat, order: &[(Var, Option<usize>)]) -> IndexVec<Var, bool> {
    let mut known = IndexVec::filled(false, flat.vars.len());
    let mut readers: IndexVec<Var, Vec<Var>> = IndexVec::filled(Vec::new(), flat.vars.len());
    for equation in &flat.equations {
        equation.rhs.for_each_operand(|x| readers[x].push(equation.lhs));
    }
    order.iter().for_each(|(v, _)| known[*v] = true);
    let mut pending: Vec<Var> = flat.vars.ids().filter(|v| !known[*v]).collect();
    while let Some(v) = pending.pop() {
        for reader in &readers[v] {
            if std::mem::replace(&mut known[*reader], false) {
                pending.push(*reader);
            }
        }
    }
    known
}

/// The variables, each with its equation, after what it needs at the same instant; without those that need themselves.
fn order(flat: &Flat) -> Vec<(Var, Option<usize>)> {
    let n = flat.vars.len();
    let mut equation: IndexVec<Var, Option<usize>> = IndexVec::filled(None, n);
    let mut missing: IndexVec<Var, usize> = IndexVec::filled(0, n);
    let mut readers: IndexVec<Var, Vec<Var>> = IndexVec::filled(Vec::new(), n);
    for (i, e) in flat.equations.iter().enumerate() {
        equation[e.lhs] = Some(i);
        if !is_delay(&e.rhs) && !matches!(e.rhs, Rhs::Param { .. }) {
            e.rhs.for_each_operand(|x| {
                missing[e.lhs] += 1;
                readers[x].push(e.lhs);
            });
        }
    }
    let mut order: Vec<(Var, Option<usize>)> = Vec::with_capacity(n);
    let mut free: Vec<Var> = (0..n).map(Var::from_index).filter(|v| missing[*v] == 0).collect();
    while let Some(v) = free.pop() {
        order.push((v, equation[v]));
        for reader in &readers[v] {
            missing[*reader] -= 1;
            if missing[*reader] == 0 {
                free.push(*reader);
            }
        }
    }
    order
}
