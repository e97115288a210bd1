//! The last step: everything is checked with all types known, and written down as typed nodes. Equal instances share one node.

mod call;
mod expr;

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span};
use rml_ir::typed::{self, Formal, Input, NodeId, Var, VarData};
use rml_ir::{Precision, Type};

use crate::clocks;
use crate::hir::{Local, LocalKind, Node, Role};
use crate::infer::Typed;
use crate::instance::{InstanceId, RootGiven};
use crate::report::Report;
use crate::statics::{Evaluated, Failure};
use crate::text;

/// The nodes of the module so far.
#[derive(Debug)]
pub(crate) struct Builder {
    pub(crate) precision: Precision,
    pub(crate) nodes: IndexVec<NodeId, typed::Node>,
    /// Where each node comes from; the key says the source node, statics, and types of inputs and outputs.
    pub(crate) known: IndexMap<String, NodeId>,
    pub(crate) sources: IndexVec<NodeId, crate::hir::SourceId>,
}

impl Builder {
    pub(crate) fn new(precision: Precision) -> Self {
        Self { precision, nodes: IndexVec::new(), known: IndexMap::new(), sources: IndexVec::new() }
    }
}

/// Adds the nodes of all instances; returns that of the root. `None` if there are errors.
pub(crate) fn emit(typed: &mut Typed<'_>, builder: &mut Builder, report: &mut Report) -> Option<NodeId> {
    let mut nodes: IndexVec<InstanceId, Option<NodeId>> = IndexVec::filled(None, typed.tree.instances.len());
    for id in typed.tree.instances.ids().rev() {
        typed.statics.refresh(&typed.tree, &typed.shapes, id);
        for child in typed.tree.instances[id].calls.values().copied().collect::<Vec<_>>() {
            typed.statics.refresh(&typed.tree, &typed.shapes, child);
        }
        let key = key(typed, id);
        if let Some(known) = key.as_ref().and_then(|k| builder.known.get(k)) {
            nodes[id] = Some(*known);
            continue;
        }
        let emitter = Emitter::new(typed, id, builder.precision, &nodes, report);
        if let (Some(node), Some(key)) = (emitter.node(), key) {
            let made = builder.nodes.push(node);
            builder.sources.push(typed.tree.instances[id].source);
            builder.known.insert(key, made);
            nodes[id] = Some(made);
        }
    }
    nodes[InstanceId(0)]
}

/// What distinguishes a node from other instances of its source; `None` if that is not known because of errors.
fn key(typed: &Typed<'_>, id: InstanceId) -> Option<String> {
    let node = typed.tree.node(id);
    let mut key = typed.tree.instances[id].source.to_string();
    for &local in node.formals.iter().chain(&node.outputs) {
        key.push('|');
        if typed.tree.is_stream(id, local) {
            let ty = Type { dtype: typed.dtype(id, local), shape: typed.shape(id, local)?.clone() };
            key.push_str(&ty.to_string());
        } else {
            let value = typed.statics.name(&typed.tree, id, local, node.span).ok()?;
            key.push_str(&format!("={value}"));
        }
    }
    Some(key)
}

/// Makes the typed node of one instance.
struct Emitter<'a, 'p> {
    typed: &'a Typed<'p>,
    id: InstanceId,
    node: &'p Node,
    precision: Precision,
    /// The nodes of the instances inside.
    nodes: &'a IndexVec<InstanceId, Option<NodeId>>,
    report: &'a mut Report,
    by_local: IndexMap<Local, Var>,
    vars: IndexVec<Var, VarData>,
    exprs: IndexVec<typed::ExprId, typed::Expr>,
    equations: Vec<typed::Equation>,
    /// Whether the node is complete.
    sound: bool,
}

