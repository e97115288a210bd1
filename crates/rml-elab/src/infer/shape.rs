//! Shapes, as a least fixpoint over the tree of instances. At first no shape is known; an equation is evaluated again
//! whenever the shape of something that it uses has changed, until nothing changes. A shape that is not known yet does
//! not widen a broadcast, so shapes only grow along feedback (`h = 0.0 fby g(h, x)`). A variable that is still unknown
//! at the end is a scalar.

use std::collections::VecDeque;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec};
use rml_ir::{DType, Shape};

use super::adjoint::Port;
use super::flow::{Flow, Taint};
use super::hint;
use crate::context;
use crate::hir::{ExprId, ExprKind, Local, LocalKind, Node, Share, SourceId};
use crate::instance::{Given, InstanceId, RootGiven};
use crate::ops::{Operand, Partial};
use crate::report::Report;
use crate::shared;
use crate::statics::{Evaluated, Failure};
use crate::typed::{Failed, Typed};

/// A shape that changed this often is assumed to grow without end.
const MAX_CHANGES: u32 = 64;

/// The equations that use each name, and the names whose shapes statics depend on.
struct Uses {
    /// The equations that use each name.
    equations: IndexVec<Local, Vec<usize>>,
    sensitive: IndexVec<Local, bool>,
}

struct Fixpoint<'a, 'p, 'r> {
    typed: &'a mut Typed<'p>,
    report: &'r mut Report,
    /// The uses in each node that has an instance.
    uses: IndexMap<SourceId, Uses>,
    /// The number of each instance's first equation, among the equations of all instances.
    first: Vec<usize>,
    queue: VecDeque<(InstanceId, usize)>,
    queued: Vec<bool>,
    /// The default shapes of variables that nothing else determines.
    floor: Vec<Option<Shape>>,
    changes: Vec<u32>,
    /// The equations that were in error when they were evaluated last, with the errors.
    bad: IndexMap<(InstanceId, usize), Failed>,
    /// Equations that came into error since the list was last processed.
    news: Vec<(InstanceId, usize)>,
    /// The error of the current equation.
    problem: Option<Failed>,
    /// The equations that name parameters of shared instances. The shapes of parameters may depend on anything in the
    /// instances inside.
    params: Vec<(InstanceId, usize)>,
    /// Whether a shape has changed since these equations were evaluated.
    stirred: bool,
}

/// Finds the shapes of all variables.
pub(super) fn infer(typed: &mut Typed<'_>, report: &mut Report) {
    let tree = &typed.tree;
    let mut uses = IndexMap::new();
    let mut first = Vec::with_capacity(tree.instances.len());
    let mut equations = 0;
    for instance in tree.instances.iter() {
        let node = &tree.program.nodes[instance.source];
        uses.entry(instance.source).or_insert_with(|| uses_of(node));
        first.push(equations);
        equations += node.equations.len();
    }
    let slots = tree.slots;
    let mut fixpoint = Fixpoint {
        typed,
        report,
        uses,
        first,
        queue: VecDeque::new(),
        queued: vec![false; equations],
        floor: vec![None; slots],
        changes: vec![0; slots],
        bad: IndexMap::new(),
        news: Vec::new(),
        problem: None,
        params: Vec::new(),
        stirred: false,
    };
    fixpoint.params = fixpoint.naming_parameters();
    fixpoint.start();
    fixpoint.run();
    fixpoint.root_inputs();
    fixpoint.rest();
    let bad = std::mem::take(&mut fixpoint.bad);
    typed.bad = bad.into_values().collect();
}

fn uses_of(node: &Node) -> Uses {
    let mut equations: IndexVec<Local, Vec<usize>> = IndexVec::filled(Vec::new(), node.locals.len());
    let mut sensitive: IndexVec<Local, bool> = IndexVec::filled(false, node.locals.len());
    for (index, equation) in node.equations.iter().enumerate() {
        let mut todo = vec![equation.rhs];
        while let Some(expr) = todo.pop() {
            match &node.exprs[expr].kind {
                ExprKind::Local(local) if equations[*local].last() != Some(&index) => {
                    equations[*local].push(index);
                }
                ExprKind::Builtin { which, args, .. } if which.takes_type() => {
                    if let ExprKind::Local(local) = node.exprs[args[0]].kind {
                        sensitive[local] = true;
                    }
                    todo.extend(args.iter().skip(1));
                }
                kind => todo.extend(kind.children()),
            }
        }
    }
    for &formal in &node.formals {
        sensitive[formal] |= node.binds(formal);
    }
    Uses { equations, sensitive }
}

