//! Losses that compare an input with a value whose range is known.

use std::sync::Arc;

use rml_base::Span;
use rml_ir::normal::{Callee, Equation, Module, Rhs};
use rml_ir::op::{Op, Unary};

use super::Program;
use super::labels::pair;
use super::logits::made_by;
use super::view::View;

/// An input that a loss of the library compares with a value whose range is known.
#[derive(Clone, Debug)]
pub struct Bounded {
    /// The name of the input.
    pub input: Arc<str>,
    /// The name of the loss.
    pub loss: Arc<str>,
    /// The name of the function that returns the value.
    pub function: &'static str,
    /// The least and the greatest value of the function.
    pub range: (f64, f64),
    /// The place of the comparison.
    pub at: Span,
    /// The place where the function is applied.
    pub made: Span,
}

/// The inputs of the root that are compared with a value of known range. `library` returns whether a place is in the
/// library.
///
/// Requires: N1 to N6.
pub fn bounded(module: &Module, library: &dyn Fn(Span) -> bool) -> Vec<Bounded> {
    let program = Program::new(module, library);
    let view = View::new(&program, module.root);
    let found = |equation: &Equation| {
        // A class is not a number that a value could reach.
        let (compared, target) =
            pair(&program, equation).filter(|(_, target)| view.node.vars[*target].ty.is_num())?;
        let input = view.node.inputs().find(|input| input.var == target)?;
        let functions = [
            (Op::Softmax, "softmax", (0.0, 1.0)),
            (Op::Unary(Unary::Sigmoid), "sigmoid", (0.0, 1.0)),
            (Op::Unary(Unary::Tanh), "tanh", (-1.0, 1.0)),
        ];
        let (function, made, range) = functions.into_iter().find_map(|(op, name, range)| {
            let at = made_by(&program, &view, compared, &|other| *other == op)?;
            Some((name, at, range))
        })?;
        let Rhs::Call { callee: Callee::Node(id) | Callee::Diff { node: id, .. }, .. } = &equation.rhs else {
            return None;
        };
        let loss = Arc::clone(&module.nodes[*id].name);
        let input = view.node.vars[input.var].name.clone()?;
        Some(Bounded { input, loss, function, range, at: equation.span, made })
    };
    view.node.equations.iter().filter_map(found).collect()
}
