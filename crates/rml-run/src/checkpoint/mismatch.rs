//! Diagnostics about a checkpoint that does not contain the states of a program.

use std::sync::Arc;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Span};
use rml_driver::Program;
use rml_ir::flat::around;
use rml_ir::{Precision, Type, Value};

use super::{Checkpoint, Policy, TrainingPosition, precision, shown};
use crate::fingerprint;

/// The differences between a checkpoint and a program.
#[derive(Default)]
pub(super) struct Mismatch<'a> {
    /// Parameters that the checkpoint lacks.
    pub(super) missing: Vec<(&'a Arc<str>, &'a Type)>,
    /// States with another type in the checkpoint, and whether they are parameters.
    pub(super) other: Vec<(&'a Arc<str>, &'a Type, &'a Value, bool)>,
    /// States of the checkpoint that the program does not have.
    pub(super) unexpected: Vec<(&'a Arc<str>, &'a Value)>,
}

impl Mismatch<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.other.is_empty() && self.unexpected.is_empty()
    }

    /// One diagnostic about all differences; `help` says how the checkpoint fits under another prefix.
    pub(super) fn diagnostic(
        &self,
        checkpoint: &Checkpoint,
        program: &Program,
        policy: Policy,
        help: Option<String>,
    ) -> Diagnostic {
        let origin = checkpoint.shown_origin();
        let mut d = Diagnostic::error(
            codes::CHECKPOINT_MISMATCH,
            format!("{origin} does not hold the states of node {}", program.node()),
        );
        d = self.labelled(d, program);
        let mut renamed = None;
        for (key, ty) in &self.missing {
            let near = near(checkpoint, program, key, ty);
            let there = near.map_or(String::new(), |near| format!("; `{near}` is present"));
            d = d.note(format!("missing there: `{key}`: {ty}{there}"));
            renamed = renamed.or(near.map(|near| (near, *key)));
        }
        for (key, ty, value, _) in &self.other {
            let expected = format!("`{key}`: expected {ty}{}", precision(program, ty));
            d = d.note(format!("of another type there: {expected}, found {}", shown(value)));
        }
        for (key, value) in &self.unexpected {
            d = d.note(format!("not in the program: `{key}`: {}", shown(value)));
        }
        if let Some(help) = help {
            return d.help(help);
        }
        if let Some((near, key)) = renamed {
            d = d.help(renamed_by(program, apart(near, key)));
        }
        if policy == Policy::Inference && self.is_about_rows() {
            return d.help("the parameters fit: `--fresh` takes them alone, and resets all other states");
        }
        if renamed.is_some() {
            return d;
        }
        let d = match &checkpoint.position {
            Some(before) => d.help(made_with(before, program)),
            None => {
                d.help("use the program, static parameters and precision that the checkpoint was made with")
            }
        };
        d.help(match policy {
            Policy::Exact => "to train this program from the beginning, leave out `--resume`",
            Policy::Inference | Policy::Available => {
                "or train this program (`rml train` with `--save FILE`), and give the file of that training"
            }
        })
    }

    /// Adds labels for the lines of the program that have other parameters than the checkpoint.
    fn labelled(&self, mut d: Diagnostic, program: &Program) -> Diagnostic {
        let mut seen = Vec::new();
        let other = self.other.iter().filter(|(_, _, _, parameter)| *parameter);
        let other = other.map(|(key, ty, value, _)| {
            let text = format!("`{key}` is {ty} here, and {} in the checkpoint", value.ty());
            (place(program, key), text)
        });
        // Paths that differ, differ from the first name on.
        let outermost = |key: &str| program.call(key.split('.').next().unwrap_or_default());
        let missing = self
            .missing
            .iter()
            .map(|(key, _)| (outermost(key).or_else(|| place(program, key)), format!("has `{key}`")));
        for (at, text) in other.chain(missing) {
            let Some(at) = at.filter(|at| !seen.contains(at)) else { continue };
            seen.push(at);
            if seen.len() > LABELLED {
                break;
            }
            d = d.label(at, text);
        }
        d
    }

    /// Whether only states other than parameters differ, and only in their number of rows.
    fn is_about_rows(&self) -> bool {
        let rows = |(_, ty, value, parameter): &(&Arc<str>, &Type, &Value, bool)| {
            let (here, there) = (ty.shape.dims().len(), value.shape().dims().len());
            !parameter && value.dtype() == ty.dtype && here == there
        };
        self.missing.is_empty() && self.unexpected.is_empty() && self.other.iter().all(rows)
    }
}

