//! Inference over the tree of instances: element types by unification ([`dtype`]), then shapes as a least fixpoint
//! ([`shape`]).

pub(crate) mod adjoint;
mod dtype;
mod feedback;
mod flow;
mod hint;
mod independent;
mod shape;

use crate::instance::Tree;
use crate::report::Report;
use crate::statics::Statics;
use crate::typed::Typed;

pub(crate) use independent::independent;

/// Infers all types.
pub(crate) fn infer<'p>(tree: Tree<'p>, report: &mut Report) -> Typed<'p> {
    let before = report.errors();
    let dtypes = dtype::infer(&tree, report);
    let in_error =
        tree.program.in_error || tree.in_error || report.errors() > before || dtypes.lost.contains(&true);
    let statics = Statics::new(&tree, dtypes.nums, &dtypes.of);
    let shapes = vec![None; tree.slots];
    let mut typed = Typed {
        tree,
        dtypes: dtypes.of,
        enumerations: dtypes.enumerations,
        shapes,
        statics,
        adjoints: dtypes.adjoints,
        lost: dtypes.lost,
        in_error,
        broken: dtypes.broken,
        bad: Vec::new(),
        params: indexmap::IndexMap::new(),
    };
    shape::infer(&mut typed, report);
    typed
}
