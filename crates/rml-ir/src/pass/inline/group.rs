//! `group_sum(x)` in the update of a parameter: the sum of `x` over all parameters that the same node of the source
//! updates (PARAM-10).
//!
//! The calls that belong together have the same path in their updates. Each is left out, and its result becomes the
//! sum of all their arguments, in the order of the text. If all parameters are on one clock, that is the sum in their
//! cycle:
//!
//! ```text
//! sum1 = x0 + x1;   sum2 = sum1 + x2;   ..
//! total0 = sum2;    total1 = sum2;      ..
//! ```
//!
//! Else each `x` is padded with zeros on the way to a clock that all are sampled from, and the sum is sampled on the
//! way back. In windows, that clock is the one of their end, updates of one window may be in several of its cycles, and
//! each has the sum over the window:
//!
//! ```text
//! whole = sum2 + (0 fby back[W] whole);
//! held  = if (true fby[W] false) then whole else (0 fby[W] held);
//! ```

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::analysis::CLOCK_MISMATCH;
use rml_base::{Diagnostic, EntityId, IndexVec, Span};

use super::Inliner;
use crate::flat::{ClassId, ClockClasses, Flat, Init, Rhs, Var, Window};
use crate::normal::{self, ConstId, Eq, Node};
use crate::op::{Binary, Op};
use crate::types::{DType, Type};
use crate::value::Value;

/// The library's node that is the sum over a group; by itself, `x`.
const GROUP_SUM: &str = "group_sum";

/// The update of a parameter that an instance is in.
#[derive(Clone, Copy)]
pub(super) struct Within {
    /// The node of the source that updates it: the parameters of one such node are a group.
    pub(super) rule: Span,
    /// The length of the path of the update.
    pub(super) path: usize,
    /// The window that it is once in, if it is not in every cycle.
    pub(super) window: Option<Window>,
    /// The parameter.
    pub(super) span: Span,
}

/// Which calls of `group_sum` belong together: the node that updates, and the path of the call in the update.
pub(super) type Sum = (Span, Arc<str>);

/// One of these calls.
pub(super) struct Part {
    x: Var,
    total: Var,
    within: Within,
    span: Span,
}

/// Whether a call of a node in an update is one of `group_sum`: the node has that name and is `total = x`.
pub(super) fn is_sum(node: &Node) -> bool {
    if &*node.name != GROUP_SUM {
        return false;
    }
    let inputs: Vec<normal::Var> = node.inputs().map(|input| input.var).collect();
    let ([x], [total]) = (&inputs[..], &node.outputs[..]) else { return false };
    let is_number = |v: normal::Var| node.vars[v].ty == Type::scalar(DType::Num);
    let copies =
        |rhs: &normal::Rhs| matches!(rhs, normal::Rhs::Apply { op: Op::Copy, args, .. } if args[..] == [*x]);
    let is_body = |e: &normal::Equation| e.lhs == [*total] && copies(&e.rhs);
    is_number(*x) && is_number(*total) && node.equations.len() == 1 && node.equations.iter().all(is_body)
}

