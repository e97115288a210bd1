//! Products.

use super::{Checked, element, refuse};
use crate::op::Einsum;
use crate::types::{DType, Shape, Type};

/// NumPy's matrix product.
pub(super) fn matmul(a: &Type, b: &Type) -> Checked<Type> {
    element(0, a, &[DType::Num])?;
    element(1, b, &[DType::Num])?;
    let Some((k, rows)) = a.shape.dims().split_last() else {
        return refuse(Some(0), "a vector, a matrix or a stack of matrices on the left", a);
    };
    let (stack, inner, columns) = match b.shape.dims() {
        [] => return refuse(Some(1), "a vector, a matrix or a stack of matrices on the right", b),
        [inner] => (&[][..], inner, None),
        [stack @ .., inner, n] => (stack, inner, Some(*n)),
    };
    if k != inner {
        let which = if b.shape.rank() > 2 { "last dimension but one" } else { "first dimension" };
        let expected = format!("a {which} of {k} on the right, the last one on the left");
        return refuse(Some(1), expected, format!("{} and {}", a.shape, b.shape));
    }
    let (own, m) = match rows.split_last() {
        Some((m, own)) => (own, Some(*m)),
        None => (&[][..], None),
    };
    let Some(stack) = Shape::new(own).broadcast(&Shape::new(stack)) else {
        let expected = "stacks of matrices whose leading dimensions are equal, 1 or missing";
        return refuse(None, expected, format!("{} and {}", a.shape, b.shape));
    };
    let dims = stack.dims().iter().copied().chain(m).chain(columns);
    Ok(Type { dtype: DType::Num, shape: dims.collect() })
}

/// A square matrix or a stack of them: the shape of its rows.
pub(super) fn square(a: &Type) -> Checked<&[usize]> {
    element(0, a, &[DType::Num])?;
    match a.shape.dims() {
        [.., m, n] if m == n => Ok(&a.shape.dims()[..a.shape.rank() - 1]),
        _ => refuse(Some(0), "a square matrix or a stack of square matrices", a),
    }
}

/// The solutions of systems of equations, one column or several for each matrix.
pub(super) fn solve(a: &Type, b: &Type) -> Checked<Type> {
    let rows = square(a)?;
    element(1, b, &[DType::Num])?;
    match b.shape.dims() {
        dims if dims == rows => Ok(b.clone()),
        [dims @ .., _] if dims == rows => Ok(b.clone()),
        _ => {
            let rows = Shape::new(rows);
            refuse(Some(1), format!("the shape {rows} of a column of each matrix, or one of columns"), b)
        }
    }
}

/// The frequencies of the last axis.
pub(super) fn rfft(x: &Type) -> Checked<Type> {
    element(0, x, &[DType::Num])?;
    match x.shape.dims() {
        [before @ .., n] if *n > 0 => {
            let dims = before.iter().copied().chain([n / 2 + 1, 2]).collect();
            Ok(Type { dtype: DType::Num, shape: dims })
        }
        _ => refuse(Some(0), "at least one number along the last axis", x),
    }
}

/// As many numbers of the frequencies.
pub(super) fn irfft(n: usize, y: &Type) -> Checked<Type> {
    element(0, y, &[DType::Num])?;
    match y.shape.dims() {
        [before @ .., m, 2] if n > 0 && *m == n / 2 + 1 => {
            Ok(Type { dtype: DType::Num, shape: before.iter().copied().chain([n]).collect() })
        }
        _ if n == 0 => refuse(None, "at least one number", 0),
        _ => refuse(Some(0), format!("a shape that ends with {}, 2, as that of {n} numbers", n / 2 + 1), y),
    }
}

/// A contraction.
pub(super) fn einsum(labels: &Einsum, args: &[Type]) -> Checked<Type> {
    if args.len() != labels.operands().len() {
        return refuse(None, format!("{} operands, as in `{labels}`", labels.operands().len()), args.len());
    }
    let mut sizes: Vec<(char, usize)> = Vec::new();
    for (i, (ty, own)) in args.iter().zip(labels.operands()).enumerate() {
        element(i, ty, &[DType::Num])?;
        if ty.shape.rank() != own.len() {
            let letters: String = own.iter().collect();
            return refuse(Some(i), format!("{} dimensions, as `{letters}` has letters", own.len()), ty);
        }
        for (&label, &size) in own.iter().zip(ty.shape.dims()) {
            match sizes.iter().find(|(known, _)| *known == label) {
                Some((_, known)) if *known != size => {
                    let expected = format!("a dimension of {known} for `{label}`, as in the first operand");
                    return refuse(Some(i), expected, format!("{size} in {}", ty.shape));
                }
                Some(_) => {}
                None => sizes.push((label, size)),
            }
        }
    }
    let size = |label: &char| sizes.iter().find(|(known, _)| known == label).map_or(1, |(_, size)| *size);
    Ok(Type { dtype: DType::Num, shape: labels.result().iter().map(size).collect() })
}
