//! The types of values in nests, and what may fail (N5, N8).

use rml_base::IndexVec;
use rml_ir::op::result_type;
use rml_ir::{DType, Shape, Type};

use crate::{Call, Def, Fold, Nest, NestProgram, Operand, Val, Work};

/// The type of each value of a nest.
///
/// # Errors
/// A violation of N5.
pub fn dtypes(program: &NestProgram, nest: &Nest) -> Result<IndexVec<Val, DType>, String> {
    let mut types: IndexVec<Val, DType> = IndexVec::new();
    for (id, def) in nest.body.iter_enumerated() {
        let of = |val: &Val| {
            types.get(*val).copied().ok_or_else(|| format!("{id} reads {val}, which is not earlier"))
        };
        let dtype = match def {
            Def::Load(source) => {
                element(program, source).ok_or_else(|| format!("{id} loads several types"))?
            }
            Def::Take { source, at, .. } => {
                let dtype = element(program, source).ok_or_else(|| format!("{id} takes several types"))?;
                if of(at)? == DType::Int {
                    dtype
                } else {
                    return Err(format!("{id} takes elements by {at}, which is no int"));
                }
            }
            Def::Apply(op, args) => {
                let args =
                    args.iter().map(|arg| Ok(Type::scalar(of(arg)?))).collect::<Result<Vec<_>, String>>()?;
                match result_type(op, &args) {
                    Ok(ty) if ty.shape.is_scalar() && op.is_pointwise() => ty.dtype,
                    Ok(_) => return Err(format!("{id} is `{op}`, which is not pointwise")),
                    Err(why) => return Err(format!("{id}: {op}: {why:?}")),
                }
            }
            Def::Fold(fold, dim, val) => {
                if dim.0 as usize >= nest.dims.len() {
                    return Err(format!("{id} folds {dim}, which the nest does not have"));
                }
                let of = of(val)?;
                fold.result(of).ok_or_else(|| format!("{id} folds {of:?} by `{}`", fold.name()))?
            }
            Def::Chain { dim, .. } => {
                if dim.0 as usize >= nest.dims.len() {
                    return Err(format!("{id} folds {dim}, which the nest does not have"));
                }
                for val in def.operands() {
                    if of(&val)? != DType::Num {
                        return Err(format!("the chain {id} is of {val}, which is no num"));
                    }
                }
                DType::Num
            }
        };
        types.push(dtype);
    }
    let spans = nest.spans();
    for (id, def) in nest.body.iter_enumerated() {
        if let Def::Chain { dim, start: Some(start), .. } = def
            && spans[*start].contains(dim)
        {
            return Err(format!("the chain {id} starts from {start}, which depends on {dim}"));
        }
    }
    Ok(types)
}

/// The type of the elements of all variants.
fn element(program: &NestProgram, source: &crate::Variants) -> Option<DType> {
    let mut types = source.iter().map(|variant| program.slots[variant.access.slot].ty.dtype);
    let first = types.next()?;
    types.all(|other| other == first).then_some(first)
}

/// The type of a tensor that is read.
pub(super) fn operand(program: &NestProgram, operand: &Operand) -> Option<Type> {
    element(program, &operand.source).map(|dtype| Type { dtype, shape: Shape::new(&operand.dims) })
}

/// Whether a stage may fail.
pub(crate) fn may_fail(program: &NestProgram, work: &Work) -> bool {
    match work {
        Work::Nest(nest) => {
            let Ok(types) = dtypes(program, nest) else { return false };
            nest.body.iter().any(|def| match def {
                Def::Load(_) | Def::Chain { .. } => false,
                Def::Take { .. } => true,
                Def::Apply(op, args) => op.may_fail(args.iter().map(|arg| types[*arg])),
                Def::Fold(fold, ..) => *fold == Fold::Serial,
            })
        }
        Work::Call(Call { op, operands, .. }) => {
            let types = operands.iter().filter_map(|o| element(program, &o.source));
            op.may_fail(types)
        }
    }
}
