//! From a root and the values of its formals to typed nodes: instances, types, shapes.

use rml_base::Diagnostic;
use rml_base::codes::elab as codes;
use rml_ir::typed::NodeId;

use crate::emit::{self, Builder};
use crate::expand::Expansion;
use crate::infer;
use crate::instance::{RootSpec, Tree};
use crate::report::Report;
use crate::statics::Failure;
use crate::typed::Typed;

/// Adds the nodes of the tree of instances under a root.
pub(crate) fn instantiate(
    expansion: &mut Expansion<'_>,
    spec: RootSpec,
    builder: &mut Builder,
    report: &mut Report,
) -> Option<NodeId> {
    let before = report.errors();
    let spec = expansion.root(spec, report)?;
    let program = &expansion.program;
    let span = program.nodes[spec.source].span;
    let tree = Tree::build(program, spec, report);
    if tree.truncated {
        return None;
    }
    let mut typed = infer::infer(tree, report);
    typed.inexact_literals(builder.precision, report);
    let made = emit::emit(&mut typed, &|id| expansion.written(id), builder, report);
    if made.is_none() && report.errors() == before && !typed.in_error {
        if let Some(bad) = declared_in_error(&typed) {
            report.push(bad);
            return None;
        }
        report.push(
            Diagnostic::error(codes::SHAPE_MISMATCH, "the shapes of this program cannot be inferred")
                .label(span, "some shape here depends on nothing known")
                .help("declare the types of the inputs: `x: num [8]`"),
        );
    }
    made
}

/// The error in the shape of a declaration that cannot be used, such as one with too many elements.
fn declared_in_error(typed: &Typed<'_>) -> Option<Diagnostic> {
    typed.tree.instances.ids().find_map(|id| {
        let declared = typed.tree.node(id).locals.iter().flat_map(|local| &local.types);
        declared.filter_map(|ty| typed.statics.declared(&typed.tree, &typed.shapes, id, ty).err()).find_map(
            |failure| match failure {
                Failure::Bad(d) => Some(*d),
                Failure::Unknown => None,
            },
        )
    })
}
