//! Products.

use rml_ir::DType;
use rml_ir::op::{Einsum, Op};

use super::Table;
use super::pointwise::converted;
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::refuse::{Refusal, Res};

pub(super) const TABLE: Table = &[
    ("MatMul", |b, c| Ok(vec![product(b, c.arg(0)?, c.arg(1)?)?])),
    ("Gemm", gemm),
    ("Einsum", einsum),
    ("FusedMatMul", fused),
];

/// A matrix product, of integers in numbers: exact up to 2^24.
pub(super) fn product(b: &mut Builder<'_>, x: &Val, y: &Val) -> Res<Val> {
    if x.dtype() == DType::Int && y.dtype() == DType::Int {
        let (p, q) = (b.convert(x, Elem::F32)?, b.convert(y, Elem::F32)?);
        let product = b.apply(Op::MatMul, &[&p, &q], Elem::F32)?;
        return converted(b, &product, x.elem);
    }
    b.apply(Op::MatMul, &[x, y], x.elem)
}

fn swapped(b: &mut Builder<'_>, x: &Val, swap: bool) -> Res<Val> {
    if !swap || x.rank() < 2 {
        return Ok(x.clone());
    }
    let mut perm: Vec<usize> = (0..x.rank()).collect();
    perm.swap(x.rank() - 1, x.rank() - 2);
    b.transpose(x, &perm)
}

fn scaled(b: &mut Builder<'_>, x: Val, factor: f64) -> Res<Val> {
    if (factor - 1.0).abs() < f64::EPSILON {
        return Ok(x);
    }
    let factor = b.num(factor);
    let factor = converted(b, &factor, x.elem)?;
    b.mul(&factor, &x)
}

/// `alpha A' B' + beta C`
fn gemm(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = swapped(b, call.arg(0)?, call.flag("transA", false))?;
    let y = swapped(b, call.arg(1)?, call.flag("transB", false))?;
    let made = product(b, &x, &y)?;
    let made = scaled(b, made, call.float("alpha", 1.0))?;
    let beta = call.float("beta", 1.0);
    Ok(vec![match call.opt(2) {
        Some(c) if beta != 0.0 => {
            let c = scaled(b, c.clone(), beta)?;
            b.add(&made, &c)?
        }
        _ => made,
    }])
}

fn fused(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = swapped(b, call.arg(0)?, call.flag("transA", false))?;
    let y = swapped(b, call.arg(1)?, call.flag("transB", false))?;
    let made = product(b, &x, &y)?;
    Ok(vec![scaled(b, made, call.float("alpha", 1.0))?])
}

/// The labels of operands and result; `...` gets letters of its own.
fn labels(text: &str, ranks: &[usize]) -> Res<(Vec<Vec<char>>, Vec<char>)> {
    let bad = || Refusal::malformed(format!("the equation `{text}` does not fit its operands"));
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = text.split_once("->").map_or((text.as_str(), None), |(l, r)| (l, Some(r)));
    let free: Vec<char> = ('a'..='z').chain('A'..='Z').filter(|c| !text.contains(*c)).collect();
    let mut widest = 0;
    let parts: Vec<&str> = left.split(',').collect();
    if parts.len() != ranks.len() {
        return Err(bad());
    }
    for (part, rank) in parts.iter().zip(ranks) {
        if part.contains("...") {
            widest = widest.max(rank.checked_sub(part.len() - 3).ok_or_else(bad)?);
        }
    }
    let dots = free.get(..widest).ok_or_else(bad)?;
    let spell = |part: &str, many: usize| -> Vec<char> {
        let many: String = dots[widest - many.min(widest)..].iter().collect();
        part.replace("...", &many).chars().collect()
    };
    let mut operands = Vec::new();
    for (part, rank) in parts.iter().zip(ranks) {
        operands.push(spell(part, rank.saturating_sub(part.len().saturating_sub(3))));
    }
    let result = match right {
        Some(right) => spell(right, widest),
        None => {
            let all: Vec<char> = operands.concat();
            let mut once: Vec<char> = all
                .iter()
                .copied()
                .filter(|c| !dots.contains(c) && all.iter().filter(|d| *d == c).count() == 1)
                .collect();
            once.sort_unstable();
            dots.iter().copied().chain(once).collect()
        }
    };
    Ok((operands, result))
}