/// The most lines of a program that are shown.
const LABELLED: usize = 3;

/// The place where the program creates a state, or calls the node that does.
fn place(program: &Program, key: &str) -> Option<Span> {
    let flat = program.flat();
    let own = || flat.states.get(key).map(|state| flat.equations[state.equation].span);
    program.call(around(key)).or_else(own)
}

/// Advice about paths that differ in these parts, in the checkpoint and in the program.
fn renamed_by(program: &Program, (there, here): (&str, &str)) -> String {
    let node = program.node();
    match here {
        "" => format!(
            "the checkpoint has parameters of {node} under `{there}`, but not all of them: use the program that it was made with"
        ),
        here if there.is_empty() => format!(
            "{node} has these parameters inside of `{here}`, and the training has them without it: call the same node in both, either itself or by way of the other one"
        ),
        here => format!(
            "a path is made of the names of nodes and variables: `{there}` in the checkpoint is `{here}` here; use the same name, or convert the checkpoint (`rml params import`)"
        ),
    }
}

/// The differences in how the checkpoint was made.
fn made_with(before: &TrainingPosition, program: &Program) -> String {
    let mut with = Vec::new();
    if before.origin.program != fingerprint::program(program.sources()) {
        with.push("another version of the program".to_owned());
    }
    if before.setup.double != (program.precision() == Precision::F64) {
        with.push(
            if before.setup.double { "`--f64`" } else { "single precision (without `--f64`)" }.to_owned(),
        );
    }
    let set = before.set.iter().flatten();
    with.extend(set.map(|(name, value)| format!("`--set {name}={value}`")));
    if with.is_empty() {
        return format!(
            "the program is the one that the checkpoint was made with, by node {}: its node {} has other parameters, or another batch",
            before.setup.node,
            program.node()
        );
    }
    format!("the checkpoint was made with {}", with.join(", "))
}

/// The state of the checkpoint that a missing parameter probably corresponds to: unused by the program, of the same
/// type, and with the most names of the path in common, from its end and then from its beginning.
fn near<'c>(checkpoint: &'c Checkpoint, program: &Program, key: &str, ty: &Type) -> Option<&'c Arc<str>> {
    let states = &program.flat().states;
    let free =
        checkpoint.states.iter().filter(|(there, value)| !states.contains_key(*there) && value.ty() == *ty);
    let common = |there: &str| {
        let ends = there.rsplit('.').zip(key.rsplit('.')).take_while(|(a, b)| a == b).count();
        let begins = there.split('.').zip(key.split('.')).take_while(|(a, b)| a == b).count();
        (ends, begins)
    };
    let best = free.map(|(there, _)| (common(there), there)).max_by_key(|(common, _)| *common);
    best.filter(|((ends, begins), _)| ends + begins > 0).map(|(_, there)| there)
}

/// The parts of two paths that differ.
fn apart<'p>(there: &'p str, here: &'p str) -> (&'p str, &'p str) {
    let ends = there.rsplit('.').zip(here.rsplit('.')).take_while(|(a, b)| a == b);
    let end = ends.map(|(name, _)| name.len() + 1).sum::<usize>();
    let part = |path: &'p str| &path[..path.len().saturating_sub(end)];
    let (there, here) = (part(there), part(here));
    let begins = there.split('.').zip(here.split('.')).take_while(|(a, b)| a == b);
    let begin = begins.map(|(name, _)| name.len() + 1).sum::<usize>();
    (there.get(begin..).unwrap_or_default(), here.get(begin..).unwrap_or_default())
}
