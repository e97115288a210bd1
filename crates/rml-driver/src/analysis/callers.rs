//! Finds the line in the user's program that causes a finding inside the library.

use rml_analysis::LateUpdate;
use rml_base::{Diagnostic, Label, Sources, Span};
use rml_ir::flat::{Flat, Rhs, Var, around};

use super::calls::Calls;
use crate::library::is_library;

/// If the first label of a finding is in the library, moves its first label in the user's own text to the front, or
/// else adds a label at the call in the user's text that reaches this place.
pub(crate) fn show(sources: &Sources, flat: &Flat, calls: &Calls, finding: &mut Diagnostic) {
    let Some(at) = finding.labels.first().map(|label| label.span) else { return };
    if !is_library(sources, at) {
        return;
    }
    if let Some(own) = finding.labels.iter().position(|label| !is_library(sources, label.span)) {
        return finding.labels[..=own].rotate_right(1);
    }
    let here = flat.equations.iter().filter(|e| e.span == at || flat.vars[e.lhs].span == at);
    let instances: Vec<&str> = here.filter_map(|e| flat.instance(e.lhs)).collect();
    // Several instances have the same lines; the message names a variable of the instance in question.
    let is_named = |path: &&&str| finding.message.contains(&format!("`{}.", primal(path)));
    let path = instances.iter().find(is_named).or(instances.first()).copied();
    if let Some(span) = path.and_then(|path| user_call(sources, calls, path)) {
        finding.labels.insert(0, Label { span, message: "called here".to_owned() });
    }
}

/// The error or warning about a late update. It also names the call that needs `every`, with which the parameters are
/// updated once per window.
pub(super) fn late(sources: &Sources, flat: &Flat, calls: &Calls, update: &LateUpdate) -> Diagnostic {
    update.diagnostic(&by_windows(sources, flat, calls, update).unwrap_or_default())
}

/// Advice on how to run the node of a parameter window by window.
fn by_windows(sources: &Sources, flat: &Flat, calls: &Calls, update: &LateUpdate) -> Option<Vec<String>> {
    let at = update.place()?;
    let paths = flat.equations.iter().filter(|e| e.span == at).filter_map(|e| flat.instance(e.lhs));
    let is_own =
        |path: &&str| update.key().strip_prefix(&primal(path)).is_some_and(|rest| rest.starts_with('.'));
    let path = paths.clone().find(is_own).or_else(|| paths.clone().next())?;
    if let Some(help) = innermost(sources, flat, calls, path) {
        return Some(vec![help]);
    }
    let call = path.split('.').next().and_then(|outer| calls.get(outer)).copied()?;
    let text = sources.snippet(call).trim_end_matches(';');
    if is_library(sources, call) || text.contains('\n') || text.contains(" every ") {
        return None;
    }
    let close = closing(sources, call);
    let (line, _) = sources.line_column(call.file, call.start);
    let time = flat.inputs.iter().filter(|input| flat.vars[input.var].ty.is_num());
    let time = time
        .filter(|input| flat.vars[input.var].ty.shape.rank() > 2)
        .find_map(|input| flat.vars[input.var].name.as_deref());
    let axis = time.map(|name| format!(
        "time is in cycles, and no axis: if the second axis of `{name}` counts steps, leave it out of the declaration; a row [steps, ..] of the data then is a window of as many cycles"
    ));
    let windows = format!(
        "in line {line}, write `{text} every end{close}`, where `end` is true in the last cycle of a window, such as an input `end: bool []`"
    );
    Some(axis.into_iter().chain([windows]).collect())
}

/// Advice for the call of the library that contains the parameter, if the node around it has a condition that can end
/// windows.
fn innermost(sources: &Sources, flat: &Flat, calls: &Calls, path: &str) -> Option<String> {
    let mut path = path;
    while calls.get(path).is_none_or(|span| is_library(sources, *span)) {
        path = Some(around(path)).filter(|path| !path.is_empty())?;
    }
    let (call, within) = (*calls.get(path)?, around(path));
    let text = sources.snippet(call).trim_end_matches(';');
    // An input of the node or of the program that is used as a condition for sampling.
    let is_condition = |v: &Var| {
        flat.equations.iter().any(|e| matches!(e.rhs, Rhs::When { cond, .. } if cond == *v))
            || flat.claims.iter().any(|claim| claim.cond == *v)
    };
    let name = |v: Var| flat.vars[v].name.as_deref().and_then(|name| name.rsplit('.').next());
    let conditions = flat.vars.ids().filter(|v| flat.instance(*v) == Some(within)).filter(is_condition);
    let mut conditions = conditions.filter_map(name).filter(|name| !name.starts_with("bp"));
    let end = conditions.next().filter(|end| conditions.all(|other| other == *end))?;
    let close = closing(sources, call);
    let (line, _) = sources.line_column(call.file, call.start);
    (!within.is_empty() && !text.contains('\n') && !text.contains(" every ")).then(|| {
        format!(
            "in line {line}, write `{text} every {end}{close}`, where `{end}` is true in the last cycle of a window"
        )
    })
}

/// What ends a call in its text: `;` if it is an equation, and nothing within one.
fn closing(sources: &Sources, call: Span) -> &'static str {
    if sources.snippet(call).trim_end_matches(';').contains(" = ") { ";" } else { "" }
}

/// The innermost call in the user's own text on the way to an instance.
pub(crate) fn user_call(sources: &Sources, calls: &Calls, mut path: &str) -> Option<Span> {
    while !path.is_empty() {
        match calls.get(path) {
            Some(span) if !is_library(sources, *span) => return Some(*span),
            _ => path = around(path),
        }
    }
    None
}

/// The path of the instance whose adjoint this instance is.
fn primal(path: &str) -> String {
    path.split('.').map(|part| part.trim_start_matches("diff_")).collect::<Vec<_>>().join(".")
}
