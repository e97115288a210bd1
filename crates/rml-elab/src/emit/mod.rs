//! The last step: checks everything with all types known, and emits typed nodes. Equal instances share one node.

mod along;
mod assertion;
mod call;
mod expr;
mod interface;
mod loss;

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span};
use rml_ir::typed::{self, ClockClaim, Formal, Input, NodeId, Var, VarData};
use rml_ir::{Precision, Type};

use crate::along::{Entries, Known, Nodes, Unrolled, unroll};
use crate::clocks;
use crate::context;
use crate::hir::{ExprId, Local, LocalKind, Node, Role, SourceId};
use crate::infer::independent;
use crate::instance::InstanceId;
use crate::repair;
use crate::report::Report;
use crate::restarts;
use crate::shared::Tags;
use crate::statics::{Evaluated, Failure};
use crate::typed::{Failed, Typed};

/// The nodes of the module so far.
#[derive(Debug)]
pub(crate) struct Builder {
    pub(crate) precision: Precision,
    pub(crate) nodes: IndexVec<NodeId, typed::Node>,
    /// The nodes by key; a key consists of the source node, the statics, and the types of inputs and outputs.
    pub(crate) known: IndexMap<String, NodeId>,
    /// The source node of each node.
    pub(crate) sources: IndexVec<NodeId, SourceId>,
    /// References of each node to shared instances, until these are resolved.
    pub(crate) tags: IndexMap<NodeId, Tags>,
}

impl Builder {
    pub(crate) fn new(precision: Precision) -> Self {
        Self {
            precision,
            nodes: IndexVec::new(),
            known: IndexMap::new(),
            sources: IndexVec::new(),
            tags: IndexMap::new(),
        }
    }
}

/// Emits the nodes of all instances; returns that of the root. `None` if there are errors.
pub(crate) fn emit(
    typed: &mut Typed<'_>,
    written: &dyn Fn(SourceId) -> SourceId,
    builder: &mut Builder,
    report: &mut Report,
) -> Option<NodeId> {
    let mut failed = Vec::new();
    let made = instances(typed, written, builder, &mut failed);
    if made.is_none() {
        // In a recurrence, a value that depends on itself may have no shape at this point.
        failed.append(&mut typed.bad);
    }
    if !failed.is_empty() {
        let mut found = independent(typed, failed);
        // Of several copies of an equation, the first one is reported.
        found.sort_by_key(|failed| (failed.id, failed.expr));
        for found in found {
            report.push(context::add(&typed.tree, found.id, found.expr, found.diagnostic));
        }
    }
    made
}

/// Emits the nodes of all instances, and collects the errors.
fn instances(
    typed: &mut Typed<'_>,
    written: &dyn Fn(SourceId) -> SourceId,
    builder: &mut Builder,
    failed: &mut Vec<Failed>,
) -> Option<NodeId> {
    let mut nodes: IndexVec<InstanceId, Option<NodeId>> = IndexVec::filled(None, typed.tree.instances.len());
    let misfits = interface::check(typed, failed);
    let mut known = Known::default();
    for id in typed.tree.instances.ids().rev() {
        if misfits[id] {
            continue; // Errors inside may follow from those of its inputs.
        }
        typed.statics.refresh(&typed.tree, &typed.shapes, id);
        for child in typed.tree.instances[id].calls.values().copied().collect::<Vec<_>>() {
            typed.statics.refresh(&typed.tree, &typed.shapes, child);
        }
        let key = key(typed, id);
        if let Some(known) = key.as_ref().and_then(|k| builder.known.get(k)) {
            nodes[id] = Some(*known);
            continue;
        }
        let emitter = Emitter::new(typed, id, builder.precision, &nodes, failed);
        let made = emitter.node().and_then(|made| unrolled(made, builder, &mut known, id, failed));
        if let (Some((node, tags)), Some(key)) = (made, key) {
            let made = builder.nodes.push(node);
            if !tags.is_empty() {
                builder.tags.insert(made, tags);
            }
            builder.sources.push(written(typed.tree.instances[id].source));
            builder.known.insert(key, made);
            nodes[id] = Some(made);
        }
    }
    nodes[InstanceId(0)]
}

