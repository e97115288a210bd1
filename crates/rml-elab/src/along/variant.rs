//! Nodes whose states are inputs and results, so that the delays of an entry pass their states to the next entry or to
//! the previous one.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span};
use rml_ir::op::{Distribution, Op};
use rml_ir::typed::{Callee, ConstKind, Constant, Equation, ExprId, ExprKind, Formal, Input};
use rml_ir::typed::{Node, NodeId, Var};
use rml_ir::{Precision, Type};

use super::edit::{Edit, Source};
use super::initials::Initials;
use crate::chains::{self, Chain, Clocks, Interface, Port};
use crate::hir::SourceId;
use crate::shared::Tags;

/// Whether an entry has a predecessor in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Start {
    /// No predecessor: delays have their first values.
    First,
    Next,
    /// A condition decides at run time whether there is a predecessor.
    Either,
}

/// The start for forward delays, and the start for backward delays.
pub(super) type Mode = [Start; 2];

/// The mode of a single entry.
pub(super) const ONLY: Mode = [Start::First; 2];

/// The values that a node passes from entry to entry.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// The types of the states of forward delays, and of backward delays.
    pub(super) states: [Vec<Type>; 2],
    /// Random constants other than keys; they are the same for all entries.
    pub(super) constants: Vec<Constant>,
}

impl Carried {
    pub(super) fn is_empty(&self) -> bool {
        self.states.iter().all(Vec::is_empty) && self.constants.is_empty()
    }
}

/// A node, changed to run for some entries. It has additional inputs: for each direction a condition if
/// [`Start::Either`], and the states if not [`Start::First`]; then the constants. The states are additional results.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub(super) id: NodeId,
    pub(super) carried: Rc<Carried>,
}

/// Cached facts about the variants of nodes.
#[derive(Debug, Default)]
pub(crate) struct Known {
    variants: IndexMap<(NodeId, Mode), Variant>,
    /// The clocks of inputs and outputs.
    interfaces: IndexMap<NodeId, Interface>,
}

/// The nodes of a module, to which variants are added.
pub(crate) struct Nodes<'b> {
    pub(crate) nodes: &'b mut IndexVec<NodeId, Node>,
    pub(crate) sources: &'b mut IndexVec<NodeId, SourceId>,
    pub(crate) tags: &'b mut IndexMap<NodeId, Tags>,
    pub(crate) known: &'b mut Known,
    pub(crate) precision: Precision,
}

impl Nodes<'_> {
    /// Returns the name of a callee and the order to which it is differentiated.
    pub(crate) fn called(&self) -> impl Fn(Callee) -> (Arc<str>, u8) {
        move |callee| match callee {
            Callee::Node(id) => (self.nodes[id].name.clone(), 0),
            Callee::Diff { node, order } => (self.nodes[node].name.clone(), order),
        }
    }

    /// The clocks of the inputs and outputs of a node.
    pub(crate) fn interface(&mut self, id: NodeId) -> Interface {
        if let Some(known) = self.known.interfaces.get(&id) {
            return known.clone();
        }
        let node = self.nodes[id].clone();
        let clocks = Clocks::of(&node, &mut |callee| self.interface(callee));
        let found = chains::interface(&node, &clocks);
        self.known.interfaces.insert(id, found.clone());
        found
    }

    /// Whether the entries of a node pass states to each other, or receive random constants as inputs.
    fn hands_on(&mut self, id: NodeId) -> Result<bool, Diagnostic> {
        Ok(!self.variant(id, ONLY)?.carried.is_empty())
    }

    /// The variant of a node for some entries; the node itself if its entries pass nothing on.
    pub(super) fn variant(&mut self, id: NodeId, mode: Mode) -> Result<Variant, Diagnostic> {
        if let Some(known) = self.known.variants.get(&(id, mode)) {
            return Ok(known.clone());
        }
        let node = self.nodes[id].clone();
        let tags = self.tags.get(&id).cloned().unwrap_or_default();
        let mut edit = Edit::new(node, tags, self.precision);
        edit.fix_names(&self.called());
        edit.name_conditions();
        let clocks = Clocks::of(&edit.node, &mut |callee| self.interface(callee));
        let sides = mode.map(Side::new);
        let mut rewrite = Rewrite { nodes: self, edit, clocks, sides, constants: Vec::new() };
        let initials = Initials::of(&rewrite.edit.node);
        for expr in rewrite.edit.in_order().into_iter().filter(|expr| !initials.exprs.contains(expr)) {
            let nodes = &mut *rewrite.nodes;
            initials.check(&rewrite.edit.node, expr, &mut |callee| nodes.hands_on(callee))?;
            rewrite.expr(expr)?;
        }
        let (edit, carried) = rewrite.finish();
        let made = if carried.is_empty() {
            Variant { id, carried: Rc::new(carried) }
        } else {
            let (node, tags) = edit.finish();
            let made = self.nodes.push(node);
            let source = self.sources[id];
            self.sources.push(source);
            if !tags.is_empty() {
                self.tags.insert(made, tags);
            }
            Variant { id: made, carried: Rc::new(carried) }
        };
        self.known.variants.insert((id, mode), made.clone());
        Ok(made)
    }
}

