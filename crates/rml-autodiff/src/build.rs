//! The adjoint node under construction: the copied forward node, fresh names, and helpers that append adjoint
//! equations.
//!
//! This module builds equations; [`rules`](crate::rules) decide which ones are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rml_base::{Diagnostic, IndexVec, Span};
use rml_ir::normal::{ConstKind, Constant, Eq, Equation, Formal, Init, Node, Rhs, Var, VarData};
use rml_ir::op::{self, AxisIndex, Op};
use rml_ir::{Precision, Type, Value};

use crate::bp::{Bp, BpGraph, BpKind, Guard};

/// The value at some entries of a gradient that is zero elsewhere.
pub(crate) struct Placed {
    /// The value.
    pub(crate) part: Var,
    /// The entries.
    pub(crate) items: Vec<AxisIndex>,
    /// Whether the source counts the axes from the last one: `z[.., 0:n]`.
    pub(crate) from_the_end: bool,
}

/// The adjoint node under construction.
pub(crate) struct Builder {
    pub(crate) precision: Precision,
    /// The forward node; its equations are changed in place only where they define a parameter or call a node.
    pub(crate) node: Node,
    /// The equation that defines a variable of the forward node.
    pub(crate) definition: BTreeMap<Var, Eq>,
    /// The equations of the backward direction, unordered.
    pub(crate) adjoint: Vec<Equation>,
    /// Conditions of gradients.
    pub(crate) conditions: BpGraph,
    /// The condition of each variable that has a gradient.
    pub(crate) slots: BTreeMap<Var, Bp>,
    /// The gradient of each variable that has one.
    pub(crate) gradients: BTreeMap<Var, Var>,
    /// Variables that are replaced by others at the end.
    pub(crate) alias: BTreeMap<Var, Var>,
    /// The gradients of inputs and parameters. They keep their names, because callers use the names to find them.
    pub(crate) results: BTreeSet<Var>,
    /// The span of the equation that is being transposed.
    pub(crate) span: Span,
    /// The gradients of indexed variables that are zero except at the selected entries, with the values at these
    /// entries.
    pub(crate) placed: BTreeMap<Var, Placed>,
    /// The error for a constant that exceeds the memory limit; then the adjoint is not made.
    pub(crate) refused: Option<Diagnostic>,
    names: BTreeSet<Arc<str>>,
    /// For each name, the highest number appended to it.
    numbered: BTreeMap<Arc<str>, u64>,
    condition_names: BTreeMap<Bp, Arc<str>>,
    condition_vars: BTreeMap<Bp, Var>,
    pending: Vec<Bp>,
    samples: BTreeMap<(Var, Var), Var>,
    sampled: BTreeSet<Var>,
    guards: BTreeMap<Guard, Var>,
    /// For each variable that is a negation: the variable that it negates.
    negated: BTreeMap<Var, Var>,
}

impl Builder {
    /// Creates a builder from a copy of the forward node.
    pub(crate) fn new(source: &Node, precision: Precision) -> Self {
        let mut names: BTreeSet<Arc<str>> = source.vars.iter().filter_map(|v| v.name.clone()).collect();
        names.extend(source.statics.iter().map(|(name, _)| name.clone()));
        names.extend(source.formals.iter().filter_map(|f| match f {
            Formal::Static { name, .. } => Some(name.clone()),
            Formal::Stream(_) => None,
        }));
        let mut guards = BTreeMap::new();
        let mut definition = BTreeMap::new();
        for (id, eq) in source.equations.iter_enumerated() {
            definition.extend(eq.lhs.iter().map(|&v| (v, id)));
            if let (Rhs::Apply { op: Op::Not, args, .. }, [v]) = (&eq.rhs, eq.lhs.as_slice())
                && let [of] = args.as_slice()
                && source.vars[*v].name.is_some()
            {
                guards.entry(Guard { var: *of, positive: false }).or_insert(*v);
            }
        }
        Self {
            precision,
            node: source.clone(),
            definition,
            adjoint: Vec::new(),
            conditions: BpGraph::default(),
            slots: BTreeMap::new(),
            gradients: BTreeMap::new(),
            alias: BTreeMap::new(),
            results: BTreeSet::new(),
            span: source.span,
            placed: BTreeMap::new(),
            refused: None,
            names,
            numbered: BTreeMap::new(),
            condition_names: BTreeMap::new(),
            condition_vars: BTreeMap::new(),
            pending: Vec::new(),
            samples: BTreeMap::new(),
            sampled: BTreeSet::new(),
            negated: guards.iter().map(|(guard, &v)| (v, guard.var)).collect(),
            guards,
        }
    }

