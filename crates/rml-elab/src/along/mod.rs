//! `f(x) along 0`: the call of a node over the entries of an axis ([ADR 53](../../../../docs/adr/0053-along.md)).
//!
//! Inference treats the call as a call of `f` with one entry of each argument, and stacks the types of the results.
//! Once all types are known, [`unroll`] writes one call for each entry. The delays of `f` become inputs and results,
//! which each entry passes to the next one ([`variant`]). The calls share their parameters, like the calls of a shared
//! instance.

pub(crate) mod edit;
mod initials;
mod variant;

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::Type;
use rml_ir::op::{AxisIndex, Op};
use rml_ir::typed::{Callee, Equation, ExprId, ExprKind, Node, NodeId, Var};

use crate::chains::Port;
use crate::hir::{Share, SourceId};
use crate::shared::Tags;
use edit::Edit;
pub(crate) use variant::{Known, Nodes};
use variant::{ONLY, Start};

/// The maximum number of entries of an axis.
pub(crate) const MAX_ENTRIES: usize = 4096;

/// A call along an axis in a typed node.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    /// The axis of each argument; none if all entries get the whole argument.
    pub(crate) axes: Vec<Option<usize>>,
    /// The axis of each result.
    pub(crate) results: Vec<usize>,
    pub(crate) count: usize,
    /// Whether the call runs from the last entry to the first one.
    pub(crate) back: bool,
}

/// A node, and those of its calls that run along axes.
pub(crate) struct Unrolled {
    pub(crate) node: Node,
    pub(crate) tags: Tags,
    pub(crate) along: IndexMap<ExprId, Entries>,
    /// The node of the program of which this node is an instance.
    pub(crate) source: SourceId,
}

/// Replaces each call along an axis by one call per entry.
///
/// # Errors
/// A call cannot run along its axis; the diagnostic says why.
pub(crate) fn unroll(nodes: &mut Nodes<'_>, work: Unrolled) -> Result<(Node, Tags), Diagnostic> {
    let Unrolled { node, mut tags, along, source } = work;
    if along.is_empty() {
        return Ok((node, tags));
    }
    tags.owner = Some(source);
    let mut edit = Edit::new(node, tags, nodes.precision);
    edit.fix_names(&nodes.called());
    for call in edit.in_order() {
        if let Some(entries) = along.get(&call) {
            let span = edit.node.exprs[call].span;
            let at = |d: Diagnostic| d.label(span, "this call runs along an axis");
            Unroll { nodes: &mut *nodes, edit: &mut edit, entries, source, call, span }.run().map_err(at)?;
        }
    }
    Ok(edit.finish())
}

/// The state of the replacement of one call.
struct Unroll<'a, 'b> {
    nodes: &'a mut Nodes<'b>,
    edit: &'a mut Edit,
    entries: &'a Entries,
    source: SourceId,
    call: ExprId,
    span: Span,
}

/// The parts of the replaced call.
struct Parts {
    callee: NodeId,
    args: Vec<ExprId>,
    statics: Vec<Arc<str>>,
    instance: Arc<str>,
    share: Share,
}

impl Unroll<'_, '_> {
    fn run(mut self) -> Result<(), Diagnostic> {
        let ExprKind::Call { callee: Callee::Node(callee), args, statics, instance, .. } =
            self.edit.node.exprs[self.call].kind.clone()
        else {
            return Ok(());
        };
        self.together(callee)?;
        let instance = instance.unwrap_or_else(|| "".into());
        let share = self.edit.tags.calls.swap_remove(&self.call).unwrap_or_else(|| {
            let number = self.edit.tags.shares.len();
            self.edit.tags.shares.push((instance.clone(), self.span));
            Share { owner: self.source, number }
        });
        let parts = Parts { callee, args, statics, instance, share };
        let results = self.calls(&parts)?;
        self.stack(results);
        Ok(())
    }