/// The values that are passed on in one direction.
struct Side {
    start: Start,
    /// The states: their types, their inputs, and their results.
    slots: Vec<(Type, Option<Var>, Option<Var>)>,
    /// The condition of [`Start::Either`], once it is needed.
    flag: Option<Var>,
    /// For each clock: whether it was present in an earlier entry.
    begun: IndexMap<Chain, Begun>,
}

impl Side {
    fn new(start: Start) -> Self {
        Self { start, slots: Vec::new(), flag: None, begun: IndexMap::new() }
    }
}

/// Whether a clock was present in an earlier entry.
#[derive(Clone, Copy)]
enum Begun {
    No,
    Yes,
    By(Var),
}

/// A variant under construction.
struct Rewrite<'v, 'b> {
    nodes: &'v mut Nodes<'b>,
    edit: Edit,
    clocks: Clocks,
    sides: [Side; 2],
    constants: Vec<(Constant, Var)>,
}

impl Rewrite<'_, '_> {
    /// Passes on the states of an expression itself, without those of its operands.
    fn expr(&mut self, expr: ExprId) -> Result<(), Diagnostic> {
        let span = self.edit.node.exprs[expr].span;
        match self.edit.node.exprs[expr].kind.clone() {
            ExprKind::Fby { init, next } => self.delay(0, expr, (init, next))?,
            ExprKind::FbyBack { init, next } => self.delay(1, expr, (init, next))?,
            ExprKind::Post { .. } => return Err(post(span)),
            ExprKind::Const(constant) => {
                // A key belongs to the instance of the entry, which draws its own random stream.
                if matches!(constant.kind, ConstKind::Random(of) if of != Distribution::Key) {
                    let chain = self.chain(expr)?;
                    let var = self.constant(constant, span);
                    let value = self.edit.sampled(var, &chain, span);
                    self.edit.replace(expr, value);
                }
            }
            ExprKind::Call { callee: Callee::Node(callee), .. } => self.call(expr, callee)?,
            ExprKind::Call { callee: Callee::Diff { node, .. }, .. } => {
                if self.nodes.hands_on(node)? {
                    return Err(adjoint(&self.nodes.nodes[node], span));
                }
            }
            ExprKind::Var(_)
            | ExprKind::Apply { .. }
            | ExprKind::If { .. }
            | ExprKind::When { .. }
            | ExprKind::Merge { .. }
            | ExprKind::Param { .. } => {}
        }
        Ok(())
    }

    fn chain(&self, expr: ExprId) -> Result<Chain, Diagnostic> {
        let span = self.edit.node.exprs[expr].span;
        self.clocks.chain(expr).ok_or_else(|| hidden(span))
    }

