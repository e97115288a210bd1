//! Parameters that all calls update window by window: they are read and updated once per window, in a node of
//! parameters that runs in the same windows.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{IndexVec, Span};
use rml_ir::Type;
use rml_ir::typed::{Callee, Equation, ExprId, ExprKind, Formal, Input, Node, Var, VarData};

use super::define::same;
use super::resolve::{Key, Resolver, Work, compact};
use crate::hir::Share;

impl Resolver<'_, '_, '_> {
    /// Defines the parameters of the shared instances that all calls update in the same windows.
    pub(super) fn define_windows(&mut self, work: &mut Work) {
        let Some(owner) = work.tags.owner.filter(|_| !work.open) else { return };
        for number in 0..work.tags.shares.len() {
            let share = Share { owner, number };
            if let Some(end) = window(work, share) {
                self.parameters(work, share, end);
            }
        }
    }

    /// Adds the call of a node of parameters that runs window by window.
    fn parameters(&mut self, work: &mut Work, share: Share, end: ExprId) -> Option<()> {
        let keys: Vec<Key> = work.keys.keys().filter(|key| key.0 == share).cloned().collect();
        let (name, span) = work.tags.shares.get(share.number)?.clone();
        let mut inner = inside(work, name.clone(), span);
        let (mut inputs, mut args, mut lhs) = (Vec::new(), Vec::new(), Vec::new());
        let mut source = None;
        for key in keys {
            let known = work.keys.swap_remove(&key)?;
            let contributions = work.contributions.swap_remove(&key).unwrap_or_default();
            let var = inner.variable(&key.1, known.ty.clone(), known.span);
            let init = self.initial(&mut inner, &known)?;
            let rhs = match self.sum(work, contributions, &known.ty) {
                None => ExprKind::Param { init, by: known.by },
                Some((bp, d)) => {
                    let Some(optimiser) = self.add.optimiser(known.by, &known.ty, known.span) else {
                        self.sound = false;
                        return None;
                    };
                    source = Some(self.add.builder.sources[optimiser]);
                    let taken =
                        [("bp", Type::condition(), bp), ("d", known.ty.clone(), d)].map(|(of, ty, from)| {
                            let input = inner.variable(&format!("{of}{}", key.1), ty, known.span);
                            inputs.push(input);
                            args.push(work.read(from, span));
                            inner.read(input, known.span)
                        });
                    let args = [vec![init], taken.to_vec()].concat();
                    let callee = Callee::Node(optimiser);
                    ExprKind::Call {
                        callee,
                        args,
                        every: None,
                        statics: Vec::new(),
                        member: None,
                        instance: None,
                    }
                }
            };
            let rhs = inner.push(rhs, known.ty.clone(), known.span);
            inner.node.equations.push(Equation { lhs: vec![Some(var)], rhs, span: known.span });
            inner.node.outputs.push(var);
            // The variable inside the node of parameters has the name.
            work.node.vars[known.var].name = None;
            lhs.push(Some(known.var));
            work.defined.insert(key.clone());
            work.keys.insert(key, known);
        }
        for (from, input) in inner.taken.take().unwrap_or_default() {
            inputs.push(input);
            args.push(work.read(from, span));
        }
        inner.node.formals =
            inputs.into_iter().map(|var| Formal::Stream(Input { var, clock: None })).collect();
        compact(&mut inner.node);
        let made = self.add.builder.nodes.push(inner.node);
        self.add.builder.sources.push(source?);
        let ty = work.node.vars[lhs.first().copied().flatten()?].ty.clone();
        let every = Some(work.push(work.node.exprs[end].kind.clone(), Type::condition(), span));
        let (callee, instance) = (Callee::Node(made), Some(name));
        let call = ExprKind::Call { callee, args, every, statics: Vec::new(), member: None, instance };
        let rhs = work.push(call, ty, span);
        work.node.equations.push(Equation { lhs, rhs, span });
        Some(())
    }
}

/// The end of the windows, if all calls update a shared instance in the same windows.
fn window(work: &Work, share: Share) -> Option<ExprId> {
    let of_share = work.contributions.iter().filter(|(key, _)| key.0 == share);
    let mut all = of_share.flat_map(|(_, contributions)| contributions);
    let first = all.next()?;
    let end = first.every.filter(|_| first.chain.is_empty())?;
    let alike = all.all(|other| {
        other.chain.is_empty() && other.every.is_some_and(|every| same(&work.node, Some(end), Some(every)))
    });
    (alike && same(&work.node, Some(end), Some(end))).then_some(end)
}

/// A node for the parameters of a shared instance, still without equations.
fn inside(work: &Work, name: Arc<str>, span: Span) -> Work {
    let node = Node {
        name,
        formals: Vec::new(),
        outputs: Vec::new(),
        claims: Vec::new(),
        statics: Vec::new(),
        vars: IndexVec::new(),
        exprs: IndexVec::new(),
        equations: Vec::new(),
        held: 0,
        span,
    };
    Work { tags: work.tags.clone(), taken: Some(IndexMap::new()), ..Work::new(work.of, node) }
}

impl Work {
    /// The variable in the equations of parameters that corresponds to a variable of the sharing node.
    pub(super) fn of_outside(&mut self, outside: &Node, var: Var) -> Var {
        let Some(taken) = &mut self.taken else { return var };
        let data = &outside.vars[var];
        let fresh = || VarData { asserts: None, ..data.clone() };
        match taken.get(&var) {
            Some(input) => *input,
            None => {
                let input = self.node.vars.push(fresh());
                taken.insert(var, input);
                input
            }
        }
    }
}
