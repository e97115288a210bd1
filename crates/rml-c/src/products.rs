//! Matrix products and contractions.

use crate::function::Function;
use crate::nest::{nest, plus};
use crate::operand::{Operand, linear, strides};

/// An axis of a product: its length, and how far neighbours are in the result and in the operands.
pub(crate) struct Axis {
    n: usize,
    out: usize,
    of: Vec<usize>,
}

/// Adds products of two operands, or one operand, to what the result holds.
pub(crate) fn products(f: &mut Function<'_>, axes: &[Axis], args: &[Operand], out: &Operand) {
    let at = |stride: &dyn Fn(&Axis) -> usize| {
        let terms = axes.iter().enumerate().filter(|(_, axis)| axis.n != 1);
        linear(&terms.map(|(i, axis)| (format!("i{i}"), stride(axis))).collect::<Vec<_>>(), 0)
    };
    let factors: Vec<String> =
        args.iter().enumerate().map(|(k, arg)| arg.at(&at(&|axis| axis.of[k]))).collect();
    let line = plus(f, out.dtype, &out.at(&at(&|axis| axis.out)), &factors.join(" * "));
    nest(f, &axes.iter().map(|axis| axis.n).collect::<Vec<_>>(), &[line]);
}

/// The axes of NumPy's product: stacks, rows, what is summed over, columns.
pub(crate) fn of_matmul(a: &Operand, b: &Operand, out: &Operand) -> Vec<Axis> {
    let (sa, sb, so) = (strides(a.dims()), strides(b.dims()), strides(out.dims()));
    let (ra, rb) = (a.dims().len(), b.dims().len());
    let mut axes = Vec::new();
    let stack = out.dims().len() - usize::from(ra > 1) - usize::from(rb > 1);
    let along = |dims: &[usize], strides: &[usize], i: usize| {
        let own = dims.len().saturating_sub(2);
        (i + own).checked_sub(stack).filter(|k| dims[*k] != 1).map_or(0, |k| strides[k])
    };
    for (i, out_stride) in so.iter().enumerate().take(stack) {
        axes.push(Axis {
            n: out.dims()[i],
            out: *out_stride,
            of: vec![along(a.dims(), &sa, i), along(b.dims(), &sb, i)],
        });
    }
    if ra > 1 {
        axes.push(Axis { n: a.dims()[ra - 2], out: so[stack], of: vec![sa[ra - 2], 0] });
    }
    let of_b = if rb > 1 { sb[rb - 2] } else { 1 };
    axes.push(Axis { n: a.dims()[ra - 1], out: 0, of: vec![sa[ra - 1], of_b] });
    if rb > 1 {
        axes.push(Axis { n: b.dims()[rb - 1], out: 1, of: vec![0, sb[rb - 1]] });
    }
    axes
}

/// The axes of a contraction: those of the result but the last, what is summed over, the last one.
pub(crate) fn of_einsum(
    operands: &[Vec<char>],
    result: &[char],
    args: &[Operand],
    out: &Operand,
) -> Vec<Axis> {
    let far = |labels: &[char], dims: &[usize], label: char| {
        labels.iter().position(|l| *l == label).map_or(0, |k| strides(dims)[k])
    };
    let size = |label: char| {
        let of = |(labels, arg): (&Vec<char>, &Operand)| {
            Some(arg.dims()[labels.iter().position(|l| *l == label)?])
        };
        operands.iter().zip(args).find_map(of).unwrap_or(1)
    };
    let mut order: Vec<char> = result.to_vec();
    let last = order.pop();
    for label in operands.iter().flatten() {
        if !result.contains(label) && !order.contains(label) {
            order.push(*label);
        }
    }
    order.extend(last);
    let axis = |label: char| Axis {
        n: size(label),
        out: far(result, out.dims(), label),
        of: operands.iter().zip(args).map(|(labels, arg)| far(labels, arg.dims(), label)).collect(),
    };
    order.into_iter().map(axis).collect()
}