impl<'a, 'p> Emitter<'a, 'p> {
    fn new(
        typed: &'a Typed<'p>,
        id: InstanceId,
        precision: Precision,
        nodes: &'a IndexVec<InstanceId, Option<NodeId>>,
        report: &'a mut Report,
    ) -> Self {
        Self {
            typed,
            id,
            node: typed.tree.node(id),
            precision,
            nodes,
            report,
            by_local: IndexMap::new(),
            vars: IndexVec::new(),
            exprs: IndexVec::new(),
            equations: Vec::new(),
            sound: true,
        }
    }

    fn node(mut self) -> Option<typed::Node> {
        let node = self.node;
        self.variables();
        let formals = self.formals();
        for &output in &node.outputs {
            if let Err(problem) = clocks::declared(self.typed, self.id, output) {
                self.fail(problem.map_or(Failure::Unknown, Failure::from));
            }
        }
        for index in 0..node.equations.len() {
            if self.typed.broken.contains(&(self.id, index)) {
                self.sound = false;
                continue;
            }
            if let Err(failure) = self.equation(index) {
                self.fail(failure);
            }
        }
        let outputs = self.outputs();
        let statics = self.statics();
        self.sound.then_some(typed::Node {
            name: node.name.clone(),
            formals,
            outputs,
            statics,
            vars: self.vars,
            exprs: self.exprs,
            equations: self.equations,
            span: node.span,
        })
    }

    fn fail(&mut self, failure: Failure) {
        self.sound = false;
        if let Failure::Bad(mut d) = failure {
            if let Some((parent, call, _)) = self.typed.tree.instances[self.id].parent {
                let span = self.typed.tree.node(parent).exprs[call].span;
                if d.labels.iter().all(|l| l.span != span) {
                    *d = d.label(span, format!("in this instance of `{}`", self.node.name));
                }
            }
            self.report.push(*d);
        }
    }

    /// The type of a variable.
    fn type_of(&self, id: InstanceId, local: Local) -> Evaluated<Type> {
        let shape = self.typed.shape(id, local).cloned().ok_or(Failure::Unknown)?;
        Ok(Type { dtype: self.typed.dtype(id, local), shape })
    }

