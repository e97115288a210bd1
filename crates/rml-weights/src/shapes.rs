//! Derives the shapes of all parts of an expression from the shape of its parameter, down to the tensors. Where a form
//! is ambiguous (the lengths of concatenated parts), the tensors of a file decide, if there is one.

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::Shape;

use crate::expr::{Cut, Expr, PartSizes, Source, Step};
use crate::rearrange::{Concrete, Unfit};
use rml_data::tree::TreeName as Name;

/// The shapes of the tensors of a file, by name; `None` without a file.
pub(crate) type Known<'k> = Option<&'k IndexMap<String, Shape>>;

/// An expression whose shapes are known.
#[derive(Clone, Debug)]
pub(crate) enum Typed {
    /// The part of a tensor that begins at `start`.
    Leaf { tensor: Name, shape: Vec<usize>, start: Vec<usize>, whole: Vec<Extent>, absent: Option<f64> },
    /// The sum of all.
    Sum(Vec<Typed>),
    /// Concatenated along the axis.
    Concat { axis: usize, parts: Vec<Typed> },
    /// The same number everywhere; or values that are added to a tensor of this shape.
    Fill { shape: Vec<usize>, value: f64, into: Option<Name> },
    /// Axes split, permuted and joined.
    Rearrange(Box<Typed>, Concrete),
    /// Blocks in another order.
    Reorder { of: Box<Typed>, axis: usize, order: Vec<usize> },
    /// The reversed axis.
    Flip { of: Box<Typed>, axis: usize },
}

/// The length of an axis of a whole tensor, as far as a part determines it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// Exactly this length.
    Exactly(usize),
    /// At least this length.
    AtLeast(usize),
}

/// Finds all shapes of an expression whose result has shape `want`.
///
/// # Errors
/// A shape that contradicts the expression; an ambiguity that nothing resolves.
pub(crate) fn typed(expr: &Expr, want: &[usize], known: Known<'_>) -> Result<Typed, Diagnostic> {
    after(expr, &expr.steps, want, known)
}

/// Finds all shapes of the source with the first `steps` applied.
fn after(expr: &Expr, steps: &[Step], want: &[usize], known: Known<'_>) -> Result<Typed, Diagnostic> {
    let Some((step, before)) = steps.split_last() else { return source(expr, want, known) };
    let inner = |want: &[usize]| after(expr, before, want, known).map(Box::new);
    match step {
        Step::Rearrange(rearrange) => {
            let hint = natural(expr, before, known);
            let concrete = rearrange.backward(want, hint.as_deref()).map_err(|why| match why {
                Unfit::Unknown(names) => undecided(expr.span, want, &names),
                Unfit::Shape => unfit(expr.span, want, hint.as_deref()),
            })?;
            Ok(Typed::Rearrange(inner(&concrete.from)?, concrete))
        }
        Step::Reorder { axis, order } => match want.get(*axis) {
            Some(length) if length.is_multiple_of(order.len()) => {
                Ok(Typed::Reorder { of: inner(want)?, axis: *axis, order: order.clone() })
            }
            _ => Err(unfit(expr.span, want, None)
                .note(format!("axis {axis} is to consist of {} equal blocks", order.len()))),
        },
        Step::Flip { axis } if *axis < want.len() => Ok(Typed::Flip { of: inner(want)?, axis: *axis }),
        Step::Flip { axis } => Err(unfit(expr.span, want, None).note(format!("axis {axis} is to be turned"))),
    }
}

fn source(expr: &Expr, want: &[usize], known: Known<'_>) -> Result<Typed, Diagnostic> {
    let each = |parts: &[Expr], want: &[usize]| -> Result<Vec<Typed>, Diagnostic> {
        parts.iter().map(|part| typed(part, want, known)).collect()
    };
    match &expr.source {
        Source::Tensor { name, cut, absent } => leaf(name, *cut, *absent, want, known),
        Source::Sum(parts) => Ok(Typed::Sum(each(parts, want)?)),
        Source::Fill { value, into } => {
            if let (Some(name), Some(known)) = (into, known)
                && let Some(found) = known.get(&name.text)
                && found.dims() != want
            {
                return Err(mismatch(name, want, found));
            }
            Ok(Typed::Fill { shape: want.to_vec(), value: *value, into: into.clone() })
        }
        Source::Stack { axis, parts } => {
            if want.get(*axis) != Some(&parts.len()) {
                return Err(unfit(expr.span, want, None).note(format!(
                    "axis {axis} is to be as long as there are parts, which is {}",
                    parts.len()
                )));
            }
            let mut part = want.to_vec();
            part.remove(*axis);
            let mut with = want.to_vec();
            with[*axis] = 1;
            let insert = Concrete {
                apart: part.clone(),
                order: (0..part.len()).collect(),
                from: part.clone(),
                to: with,
            };
            let parts = each(parts, &part)?.into_iter();
            let parts = parts.map(|p| Typed::Rearrange(Box::new(p), insert.clone())).collect();
            Ok(Typed::Concat { axis: *axis, parts })
        }
        Source::Concat { axis, parts, sizes } => {
            let sizes = lengths(expr.span, *axis, parts, sizes, want, known)?;
            let part = |(part, size): (&Expr, usize)| {
                let mut want = want.to_vec();
                want[*axis] = size;
                typed(part, &want, known)
            };
            Ok(Typed::Concat {
                axis: *axis,
                parts: parts.iter().zip(sizes).map(part).collect::<Result<_, _>>()?,
            })
        }
    }
}

