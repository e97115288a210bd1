//! Two arithmetic operators as one, where the first result is an operand of the second: the intermediate value is
//! neither written nor read.

use rml_ir::op::{Binary, Number, Op};
use rml_kernels::Task;

/// Elements that are computed together.
const BLOCK: usize = 16;

// By a macro and by index, since closures and iterators over arrays are not always inlined into a function this large.

/// The whole blocks of the first `n` elements.
#[inline(always)]
fn blocks<N>(x: &[N], n: usize) -> &[[N; BLOCK]] {
    x[..n].as_chunks().0
}

/// Fills a row, block by block. The last block ends where the row does, so that some elements may be computed twice.
/// All lengths are compared before the loops, which compare none; there is one for each way in which operands have one
/// element.
macro_rules! triples {
    ($operands:ident, $out:ident, |$x:ident, $y:ident, $z:ident| $value:expr) => {{
        let ([a, b, c], out) = ($operands, $out);
        let n = out.len();
        if n < BLOCK {
            for (i, out) in out.iter_mut().enumerate() {
                let $x = a[if a.len() == 1 { 0 } else { i }];
                let $y = b[if b.len() == 1 { 0 } else { i }];
                let $z = c[if c.len() == 1 { 0 } else { i }];
                *out = $value;
            }
            return;
        }
        macro_rules! fill {
            ($block:expr, $p:expr, $q:expr, $r:expr) => {{
                let (p, q, r, block) = ($p, $q, $r, $block);
                let mut all = *block;
                for j in 0..BLOCK {
                    let ($x, $y, $z) = (p[j], q[j], r[j]);
                    all[j] = $value;
                }
                *block = all;
            }};
        }
        macro_rules! blocks {
            ($i:ident => $p:expr, $q:expr, $r:expr) => {
                for ($i, block) in out.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
                    fill!(block, $p, $q, $r);
                }
            };
        }
        match (a, b, c) {
            ([x], [y], [z]) => {
                let ($x, $y, $z) = (*x, *y, *z);
                out.fill($value);
                return;
            }
            ([x], [y], _) => {
                let (x, y, c) = ([*x; BLOCK], [*y; BLOCK], blocks(c, n));
                blocks!(i => x, y, c[i]);
            }
            ([x], _, [z]) => {
                let (x, b, z) = ([*x; BLOCK], blocks(b, n), [*z; BLOCK]);
                blocks!(i => x, b[i], z);
            }
            ([x], _, _) => {
                let (x, b, c) = ([*x; BLOCK], blocks(b, n), blocks(c, n));
                blocks!(i => x, b[i], c[i]);
            }
            (_, [y], [z]) => {
                let (a, y, z) = (blocks(a, n), [*y; BLOCK], [*z; BLOCK]);
                blocks!(i => a[i], y, z);
            }
            (_, [y], _) => {
                let (a, y, c) = (blocks(a, n), [*y; BLOCK], blocks(c, n));
                blocks!(i => a[i], y, c[i]);
            }
            (_, _, [z]) => {
                let (a, b, z) = (blocks(a, n), blocks(b, n), [*z; BLOCK]);
                blocks!(i => a[i], b[i], z);
            }
            _ => {
                let (a, b, c) = (blocks(a, n), blocks(b, n), blocks(c, n));
                blocks!(i => a[i], b[i], c[i]);
            }
        }
        if !n.is_multiple_of(BLOCK)
            && let Some(block) = out.last_chunk_mut::<BLOCK>()
        {
            let last = |x: &[N]| x.last_chunk::<BLOCK>().map_or([x[0]; BLOCK], |x| *x);
            fill!(block, last(a), last(b), last(c));
        }
    }};
}

/// An arithmetic operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
}

impl Arith {
    pub(super) fn of(op: &Op) -> Option<Self> {
        let Op::Binary(f) = op else { return None };
        match f {
            Binary::Add => Some(Self::Add),
            Binary::Sub => Some(Self::Sub),
            Binary::Mul => Some(Self::Mul),
            Binary::Div => Some(Self::Div),
            Binary::Mod | Binary::Pow | Binary::Minimum | Binary::Maximum => None,
            Binary::Atan2 | Binary::LogAddExp => None,
        }
    }

