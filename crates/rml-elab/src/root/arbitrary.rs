//! Errors of a node that do not depend on the values given by its callers: those that are the same for two arbitrary
//! choices of values.

use rml_base::{Diagnostic, Diagnostics};
use rml_ir::typed::StaticValue;

use super::{dimension, module, named_dimensions, spec};
use crate::hir::{LocalKind, Node, SourceId};
use crate::instance::{RootGiven, RootSpec};
use crate::options::Options;
use crate::report::Report;
use crate::scope::Program;

/// The errors of a node that depend neither on the values of its static parameters and dimensions, nor on the shapes of
/// its inputs without types.
pub(super) fn errors(program: &Program, source: SourceId, options: &Options) -> Diagnostics {
    let node = &program.nodes[source];
    let found = [0, 1].map(|choice| {
        let mut spec = spec(program, source, options, &mut Report::default());
        choose(program, node, &mut spec, choice);
        let mut report = Report::default();
        module(program, spec, options, &mut report);
        report.finish()
    });
    let [first, second] = found;
    // A message without a shape may be the same for all choices although it depends on the choice.
    let is_definite = |d: &&Diagnostic| d.is_error() && texts(d).any(|text| text.contains('['));
    let is_same = |d: &&Diagnostic| second.iter().any(|other| same(d, other));
    let common = first.iter().filter(is_definite).filter(is_same).cloned();
    let open = open_names(node, options);
    let note = |d: Diagnostic| d.note(format!("this happens for every single value of {open}"));
    Diagnostics(common.map(note).collect())
}

fn texts(d: &Diagnostic) -> impl Iterator<Item = &String> {
    d.labels.iter().map(|l| &l.message).chain(&d.notes).chain([&d.message])
}

fn same(a: &Diagnostic, b: &Diagnostic) -> bool {
    a.code == b.code && a.span() == b.span() && texts(a).eq(texts(b))
}

/// Gives a value to each static parameter that has none. All numbers are different, within a choice and between the two
/// choices. An input without a type is a scalar in the first choice and an array with one element in the second.
fn choose(program: &Program, node: &Node, spec: &mut RootSpec, choice: usize) {
    const PRIMES: [[i64; 6]; 2] = [[5, 7, 11, 13, 17, 19], [23, 29, 31, 37, 41, 43]];
    let mut numbers = PRIMES[choice].iter().cycle().map(|prime| StaticValue::Int(*prime));
    let mut next = || numbers.next().unwrap_or(StaticValue::Int(2));
    for (given, formal) in spec.givens.iter_mut().zip(&node.formals) {
        match given {
            RootGiven::Open => *given = RootGiven::Static(next()),
            RootGiven::Input(None) if choice == 1 && !node.is_typed(*formal) => {
                *given = RootGiven::Static(StaticValue::Array(vec![StaticValue::Int(1)]));
            }
            _ => {}
        }
    }
    for (name, span, spliced) in named_dimensions(program, node) {
        if !spec.dims.contains_key(&name)
            && let Some(value) =
                dimension(node, (&name, span, spliced), Some(&next()), &mut Report::default())
        {
            spec.dims.insert(name, value);
        }
    }
    spec.open = false;
}

/// The names that have no value or type, for a message: "`n` or `rate`".
fn open_names(node: &Node, options: &Options) -> String {
    let given = |name: &str| options.set.contains_key(name) || options.defaults.contains_key(name);
    let formals = node.formals.iter().filter(|l| !node.is_typed(**l)).map(|l| node.name_of(*l));
    let dims = node.locals.iter().filter(|data| data.kind == LocalKind::Dim).map(|data| &data.name);
    let open = formals.chain(dims).filter(|name| !given(name)).map(|name| format!("`{name}`"));
    open.collect::<Vec<_>>().join(" or ")
}