    /// A name that is not in use: `wanted`, or `wanted` with a number.
    pub(crate) fn fresh(&mut self, wanted: &str) -> Arc<str> {
        let mut name: Arc<str> = Arc::from(wanted);
        let count = self.numbered.entry(name.clone()).or_default();
        while self.names.contains(&name) {
            *count += 1;
            name = Arc::from(format!("{wanted}{count}"));
        }
        self.names.insert(name.clone());
        name
    }

    /// Adds a variable named after `wanted`.
    pub(crate) fn named(&mut self, wanted: &str, ty: Type) -> Var {
        let name = self.fresh(wanted);
        self.node.vars.push(VarData { name: Some(name), ty, span: self.span, asserts: None, cases: None })
    }

    /// Adds a variable without a name.
    pub(crate) fn unnamed(&mut self, ty: Type) -> Var {
        self.node.vars.push(VarData { name: None, ty, span: self.span, asserts: None, cases: None })
    }

    /// The type of a variable.
    pub(crate) fn ty(&self, v: Var) -> Type {
        self.node.vars[v].ty.clone()
    }

    /// The name of a variable, if it has one.
    pub(crate) fn name(&self, v: Var) -> Option<Arc<str>> {
        self.node.vars[v].name.clone()
    }

    /// The right side of the equation of `v` in the forward node; `None` for inputs.
    pub(crate) fn rhs(&self, v: Var) -> Option<&Rhs> {
        self.definition.get(&v).map(|&eq| &self.node.equations[eq].rhs)
    }

    /// Appends `v = rhs`.
    pub(crate) fn define(&mut self, v: Var, rhs: Rhs) {
        self.adjoint.push(Equation { lhs: vec![v], rhs, span: self.span });
    }

    /// Appends an equation that defines a new variable.
    pub(crate) fn emit(&mut self, ty: Type, rhs: Rhs) -> Var {
        let v = self.unnamed(ty);
        self.define(v, rhs);
        v
    }

    /// Appends `op(args)`.
    pub(crate) fn apply(&mut self, op: Op, args: &[Var]) -> Var {
        self.apply_written(op, args, Vec::new())
    }

    /// Appends `op(args)`, with its static arguments as they are printed.
    pub(crate) fn apply_written(&mut self, op: Op, args: &[Var], statics: Vec<Arc<str>>) -> Var {
        let types: Vec<Type> = args.iter().map(|&v| self.ty(v)).collect();
        // The rules only use operands that fit; otherwise the verifier reports the type chosen here.
        let ty = op::result_type(&op, &types)
            .unwrap_or_else(|_| types.first().cloned().unwrap_or_else(Type::condition));
        self.emit(ty, Rhs::Apply { op, args: args.to_vec(), statics })
    }

    /// Appends a constant with `x` as each element.
    pub(crate) fn constant(&mut self, ty: &Type, x: f64) -> Var {
        let k = self.filled(ty, x);
        self.emit(ty.clone(), Rhs::Const(k))
    }

    /// Appends `false` or `true`.
    pub(crate) fn truth(&mut self, value: bool) -> Var {
        self.constant(&Type::condition(), f64::from(u8::from(value)))
    }

    /// Adds an entry to the table of constants.
    pub(crate) fn filled(&mut self, ty: &Type, x: f64) -> rml_ir::normal::ConstId {
        let value = Value::filled_for(self.span, ty, x, self.precision).unwrap_or_else(|refused| {
            self.refused.get_or_insert(refused);
            Value::num(x, self.precision)
        });
        let kind = ConstKind::Value(value);
        self.node.consts.push(Constant { kind, ty: ty.clone(), text: None })
    }

    /// Appends `merge cond on_true on_false`.
    pub(crate) fn merge(&mut self, cond: Var, on_true: Var, on_false: Var) -> Var {
        let ty = self.ty(on_true);
        self.emit(ty, Rhs::Merge { cond, on_true, on_false })
    }

    /// Appends `value when cond`; always a new equation.
    pub(crate) fn when(&mut self, value: Var, cond: Var) -> Var {
        let ty = self.ty(value);
        self.emit(ty, Rhs::When { value, cond })
    }

    /// The forward variable `v` sampled by `cond`; a literal is repeated on the new clock.
    pub(crate) fn sample(&mut self, v: Var, cond: Var) -> Var {
        if let Some(&known) = self.samples.get(&(v, cond)) {
            return known;
        }
        if self.node.vars[v].name.is_none()
            && let Some(Rhs::Const(k)) = self.rhs(v)
            && matches!(self.node.consts[*k].kind, ConstKind::Value(_))
        {
            let (k, ty) = (*k, self.ty(v));
            return self.emit(ty, Rhs::Const(k));
        }
        let sampled = self.when(v, cond);
        self.samples.insert((v, cond), sampled);
        self.sampled.insert(sampled);
        sampled
    }

