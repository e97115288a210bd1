//! The program that computes the gradient of an output, and the program that computes only the output.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error, Span, suggest};
use rml_elab::Root;
use rml_ir::flat::{Drawn, Rhs};
use rml_ir::op::Op;
use rml_ir::pass::{self, Keep};
use rml_ir::{Type, normal};

use crate::front::Front;
use crate::options::Options;
use crate::program::Program;
use crate::source::Source;

/// A node compiled for differentiation. Parameters are constant in both programs.
#[derive(Debug)]
pub struct Differentiable {
    /// The output whose sum is differentiated.
    pub loss: String,
    /// A program with these outputs: the loss, gradients of inputs, gradients of parameters.
    pub backward: Program,
    /// A program whose output is the loss.
    pub forward: Program,
    /// For each input, the output of `backward` with its gradient.
    pub inputs: Vec<Option<usize>>,
    /// For each parameter, its type and the output of `backward` with its gradient; without an output the gradient is
    /// zero.
    pub params: IndexMap<Arc<str>, (Type, Option<usize>)>,
    /// The places of `stop_gradient` in the program.
    pub cuts: Vec<Span>,
}

/// Compiles node `options.node` and its adjoint for the gradient of output `loss`; `None` = its only num output.
///
/// # Errors
/// As [`compile`](crate::compile()); a node that cannot be differentiated, or has no such output.
pub fn differentiable(
    source: &Source,
    options: &Options,
    loss: Option<&str>,
) -> Result<Differentiable, Error> {
    let front = source.front()?;
    let node = match &options.node {
        Some(node) => node.clone(),
        None => run_node(front, options)?,
    };
    let made = front.elaborate(options, Root::Diff(node)).and_then(|(module, warnings)| {
        let parts = parts(pass::normalize(&module), options, loss)?;
        Ok((parts, warnings))
    });
    let (parts, warnings) = front.fail(made)?;
    let forward = Program::new(parts.forward, front, Diagnostics::new());
    let backward = Program::new(parts.backward, front, warnings);
    let (loss, inputs, params, cuts) = (parts.loss, parts.inputs, parts.params, parts.cuts);
    Ok(Differentiable { loss, backward, forward, inputs, params, cuts })
}

/// The default node to run.
fn run_node(front: &Front, options: &Options) -> Result<String, Error> {
    let elaborated = front.elaborate(options, Root::Default);
    front.fail(elaborated.map(|(module, _)| module.nodes[module.root].name.to_string()))
}

struct Parts {
    loss: String,
    forward: Drawn,
    backward: Drawn,
    inputs: Vec<Option<usize>>,
    params: IndexMap<Arc<str>, (Type, Option<usize>)>,
    cuts: Vec<Span>,
}

fn parts(module: normal::Module, options: &Options, loss: Option<&str>) -> Result<Parts, Diagnostics> {
    let chosen = output(&module, loss)?;
    let root = &module.nodes[module.root];
    let name = root.vars[root.outputs[chosen]].name.as_deref().unwrap_or_default().to_owned();
    let made = rml_autodiff::gradient(module, chosen)?;
    let held = pass::inline_held(&made.module)?;
    let mut backward = held.flat;
    let mut params = IndexMap::new();
    let states = backward.states.iter().filter(|(_, s)| s.parameter);
    let types = states
        .map(|(key, s)| (Arc::clone(key), backward.vars[backward.equations[s.equation].lhs].ty.clone()));
    for (key, ty) in types.collect::<Vec<_>>() {
        let at = held.gradients.get(&key).map(|&d| {
            backward.outputs.push(d);
            backward.outputs.len() - 1
        });
        params.insert(key, (ty, at));
    }
    let forward = pass::inline_held(&made.module.with_root(made.forward))?.flat;
    let is_cut = |rhs: &Rhs| matches!(rhs, Rhs::Apply { op: Op::StopGradient, .. });
    let mut cuts: Vec<Span> = forward.equations.iter().filter(|e| is_cut(&e.rhs)).map(|e| e.span).collect();
    cuts.sort();
    cuts.dedup();
    let finish = |flat| pass::draw(pass::lower(flat, Keep::Needed), options.seed);
    Ok(Parts {
        loss: name,
        forward: finish(forward)?,
        backward: finish(backward)?,
        inputs: made.inputs,
        params,
        cuts,
    })
}

/// The position of the output to differentiate.
fn output(module: &normal::Module, loss: Option<&str>) -> Result<usize, Diagnostic> {
    let root = &module.nodes[module.root];
    let name = |k: usize| root.vars[root.outputs[k]].name.as_deref().unwrap_or_default();
    let num: Vec<usize> =
        (0..root.outputs.len()).filter(|&k| root.vars[root.outputs[k]].ty.is_num()).collect();
    let list = || num.iter().map(|&k| format!("`{}`", name(k))).collect::<Vec<_>>().join(", ");
    let fail = |what: String| {
        let d = Diagnostic::error(codes::BAD_OPTION, what).label(root.span, "the node to differentiate");
        if num.is_empty() {
            d.note("it has no num output")
        } else {
            d.note(format!("its num outputs are {}", list()))
        }
    };
    let Some(loss) = loss else {
        return match num[..] {
            [one] => Ok(one),
            [] => Err(fail(format!("node {} has no output to differentiate", root.name))),
            _ => Err(fail(format!("node {} has several outputs to differentiate", root.name))
                .help("choose one (`--loss NAME`)")),
        };
    };
    match (0..root.outputs.len()).find(|&k| name(k) == loss) {
        Some(k) if num.contains(&k) => Ok(k),
        Some(k) => {
            let ty = &root.vars[root.outputs[k]].ty;
            Err(fail(format!("output `{loss}` of node {} is {ty}, which has no gradient", root.name)))
        }
        None => {
            let d = fail(format!("node {} has no output `{loss}`", root.name));
            Err(match suggest(loss, num.iter().map(|&k| name(k))) {
                Some(near) => d.help(format!("there is `{near}`")),
                None => d,
            })
        }
    }
}
