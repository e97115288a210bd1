//! The interface of an adjoint node: which results of the canonical adjoint ([`Callee::Diff`]) it has, and at which
//! positions. Also checks the interface of adjoints that the program defines itself.
//!
//! The canonical adjoint of `f` has the inputs of `f`, `bp`, and `d<o>` for each num output `o`. Its results are the
//! outputs of `f`, and then `bp<x>` and `d<x>` for each num input `x`. An adjoint node has the same inputs, and those
//! of the results `bp<x>` and `d<x>` that are needed.
//!
//! [`Callee::Diff`]: rml_ir::normal::Callee

use std::sync::Arc;

use rml_base::{Diagnostic, Diagnostics, codes};
use rml_ir::Type;
use rml_ir::normal::{Module, Node, NodeId, Var};

use crate::node_clocks::Step;

/// The name of the node that updates parameters; it is the adjoint of `param`.
const OPTIMISER: &str = "diff_param";

/// The condition that gates the gradient of one output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Gate<S> {
    /// The index of the condition among those of the adjoint.
    pub(crate) condition: usize,
    /// The samplings from the clock of the condition to the clock of the output.
    pub(crate) path: Vec<S>,
}

/// An adjoint node, and the facts that a call of it needs.
#[derive(Clone, Debug)]
pub(crate) struct Adjoint {
    /// The node.
    pub(crate) node: NodeId,
    /// For each num input stream of the primal, in order: the results that are its gradient.
    pub(crate) gradients: Vec<Gradient>,
    /// The gate of the gradient of each num output.
    pub(crate) gates: Vec<Gate<Step>>,
    /// Whether the adjoint updates parameters, itself or in nodes that it calls.
    pub(crate) trains: bool,
    /// The node that updates parameters, if the primal is a `param` that the program defines. Calls of the primal then
    /// become trained parameters.
    pub(crate) parameter: Option<NodeId>,
    /// The number of outputs of the primal.
    pub(crate) primal_outputs: usize,
    /// Whether the program defines the node itself.
    pub(crate) is_own: bool,
    /// Whether one condition cannot gate all outputs, because an instance inside determines their clocks.
    pub(crate) is_unclear: bool,
}

/// The results of an adjoint that are the gradient of one num input.
#[derive(Clone, Debug)]
pub(crate) struct Gradient {
    /// The position of the input among the input streams.
    pub(crate) input: usize,
    /// The position of `bp<x>` among the results after the primal's outputs; `None` if it equals the first condition.
    pub(crate) bp: Option<usize>,
    /// The position of `d<x>` among the results after the primal's outputs; `None` if there is no gradient.
    pub(crate) d: Option<usize>,
    /// Whether the gradient is zero in every cycle.
    pub(crate) zero: bool,
}

impl Adjoint {
    /// The number of the adjoint's conditions: only `bp`, or one for each clock of its num outputs.
    pub(crate) fn conditions(&self) -> usize {
        self.gates.iter().map(|gate| gate.condition + 1).max().unwrap_or(1)
    }

    /// Whether callers can derive the clock of each output's gradient from the clock of the condition.
    pub(crate) fn is_open(&self) -> bool {
        self.gates.iter().all(|gate| !gate.path.contains(&Step::Inside))
    }

    /// The types of the results after the primal's outputs.
    pub(crate) fn result_types(&self, module: &Module) -> Vec<Type> {
        let node = &module.nodes[self.node];
        node.outputs.iter().skip(self.primal_outputs).map(|&o| node.vars[o].ty.clone()).collect()
    }
}

/// The num inputs of a node, with their positions among its input streams.
pub(crate) fn num_inputs(node: &Node) -> Vec<(usize, Var)> {
    node.inputs().map(|i| i.var).enumerate().filter(|&(_, v)| node.vars[v].ty.is_num()).collect()
}

/// The num outputs of a node.
pub(crate) fn num_outputs(node: &Node) -> Vec<Var> {
    node.outputs.iter().copied().filter(|&o| node.vars[o].ty.is_num()).collect()
}

