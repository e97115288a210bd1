//! The terms over inputs, parameters and delays from which variables are computed. Two variables with the same term
//! have the same value in every cycle in which both are known.
//!
//! Sampling keeps values, so `when x c` has the term of `x`. Delays that the table declares to be the same have one
//! term: this is the hypothesis of an induction over the order in which a run finds values, and
//! [`meaning`](super::meaning) proves the step.

use indexmap::{IndexMap, IndexSet};
use rml_base::IndexVec;
use rml_ir::flat::{ConstId, ConstKind, Eq, Flat, Init, Rhs, Var};
use rml_ir::op::{Compare, Op, eval};
use rml_ir::{DType, Data, Shape, Type, Value};

use super::functions::{Function, Functions};
use crate::clocks::{ClockData, ClockId, Clocks};

/// The number of a term.
pub(super) type TermId = usize;

#[derive(Clone, PartialEq, std::cmp::Eq, Hash, Debug)]
enum Term {
    /// An input, a parameter, or a value that needs itself within a cycle.
    Own(Var),
    /// A delay; the first one represents those that are declared to be the same.
    Delay(Var),
    /// A constant with equal elements: its shape, and the type and the bits of its elements.
    Uniform(Shape, DType, u64),
    /// Any other constant.
    Constant(ConstId),
    Condition(Function),
    Apply(Op, Vec<TermId>),
    If(TermId, TermId, TermId),
    /// The ticks of a clock where a condition is true, if this function is too large.
    Sampled(Ticks, Function),
}

/// The ticks of a clock: its root ticks, and a function of conditions is true.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Ticks {
    root: ClockId,
    on: Function,
}

pub(super) struct Terms<'a> {
    flat: &'a Flat,
    clocks: &'a Clocks,
    definitions: IndexVec<Var, Option<Eq>>,
    parameters: IndexVec<Eq, bool>,
    constants: IndexVec<ConstId, Term>,
    /// For each delay: the constant that it always returns, if that is proved.
    steady: IndexVec<Eq, Option<Term>>,
    terms: IndexSet<Term>,
    /// For each term: its value, if it is a scalar constant.
    scalars: Vec<Option<Value>>,
    /// The values of scalar constants. A delay may return such a constant before a variable with that constant is
    /// visited.
    values: IndexMap<Term, Value>,
    /// The conditions that cannot be decomposed; each is a function of its own.
    atoms: IndexSet<Term>,
    atom_functions: Vec<Function>,
    functions: Functions,
    of: IndexVec<Var, Option<TermId>>,
    conditions: IndexVec<Var, Option<Function>>,
    ticks: IndexVec<ClockId, Ticks>,
}

pub(super) fn is_delay(rhs: &Rhs) -> bool {
    matches!(rhs, Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. })
}

/// The first value of a delay, if it has one, and the delayed variable.
pub(super) fn parts(rhs: &Rhs) -> Option<(Option<&Init>, Var)> {
    match rhs {
        Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => Some((Some(init), *next)),
        Rhs::Post { next, .. } => Some((None, *next)),
        _ => None,
    }
}

