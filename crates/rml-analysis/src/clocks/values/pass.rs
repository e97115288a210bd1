//! The computation of all values for a given partition of the delays. A pass can continue after the partition has
//! changed: a variable is then recomputed by [`Pass::variable`].

use indexmap::{IndexMap, IndexSet};
use rml_base::IndexVec;
use rml_ir::flat::{ConstId, ConstKind, Eq, Flat, Init, Rhs, Var, Window};
use rml_ir::op::{Compare, Op, eval};
use rml_ir::{DType, Value};

use super::atoms::Atoms;
use super::blocks::{Blocks, Signature};
use super::key::Key;
use super::structure::{Constants, Structure};
use super::{Label, Presence, Steady, Values};
use crate::clocks::bdd::{Atom, Bdd, FALSE, Node, TRUE};
use crate::clocks::infer::{Inferred, Term, TermId};

/// The maximum number of nodes in the diagrams of a program. Beyond that, conditions are not decomposed.
const NODES: usize = 200_000;

/// One computation of all values.
pub(super) struct Pass<'a> {
    pub(super) flat: &'a Flat,
    pub(super) structure: &'a Structure,
    pub(super) blocks: Blocks,
    pub(super) steady: IndexVec<Eq, Option<Key>>,
    pub(super) values: Values,
    labels: IndexMap<Key, Label>,
    /// The key of each label.
    keys: Vec<Key>,
    /// The number of variables that have each label by their own key; `owns` says which variables do.
    owners: Vec<usize>,
    owns: IndexVec<Var, bool>,
    constants: Constants,
    lists: IndexSet<Vec<Label>>,
    atoms: Atoms,
    windows: IndexSet<(Label, Presence, Option<usize>)>,
    /// The number of each window; equal windows have the same number.
    window_of: IndexVec<Window, usize>,
}

/// The label of a variable that has none yet.
const NONE: Label = usize::MAX;

impl<'a> Pass<'a> {
    pub(super) fn new(flat: &'a Flat, structure: &'a Structure, blocks: Blocks, steady: Steady) -> Self {
        let n = flat.vars.len();
        let values = Values {
            bdd: Bdd::new(NODES),
            atoms: Vec::new(),
            labels: IndexVec::filled(NONE, n),
            conditions: IndexVec::filled(None, n),
            presences: IndexVec::new(),
        };
        Self {
            flat,
            structure,
            blocks,
            steady: steady.of,
            values,
            labels: IndexMap::with_capacity(n),
            keys: Vec::with_capacity(n),
            owners: Vec::with_capacity(n),
            owns: IndexVec::filled(false, n),
            constants: steady.constants,
            lists: IndexSet::new(),
            atoms: Atoms::new(n),
            windows: IndexSet::new(),
            window_of: IndexVec::new(),
        }
    }