/// The node with its calls along axes unrolled and its restarts resolved; `None` if that is not permitted, which is
/// reported.
fn unrolled(
    made: Unrolled,
    builder: &mut Builder,
    known: &mut Known,
    id: InstanceId,
    failed: &mut Vec<Failed>,
) -> Option<(typed::Node, Tags)> {
    let Builder { precision, nodes, sources, tags, .. } = builder;
    let mut nodes = Nodes { nodes, sources, tags, known, precision: *precision };
    match unroll(&mut nodes, made).and_then(|(node, tags)| restarts::resolve(&mut nodes, node, tags)) {
        Ok(made) => Some(made),
        Err(diagnostic) => {
            failed.push(Failed { id, expr: None, diagnostic });
            None
        }
    }
}

/// The key that distinguishes a node from other instances of its source; `None` if it is unknown because of errors.
fn key(typed: &Typed<'_>, id: InstanceId) -> Option<String> {
    let node = typed.tree.node(id);
    let mut key = typed.tree.instances[id].source.to_string();
    for &local in node.formals.iter().chain(&node.outputs) {
        key.push('|');
        if typed.tree.is_stream(id, local) {
            let ty = Type { dtype: typed.dtype(id, local), shape: typed.shape(id, local)?.clone() };
            key.push_str(&ty.to_string());
            if let Some(of) = typed.enumeration(id, local) {
                key.push_str(&format!(" {of}"));
            }
        } else {
            let value = typed.statics.name(&typed.tree, id, local, node.span).ok()?;
            key.push_str(&format!("={value}"));
        }
    }
    Some(key)
}

/// Emits the typed node of one instance.
struct Emitter<'a, 'p> {
    typed: &'a Typed<'p>,
    id: InstanceId,
    node: &'p Node,
    precision: Precision,
    /// The nodes of the instances inside this one.
    nodes: &'a IndexVec<InstanceId, Option<NodeId>>,
    failed: &'a mut Vec<Failed>,
    by_local: IndexMap<Local, Var>,
    vars: IndexVec<Var, VarData>,
    exprs: IndexVec<typed::ExprId, typed::Expr>,
    equations: Vec<typed::Equation>,
    tags: Tags,
    /// The calls that run along axes, with their entries.
    along: IndexMap<typed::ExprId, Entries>,
    /// Whether the node is complete.
    sound: bool,
}

impl<'a, 'p> Emitter<'a, 'p> {
    fn new(
        typed: &'a Typed<'p>,
        id: InstanceId,
        precision: Precision,
        nodes: &'a IndexVec<InstanceId, Option<NodeId>>,
        failed: &'a mut Vec<Failed>,
    ) -> Self {
        Self {
            typed,
            id,
            node: typed.tree.node(id),
            precision,
            nodes,
            failed,
            by_local: IndexMap::new(),
            vars: IndexVec::new(),
            exprs: IndexVec::new(),
            equations: Vec::new(),
            tags: Tags::default(),
            along: IndexMap::new(),
            sound: true,
        }
    }

    fn node(mut self) -> Option<Unrolled> {
        let node = self.node;
        self.variables();
        let formals = self.formals();
        let claims = self.claims();
        for (index, equation) in node.equations.iter().enumerate() {
            if let Err(failure) = self.equation(index) {
                self.fail(Some(equation.rhs), failure);
            }
        }
        let outputs = self.outputs();
        let statics = self.statics();
        self.tags.owner = (!node.shares.is_empty()).then(|| self.typed.tree.instances[self.id].source);
        self.tags.shares.clone_from(&node.shares);
        let made = typed::Node {
            name: node.name.clone(),
            formals,
            outputs,
            claims,
            statics,
            vars: self.vars,
            exprs: self.exprs,
            equations: self.equations,
            held: node.held,
            span: node.span,
        };
        let source = self.typed.tree.instances[self.id].source;
        self.sound.then_some(Unrolled { node: made, tags: self.tags, along: self.along, source })
    }

    fn text(&self, expr: ExprId) -> String {
        self.typed.text(self.id, expr)
    }

    fn fail(&mut self, expr: Option<ExprId>, failure: Failure) {
        self.sound = false;
        if let Failure::Bad(diagnostic) = failure
            && !self.is_reported(&diagnostic)
        {
            self.failed.push(Failed { id: self.id, expr, diagnostic: *diagnostic });
        }
    }

    /// Whether an error in a static expression was already reported by the inference of element types, which evaluates
    /// it too.
    fn is_reported(&self, diagnostic: &Diagnostic) -> bool {
        let inside = |at: Span| {
            self.typed.broken.iter().any(|&(id, expr)| {
                let span = self.typed.tree.node(id).exprs[expr].span;
                span.file == at.file && span.start <= at.start && at.end <= span.end
            })
        };
        diagnostic.code == codes::STATIC_VALUE && diagnostic.span().is_some_and(inside)
    }

