//! The static arguments of convolutions, pooling and patches.

use rml_base::Span;
use rml_ir::op::{Conv, ConvAxis, Op, Pool, PoolAxis};
use rml_ir::typed::StaticValue;

use super::{Operand, Partial, Rule, apply};
use crate::builtins::{self, Builtin};
use crate::hir::ExprId;
use crate::instance::InstanceId;
use crate::statics::{Evaluated, Failure, expected};
use crate::typed::Typed;

impl Typed<'_> {
    /// The rule of an operator that slides windows.
    pub(super) fn sliding(
        &self,
        id: InstanceId,
        which: Builtin,
        args: &[ExprId],
        operands: &[Operand],
        span: Span,
    ) -> Evaluated<(Rule, Partial)> {
        let shape = || match args.first() {
            Some(&arg) => self.statics.shape(&self.tree, &self.shapes, id, arg),
            None => Err(Failure::Unknown),
        };
        let op = match which {
            Builtin::Conv(form, rank) => {
                let first = if form == builtins::Conv::Forward { 2 } else { 3 };
                let conv = self.conv(id, args.get(first..).unwrap_or_default(), rank)?;
                match form {
                    builtins::Conv::Forward => Op::Conv(conv),
                    builtins::Conv::Transpose => Op::ConvTranspose { shape: shape()?, conv },
                    builtins::Conv::Kernel => Op::ConvKernel { shape: shape()?, conv },
                }
            }
            Builtin::Pool(form, rank) => {
                let first = if form == builtins::Pool::Unpatches { 2 } else { 1 };
                let pool = self.pool(id, args.get(first..).unwrap_or_default(), rank)?;
                match form {
                    builtins::Pool::Max => Op::MaxPool(pool),
                    builtins::Pool::Avg => Op::AvgPool(pool),
                    builtins::Pool::Patches => Op::Patches(pool),
                    builtins::Pool::Unpatches => Op::Unpatches { shape: shape()?, pool },
                }
            }
            _ => return Err(Failure::Unknown),
        };
        apply(op, which.name(), operands, span)
    }

    /// `stride, padding, dilation, groups`; arguments may be missing at the end.
    fn conv(&self, id: InstanceId, args: &[ExprId], rank: usize) -> Evaluated<Conv> {
        let strides = args.first().map_or(Ok(vec![1; rank]), |&arg| self.per_axis(id, arg, rank, 1))?;
        let paddings = args.get(1).map_or(Ok(vec![(0, 0); rank]), |&arg| self.paddings(id, arg, rank))?;
        let dilations = args.get(2).map_or(Ok(vec![1; rank]), |&arg| self.per_axis(id, arg, rank, 1))?;
        let groups = args.get(3).map_or(Ok(1), |&arg| self.size(id, arg))?;
        let axes = strides.into_iter().zip(paddings).zip(dilations);
        let axes = axes.map(|((stride, (lo, hi)), dilation)| ConvAxis { stride, lo, hi, dilation }).collect();
        Ok(Conv { axes, groups })
    }

    /// `size, stride, padding`; the last two may be missing.
    fn pool(&self, id: InstanceId, args: &[ExprId], rank: usize) -> Evaluated<Pool> {
        let &size = args.first().ok_or(Failure::Unknown)?;
        let sizes = self.per_axis(id, size, rank, 1)?;
        let strides = args.get(1).map_or(Ok(sizes.clone()), |&arg| self.per_axis(id, arg, rank, 1))?;
        let paddings = args.get(2).map_or(Ok(vec![(0, 0); rank]), |&arg| self.paddings(id, arg, rank))?;
        let axes = sizes.into_iter().zip(strides).zip(paddings);
        let axes = axes.map(|((size, stride), (lo, hi))| PoolAxis { size, stride, lo, hi }).collect();
        Ok(Pool { axes })
    }

    /// One int for all axes, or one for each; each is at least `least`.
    fn per_axis(&self, id: InstanceId, expr: ExprId, rank: usize, least: usize) -> Evaluated<Vec<usize>> {
        let value = self.statics.eval(&self.tree, &self.shapes, id, expr)?;
        let size = |v: &StaticValue| natural(v).filter(|&n| n >= least);
        let found = match &value {
            StaticValue::Array(items) if items.len() == rank => items.iter().map(size).collect(),
            one => size(one).map(|n| vec![n; rank]),
        };
        found.ok_or_else(|| {
            let each = if rank == 1 { "" } else { ", or a list of two for height and width" };
            self.misfit(id, expr, &format!("an int of at least {least}{each}"), &value)
        })
    }

    /// Zeros before and after each axis. A single int is used for all sides; one axis may have a pair; two axes may
    /// have a list of two ints or pairs.
    fn paddings(&self, id: InstanceId, expr: ExprId, rank: usize) -> Evaluated<Vec<(usize, usize)>> {
        let value = self.statics.eval(&self.tree, &self.shapes, id, expr)?;
        let pair = |v: &StaticValue| match v {
            StaticValue::Array(items) => match &items[..] {
                [lo, hi] => natural(lo).zip(natural(hi)),
                _ => None,
            },
            one => natural(one).map(|n| (n, n)),
        };
        let found: Option<Vec<_>> = match &value {
            StaticValue::Array(items) if rank == 2 && items.len() == 2 => items.iter().map(pair).collect(),
            StaticValue::Array(_) if rank == 2 => None,
            one => pair(one).map(|p| vec![p; rank]),
        };
        found.ok_or_else(|| {
            let what = match rank {
                1 => "an int that is not negative, or `[before, behind]`",
                _ => "an int that is not negative, or a list of two for height and width, each an int or `[before, behind]`",
            };
            self.misfit(id, expr, what, &value)
        })
    }

    fn misfit(&self, id: InstanceId, expr: ExprId, what: &str, value: &StaticValue) -> Failure {
        expected(what, value, self.tree.node(id).exprs[expr].span).into()
    }
}

/// The value of an int that is not negative.
fn natural(value: &StaticValue) -> Option<usize> {
    if let StaticValue::Int(i) = value { usize::try_from(*i).ok() } else { None }
}
