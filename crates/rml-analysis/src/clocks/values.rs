//! Value numbering, and clocks as functions of conditions.
//!
//! Two variables get the same label if they are proved to have the same value in every cycle in which both are present and known. That is
//! so for the same primitive on operands with the same labels, and `x when c` has the label of `x`. A truth value is a function of
//! *atoms*, which are conditions that cannot be taken apart: inputs, delays, comparisons and others. Delays are compared by optimistic
//! refinement: at first all delays with equal initial values count as one, and then they are separated until none of those left together
//! differ in operands, windows or clocks. So equality is found through recurrences, by induction over the cycles. A clock is a root and
//! the function that says in which of its cycles the clock is present.

use indexmap::IndexSet;
use rml_base::IndexVec;
use rml_ir::flat::{ConstId, ConstKind, Eq, Flat, Init, Rhs, Var, Window};
use rml_ir::op::{Op, eval};
use rml_ir::{DType, Value};

use super::bdd::{Atom, Bdd, FALSE, Node, TRUE};
use super::constant::{ConstKey, const_key};
use super::infer::{Inferred, Term, TermId};

/// The most nodes that the diagrams of a program may have. Beyond that, conditions are not taken apart.
const NODES: usize = 200_000;
/// The most rounds in which delays are separated. Beyond that, each is equal only to itself.
const ROUNDS: usize = 100;

/// The number of a value: variables with the same label are proved equal.
pub(super) type Label = usize;

/// What a label stands for.
#[derive(Clone, PartialEq, std::cmp::Eq, Hash, Debug)]
enum Key {
    Const(ConstKey),
    Bool(Node),
    Input(Var),
    /// A delay, by its block of the partition.
    Delay(usize),
    /// Something equal to nothing else: a parameter, or what depends on itself within a cycle.
    Alone(Var),
    Apply(Op, Vec<Label>),
    If(Label, Label, Label),
    /// The cycles in which a clock is sampled by a condition, if they exceed the limit of the diagrams.
    Sampled(Presence, Node, bool),
}

/// A clock: where its root is present and a function of conditions is true.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Presence {
    /// `None` = the base clock; else a variable that depends on itself.
    pub(super) root: Option<Var>,
    pub(super) on: Node,
}

/// The labels and clocks of a program.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) bdd: Bdd,
    /// One variable for each atom; `None` where no variable has its value.
    pub(super) atoms: Vec<Option<Var>>,
    pub(super) labels: IndexVec<Var, Label>,
    /// The function that a `bool []` is.
    pub(super) conditions: IndexVec<Var, Option<Node>>,
    pub(super) presences: IndexVec<TermId, Presence>,
}

/// Computes the values of a program.
pub(super) fn values(flat: &Flat, inferred: &Inferred) -> Values {
    let structure = Structure::new(flat);
    let mut steady = IndexVec::filled(None, flat.equations.len());
    loop {
        let (values, more) = refine(flat, inferred, &structure, &steady);
        let Some(more) = more else { return values };
        steady = more;
    }
}

/// For each delay, the constant that it always gives, if there is one.
type Steady = IndexVec<Eq, Option<Key>>;

/// The values by the coarsest partition of the delays that is consistent, and the delays that are found to be constant by it, if there are
/// more of them than before.
fn refine(
    flat: &Flat,
    inferred: &Inferred,
    structure: &Structure,
    steady: &Steady,
) -> (Values, Option<Steady>) {
    let mut blocks = Blocks::new(flat, structure);
    for _ in 0..ROUNDS {
        let mut pass = Pass::new(flat, structure, &blocks, steady);
        pass.run(inferred);
        let finer = pass.refine(inferred);
        if finer.count == blocks.count {
            let more = pass.more_steady();
            return (pass.values, more);
        }
        blocks = finer;
    }
    let alone = Blocks::alone(flat);
    let mut pass = Pass::new(flat, structure, &alone, steady);
    pass.run(inferred);
    let more = pass.more_steady();
    (pass.values, more)
}

/// A partition of the delays.
#[derive(Debug)]
struct Blocks {
    of: IndexVec<Eq, usize>,
    count: usize,
}

impl Blocks {
    /// Delays of the same kind with the same initial value are together. A trained parameter is alone.
    fn new(flat: &Flat, structure: &Structure) -> Blocks {
        Blocks::by(flat, |eq| {
            let equation = &flat.equations[eq];
            let (kind, init) = match &equation.rhs {
                Rhs::Fby { init, .. } => (0, Some(init)),
                Rhs::FbyBack { init, .. } => (1, Some(init)),
                _ => (2, None),
            };
            let constant = match init {
                Some(Init::Const(k)) => Some(structure.constants[*k].clone()),
                _ => None,
            };
            (kind, constant, flat.vars[equation.lhs].ty.clone(), structure.parameters[eq].then_some(eq))
        })
    }

