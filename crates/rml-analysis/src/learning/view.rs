//! One node: the definitions and readers of its variables, its constants, and its calls of adjoints.

use std::sync::Arc;

use rml_base::{IndexVec, Span};
use rml_ir::normal::{Callee, Eq, Formal, Node, NodeId, Rhs, Var};
use rml_ir::op::{Op, eval};
use rml_ir::{Data, Value};

use super::Program;

/// The maximum depth of the search for constants.
const DEPTH: usize = 32;

/// A node with its definitions and readers.
pub(super) struct View<'m> {
    program: &'m Program<'m>,
    pub(super) node: &'m Node,
    defined: IndexVec<Var, Option<Eq>>,
    pub(super) readers: IndexVec<Var, Vec<Eq>>,
}

/// A call of the adjoint of a node; the adjoint is not one that the program defines itself.
pub(super) struct Adjoint<'m> {
    pub(super) of: NodeId,
    /// The differentiated node.
    pub(super) node: &'m Node,
    args: &'m [Var],
    lhs: &'m [Var],
}

impl<'m> View<'m> {
    pub(super) fn new(program: &'m Program<'m>, id: NodeId) -> Self {
        let node = &program.module.nodes[id];
        let mut defined: IndexVec<Var, Option<Eq>> = node.vars.ids().map(|_| None).collect();
        let mut readers: IndexVec<Var, Vec<Eq>> = node.vars.ids().map(|_| Vec::new()).collect();
        for (eq, equation) in node.equations.iter_enumerated() {
            equation.lhs.iter().for_each(|v| defined[*v] = Some(eq));
            equation.rhs.for_each_operand(|v| readers[v].push(eq));
        }
        Self { program, node, defined, readers }
    }

    /// The program that contains the node.
    pub(super) fn program(&self) -> &'m Program<'m> {
        self.program
    }

    /// Whether the variable is read.
    pub(super) fn is_used(&self, v: Var) -> bool {
        !self.readers[v].is_empty() || self.node.outputs.contains(&v)
    }

    /// The index of the equation of a variable.
    pub(super) fn equation(&self, v: Var) -> Option<Eq> {
        self.defined[v]
    }

    /// The equation of a variable.
    pub(super) fn definition(&self, v: Var) -> Option<&'m Rhs> {
        self.defined[v].map(|eq| &self.node.equations[eq].rhs)
    }

    /// The place where an unnamed variable is written, or else the place of its definition.
    pub(super) fn place(&self, v: Var) -> Span {
        self.defined[v].map_or(self.node.vars[v].span, |eq| self.node.equations[eq].span)
    }

    /// The value of a variable, if it is the same in all cycles.
    pub(super) fn constant(&self, v: Var) -> Option<Value> {
        self.constant_within(v, DEPTH)
    }

    fn constant_within(&self, v: Var, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        match self.definition(v)? {
            Rhs::Const(k) => self.node.consts[*k].value().cloned(),
            Rhs::When { value, .. } => self.constant_within(*value, depth),
            Rhs::Apply { op, args, .. } if self.node.vars[v].ty.shape.len() <= SMALL => {
                let args =
                    args.iter().map(|a| self.constant_within(*a, depth)).collect::<Option<Vec<_>>>()?;
                let args: Vec<&Value> = args.iter().collect();
                (!args.is_empty()).then(|| eval(op, &args, self.program.module.precision).ok()).flatten()
            }
            _ => None,
        }
    }

    /// The number, if all elements of a constant are equal to one.
    pub(super) fn number(&self, v: Var) -> Option<f64> {
        if let Rhs::Apply { op: Op::Broadcast { .. }, args, .. } = self.definition(v)? {
            return self.number(args[0]);
        }
        let numbers = match self.constant(v)?.into_data() {
            Data::F32(numbers) => numbers.into_iter().map(f64::from).collect(),
            Data::F64(numbers) => numbers,
            Data::Bool(_) | Data::Int(_) => return None,
        };
        let first = *numbers.first()?;
        numbers.iter().all(|x| *x == first).then_some(first)
    }

    /// The call of an adjoint, if an equation is one.
    pub(super) fn adjoint(&self, eq: Eq) -> Option<Adjoint<'m>> {
        let equation = &self.node.equations[eq];
        let Rhs::Call { callee: Callee::Diff { node, order: 1 }, args, .. } = &equation.rhs else {
            return None;
        };
        let module = self.program.module;
        let trains = module.nodes[*node].held == 0 && !module.overrides.contains_key(node);
        trains.then(|| Adjoint { of: *node, node: &module.nodes[*node], args, lhs: &equation.lhs })
    }

    /// Whether an equation calls an adjoint that propagates gradients in no cycle; the program's own adjoints count,
    /// too.
    pub(super) fn is_off_at(&self, eq: Eq) -> bool {
        let Rhs::Call { callee: Callee::Diff { node, .. }, args, .. } = &self.node.equations[eq].rhs else {
            return false;
        };
        let bp = args.get(self.program.module.nodes[*node].inputs().count());
        bp.and_then(|bp| self.constant(*bp)).and_then(|value| value.as_bool()) == Some(false)
    }

    /// Whether the call propagates gradients in no cycle.
    pub(super) fn is_off(&self, call: &Adjoint<'_>) -> bool {
        self.constant(call.bp()).and_then(|value| value.as_bool()) == Some(false)
    }
}

