//! The labels of `einsum`, and the contractions of two operands that implement it.
//!
//! Operands are contracted from left to right: the first with the second, the result with the third, and so on. A step
//! sums over the labels that occur in no later operand and not in the result. It keeps the other labels in the order in
//! which its operands first name them; the last step reorders them as in the result.

use std::ops::Range;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::DType;
use rml_ir::op::{Einsum, Op};

use super::{Operand, Partial, Rule, Step, steps};
use crate::hir::{ExprId, ExprKind};
use crate::instance::InstanceId;
use crate::statics::{Evaluated, Failure};
use crate::typed::Typed;

/// The labels of one operand, or of the result, as written.
struct Labels {
    letters: Vec<char>,
    /// The number of letters before `..`, if `..` is written.
    rest: Option<usize>,
    /// The range of the labels in the text.
    place: Range<usize>,
}

/// All labels of a contraction, as written.
struct Written {
    operands: Vec<Labels>,
    result: Labels,
}

/// An error in the text of the labels, with its range.
type Wrong = (Range<usize>, String);

impl Labels {
    fn parse(text: &str, place: Range<usize>) -> Result<Labels, Wrong> {
        let mut labels = Labels { letters: Vec::new(), rest: None, place: place.clone() };
        let mut chars = text[place.clone()].char_indices().map(|(i, c)| (place.start + i, c)).peekable();
        while let Some((at, c)) = chars.next() {
            let here = at..at + c.len_utf8();
            match c {
                ' ' => {}
                '.' if labels.rest.is_none() && chars.next_if(|(_, c)| *c == '.').is_some() => {
                    labels.rest = Some(labels.letters.len());
                }
                _ if !c.is_ascii_alphabetic() => {
                    let what = "labels are letters, and one `..` for axes without a label";
                    return Err((here, format!("`{c}` is no label here: {what}")));
                }
                _ if labels.letters.contains(&c) => {
                    return Err((here, format!("the label `{c}` stands twice in `{}`", text[place].trim())));
                }
                _ => labels.letters.push(c),
            }
        }
        Ok(labels)
    }

    /// The labels of all axes, with `rest` in place of `..`.
    fn all(&self, rest: &[char]) -> Vec<char> {
        let (before, behind) = self.letters.split_at(self.rest.unwrap_or(0));
        match self.rest {
            Some(_) => [before, rest, behind].concat(),
            None => self.letters.clone(),
        }
    }

    /// The number of axes of an operand without a label. None if the operand has too few axes, or too many.
    fn unnamed(&self, rank: usize) -> Option<usize> {
        rank.checked_sub(self.letters.len()).filter(|n| *n == 0 || self.rest.is_some())
    }
}

impl Written {
    fn parse(text: &str) -> Result<Written, Wrong> {
        let arrow = text
            .find("->")
            .ok_or_else(|| (0..text.len(), "`->` and the labels of the result are missing".to_owned()))?;
        let mut operands = Vec::new();
        let mut start = 0;
        for part in text[..arrow].split(',') {
            operands.push(Labels::parse(text, start..start + part.len())?);
            start += part.len() + 1;
        }
        let result = Labels::parse(text, arrow + 2..text.len())?;
        let known = |c: &char| operands.iter().any(|o| o.letters.contains(c));
        if let Some(c) = result.letters.iter().find(|c| !known(c)) {
            let at = result.place.start + text[result.place.clone()].find(*c).unwrap_or(0);
            return Err((at..at + 1, format!("no operand has the label `{c}` of the result")));
        }
        if result.rest.is_some() && operands.iter().all(|o| o.rest.is_none()) {
            return Err((result.place, "no operand has the `..` of the result".to_owned()));
        }
        Ok(Written { operands, result })
    }

    /// `n` unused letters for axes without a label; an operand with fewer such axes uses the last ones.
    fn spare(&self, n: usize) -> Option<Vec<char>> {
        let used = |c: &char| self.operands.iter().any(|o| o.letters.contains(c));
        let spare: Vec<char> = ('a'..='z').chain('A'..='Z').filter(|c| !used(c)).take(n).collect();
        (spare.len() == n).then_some(spare)
    }
}

