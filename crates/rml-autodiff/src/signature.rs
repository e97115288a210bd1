//! How the real interface of an adjoint node relates to the canonical one of [`Callee::Diff`], and the check of that
//! relation for adjoints that the program defines itself.
//!
//! Canonical: inputs of `f`, `bp`, `d<o>` for each num output; outputs of `f`, then `bp<x>`, `d<x>` for each num input.
//! Real: the same inputs; of `bp<x>` and `d<x>` only those that are needed.
//!
//! [`Callee::Diff`]: rml_ir::normal::Callee

use std::sync::Arc;

use rml_base::{Diagnostic, Diagnostics, codes};
use rml_ir::Type;
use rml_ir::normal::{Module, Node, NodeId, Var};

use crate::node_clocks::Step;

/// The name of the node that makes a parameter trainable.
const OPTIMISER: &str = "diff_param";

/// An adjoint node and what its callers must know.
#[derive(Clone, Debug)]
pub(crate) struct Adjoint {
    /// The node.
    pub(crate) node: NodeId,
    /// One for each num input stream of the primal, in order.
    pub(crate) gradients: Vec<Gradient>,
    /// One for each num output: which condition gates its gradient, and how its clock is sampled from that of the condition.
    pub(crate) gates: Vec<(usize, Vec<Step>)>,
    /// Whether parameters are updated inside.
    pub(crate) trains: bool,
    /// The node to update with, where the primal is the program's own `param`.
    pub(crate) parameter: Option<NodeId>,
    /// How many outputs the primal has.
    pub(crate) primal_outputs: usize,
    /// Whether the program defines it.
    pub(crate) is_own: bool,
    /// Whether one condition cannot say which outputs have a gradient: they are on clocks that an instance inside decides.
    pub(crate) is_unclear: bool,
}

/// Where the gradient of a num input is to be found.
#[derive(Clone, Debug)]
pub(crate) struct Gradient {
    /// Position of the input among the input streams.
    pub(crate) input: usize,
    /// Position of `bp<x>` behind the primal's outputs; `None` where it equals the first condition.
    pub(crate) bp: Option<usize>,
    /// Position of `d<x>` behind the primal's outputs; `None` where there is no gradient.
    pub(crate) d: Option<usize>,
    /// Whether the gradient is known to be zero.
    pub(crate) zero: bool,
}

impl Adjoint {
    /// How many conditions it takes: one, `bp`, or one for each clock of its num outputs.
    pub(crate) fn conditions(&self) -> usize {
        self.gates.iter().map(|(gate, _)| gate + 1).max().unwrap_or(1)
    }

    /// Whether a caller can tell on which clock each gradient of an output is, given one condition.
    pub(crate) fn is_open(&self) -> bool {
        self.gates.iter().all(|(_, path)| !path.contains(&Step::Inside))
    }

    /// The types of the outputs behind the primal's.
    pub(crate) fn result_types(&self, module: &Module) -> Vec<Type> {
        let node = &module.nodes[self.node];
        node.outputs.iter().skip(self.primal_outputs).map(|&o| node.vars[o].ty.clone()).collect()
    }
}

/// The num inputs of a node with their positions among its input streams.
pub(crate) fn num_inputs(node: &Node) -> Vec<(usize, Var)> {
    node.inputs().map(|i| i.var).enumerate().filter(|&(_, v)| node.vars[v].ty.is_num()).collect()
}

/// The num outputs of a node.
pub(crate) fn num_outputs(node: &Node) -> Vec<Var> {
    node.outputs.iter().copied().filter(|&o| node.vars[o].ty.is_num()).collect()
}

/// The adjoint that the program defines for `primal`, if its interface fits.
pub(crate) fn of_override(
    module: &Module,
    primal: NodeId,
    node: NodeId,
    gates: Vec<(usize, Vec<Step>)>,
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

/// The outputs `bp<x>` and `d<x>` of a node that the program defines.
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
