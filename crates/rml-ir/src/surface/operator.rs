//! Operators with their static arguments as source text.

use std::sync::Arc;

use super::level::{Level, Piece};
use super::sliding;
use crate::op::{AxisIndex, Binary, Op, Unary};
use crate::types::{Shape, Type};

/// The infix operators with their levels.
pub(super) fn infix(op: &Op) -> Option<(&'static str, Level)> {
    Some(match op {
        Op::Or => ("or", Level::Or),
        Op::And => ("and", Level::And),
        Op::Compare(by) => (by.symbol(), Level::Comparison),
        Op::Binary(Binary::Add) => ("+", Level::Sum),
        Op::Binary(Binary::Sub) => ("-", Level::Sum),
        Op::Binary(Binary::Mul) => ("*", Level::Product),
        Op::Binary(Binary::Div) => ("/", Level::Product),
        _ => return None,
    })
}

/// An operator that is not infix. `statics` are its static arguments as written, empty where they have to be made up.
pub(super) fn application(op: &Op, args: Vec<Piece>, types: &[Type], statics: &[Arc<str>]) -> Piece {
    let mut args = args.into_iter();
    let first = args.next().unwrap_or_else(|| Piece::atom(""));
    let shape_of = |shape: &Shape| statics.first().map_or_else(|| shape.to_string(), |text| text.to_string());
    let shaped =
        |name: &str, shape: &Shape, x: Piece| Piece::atom(format!("{name}({}, {})", shape_of(shape), x.text));
    match op {
        Op::Copy => first,
        Op::Unary(Unary::Neg) if first.text.starts_with('-') => {
            Piece::new(format!("-{}", first.parenthesised()), Level::Unary)
        }
        Op::Unary(Unary::Neg) => Piece::new(format!("-{}", first.at(Level::Unary)), Level::Unary),
        Op::Not => Piece::new(format!("not {}", first.at(Level::Unary)), Level::Unary),
        Op::Reshape { shape } => shaped("reshape", shape, first),
        Op::Broadcast { shape } => shaped("broadcast", shape, first),
        Op::SumTo { shape } => shaped("sum_to", shape, first),
        Op::RandomUniform { shape } | Op::RandomNormal { shape } => {
            Piece::atom(format!("{}({})", op.name(), shape_of(shape)))
        }
        Op::Einsum(labels) => {
            let items: Vec<String> = std::iter::once(first).chain(args).map(|p| p.text).collect();
            Piece::atom(format!("einsum(\"{labels}\", {})", items.join(", ")))
        }
        Op::Stack { axis } => {
            let items: Vec<String> = std::iter::once(first).chain(args).map(|p| p.text).collect();
            let items = items.join(", ");
            Piece::atom(match statics.first() {
                Some(text) => format!("stack({text}, {items})"),
                None if *axis == 0 => format!("[{items}]"),
                None => format!("stack({axis}, {items})"),
            })
        }
        Op::Conv(conv) => sliding(op, None, [first].into_iter().chain(args), statics, sliding::conv(conv)),
        Op::ConvTranspose { shape, conv } | Op::ConvKernel { shape, conv } => {
            sliding(op, Some(shape), [first].into_iter().chain(args), statics, sliding::conv(conv))
        }
        Op::MaxPool(pool) | Op::AvgPool(pool) | Op::Patches(pool) => {
            sliding(op, None, [first], statics, sliding::pool(pool))
        }
        Op::Unpatches { shape, pool } => sliding(op, Some(shape), [first], statics, sliding::pool(pool)),
        Op::Gather { axis } => {
            let axis = optional(statics.first(), (*axis != 0).then(|| axis.to_string()));
            let at = args.next().map_or_else(String::new, |p| p.text);
            Piece::atom(format!("gather({}, {at}{axis})", first.text))
        }
        Op::ScatterAdd { shape, axis } => {
            let axis = optional(statics.get(1), (*axis != 0).then(|| axis.to_string()));
            let d = args.next().map_or_else(String::new, |p| p.text);
            Piece::atom(format!("scatter_add({}, {}, {d}{axis})", shape_of(shape), first.text))
        }
        Op::CumSum { axis, reverse } => {
            let made = match (axis, reverse) {
                (0, false) => None,
                (_, false) => Some(axis.to_string()),
                (_, true) => Some(format!("{axis}, true")),
            };
            let written = (!statics.is_empty()).then(|| Arc::from(statics.join(", ")));
            Piece::atom(format!("cumsum({}{})", first.text, optional(written.as_ref(), made)))
        }
        Op::Sort { axis, descending }
        | Op::ArgSort { axis, descending }
        | Op::SortBy { axis, descending } => {
            let last = types.first().is_some_and(|ty| axis + 1 == ty.shape.rank());
            let made = match descending {
                true => Some(format!("{axis}, true")),
                false => (!last).then(|| axis.to_string()),
            };
            let written = (!statics.is_empty()).then(|| Arc::from(statics.join(", ")));
            let items: Vec<String> = std::iter::once(first).chain(args).map(|p| p.text).collect();
            Piece::atom(format!("{}({}{})", op.name(), items.join(", "), optional(written.as_ref(), made)))
        }
        Op::Index { items } => {
            let dims = types.first().map_or(&[][..], |ty| ty.shape.dims());
            let entries = if statics.is_empty() { slices(items, dims) } else { statics.join(", ") };
            Piece::new(format!("{}[{entries}]", first.operand()), Level::Postfix)
        }
        Op::Unindex { shape, items } => {
            let entries =
                if statics.len() > 1 { statics[1..].join(", ") } else { slices(items, shape.dims()) };
            Piece::atom(format!("unindex({}, {}, {entries})", shape_of(shape), first.text))
        }
        Op::Concat { axis } => {
            let axis = match statics.first() {
                Some(text) => format!(", {text}"),
                None if *axis == 0 => String::new(),
                None => format!(", {axis}"),
            };
            let joined = args.fold(first.text, |left, right| format!("concat({left}, {}{axis})", right.text));
            Piece::atom(joined)
        }
        Op::Transpose { perm } => {
            let reversed = perm.iter().rev().copied().eq(0..perm.len());
            let perm = match statics.first() {
                Some(text) => format!(", {text}"),
                None if reversed => String::new(),
                None => format!(", {perm:?}"),
            };
            Piece::atom(format!("transpose({}{perm})", first.text))
        }
        Op::Reduce(_, axis) => {
            let axis = match (statics.first(), axis) {
                (Some(text), Some(_)) => format!(", {text}"),
                (None, Some(axis)) => format!(", {axis}"),
                (_, None) => String::new(),
            };
            Piece::atom(format!("{}({}{axis})", op.name(), first.text))
        }
        Op::Irfft { n } => {
            let n = statics.first().map_or_else(|| n.to_string(), |text| text.to_string());
            Piece::atom(format!("irfft({n}, {})", first.text))
        }
        Op::OneHot { classes } => {
            let classes = statics.first().map_or_else(|| classes.to_string(), |text| text.to_string());
            Piece::atom(format!("one_hot({classes}, {})", first.text))
        }
        // Operators without attributes.
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Convert(_)
        | Op::And
        | Op::Or
        | Op::Clip
        | Op::Where
        | Op::StopGradient
        | Op::Softmax
        | Op::LogSoftmax
        | Op::MatMul
        | Op::Pick
        | Op::Cholesky
        | Op::Solve
        | Op::Rfft => {
            let items: Vec<String> = std::iter::once(first).chain(args).map(|p| p.text).collect();
            Piece::atom(format!("{}({})", op.name(), items.join(", ")))
        }
    }
}

