//! Sums of rows, with places.

use rml_ir::op::Number;
use rml_kernels::{Direction, Term};

use super::arena::{Arena, Split};
use super::code::{Instr, Summand};
use super::packs::Packs;
use super::scalar::Spot;

/// A sum of rows, with places.
#[derive(Debug)]
pub(super) struct Row {
    out: usize,
    width: usize,
    terms: [Placed; Summand::MOST],
    count: usize,
}

/// A summand, with places.
#[derive(Clone, Copy, Debug)]
enum Placed {
    Row(usize),
    Product { left: usize, k: usize, matrix: usize, pack: Option<usize> },
}

impl Row {
    /// The sum that an instruction computes, at a tick.
    #[inline]
    pub(super) fn new(summands: &[Summand], instr: &Instr, spots: &[Spot], t: usize) -> Self {
        let (mut terms, mut at) = ([Placed::Row(0); Summand::MOST], 0);
        let place = |arg: usize| spots[instr.args[arg]].get(t);
        for (term, summand) in terms.iter_mut().zip(summands) {
            *term = match summand {
                Summand::Row => Placed::Row(place(at)),
                Summand::Product(k, pack) => {
                    Placed::Product { left: place(at), k: *k, matrix: place(at + 1), pack: *pack }
                }
            };
            at += summand.args();
        }
        Self { out: spots[instr.out].get(t), width: instr.width, terms, count: summands.len() }
    }

    /// Computes it in a window of that many ticks.
    #[inline]
    pub(super) fn compute<N: Number>(
        &self,
        arena: &mut Arena<N>,
        packs: &mut Packs<'_, N>,
        ticks: usize,
        direction: Direction,
    ) {
        let (n, count) = (self.width, self.count.min(Summand::MOST));
        let split = Split::new(&mut arena.nums, self.out, n);
        for placed in &self.terms[..count] {
            if let Placed::Product { k, matrix, pack: Some(pack), .. } = *placed {
                packs.prepare(pack, ticks, (k, n), || split.row(matrix, k * n));
            }
        }
        let mut terms = [Term::row(&[]); Summand::MOST];
        for (i, placed) in self.terms[..count].iter().enumerate() {
            terms[i] = match *placed {
                Placed::Row(at) => Term::row(split.row(at, n)),
                Placed::Product { left, k, matrix, pack } => {
                    let left = split.row(left, k);
                    match pack.and_then(|pack| packs.packed(pack)) {
                        Some(packed) => Term::packed(left, packed),
                        None => Term::product(left, n, split.row(matrix, k * n)),
                    }
                }
            };
        }
        N::row(&terms[..count], direction, split.out);
    }
}