    pub(super) fn run(&mut self, inferred: &Inferred) {
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
        for window in self.flat.windows.ids() {
            let number = self.window(inferred, window);
            self.window_of.push(number);
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

    /// Computes a clock again; returns whether it changed.
    pub(super) fn update_presence(&mut self, inferred: &Inferred, term: TermId) -> bool {
        let presence = self.presence(inferred.terms[term]);
        std::mem::replace(&mut self.values.presences[term], presence) != presence
    }

    fn window(&mut self, inferred: &Inferred, window: Window) -> usize {
        let data = &self.flat.windows[window];
        let parent = data.parent.map(|p| self.window_of[p]);
        let clock = self.values.presences[inferred.of[data.end]];
        self.windows.insert_full((self.values.labels[data.end], clock, parent)).0
    }

    /// Numbers a window again; returns whether its number changed.
    pub(super) fn update_window(&mut self, inferred: &Inferred, window: Window) -> bool {
        let number = self.window(inferred, window);
        std::mem::replace(&mut self.window_of[window], number) != number
    }

    /// The signature of a delay.
    pub(super) fn signature(&self, inferred: &Inferred, delay: Eq) -> Signature {
        let equation = &self.flat.equations[delay];
        let labels = &self.values.labels;
        let operands = match &equation.rhs {
            Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => match init {
                Init::Stream(v) => (Some(labels[*v]), labels[*next]),
                Init::Const(_) => (None, labels[*next]),
            },
            Rhs::Post { next, .. } => (None, labels[*next]),
            _ => (None, NONE),
        };
        Signature {
            operands,
            window: equation.rhs.window().map(|w| self.window_of[w]),
            clock: self.values.presences[inferred.of[equation.lhs]],
        }
    }

    /// A finer partition of the delays, which separates delays that differ in operands, windows or clocks.
    pub(super) fn refined(&self, inferred: &Inferred) -> Blocks {
        Blocks::by(self.flat, |eq| (self.blocks.of[eq], self.signature(inferred, eq)))
    }

    /// Gives a variable the label, and if it is a condition the function, of a key.
    fn put(&mut self, v: Var, key: Key) {
        if !self.structure.conditions[v] {
            return self.own(v, key);
        }
        let node = match key {
            Key::Bool(node) => node,
            key => self.atom(Some(v), key),
        };
        self.values.conditions[v] = Some(node);
        self.values.labels[v] = self.label(Key::Bool(node));
    }

    /// Gives a variable the label of its key. If only this variable has its old label by its key, the label is kept and
    /// gets the new key, so that nothing changes for readers of the variable.
    fn own(&mut self, v: Var, key: Key) {
        let old = self.owns[v].then(|| self.values.labels[v]);
        if let Some(old) = old {
            if self.keys[old] == key {
                return;
            }
            let stays = self.owners[old] == 1 && self.keys[old].is_opaque() && key.is_opaque();
            if stays && !self.labels.contains_key(&key) {
                self.labels.swap_remove(&self.keys[old]);
                self.labels.insert(key, old);
                self.keys[old] = key;
                return;
            }
        }
        self.disown(v);
        let label = self.label(key);
        self.values.labels[v] = label;
        self.owners[label] += 1;
        self.owns[v] = true;
    }

    /// Removes the label that a variable has by its own key.
    fn disown(&mut self, v: Var) {
        if std::mem::replace(&mut self.owns[v], false) {
            let old = self.values.labels[v];
            self.owners[old] -= 1;
            if self.owners[old] == 0 && self.keys[old].is_opaque() {
                self.labels.swap_remove(&self.keys[old]);
            }
        }
    }

    fn label(&mut self, key: Key) -> Label {
        let label = *self.labels.entry(key).or_insert(self.keys.len());
        if label == self.keys.len() {
            self.keys.push(key);
            self.owners.push(0);
        }
        label
    }

    fn atom(&mut self, v: Option<Var>, key: Key) -> Node {
        let atom = self.atoms.number(v, key);
        if atom == self.values.atoms.len() {
            self.values.atoms.push(v);
        }
        #[allow(clippy::cast_possible_truncation, reason = "there are fewer atoms than variables")]
        self.values.bdd.atom(atom as Atom)
    }

    fn same_as(&mut self, v: Var, other: Var) {
        self.disown(v);
        self.values.labels[v] = self.values.labels[other];
        self.values.conditions[v] = self.values.conditions[other];
    }

    /// Computes a variable again; returns whether its value changed.
    pub(super) fn update(&mut self, v: Var) -> bool {
        let old = (self.values.labels[v], self.values.conditions[v]);
        self.variable(v);
        old != (self.values.labels[v], self.values.conditions[v])
    }

    fn variable(&mut self, v: Var) {
        let Some(eq) = self.structure.definition[v] else { return self.put(v, Key::Input(v)) };
        let flat = self.flat;
        match &flat.equations[eq].rhs {
            Rhs::Const(k) => self.put(v, self.constant_key(*k)),
            Rhs::Apply { op, args } => self.apply(v, eq, op, args),
            Rhs::When { value, .. } => self.same_as(v, *value),
            Rhs::If { cond, then, other } | Rhs::Merge { cond, on_true: then, on_false: other } => {
                self.choice(v, *cond, *then, *other);
            }
            Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => {
                let key = self.steady[eq].unwrap_or(Key::Delay(self.blocks.of[eq]));
                self.put(v, key);
            }
            Rhs::Param { .. } => self.put(v, Key::Alone(v)),
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

    fn apply(&mut self, v: Var, eq: Eq, op: &Op, args: &[Var]) {
        if let ([x], true) = (args, keeps_value(op))
            && self.flat.vars[*x].ty == self.flat.vars[v].ty
        {
            return self.same_as(v, *x);
        }
        if self.structure.scalars[v]
            && let Some(value) = self.folded(op, args)
        {
            let key = self.folded_key(&value);
            return self.put(v, key);
        }
        let node = if args.iter().all(|x| self.values.conditions[*x].is_some()) {
            self.logic(op, args)
        } else {
            self.comparison(v, op, args)
        };
        let key = match node {
            Some(node) => Key::Bool(node),
            None => self.applied(self.structure.operators[eq], args),
        };
        self.put(v, key);
    }

    fn applied(&mut self, operator: usize, args: &[Var]) -> Key {
        let labels = &self.values.labels;
        match *args {
            [a] => Key::Apply(operator, labels[a], None),
            [a, b] => Key::Apply(operator, labels[a], Some(labels[b])),
            _ => {
                let list = args.iter().map(|x| labels[*x]).collect();
                Key::ApplyTo(operator, self.lists.insert_full(list).0)
            }
        }
    }

    /// The value of an operator on scalar constants.
    fn folded(&self, op: &Op, args: &[Var]) -> Option<Value> {
        let scalar = |x: &Var| match *self.keys.get(self.values.labels[*x])? {
            Key::Const(number) => self.constants.scalar(number),
            Key::Bool(TRUE) => Some(&Value::Bool(true)),
            Key::Bool(FALSE) => Some(&Value::Bool(false)),
            _ => None,
        };
        scalar(args.first()?)?;
        let values: Option<Vec<&Value>> = args.iter().map(scalar).collect();
        eval(op, &values?, self.flat.precision).ok()
    }

    fn folded_key(&mut self, value: &Value) -> Key {
        match value {
            Value::Bool(true) => Key::Bool(TRUE),
            Value::Bool(false) => Key::Bool(FALSE),
            _ => Key::Const(self.constants.of_scalar(value)),
        }
    }

    fn logic(&mut self, op: &Op, args: &[Var]) -> Option<Node> {
        let node = |x: &Var| self.values.conditions[*x];
        let (a, b) = (node(args.first()?)?, args.get(1).and_then(node));
        let bdd = &mut self.values.bdd;
        match (op, b) {
            (Op::Not, None) => bdd.not(a),
            (Op::And, Some(b)) => bdd.and(a, b),
            (Op::Or, Some(b)) => bdd.or(a, b),
            (Op::Compare(Compare::Ne), Some(b)) => bdd.xor(a, b),
            (Op::Compare(Compare::Eq), Some(b)) => {
                let differ = bdd.xor(a, b)?;
                bdd.not(differ)
            }
            _ => None,
        }
    }

    /// A comparison of scalars in a normal form, so that equivalent comparisons are the same atom: `a > b` is `b < a`,
    /// and for integers, which have no NaN, `a <= b` is `not b < a`.
    fn comparison(&mut self, v: Var, op: &Op, args: &[Var]) -> Option<Node> {
        let &[x, y] = args else { return None };
        if !args.iter().all(|x| self.structure.scalars[*x]) {
            return None;
        }
        let (a, b) = (self.values.labels[x], self.values.labels[y]);
        let is_int = self.flat.vars[x].ty.dtype == DType::Int;
        // Indices into `COMPARISONS`.
        let (op, a, b, negated) = match op {
            Op::Compare(Compare::Lt) => (0, a, b, false),
            Op::Compare(Compare::Gt) => (0, b, a, false),
            Op::Compare(Compare::Le) if is_int => (0, b, a, true),
            Op::Compare(Compare::Ge) if is_int => (0, a, b, true),
            Op::Compare(Compare::Le) => (1, a, b, false),
            Op::Compare(Compare::Ge) => (1, b, a, false),
            Op::Compare(Compare::Eq) => (2, a.min(b), a.max(b), false),
            Op::Compare(Compare::Ne) => (2, a.min(b), a.max(b), true),
            _ => return None,
        };
        let node = match op {
            0 if a == b => FALSE,
            _ if a == b && is_int => TRUE,
            _ => self.atom(Some(v), Key::Apply(op, a, Some(b))),
        };
        if negated { self.values.bdd.not(node) } else { Some(node) }
    }

    /// The constants that delays always return, once the search has ended.
    pub(super) fn steady(self) -> (IndexVec<Eq, Option<Key>>, Constants) {
        (self.steady, self.constants)
    }

    /// The constant that a delay always returns, if it delays a constant and also begins or ends with that constant.
    pub(super) fn constant_of(&self, delay: Eq) -> Option<Key> {
        let (init, next) = match &self.flat.equations[delay].rhs {
            Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => (Some(init), next),
            Rhs::Post { next, .. } => (None, next),
            _ => return None,
        };
        let label = self.values.labels[*next];
        let key = *self.keys.get(label)?;
        let is_constant = matches!(key, Key::Const(_) | Key::Bool(TRUE | FALSE));
        let starts_so = match init {
            None => true,
            Some(Init::Stream(i)) => self.values.labels[*i] == label,
            Some(Init::Const(k)) => self.constant_key(*k) == key,
        };
        (is_constant && starts_so && !self.structure.parameters[delay]).then_some(key)
    }

    fn constant_key(&self, k: ConstId) -> Key {
        match self.flat.consts[k].kind {
            ConstKind::Value(Value::Bool(true)) => Key::Bool(TRUE),
            ConstKind::Value(Value::Bool(false)) => Key::Bool(FALSE),
            _ => Key::Const(self.structure.constants[k]),
        }
    }
}

/// Whether an operator returns its operand unchanged if the types are the same.
fn keeps_value(op: &Op) -> bool {
    matches!(op, Op::Copy | Op::StopGradient | Op::Reshape { .. } | Op::Broadcast { .. } | Op::SumTo { .. })
}
