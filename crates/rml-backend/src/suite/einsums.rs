//! Contractions from a grammar of subscripts:
//!
//! ```text
//! contraction = operand ["," operand] "->" result
//! operand     = labels, none twice
//! result      = labels, none twice, each of an operand
//! ```
//!
//! So a label may be summed over, kept, or shared by the operands, in any order, and an operand may have no labels.

use rml_ir::Shape;
use rml_ir::op::{Einsum, Op};

use super::dice::Dice;

/// The length of an axis by its label: one length is 1, and one length occurs twice.
const LENGTHS: [(char, usize); 7] = [('b', 3), ('a', 5), ('q', 1), ('i', 2), ('Z', 3), ('k', 4), ('c', 6)];

/// `count` random contractions, with the shapes of their operands.
pub(super) fn drawn(count: usize) -> Vec<(Op, Vec<Shape>)> {
    let mut dice = Dice::new("contractions");
    let mut draw = || {
        let ranks = if dice.below(5) == 0 { vec![dice.below(4)] } else { vec![dice.below(5), dice.below(5)] };
        let operands: Vec<Vec<(char, usize)>> = ranks
            .into_iter()
            .map(|rank| {
                // The set of labels is often small, so operands often share labels.
                let mut labels = LENGTHS[..5].to_vec();
                if dice.flag() {
                    labels = LENGTHS.to_vec();
                }
                shuffle(&mut labels, &mut dice);
                labels.truncate(rank);
                labels
            })
            .collect();
        let labels: Vec<Vec<char>> =
            operands.iter().map(|axes| axes.iter().map(|(label, _)| *label).collect()).collect();
        let shape = |axes: &Vec<(char, usize)>| Shape::new(&axes.iter().map(|(_, n)| *n).collect::<Vec<_>>());
        (Op::Einsum(contraction(&labels, &mut dice)), operands.iter().map(shape).collect())
    };
    (0..count).map(|_| draw()).collect()
}

/// A contraction of operands with these dimensions.
pub(super) fn of(dims: &[&[usize]], dice: &mut Dice) -> Op {
    let mut free: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    shuffle(&mut free, dice);
    // The labels in use, with their lengths.
    let mut known: Vec<(char, usize)> = Vec::new();
    let mut operands: Vec<Vec<char>> = Vec::new();
    for dims in dims {
        let mut labels: Vec<char> = Vec::new();
        for n in *dims {
            let fits: Vec<char> =
                known.iter().filter(|(label, of)| of == n && !labels.contains(label)).map(|k| k.0).collect();
            let shared = !fits.is_empty() && dice.below(4) > 0;
            let fresh = |free: &mut Vec<char>| free.pop().unwrap_or('a');
            labels.push(if shared { fits[dice.below(fits.len())] } else { fresh(&mut free) });
        }
        known.extend(labels.iter().copied().zip(dims.iter().copied()));
        operands.push(labels);
    }
    Op::Einsum(contraction(&operands, dice))
}

/// A contraction whose result has some of the labels, in some order.
fn contraction(operands: &[Vec<char>], dice: &mut Dice) -> Einsum {
    let mut result: Vec<char> = Vec::new();
    for label in operands.iter().flatten() {
        if !result.contains(label) {
            result.push(*label);
        }
    }
    // Most labels of only one operand are kept, as in real programs.
    result.retain(|label| {
        let shared = operands.iter().all(|o| o.contains(label));
        dice.below(4) >= if shared { 2 } else { 1 }
    });
    if dice.flag() {
        shuffle(&mut result, dice);
    }
    let operands: Vec<&[char]> = operands.iter().map(Vec::as_slice).collect();
    Einsum::of(&operands, &result)
}

fn shuffle<T>(items: &mut [T], dice: &mut Dice) {
    for i in (1..items.len()).rev() {
        items.swap(i, dice.below(i + 1));
    }
}