impl Fixpoint<'_, '_, '_> {
    fn start(&mut self) {
        let root = InstanceId(0);
        self.typed.statics.refresh(&self.typed.tree, &self.typed.shapes, root);
        let node = self.typed.tree.node(root);
        for (i, &formal) in node.formals.iter().enumerate() {
            let shape = match self.typed.tree.instances[root].givens.get(i) {
                Some(Given::Root(RootGiven::Input(Some(ty)))) => Some(ty.shape.clone()),
                _ => self.declared(root, formal),
            };
            if let Some(shape) = shape {
                self.set(root, formal, shape);
            }
        }
        for id in self.typed.tree.instances.ids() {
            for index in 0..self.typed.tree.node(id).equations.len() {
                self.enqueue(id, index);
            }
        }
    }

    fn enqueue(&mut self, id: InstanceId, equation: usize) {
        let number = self.first[id.0 as usize] + equation;
        if !std::mem::replace(&mut self.queued[number], true) {
            self.queue.push_back((id, equation));
        }
    }

    /// The equations that name parameters of shared instances.
    fn naming_parameters(&self) -> Vec<(InstanceId, usize)> {
        let mut found = Vec::new();
        for id in self.typed.tree.instances.ids() {
            let node = self.typed.tree.node(id);
            if node.shares.is_empty() {
                continue;
            }
            for (index, equation) in node.equations.iter().enumerate() {
                let mut todo = vec![equation.rhs];
                while let Some(expr) = todo.pop() {
                    if let ExprKind::Params(..) = node.exprs[expr].kind {
                        found.push((id, index));
                        break;
                    }
                    todo.extend(node.exprs[expr].kind.children());
                }
            }
        }
        found
    }

    fn run(&mut self) {
        self.drain();
        while !self.params.is_empty() && std::mem::take(&mut self.stirred) {
            for (id, equation) in self.params.clone() {
                self.enqueue(id, equation);
            }
            self.drain();
        }
    }

    fn drain(&mut self) {
        while let Some((id, equation)) = self.queue.pop_front() {
            self.queued[self.first[id.0 as usize] + equation] = false;
            self.typed.statics.refresh(&self.typed.tree, &self.typed.shapes, id);
            // Errors are found again and reported when typed nodes are emitted.
            self.problem = None;
            let _ = self.equation(id, equation);
            let bad = self.problem.take();
            match bad {
                Some(problem) => {
                    if self.bad.insert((id, equation), problem).is_none() {
                        self.news.push((id, equation));
                    }
                }
                None => {
                    self.bad.swap_remove(&(id, equation));
                }
            }
        }
    }

    /// Evaluates an equation; an error if any part of it is in error.
    fn equation(&mut self, id: InstanceId, index: usize) -> Evaluated<()> {
        let node = self.typed.tree.node(id);
        let equation = &node.equations[index];
        if let [(Some(local), _)] = equation.lhs[..]
            && !self.typed.tree.is_stream(id, local)
        {
            return Ok(());
        }
        let mut shapes = vec![None; equation.lhs.len()];
        let result = if node.as_call(equation.rhs).is_some() {
            self.call(id, equation.rhs, equation.lhs.len()).map(|results| shapes = results)
        } else {
            self.expr(id, equation.rhs).map(|result| shapes = vec![result.shape])
        };
        for (i, &(local, _)) in equation.lhs.iter().enumerate() {
            if let Some(local) = local {
                self.define(id, local, shapes.get(i).cloned().flatten());
            }
        }
        result
    }

    /// Sets the shape of a variable from the result of its equation.
    fn define(&mut self, id: InstanceId, local: Local, found: Option<Shape>) {
        let slot = self.typed.tree.slot(id, local);
        let shape = self.declared(id, local).or(found).or_else(|| self.floor[slot].clone());
        if let Some(shape) = shape {
            self.set(id, local, shape);
        }
    }

    /// The first shape written for a variable, if it can be evaluated.
    fn declared(&self, id: InstanceId, local: Local) -> Option<Shape> {
        let typed = &self.typed;
        let node = typed.tree.node(id);
        let mut types = node.locals[local].types.iter();
        types.find_map(|ty| typed.statics.declared(&typed.tree, &typed.shapes, id, ty).ok())
    }

    fn set(&mut self, id: InstanceId, local: Local, shape: Shape) {
        let slot = self.typed.tree.slot(id, local);
        if self.typed.shapes[slot].as_ref() == Some(&shape) || self.changes[slot] > MAX_CHANGES {
            return;
        }
        self.changes[slot] += 1;
        if self.changes[slot] > MAX_CHANGES {
            self.unstable(id, local, &shape);
            return;
        }
        self.typed.shapes[slot] = Some(shape);
        self.stirred = true;
        self.changed(id, local);
    }

    fn unstable(&mut self, id: InstanceId, local: Local, next: &Shape) {
        let node = self.typed.tree.node(id);
        let data = &node.locals[local];
        if let LocalKind::Defined { equation } = data.kind {
            self.typed.broken.insert((id, node.equations[equation].rhs));
        }
        let slot = self.typed.tree.slot(id, local);
        self.typed.lost[slot] = true;
        let mut d =
            Diagnostic::error(codes::UNSTABLE_SHAPE, format!("the shape of `{}` never settles", data.name))
                .label(data.span, "its shape depends on itself");
        if let Some(shape) = self.typed.shape(id, local) {
            d = d.note(format!("after {shape} it would be {next}, and so on"));
        }
        let d = d.help("a value that is fed back (by `fby` or `post`) must keep its shape");
        self.report.push(context::add(&self.typed.tree, id, None, d));
    }

    /// Queues the equations that depend on the shape of a variable.
    fn changed(&mut self, id: InstanceId, local: Local) {
        let source = self.typed.tree.instances[id].source;
        let Some(uses) = self.uses.get(&source) else { return };
        let sensitive = uses.sensitive[local];
        for equation in uses.equations[local].clone() {
            self.enqueue(id, equation);
        }
        let node = self.typed.tree.node(id);
        if let Some((parent, _, equation)) = self.typed.tree.instances[id].parent
            && node.outputs.contains(&local)
        {
            self.enqueue(parent, equation);
        }
        if sensitive {
            let mut todo = vec![id];
            while let Some(id) = todo.pop() {
                self.typed.statics.invalidate(id);
                for equation in 0..self.typed.tree.node(id).equations.len() {
                    self.enqueue(id, equation);
                }
                todo.extend(self.typed.tree.instances[id].calls.values());
            }
        }
    }

    /// Evaluates a call: sets the shapes of its formals, and returns those of its results.
    fn call(&mut self, id: InstanceId, expr: ExprId, results: usize) -> Evaluated<Vec<Option<Shape>>> {
        let node = self.typed.tree.node(id);
        let (Some(call), Some(&child)) = (node.as_call(expr), self.typed.tree.instances[id].calls.get(&expr))
        else {
            self.parts(id, expr);
            return Err(Failure::Unknown);
        };
        let callee = self.typed.tree.node(child);
        // A call in error may have its arguments in other positions.
        let is_right = !self.typed.broken.contains(&(id, expr));
        let mut count = None;
        for (i, &formal) in callee.formals.iter().enumerate() {
            if self.typed.tree.is_stream(child, formal) {
                let arg = self.expr(id, call.args[i]).ok().and_then(|p| p.shape).filter(|_| is_right);
                let arg = match self.typed.along(call, child, i) {
                    Some(axis) => {
                        let entry = arg.and_then(|shape| self.typed.entry(id, axis, &shape).ok());
                        count = count.or(entry.as_ref().map(|(_, count, _)| *count));
                        entry.map(|(_, _, shape)| shape)
                    }
                    None => arg,
                };
                // A shape that does not come from the argument is valid even if the argument is in error.
                let shape = match callee.binds(formal) {
                    true => arg.or_else(|| self.declared(child, formal)),
                    false => self.declared(child, formal).or(arg),
                };
                if let Some(shape) = shape {
                    self.set(child, formal, shape);
                }
            }
        }
        for &extra in call.args.iter().skip(callee.formals.len()).chain(&call.clauses.every) {
            let _ = self.expr(id, extra); // Evaluates calls inside.
        }
        let typed = &*self.typed;
        if call.order.times == 0 {
            let outputs = callee.outputs.iter().take(results).map(|o| typed.output_shape(child, *o));
            let Some(axis) = typed.along_results(call, child) else { return Ok(outputs.collect()) };
            let stacked = |shape: Shape| Some(typed.stacked(id, axis, count?, &shape).ok()?.1);
            return Ok(outputs.map(|shape| shape.and_then(stacked)).collect());
        }
        let adjoint = typed.adjoints.get(&(id, expr)).ok_or(Failure::Unknown)?;
        let ports = adjoint.results.iter().filter_map(|i| adjoint.outputs.get(*i));
        Ok(ports
            .map(|(_, port)| match port {
                Port::Like(local) => typed.output_shape(child, *local),
                Port::Condition => Some(Shape::scalar()),
            })
            .collect())
    }

    /// Evaluates the parts of an expression in error, because of the calls in them.
    fn parts(&mut self, id: InstanceId, expr: ExprId) {
        for part in self.typed.tree.operands(id, expr) {
            let _ = self.expr(id, part);
        }
    }

    /// The type of an expression; its shape may still be unknown.
    fn expr(&mut self, id: InstanceId, expr: ExprId) -> Evaluated<Partial> {
        let found = self.evaluate(id, expr);
        if let Err(Failure::Bad(d)) = &found
            && self.problem.is_none()
        {
            self.problem = Some(Failed { id, expr: Some(expr), diagnostic: d.as_ref().clone() });
        }
        found
    }

    fn evaluate(&mut self, id: InstanceId, expr: ExprId) -> Evaluated<Partial> {
        let node = self.typed.tree.node(id);
        if self.typed.broken.contains(&(id, expr)) {
            self.parts(id, expr);
            return Err(Failure::Unknown);
        }
        match &node.exprs[expr].kind {
            ExprKind::Error(_) => {
                self.parts(id, expr);
                return Err(Failure::Unknown);
            }
            ExprKind::Params(share, path) => return self.parameters(id, expr, *share, path),
            ExprKind::Local(local) if self.typed.tree.is_stream(id, *local) => {
                let shape = self.typed.shape(id, *local).cloned();
                return Ok(Partial { dtype: self.typed.dtype(id, *local), shape });
            }
            ExprKind::Call(_) => {
                let child = self.typed.tree.instances[id].calls.get(&expr).copied();
                let shape = self.call(id, expr, 1)?.into_iter().next().flatten();
                let output = child.and_then(|c| {
                    let output = self.typed.tree.node(c).outputs.first()?;
                    Some(self.typed.dtype(c, *output))
                });
                return Ok(Partial { dtype: output.ok_or(Failure::Unknown)?, shape });
            }
            _ => {}
        }
        if let Some(constant) = self.typed.constant_type(id, expr) {
            return constant.map(|ty| Partial::known(&ty));
        }
        let parts = self.typed.tree.operands(id, expr);
        let found: Vec<Evaluated<Partial>> = parts.iter().map(|part| self.expr(id, *part)).collect();
        let partials = self.operands(&node.exprs[expr].kind, found)?;
        let operands: Vec<Operand> =
            partials.into_iter().zip(&parts).map(|(p, part)| (p, node.exprs[*part].span)).collect();
        self.typed.rule(id, expr, &operands).map(|(_, partial)| partial)
    }

    /// The type of the parameter of a shared instance at that path, or of all its parameters as a vector.
    fn parameters(&mut self, id: InstanceId, expr: ExprId, share: Share, path: &str) -> Evaluated<Partial> {
        let span = self.typed.tree.node(id).exprs[expr].span;
        let found = shared::named(&self.typed.tree, id, share, path, span)?;
        let mut shapes = Vec::new();
        for parameter in &found {
            self.typed.statics.refresh(&self.typed.tree, &self.typed.shapes, parameter.id);
            shapes.push(self.evaluate(parameter.id, parameter.expr).ok().and_then(|partial| partial.shape));
        }
        self.typed.statics.refresh(&self.typed.tree, &self.typed.shapes, id);
        let shape = match shapes.into_iter().collect::<Option<Vec<Shape>>>() {
            Some(known) if path.is_empty() => {
                let size = known.iter().map(|shape| shape.len()).sum();
                Some(Shape::new(&[size]))
            }
            Some(known) => known.into_iter().next(),
            None => None,
        };
        if let Some(shape) = &shape {
            self.typed.params.insert((id, expr), shape.clone());
        }
        Ok(Partial { dtype: DType::Num, shape })
    }

    /// The operands of an expression. An operand in error counts as one of unknown shape if another operand determines
    /// the type, because its error may vanish once more shapes are known. Example: `h = zeros([2]) fby matmul(k, 0.5 *
    /// h)`, where `0.5 * h` is a scalar at first.
    fn operands(&mut self, kind: &ExprKind, mut found: Vec<Evaluated<Partial>>) -> Evaluated<Vec<Partial>> {
        // A condition has no influence on the shape of the result.
        let condition = match kind {
            ExprKind::If { .. } | ExprKind::Merge { .. } => found.first_mut(),
            ExprKind::When { .. } => found.get_mut(1),
            _ => None,
        };
        if let Some(condition) = condition {
            *condition = Ok(Partial { dtype: DType::Bool, shape: None });
        }
        let first = match kind {
            ExprKind::If { .. } | ExprKind::Merge { .. } => 1,
            ExprKind::Fby { .. } | ExprKind::FbyBack { .. } | ExprKind::Binary(..) => 0,
            _ => found.len(),
        };
        let dtype = found.iter().skip(first).find_map(|one| one.as_ref().ok().map(|p| p.dtype));
        let mut partials = Vec::with_capacity(found.len());
        let mut failure = None;
        for (i, one) in found.into_iter().enumerate() {
            match (one, dtype) {
                (Ok(partial), _) => partials.push(partial),
                (Err(_), Some(dtype)) if i >= first => {
                    partials.push(Partial { dtype, shape: None });
                }
                (Err(problem), _) => failure = Some(problem),
            }
        }
        failure.map_or(Ok(partials), Err)
    }

    /// Root inputs without a type get the shapes that their uses require, or else are scalars.
    fn root_inputs(&mut self) {
        let root = InstanceId(0);
        let mut givens = self.typed.tree.instances[root].givens.iter();
        if givens.any(|g| matches!(g, Given::Root(RootGiven::Unshaped))) {
            return;
        }
        let node = self.typed.tree.node(root);
        for &formal in &node.formals {
            let known = self.typed.shape(root, formal).is_some() || node.is_typed(formal);
            if known || !self.typed.tree.is_stream(root, formal) {
                continue;
            }
            let shape = hint::of_root_input(self.typed, formal).unwrap_or_default();
            self.set(root, formal, shape);
            self.run();
        }
    }

    /// Variables that only depend on themselves become scalars. Variables that depend on an error stay unknown.
    fn rest(&mut self) {
        let mut tainted = None;
        for id in self.typed.tree.instances.ids() {
            let node = self.typed.tree.node(id);
            for (local, data) in node.locals.iter_enumerated() {
                let LocalKind::Defined { equation } = data.kind else { continue };
                if !self.typed.tree.is_stream(id, local) || self.typed.shape(id, local).is_some() {
                    continue;
                }
                let slot = self.typed.tree.slot(id, local);
                if self.taint(&mut tainted).is_some_and(|t| t.is_tainted(slot)) {
                    continue;
                }
                self.floor[slot] = Some(Shape::scalar());
                self.enqueue(id, equation);
                self.run();
            }
        }
    }

    /// The variables that depend on errors; `None` if there are no errors.
    fn taint<'t>(&mut self, known: &'t mut Option<Taint>) -> Option<&'t Taint> {
        let typed = &*self.typed;
        if known.is_none() && self.news.is_empty() && !typed.in_error {
            return None;
        }
        let taint = known.get_or_insert_with(|| Taint::of_reported(Flow::new(typed, &[])));
        for (id, equation) in self.news.drain(..) {
            for (local, _) in &typed.tree.node(id).equations[equation].lhs {
                if let Some(local) = local {
                    taint.spread(typed.tree.slot(id, *local));
                }
            }
        }
        Some(taint)
    }
}