    /// Passes on the state of a delay; `side` is its direction.
    fn delay(&mut self, side: usize, expr: ExprId, (init, next): (ExprId, ExprId)) -> Result<(), Diagnostic> {
        let chain = self.chain(expr)?;
        let (ty, span) = (self.edit.node.exprs[expr].ty.clone(), self.edit.node.exprs[expr].span);
        let next = self.edit.named(next);
        let is_value =
            |kind: &ExprKind| matches!(kind, ExprKind::Const(constant) if constant.value().is_some());
        let first = if is_value(&self.edit.node.exprs[init].kind) {
            init
        } else {
            let var = self.edit.named(init);
            self.edit.read(var, span)
        };
        let begun = self.begun(side, &chain, span);
        let (slot, state) = self.slot(side, ty.clone(), span);
        match (begun, state) {
            (Begun::Yes, Some(state)) => self.edit.node.exprs[expr].kind = ExprKind::Var(state),
            (Begun::By(begun), Some(state)) => {
                let cond = self.edit.sampled(begun, &chain, span);
                let then = self.edit.sampled(state, &chain, span);
                self.edit.node.exprs[expr].kind = ExprKind::If { cond, then, other: first };
            }
            (Begun::No, _) | (_, None) => self.edit.replace(expr, first),
        }
        let now = state.map_or(Source::Fill(0.0), Source::Var);
        let out = self.edit.or_else(&chain, (Source::Var(next), now), &ty, span);
        self.hand_on(side, slot, out);
        Ok(())
    }

    /// Adds a state; it has an input unless the entry has no predecessor.
    fn slot(&mut self, side: usize, ty: Type, span: Span) -> (usize, Option<Var>) {
        let input = (self.sides[side].start != Start::First).then(|| self.edit.var(None, ty.clone(), span));
        self.sides[side].slots.push((ty, input, None));
        (self.sides[side].slots.len() - 1, input)
    }

    /// Defines the value that the next entry has as its state.
    fn hand_on(&mut self, side: usize, slot: usize, value: ExprId) {
        self.sides[side].slots[slot].2 = Some(self.edit.define(value));
    }

    /// Whether a clock was present in an earlier entry.
    fn begun(&mut self, side: usize, chain: &Chain, span: Span) -> Begun {
        if chain.is_empty() {
            return match self.sides[side].start {
                Start::First => Begun::No,
                Start::Next => Begun::Yes,
                Start::Either => Begun::By(self.flag(side, span)),
            };
        }
        if let Some(&known) = self.sides[side].begun.get(chain) {
            return known;
        }
        let ty = Type::condition();
        let (slot, state) = self.slot(side, ty.clone(), span);
        let begun = match (self.sides[side].start, state) {
            (Start::Next, Some(state)) => Begun::By(state),
            (Start::Either, Some(state)) => {
                let flag = self.flag(side, span);
                Begun::By(self.edit.logic(Op::And, &[flag, state], span))
            }
            (Start::First, _) | (_, None) => Begun::No,
        };
        let now = match begun {
            Begun::By(var) => Source::Var(var),
            Begun::No | Begun::Yes => Source::Fill(0.0),
        };
        let out = self.edit.or_else(chain, (Source::Fill(1.0), now), &ty, span);
        self.hand_on(side, slot, out);
        self.sides[side].begun.insert(chain.clone(), begun);
        begun
    }

    fn flag(&mut self, side: usize, span: Span) -> Var {
        if let Some(flag) = self.sides[side].flag {
            return flag;
        }
        let flag = self.edit.var(None, Type::condition(), span);
        self.sides[side].flag = Some(flag);
        flag
    }

    /// The input for a constant.
    fn constant(&mut self, constant: Constant, span: Span) -> Var {
        let var = self.edit.var(None, constant.ty.clone(), span);
        self.constants.push((constant, var));
        var
    }

