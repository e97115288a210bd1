//! Which strides calls require of their operands.

use rml_ir::op::{Einsum, Op};
use rml_nest::{Call, dense};

/// The strides that a call requires of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    /// The strides of a row-major tensor.
    Dense,
    /// Any strides.
    Any,
    /// In row-major order, but with gaps or repetitions. The operand is used for this many rows.
    Ordered(usize),
}

/// The strides that a call requires of each operand.
pub(crate) fn wants(call: &Call) -> Vec<Want> {
    if let Op::Einsum(labels) = &call.op {
        return of_einsum(labels);
    }
    match (&call.op, &call.operands[..]) {
        (op, [a, b]) if *op == Op::MatMul => {
            let rows = a.dims.iter().rev().skip(1).product();
            vec![Want::Any, if b.dims.len() > 1 { Want::Ordered(rows) } else { Want::Any }]
        }
        (_, operands) => vec![Want::Dense; operands.len()],
    }
}

/// Axes that only one operand has are summed first, which requires a dense tensor.
fn of_einsum(labels: &Einsum) -> Vec<Want> {
    let operands = labels.operands();
    let want = |(k, own): (usize, &Vec<char>)| {
        let is_other = |label: &char| operands.iter().enumerate().any(|(i, o)| i != k && o.contains(label));
        let is_lost = |label: &char| !labels.result().contains(label) && !is_other(label);
        if own.iter().any(is_lost) { Want::Dense } else { Want::Ordered(usize::MAX) }
    };
    operands.iter().enumerate().map(want).collect()
}

/// Whether the strides of an operand satisfy a requirement.
pub(crate) fn fits(own: &[isize], dims: &[usize], want: Want) -> bool {
    let fit = |axis: usize, stride: isize| dims[axis] <= 1 || own[axis] == stride;
    match want {
        Want::Dense => dense(dims).into_iter().enumerate().all(|(axis, stride)| fit(axis, stride)),
        Want::Any => own.iter().all(|stride| *stride >= 0),
        Want::Ordered(_) => {
            let own: Vec<isize> =
                own.iter().zip(dims).filter(|(_, n)| **n > 1).map(|(stride, _)| *stride).collect();
            own.iter().all(|stride| *stride >= 0) && own.windows(2).all(|pair| pair[0] >= pair[1])
        }
    }
}
