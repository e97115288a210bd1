//! Warns about a training that updates no parameter.

use rml_base::codes::analysis as codes;
use rml_base::{Diagnostic, IndexVec};
use rml_ir::normal::{Callee, Eq, NodeId, Rhs, Var};

use super::calls::Call;
use super::flow::enters;
use super::seeds::LOSS;
use super::view::{Adjoint, View};
use super::{Program, closure};

/// The finding that the root has parameters and updates none, or has nothing that could learn.
pub(super) fn finding(program: &Program<'_>) -> Option<Diagnostic> {
    let module = program.module;
    if program.updates[module.root] {
        return None;
    }
    let view = View::new(program, module.root);
    if !program.parameters[module.root] {
        return nothing_to_learn(program, &view);
    }
    let node = view.node;
    let d = Diagnostic::warning(
        codes::NO_UPDATE,
        format!("`{}` updates no parameter, so it learns nothing", node.name),
    );
    let calls = || node.equations.ids().filter_map(|eq| Call::of(program, &view, eq));
    let is_off =
        |eq: &Eq| view.adjoint(*eq).is_some_and(|call| program.parameters[call.of] && view.is_off(&call));
    if let Some(off) = node.equations.ids().find(is_off) {
        let what = "no gradient is propagated here: `bp` is `false`";
        return Some(
            d.label(node.equations[off].span, what)
                .help("pass `true`, or a condition that is true in some cycles"),
        );
    }
    let Some(net) = calls().find(|call| program.parameters[call.id]) else {
        return Some(
            d.label(node.span, "its parameters are only read")
                .help("put the part with the parameters into a node `net`, and call `diff_net`"),
        );
    };
    let span = |call: &Call<'_>| node.equations[call.eq].span;
    let name = &net.node().name;
    let d = d.label(span(&net), format!("`{name}` is called, and only `diff_{name}` updates its parameters"));
    let output = net.results().next().unwrap_or_default();
    let seed = if net.is_loss() { "-0.1".to_owned() } else { format!("d{output}") };
    let d = d.help(format!("write `{}`", net.adjoint(&seed, None)));
    Some(match calls().find(|call| call.is_loss() && !program.parameters[call.id]) {
        Some(loss) => d
            .label(span(&loss), format!("`diff_{}` gives the gradient that it needs", loss.node().name))
            .help(format!("write `{}`", loss.adjoint("-0.1", Some(&output))))
            .note("-0.1 is minus the learning rate"),
        None if net.is_loss() => d.note("-0.1 is minus the learning rate"),
        None => d.note(format!(
            "`d{output}` is minus the learning rate times the derivative of the loss by `{output}`"
        )),
    })
}

/// The finding about a training without parameters, if it keeps no state and does not use the gradients that it
/// computes.
fn nothing_to_learn(program: &Program<'_>, view: &View<'_>) -> Option<Diagnostic> {
    let module = program.module;
    let is_state = |rhs: &Rhs| matches!(rhs, Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::ParamUpdate { .. });
    let states = closure(module, is_state, |known, callee| match callee {
        Callee::Node(node) | Callee::Diff { node, .. } => known[node],
    });
    let calls: Vec<_> =
        view.node.equations.ids().filter_map(|eq| view.adjoint(eq).map(|call| (eq, call))).collect();
    let enters_only = |d: Var| {
        let enters = |eq: &Eq| view.adjoint(*eq).is_some_and(|call| enters(&call, d));
        !view.node.outputs.contains(&d) && view.readers[d].iter().all(enters)
    };
    let arrives = calls.iter().any(|(_, call)| call.gradients().any(|d| !enters_only(d)));
    if states[module.root] || arrives {
        return None;
    }
    let name = &view.node.name;
    let d = Diagnostic::warning(codes::NO_UPDATE, format!("`{name}` has no parameter, so it learns nothing"));
    let is_net = |call: &Adjoint<'_>| {
        !call.node.outputs.iter().any(|o| call.node.vars[*o].name.as_deref() == Some(LOSS))
    };
    let (eq, call) = calls.iter().find(|(_, call)| is_net(call)).or(calls.first())?;
    Some(d.label(view.node.equations[*eq].span, format!("no `param` is in `{}`", call.node.name)).help(
        "a number that is to be learned is a `param` with its first value, such as `w = param(zeros([3]));`",
    ))
}

/// Whether each node updates parameters by a gradient, in itself or in nodes that it calls. Updates inside the library,
/// such as those of moving averages, do not count.
pub(super) fn updates(program: &Program<'_>) -> IndexVec<NodeId, bool> {
    let module = program.module;
    let own = module.nodes.ids().map(|id| {
        let view = View::new(program, id);
        let library = (program.library)(view.node.span);
        let called = |eq: Eq| match &view.node.equations[eq].rhs {
            Rhs::ParamUpdate { .. } => !library,
            Rhs::Call { callee: Callee::Diff { node, .. }, .. } => {
                program.parameters[*node]
                    && module.nodes[*node].held == 0
                    && !view.adjoint(eq).is_some_and(|call| view.is_off(&call))
            }
            _ => false,
        };
        view.node.equations.ids().any(called)
    });
    let own: IndexVec<NodeId, bool> = own.collect();
    let below = closure(
        module,
        |_| false,
        |known, callee| match callee {
            Callee::Node(node) => known[node] || own[node],
            Callee::Diff { .. } => false,
        },
    );
    module.nodes.ids().map(|id| own[id] || below[id]).collect()
}
