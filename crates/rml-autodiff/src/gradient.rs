//! The gradient of one output, as a runnable module: the root's adjoint, for one output in every cycle, with all
//! parameters held.

use rml_base::{Diagnostic, Diagnostics};
use rml_ir::normal::{
    ConstId, ConstKind, Constant, Differentiated, Equation, Formal, Input, Module, Node, NodeId, Rhs, Var,
};
use rml_ir::{Type, Value};

use crate::driver::Driver;
use crate::node::push_var;
use crate::signature::num_outputs;

mod held;

/// A node and its adjoint; each is a root that runs without updating parameters.
#[derive(Clone, Debug)]
pub struct Gradient {
    /// The module; its root is [`Gradient::backward`].
    pub module: Differentiated,
    /// The node itself, with only the chosen output. Parameters that the program would train within it are held.
    pub forward: NodeId,
    /// The adjoint without `bp` and gradients of outputs: `bp` is always true, so every cycle of the chosen output
    /// counts with weight 1. Its first output is the chosen one; the others are gradients of inputs.
    pub backward: NodeId,
    /// For each input stream of the node: the output of the adjoint that is its gradient. `None` if the output does not
    /// depend on the input, or if the input is not a num.
    pub inputs: Vec<Option<usize>>,
}

/// The gradient of the output of the root at position `loss`.
///
/// Parameters are leaves: all reads see the same value. If the root itself trains (calls adjoints), the parameters that
/// it trains are held too. So the gradient is the derivative of what the root computes, without the effect of its own
/// training.
///
/// Requires: `normal::verify`, and a num output at that position. Ensures: [`rml_ir::pass::inline_held`] finds the
/// gradients of the parameters.
///
/// # Errors
/// The same as for [`differentiate`](crate::differentiate).
pub fn gradient(module: Module, loss: usize) -> Result<Gradient, Diagnostics> {
    let _span = tracing::debug_span!("gradient").entered();
    let mut driver = Driver::new(module, false);
    for id in driver.module.nodes.ids() {
        driver.resolve(id)?;
    }
    let (forward, chosen) = held::hold(&mut driver, loss)?;
    let Some(adjoint) = driver.adjoint(forward)?.cloned() else { return Err(Diagnostics::new()) };
    let primal = driver.module.nodes[forward].clone();
    driver.module.nodes[forward].outputs = vec![chosen];
    let mut node = driver.module.nodes[adjoint.node].clone();
    let first = node.outputs[primal.outputs.iter().position(|&o| o == chosen).unwrap_or(0)];
    let mut outputs = vec![first];
    let mut inputs = vec![None; primal.inputs().count()];
    for gradient in &adjoint.gradients {
        let Some(d) = gradient.d.filter(|_| !gradient.zero) else { continue };
        inputs[gradient.input] = Some(outputs.len());
        outputs.push(node.outputs[adjoint.primal_outputs + d]);
    }
    let with_bp: Vec<bool> = adjoint.gates.iter().map(|gate| gate.path.is_empty()).collect();
    seed(&mut node, &primal, first, &with_bp, driver.module.precision)?;
    node.outputs = outputs;
    node.name.clone_from(&primal.name);
    let mut module = driver.module;
    let backward = module.nodes.push(node);
    module.root = backward;
    let module = Differentiated::made("gradient", module);
    Ok(Gradient { module, forward, backward, inputs })
}

/// Turns the formals `bp` and `d<o>` into equations: `bp` is true, and the gradient is one for the output `chosen` and
/// zero for the others. `with_bp` says for each num output whether it is present together with `bp`.
fn seed(
    node: &mut Node,
    primal: &Node,
    chosen: Var,
    with_bp: &[bool],
    precision: rml_ir::Precision,
) -> Result<(), Diagnostic> {
    let count = primal.inputs().count();
    let streams: Vec<Var> = node.inputs().map(|i| i.var).collect();
    let own = num_outputs(primal);
    let results: Vec<Var> = primal
        .outputs
        .iter()
        .zip(&node.outputs)
        .filter(|(o, _)| own.contains(o))
        .map(|(_, &result)| result)
        .collect();
    node.formals = formals(node, primal);
    let define = |node: &mut Node, lhs: Var, rhs: Rhs| {
        let span = node.vars[lhs].span;
        node.equations.push(Equation { lhs: vec![lhs], rhs, span });
    };
    let Some((&bp, ds)) = streams.get(count..).and_then(<[Var]>::split_first) else { return Ok(()) };
    let yes = constant(node, &Type::condition(), 1.0, precision)?;
    define(node, bp, Rhs::Const(yes));
    for ((&d, &o), here) in ds.iter().zip(&results).zip(with_bp.iter().chain(std::iter::repeat(&false))) {
        let ty = node.vars[d].ty.clone();
        let weight = constant(node, &ty, if o == chosen { 1.0 } else { 0.0 }, precision)?;
        if *here {
            // A constant on its own would have its own clock; this `if` puts it on the clock of the output.
            let then = push_var(node, None, ty.clone(), node.span);
            define(node, then, Rhs::Const(weight));
            let tied = push_var(node, None, ty, node.span);
            define(node, tied, Rhs::If { cond: bp, then, other: o });
            define(node, d, Rhs::When { value: tied, cond: bp });
        } else {
            define(node, d, Rhs::Const(weight));
        }
    }
    Ok(())
}

/// The formals of the adjoint that correspond to those of the node, with the clocks that the node declares.
fn formals(node: &Node, primal: &Node) -> Vec<Formal> {
    let streams: Vec<Var> = node.inputs().map(|i| i.var).collect();
    let own: Vec<Var> = primal.inputs().map(|i| i.var).collect();
    let counterpart = |v: Var| {
        let input = own.iter().position(|&o| o == v).map(|k| streams[k]);
        input.or_else(|| primal.outputs.iter().position(|&o| o == v).map(|k| node.outputs[k]))
    };
    let declared: Vec<Option<(Var, bool)>> = node.inputs().map(|i| i.clock).collect();
    let inputs = primal.inputs().zip(&streams).zip(declared).map(|((input, &var), own)| {
        let clock = input.clock.and_then(|(c, flag)| Some((counterpart(c)?, flag)));
        Formal::Stream(Input { var, clock: clock.or(own) })
    });
    let statics = node.formals.iter().filter(|f| matches!(f, Formal::Static { .. })).cloned();
    statics.chain(inputs).collect()
}

fn constant(node: &mut Node, ty: &Type, x: f64, precision: rml_ir::Precision) -> Result<ConstId, Diagnostic> {
    let kind = ConstKind::Value(Value::filled_for(node.span, ty, x, precision)?);
    Ok(node.consts.push(Constant { kind, ty: ty.clone(), text: None }))
}
