//! The text form of operators and distributions in dumps of the stages: a name, then the attributes in
//! braces, if there are any.
//!
//! ```text
//! add                      exp                     matmul
//! transpose{1, 0}          reshape{[4, 64]}        broadcast{[]}
//! sum                      sum{axis=1}             concat{axis=0}
//! index{0, 1:3:1}          unindex{[5, 4]; 0, 1:3:1}
//! one_hot{10}              uniform{-0.5, 0.5}      normal{0.0, 1.0}
//! conv1d{2 1:0 1; 1}       max_pool2d{3 2 1:1, 3 2 1:1}
//! ```
//!
//! An axis index is a position, or `start:len:step` (`len` positions from `start` on, `step` apart). The text
//! holds no parenthesis and no line break, so it can stand before an operand list. [`Op::parse`] and
//! [`Distribution::parse`] read back what `Display` writes.

use std::fmt;

use super::{AxisIndex, Binary, Compare, Conv, Distribution, Einsum, Op, Pool, Reduction, Unary};
use crate::types::{DType, Shape};

impl Op {
    /// The name in the text form, which is also the surface name of those operators that are called like
    /// functions.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Copy => "copy",
            Op::StopGradient => "stop_gradient",
            Op::Not => "not",
            Op::Unary(f) => f.name(),
            Op::Convert(DType::Num) => "to_num",
            Op::Convert(DType::Int) => "to_int",
            Op::Convert(DType::Bool) => "to_bool",
            Op::Binary(f) => f.name(),
            Op::Compare(by) => by.name(),
            Op::And => "and",
            Op::Or => "or",
            Op::Clip => "clip",
            Op::Where => "where",
            Op::MatMul => "matmul",
            Op::Cholesky => "cholesky",
            Op::Solve => "solve",
            Op::Rfft => "rfft",
            Op::Irfft { .. } => "irfft",
            Op::Einsum(_) => "einsum",
            Op::Conv(conv) => by_rank(conv.axes.len(), "conv1d", "conv2d"),
            Op::ConvTranspose { conv, .. } => {
                by_rank(conv.axes.len(), "conv1d_transpose", "conv2d_transpose")
            }
            Op::ConvKernel { conv, .. } => by_rank(conv.axes.len(), "conv1d_kernel", "conv2d_kernel"),
            Op::MaxPool(pool) => by_rank(pool.axes.len(), "max_pool1d", "max_pool2d"),
            Op::AvgPool(pool) => by_rank(pool.axes.len(), "avg_pool1d", "avg_pool2d"),
            Op::Patches(pool) => by_rank(pool.axes.len(), "patches1d", "patches2d"),
            Op::Unpatches { pool, .. } => by_rank(pool.axes.len(), "unpatches1d", "unpatches2d"),
            Op::Transpose { .. } => "transpose",
            Op::Reshape { .. } => "reshape",
            Op::Broadcast { .. } => "broadcast",
            Op::SumTo { .. } => "sum_to",
            Op::Concat { .. } => "concat",
            Op::Stack { .. } => "stack",
            Op::Index { .. } => "index",
            Op::Unindex { .. } => "unindex",
            Op::Gather { .. } => "gather",
            Op::ScatterAdd { .. } => "scatter_add",
            Op::Pick => "pick",
            Op::Reduce(by, _) => by.name(),
            Op::CumSum { .. } => "cumsum",
            Op::Sort { .. } => "sort",
            Op::ArgSort { .. } => "argsort",
            Op::SortBy { .. } => "sort_by",
            Op::RandomUniform { .. } => "random_uniform",
            Op::RandomNormal { .. } => "random_normal",
            Op::Softmax => "softmax",
            Op::LogSoftmax => "log_softmax",
            Op::OneHot { .. } => "one_hot",
        }
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// If `text` is not the text form of an operator; the message says why.
    pub fn parse(text: &str) -> Result<Op, String> {
        let (name, attributes) = split(text)?;
        match attributes {
            None => plain(name),
            Some(attributes) => with_attributes(name, attributes),
        }
        .map_err(|e| format!("{e} in the operator `{text}`"))
    }
}

