//! The line in the user's program that causes a finding inside the library.

use rml_base::{Diagnostic, Label};
use rml_ir::flat::{Flat, around};

use crate::front::Front;

/// If all places of a finding are in the library, labels the call in the user's own text first.
pub(super) fn show(front: &Front, flat: &Flat, finding: &mut Diagnostic) {
    if finding.labels.is_empty() || !finding.labels.iter().all(|label| front.is_library(label.span)) {
        return;
    }
    let at = finding.labels[0].span;
    let here = flat.equations.iter().filter(|e| e.span == at);
    let instances: Vec<&str> = here.filter_map(|e| flat.instance(e.lhs)).collect();
    // Several instances share their lines; the message names a variable of the one that is meant.
    let is_named = |path: &&&str| finding.message.contains(&format!("`{}.", primal(path)));
    let Some(mut path) = instances.iter().find(is_named).or(instances.first()).copied() else { return };
    while !path.is_empty() {
        match flat.call(path) {
            Some(span) if !front.is_library(span) => {
                let message = "called here".to_owned();
                return finding.labels.insert(0, Label { span, message });
            }
            _ => path = around(path),
        }
    }
}

/// The path of the instance of which that is an adjoint.
fn primal(path: &str) -> String {
    path.split('.').map(|part| part.trim_start_matches("diff_")).collect::<Vec<_>>().join(".")
}