impl Inliner<'_> {
    /// Notes a call of `group_sum`, whose full path is given.
    pub(super) fn note_sum(&mut self, within: Within, path: &Arc<str>, (x, total): (Var, Var), span: Span) {
        let inside = path.get(within.path..).unwrap_or_default();
        self.sums.entry((within.rule, inside.into())).or_default().push(Part { x, total, within, span });
    }

    /// Adds the equations of all sums.
    pub(super) fn close_sums(&mut self) {
        let sums = std::mem::take(&mut self.sums);
        if sums.is_empty() {
            return;
        }
        self.is_inside = false;
        let clocks = Clocks::of(&self.flat, ClockClasses::new(&self.flat), &|_| true);
        let first = self.flat.equations.len();
        for (_, parts) in sums {
            self.added.push(parts.iter().map(|part| (part.x, part.total)).collect());
            self.close_sum(&clocks, parts);
        }
        self.between.extend((first..self.flat.equations.len()).map(Eq::from_index));
    }

    fn close_sum(&mut self, clocks: &Clocks, parts: Vec<Part>) {
        let Some(first) = parts.first() else { return };
        let (window, span) = (first.within.window, first.span);
        let end = |window: Window| clocks.source(self.flat.windows[window].end);
        let other = parts.iter().find(|part| part.within.window.map(end) != window.map(end));
        if let Some(other) = other {
            self.refused.get_or_insert(apart(first, other));
        }
        // what each is sampled by, from outside; in windows the last step is to the first cycle of the parameter
        let mut ways: Vec<Vec<Step>> = parts.iter().map(|part| clocks.way(part.x)).collect();
        let steps = |way: &Vec<Step>| way.len().saturating_sub(usize::from(window.is_some()));
        let is_one = ways.windows(2).all(|two| two[0][..steps(&two[0])] == two[1][..steps(&two[1])]);
        if is_one {
            ways.iter_mut().for_each(Vec::clear);
        } else {
            let outer = match window {
                Some(window) => clocks.way(self.flat.windows[window].end),
                None => common(&ways),
            };
            for (way, part) in ways.iter_mut().zip(&parts) {
                match way.strip_prefix(&outer[..]) {
                    Some(rest) => *way = rest.to_vec(),
                    None => _ = self.refused.get_or_insert(apart(first, part)),
                }
            }
        }
        let mut sum = None;
        for (part, way) in parts.iter().zip(&ways) {
            let padded = way.iter().rev().fold(part.x, |x, step| self.pad(x, *step, part.span));
            sum = Some(match sum {
                None => padded,
                Some(sum) => self.scalar(add(sum, padded), part.span),
            });
        }
        let Some(mut sum) = sum else { return };
        if let (Some(window), false) = (window, is_one) {
            sum = self.held_sum(sum, window, span);
        }
        for (part, way) in parts.iter().zip(&ways) {
            let total = way.iter().fold(sum, |sum, step| self.sample(sum, *step, part.span));
            self.copy(part.total, total, part.span);
        }
    }

    /// The sum of a number over a window, in all of its cycles.
    fn held_sum(&mut self, sum: Var, window: Window, span: Span) -> Var {
        let zero = self.value(Value::num(0.0, self.flat.precision));
        let (yes, no) = (self.value(Value::Bool(true)), self.value(Value::Bool(false)));
        let never = self.define(Type::condition(), Rhs::Const(no), span);
        let begin = Rhs::Fby { init: Init::Const(yes), next: never, window: Some(window) };
        let begin = self.define(Type::condition(), begin, span);
        let ty = self.flat.vars[sum].ty.clone();
        let [whole, held] = [0, 1].map(|_| self.temporary(ty.clone(), span));
        let later = Rhs::FbyBack { init: Init::Const(zero), next: whole, window: Some(window) };
        let later = self.define(ty.clone(), later, span);
        self.emit(whole, add(sum, later), span);
        let before = Rhs::Fby { init: Init::Const(zero), next: held, window: Some(window) };
        let before = self.define(ty, before, span);
        self.emit(held, Rhs::If { cond: begin, then: whole, other: before }, span);
        held
    }

    /// A number that is present where a condition says so, completed with zeros.
    fn pad(&mut self, x: Var, (cond, positive): Step, span: Span) -> Var {
        let zero = self.value(Value::num(0.0, self.flat.precision));
        let zero = self.scalar(Rhs::Const(zero), span);
        let (on_true, on_false) = if positive { (x, zero) } else { (zero, x) };
        self.scalar(Rhs::Merge { cond, on_true, on_false }, span)
    }

    /// A number where a condition says so.
    fn sample(&mut self, value: Var, (cond, positive): Step, span: Span) -> Var {
        let cond = match positive {
            true => cond,
            false => self.define(Type::condition(), Rhs::Apply { op: Op::Not, args: vec![cond] }, span),
        };
        self.scalar(Rhs::When { value, cond }, span)
    }

    fn scalar(&mut self, rhs: Rhs, span: Span) -> Var {
        self.define(Type::scalar(DType::Num), rhs, span)
    }

    fn define(&mut self, ty: Type, rhs: Rhs, span: Span) -> Var {
        let var = self.temporary(ty, span);
        self.emit(var, rhs, span);
        var
    }

    fn value(&mut self, value: Value) -> ConstId {
        self.flat.consts.push(value.into())
    }
}

