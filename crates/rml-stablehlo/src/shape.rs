//! Operations that all families use: reshaping, conversion, comparison and selection.

use rml_ir::Shape;
use rml_ir::op::Compare;

use super::product;
use super::text::{Elem, Ssa, Text, Ty, array};

/// StableHLO's name of a comparison.
const fn direction(how: Compare) -> &'static str {
    match how {
        Compare::Eq => "EQ",
        Compare::Ne => "NE",
        Compare::Lt => "LT",
        Compare::Le => "LE",
        Compare::Gt => "GT",
        Compare::Ge => "GE",
    }
}

impl Text {
    /// The same elements, row-major, with another shape.
    pub(crate) fn reshape(&mut self, x: &Ssa, dims: &[usize]) -> Ssa {
        if x.dims() == dims {
            return x.clone();
        }
        self.op("reshape", &[x], Ty::new(x.ty.elem, dims))
    }

    /// `x` with its axes mapped to the axes `axes` of the result.
    pub(crate) fn broadcast_in(&mut self, x: &Ssa, axes: &[usize], dims: &[usize]) -> Ssa {
        let attributes = format!("broadcast_dimensions = {}", array(axes));
        self.op_attr("broadcast_in_dim", &[x], &attributes, Ty::new(x.ty.elem, dims))
    }

    /// `x` repeated to a larger shape by NumPy's rule.
    pub(crate) fn broadcast(&mut self, x: &Ssa, shape: &Shape) -> Ssa {
        if x.ty.shape == *shape {
            return x.clone();
        }
        let missing = shape.rank() - x.ty.shape.rank();
        let axes: Vec<usize> = (missing..shape.rank()).collect();
        self.broadcast_in(x, &axes, shape.dims())
    }

    /// Axes in another order: axis `i` of the result is axis `perm[i]` of `x`.
    pub(crate) fn transpose(&mut self, x: &Ssa, perm: &[usize]) -> Ssa {
        if perm.iter().copied().eq(0..perm.len()) {
            return x.clone();
        }
        let dims: Vec<usize> = perm.iter().map(|&i| x.dims()[i]).collect();
        self.op_attr("transpose", &[x], &format!("permutation = {}", array(perm)), Ty::new(x.ty.elem, &dims))
    }

    /// The elements from `starts` to `limits` (exclusive), `strides` apart.
    pub(crate) fn slice(&mut self, x: &Ssa, starts: &[usize], limits: &[usize], strides: &[usize]) -> Ssa {
        let dims: Vec<usize> =
            starts.iter().zip(limits).zip(strides).map(|((s, l), step)| (l - s).div_ceil(*step)).collect();
        if dims == x.dims() {
            return x.clone();
        }
        let attributes = format!(
            "start_indices = {}, limit_indices = {}, strides = {}",
            array(starts),
            array(limits),
            array(strides)
        );
        self.op_attr("slice", &[x], &attributes, Ty::new(x.ty.elem, &dims))
    }

    /// The elements `start`, `start + stride`, .. along one axis, `len` of them.
    pub(crate) fn slice_axis(
        &mut self,
        x: &Ssa,
        axis: usize,
        start: usize,
        len: usize,
        stride: usize,
    ) -> Ssa {
        let mut starts = vec![0; x.dims().len()];
        let mut limits = x.dims().to_vec();
        let mut strides = vec![1; x.dims().len()];
        (starts[axis], limits[axis], strides[axis]) = (start, start + (len - 1) * stride + 1, stride);
        self.slice(x, &starts, &limits, &strides)
    }

    /// `x` padded with `fill` by `pad = (low, high, interior)` elements on each axis; negative edges cut elements off.
    pub(crate) fn pad(&mut self, x: &Ssa, fill: f64, pads: &[(i64, i64, i64)]) -> Ssa {
        if pads.iter().all(|p| *p == (0, 0, 0)) {
            return x.clone();
        }
        let fill = self.splat(fill, &Ty::scalar(x.ty.elem));
        let dims: Vec<usize> = x.dims().iter().zip(pads).map(|(&d, p)| padded(d, *p)).collect();
        let attributes = format!(
            "edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}",
            array(pads.iter().map(|p| p.0)),
            array(pads.iter().map(|p| p.1)),
            array(pads.iter().map(|p| p.2))
        );
        self.op_attr("pad", &[x, &fill], &attributes, Ty::new(x.ty.elem, &dims))
    }

