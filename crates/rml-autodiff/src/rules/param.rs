//! Parameters: `param(k)` becomes `diff_param(k, bp, d)` (ADJ-11).

use rml_base::{Diagnostic, codes};
use rml_ir::Type;
use rml_ir::normal::{Eq, Module, Rhs, Var};
use rml_ir::op::{Binary, Op};

use crate::build::Builder;

/// Replaces a parameter that has a gradient by a trained one. A parameter that is already trained, in second
/// derivatives, gets the sum of both updates. The effect of the first update on later values is not differentiated,
/// because parameters are leaves.
pub(crate) fn train(b: &mut Builder, module: &Module, id: Eq) -> Result<(), Diagnostic> {
    let eq = b.node.equations[id].clone();
    b.span = eq.span;
    let Some(&p) = eq.lhs.first() else { return Ok(()) };
    let (Some(&slot), Some(&d)) = (b.slots.get(&p), b.gradients.get(&p)) else { return Ok(()) };
    let bp = b.condition(slot);
    let rhs = match eq.rhs {
        Rhs::Param { init, by } => {
            let ty = b.ty(p);
            let Some(&optimiser) = module.optimisers.get(&(by, ty.clone())) else {
                return Err(Diagnostic::error(
                    codes::autodiff::NO_OPTIMISER,
                    format!("no node `diff_param` updates parameters of type `{ty}`"),
                )
                .label(eq.span, "this parameter is to be trained")
                .help("define `node diff_param(init, bp, do) -> (o)`, for example by an optimiser of the library"));
            };
            Rhs::ParamUpdate { init, bp, d, optimiser, instance: None }
        }
        Rhs::ParamUpdate { init, bp: first, d: update, optimiser, instance } => {
            let either = b.either(first, bp);
            let any = b.emit(Type::condition(), either);
            let parts = [(first, update), (bp, d)].map(|(bp, d)| {
                let here = b.when(bp, any);
                b.pad(here, d)
            });
            let d = b.apply(Op::Binary(Binary::Add), &parts);
            Rhs::ParamUpdate { init, bp: any, d, optimiser, instance }
        }
        _ => return Ok(()),
    };
    b.node.equations[id].rhs = rhs;
    Ok(())
}

/// Replaces a call of the program's own `param` by a trained parameter.
pub(crate) fn train_own(b: &mut Builder, id: Eq, optimiser: rml_ir::normal::NodeId, bp: Var, d: Var) {
    let Rhs::Call { args, .. } = &b.node.equations[id].rhs else { return };
    let Some(&init) = args.first() else { return };
    b.node.equations[id].rhs = Rhs::ParamUpdate { init, bp, d, optimiser, instance: None };
}