    /// The type of a variable.
    fn type_of(&self, id: InstanceId, local: Local) -> Evaluated<Type> {
        let shape = self.typed.shape(id, local).cloned().ok_or(Failure::Unknown)?;
        Ok(Type { dtype: self.typed.dtype(id, local), shape })
    }

    /// Adds the variables: inputs, outputs, then the others in textual order.
    fn variables(&mut self) {
        let node = self.node;
        let defined = node.equations.iter().flat_map(|e| e.lhs.iter().filter_map(|(l, _)| *l));
        let all: Vec<Local> = node.formals.iter().chain(&node.outputs).copied().chain(defined).collect();
        for local in all {
            if !self.typed.tree.is_stream(self.id, local) || self.by_local.contains_key(&local) {
                continue;
            }
            match self.type_of(self.id, local) {
                Ok(ty) => {
                    let data = &node.locals[local];
                    let (name, cases) = (Some(data.name.clone()), self.typed.cases(self.id, local));
                    let var = VarData { name, ty, span: data.span, asserts: None, cases };
                    self.by_local.insert(local, self.vars.push(var));
                }
                Err(_) => self.sound = false,
            }
        }
    }

    fn formals(&mut self) -> Vec<Formal> {
        let mut formals = Vec::with_capacity(self.node.formals.len());
        for &local in &self.node.formals {
            let name = self.node.name_of(local).clone();
            if !self.typed.tree.is_stream(self.id, local) {
                match self.typed.statics.name(&self.typed.tree, self.id, local, self.node.span) {
                    Ok(value) => formals.push(Formal::Static { name, value }),
                    Err(_) => self.sound = false, // The actual is in error, which is reported there.
                }
                continue;
            }
            let clock = match clocks::declared(self.typed, self.id, local) {
                Ok(clock) => clock.and_then(|(cond, positive)| Some((*self.by_local.get(&cond)?, positive))),
                Err(problem) => {
                    self.fail(None, problem.map_or(Failure::Unknown, Failure::from));
                    None
                }
            };
            if let Some(&var) = self.by_local.get(&local) {
                formals.push(Formal::Stream(Input { var, clock }));
            }
        }
        formals
    }

    /// The declared clocks of the outputs.
    fn claims(&mut self) -> Vec<ClockClaim> {
        let mut claims = Vec::new();
        for &output in &self.node.outputs {
            match clocks::declared(self.typed, self.id, output) {
                Err(problem) => self.fail(None, problem.map_or(Failure::Unknown, Failure::from)),
                Ok(clock) => claims.extend(clock.and_then(|(cond, positive)| {
                    let (&var, &cond) = (self.by_local.get(&output)?, self.by_local.get(&cond)?);
                    let span = self.node.locals[output].clock.as_ref()?.span;
                    Some(ClockClaim { var, cond, positive, span, call: None })
                })),
            }
        }
        claims
    }

    fn equation(&mut self, index: usize) -> Evaluated<()> {
        let node = self.node;
        let equation = &node.equations[index];
        if let [(Some(local), _)] = equation.lhs[..]
            && !self.typed.tree.is_stream(self.id, local)
        {
            // Report errors of a static name even if no stream is computed from it.
            let value = self.typed.statics.name(&self.typed.tree, self.id, local, equation.span);
            return value.map(|_| ());
        }
        if node.as_call(equation.rhs).is_some() {
            return self.call_equation(equation);
        }
        let (rhs, ty) = self.expr(equation.rhs)?;
        let mut lhs = Vec::with_capacity(1);
        for &(local, _) in &equation.lhs {
            lhs.push(match local {
                Some(local) => {
                    self.result(local, &ty, equation.rhs)?;
                    Some(self.var(local)?)
                }
                None => None,
            });
        }
        if let Some(name) = self.asserted(equation) {
            self.check_assertion(equation, &name, rhs)?;
            let data = VarData { name: None, ty, span: equation.span, asserts: Some(name), cases: None };
            lhs = vec![Some(self.vars.push(data))];
        }
        self.equations.push(typed::Equation { lhs, rhs, span: equation.span });
        Ok(())
    }

    fn var(&self, local: Local) -> Evaluated<Var> {
        self.by_local.get(&local).copied().ok_or(Failure::Unknown)
    }