    /// Joins at least one operand along an axis.
    pub(crate) fn concat(&mut self, parts: &[Ssa], axis: usize) -> Ssa {
        if let [part] = parts {
            return part.clone();
        }
        let mut dims = parts[0].dims().to_vec();
        dims[axis] = parts.iter().map(|p| p.dims()[axis]).sum();
        let args: Vec<&Ssa> = parts.iter().collect();
        self.op_attr(
            "concatenate",
            &args,
            &format!("dimension = {axis} : i64"),
            Ty::new(parts[0].ty.elem, &dims),
        )
    }

    /// Reverses axes.
    pub(crate) fn reverse(&mut self, x: &Ssa, axes: &[usize]) -> Ssa {
        if axes.is_empty() {
            return x.clone();
        }
        self.op_attr("reverse", &[x], &format!("dimensions = {}", array(axes)), x.ty.clone())
    }

    /// Positions along an axis.
    pub(crate) fn iota(&mut self, ty: &Ty, axis: usize) -> Ssa {
        self.op_attr("iota", &[], &format!("iota_dimension = {axis} : i64"), ty.clone())
    }

    /// Converts elements to another type.
    pub(crate) fn convert(&mut self, x: &Ssa, elem: Elem) -> Ssa {
        if x.ty.elem == elem { x.clone() } else { self.op("convert", &[x], x.ty.with(elem)) }
    }

    /// An operation with two operands and a result of the same type.
    pub(crate) fn zip(&mut self, name: &str, a: &Ssa, b: &Ssa) -> Ssa {
        self.op(name, &[a, b], a.ty.clone())
    }

    /// An operation with one operand and a result of the same type.
    pub(crate) fn map(&mut self, name: &str, x: &Ssa) -> Ssa {
        self.op(name, &[x], x.ty.clone())
    }

    /// Compares element by element.
    pub(crate) fn compare(&mut self, how: Compare, a: &Ssa, b: &Ssa) -> Ssa {
        let attributes =
            format!("comparison_direction = #stablehlo<comparison_direction {}>", direction(how));
        self.op_attr("compare", &[a, b], &attributes, a.ty.with(Elem::I1))
    }

    /// Compares with a number.
    pub(crate) fn compare_to(&mut self, how: Compare, a: &Ssa, b: f64) -> Ssa {
        let b = self.splat(b, &a.ty);
        self.compare(how, a, &b)
    }

    /// `a` where the condition is true, else `b`.
    pub(crate) fn select(&mut self, cond: &Ssa, a: &Ssa, b: &Ssa) -> Ssa {
        self.op("select", &[cond, a, b], a.ty.clone())
    }

    /// Reduces axes, which are dropped, by an operation with the neutral element `init`.
    pub(crate) fn reduce(&mut self, name: &str, x: &Ssa, init: &Ssa, axes: &[usize]) -> Ssa {
        if axes.is_empty() {
            return x.clone();
        }
        let scalar = Ty::scalar(x.ty.elem);
        let region = self.region(&[scalar.clone(), scalar], |t, p| vec![t.zip(name, &p[0], &p[1])]);
        let kept: Vec<usize> =
            (0..x.dims().len()).filter(|i| !axes.contains(i)).map(|i| x.dims()[i]).collect();
        let attributes = format!("dimensions = {}", array(axes));
        self.op_with("reduce", &[x, init], &region, &attributes, Ty::new(x.ty.elem, &kept))
    }

    /// Sums over axes, which are dropped. A sum of many rows is written as a sum with weights of one, which compilers
    /// compute faster.
    pub(crate) fn sum(&mut self, x: &Ssa, axes: &[usize]) -> Ssa {
        let dims: Vec<usize> = axes.iter().map(|&i| x.dims()[i]).collect();
        if x.ty.elem.is_float()
            && axes.iter().copied().eq(0..axes.len())
            && product::is_worth_it(dims.iter().product(), x)
        {
            let ones = self.splat(1.0, &Ty::new(x.ty.elem, &dims));
            return product::weighted(self, &ones, x, axes);
        }
        let zero = self.splat(0.0, &Ty::scalar(x.ty.elem));
        self.reduce("add", x, &zero, axes)
    }

    /// Whether any element is true, as a scalar.
    pub(crate) fn any(&mut self, x: &Ssa) -> Ssa {
        if x.dims().is_empty() {
            return x.clone();
        }
        let no = self.splat(0.0, &Ty::scalar(Elem::I1));
        let axes: Vec<usize> = (0..x.dims().len()).collect();
        self.reduce("or", x, &no, &axes)
    }
}

/// The length of a padded axis.
fn padded(d: usize, (low, high, interior): (i64, i64, i64)) -> usize {
    let d = i64::try_from(d).unwrap_or(i64::MAX);
    let inside = d + (d - 1).max(0) * interior;
    usize::try_from(inside + low + high).unwrap_or(0)
}