/// The adjoint of `primal` that the program defines, if its interface fits.
pub(crate) fn of_override(
    module: &Module,
    primal: NodeId,
    node: NodeId,
    gates: Vec<Gate<Step>>,
) -> Result<Adjoint, Diagnostics> {
    let (f, g) = (&module.nodes[primal], &module.nodes[node]);
    let mut problems = Diagnostics::new();
    let types = |node: &Node, vars: &[Var]| vars.iter().map(|&v| node.vars[v].ty.clone()).collect::<Vec<_>>();
    let inputs = |node: &Node| node.inputs().map(|i| i.var).collect::<Vec<_>>();
    let mut expected = types(f, &inputs(f));
    expected.push(Type::condition());
    expected.extend(types(f, &num_outputs(f)));
    let found = types(g, &inputs(g));
    if expected != found {
        problems.push(mismatch(f, g, "inputs", &expected, &found));
    }
    let expected = types(f, &f.outputs);
    let mut found = types(g, &g.outputs);
    found.truncate(expected.len());
    if expected != found {
        problems.push(mismatch(f, g, "first outputs", &expected, &found));
    }
    let parameter = (&*g.name == OPTIMISER && f.outputs.len() == 1 && inputs(f).len() == 1).then_some(node);
    let mut gradients = Vec::new();
    if parameter.is_none() {
        for (input, x) in num_inputs(f) {
            gradients.push(named_gradient(f, g, input, x, &mut problems));
        }
    }
    if problems.has_errors() {
        return Err(problems);
    }
    let primal_outputs = f.outputs.len();
    Ok(Adjoint {
        node,
        gradients,
        gates,
        trains: true,
        parameter,
        primal_outputs,
        is_own: true,
        is_unclear: false,
    })
}

/// Finds the outputs `bp<x>` and `d<x>` of an adjoint that the program defines, by their names.
fn named_gradient(f: &Node, g: &Node, input: usize, x: Var, problems: &mut Diagnostics) -> Gradient {
    let ty = f.vars[x].ty.clone();
    let mut find = |prefix: &str, expected: &Type| {
        let name = format!("{prefix}{}", f.vars[x].name.as_deref()?);
        let position = g
            .outputs
            .iter()
            .skip(f.outputs.len())
            .position(|&o| g.vars[o].name.as_deref() == Some(&*name))?;
        let found = &g.vars[*g.outputs.get(position + f.outputs.len())?];
        if found.ty != *expected {
            let diagnostic = Diagnostic::error(
                codes::elab::OVERRIDE_INTERFACE,
                format!("the output `{name}` of `{}` has type `{}`, not `{expected}`", g.name, found.ty),
            )
            .label(found.span, format!("this is `{}`", found.ty))
            .label(
                f.vars[x].span,
                format!("`{}` is `{}`", f.vars[x].name.as_deref().unwrap_or("x"), f.vars[x].ty),
            )
            .help("a gradient has the type of what it is the gradient of, and `bp..` is `bool []`");
            problems.push(diagnostic);
        }
        Some(position)
    };
    let (bp, d) = (find("bp", &Type::condition()), find("d", &ty));
    Gradient { input, bp: bp.filter(|_| d.is_some()), d, zero: d.is_none() }
}

fn mismatch(f: &Node, g: &Node, what: &str, expected: &[Type], found: &[Type]) -> Diagnostic {
    let list = |types: &[Type]| {
        let texts: Vec<Arc<str>> = types.iter().map(|t| Arc::from(format!("`{t}`"))).collect();
        if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
    };
    Diagnostic::error(
        codes::elab::OVERRIDE_INTERFACE,
        format!("`{}` does not have the interface of the adjoint of `{}`", g.name, f.name),
    )
    .label(g.span, format!("its {what} do not fit"))
    .label(f.span, format!("the adjoint of this node is needed, and `{}` stands for it", g.name))
    .note(format!("expected {what}: {}", list(expected)))
    .note(format!("found {what}: {}", list(found)))
    .help(format!(
        "`{}` takes the inputs of `{}`, one bool `bp`, and one gradient for each num output; \
         it gives the outputs of `{}`, then gradients `d<x>` of its inputs by name",
        g.name, f.name, f.name
    ))
}
