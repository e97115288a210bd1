//! Values under other shapes, with axes of length 1 more or fewer.

use rml_ir::Shape;
use rml_ir::op::Op;

use super::{Builder, Const, Held, Origin, Val};
use crate::program::Rhs;
use crate::refuse::{Refusal, Res};
use crate::tensor::reshaped;

impl Builder<'_> {
    /// The same elements, row-major, under another shape. Where only axes of length 1 come or go, the order of axes
    /// stays as it is.
    ///
    /// # Errors
    /// There are not as many elements.
    pub(crate) fn reshape(&mut self, val: &Val, dims: &[usize]) -> Res<Val> {
        let from = val.dims();
        if from == dims {
            return Ok(val.clone());
        }
        if Shape::new(dims).checked_len() != val.shape().checked_len() {
            let what = format!("{} elements are to be arranged as {}", val.len(), Shape::new(dims));
            return Err(Refusal::malformed(what));
        }
        if let Held::Const(k) = &val.held {
            let origin = k.origin.as_ref().and_then(|o| same_axes(&from, dims).map(|axes| renamed(o, &axes)));
            let value = reshaped(k.value.clone(), dims);
            let kept = origin.is_some() || k.origin.is_none();
            if kept {
                return Ok(Val { elem: val.elem, held: Held::Const(Const { value, origin }) });
            }
        }
        if val.order().is_some()
            && let Some(axes) = same_axes(&from, dims)
        {
            return self.under_ones(val, &axes);
        }
        let whole = self.before_reshape(val);
        if whole.dims() == dims {
            return Ok(whole);
        }
        self.apply(Op::Reshape { shape: Shape::new(dims) }, &[&whole], val.elem)
    }

    /// One number for each entry of an axis, against values of `rank` axes.
    pub(crate) fn against(&mut self, line: &Val, axis: usize, rank: usize) -> Res<Val> {
        let mut dims = vec![1; rank.saturating_sub(axis).max(1)];
        dims[0] = line.len();
        self.reshape(line, &dims)
    }

    /// What a value is a reshaped form of.
    fn before_reshape(&self, val: &Val) -> Val {
        if let (Held::View(view), None, Some(frame)) = (&val.held, val.order(), self.frames.last())
            && let Some(equation) = frame.node.equations.iter().rev().take(4).find(|e| e.lhs == [view.var])
            && let Rhs::Apply(Op::Reshape { .. }, args) = &equation.rhs
            && let [of] = args.as_slice()
        {
            return Val::variable(val.elem, *of, frame.node.ty(*of).clone());
        }
        val.clone()
    }

    /// Drops and adds axes of length 1 of a transposed variable: for each axis of the result that of the value, or
    /// `None` for a new one.
    fn under_ones(&mut self, val: &Val, axes: &[Option<usize>]) -> Res<Val> {
        let (base, order) = self.base(val);
        let dims = base.dims();
        let kept: Vec<usize> = axes.iter().flatten().map(|&i| order[i]).collect();
        let mut base_axes: Vec<usize> = kept.clone();
        base_axes.sort_unstable();
        let new = axes.len() - kept.len();
        let shape: Vec<usize> =
            std::iter::repeat_n(1, new).chain(base_axes.iter().map(|&a| dims[a])).collect();
        let result = if shape == dims {
            base
        } else {
            self.apply(Op::Reshape { shape: Shape::new(&shape) }, &[&base], val.elem)?
        };
        let mut fresh = 0..new;
        let perm: Vec<usize> = axes
            .iter()
            .map(|axis| match axis {
                Some(i) => new + base_axes.iter().position(|a| *a == order[*i]).unwrap_or(0),
                None => fresh.next().unwrap_or(0),
            })
            .collect();
        self.transpose(&result, &perm)
    }
}

/// For each dimension of `to` the axis of `from` that it is, or `None` for a new one of length 1, if only such ones
/// come and go.
fn same_axes(from: &[usize], to: &[usize]) -> Option<Vec<Option<usize>>> {
    let mut left = from.iter().enumerate().filter(|(_, d)| **d != 1);
    let axes: Option<Vec<Option<usize>>> = to
        .iter()
        .map(|&d| match d {
            1 => Some(None),
            _ => left.next().filter(|(_, f)| **f == d).map(|(i, _)| Some(i)),
        })
        .collect();
    left.next().is_none().then_some(axes)?
}

fn renamed(origin: &Origin, axes: &[Option<usize>]) -> Origin {
    Origin {
        weight: origin.weight,
        axes: axes.iter().map(|axis| axis.and_then(|i| origin.axes[i])).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::same_axes;

    #[test]
    fn axes_of_length_one_come_and_go() {
        assert_eq!(same_axes(&[2, 1, 3], &[1, 2, 3]), Some(vec![None, Some(0), Some(2)]));
        assert_eq!(same_axes(&[2, 1], &[2]), Some(vec![Some(0)]));
        assert_eq!(same_axes(&[2, 3], &[3, 2]), None);
        assert_eq!(same_axes(&[2, 3], &[6]), None);
        assert_eq!(same_axes(&[2, 3], &[2]), None);
    }
}
