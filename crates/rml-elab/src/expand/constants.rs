//! The values of constants.

use std::cell::Cell;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::typed::StaticValue;
use rml_syntax::ast::DefinitionForm;

use super::early::{Early, Evaluator, Why};
use crate::hir::{ExprId, Local, LocalKind, Node, SourceId};
use crate::lower::ordered;
use crate::options::Options;
use crate::report::Report;
use crate::scope::Program;

/// Evaluates all constants. A constant that the options set has that value, unless the root has a parameter with its
/// name.
pub(super) fn evaluate(
    program: &Program,
    options: &Options,
    root: Option<SourceId>,
    report: &mut Report,
) -> IndexMap<SourceId, Early<StaticValue>> {
    let mut values = set(program, options, root);
    let uses = |id: SourceId| uses(&program.nodes[id]);
    let (order, cycles) = ordered(program.scopes.constants.iter().copied(), &uses);
    for cycle in cycles {
        let name = &program.nodes[cycle.callee].name;
        report.push(
            Diagnostic::error(codes::STATIC_CYCLE, format!("the constant `{name}` depends on itself"))
                .label(program.nodes[cycle.callee].name_span, "this constant")
                .label(cycle.span, "used again here"),
        );
    }
    for id in order {
        if values.contains_key(&id) {
            continue;
        }
        let node = &program.nodes[id];
        let read = |local: Local, span: Span| match node.locals[local].kind {
            LocalKind::Constant(other) => values.get(&other).cloned().unwrap_or(Err(Why::Unknown)),
            _ => Err(Why::Stream(span)),
        };
        let evaluator = Evaluator { node, read: &read, steps: Cell::new(0) };
        let value = node.equations.first().map_or(Err(Why::Unknown), |equation| evaluator.eval(equation.rhs));
        match &value {
            Err(Why::Stream(span)) => report.push(no_constant(node, *span)),
            Err(Why::Bad(d)) => report.push((**d).clone()),
            Ok(_) | Err(Why::Unknown) => {}
        }
        values.insert(id, value);
    }
    values
}

/// The values of the constants that the options set.
fn set(
    program: &Program,
    options: &Options,
    root: Option<SourceId>,
) -> IndexMap<SourceId, Early<StaticValue>> {
    let hidden = |name: &str| root.is_some_and(|root| is_parameter(&program.nodes[root], name));
    let mut values = IndexMap::new();
    for (name, value) in options.set.iter().chain(&options.defaults).filter(|(name, _)| !hidden(name)) {
        let constant = program.scopes.constant(program.main, name);
        if let Some(id) = constant.filter(|id| program.nodes[*id].form == DefinitionForm::Constant) {
            values.entry(id).or_insert_with(|| Ok(value.clone()));
        }
    }
    values
}

/// Whether a node has a parameter or dimension with that name, which hides a constant.
fn is_parameter(node: &Node, name: &str) -> bool {
    let named = node.locals.iter().filter(|data| *data.name == *name);
    named.into_iter().any(|data| matches!(data.kind, LocalKind::Formal | LocalKind::Dim))
}

/// The constants that a constant uses.
fn uses(node: &Node) -> Vec<(SourceId, Span, ExprId)> {
    let used = node.locals.iter().filter_map(|data| match data.kind {
        LocalKind::Constant(id) => Some((id, data.span, ExprId(0))),
        _ => None,
    });
    used.collect()
}

fn no_constant(node: &Node, span: Span) -> Diagnostic {
    let name = &node.name;
    Diagnostic::error(codes::NOT_STATIC, format!("the value of the constant `{name}` is not static"))
        .label(span, "this is computed while the program runs")
        .note("expected literals, other constants, arrays and arithmetic on them")
        .help(format!("an equation of a node defines a stream: `{name} = ..;`"))
}