impl Typed<'_> {
    /// The contraction of operands that the text `labels` describes.
    pub(super) fn einsum(
        &self,
        id: InstanceId,
        labels: Option<&ExprId>,
        operands: &[Operand],
        span: Span,
    ) -> Evaluated<(Rule, Partial)> {
        let labels = &self.tree.node(id).exprs[*labels.ok_or(Failure::Unknown)?];
        let inside = |place: Range<usize>| {
            // The position after the quote. An empty range is shown as the whole text.
            let start = labels.span.range().start + 1;
            if place.is_empty() {
                labels.span
            } else {
                Span::new(labels.span.file, start + place.start, start + place.end)
            }
        };
        let bad = |(place, message): Wrong| {
            Diagnostic::error(codes::STATIC_VALUE, "these are not labels of a contraction")
                .label(inside(place), message)
                .note("expected a letter for each axis of each operand and of the result, such as \"bij,bjk->bik\"")
        };
        let ExprKind::Text(text) = &labels.kind else {
            return Err(bad((0..0, "this is not a text in quotes".to_owned())).into());
        };
        let written = Written::parse(text).map_err(bad)?;
        let n = written.operands.len();
        if n != operands.len() {
            return Err(Diagnostic::error(codes::SHAPE_MISMATCH, "the labels are not those of the operands")
                .label(span, format!("{} operands", operands.len()))
                .label(labels.span, format!("labels of {n}"))
                .note(format!(
                    "expected as many labels, separated by commas, as operands: {}",
                    operands.len()
                ))
                .into());
        }
        let shapes: Option<Vec<&[usize]>> =
            operands.iter().map(|o| o.0.shape.as_ref().map(rml_ir::Shape::dims)).collect();
        let Some(shapes) = shapes else {
            return Ok((Rule::Form, Partial { dtype: DType::Num, shape: None }));
        };
        let mut unnamed = Vec::with_capacity(n);
        for ((own, dims), operand) in written.operands.iter().zip(&shapes).zip(operands) {
            unnamed.push(own.unnamed(dims.len()).ok_or_else(|| {
                let least = if own.rest.is_some() { "at least " } else { "" };
                Diagnostic::error(codes::SHAPE_MISMATCH, "an operand has other axes than its labels")
                    .label(operand.1, format!("this has {} axes", dims.len()))
                    .label(inside(own.place.clone()), format!("labels of {least}{} axes", own.letters.len()))
                    .note("expected a letter for each axis; `..` stands for axes without a label")
            })?);
        }
        let most = unnamed.iter().copied().max().unwrap_or(0);
        let rest = written.spare(most).ok_or_else(|| {
            bad((0..0, format!("with {most} more axes behind `..` there are more labels than letters")))
        })?;
        let all: Vec<Vec<char>> =
            written.operands.iter().zip(&unnamed).map(|(o, n)| o.all(&rest[most - n..])).collect();
        lengths(&all, &shapes, operands, &rest)?;
        steps(pairwise(&all, &written.result.all(&rest)), "einsum", operands, span)
    }
}

/// Checks that axes with the same label have the same length.
fn lengths(all: &[Vec<char>], shapes: &[&[usize]], operands: &[Operand], rest: &[char]) -> Evaluated<()> {
    let mut known: Vec<(char, usize, usize)> = Vec::new();
    for (i, (labels, dims)) in all.iter().zip(shapes).enumerate() {
        for (&c, &len) in labels.iter().zip(*dims) {
            match known.iter().find(|(other, ..)| *other == c) {
                Some(&(_, first, of)) if first != len => {
                    let axis =
                        if rest.contains(&c) { "an axis of `..`".to_owned() } else { format!("`{c}`") };
                    let message = format!("{axis} has two lengths, {first} and {len}");
                    return Err(Diagnostic::error(codes::SHAPE_MISMATCH, message)
                        .label(operands[i].1, format!("this has shape {:?}", dims))
                        .label(operands[of].1, format!("this has shape {:?}", shapes[of]))
                        .note(format!("expected the length {first} for {axis}, found {len}"))
                        .into());
                }
                Some(_) => {}
                None => known.push((c, len, i)),
            }
        }
    }
    Ok(())
}

/// A sequence of contractions, each of at most two operands.
fn pairwise(all: &[Vec<char>], result: &[char]) -> Vec<Step> {
    let n = all.len();
    if n < 2 {
        let op = Op::Einsum(Einsum::of(&[&all[0]], result));
        return vec![Step { op, args: vec![0] }];
    }
    let mut steps = Vec::with_capacity(n - 1);
    let (mut left, mut at) = (all[0].clone(), 0);
    for (i, right) in all.iter().enumerate().skip(1) {
        let needed = |c: &char| result.contains(c) || all[i + 1..].iter().any(|o| o.contains(c));
        let new = right.iter().filter(|c| !left.contains(c));
        let to: Vec<char> = match i + 1 == n {
            true => result.to_vec(),
            false => left.iter().chain(new).copied().filter(needed).collect(),
        };
        steps.push(Step { op: Op::Einsum(Einsum::of(&[&left, right], &to)), args: vec![at, i] });
        (left, at) = (to, n + i - 1);
    }
    steps
}