fn einsum(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let vals = call.all()?;
    let ranks: Vec<usize> = vals.iter().map(|v| v.rank()).collect();
    let (mut labels, result) = labels(call.text("equation", ""), &ranks)?;
    let mut vals: Vec<Val> = vals.into_iter().cloned().collect();
    for (val, of) in vals.iter_mut().zip(&mut labels) {
        *val = b.convert(val, Elem::F32)?;
        diagonal(b, val, of)?;
    }
    let elem = call.arg(0)?.elem;
    while vals.len() > 1 {
        let rest: Vec<char> = labels[2..].concat();
        let kept: Vec<char> = if vals.len() == 2 {
            result.clone()
        } else {
            let mut both: Vec<char> = labels[..2].concat();
            both.dedup();
            let mut kept: Vec<char> = Vec::new();
            both.into_iter().filter(|c| rest.contains(c) || result.contains(c)).for_each(|c| {
                if !kept.contains(&c) {
                    kept.push(c);
                }
            });
            kept
        };
        let op = contraction(&[&labels[0], &labels[1]], &kept)?;
        let made = b.apply(op, &[&vals[0], &vals[1]], Elem::F32)?;
        vals.splice(..2, [made]);
        labels.splice(..2, [kept]);
    }
    let (Some(val), Some(of)) = (vals.first(), labels.first()) else {
        return Err(Refusal::malformed("it has no operand"));
    };
    let made =
        if *of == result { val.clone() } else { b.apply(contraction(&[of], &result)?, &[val], Elem::F32)? };
    Ok(vec![converted(b, &made, elem)?])
}

fn contraction(operands: &[&[char]], result: &[char]) -> Res<Op> {
    let words: Vec<String> = operands.iter().map(|l| l.iter().collect()).collect();
    let text = format!("{}->{}", words.join(","), result.iter().collect::<String>());
    Einsum::parse(&text).map(Op::Einsum).map_err(Refusal::malformed)
}

/// Leaves of axes with the same letter the diagonal.
fn diagonal(b: &mut Builder<'_>, val: &mut Val, labels: &mut Vec<char>) -> Res<()> {
    while let Some((i, j)) =
        (0..labels.len()).find_map(|j| Some((labels[..j].iter().position(|c| *c == labels[j])?, j)))
    {
        let n = val.dims()[i];
        let rest: Vec<usize> = (0..labels.len()).filter(|k| *k != i && *k != j).collect();
        let perm: Vec<usize> = rest.iter().copied().chain([i, j]).collect();
        let turned = b.transpose(val, &perm)?;
        let mut dims: Vec<usize> = rest.iter().map(|&k| val.dims()[k]).collect();
        dims.push(n * n);
        let flat = b.reshape(&turned, &dims)?;
        let step = b.int(i64::try_from(n + 1).unwrap_or(i64::MAX));
        let ticks = b.ticks(n)?;
        let at = b.mul(&ticks, &step)?;
        *val = b.apply(Op::Gather { axis: rest.len() }, &[&flat, &at], val.elem)?;
        let letter = labels[i];
        *labels = rest.iter().map(|&k| labels[k]).chain([letter]).collect();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::labels;

    #[test]
    fn dots_are_letters_of_their_own() {
        let text = |(operands, result): (Vec<Vec<char>>, Vec<char>)| {
            let words: Vec<String> = operands.into_iter().map(|l| l.into_iter().collect()).collect();
            format!("{}->{}", words.join(","), result.into_iter().collect::<String>())
        };
        assert_eq!(text(labels("...ij,...jk->...ik", &[3, 4]).unwrap()), "bij,abjk->abik");
        assert_eq!(text(labels("ij,jk", &[2, 2]).unwrap()), "ij,jk->ik");
        assert!(labels("ij->i", &[2, 2]).is_err());
        assert!(labels("...ij->i", &[1]).is_err());
    }
}