/// An optional argument after others: as written, or made up.
fn optional(written: Option<&Arc<str>>, made: Option<String>) -> String {
    written.map(|text| text.to_string()).or(made).map_or_else(String::new, |text| format!(", {text}"))
}

/// An operator with windows: its shape, the operands, and the static arguments as written or made up.
fn sliding(
    op: &Op,
    shape: Option<&Shape>,
    args: impl IntoIterator<Item = Piece>,
    statics: &[Arc<str>],
    made: Vec<String>,
) -> Piece {
    let written = statics.get(usize::from(shape.is_some())..).unwrap_or_default();
    let mut items = Vec::new();
    items.extend(
        shape.map(|shape| statics.first().map_or_else(|| shape.to_string(), |text| text.to_string())),
    );
    items.extend(args.into_iter().map(|p| p.text));
    if written.is_empty() {
        items.extend(made);
    } else {
        items.extend(written.iter().map(|text| text.to_string()));
    }
    Piece::atom(format!("{}({})", op.name(), items.join(", ")))
}

/// Whether an entry keeps a whole axis.
fn is_whole(item: &AxisIndex, len: Option<&usize>) -> bool {
    len.is_some_and(|&len| *item == AxisIndex::whole(len))
}

/// How many entries are left when whole axes at the end are dropped; at least one.
fn written_entries(items: &[AxisIndex], dims: &[usize]) -> usize {
    let last = (0..items.len()).rev().find(|&i| !is_whole(&items[i], dims.get(i)));
    last.map_or(1, |i| i + 1).min(items.len())
}

/// The entries of an index list.
fn slices(items: &[AxisIndex], dims: &[usize]) -> String {
    let written = items.iter().enumerate().take(written_entries(items, dims));
    let texts: Vec<String> = written
        .map(|(i, item)| match *item {
            AxisIndex::At(k) => k.to_string(),
            _ if is_whole(item, dims.get(i)) => ":".to_owned(),
            AxisIndex::Slice { start, len: 0, .. } => format!("{start}:{start}"),
            AxisIndex::Slice { start, len, step: 1 } => format!("{start}:{}", start + len),
            AxisIndex::Slice { start, step, .. } => {
                let last = item.positions().last().unwrap_or(start);
                match if step > 0 { Some(last + 1) } else { last.checked_sub(1) } {
                    Some(end) => format!("{start}:{end}:{step}"),
                    None => format!("{start}::{step}"),
                }
            }
        })
        .collect();
    texts.join(", ")
}
