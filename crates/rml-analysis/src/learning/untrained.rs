//! Warns about parameters that a training reads and never changes.

use rml_base::Diagnostic;
use rml_base::codes::analysis as codes;
use rml_ir::normal::{Callee, Eq, Rhs, Var};
use rml_ir::op::Op;

use super::Program;
use super::calls::Call;
use super::depends::{dependents, followers};
use super::view::{Adjoint, View};

/// The findings in a node: a gradient is propagated to a value computed with parameters, and does not reach these
/// parameters.
pub(super) fn findings(program: &Program<'_>, view: &View<'_>) -> Vec<Diagnostic> {
    let equations = || view.node.equations.ids();
    let live = |eq: Eq| view.adjoint(eq).filter(|call| !view.is_off(call)).map(|call| (eq, call));
    let trainings: Vec<(Eq, Adjoint<'_>)> = equations().filter_map(live).collect();
    if !trainings.iter().any(|(_, call)| program.parameters[call.of]) {
        return Vec::new();
    }
    let finding = |eq: Eq| {
        let equation = &view.node.equations[eq];
        match &equation.rhs {
            Rhs::Param { .. } => {}
            Rhs::Call { callee: Callee::Node(id), .. }
                if program.parameters[*id] && !program.updates[*id] => {}
            _ => return None,
        }
        if let Some(twin) = twin(view, eq, &trainings) {
            return twin_told(program, view, eq, twin);
        }
        let reached = dependents(program, view, equation.lhs.iter().copied());
        let takes = |call: &Adjoint<'_>| {
            let mut inputs = call.differentiated();
            inputs.find(|(arg, d)| reached.contains(arg) && (program.parameters[call.of] || view.is_used(*d)))
        };
        let (at, call, (arg, d)) = trainings.iter().find_map(|(eq, call)| Some((*eq, call, takes(call)?)))?;
        Some(told(program, view, eq, &Reader { at, call, arg, is_used: view.is_used(d) }))
    };
    equations().filter_map(finding).collect()
}

/// The training of the same node that an equation calls. None if the results of the call are marked as fixed, or if
/// they determine what is learned, like those of a teacher.
fn twin<'t>(view: &View<'_>, eq: Eq, trainings: &'t [(Eq, Adjoint<'t>)]) -> Option<&'t (Eq, Adjoint<'t>)> {
    let equation = &view.node.equations[eq];
    let Rhs::Call { callee: Callee::Node(id), .. } = &equation.rhs else { return None };
    let is_held = |eq: &Eq| matches!(&view.node.equations[*eq].rhs, Rhs::Apply { op: Op::StopGradient, .. });
    if equation.lhs.iter().all(|v| view.readers[*v].iter().all(is_held)) {
        return None;
    }
    let reached = followers(view, &equation.lhs);
    if trainings.iter().flat_map(|(_, call)| call.seeds()).any(|(_, seed)| reached.contains(&seed)) {
        return None;
    }
    let called = view.program().module.nodes[*id].span;
    trainings.iter().find(|(_, call)| call.node.span == called)
}

/// The warning about a second call of a trained node, which has parameters of its own.
fn twin_told(program: &Program<'_>, view: &View<'_>, eq: Eq, twin: &(Eq, Adjoint<'_>)) -> Option<Diagnostic> {
    let call = Call::of(program, view, eq)?;
    let trained = Call::of_primal(program, view, twin.0)?;
    let name = &call.node().name;
    let d = Diagnostic::warning(
        codes::NO_UPDATE,
        format!("this `{name}` is another one than that which `diff_{name}` trains, and learns nothing"),
    )
    .label(view.node.equations[eq].span, "has parameters of its own, which keep their first values")
    .label(view.node.equations[twin.0].span, format!("`diff_{name}` updates the parameters of this one"));
    let d = match trained.results().next().filter(|name| trained.args() == call.args() && name != "_") {
        Some(result) => d.help(format!("it has the same inputs here: use `{result}`")),
        None => d,
    };
    Some(
        d.help(format!(
            "for one network with several calls, write `share n = {name};`, and call `diff_n` and `n`"
        ))
        .help("if it is to stay as it is, say so by `stop_gradient` of what it gives"),
    )
}

/// The call of an adjoint that reads a value computed with untrained parameters.
struct Reader<'r> {
    at: Eq,
    call: &'r Adjoint<'r>,
    arg: Var,
    /// Whether the gradient of that value is used.
    is_used: bool,
}

fn told(program: &Program<'_>, view: &View<'_>, eq: Eq, reader: &Reader<'_>) -> Diagnostic {
    let name = |v: Var| view.node.vars[v].name.as_deref();
    let (at, reads) = (view.node.equations[reader.at].span, &reader.call.node.name);
    let stays = |what: &str| format!("if it is to stay as it is, say so: `stop_gradient({what})`");
    let span = view.node.equations[eq].span;
    let Some(call) = Call::of(program, view, eq) else {
        let name = view.node.equations[eq].lhs.first().and_then(|v| name(*v)).unwrap_or("param");
        return Diagnostic::warning(codes::NO_UPDATE, format!("the parameter `{name}` is not trained"))
            .label(span, "it is read here, and no gradient comes back to it")
            .label(at, format!("`diff_{reads}` depends on it"))
            .help("put what reads the parameter into a node `net`, and call `diff_net`")
            .help(stays(name));
    };
    let net = &call.node().name;
    let result = call.results().next().unwrap_or_default();
    let whose = name(reader.arg).unwrap_or(&result);
    let stop = match reader.is_used {
        true => format!("no gradient enters `{net}`"),
        false => format!("the gradient that `{net}` needs is dropped"),
    };
    let d = Diagnostic::warning(
        codes::NO_UPDATE,
        format!("`{net}` is not trained: no gradient reaches its parameters"),
    )
    .label(span, format!("only `diff_{net}` updates them"))
    .label(at, format!("`diff_{reads}` depends on `{whose}`, and {stop}"))
    .help(format!("write `{}`", call.adjoint(&format!("d{result}"), None)));
    let d = match reader.is_used {
        true => d.note(format!("`d{result}` is the gradient that enters `{net}` from `diff_{reads}`")),
        false => d.note(format!(
            "`d{result}` is what `diff_{reads}` gives in the place of `_` as the gradient of `{whose}`"
        )),
    };
    d.help(stays(&result))
}