/// The length of each part of a concatenation.
fn lengths(
    span: Span,
    axis: usize,
    parts: &[Expr],
    sizes: &PartSizes,
    want: &[usize],
    known: Known<'_>,
) -> Result<Vec<usize>, Diagnostic> {
    let along =
        *want.get(axis).ok_or_else(|| unfit(span, want, None).note(format!("there is no axis {axis}")))?;
    let fits = |found: Vec<usize>| match found.iter().sum::<usize>() == along {
        true => Ok(found),
        false => Err(unfit(span, want, None).note(format!("the parts have {found:?} along axis {axis}"))),
    };
    match sizes {
        PartSizes::Given(sizes) => fits(sizes.clone()),
        PartSizes::Equal if along.is_multiple_of(parts.len()) => Ok(vec![along / parts.len(); parts.len()]),
        PartSizes::Equal => {
            Err(unfit(span, want, None)
                .note(format!("axis {axis} is to consist of {} equal parts", parts.len())))
        }
        PartSizes::Found => {
            let found = parts.iter().map(|p| natural(p, &p.steps, known)?.get(axis).copied());
            let found: Vec<Option<usize>> = found.collect();
            let rest = found.iter().flatten().try_fold(along, |n, s| n.checked_sub(*s));
            match (found.iter().filter(|s| s.is_none()).count(), rest) {
                (0, _) => fits(found.into_iter().flatten().collect()),
                (1, Some(rest)) => Ok(found.into_iter().map(|s| s.unwrap_or(rest)).collect()),
                _ => Err(undecided(span, want, &[format!("the parts along axis {axis}")])
                    .help("say it: `sizes = [..]`, or `equal = true`")),
            }
        }
    }
}

/// The shape of an expression after the first `steps`, derived only from the tensors of the file.
fn natural(expr: &Expr, steps: &[Step], known: Known<'_>) -> Option<Vec<usize>> {
    let part = |e: &Expr| natural(e, &e.steps, known);
    let mut shape = match &expr.source {
        Source::Tensor { name, cut, .. } => {
            let mut dims = known?.get(&name.text)?.dims().to_vec();
            match *cut {
                None => {}
                Some(Cut::Block { axis, of, .. }) => *dims.get_mut(axis)? /= of,
                Some(Cut::Range { axis, from, to }) => *dims.get_mut(axis)? = to - from,
            }
            dims
        }
        Source::Fill { .. } => return None,
        Source::Sum(parts) => parts.iter().find_map(part)?,
        Source::Stack { axis, parts } => {
            let mut dims = parts.iter().find_map(part)?;
            if *axis > dims.len() {
                return None;
            }
            dims.insert(*axis, parts.len());
            dims
        }
        Source::Concat { axis, parts, .. } => {
            let shapes: Vec<Vec<usize>> = parts.iter().map(part).collect::<Option<_>>()?;
            let mut dims = shapes.first()?.clone();
            *dims.get_mut(*axis)? = shapes.iter().map(|s| s.get(*axis)).sum::<Option<usize>>()?;
            dims
        }
    };
    for step in steps {
        if let Step::Rearrange(rearrange) = step {
            shape = rearrange.forward(&shape).ok()?.to;
        }
    }
    Some(shape)
}

fn leaf(
    name: &Name,
    cut: Option<Cut>,
    absent: Option<f64>,
    want: &[usize],
    known: Known<'_>,
) -> Result<Typed, Diagnostic> {
    let mut start = vec![0; want.len()];
    let mut whole: Vec<Extent> = want.iter().map(|d| Extent::Exactly(*d)).collect();
    let fits = match cut {
        None => true,
        Some(Cut::Block { axis, block, of }) => want.get(axis).is_some_and(|part| {
            start[axis] = block * part;
            whole[axis] = Extent::Exactly(of * part);
            true
        }),
        Some(Cut::Range { axis, from, to }) => want.get(axis).is_some_and(|part| {
            start[axis] = from;
            whole[axis] = Extent::AtLeast(to);
            *part == to - from
        }),
    };
    if !fits {
        return Err(
            unfit(name.span, want, None).note("the part that is cut from the tensor has another shape")
        );
    }
    if let Some(found) = known.and_then(|k| k.get(&name.text)) {
        let dims = found.dims();
        let agrees = |(extent, dim): (&Extent, &usize)| match extent {
            Extent::Exactly(n) => n == dim,
            Extent::AtLeast(n) => n <= dim,
        };
        if dims.len() != whole.len() || !whole.iter().zip(dims).all(agrees) {
            let expected: Vec<usize> = whole
                .iter()
                .map(|e| match *e {
                    Extent::Exactly(n) | Extent::AtLeast(n) => n,
                })
                .collect();
            return Err(mismatch(name, &expected, found));
        }
        whole = dims.iter().map(|d| Extent::Exactly(*d)).collect();
    }
    Ok(Typed::Leaf { tensor: name.clone(), shape: want.to_vec(), start, whole, absent })
}

fn mismatch(name: &Name, expected: &[usize], found: &Shape) -> Diagnostic {
    Diagnostic::error(codes::TENSOR_SHAPE, format!("tensor `{}` has another shape", name.text))
        .label(name.span, format!("expected {}, found {found}", Shape::new(expected)))
}

fn unfit(span: Span, want: &[usize], found: Option<&[usize]>) -> Diagnostic {
    let want = Shape::new(want);
    let label = match found {
        Some(found) => format!("it must give {want}, and is made from {}", Shape::new(found)),
        None => format!("it must give {want}"),
    };
    Diagnostic::error(codes::TENSOR_SHAPE, "an entry cannot give the shape that is wanted").label(span, label)
}

fn undecided(span: Span, want: &[usize], names: &[String]) -> Diagnostic {
    let names = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    Diagnostic::error(codes::TENSOR_SHAPE, format!("the length of {names} is not determined"))
        .label(span, format!("this must give {}", Shape::new(want)))
        .help("take the shapes from a file that the other library wrote: `--like FILE`")
}