impl<'a> Terms<'a> {
    pub(super) fn new(flat: &'a Flat, clocks: &'a Clocks) -> Terms<'a> {
        let mut definitions = IndexVec::filled(None, flat.vars.len());
        for (eq, equation) in flat.equations.iter_enumerated() {
            definitions[equation.lhs] = Some(eq);
        }
        let mut parameters = IndexVec::filled(false, flat.equations.len());
        for state in flat.states.values() {
            parameters[state.equation] = state.parameter;
        }
        let mut terms = Terms {
            flat,
            clocks,
            definitions,
            parameters,
            constants: flat.consts.ids().map(|k| of_constant(flat, k)).collect(),
            steady: IndexVec::filled(None, flat.equations.len()),
            terms: IndexSet::new(),
            scalars: Vec::new(),
            values: IndexMap::new(),
            atoms: IndexSet::new(),
            atom_functions: Vec::new(),
            functions: Functions::new(),
            of: IndexVec::new(),
            conditions: IndexVec::new(),
            ticks: IndexVec::new(),
        };
        for (function, value) in [(Function::ALWAYS, true), (Function::NEVER, false)] {
            terms.values.insert(Term::Condition(function), Value::Bool(value));
        }
        for (k, data) in flat.consts.iter_enumerated() {
            if let ConstKind::Value(value) = &data.kind
                && value.shape().is_scalar()
            {
                terms.values.insert(terms.constants[k].clone(), value.clone());
            }
        }
        let order = terms.order();
        loop {
            terms.compute(&order);
            if !terms.find_steady() {
                return terms;
            }
        }
    }

    /// The term of a variable.
    pub(super) fn of(&self, v: Var) -> TermId {
        self.of[v].expect("every variable is in the order")
    }

    /// The ticks of a clock.
    pub(super) fn ticks(&self, clock: ClockId) -> Ticks {
        self.ticks[clock]
    }

    /// The ticks of a variable's clock in which a condition on it has a value.
    pub(super) fn sampled(&mut self, cond: Var, value: bool) -> Ticks {
        let clock = self.ticks[self.clocks.of[cond]];
        self.sample(clock, cond, value)
    }

    /// Whether inference also decomposes all conditions that are decomposed here.
    pub(super) fn are_small(&self) -> bool {
        self.functions.are_small()
    }

    /// Whether a delay always returns one constant.
    pub(super) fn is_steady(&self, eq: Eq) -> bool {
        self.steady[eq].is_some()
    }

    pub(super) fn is_parameter(&self, eq: Eq) -> bool {
        self.parameters[eq]
    }

    /// Whether two constants are certainly equal.
    pub(super) fn are_equal(&self, a: ConstId, b: ConstId) -> bool {
        self.constants[a] == self.constants[b]
    }

    /// The variables, each after the variables from which its value in a cycle is computed, and whether it is computed
    /// from itself.
    fn order(&self) -> Vec<(Var, bool)> {
        let n = self.flat.vars.len();
        let mut order = Vec::with_capacity(n);
        let (mut begun, mut done) = (IndexVec::filled(false, n), IndexVec::filled(false, n));
        let mut circular = IndexVec::filled(false, n);
        for root in self.flat.vars.ids() {
            let mut path: Vec<(Var, Vec<Var>)> = Vec::new();
            let mut next = Some(root);
            loop {
                match next {
                    Some(v) if begun[v] => circular[v] |= !done[v],
                    Some(v) => {
                        begun[v] = true;
                        path.push((v, self.operands(v)));
                    }
                    None => {}
                }
                let Some((v, left)) = path.last_mut() else { break };
                next = left.pop();
                if next.is_none() {
                    done[*v] = true;
                    order.push(*v);
                    path.pop();
                }
            }
        }
        order.into_iter().map(|v| (v, circular[v])).collect()
    }

    /// The operands of a value within a cycle, the last one first.
    fn operands(&self, v: Var) -> Vec<Var> {
        let mut operands = Vec::new();
        match self.definitions[v].map(|eq| &self.flat.equations[eq].rhs) {
            None | Some(Rhs::Param { .. }) => {}
            Some(rhs) if is_delay(rhs) => {}
            Some(rhs) => rhs.for_each_operand(|x| operands.push(x)),
        }
        operands.reverse();
        operands
    }

    fn compute(&mut self, order: &[(Var, bool)]) {
        self.terms.clear();
        self.scalars.clear();
        self.atoms.clear();
        self.atom_functions.clear();
        self.functions = Functions::new();
        self.of = IndexVec::filled(None, self.flat.vars.len());
        self.conditions = IndexVec::filled(None, self.flat.vars.len());
        // A value that needs itself is equal only to its copies.
        for (v, _) in order.iter().filter(|(_, circular)| *circular) {
            self.set(*v, Term::Own(*v));
        }
        for (v, _) in order.iter().filter(|(_, circular)| !*circular) {
            self.variable(*v);
        }
        self.ticks = IndexVec::new();
        for (ck, data) in self.clocks.clocks.iter_enumerated() {
            let ticks = match *data {
                ClockData::Base | ClockData::Unknown => Ticks { root: ck, on: Function::ALWAYS },
                ClockData::On { parent, cond, positive } => self.sample(self.ticks[parent], cond, positive),
            };
            self.ticks.push(ticks);
        }
    }

    fn sample(&mut self, clock: Ticks, cond: Var, value: bool) -> Ticks {
        let cond = self.conditions[cond].expect("K3: conditions are bool []");
        let literal = if value { Some(cond) } else { self.functions.not(cond) };
        let on = match literal {
            Some(literal) => match self.functions.and(clock.on, literal) {
                Some(on) => on,
                None => self.atom(Term::Sampled(clock, literal)),
            },
            None => self.functions.fresh(),
        };
        Ticks { root: clock.root, on }
    }

    fn set(&mut self, v: Var, term: Term) {
        if *self.ty(v) == Type::condition() {
            let function = match term {
                Term::Condition(function) => function,
                term => self.atom(term),
            };
            self.conditions[v] = Some(function);
            self.of[v] = Some(self.number(Term::Condition(function)));
        } else {
            self.of[v] = Some(self.number(term));
        }
    }

    fn number(&mut self, term: Term) -> TermId {
        let (id, is_new) = self.terms.insert_full(term);
        if is_new {
            self.scalars.push(self.terms.get_index(id).and_then(|term| self.values.get(term)).cloned());
        }
        id
    }

    fn atom(&mut self, term: Term) -> Function {
        let (id, is_new) = self.atoms.insert_full(term);
        if is_new {
            let function = self.functions.fresh();
            self.atom_functions.push(function);
        }
        self.atom_functions[id]
    }

    fn ty(&self, v: Var) -> &'a Type {
        &self.flat.vars[v].ty
    }

    fn copy(&mut self, v: Var, source: Var) {
        self.of[v] = self.of[source];
        self.conditions[v] = self.conditions[source];
    }

    fn variable(&mut self, v: Var) {
        let Some(eq) = self.definitions[v] else { return self.set(v, Term::Own(v)) };
        let flat = self.flat;
        match &flat.equations[eq].rhs {
            Rhs::Const(k) => self.set(v, self.constants[*k].clone()),
            Rhs::When { value, .. } => self.copy(v, *value),
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                self.choice(v, *cond, *a, *b);
            }
            Rhs::Apply { op, args } => self.apply(v, op, args),
            Rhs::Param { .. } => self.set(v, Term::Own(v)),
            Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => {
                let term = self.steady[eq].clone().unwrap_or(Term::Delay(self.clocks.same[v]));
                self.set(v, term);
            }
        }
    }

    fn choice(&mut self, v: Var, cond: Var, a: Var, b: Var) {
        let [c, x, y] = [cond, a, b].map(|x| self.conditions[x]);
        if self.of[a] == self.of[b] || c == Some(Function::ALWAYS) {
            return self.copy(v, a);
        }
        if c == Some(Function::NEVER) {
            return self.copy(v, b);
        }
        let function = match (c, x, y) {
            (Some(c), Some(x), Some(y)) => self.functions.choose(c, x, y),
            _ => None,
        };
        let otherwise = Term::If(self.of(cond), self.of(a), self.of(b));
        self.set(v, function.map_or(otherwise, Term::Condition));
    }

    fn apply(&mut self, v: Var, op: &Op, args: &[Var]) {
        if let ([x], true) = (args, gives_back(op))
            && self.ty(*x) == self.ty(v)
        {
            return self.copy(v, *x);
        }
        let operands: Vec<TermId> = args.iter().map(|x| self.of(*x)).collect();
        let values: Option<Vec<&Value>> = operands.iter().map(|t| self.scalars[*t].as_ref()).collect();
        if self.ty(v).shape.is_scalar()
            && let Some(values) = values.filter(|all| !all.is_empty())
            && let Ok(value) = eval(op, &values, self.flat.precision)
            && let Some(term) = of_value(&value)
        {
            self.values.insert(term.clone(), value);
            return self.set(v, term);
        }
        let conditions: Option<Vec<Function>> = args.iter().map(|x| self.conditions[*x]).collect();
        let function = match conditions {
            Some(conditions) => self.logic(op, &conditions),
            None => self.comparison(op, args),
        };
        self.set(v, function.map_or(Term::Apply(op.clone(), operands), Term::Condition));
    }

    fn logic(&mut self, op: &Op, of: &[Function]) -> Option<Function> {
        match (op, of) {
            (Op::Not, [a]) => self.functions.not(*a),
            (Op::And, [a, b]) => self.functions.and(*a, *b),
            (Op::Or, [a, b]) => self.functions.or(*a, *b),
            (Op::Compare(Compare::Eq), [a, b]) => self.functions.equal(*a, *b),
            (Op::Compare(Compare::Ne), [a, b]) => {
                let equal = self.functions.equal(*a, *b)?;
                self.functions.not(equal)
            }
            _ => None,
        }
    }

    /// A comparison of scalars as `a < b`, `a <= b` or `a == b`, or the negation of one of these. For integers, which
    /// have no NaN, `a <= b` is the negation of `b < a`.
    fn comparison(&mut self, op: &Op, args: &[Var]) -> Option<Function> {
        let (&Op::Compare(how), &[x, y]) = (op, args) else { return None };
        if !self.ty(x).shape.is_scalar() || !self.ty(y).shape.is_scalar() {
            return None;
        }
        let ordered = self.ty(x).dtype == DType::Int;
        let (a, b) = (self.of(x), self.of(y));
        let (how, [a, b], opposite) = match how {
            Compare::Lt => (Compare::Lt, [a, b], false),
            Compare::Gt => (Compare::Lt, [b, a], false),
            Compare::Le if ordered => (Compare::Lt, [b, a], true),
            Compare::Ge if ordered => (Compare::Lt, [a, b], true),
            Compare::Le => (Compare::Le, [a, b], false),
            Compare::Ge => (Compare::Le, [b, a], false),
            Compare::Eq => (Compare::Eq, [a.min(b), a.max(b)], false),
            Compare::Ne => (Compare::Eq, [a.min(b), a.max(b)], true),
        };
        let function = match how {
            Compare::Lt if a == b => Function::NEVER,
            _ if a == b && ordered => Function::ALWAYS,
            how => self.atom(Term::Apply(Op::Compare(how), vec![a, b])),
        };
        if opposite { self.functions.not(function) } else { Some(function) }
    }

    /// Finds delays of a constant that also begin with it and cannot be loaded, so that they always return it. Returns
    /// whether there are more of them than before.
    fn find_steady(&mut self) -> bool {
        let mut is_more = false;
        for (eq, equation) in self.flat.equations.iter_enumerated() {
            let Some((init, next)) = parts(&equation.rhs) else { continue };
            let Some(term) = self.terms.get_index(self.of(next)).filter(|t| t.is_constant()) else {
                continue;
            };
            let begins = match init {
                None => true,
                Some(Init::Stream(i)) => self.of(*i) == self.of(next),
                Some(Init::Const(k)) => self.constants[*k] == *term,
            };
            if begins && !self.parameters[eq] && self.steady[eq].is_none() {
                self.steady[eq] = Some(term.clone());
                is_more = true;
            }
        }
        is_more
    }
}

