//! The static arguments of convolutions and pooling, without those at the end that need not be written.

use crate::op::{Conv, Pool};

/// One text for all axes if they agree, else a list.
fn per_axis<T: PartialEq>(axes: &[T], text: impl Fn(&T) -> String) -> String {
    match axes {
        [first, rest @ ..] if rest.iter().all(|axis| axis == first) => text(first),
        _ => format!("[{}]", axes.iter().map(text).collect::<Vec<_>>().join(", ")),
    }
}

/// Zeros before and after each axis.
fn padding(axes: &[(usize, usize)]) -> String {
    let pair = |&(lo, hi): &(usize, usize)| if lo == hi { lo.to_string() } else { format!("[{lo}, {hi}]") };
    match axes {
        // Two equal pairs would be read as one for each axis.
        [(lo, hi), rest @ ..] if lo != hi && !rest.is_empty() => {
            format!("[{}]", axes.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        _ => per_axis(axes, pair),
    }
}

/// All but the defaults at the end.
fn without_defaults(mut items: Vec<(String, bool)>) -> Vec<String> {
    while items.pop_if(|(_, is_default)| *is_default).is_some() {}
    items.into_iter().map(|(text, _)| text).collect()
}

/// Stride, padding, dilation, groups.
pub(super) fn conv(conv: &Conv) -> Vec<String> {
    let of = |f: fn(&crate::op::ConvAxis) -> usize| conv.axes.iter().map(f).collect::<Vec<_>>();
    let (strides, dilations) = (of(|a| a.stride), of(|a| a.dilation));
    let paddings: Vec<(usize, usize)> = conv.axes.iter().map(|a| (a.lo, a.hi)).collect();
    without_defaults(vec![
        (per_axis(&strides, usize::to_string), strides.iter().all(|&s| s == 1)),
        (padding(&paddings), paddings.iter().all(|&p| p == (0, 0))),
        (per_axis(&dilations, usize::to_string), dilations.iter().all(|&d| d == 1)),
        (conv.groups.to_string(), conv.groups == 1),
    ])
}

/// Size, stride, padding.
pub(super) fn pool(pool: &Pool) -> Vec<String> {
    let of = |f: fn(&crate::op::PoolAxis) -> usize| pool.axes.iter().map(f).collect::<Vec<_>>();
    let (sizes, strides) = (of(|a| a.size), of(|a| a.stride));
    let paddings: Vec<(usize, usize)> = pool.axes.iter().map(|a| (a.lo, a.hi)).collect();
    without_defaults(vec![
        (per_axis(&sizes, usize::to_string), false),
        (per_axis(&strides, usize::to_string), strides == sizes),
        (padding(&paddings), paddings.iter().all(|&p| p == (0, 0))),
    ])
}
