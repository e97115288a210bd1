//! The origin of each element of a parameter. The same table serves both directions: to gather a parameter from
//! tensors, and to scatter it into them.

use indexmap::IndexMap;

use crate::rearrange::Concrete;
use crate::shapes::Typed;

/// The origin of an element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Cell {
    /// No element: the term contributes nothing.
    Nothing,
    /// The element with this index in this tensor.
    At { tensor: u32, element: u64 },
    /// This number.
    Fill(f64),
    /// This number; an export adds it to this element.
    Into { value: f64, tensor: u32, element: u64 },
}

/// Cells in row-major order of a tensor.
#[derive(Clone, Debug)]
struct Block {
    shape: Vec<usize>,
    cells: Vec<Cell>,
}

/// The terms whose sum is an element: usually one.
pub(crate) type Terms = Vec<Vec<Cell>>;

/// The tensors by name: number and dimensions.
pub(crate) type Wholes = IndexMap<String, Vec<usize>>;

/// The cells of all elements of an expression, term by term. A tensor that is not in `wholes` is absent.
pub(crate) fn terms(typed: &Typed, wholes: &Wholes) -> Terms {
    blocks(typed, wholes).into_iter().map(|b| b.cells).collect()
}

fn blocks(typed: &Typed, wholes: &Wholes) -> Vec<Block> {
    match typed {
        Typed::Leaf { tensor, shape, start, absent, .. } => {
            let cells = match wholes.get_full(&tensor.text) {
                Some((number, _, whole)) => part(number, whole, start, shape),
                None => vec![Cell::Fill(absent.unwrap_or_default()); shape.iter().product()],
            };
            vec![Block { shape: shape.clone(), cells }]
        }
        Typed::Fill { shape, value, into, .. } => {
            let number = into.as_ref().and_then(|name| wholes.get_index_of(&name.text));
            let cell = |element: usize| match number {
                Some(n) => Cell::Into { value: *value, tensor: narrow(n), element: element as u64 },
                None => Cell::Fill(*value),
            };
            let cells = (0..shape.iter().product()).map(cell).collect();
            vec![Block { shape: shape.clone(), cells }]
        }
        Typed::Sum(parts) => parts.iter().flat_map(|p| blocks(p, wholes)).collect(),
        Typed::Concat { axis, parts } => {
            let parts: Vec<Vec<Block>> = parts.iter().map(|p| blocks(p, wholes)).collect();
            let terms = parts.iter().map(Vec::len).max().unwrap_or(0);
            (0..terms).map(|term| joined(*axis, &parts, term)).collect()
        }
        Typed::Rearrange(of, step) => blocks(of, wholes).into_iter().map(|b| rearranged(b, step)).collect(),
        Typed::Reorder { of, axis, order } => {
            blocks(of, wholes).into_iter().map(|b| reordered(b, *axis, order)).collect()
        }
        Typed::Flip { of, axis } => blocks(of, wholes)
            .into_iter()
            .map(|b| {
                let order: Vec<usize> = (0..b.shape[*axis]).rev().collect();
                reordered(b, *axis, &order)
            })
            .collect(),
    }
}

/// The cells of the part of a tensor that begins at `start`.
fn part(number: usize, whole: &[usize], start: &[usize], shape: &[usize]) -> Vec<Cell> {
    let strides = strides(whole);
    let first: usize = start.iter().zip(&strides).map(|(s, stride)| s * stride).sum();
    let mut cells = Vec::with_capacity(shape.iter().product());
    walk(shape, &strides, |at| {
        cells.push(Cell::At { tensor: narrow(number), element: (first + at) as u64 });
    });
    cells
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// Calls `f` with the position of each element in row-major order.
fn walk(shape: &[usize], strides: &[usize], mut f: impl FnMut(usize)) {
    let mut index = vec![0_usize; shape.len()];
    let mut at = 0;
    for _ in 0..shape.iter().product() {
        f(at);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
}

fn rearranged(block: Block, step: &Concrete) -> Block {
    let apart = strides(&step.apart);
    let shape: Vec<usize> = step.order.iter().map(|axis| step.apart[*axis]).collect();
    let moved: Vec<usize> = step.order.iter().map(|axis| apart[*axis]).collect();
    let mut cells = Vec::with_capacity(block.cells.len());
    walk(&shape, &moved, |at| cells.push(block.cells[at]));
    Block { shape: step.to.clone(), cells }
}

/// The products of the lengths before, along and after an axis.
fn around(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    (shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product())
}

fn reordered(block: Block, axis: usize, order: &[usize]) -> Block {
    let (outer, along, inner) = around(&block.shape, axis);
    let length = along / order.len().max(1) * inner;
    let mut cells = Vec::with_capacity(block.cells.len());
    for o in 0..outer {
        for from in order {
            let at = o * along * inner + from * length;
            cells.extend_from_slice(&block.cells[at..at + length]);
        }
    }
    Block { shape: block.shape, cells }
}

/// Term `term` of concatenated parts; a part with fewer terms contributes nothing.
fn joined(axis: usize, parts: &[Vec<Block>], term: usize) -> Block {
    let mut shape = parts[0][0].shape.clone();
    shape[axis] = parts.iter().map(|p| p[0].shape[axis]).sum();
    let outer: usize = shape[..axis].iter().product();
    let mut cells = Vec::with_capacity(shape.iter().product());
    for o in 0..outer {
        for part in parts {
            let (_, along, inner) = around(&part[0].shape, axis);
            let range = o * along * inner..(o + 1) * along * inner;
            match part.get(term) {
                Some(block) => cells.extend_from_slice(&block.cells[range]),
                None => cells.extend(range.map(|_| Cell::Nothing)),
            }
        }
    }
    Block { shape, cells }
}