    /// Checks the type that an equation gives to a variable.
    fn result(&mut self, local: Local, ty: &Type, rhs: ExprId) -> Evaluated<()> {
        let span = self.node.exprs[rhs].span;
        if let Err(failure) = interface::check_declared(self.typed, self.id, local, ty, Some((self.id, rhs)))
        {
            if let Some(exchanged) = interface::exchanged_fields(self.typed, self.id, local) {
                return Err(exchanged.map_or(Failure::Unknown, Failure::from));
            }
            return Err(match failure {
                Failure::Bad(d) if d.help.is_empty() => {
                    let written = repair::declaration(self.typed, self.id, self.node.name_of(local), ty);
                    d.help(format!("compute a value of the declared shape, or declare `{written}`")).into()
                }
                failure => failure,
            });
        }
        let own = self.type_of(self.id, local)?;
        if own == *ty {
            return Ok(());
        }
        let data = &self.node.locals[local];
        let code = if own.dtype == ty.dtype { codes::SHAPE_MISMATCH } else { codes::TYPE_MISMATCH };
        Err(Diagnostic::error(code, format!("`{}` is {own}, but its equation gives {ty}", data.name))
            .label(span, format!("this is {ty}"))
            .label(data.span, format!("this is {own}"))
            .note(format!("expected {own}, found {ty}"))
            .into())
    }

    /// The output variables. A static formal that is an output becomes a constant stream.
    fn outputs(&mut self) -> Vec<Var> {
        let mut outputs = Vec::with_capacity(self.node.outputs.len());
        for &local in &self.node.outputs {
            if let Some(&var) = self.by_local.get(&local) {
                outputs.push(var);
            } else if !self.typed.tree.is_stream(self.id, local) {
                match self.static_output(local) {
                    Ok(var) => outputs.push(var),
                    Err(failure) => self.fail(None, failure),
                }
            }
        }
        outputs
    }

    fn static_output(&mut self, local: Local) -> Evaluated<Var> {
        let data = &self.node.locals[local];
        let constant = self.typed.named_constant(self.id, local, data.span, self.precision)?;
        let ty = constant.ty.clone();
        let kind = typed::ExprKind::Const(constant);
        let rhs = self.exprs.push(typed::Expr { kind, ty: ty.clone(), span: data.span });
        let (name, cases) = (Some(data.name.clone()), self.typed.cases(self.id, local));
        let var = self.vars.push(VarData { name, ty, span: data.span, asserts: None, cases });
        self.by_local.insert(local, var);
        self.equations.push(typed::Equation { lhs: vec![Some(var)], rhs, span: data.span });
        Ok(var)
    }

    /// Named dimensions, as parts of the shapes that bind them (`shape(x)[0]`), and then static names with their source
    /// text.
    fn statics(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let mut statics: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        for (local, data) in self.node.locals.iter_enumerated() {
            match data.kind {
                LocalKind::Dim => {
                    let value = self.typed.statics.name(&self.typed.tree, self.id, local, data.span);
                    if let Ok(value) = value {
                        let text = dimension_text(self.node, local).unwrap_or_else(|| value.to_string());
                        statics.push((data.name.clone(), text.into()));
                    }
                }
                LocalKind::Defined { equation } if self.node.roles[local] == Role::Static => {
                    let rhs = self.node.equations[equation].rhs;
                    statics.push((data.name.clone(), self.text(rhs).into()));
                }
                _ => {}
            }
        }
        // Locals are numbered in this order: formals, names defined by equations, dimensions.
        let dims = self.node.locals.iter().filter(|l| l.kind == LocalKind::Dim).count().min(statics.len());
        statics.rotate_right(dims);
        statics
    }
}

/// The part of a formal's shape that binds a dimension: `shape(x)[0]`, `shape(x)[:-1]`.
fn dimension_text(node: &Node, dim: Local) -> Option<String> {
    node.formals.iter().find_map(|&formal| {
        let decl = node.locals[formal].types.first()?;
        let place = decl.dims.iter().position(|item| match *item {
            crate::hir::Item::Expr(e) => {
                matches!(node.exprs[e].kind, crate::hir::ExprKind::Local(l) if l == dim)
            }
            crate::hir::Item::Splice(l, _) => l == dim,
        })?;
        let is_splice = |item: &crate::hir::Item| matches!(item, crate::hir::Item::Splice(..));
        let (name, behind) = (node.name_of(formal), decl.dims.len() - place - 1);
        let counted_from_end = decl.dims[..place].iter().any(is_splice);
        Some(match (is_splice(&decl.dims[place]), counted_from_end) {
            (false, false) => format!("shape({name})[{place}]"),
            (false, true) => format!("shape({name})[-{}]", behind + 1),
            (true, _) if behind == 0 => format!("shape({name})[{place}:]"),
            (true, _) => format!("shape({name})[{place}:-{behind}]"),
        })
    })
}