    /// Replaces a call by a call of a variant, if the callee has states to pass on.
    fn call(&mut self, expr: ExprId, callee: NodeId) -> Result<(), Diagnostic> {
        let carried = self.nodes.variant(callee, ONLY)?.carried;
        if carried.is_empty() {
            return Ok(());
        }
        let (chain, span) = (self.chain(expr)?, self.edit.node.exprs[expr].span);
        self.together(expr, callee, &chain)?;
        let end = self.end(expr, span)?;
        let (mut args, mut results, mut mode) = (Vec::new(), Vec::new(), ONLY);
        for side in [0, 1] {
            if carried.states[side].is_empty() {
                continue;
            }
            let mut begun = self.begun(side, &chain, span);
            if let Some(end) = end {
                begun = self.within(side, begun, (end, &chain), span);
            }
            mode[side] = match begun {
                Begun::No => Start::First,
                Begun::Yes => Start::Next,
                Begun::By(begun) => {
                    args.push(self.edit.sampled(begun, &chain, span));
                    Start::Either
                }
            };
            for ty in &carried.states[side] {
                let (slot, state) = self.slot(side, ty.clone(), span);
                if let Some(state) = state.filter(|_| mode[side] != Start::First) {
                    args.push(self.edit.sampled(state, &chain, span));
                }
                let result = self.edit.var(None, ty.clone(), span);
                results.push(Some(result));
                let now = state.map_or(Source::Fill(0.0), Source::Var);
                let out = self.edit.or_else(&chain, (Source::Var(result), now), ty, span);
                self.hand_on(side, slot, out);
            }
        }
        for constant in &carried.constants {
            let var = self.constant(constant.clone(), span);
            args.push(self.edit.sampled(var, &chain, span));
        }
        let variant = self.nodes.variant(callee, mode)?.id;
        self.call_variant(expr, variant, args, results);
        Ok(())
    }

    /// Checks that all arguments of a call, except those with a declared clock, are on the clock of the call: the ends
    /// of its windows are only known on that clock.
    fn together(&mut self, call: ExprId, callee: NodeId, chain: &Chain) -> Result<(), Diagnostic> {
        let ports = self.nodes.interface(callee).inputs;
        let ExprKind::Call { args, .. } = &self.edit.node.exprs[call].kind else { return Ok(()) };
        let is_other = |(port, arg): &(&Port, &ExprId)| {
            **port == Port::Base && self.clocks.known_chain(**arg).is_some_and(|other| other != *chain)
        };
        match ports.iter().zip(args).find(is_other) {
            Some((_, arg)) => Err(mixed(self.edit.node.exprs[call].span, self.edit.node.exprs[*arg].span)),
            None => Ok(()),
        }
    }

    /// Replaces a call by a call of a variant with additional arguments and results.
    fn call_variant(&mut self, expr: ExprId, variant: NodeId, more: Vec<ExprId>, results: Vec<Option<Var>>) {
        let node = &mut self.edit.node;
        if let ExprKind::Call { callee, args, every, .. } = &mut node.exprs[expr].kind {
            (*callee, *every) = (Callee::Node(variant), None);
            args.extend(more);
        }
        let Some(at) = self.edit.equation_of(expr) else {
            let (ty, span) = (self.edit.node.exprs[expr].ty.clone(), self.edit.node.exprs[expr].span);
            let rhs = self.edit.moved(expr);
            let var = self.edit.var(None, ty, span);
            self.edit.node.exprs[expr].kind = ExprKind::Var(var);
            let lhs = std::iter::once(Some(var)).chain(results).collect();
            self.edit.node.equations.push(Equation { lhs, rhs, span });
            return;
        };
        if let (true, Some(Some(first))) = (self.edit.node.equations[at].lhs.is_empty(), results.first()) {
            self.edit.node.exprs[expr].ty = self.edit.node.vars[*first].ty.clone();
        }
        self.edit.node.equations[at].lhs.extend(results);
    }

    /// Whether a window of a call ends with this entry; `None` if the call has no `every`.
    fn end(&mut self, call: ExprId, span: Span) -> Result<Option<Var>, Diagnostic> {
        let ExprKind::Call { every: Some(every), .. } = self.edit.node.exprs[call].kind else {
            return Ok(None);
        };
        let chain = self.chain(every)?;
        let cond = self.edit.named(every);
        if chain.is_empty() {
            return Ok(Some(cond));
        }
        let known = (Source::Var(cond), Source::Fill(0.0));
        let end = self.edit.or_else(&chain, known, &Type::condition(), span);
        Ok(Some(self.edit.define(end)))
    }