    /// Every delay is alone.
    fn alone(flat: &Flat) -> Blocks {
        Blocks::by(flat, |eq| eq)
    }

    fn by<K: std::hash::Hash + std::cmp::Eq>(flat: &Flat, key: impl Fn(Eq) -> K) -> Blocks {
        let mut keys = IndexSet::new();
        let is_delay = |rhs: &Rhs| matches!(rhs, Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. });
        let of = flat.equations.iter_enumerated().map(|(eq, equation)| {
            if is_delay(&equation.rhs) { keys.insert_full(key(eq)).0 } else { usize::MAX }
        });
        let of = of.collect();
        Blocks { of, count: keys.len() }
    }
}

/// The order in which values are computed within a cycle.
struct Structure {
    definition: IndexVec<Var, Option<Eq>>,
    constants: IndexVec<ConstId, ConstKey>,
    /// Whether an equation holds a trained parameter.
    parameters: IndexVec<Eq, bool>,
    order: Vec<Var>,
    /// Variables that depend on themselves within a cycle: at least one of each circle.
    circular: IndexVec<Var, bool>,
}

impl Structure {
    fn new(flat: &Flat) -> Structure {
        let n = flat.vars.len();
        let mut definition = IndexVec::filled(None, n);
        for (eq, equation) in flat.equations.iter_enumerated() {
            definition[equation.lhs] = Some(eq);
        }
        let mut parameters = IndexVec::filled(false, flat.equations.len());
        for state in flat.states.values() {
            parameters[state.equation] = state.parameter;
        }
        let mut structure = Structure {
            definition,
            parameters,
            constants: flat.consts.ids().map(|k| const_key(flat, k)).collect(),
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
            if matches!(rhs, Rhs::Apply { .. } | Rhs::If { .. } | Rhs::When { .. } | Rhs::Merge { .. }) {
                let at = stack.len();
                rhs.for_each_operand(|x| stack.push((x, false)));
                stack[at..].reverse();
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, std::cmp::Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// One computation of all values, for a given partition of the delays.
struct Pass<'a> {
    flat: &'a Flat,
    structure: &'a Structure,
    blocks: &'a Blocks,
    steady: &'a Steady,
    keys: IndexSet<Key>,
    /// The values of labels that are scalar constants.
    scalars: Vec<Option<Value>>,
    atom_keys: IndexSet<Key>,
    values: Values,
}

impl<'a> Pass<'a> {
    fn new(flat: &'a Flat, structure: &'a Structure, blocks: &'a Blocks, steady: &'a Steady) -> Self {
        let n = flat.vars.len();
        let values = Values {
            bdd: Bdd::new(NODES),
            atoms: Vec::new(),
            labels: IndexVec::filled(usize::MAX, n),
            conditions: IndexVec::filled(None, n),
            presences: IndexVec::new(),
        };
        Self {
            flat,
            structure,
            blocks,
            steady,
            keys: IndexSet::new(),
            scalars: Vec::new(),
            atom_keys: IndexSet::new(),
            values,
        }
    }

    fn run(&mut self, inferred: &Inferred) {
        let structure = self.structure;
        for v in self.flat.vars.ids().filter(|v| structure.circular[*v]) {
            self.put(v, Key::Alone(v));
        }
        for &v in &structure.order {
            if !structure.circular[v] {
                self.variable(v);
            }
        }
        for term in inferred.terms.iter() {
            let presence = self.presence(*term);
            self.values.presences.push(presence);
        }
    }

    fn presence(&mut self, term: Term) -> Presence {
        let (parent, cond, positive) = match term {
            Term::Base => return Presence { root: None, on: TRUE },
            Term::Unknown(v) => return Presence { root: Some(v), on: TRUE },
            Term::On { parent, cond, positive } => (self.values.presences[parent], cond, positive),
        };
        let condition = self.values.conditions[cond].unwrap_or(FALSE);
        let bdd = &mut self.values.bdd;
        let on = if positive { Some(condition) } else { bdd.not(condition) };
        let on = on.and_then(|guard| bdd.and(parent.on, guard));
        let on = on.unwrap_or_else(|| self.atom(None, Key::Sampled(parent, condition, positive)));
        Presence { root: parent.root, on }
    }

    /// Gives a variable what a key stands for.
    fn put(&mut self, v: Var, key: Key) {
        let is_condition = self.flat.vars[v].ty == rml_ir::Type::condition();
        if !is_condition {
            self.values.labels[v] = self.label(key);
            return;
        }
        let node = match key {
            Key::Bool(node) => node,
            key => self.atom(Some(v), key),
        };
        self.condition(v, node);
    }

    fn condition(&mut self, v: Var, node: Node) {
        self.values.conditions[v] = Some(node);
        self.values.labels[v] = self.label(Key::Bool(node));
    }

    fn label(&mut self, key: Key) -> Label {
        let (label, is_new) = self.keys.insert_full(key);
        if is_new {
            self.scalars.push(None);
        }
        label
    }

    fn atom(&mut self, v: Option<Var>, key: Key) -> Node {
        let (atom, is_new) = self.atom_keys.insert_full(key);
        if is_new {
            self.values.atoms.push(v);
        }
        #[allow(clippy::cast_possible_truncation, reason = "there are fewer atoms than variables")]
        self.values.bdd.atom(atom as Atom)
    }

    fn same_as(&mut self, v: Var, other: Var) {
        self.values.labels[v] = self.values.labels[other];
        self.values.conditions[v] = self.values.conditions[other];
    }

    fn variable(&mut self, v: Var) {
        let Some(eq) = self.structure.definition[v] else { return self.put(v, Key::Input(v)) };
        let flat = self.flat;
        match &flat.equations[eq].rhs {
            Rhs::Const(k) => self.constant(v, *k),
            Rhs::Apply { op, args } => self.apply(v, op, args),
            Rhs::When { value, .. } => self.same_as(v, *value),
            Rhs::If { cond, then, other } | Rhs::Merge { cond, on_true: then, on_false: other } => {
                self.choice(v, *cond, *then, *other);
            }
            Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => {
                let key = self.steady[eq].clone().unwrap_or(Key::Delay(self.blocks.of[eq]));
                self.put(v, key);
            }
            Rhs::Param { .. } => self.put(v, Key::Alone(v)),
        }
    }

    fn constant(&mut self, v: Var, k: ConstId) {
        self.put(v, self.constant_key(k));
        if let ConstKind::Value(value) = &self.flat.consts[k].kind
            && value.shape().is_scalar()
        {
            self.scalars[self.values.labels[v]] = Some(value.clone());
        }
    }

    fn choice(&mut self, v: Var, cond: Var, then: Var, other: Var) {
        let labels = &self.values.labels;
        let (c, a, b) = (labels[cond], labels[then], labels[other]);
        match self.values.conditions[cond] {
            _ if a == b => return self.same_as(v, then),
            Some(TRUE) => return self.same_as(v, then),
            Some(FALSE) => return self.same_as(v, other),
            _ => {}
        }
        let conditions = [cond, then, other].map(|x| self.values.conditions[x]);
        let node = match conditions {
            [Some(c), Some(a), Some(b)] => self.values.bdd.ite(c, a, b),
            _ => None,
        };
        self.put(v, node.map_or(Key::If(c, a, b), Key::Bool));
    }

    fn apply(&mut self, v: Var, op: &Op, args: &[Var]) {
        if let ([x], true) = (args, keeps_value(op))
            && self.flat.vars[*x].ty == self.flat.vars[v].ty
        {
            return self.same_as(v, *x);
        }
        let labels: Vec<Label> = args.iter().map(|x| self.values.labels[*x]).collect();
        if self.flat.vars[v].ty.shape.is_scalar()
            && let Some(value) = self.folded(op, &labels)
        {
            return self.folded_to(v, value);
        }
        let conditions: Option<Vec<Node>> = args.iter().map(|x| self.values.conditions[*x]).collect();
        let node = match conditions {
            Some(nodes) => self.logic(op, &nodes),
            None => self.comparison(v, op, args, &labels),
        };
        self.put(v, node.map_or_else(|| Key::Apply(op.clone(), labels), Key::Bool));
    }

    /// The value of an operator on scalar constants.
    fn folded(&self, op: &Op, labels: &[Label]) -> Option<Value> {
        let values: Option<Vec<&Value>> = labels.iter().map(|l| self.scalars[*l].as_ref()).collect();
        eval(op, &values.filter(|v| !v.is_empty())?, self.flat.precision).ok()
    }

    fn folded_to(&mut self, v: Var, value: Value) {
        self.put(
            v,
            match value {
                Value::Bool(true) => Key::Bool(TRUE),
                Value::Bool(false) => Key::Bool(FALSE),
                _ => Key::Const(ConstKey::scalar(&value)),
            },
        );
        self.scalars[self.values.labels[v]] = Some(value);
    }

    fn logic(&mut self, op: &Op, nodes: &[Node]) -> Option<Node> {
        let bdd = &mut self.values.bdd;
        match (op, nodes) {
            (Op::Not, [a]) => bdd.not(*a),
            (Op::And, [a, b]) => bdd.and(*a, *b),
            (Op::Or, [a, b]) => bdd.or(*a, *b),
            (Op::Ne, [a, b]) => bdd.xor(*a, *b),
            (Op::Eq, [a, b]) => {
                let differ = bdd.xor(*a, *b)?;
                bdd.not(differ)
            }
            _ => None,
        }
    }

    /// A comparison of scalars in a normal form, so that equivalent ones are the same atom: `a > b` is `b < a`, and for integers, which have
    /// no NaN, `a <= b` is `not b < a`.
    fn comparison(&mut self, v: Var, op: &Op, args: &[Var], labels: &[Label]) -> Option<Node> {
        let &[a, b] = labels else { return None };
        let scalar = |x: &Var| self.flat.vars[*x].ty.shape.is_scalar();
        if !args.iter().all(scalar) {
            return None;
        }
        let is_int = self.flat.vars[*args.first()?].ty.dtype == DType::Int;
        let (op, a, b, negated) = match op {
            Op::Lt => (Op::Lt, a, b, false),
            Op::Gt => (Op::Lt, b, a, false),
            Op::Le if is_int => (Op::Lt, b, a, true),
            Op::Ge if is_int => (Op::Lt, a, b, true),
            Op::Le => (Op::Le, a, b, false),
            Op::Ge => (Op::Le, b, a, false),
            Op::Eq => (Op::Eq, a.min(b), a.max(b), false),
            Op::Ne => (Op::Eq, a.min(b), a.max(b), true),
            _ => return None,
        };
        let node = match op {
            Op::Lt if a == b => FALSE,
            _ if a == b && is_int => TRUE,
            _ => self.atom(Some(v), Key::Apply(op, vec![a, b])),
        };
        if negated { self.values.bdd.not(node) } else { Some(node) }
    }

    /// A finer partition of the delays, in which those that differ in operands, windows or clocks are separated.
    fn refine(&self, inferred: &Inferred) -> Blocks {
        let clock = |v: Var| self.values.presences[inferred.of[v]];
        let mut windows: IndexSet<(Label, Presence, Option<usize>)> = IndexSet::new();
        let mut window_key: IndexVec<Window, usize> = IndexVec::new();
        for window in &self.flat.windows {
            let parent = window.parent.map(|p| window_key[p]);
            let end = (self.values.labels[window.end], clock(window.end), parent);
            window_key.push(windows.insert_full(end).0);
        }
        Blocks::by(self.flat, |eq| {
            let equation = &self.flat.equations[eq];
            let mut operands = Vec::new();
            equation.rhs.for_each_operand(|v| operands.push(self.values.labels[v]));
            let window = equation.rhs.window().map(|w| window_key[w]);
            (self.blocks.of[eq], operands, window, clock(equation.lhs))
        })
    }

    /// The delays of a constant that also begin or end with it, if there are more of them than before.
    fn more_steady(&self) -> Option<Steady> {
        let mut more = self.steady.clone();
        let mut is_more = false;
        for (eq, equation) in self.flat.equations.iter_enumerated() {
            let (init, next) = match &equation.rhs {
                Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => (Some(init), next),
                Rhs::Post { next, .. } => (None, next),
                _ => continue,
            };
            let label = self.values.labels[*next];
            let Some(key) = self.keys.get_index(label) else { continue };
            let is_constant = matches!(key, Key::Const(_) | Key::Bool(TRUE | FALSE));
            let starts_so = match init {
                None => true,
                Some(Init::Stream(i)) => self.values.labels[*i] == label,
                Some(Init::Const(k)) => self.constant_key(*k) == *key,
            };
            if is_constant && starts_so && more[eq].is_none() && !self.structure.parameters[eq] {
                more[eq] = Some(key.clone());
                is_more = true;
            }
        }
        is_more.then_some(more)
    }

    fn constant_key(&self, k: ConstId) -> Key {
        match self.flat.consts[k].kind {
            ConstKind::Value(Value::Bool(true)) => Key::Bool(TRUE),
            ConstKind::Value(Value::Bool(false)) => Key::Bool(FALSE),
            _ => Key::Const(self.structure.constants[k].clone()),
        }
    }
}

/// Whether an operator returns its operand unchanged if the types are the same.
fn keeps_value(op: &Op) -> bool {
    matches!(op, Op::Copy | Op::StopGradient | Op::Reshape { .. } | Op::Broadcast { .. } | Op::SumTo { .. })
}
