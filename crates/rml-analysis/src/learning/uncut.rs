//! Warns about windows whose gradient waits for the next window.

use rml_base::Diagnostic;
use rml_base::codes::analysis::UNCUT_RECURRENCE;
use rml_ir::normal::{Callee, Eq, NodeId, Rhs, Var};

use super::Program;
use super::depends::{passes, through};
use super::view::View;

/// The findings in a node that is differentiated outside of windows: a call with `every` whose argument is computed
/// from a delay of its own result. The gradient of the result then comes from the next window, and waits for it.
pub(super) fn findings(program: &Program<'_>, view: &View<'_>, id: NodeId) -> Vec<Diagnostic> {
    if !is_open(program, id) {
        return Vec::new();
    }
    let calls = view.node.equations.iter_enumerated().filter_map(|(eq, equation)| match &equation.rhs {
        Rhs::Call { callee: Callee::Node(node), args, every: Some(_), .. } => Some((eq, *node, args)),
        _ => None,
    });
    let found = calls.filter_map(|(eq, node, args)| {
        let reaches = |i: usize| through(program, node, i).iter().any(|output| *output);
        let inputs = program.module.nodes[node].inputs().count().min(args.len());
        (0..inputs).filter(|i| reaches(*i)).find_map(|i| finding(view, eq, args[i]))
    });
    found.collect()
}

fn finding(view: &View<'_>, call: Eq, arg: Var) -> Option<Diagnostic> {
    let delay = delayed_result(view, call, arg)?;
    let name = |v: Var| view.node.vars[v].name.as_deref();
    let shown = name(delay).or(name(arg)).unwrap_or("x");
    Some(
        Diagnostic::warning(
            UNCUT_RECURRENCE,
            format!("each window needs a gradient of the next one, through `{shown}`"),
        )
        .label(view.place(arg), "this is computed from a result of the window before")
        .label(view.node.equations[call].span, "its gradient in a window waits for the next window")
        .help(format!(
            "write `stop_gradient({shown})` in place of `{shown}` in this call: the value continues from window to window, and the gradient ends with its window"
        )),
    )
}

/// The delay of a result of the call from which a value is computed, through operators that let all gradients pass.
fn delayed_result(view: &View<'_>, call: Eq, value: Var) -> Option<Var> {
    let mut seen = vec![(value, None)];
    let mut at = 0;
    while let Some(&(v, delay)) = seen.get(at) {
        at += 1;
        if view.equation(v) == Some(call) && delay.is_some() {
            return delay;
        }
        let next: Vec<(Var, Option<Var>)> = match view.definition(v) {
            Some(Rhs::Apply { op, args, .. }) if passes(op) => args.iter().map(|arg| (*arg, delay)).collect(),
            Some(Rhs::Fby { next, .. }) => vec![(*next, delay.or(Some(v)))],
            // A condition may cut the gradient where a window begins.
            _ => Vec::new(),
        };
        let is_new =
            |(v, _): &(Var, Option<Var>)| view.node.vars[*v].ty.is_num() && seen.iter().all(|(s, _)| s != v);
        let next: Vec<(Var, Option<Var>)> = next.into_iter().filter(is_new).collect();
        seen.extend(next);
    }
    None
}

/// Whether the adjoint of a node runs outside of windows.
fn is_open(program: &Program<'_>, id: NodeId) -> bool {
    let mut open = vec![(program.module.root, false)];
    let mut at = 0;
    while let Some(&(node, differentiated)) = open.get(at) {
        at += 1;
        if node == id && differentiated {
            return true;
        }
        for equation in program.module.nodes[node].equations.iter() {
            let Rhs::Call { callee, every: None, .. } = &equation.rhs else { continue };
            let next = match callee {
                Callee::Node(node) => (*node, differentiated),
                Callee::Diff { node, .. } => (*node, true),
            };
            if !open.contains(&next) {
                open.push(next);
            }
        }
    }
    false
}