    /// Checks that all inputs and outputs of the node are present for each entry.
    fn together(&mut self, callee: NodeId) -> Result<(), Diagnostic> {
        let outputs = self.nodes.interface(callee).outputs;
        let node = &self.nodes.nodes[callee];
        let name = |var: Var| node.vars[var].name.clone().unwrap_or_else(|| "".into());
        let error = |message: String, var: Var| {
            Diagnostic::error(codes::ALONG_AXIS, message).label(node.vars[var].span, "on a clock of its own")
        };
        if let Some(input) = node.inputs().find(|input| input.clock.is_some()) {
            let d = error(format!("the input `{}` is absent in some entries", name(input.var)), input.var);
            return Err(d.help("pass it with its condition, and sample it in the node: `x when c`"));
        }
        if let Some((output, _)) = node.outputs.iter().zip(outputs).find(|(_, port)| *port != Port::Base) {
            let d = error(format!("the result `{}` is absent in some entries", name(*output)), *output);
            return Err(d
                .note("the results of all entries are stacked")
                .help("complete it in the node: `merge c x 0.0`"));
        }
        Ok(())
    }

    /// Adds the calls for the entries; returns the variables of each result.
    fn calls(&mut self, parts: &Parts) -> Result<Vec<Vec<Var>>, Diagnostic> {
        let carried = self.nodes.variant(parts.callee, ONLY)?.carried;
        let count = self.entries.count;
        let args: Vec<Var> = parts.args.iter().map(|arg| self.edit.named(*arg)).collect();
        let constants: Vec<Var> = carried.constants.iter().map(|constant| self.constant(constant)).collect();
        // For each call, in order: the states that it passes to the next call, and those that it passes to the previous
        // one.
        let mut states: Vec<[Vec<Option<Var>>; 2]> = Vec::with_capacity(count);
        for turn in 0..count {
            let asked = [turn + 1 < count, turn > 0];
            states.push([0, 1].map(|side| {
                let types = carried.states[side].iter();
                types.map(|ty| asked[side].then(|| self.edit.var(None, ty.clone(), self.span))).collect()
            }));
        }
        let callee = &self.nodes.nodes[parts.callee];
        let outputs: Vec<_> = callee.outputs.iter().map(|output| callee.vars[*output].clone()).collect();
        let names = self.result_names(outputs.len());
        let mut results = vec![vec![Var(0); count]; outputs.len()];
        for turn in 0..count {
            let entry = if self.entries.back { count - 1 - turn } else { turn };
            // The calls before and after this one, which pass states to it.
            let given = [turn.checked_sub(1), Some(turn + 1).filter(|next| *next < count)];
            let mode = given.map(|given| if given.is_some() { Start::Next } else { Start::First });
            let variant = self.nodes.variant(parts.callee, mode)?.id;
            let mut call_args: Vec<ExprId> = args
                .iter()
                .enumerate()
                .map(|(i, arg)| self.entry(*arg, self.entries.axes[i], entry))
                .collect();
            for (side, given) in given.into_iter().enumerate() {
                let given = given.map_or(&[][..], |turn| &states[turn][side][..]);
                call_args.extend(given.iter().flatten().map(|state| self.edit.read(*state, self.span)));
            }
            call_args.extend(constants.iter().map(|constant| self.edit.read(*constant, self.span)));
            let mut lhs = Vec::with_capacity(outputs.len());
            for (i, output) in outputs.iter().enumerate() {
                let name = names[i].as_ref().map(|name| format!("{name}[{entry}]").into());
                let var = self.edit.var(name, output.ty.clone(), self.span);
                self.edit.node.vars[var].cases.clone_from(&output.cases);
                results[i][entry] = var;
                lhs.push(Some(var));
            }
            lhs.extend(states[turn].iter().flatten());
            self.call(parts, (variant, entry), call_args, lhs);
        }
        Ok(results)
    }

    fn call(
        &mut self,
        parts: &Parts,
        (variant, entry): (NodeId, usize),
        args: Vec<ExprId>,
        lhs: Vec<Option<Var>>,
    ) {
        let kind = ExprKind::Call {
            callee: Callee::Node(variant),
            args,
            every: None,
            statics: parts.statics.clone(),
            member: None,
            instance: Some(format!("{}[{entry}]", parts.instance).into()),
        };
        let of_first = lhs.first().copied().flatten().map(|var| self.edit.node.vars[var].ty.clone());
        let rhs = self.edit.push(kind, of_first.unwrap_or_else(Type::condition), self.span);
        self.edit.tags.calls.insert(rhs, parts.share);
        self.edit.node.equations.push(Equation { lhs, rhs, span: self.span });
    }

