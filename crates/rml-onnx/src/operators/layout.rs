//! Operators that move, repeat or pick elements without computing with them.

use rml_ir::op::AxisIndex;

use crate::net::{Attr, Elem, Net, V, signed};

/// Operands joined along an axis.
pub(super) fn concat(net: &mut Net, axis: usize, args: &[&V], dims: &[usize]) -> V {
    let parts: Vec<&V> = args.iter().copied().filter(|x| !x.is_empty()).collect();
    match parts[..] {
        [one] => one.clone(),
        _ => net.node("Concat", &parts, &[Attr::Int("axis", signed(axis))], parts[0].elem, dims),
    }
}

/// Operands of one shape joined along a new axis.
pub(super) fn stack(net: &mut Net, axis: usize, args: &[&V], dims: &[usize]) -> V {
    let mut row = dims.to_vec();
    row[axis] = 1;
    let parts: Vec<V> = args.iter().map(|x| net.reshape(x, &row)).collect();
    concat(net, axis, &parts.iter().collect::<Vec<_>>(), dims)
}

/// Indexing and slicing that picks at least one element.
pub(super) fn index(net: &mut Net, items: &[AxisIndex], x: &V, dims: &[usize]) -> V {
    let mut picked = Vec::new();
    for (axis, item) in items.iter().enumerate() {
        let (start, len, step) = match *item {
            AxisIndex::At(i) => (i, 1, 1),
            AxisIndex::Slice { start, len, step } => (start, len, step),
        };
        if AxisIndex::whole(x.dims[axis]) != (AxisIndex::Slice { start, len, step }) {
            picked.push((axis, start, len, step as i64));
        }
    }
    let mut kept = x.dims.clone();
    picked.iter().for_each(|(axis, _, len, _)| kept[*axis] = *len);
    let found = slice(net, x, &picked, &kept);
    net.reshape(&found, dims)
}

/// Slices along some axes, each given by the axis, the first position, the length and the step.
pub(super) fn slice(net: &mut Net, x: &V, picked: &[(usize, usize, usize, i64)], dims: &[usize]) -> V {
    if picked.is_empty() {
        return x.clone();
    }
    let end = |(_, start, len, step): &(usize, usize, usize, i64)| {
        let end = signed(*start) + signed(*len) * step;
        // A negative end would count from the end of the axis.
        if end < 0 { i64::MIN } else { end }
    };
    let starts = net.ints(picked.iter().map(|p| signed(p.1)));
    let ends = net.ints(picked.iter().map(end));
    let axes = net.ints(picked.iter().map(|p| signed(p.0)));
    let steps = net.ints(picked.iter().map(|p| p.3));
    net.node("Slice", &[x, &starts, &ends, &axes, &steps], &[], x.elem, dims)
}

/// Reverses axes.
pub(crate) fn reverse(net: &mut Net, x: &V, axes: &[usize]) -> V {
    if x.is_empty() {
        return x.clone();
    }
    let picked: Vec<_> = axes.iter().map(|a| (*a, x.dims[*a] - 1, x.dims[*a], -1)).collect();
    slice(net, x, &picked, &x.dims)
}

/// Zeros with the operand at the places that `items` selects.
pub(super) fn unindex(net: &mut Net, items: &[AxisIndex], x: &V, dims: &[usize]) -> V {
    if x.is_empty() {
        return net.splat(0.0, x.elem, dims);
    }
    let places = items.iter().zip(dims).fold(vec![0], |places: Vec<i64>, (item, n)| {
        places.iter().flat_map(|p| item.positions().map(move |i| p * signed(*n) + signed(i))).collect()
    });
    let (n, len) = (places.len(), dims.iter().product());
    let rows: Vec<i64> = places;
    let at = net.ints(rows);
    let at = net.reshape(&at, &[n, 1]);
    let flat = net.reshape(x, &[n]);
    let zeros = net.splat(0.0, x.elem, &[len]);
    let placed = net.node("ScatterND", &[&zeros, &at, &flat], &[], x.elem, &[len]);
    net.reshape(&placed, dims)
}

/// Rows of zeros with a 1 at the operand's position, if it is within the row.
pub(super) fn one_hot(net: &mut Net, classes: usize, x: &V, num: Elem) -> V {
    let row: Vec<usize> = x.dims.iter().copied().chain([1]).collect();
    let x = net.reshape(x, &row);
    let classes = net.ints((0..classes).map(signed));
    let hit = net.compare("Equal", &x, &classes);
    net.cast(&hit, num)
}