impl Term {
    fn is_constant(&self) -> bool {
        match self {
            Term::Uniform(..) | Term::Constant(_) => true,
            Term::Condition(function) => [Function::NEVER, Function::ALWAYS].contains(function),
            Term::Own(_) | Term::Delay(_) | Term::Apply(..) | Term::If(..) | Term::Sampled(..) => false,
        }
    }
}

/// Whether an operator returns its operand unchanged if the operand has the type of the result.
fn gives_back(op: &Op) -> bool {
    matches!(op, Op::Copy | Op::StopGradient | Op::Reshape { .. } | Op::Broadcast { .. } | Op::SumTo { .. })
}

fn of_constant(flat: &Flat, k: ConstId) -> Term {
    match &flat.consts[k].kind {
        ConstKind::Value(value) => of_value(value).unwrap_or(Term::Constant(k)),
        ConstKind::Random(_) | ConstKind::Apply { .. } => Term::Constant(k),
    }
}

/// The term of a constant with equal elements.
fn of_value(value: &Value) -> Option<Term> {
    if let Some(value) = value.as_bool() {
        return Some(Term::Condition(Function::constant(value)));
    }
    fn one<T>(all: &[T], bits: impl Fn(&T) -> u64) -> Option<u64> {
        let first = bits(all.first()?);
        all.iter().all(|x| bits(x) == first).then_some(first)
    }
    let bits = match value.to_data() {
        Data::Bool(all) => one(&all, |x| u64::from(*x)),
        Data::Int(all) => one(&all, |x| x.cast_unsigned()),
        Data::F32(all) => one(&all, |x| u64::from(x.to_bits())),
        Data::F64(all) => one(&all, |x| x.to_bits()),
    };
    Some(Term::Uniform(value.shape(), value.ty().dtype, bits?))
}