    fn constant(&mut self, constant: &rml_ir::typed::Constant) -> Var {
        let made = self.edit.push(ExprKind::Const(constant.clone()), constant.ty.clone(), self.span);
        self.edit.define(made)
    }

    /// An entry of an argument.
    fn entry(&mut self, arg: Var, axis: Option<usize>, entry: usize) -> ExprId {
        let whole = self.edit.read(arg, self.span);
        let Some(axis) = axis else { return whole };
        let ty = self.edit.node.exprs[whole].ty.clone();
        let item = |(at, size): (usize, &usize)| match at == axis {
            true => AxisIndex::At(entry),
            false => AxisIndex::whole(*size),
        };
        let items = ty.shape.dims().iter().enumerate().map(item).collect();
        let mut dims = ty.shape.dims().to_vec();
        dims.remove(axis);
        let of_entry = Type { dtype: ty.dtype, shape: rml_ir::Shape::new(&dims) };
        self.edit.apply(Op::Index { items }, vec![whole], of_entry, self.span)
    }

    /// The names of the variables that the call defines, if it is the right side of an equation.
    fn result_names(&self, results: usize) -> Vec<Option<Arc<str>>> {
        let node = &self.edit.node;
        let lhs = match self.edit.equation_of(self.call) {
            Some(at) => node.equations[at].lhs.clone(),
            None => vec![None; results],
        };
        lhs.into_iter().map(|var| node.vars[var?].name.clone()).collect()
    }

    /// Stacks the results, each along its axis.
    fn stack(&mut self, results: Vec<Vec<Var>>) {
        let lhs = match self.edit.equation_of(self.call) {
            Some(at) => self.edit.node.equations.remove(at).lhs,
            None => {
                // A call that is an operand has only one result.
                let ty = self.edit.node.exprs[self.call].ty.clone();
                let var = self.edit.var(None, ty, self.span);
                self.edit.node.exprs[self.call].kind = ExprKind::Var(var);
                vec![Some(var)]
            }
        };
        for (i, (var, entries)) in lhs.into_iter().zip(results).enumerate() {
            let (Some(var), axis) = (var, self.entries.results[i]) else { continue };
            self.read_entries(var, &entries, axis);
            let ty = self.edit.node.vars[var].ty.clone();
            let args = entries.iter().map(|entry| self.edit.read(*entry, self.span)).collect();
            let rhs = self.edit.apply(Op::Stack { axis }, args, ty, self.span);
            self.edit.node.equations.push(Equation { lhs: vec![Some(var)], rhs, span: self.span });
        }
    }

    /// Replaces reads of one entry of a result by reads of the variable of this entry, so that they do not depend on
    /// the others.
    fn read_entries(&mut self, of: Var, entries: &[Var], axis: usize) {
        let node = &mut self.edit.node;
        for id in node.exprs.ids() {
            let ExprKind::Apply { op: Op::Index { items }, args, .. } = &node.exprs[id].kind else {
                continue;
            };
            let (&[arg], Some(&AxisIndex::At(entry))) = (&args[..], items.get(axis)) else { continue };
            let is_read = matches!(node.exprs[arg].kind, ExprKind::Var(var) if var == of);
            let Some(&entry) = entries.get(entry).filter(|_| is_read) else { continue };
            let mut items = items.clone();
            items.remove(axis);
            let ty = node.vars[entry].ty.clone();
            let is_whole =
                items.iter().zip(ty.shape.dims()).all(|(item, size)| *item == AxisIndex::whole(*size));
            (node.exprs[arg].kind, node.exprs[arg].ty) = (ExprKind::Var(entry), ty);
            node.exprs[id].kind = match is_whole {
                true => ExprKind::Var(entry),
                false => ExprKind::Apply { op: Op::Index { items }, args: vec![arg], statics: Vec::new() },
            };
        }
    }
}
