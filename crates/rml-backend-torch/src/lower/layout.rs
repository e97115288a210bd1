//! Operators that move, repeat or pick elements. They return views of their operands where possible.

use rml_ir::Shape;
use rml_ir::op::AxisIndex;
use tch::{Kind, TchError, Tensor};

use crate::ffi::Shared;
use crate::kernel::{Context, Kernel, dim, dims, one};

/// Permutes axes.
pub(super) fn transpose(perm: &[usize]) -> Kernel {
    let perm = dims(perm);
    one(move |x| x.f_permute(&perm))
}

/// The same elements in the result's shape.
pub(super) fn reshape(cx: &Context<'_>) -> Kernel {
    let size = cx.size();
    one(move |x| x.f_reshape(&size))
}

/// Repeats the operand to the result's shape.
pub(super) fn broadcast(cx: &Context<'_>) -> Kernel {
    let size = cx.size();
    one(move |x| x.f_expand(&size, false))
}

/// Joins operands along an axis.
pub(super) fn concat(axis: usize) -> Kernel {
    let axis = dim(axis);
    Box::new(move |x, _| Tensor::f_cat(x, axis))
}

/// Stacks operands along a new axis.
pub(super) fn stack(axis: usize) -> Kernel {
    let axis = dim(axis);
    Box::new(move |x, _| Tensor::f_stack(x, axis))
}

/// One step of an index, on an axis of the result of the previous steps.
#[derive(Clone, Copy)]
enum Cut {
    /// Selects a position and drops the axis.
    At { axis: i64, position: i64 },
    /// Selects positions a step apart, in ascending order.
    Slice { axis: i64, start: i64, end: i64, step: i64 },
}

/// An index: the steps to apply in order, and the axes of the result to reverse.
struct Cuts {
    cuts: Vec<Cut>,
    backwards: Vec<i64>,
}

impl Cuts {
    /// An index of an operand with this shape.
    fn new(items: &[AxisIndex], shape: &Shape) -> Cuts {
        let mut new = Cuts { cuts: Vec::new(), backwards: Vec::new() };
        let mut axis = 0;
        for (item, &size) in items.iter().zip(shape.dims()) {
            match *item {
                _ if *item == AxisIndex::whole(size) => {}
                AxisIndex::At(i) => {
                    new.cuts.push(Cut::At { axis, position: dim(i) });
                    continue;
                }
                AxisIndex::Slice { len: 0, .. } => {
                    new.cuts.push(Cut::Slice { axis, start: 0, end: 0, step: 1 })
                }
                AxisIndex::Slice { len, step, .. } => {
                    let ends = || item.positions();
                    let (first, last) = (ends().next().unwrap_or(0), ends().nth(len - 1).unwrap_or(0));
                    let (start, end) = (dim(first.min(last)), dim(first.max(last)) + 1);
                    new.cuts.push(Cut::Slice { axis, start, end, step: dim(step.unsigned_abs()) });
                    if step < 0 {
                        new.backwards.push(axis);
                    }
                }
            }
            axis += 1;
        }
        new
    }

    /// The selected part of `x`, as a view, with every axis ascending.
    fn view(&self, x: &Tensor) -> Result<Tensor, TchError> {
        self.cuts.iter().try_fold(x.shallow_clone(), |x, cut| match *cut {
            Cut::At { axis, position } => x.f_select(axis, position),
            Cut::Slice { axis, start, end, step } => x.f_slice(axis, start, end, step),
        })
    }

    /// Reverses the axes that are selected backward.
    fn turned(&self, x: Tensor) -> Result<Tensor, TchError> {
        if self.backwards.is_empty() { Ok(x) } else { x.f_flip(&self.backwards) }
    }
}

/// Indexing and slicing.
pub(super) fn index(items: &[AxisIndex], cx: &Context<'_>) -> Kernel {
    let cuts = Cuts::new(items, &cx.args[0].shape);
    one(move |x| cuts.turned(cuts.view(x)?))
}

/// Zeros with the operand at the places that `items` selects.
pub(super) fn unindex(items: &[AxisIndex], cx: &Context<'_>) -> Kernel {
    let cuts = Cuts::new(items, &cx.ty.shape);
    let (size, options) = (cx.size(), cx.options());
    one(move |x| {
        let out = Tensor::f_zeros(&size, options)?;
        cuts.view(&out)?.f_copy_(&cuts.turned(x.shallow_clone())?)?;
        Ok(out)
    })
}

/// Rows of zeros with a 1 at the operand's position, if it is within the row.
pub(super) fn one_hot(classes: usize, cx: &Context<'_>) -> Result<Kernel, TchError> {
    let columns = Shared::new(Tensor::f_arange(dim(classes), (Kind::Int64, cx.device))?);
    let (kind, _) = cx.options();
    Ok(one(move |x| x.f_unsqueeze(-1)?.f_eq_tensor(columns.get())?.f_totype(kind)))
}
