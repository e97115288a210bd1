//! Inner variables that become additional outputs.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, suggest};
use rml_ir::flat::{Flat, around};

/// The most names that a message lists.
const LISTED: usize = 12;

/// Appends the variables with these names to the outputs, each once.
///
/// # Errors
/// Names that no variable has, each with similar names.
pub(crate) fn probe(flat: &mut Flat, names: &[String]) -> Result<(), Diagnostics> {
    let mut findings = Diagnostics::new();
    for name in names {
        let var = flat.vars.ids().find(|v| flat.vars[*v].name.as_deref() == Some(name));
        match var {
            Some(var) if !flat.outputs.contains(&var) => flat.outputs.push(var),
            Some(_) => {}
            None => findings.push(unknown(flat, name)),
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

fn unknown(flat: &Flat, name: &str) -> Diagnostic {
    let names = || flat.vars.iter().filter_map(|v| v.name.as_deref());
    let d =
        Diagnostic::error(codes::BAD_OPTION, format!("node {} has no inner variable `{name}`", flat.name));
    // The variables of the innermost existing instance on the path.
    let mut instance = name;
    let (place, inside) = loop {
        instance = around(instance);
        let prefix = if instance.is_empty() { String::new() } else { format!("{instance}.") };
        let mut inside: Vec<&str> = names().filter_map(|n| n.strip_prefix(&*prefix)).collect();
        inside.iter_mut().for_each(|n| *n = n.split_once('.').map_or(*n, |(head, _)| head));
        inside.sort_unstable();
        inside.dedup();
        if instance.is_empty() {
            break (format!("node {}", flat.name), inside);
        }
        if !inside.is_empty() {
            break (format!("instance {instance}"), inside);
        }
    };
    let more = if inside.len() > LISTED { ", .." } else { "" };
    let listed = inside.iter().take(LISTED).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let d = d.note(format!("{place} has {listed}{more}"));
    let ending = format!(".{name}");
    let near = suggest(name, names()).or_else(|| names().find(|n| n.ends_with(&ending)));
    match near {
        Some(near) => d.help(format!("there is `{near}`")),
        None => d.help("`--vars all` shows all inner variables by their paths"),
    }
}