    /// Whether operands may change places.
    fn commutes(self) -> bool {
        matches!(self, Self::Add | Self::Mul)
    }
}

/// `(a first b) second c`, or `c second (a first b)` if it is swapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    first: Arith,
    second: Arith,
    swapped: bool,
}

#[cfg(test)]
impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let order = if self.swapped { " of the third and it" } else { "" };
        let name = |arith: Arith| format!("{arith:?}").to_lowercase();
        write!(f, "pair {} {}{order}", name(self.first), name(self.second))
    }
}

impl Pair {
    /// The pair whose second operator takes what the first one gives as its operand `at`, 0 or 1. None for what there
    /// is no loop for.
    pub(super) fn new(first: Arith, second: Arith, at: usize) -> Option<Self> {
        let swapped = at == 1 && !second.commutes();
        (!(swapped && second == Arith::Div)).then_some(Self { first, second, swapped })
    }

    /// Computes rows; an operand has as many elements as the result, or one.
    #[inline(always)]
    pub(super) fn compute<N: Number>(self, operands: [&[N]; 3], out: &mut [N]) {
        macro_rules! by {
            ($first:tt) => {
                match (self.second, self.swapped) {
                    (Arith::Add, _) => triples!(operands, out, |x, y, z| (x $first y) + z),
                    (Arith::Sub, false) => triples!(operands, out, |x, y, z| (x $first y) - z),
                    (Arith::Sub, true) => triples!(operands, out, |x, y, z| z - (x $first y)),
                    (Arith::Mul, _) => triples!(operands, out, |x, y, z| (x $first y) * z),
                    (Arith::Div, _) => triples!(operands, out, |x, y, z| (x $first y) / z),
                }
            };
        }
        match self.first {
            Arith::Add => by!(+),
            Arith::Sub => by!(-),
            Arith::Mul => by!(*),
            Arith::Div => by!(/),
        }
    }
}

/// Rows of a pair that is no link of a chain.
pub(super) struct Rows<'a, N> {
    pub(super) pair: Pair,
    pub(super) operands: [&'a [N]; 3],
    pub(super) out: &'a mut [N],
}

impl<N: Number> Task for Rows<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.pair.compute(self.operands, self.out);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// All pairs that there are.
    pub(in super::super) fn all() -> Vec<Pair> {
        let ops = [Arith::Add, Arith::Sub, Arith::Mul, Arith::Div];
        let pairs = ops.iter().flat_map(|first| ops.iter().map(move |second| (*first, *second)));
        pairs.flat_map(|(first, second)| [0, 1].map(|at| Pair::new(first, second, at))).flatten().collect()
    }

    fn apply(op: Arith, x: f32, y: f32) -> f32 {
        match op {
            Arith::Add => x + y,
            Arith::Sub => x - y,
            Arith::Mul => x * y,
            Arith::Div => x / y,
        }
    }

    #[test]
    fn pairs_have_the_bits_of_their_operators() {
        let number = |i: usize| (i * 37 % 101) as f32 / 8.0 - 5.0;
        for pair in all() {
            for n in [1, 2, 15, 16, 17, 32, 50] {
                for kinds in 0..8 {
                    let rows: Vec<Vec<f32>> = (0..3)
                        .map(|k| {
                            (0..if kinds >> k & 1 == 0 { n } else { 1 }).map(|i| number(i * 3 + k)).collect()
                        })
                        .collect();
                    let at = |k: usize, i: usize| rows[k][if rows[k].len() == 1 { 0 } else { i }];
                    let wanted = |i: usize| {
                        let first = apply(pair.first, at(0, i), at(1, i));
                        let (x, y) = if pair.swapped { (at(2, i), first) } else { (first, at(2, i)) };
                        apply(pair.second, x, y).to_bits()
                    };
                    let mut out = vec![0.0; n];
                    pair.compute([&rows[0], &rows[1], &rows[2]], &mut out);
                    let found: Vec<u32> = out.iter().map(|x| x.to_bits()).collect();
                    assert_eq!(found, (0..n).map(wanted).collect::<Vec<u32>>(), "{pair:?}, {n}, {kinds}");
                }
            }
        }
    }
}
