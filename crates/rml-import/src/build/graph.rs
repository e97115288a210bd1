//! The nodes of a graph, one after the other; names and scopes; functions.

use std::collections::BTreeMap;

use super::{Builder, Call, Frame, Held, Place, Val};
use crate::model::{Attr, Graph, Node};
use crate::ops;
use crate::program::{Along, Rhs, Var};
use crate::refuse::{Refusal, Res, refuse};

/// A node of the program that is complete.
pub(crate) struct Closed {
    /// Its number.
    node: usize,
    /// The variables around it that it reads, which are its last inputs.
    captures: Vec<Var>,
    /// The slots of its parameters around it.
    slots: Vec<usize>,
}

/// How deeply functions may call each other.
const CALLS: usize = 40;

impl<'m> Builder<'m> {
    /// Gives a value a name in the innermost scope.
    pub(crate) fn bind(&mut self, name: &str, val: Val) {
        if let Some(scope) = self.frame().scopes.last_mut() {
            scope.insert(name.to_owned(), val);
        }
    }

    /// The value of a name.
    ///
    /// # Errors
    /// Nothing has that name.
    pub(crate) fn lookup(&mut self, name: &str) -> Res<Val> {
        match self.find(name, self.frames.len()) {
            Some(val) => Ok(val),
            None => Err(Refusal::malformed(format!("`{name}` is read, and nothing before computes it"))),
        }
    }