fn by_rank(rank: usize, one: &'static str, two: &'static str) -> &'static str {
    if rank == 1 { one } else { two }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Op::Transpose { perm } => write!(f, "{{{}}}", List(perm)),
            Op::Reshape { shape } | Op::Broadcast { shape } | Op::SumTo { shape } => write!(f, "{{{shape}}}"),
            Op::RandomUniform { shape } | Op::RandomNormal { shape } => write!(f, "{{{shape}}}"),
            Op::Concat { axis } | Op::Stack { axis } | Op::Gather { axis } => write!(f, "{{axis={axis}}}"),
            Op::ScatterAdd { shape, axis } => write!(f, "{{{shape}; axis={axis}}}"),
            Op::CumSum { axis, reverse } => {
                write!(f, "{{{}axis={axis}}}", if *reverse { "reverse, " } else { "" })
            }
            Op::Sort { axis, descending }
            | Op::ArgSort { axis, descending }
            | Op::SortBy { axis, descending } => {
                write!(f, "{{{}axis={axis}}}", if *descending { "descending, " } else { "" })
            }
            Op::Einsum(labels) => write!(f, "{{{labels}}}"),
            Op::Conv(conv) => write!(f, "{{{conv}}}"),
            Op::ConvTranspose { shape, conv } | Op::ConvKernel { shape, conv } => {
                write!(f, "{{{shape}; {conv}}}")
            }
            Op::MaxPool(pool) | Op::AvgPool(pool) | Op::Patches(pool) => write!(f, "{{{pool}}}"),
            Op::Unpatches { shape, pool } => write!(f, "{{{shape}; {pool}}}"),
            Op::Index { items } => write!(f, "{{{}}}", List(items)),
            Op::Unindex { shape, items } => write!(f, "{{{shape}; {}}}", List(items)),
            Op::Reduce(_, Some(axis)) => write!(f, "{{axis={axis}}}"),
            Op::OneHot { classes: n } | Op::Irfft { n } => write!(f, "{{{n}}}"),
            Op::Copy | Op::StopGradient | Op::Not | Op::Unary(_) | Op::Convert(_) | Op::Binary(_) => Ok(()),
            Op::Compare(_) | Op::And | Op::Or | Op::Clip | Op::Where | Op::MatMul | Op::Pick => Ok(()),
            Op::Reduce(_, None) | Op::Softmax | Op::LogSoftmax | Op::Cholesky | Op::Solve | Op::Rfft => {
                Ok(())
            }
        }
    }
}

impl fmt::Display for AxisIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AxisIndex::At(i) => write!(f, "{i}"),
            AxisIndex::Slice { start, len, step } => write!(f, "{start}:{len}:{step}"),
        }
    }
}

impl Distribution {
    /// Reads the text form.
    ///
    /// # Errors
    /// If `text` is not the text form of a distribution; the message says why.
    pub fn parse(text: &str) -> Result<Distribution, String> {
        let (name, attributes) = split(text)?;
        let numbers = |attributes| match list::<f64>(attributes)?[..] {
            [a, b] => Ok((a, b)),
            _ => Err("two numbers are needed".to_owned()),
        };
        match (name, attributes) {
            ("glorot_uniform", None) => Ok(Distribution::GlorotUniform),
            ("key", None) => Ok(Distribution::Key),
            ("orthogonal", None) => Ok(Distribution::Orthogonal),
            ("uniform", Some(attributes)) => {
                numbers(attributes).map(|(lo, hi)| Distribution::Uniform { lo, hi })
            }
            ("normal", Some(attributes)) => {
                numbers(attributes).map(|(mean, std)| Distribution::Normal { mean, std })
            }
            _ => Err("unknown name, or attributes that do not go with it,".to_owned()),
        }
        .map_err(|e| format!("{e} in the distribution `{text}`"))
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::GlorotUniform => f.write_str("glorot_uniform"),
            Distribution::Key => f.write_str("key"),
            Distribution::Orthogonal => f.write_str("orthogonal"),
            Distribution::Uniform { lo, hi } => write!(f, "uniform{{{lo:?}, {hi:?}}}"),
            Distribution::Normal { mean, std } => write!(f, "normal{{{mean:?}, {std:?}}}"),
        }
    }
}

/// Entries with commas between them.
pub(super) struct List<'a, T>(pub(super) &'a [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// Name and attributes.
fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    match text.split_once('{') {
        None => Ok((text, None)),
        Some((name, rest)) => match rest.strip_suffix('}') {
            Some(attributes) => Ok((name, Some(attributes))),
            None => Err(format!("a closing brace is missing in `{text}`")),
        },
    }
}

/// The operators that have no attributes.
fn without_attributes() -> impl Iterator<Item = Op> {
    let others = [Op::Copy, Op::StopGradient, Op::Not, Op::And, Op::Or, Op::Clip, Op::Where, Op::MatMul];
    let converts = [DType::Num, DType::Int, DType::Bool].map(Op::Convert);
    others
        .into_iter()
        .chain([Op::Pick, Op::Softmax, Op::LogSoftmax, Op::Cholesky, Op::Solve, Op::Rfft])
        .chain(converts)
        .chain(Unary::ALL.iter().map(|f| Op::Unary(*f)))
        .chain(Binary::ALL.iter().map(|f| Op::Binary(*f)))
        .chain(Compare::ALL.map(Op::Compare))
        .chain(Reduction::ALL.map(|by| Op::Reduce(by, None)))
}

fn plain(name: &str) -> Result<Op, String> {
    let unknown = || "unknown name, or attributes are missing,".to_owned();
    without_attributes().find(|op| op.name() == name).ok_or_else(unknown)
}