impl<'m> Adjoint<'m> {
    fn inputs(&self) -> usize {
        self.node.inputs().count()
    }

    /// The condition that is true in the cycles in which gradients are propagated.
    pub(super) fn bp(&self) -> Var {
        self.args[self.inputs()]
    }

    /// The num outputs of the node, each with the gradient that the call gets for it.
    pub(super) fn seeds(&self) -> impl Iterator<Item = (Var, Var)> + use<'_, 'm> {
        let num = self.node.outputs.iter().copied().filter(|o| self.node.vars[*o].ty.is_num());
        num.zip(self.args[self.inputs() + 1..].iter().copied())
    }

    /// The variables that the call defines as the num outputs of the node, each with the gradient that the call gets
    /// for it.
    pub(super) fn results(&self) -> impl Iterator<Item = (Var, Var)> + use<'_, 'm> {
        let outputs = self.node.outputs.iter().zip(self.lhs);
        let num = outputs.filter(|(o, _)| self.node.vars[**o].ty.is_num());
        num.map(|(_, v)| *v).zip(self.seeds().map(|(_, seed)| seed))
    }

    /// The variables that the call defines as the outputs of the node.
    pub(super) fn outputs(&self) -> &'m [Var] {
        &self.lhs[..self.node.outputs.len()]
    }

    /// The arguments of num inputs, each with the variable that the call defines as its gradient.
    pub(super) fn differentiated(&self) -> impl Iterator<Item = (Var, Var)> + use<'_, 'm> {
        let inputs = self.node.inputs().zip(self.args);
        let num = inputs.filter(|(input, _)| self.node.vars[input.var].ty.is_num());
        num.map(|(_, arg)| *arg).zip(self.gradients())
    }

    /// The variables that the call defines as the gradients of inputs.
    pub(super) fn gradients(&self) -> impl Iterator<Item = Var> + use<'m> {
        self.lhs[self.node.outputs.len()..].iter().skip(1).step_by(2).copied()
    }
}

/// The name of a formal.
pub(super) fn formal_name<'n>(node: &'n Node, formal: &'n Formal) -> Option<&'n Arc<str>> {
    match formal {
        Formal::Static { name, .. } => Some(name),
        Formal::Stream(input) => node.vars[input.var].name.as_ref(),
    }
}

/// The position of the input stream with that name.
pub(super) fn stream(node: &Node, name: &str) -> Option<usize> {
    node.inputs().position(|input| node.vars[input.var].name.as_deref() == Some(name))
}

/// The maximum number of elements of constants that are computed.
const SMALL: usize = 64;
