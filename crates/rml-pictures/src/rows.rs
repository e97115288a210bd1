//! Which variables a chronogram shows, in which order, and what they are called.
//!
//! Inlining leaves copies behind: the formals and results of an instance are copies of the caller's variables or the
//! other way round. A group of copies is one stream with one name, the outermost.

use std::collections::BTreeSet;

use rml_base::{EntityId, IndexVec};
use rml_ir::flat::{Eq, Flat, Rhs, Var};
use rml_ir::op::Op;
use rml_ir::surface;

/// Which variables a chronogram shows. Inputs stand first, outputs last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rows {
    /// All named variables, those of inner instances by their paths; what is passed to an instance or comes from it
    /// only once.
    All,
    /// The named variables of the run node itself.
    #[default]
    Node,
    /// The outputs of the run node.
    Outputs,
    /// As [`Node`](Rows::Node), and above each variable the parts of its equation that delay, sample, merge or choose,
    /// those in instances included.
    Expressions,
}

/// The variables to show, with their labels, in order.
pub fn shown(flat: &Flat, rows: Rows) -> Vec<(Var, String)> {
    let names = StreamNames::new(flat);
    let label = |v: Var| flat.vars[v].name.as_deref().unwrap_or_default().to_owned();
    let own = |name: &str| !name.contains('.');
    let vars = match rows {
        Rows::Outputs => flat.outputs.clone(),
        Rows::All => {
            let mut vars = named(flat, |_| true);
            vars.retain(|&v| names.group(v) == v || own(&label(v)));
            vars
        }
        Rows::Node | Rows::Expressions => named(flat, own),
    };
    if rows != Rows::Expressions {
        return vars.into_iter().map(|v| (v, label(v))).collect();
    }
    let mut listing =
        Listing { flat, names: &names, seen: BTreeSet::new(), labels: BTreeSet::new(), rows: Vec::new() };
    listing.labels.extend(vars.iter().map(|&v| label(v)));
    for v in vars {
        listing.parts(v);
        listing.rows.push((v, label(v)));
    }
    listing.rows
}

/// The named variables whose name fits: inputs, locals, outputs, each once.
fn named(flat: &Flat, fits: impl Fn(&str) -> bool) -> Vec<Var> {
    let is_input = |v: &Var| flat.inputs.iter().any(|i| i.var == *v);
    let is_output = |v: &Var| flat.outputs.contains(v);
    let inputs = flat.inputs.iter().map(|i| i.var).filter(|v| !is_output(v));
    let fitting = |v: &Var| flat.vars[*v].name.as_deref().is_some_and(&fits);
    let locals = flat.vars.ids().filter(|v| fitting(v) && !is_input(v) && !is_output(v));
    let mut seen = vec![false; flat.vars.len()];
    let all = inputs.chain(locals).chain(flat.outputs.iter().copied());
    all.filter(|v| !std::mem::replace(&mut seen[v.index()], true)).collect()
}

/// Collects the parts of equations.
struct Listing<'a> {
    flat: &'a Flat,
    names: &'a StreamNames<'a>,
    /// Equations that were looked at.
    seen: BTreeSet<Eq>,
    /// Labels in use; a part that reads like another is the same stream.
    labels: BTreeSet<String>,
    rows: Vec<(Var, String)>,
}

impl Listing<'_> {
    /// Adds the parts of the equation of `v`, innermost first.
    fn parts(&mut self, v: Var) {
        let mut open = vec![(v, false)];
        while let Some((v, done)) = open.pop() {
            let Some(eq) = self.names.definitions[v] else { continue };
            let rhs = &self.flat.equations[eq].rhs;
            if done {
                self.part(v, eq);
            } else if self.seen.insert(eq) {
                open.push((v, true));
                let mut operands = Vec::new();
                rhs.for_each_operand(|x| operands.push(x));
                let hidden = operands.into_iter().rev().filter(|&x| self.names.of_node(x).is_none());
                let aliased = self.names.copied(v).into_iter();
                open.extend(hidden.chain(aliased).map(|x| (x, false)));
            }
        }
    }

    fn part(&mut self, v: Var, eq: Eq) {
        let in_time =
            !matches!(self.flat.equations[eq].rhs, Rhs::Const(_) | Rhs::Apply { .. } | Rhs::Param { .. });
        if !in_time || self.names.of_node(v).is_some() {
            return;
        }
        let label = surface::expression(self.flat, eq, &|v| self.names.short(v));
        if self.labels.insert(label.clone()) {
            self.rows.push((v, label));
        }
    }
}

/// Names of streams.
pub struct StreamNames<'a> {
    flat: &'a Flat,
    definitions: IndexVec<Var, Option<Eq>>,
    /// The variable that stands for each variable's group of copies.
    group: IndexVec<Var, Var>,
}

impl<'a> StreamNames<'a> {
    /// Names of the streams of a program.
    pub fn new(flat: &'a Flat) -> Self {
        let mut definitions = IndexVec::filled(None, flat.vars.len());
        for (eq, equation) in flat.equations.iter_enumerated() {
            definitions[equation.lhs] = Some(eq);
        }
        let mut names = Self { flat, definitions, group: flat.vars.ids().collect() };
        // The best name of a group wins: no name is worst, then the deepest path; the first of equals.
        let depth = |v: Var| flat.vars[v].name.as_deref().map_or(usize::MAX, |n| n.matches('.').count());
        loop {
            let mut changed = false;
            for equation in flat.equations.iter() {
                let Some(source) = names.copied(equation.lhs) else { continue };
                let (a, b) = (names.group[equation.lhs], names.group[source]);
                let best = if (depth(a), a) < (depth(b), b) { a } else { b };
                changed |= a != b;
                (names.group[equation.lhs], names.group[source]) = (best, best);
            }
            if !changed {
                return names;
            }
        }
    }

    /// What `v` is a copy of.
    fn copied(&self, v: Var) -> Option<Var> {
        match &self.flat.equations[self.definitions[v]?].rhs {
            Rhs::Apply { op: Op::Copy, args } => args.first().copied(),
            _ => None,
        }
    }

    /// The variable whose name stands for the stream `v`.
    pub fn group(&self, v: Var) -> Var {
        self.group[v]
    }

    /// The equation that defines a variable.
    pub fn definition(&self, v: Var) -> Option<Eq> {
        self.definitions[v]
    }

    /// The name that the run node has for a stream.
    fn of_node(&self, v: Var) -> Option<&'a str> {
        self.flat.vars[self.group[v]].name.as_deref().filter(|name| !name.contains('.'))
    }

    /// The shortest name of a stream; a variable of an instance that the run node does not name is called by its path.
    pub fn short(&self, v: Var) -> Option<String> {
        self.flat.vars[self.group[v]].name.as_deref().map(str::to_owned)
    }
}