fn with_attributes(name: &str, attributes: &str) -> Result<Op, String> {
    Ok(match name {
        "einsum" => Op::Einsum(Einsum::parse(attributes)?),
        "transpose" => Op::Transpose { perm: list(attributes)? },
        "reshape" => Op::Reshape { shape: shape(attributes)? },
        "random_uniform" => Op::RandomUniform { shape: shape(attributes)? },
        "random_normal" => Op::RandomNormal { shape: shape(attributes)? },
        "broadcast" => Op::Broadcast { shape: shape(attributes)? },
        "sum_to" => Op::SumTo { shape: shape(attributes)? },
        "concat" => Op::Concat { axis: axis(attributes)? },
        "stack" => Op::Stack { axis: axis(attributes)? },
        "gather" => Op::Gather { axis: axis(attributes)? },
        "scatter_add" => {
            let (to, at) = shaped(attributes)?;
            Op::ScatterAdd { shape: to, axis: axis(at)? }
        }
        "cumsum" => {
            let (reverse, axis) = flagged("reverse,", attributes)?;
            Op::CumSum { axis, reverse }
        }
        "sort" | "argsort" | "sort_by" => {
            let (descending, axis) = flagged("descending,", attributes)?;
            match name {
                "sort" => Op::Sort { axis, descending },
                "argsort" => Op::ArgSort { axis, descending },
                _ => Op::SortBy { axis, descending },
            }
        }
        "index" => Op::Index { items: items(attributes)? },
        "unindex" => {
            let (to, at) = shaped(attributes)?;
            Op::Unindex { shape: to, items: items(at)? }
        }
        "irfft" => Op::Irfft { n: value(attributes)? },
        "one_hot" => Op::OneHot { classes: value(attributes)? },
        _ => match Reduction::ALL.into_iter().find(|by| by.name() == name) {
            Some(by) => Op::Reduce(by, Some(axis(attributes)?)),
            None => return sliding(name, attributes),
        },
    })
}

/// Operators with windows over one or two spatial axes.
fn sliding(name: &str, attributes: &str) -> Result<Op, String> {
    let rank = if name.contains("1d") { 1 } else { 2 };
    Ok(match name.replacen(if rank == 1 { "1d" } else { "2d" }, "", 1).as_str() {
        _ if !name.contains(['1', '2']) => return Err("unknown name, or attributes too many,".to_owned()),
        "conv" => Op::Conv(Conv::parse(attributes, rank)?),
        "conv_transpose" => {
            let (shape, conv) = shaped(attributes)?;
            Op::ConvTranspose { shape, conv: Conv::parse(conv, rank)? }
        }
        "conv_kernel" => {
            let (shape, conv) = shaped(attributes)?;
            Op::ConvKernel { shape, conv: Conv::parse(conv, rank)? }
        }
        "max_pool" => Op::MaxPool(Pool::parse(attributes, rank)?),
        "avg_pool" => Op::AvgPool(Pool::parse(attributes, rank)?),
        "patches" => Op::Patches(Pool::parse(attributes, rank)?),
        "unpatches" => {
            let (shape, pool) = shaped(attributes)?;
            Op::Unpatches { shape, pool: Pool::parse(pool, rank)? }
        }
        _ => return Err("unknown name".to_owned()),
    })
}

/// A shape and what follows it.
fn shaped(attributes: &str) -> Result<(Shape, &str), String> {
    let (to, rest) = attributes.split_once(';').ok_or("`;` is missing")?;
    Ok((shape(to)?, rest))
}

fn value<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    let text = text.trim();
    text.parse().map_err(|_| format!("`{text}` is not a number that fits"))
}

fn list<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(',').map(value).collect()
}

fn shape(text: &str) -> Result<Shape, String> {
    let inner = text.trim().strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    let inner = inner.ok_or_else(|| format!("`{text}` is not a shape"))?;
    Ok(Shape::new(&list::<usize>(inner)?))
}

fn axis(text: &str) -> Result<usize, String> {
    value(text.trim().strip_prefix("axis=").ok_or("`axis=` is missing")?)
}

/// An axis, and whether a word stands before it.
fn flagged(word: &str, attributes: &str) -> Result<(bool, usize), String> {
    match attributes.trim().strip_prefix(word) {
        Some(at) => Ok((true, axis(at)?)),
        None => Ok((false, axis(attributes)?)),
    }
}

fn items(text: &str) -> Result<Vec<AxisIndex>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let item = |text: &str| match text.split(':').collect::<Vec<_>>()[..] {
        [at] => Ok(AxisIndex::At(value(at)?)),
        [start, len, step] => {
            Ok(AxisIndex::Slice { start: value(start)?, len: value(len)?, step: value(step)? })
        }
        _ => Err(format!("`{text}` is neither a position nor `start:len:step`")),
    };
    text.split(',').map(item).collect()
}