fn add(a: Var, b: Var) -> Rhs {
    Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![a, b] }
}

/// What several ways begin with.
fn common(ways: &[Vec<Step>]) -> Vec<Step> {
    let Some((first, others)) = ways.split_first() else { return Vec::new() };
    let is_common = |at: &usize| others.iter().all(|other| other.get(*at) == first.get(*at));
    first[..(0..first.len()).take_while(is_common).count()].to_vec()
}

/// A condition, and its value where something is present that it samples.
pub(in crate::pass) type Step = (Var, bool);

/// By what the variables of a program are sampled.
pub(in crate::pass) struct Clocks {
    classes: ClockClasses,
    /// What samples each class, if anything does.
    sampled: IndexVec<ClassId, Option<Step>>,
    /// What each variable is a copy of.
    copies: IndexMap<Var, Var>,
}

impl Clocks {
    /// What the equations of those variables say.
    pub(in crate::pass) fn of(flat: &Flat, classes: ClockClasses, kept: &dyn Fn(Var) -> bool) -> Self {
        let mut sampled = IndexVec::filled(None, classes.len());
        let mut copies = IndexMap::new();
        for equation in flat.equations.iter().filter(|equation| kept(equation.lhs)) {
            for sample in equation.synchrony().samples {
                let (own, from) = (classes.of(sample.var), classes.of(sample.cond));
                if own != from {
                    sampled[own].get_or_insert((sample.cond, sample.positive));
                }
            }
            if let Rhs::Apply { op: Op::Copy, args } = &equation.rhs {
                copies.extend(args.first().map(|from| (equation.lhs, *from)));
            }
        }
        Self { classes, sampled, copies }
    }

    /// What a variable is a copy of, through others.
    fn source(&self, mut var: Var) -> Var {
        for _ in 0..self.copies.len() {
            match self.copies.get(&var) {
                Some(from) => var = *from,
                None => break,
            }
        }
        var
    }

    /// The same, and inputs are sampled by the conditions of their clocks.
    pub(in crate::pass) fn with_inputs(mut self, flat: &Flat) -> Self {
        for input in &flat.inputs {
            let class = self.classes.of(input.var);
            self.sampled[class] = self.sampled[class].or(input.clock);
        }
        self
    }

    /// What a variable is sampled by, from outside.
    pub(in crate::pass) fn way(&self, var: Var) -> Vec<Step> {
        let mut way = Vec::new();
        let mut next = self.sampled[self.classes.of(var)];
        while let Some((cond, positive)) = next.filter(|_| way.len() < self.sampled.len()) {
            way.push((self.source(cond), positive));
            next = self.sampled[self.classes.of(cond)];
        }
        way.reverse();
        way
    }
}

/// Two parameters of a group are updated in different windows, or one in none.
fn apart(first: &Part, other: &Part) -> Diagnostic {
    let (once, each) = ("updated once in each window", "updated in every cycle");
    let [first_often, other_often] = match (first.within.window, other.within.window) {
        (Some(_), Some(_)) => [once, "updated once in each of other windows"],
        (Some(_), None) => [once, each],
        (None, _) => [each, once],
    };
    Diagnostic::error(CLOCK_MISMATCH, "the parameters of a group are not updated in the same cycles")
        .label(first.within.span, first_often)
        .label(other.within.span, other_often)
        .label(first.span, "this is the sum over all parameters of the group")
        .help("call the node that has all of them window by window: `diff_net(x, true, d) every end`")
        .help("or let another node update some of them: `diff_f(x, true, d) by g`")
}