    /// The value of a name in the innermost of that many frames. What a frame around it has becomes an input.
    fn find(&mut self, name: &str, frames: usize) -> Option<Val> {
        let frame = self.frames.get(frames.checked_sub(1)?)?;
        if let Some(val) = frame.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return Some(val.clone());
        }
        let outer = self.find(name, frames - 1)?;
        let frame = &mut self.frames[frames - 1];
        let val = match outer.held {
            Held::Const(_) => outer,
            Held::View(mut view) => {
                let found = frame.captures.iter().find(|(var, _)| *var == view.var).map(|(_, inner)| *inner);
                let inner = found.unwrap_or_else(|| {
                    let inner = frame.node.var(view.ty.clone(), crate::names::words(name));
                    frame.captures.push((view.var, inner));
                    inner
                });
                view.var = inner;
                Val { elem: outer.elem, held: Held::View(view) }
            }
        };
        frame.scopes[0].insert(name.to_owned(), val.clone());
        Some(val)
    }

    /// Runs the nodes of a graph in a scope of its own, with values for its inputs, and gives its outputs.
    pub(crate) fn inner(&mut self, graph: &Graph, args: &[Val]) -> Res<Vec<Val>> {
        let mut scope = BTreeMap::new();
        for (info, val) in graph.inputs.iter().zip(args) {
            scope.insert(info.name.clone(), val.clone());
        }
        self.frame().scopes.push(scope);
        let result = self.body(graph);
        self.frame().scopes.pop();
        result
    }

    /// The initializers, the nodes and the outputs of a graph, in the scope that is open.
    pub(crate) fn body(&mut self, graph: &Graph) -> Res<Vec<Val>> {
        for (name, tensor) in &graph.initializers {
            let val = self.tensor(name, tensor.elem, tensor.value.clone(), 2);
            self.bind(name, val);
        }
        for node in &graph.nodes {
            self.node(node)?;
        }
        graph.outputs.iter().map(|name| self.lookup(name)).collect()
    }

    /// A node: its operands by name, its operator, its results by name.
    fn node(&mut self, node: &Node) -> Res<()> {
        self.visited += 1;
        if self.visited > super::VISITS {
            return refuse(format!("more than {} nodes are to be run", super::VISITS));
        }
        let name = node.outputs.first().filter(|_| node.name.is_empty()).unwrap_or(&node.name);
        let scope = name.rsplit_once('/').map(|(scope, _)| scope).filter(|scope| !scope.is_empty());
        self.place = Place { scope: scope.unwrap_or(name).to_owned(), operands: node.inputs.clone() };
        self.results(node).map_err(|refusal| place(refusal, node))
    }

    fn results(&mut self, node: &Node) -> Res<()> {
        let args: Vec<Option<Val>> = node
            .inputs
            .iter()
            .map(|name| if name.is_empty() { Ok(None) } else { self.lookup(name).map(Some) })
            .collect::<Res<_>>()?;
        let opset = self.opsets.get(&node.domain).copied().unwrap_or(1);
        let call = Call { node, args, opset };
        let vals = match (ops::rule(&node.domain, &node.op), self.function(node)) {
            (_, Some(_)) => self.inlined(&call)?,
            (Some(rule), None) => rule(self, &call)?,
            (None, None) => return Err(ops::unknown(node)),
        };
        for (name, val) in node.outputs.iter().zip(vals) {
            if !name.is_empty() {
                self.suggest(&val, name);
                self.bind(name, val);
            }
        }
        Ok(())
    }

    fn function(&self, node: &Node) -> Option<&'m crate::model::Function> {
        self.functions.get(&(node.domain.clone(), node.op.clone()))
    }

    /// A call of one of the model's functions.
    fn inlined(&mut self, call: &Call<'_>) -> Res<Vec<Val>> {
        let Some(function) = self.function(call.node) else { return refuse("there is no such function") };
        if self.depth >= CALLS {
            return refuse(format!("functions call each other more than {CALLS} deep"));
        }
        let mut attrs = function.defaults.clone();
        attrs.extend(call.node.attrs.iter().map(|(name, value)| (name.clone(), value.clone())));
        let inputs = function.inputs.iter().zip(&call.args);
        let scope = inputs.filter_map(|(name, val)| Some((name.clone(), val.clone()?))).collect();
        let outer = std::mem::replace(&mut self.opsets, function.opsets.clone());
        let scopes = std::mem::replace(&mut self.frame().scopes, vec![scope]);
        self.depth += 1;
        let result = self.called(function, &attrs);
        self.depth -= 1;
        self.frame().scopes = scopes;
        self.opsets = outer;
        result
    }

    fn called(&mut self, function: &crate::model::Function, attrs: &BTreeMap<String, Attr>) -> Res<Vec<Val>> {
        for node in &function.nodes {
            self.node(&with_attributes(node, attrs))?;
        }
        function.outputs.iter().map(|name| self.lookup(name)).collect()
    }

    /// A value of the node around the one that is open, there.
    pub(crate) fn captured(&mut self, val: &Val) -> Val {
        let Held::View(view) = &val.held else { return val.clone() };
        let frame = self.frame();
        let found = frame.captures.iter().find(|(var, _)| *var == view.var).map(|(_, inner)| *inner);
        let inner = found.unwrap_or_else(|| {
            let inner = frame.node.var(view.ty.clone(), None);
            frame.captures.push((view.var, inner));
            inner
        });
        Val { elem: val.elem, held: Held::View(super::View { var: inner, ..view.clone() }) }
    }

    /// A new variable of the node that is open, which gets its equation later.
    pub(crate) fn declared(&mut self, like: &Val, name: &str) -> Val {
        let var = self.frame().node.var(like.ty(), Some(name.to_owned()));
        Val::variable(like.elem, var, like.ty())
    }

    /// Gives a declared variable its equation: `init`, then what `next` was before.
    pub(crate) fn delayed(&mut self, declared: &Val, init: &Val, next: &Val) -> Res<()> {
        let (init, next) = (self.var(init)?, self.var(next)?);
        if let Held::View(view) = &declared.held {
            let equation = crate::program::Equation { lhs: vec![view.var], rhs: Rhs::Fby { init, next } };
            self.frame().node.equations.push(equation);
        }
        Ok(())
    }

    /// Gives a value a name, in place of one that it may have.
    pub(crate) fn named(&mut self, val: &Val, name: &str) {
        if let Held::View(view) = &val.held
            && let Some(data) = self.frame().node.vars.get_mut(view.var.0)
        {
            data.name = Some(name.to_owned());
        }
    }

    /// Begins a node of the program.
    pub(crate) fn open(&mut self, name: &str) {
        let name = self.nodes.fresh(name);
        self.frames.push(Frame::new(&name));
    }

    /// A new input of the node that is open.
    pub(crate) fn input(&mut self, val: &Val, dims: &[usize], name: &str) -> Val {
        let ty = rml_ir::Type::new(val.dtype(), dims);
        let node = &mut self.frame().node;
        let var = node.var(ty.clone(), crate::names::words(name));
        node.inputs.push(var);
        Val::variable(val.elem, var, ty)
    }

    /// Ends the node that is open: it gives `outputs`.
    pub(crate) fn close(&mut self, outputs: &[Val]) -> Res<Closed> {
        let vars: Vec<Var> = outputs.iter().map(|v| self.var(v)).collect::<Res<_>>()?;
        let mut taken: Vec<Var> = Vec::new();
        for var in vars {
            // An output has its own variable.
            let own = taken.contains(&var) || self.frame().node.inputs.contains(&var);
            let ty = self.frame().node.ty(var).clone();
            let copy =
                own.then(|| self.define(ty, Rhs::Apply(rml_ir::op::Op::Copy, vec![var]))).transpose()?;
            taken.push(copy.unwrap_or(var));
        }
        let Some(mut frame) = self.frames.pop() else { return refuse("no node is open") };
        frame.node.outputs = taken;
        frame.node.inputs.extend(frame.captures.iter().map(|(_, inner)| *inner));
        frame.node.prune();
        let slots = frame.node.number_slots();
        let node = self.alike.add(&mut self.program.nodes, frame.node);
        Ok(Closed { node, captures: frame.captures.into_iter().map(|(outer, _)| outer).collect(), slots })
    }

    /// Drops the node that is open.
    pub(crate) fn abandon(&mut self) {
        self.frames.pop();
    }

    /// Calls a node that was closed.
    pub(crate) fn call(
        &mut self,
        Closed { node, captures, slots }: Closed,
        args: &[Val],
        along: Option<(Vec<Option<usize>>, bool)>,
        elems: &[crate::elem::Elem],
    ) -> Res<Vec<Val>> {
        let mut vars: Vec<Var> = args.iter().map(|v| self.var(v)).collect::<Res<_>>()?;
        let length = along.as_ref().and_then(|(axes, _)| {
            let axis = axes.iter().zip(&vars).find_map(|(axis, var)| Some(((*axis)?, *var)));
            axis.map(|(axis, var)| {
                (axis, self.frames.last().map_or(0, |f| f.node.ty(var).shape.dims()[axis]))
            })
        });
        vars.extend(&captures);
        let along = along.map(|(mut axes, back)| {
            axes.extend(captures.iter().map(|_| None));
            Along { axes, back }
        });
        let outputs = &self.program.nodes[node].outputs;
        let mut types: Vec<rml_ir::Type> =
            outputs.iter().map(|v| self.program.nodes[node].ty(*v).clone()).collect();
        if let Some((axis, length)) = length {
            for ty in &mut types {
                let mut dims = ty.shape.dims().to_vec();
                dims.insert(axis.min(dims.len()), length);
                ty.shape = rml_ir::Shape::new(&dims);
            }
        }
        let frame = self.frame();
        let lhs: Vec<Var> = types.iter().map(|ty| frame.node.var(ty.clone(), None)).collect();
        let rhs = Rhs::Call { node, args: vars, along, slots };
        frame.node.equations.push(crate::program::Equation { lhs: lhs.clone(), rhs });
        let results = lhs.into_iter().zip(types).zip(elems);
        Ok(results.map(|((var, ty), elem)| Val::variable(*elem, var, ty)).collect())
    }
}

/// A node of a function, with the attributes of a call in place of those that stand for them.
fn with_attributes(node: &Node, attrs: &BTreeMap<String, Attr>) -> Node {
    let mut node = node.clone();
    let given = std::mem::take(&mut node.attrs);
    for (name, value) in given {
        match value {
            Attr::Of(of) => {
                if let Some(value) = attrs.get(&of) {
                    node.attrs.insert(name, value.clone());
                }
            }
            other => {
                node.attrs.insert(name, other);
            }
        }
    }
    node
}

/// Says where a refusal stands: the innermost node.
fn place(refusal: Refusal, node: &Node) -> Refusal {
    let output = node.outputs.first().map_or("", String::as_str);
    let domain = if node.domain.is_empty() { String::new() } else { format!("{}.", node.domain) };
    let of = match node.name.as_str() {
        "" => format!("that computes `{output}`"),
        name => format!("`{name}`, that computes `{output}`"),
    };
    refusal.placed(format!("{domain}{}", node.op), format!("node {of}"))
}