    /// Appends `merge cond d 0`, which makes `d` present wherever `cond` is present.
    pub(crate) fn pad(&mut self, cond: Var, d: Var) -> Var {
        let ty = self.ty(d);
        let zero = self.constant(&ty, 0.0);
        self.merge(cond, d, zero)
    }

    /// Appends `0 fby d` or `0 fby back d`.
    pub(crate) fn delay(&mut self, back: bool, d: Var) -> Var {
        let ty = self.ty(d);
        let init = Init::Const(self.filled(&ty, 0.0));
        self.emit(ty, if back { Rhs::FbyBack { init, next: d } } else { Rhs::Fby { init, next: d } })
    }

    /// Appends zeros of type `ty`, sampled by `cond`. `like` is a variable with that shape.
    pub(crate) fn zeros_when(&mut self, ty: &Type, like: Option<Var>, cond: Var) -> Var {
        let k = self.filled(ty, 0.0);
        if !ty.shape.is_scalar() {
            self.node.consts[k].text =
                like.and_then(|v| self.name(v)).map(|name| Arc::from(format!("zeros(shape({name}))")));
        }
        let zero = self.emit(ty.clone(), Rhs::Const(k));
        self.when(zero, cond)
    }

    /// The guard for `cond`, with negations and copies in the forward node followed.
    pub(crate) fn guard(&self, cond: Var) -> Guard {
        let mut guard = Guard { var: cond, positive: true };
        // A chain with more steps than the node has equations is a cycle.
        for _ in 0..=self.node.equations.len() {
            match self.rhs(guard.var) {
                Some(Rhs::Apply { op: Op::Not, args, .. }) if args.len() == 1 => {
                    guard = Guard { var: args[0], positive: !guard.positive };
                }
                Some(Rhs::Apply { op: Op::Copy, args, .. }) if args.len() == 1 => guard.var = args[0],
                _ => break,
            }
        }
        guard
    }

    /// The variable of a guard.
    pub(crate) fn guard_var(&mut self, guard: Guard) -> Var {
        if guard.positive {
            return guard.var;
        }
        if let Some(&known) = self.guards.get(&guard) {
            return known;
        }
        let v = self.apply(Op::Not, &[guard.var]);
        self.guards.insert(guard, v);
        self.negated.insert(v, guard.var);
        v
    }

    /// The variable of which `v` is the negation, or the negation of `v`.
    pub(crate) fn opposite(&self, v: Var) -> Option<Var> {
        let negation = self.guards.get(&Guard { var: v, positive: false });
        negation.or_else(|| self.negated.get(&v)).copied()
    }

    /// Whether `a` was defined as `not b`.
    pub(crate) fn is_negation(&self, a: Var, b: Var) -> bool {
        self.guards.get(&Guard { var: b, positive: false }) == Some(&a)
    }

    /// The guard's variable or its negation, sampled by `cond`. Like [`guard_var`](Self::guard_var), for a variable of
    /// the adjoint.
    pub(crate) fn sampled_guard(&mut self, guard: Guard, cond: Var) -> Var {
        let var = self.sample(guard.var, cond);
        self.guard_var(Guard { var, positive: guard.positive })
    }

    /// The condition `own`, sampled by `cond`. If `cond` is `b`, then `if c then b else false` is `c`.
    pub(crate) fn sampled_condition(&mut self, own: Bp, cond: Bp) -> Var {
        let cond_var = self.condition(cond);
        match self.conditions.kind(own) {
            &BpKind::If { cond: guard, of } if self.same_condition(of, cond) => {
                self.sampled_guard(guard, cond_var)
            }
            _ => {
                let own = self.condition(own);
                self.sample(own, cond_var)
            }
        }
    }

    /// Names conditions after variables. If several variables share a condition, the first one gives its name.
    /// Requires: conditions are solved.
    pub(crate) fn name_conditions(&mut self, variables: impl IntoIterator<Item = Var>) {
        for v in variables {
            let (Some(&slot), Some(name)) = (self.slots.get(&v), self.name(v)) else { continue };
            let class = self.conditions.find(slot);
            if self.condition_names.contains_key(&class) {
                continue;
            }
            let existing = match self.conditions.kind(class) {
                BpKind::Var(existing) => Some(*existing),
                _ => None,
            };
            if existing.is_some_and(|v| self.node.vars[v].name.is_some()) {
                continue;
            }
            let name = self.fresh(&format!("bp{name}"));
            if let Some(existing) = existing {
                self.node.vars[existing].name = Some(name.clone());
            }
            self.condition_names.insert(class, name);
        }
    }