    /// Whether a call with `every` has already run in the present window; only then do its states continue.
    fn within(&mut self, side: usize, begun: Begun, (end, chain): (Var, &Chain), span: Span) -> Begun {
        let ty = Type::condition();
        // Backward, this entry itself ends the window; forward, an earlier one does.
        let backward = side == 1;
        let mut cut = Some(end);
        if !backward || !chain.is_empty() {
            let (slot, before) = self.slot(side, ty.clone(), span);
            let seen = match before.filter(|_| !chain.is_empty()) {
                Some(before) if backward => self.edit.logic(Op::Or, &[end, before], span),
                Some(before) => before,
                None => end,
            };
            cut = if backward { Some(seen) } else { before };
            // An entry in which the call runs clears the flag.
            let out = match before.filter(|_| !chain.is_empty()) {
                Some(_) => self.edit.or_else(chain, (Source::Fill(0.0), Source::Var(seen)), &ty, span),
                None if backward => {
                    self.edit.or_else(chain, (Source::Fill(0.0), Source::Var(end)), &ty, span)
                }
                None => self.edit.read(end, span),
            };
            let out = match before.filter(|_| !backward && !chain.is_empty()) {
                Some(_) => {
                    let stays = self.edit.define(out);
                    let either = self.edit.logic(Op::Or, &[end, stays], span);
                    self.edit.read(either, span)
                }
                None => out,
            };
            self.hand_on(side, slot, out);
        }
        let (Some(cut), Begun::Yes | Begun::By(_)) = (cut, begun) else { return begun };
        let goes_on = self.edit.logic(Op::Not, &[cut], span);
        match begun {
            Begun::By(begun) => Begun::By(self.edit.logic(Op::And, &[begun, goes_on], span)),
            Begun::Yes | Begun::No => Begun::By(goes_on),
        }
    }

    /// Adds the inputs and results to the node.
    fn finish(self) -> (Edit, Carried) {
        let Self { mut edit, sides, constants, .. } = self;
        let mut inputs = Vec::new();
        let mut carried = Carried::default();
        for (side, states) in sides.into_iter().zip(&mut carried.states) {
            let asked = side.start == Start::Either && !side.slots.is_empty();
            if asked {
                let flag = match side.flag {
                    Some(flag) => flag,
                    None => {
                        let span = edit.node.span;
                        edit.var(None, Type::condition(), span)
                    }
                };
                inputs.push(flag);
            }
            for (ty, input, result) in side.slots {
                inputs.extend(input);
                edit.node.outputs.extend(result);
                states.push(ty);
            }
        }
        for (constant, var) in constants {
            inputs.push(var);
            carried.constants.push(constant);
        }
        edit.node.formals.extend(inputs.into_iter().map(|var| Formal::Stream(Input { var, clock: None })));
        (edit, carried)
    }
}

fn error(message: &str, span: Span, label: &str) -> Diagnostic {
    Diagnostic::error(codes::ALONG_AXIS, message).label(span, label)
}

/// The error that a node with `post` runs along an axis.
fn post(span: Span) -> Diagnostic {
    error("`post` has no value at the last entry of an axis", span, "this has no next entry there")
        .help("write `x0 fby back x`, where `x0` is the value for the last entry")
}

/// The error that the clock of a state cannot be expressed in its node.
fn hidden(span: Span) -> Diagnostic {
    error("the clock of this delay has no name in its node", span, "this delay")
        .note("the clock is that of a result which a node samples inside, by a condition that is not visible here")
        .help("keep the state in the node that samples, or merge the value before it is delayed")
}

/// The error that the arguments of a call are on different clocks.
fn mixed(call: Span, arg: Span) -> Diagnostic {
    error("inside of `along`, the arguments of a node with delays must have one clock", call, "this call")
        .label(arg, "on another clock than the first one")
        .help("sample all arguments, and the condition of `restart`, by the same condition: `f(x when c) restart (r when c)`")
}

/// The error that an adjoint is called whose node has states.
fn adjoint(node: &Node, span: Span) -> Diagnostic {
    let name = &node.name;
    error("the adjoint of a node with states cannot run along an axis", span, "this call")
        .label(node.span, format!("`{name}` has delays, or random constants"))
        .help("differentiate what contains `along`: put the call with `along` into a node `g`, and call `diff_g`")
}