    /// Makes the variables: inputs, outputs, then others in textual order.
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
                    let var = VarData { name: Some(data.name.clone()), ty, span: data.span };
                    self.by_local.insert(local, self.vars.push(var));
                }
                Err(_) => self.sound = false,
            }
        }
    }

    fn formals(&mut self) -> Vec<Formal> {
        let mut formals = Vec::with_capacity(self.node.formals.len());
        for (i, &local) in self.node.formals.iter().enumerate() {
            let name = self.node.name_of(local).clone();
            if !self.typed.tree.is_stream(self.id, local) {
                match self.typed.statics.name(&self.typed.tree, self.id, local, self.node.span) {
                    Ok(value) => formals.push(Formal::Static { name, value }),
                    Err(failure) => self.fail(failure),
                }
                continue;
            }
            let clock = match clocks::declared(self.typed, self.id, local) {
                Ok(clock) => clock.and_then(|(cond, positive)| Some((*self.by_local.get(&cond)?, positive))),
                Err(problem) => {
                    self.fail(problem.map_or(Failure::Unknown, Failure::from));
                    None
                }
            };
            if let Some(&var) = self.by_local.get(&local) {
                formals.push(Formal::Stream(Input { var, clock }));
            }
            if self.typed.tree.instances[self.id].parent.is_none()
                && let Err(failure) = self.root_input(i, local)
            {
                self.fail(failure);
            }
        }
        formals
    }

    /// Checks the given type of a root input against the one written.
    fn root_input(&mut self, position: usize, local: Local) -> Evaluated<()> {
        let instance = &self.typed.tree.instances[self.id];
        let given = instance.givens.get(position);
        if !matches!(given, Some(crate::instance::Given::Root(RootGiven::Input(Some(_))))) {
            return Ok(());
        }
        let ty = self.type_of(self.id, local)?;
        self.check_declared(self.id, local, &ty, None)
    }

    /// Checks the type of a variable of an instance against those written for it. `found` = where it comes from.
    fn check_declared(&self, id: InstanceId, local: Local, ty: &Type, found: Option<Span>) -> Evaluated<()> {
        let typed = self.typed;
        let node = typed.tree.node(id);
        for decl in &node.locals[local].types {
            let name = node.name_of(local);
            let written = format!("{} {}", decl.dtype, shape_text(node, decl));
            let bad = |expected: String| {
                let message = format!("`{name}` is declared {written}, but is {ty}");
                Diagnostic::error(codes::SHAPE_MISMATCH, message)
                    .label(found.unwrap_or(node.locals[local].span), format!("this is {ty}"))
                    .label(decl.span, format!("declared here: {expected}"))
                    .note(format!("expected {expected}, found {ty}"))
            };
            match typed.statics.declared(&typed.tree, &typed.shapes, id, decl) {
                Ok(shape) if shape == ty.shape => {}
                Ok(shape) => return Err(bad(format!("{} {shape}", decl.dtype)).into()),
                Err(Failure::Unknown) if node.formals.iter().all(|f| self.is_known(id, *f)) => {
                    return Err(bad(written.clone()).into());
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    fn is_known(&self, id: InstanceId, local: Local) -> bool {
        !self.typed.tree.is_stream(id, local) || self.typed.shape(id, local).is_some()
    }

    fn equation(&mut self, index: usize) -> Evaluated<()> {
        let node = self.node;
        let equation = &node.equations[index];
        if let [(Some(local), _)] = equation.lhs[..]
            && !self.typed.tree.is_stream(self.id, local)
        {
            // report what is wrong with a static name even if nothing is computed from it
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
                    self.result(local, &ty, node.exprs[equation.rhs].span)?;
                    Some(self.var(local)?)
                }
                None => None,
            });
        }
        self.equations.push(typed::Equation { lhs, rhs, span: equation.span });
        Ok(())
    }

    fn var(&self, local: Local) -> Evaluated<Var> {
        self.by_local.get(&local).copied().ok_or(Failure::Unknown)
    }

    /// Checks what an equation gives to a variable.
    fn result(&mut self, local: Local, ty: &Type, span: Span) -> Evaluated<()> {
        self.check_declared(self.id, local, ty, Some(span))?;
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
                    Err(failure) => self.fail(failure),
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
        let var = self.vars.push(VarData { name: Some(data.name.clone()), ty, span: data.span });
        self.by_local.insert(local, var);
        self.equations.push(typed::Equation { lhs: vec![Some(var)], rhs, span: data.span });
        Ok(var)
    }

    /// Named dimensions with their values, then static names with their source text.
    fn statics(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let mut statics: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        for (local, data) in self.node.locals.iter_enumerated() {
            match data.kind {
                LocalKind::Dim => {
                    let value = self.typed.statics.name(&self.typed.tree, self.id, local, data.span);
                    if let Ok(value) = value {
                        statics.push((data.name.clone(), value.to_string().into()));
                    }
                }
                LocalKind::Defined { equation } if self.node.roles[local] == Role::Static => {
                    let rhs = self.node.equations[equation].rhs;
                    statics.push((data.name.clone(), text::expr(self.node, rhs).into()));
                }
                _ => {}
            }
        }
        // locals are numbered by formals, equations, dimensions
        let dims = self.node.locals.iter().filter(|l| l.kind == LocalKind::Dim).count().min(statics.len());
        statics.rotate_right(dims);
        statics
    }
}

/// A written shape.
fn shape_text(node: &Node, decl: &crate::hir::TypeDecl) -> String {
    let items = decl.dims.iter().map(|item| match *item {
        crate::hir::Item::Expr(e) => text::expr(node, e),
        crate::hir::Item::Splice(local, _) => format!("{}..", node.name_of(local)),
    });
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}
