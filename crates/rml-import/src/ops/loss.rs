//! Losses of classes.

use rml_ir::op::{Compare, Op, Reduction, Unary};

use super::Table;
use super::layout::last_axis;
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::model::Attr;
use crate::refuse::{Res, refuse};

pub(super) const TABLE: Table = &[
    ("NegativeLogLikelihoodLoss", |b, c| Ok(vec![likelihood(b, c, c.arg(0)?)?])),
    ("SoftmaxCrossEntropyLoss", cross_entropy),
];

fn cross_entropy(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (turned, back) = last_axis(b, call.arg(0)?, 1)?;
    let logs = b.apply(Op::LogSoftmax, &[&turned], turned.elem)?;
    let logs = b.transpose(&logs, &back)?;
    Ok(vec![likelihood(b, call, &logs)?, logs])
}

/// The negative of the logarithm of each target's probability, by its weight.
fn likelihood(b: &mut Builder<'_>, call: &Call<'_>, logs: &Val) -> Res<Val> {
    let target = call.arg(1)?;
    let (rows, _) = last_axis(b, logs, 1)?;
    let zero = b.int(0);
    let ignored = if let Some(Attr::Int(i)) = call.attr("ignore_index") {
        let ignored = b.int(*i);
        Some(b.compare(Compare::Eq, target, &ignored)?)
    } else {
        None
    };
    let at = match &ignored {
        Some(ignored) => b.choose(ignored, &zero, target)?,
        None => target.clone(),
    };
    let picked = b.apply(Op::Pick, &[&rows, &at], logs.elem)?;
    let loss = b.unary(Unary::Neg, &picked)?;
    let one = b.num(1.0);
    let weight = match call.opt(2) {
        Some(weight) => b.apply(Op::Gather { axis: 0 }, &[weight, &at], weight.elem)?,
        None => b.broadcast(&one, &loss.dims())?,
    };
    let weight = match &ignored {
        Some(ignored) => {
            let nothing = b.convert(&zero, Elem::F32)?;
            b.choose(ignored, &nothing, &weight)?
        }
        None => weight,
    };
    let loss = if call.opt(2).is_some() || ignored.is_some() { b.mul(&loss, &weight)? } else { loss };
    let axes: Vec<usize> = (0..loss.rank()).collect();
    match call.text("reduction", "mean") {
        "none" => Ok(loss),
        "sum" => b.fold(Reduction::Sum, &loss, &axes, false),
        "mean" => {
            let (sum, total) = (
                b.fold(Reduction::Sum, &loss, &axes, false)?,
                b.fold(Reduction::Sum, &weight, &axes, false)?,
            );
            b.div(&sum, &total)
        }
        other => refuse(format!("`reduction` is {other}")),
    }
}
