//! What is alike: numbers for what equations are, and nodes that differ in their names only.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rml_ir::{Data, Value};

use crate::program::{Equation, Node, Rhs, Var};
use crate::tensor::uniform;

/// Which texts have which number, and which nodes are equal.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    numbers: BTreeMap<String, usize>,
    nodes: BTreeMap<String, usize>,
}

impl Alike {
    /// The number of a text, the same for the same text.
    pub(super) fn number(&mut self, text: String) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(text).or_insert(next)
    }

    /// Adds a node to a program whose slots are numbered in the order of its equations. One that is equal to an earlier
    /// node, up to the names of its variables, is that node.
    pub(crate) fn add(&mut self, nodes: &mut Vec<Node>, node: Node) -> usize {
        let next = nodes.len();
        let id = *self.nodes.entry(text(&node)).or_insert(next);
        if id == next {
            nodes.push(node);
        }
        id
    }
}

/// What a node computes, with its variables by number in the order of inputs and equations.
fn text(node: &Node) -> String {
    let mut numbers = vec![0; node.vars.len()];
    let mut text = String::new();
    let defined = node.inputs.iter().chain(node.equations.iter().flat_map(|e| &e.lhs));
    for (k, var) in defined.enumerate() {
        numbers[var.0] = k;
        let _ = write!(text, "{} ", node.ty(*var));
    }
    let list = |vars: &[Var]| vars.iter().map(|v| format!(" {}", numbers[v.0])).collect::<String>();
    for equation in &node.equations {
        let (what, reads) = (what(equation), list(&equation.rhs.operands()));
        let _ = writeln!(text, "{} = {what}{reads}", list(&equation.lhs));
    }
    let _ = write!(text, "{} ->{}", list(&node.inputs), list(&node.outputs));
    text
}

/// What the right side of an equation is, but for the variables that it reads and the weights of its parameters.
pub(super) fn what(equation: &Equation) -> String {
    match &equation.rhs {
        Rhs::Const(value) => constant(value),
        Rhs::Apply(op, _) => format!("{op:?}"),
        Rhs::Fold { by, axes, keep, .. } => format!("{by:?} {axes:?} {keep}"),
        Rhs::Param { ty, frozen, .. } => format!("parameter {ty} {frozen}"),
        Rhs::If { .. } => "if".to_owned(),
        Rhs::Fby { .. } => "fby".to_owned(),
        Rhs::Call { node, along, .. } => format!("call {node} {along:?}"),
        Rhs::Chain { node, at, .. } => format!("chain {node} {at}"),
    }
}

/// The bits of a constant.
fn constant(value: &Value) -> String {
    let bits = match uniform(value).as_ref().unwrap_or(value).to_data() {
        Data::Bool(v) => format!("{v:?}"),
        Data::Int(v) => format!("{v:?}"),
        Data::F32(v) => format!("{:?}", v.into_iter().map(f32::to_bits).collect::<Vec<_>>()),
        Data::F64(v) => format!("{:?}", v.into_iter().map(f64::to_bits).collect::<Vec<_>>()),
    };
    format!("constant {} {bits}", value.ty())
}