    /// The variable of a condition; makes its equations if they do not exist yet. Requires: conditions are solved.
    pub(crate) fn condition(&mut self, bp: Bp) -> Var {
        let v = self.condition_var(bp);
        while let Some(bp) = self.pending.pop() {
            let v = self.condition_var(bp);
            self.define_condition(bp, v);
        }
        v
    }

    fn condition_var(&mut self, bp: Bp) -> Var {
        let class = self.conditions.find(bp);
        if let BpKind::Var(v) = self.conditions.kind(class) {
            return *v;
        }
        if let Some(&known) = self.condition_vars.get(&class) {
            return known;
        }
        let name = self.condition_names.get(&class).cloned();
        let (ty, span) = (Type::condition(), self.span);
        let v = self.node.vars.push(VarData { name, ty, span, asserts: None, cases: None });
        self.condition_vars.insert(class, v);
        self.pending.push(class);
        v
    }

    fn define_condition(&mut self, bp: Bp, v: Var) {
        let rhs = match self.conditions.kind(bp).clone() {
            BpKind::Var(of) => Rhs::Apply { op: Op::Copy, args: vec![of], statics: Vec::new() },
            BpKind::Delay { back, of } => {
                let next = self.condition_var(of);
                let init = Init::Const(self.filled(&Type::condition(), 0.0));
                if back { Rhs::FbyBack { init, next } } else { Rhs::Fby { init, next } }
            }
            BpKind::When { of, cond } => {
                let value = self.condition_var(of);
                Rhs::When { value, cond: self.guard_var(cond) }
            }
            BpKind::Merge { cond, of } => {
                let (of, no) = (self.condition_var(of), self.truth(false));
                let (on_true, on_false) = if cond.positive { (of, no) } else { (no, of) };
                Rhs::Merge { cond: cond.var, on_true, on_false }
            }
            BpKind::If { cond, of } => {
                let (of, no) = (self.condition_var(of), self.truth(false));
                let (then, other) = if cond.positive { (of, no) } else { (no, of) };
                Rhs::If { cond: cond.var, then, other }
            }
            BpKind::Or(cases) => self.disjunction(&cases),
        };
        self.define(v, rhs);
    }

    /// The disjunction as `if a then true else if b then true else c`. It is known as soon as one case is true, whereas
    /// `a or b or c` would wait for all cases. Cases that come from other cycles are last.
    fn disjunction(&mut self, cases: &[Bp]) -> Rhs {
        let (late, soon): (Vec<Bp>, Vec<Bp>) = cases.iter().partition(|&&case| self.conditions.is_late(case));
        let vars: Vec<Var> = soon.into_iter().chain(late).map(|case| self.condition_var(case)).collect();
        match vars.split_first() {
            None => Rhs::Const(self.filled(&Type::condition(), 0.0)),
            Some((only, [])) => Rhs::Apply { op: Op::Copy, args: vec![*only], statics: Vec::new() },
            Some((first, [between @ .., last])) => {
                let other = between.iter().rfold(*last, |other, &case| {
                    let either = self.either(case, other);
                    self.emit(Type::condition(), either)
                });
                self.either(*first, other)
            }
        }
    }

    /// The expression `if a then true else b`.
    pub(crate) fn either(&mut self, a: Var, b: Var) -> Rhs {
        Rhs::If { cond: a, then: self.truth(true), other: b }
    }

    /// The condition of a variable with a gradient, as a variable.
    pub(crate) fn condition_of(&mut self, v: Var) -> Option<Var> {
        let slot = *self.slots.get(&v)?;
        Some(self.condition(slot))
    }

    /// Whether two conditions are known to be the same stream.
    pub(crate) fn same_condition(&self, a: Bp, b: Bp) -> bool {
        self.conditions.find(a) == self.conditions.find(b)
    }

    /// Whether `v` was made by sampling a forward variable, so that other equations may read it too.
    pub(crate) fn is_sample(&self, v: Var) -> bool {
        self.sampled.contains(&v)
    }

    /// The equations of the forward node as they will be, without the equations of the adjoint, which are not ordered
    /// yet.
    pub(crate) fn forward_equations(&self) -> &IndexVec<Eq, Equation> {
        &self.node.equations
    }
}
