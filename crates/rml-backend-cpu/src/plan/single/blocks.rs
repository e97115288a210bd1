//! Chains over rows of the same length, run block by block instead of link by link. The next instruction, such as the
//! product of a dense layer, reads the first elements of a result first; they are available while the processor still
//! computes the others.

use rml_ir::op::Number;
use rml_kernels::Task;

use super::super::listed::Does;

/// Elements of a block: two of the widest vectors. With one, a block waits for the results of its own links; with four,
/// it was no quicker than link by link.
pub(super) const BLOCK: usize = 32;

/// An operand: where it is stored, and whether it has as many elements as the result, not one alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Operand {
    pub(in super::super) at: usize,
    pub(in super::super) is_row: bool,
}

/// A link over numbers, with places.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Piece {
    pub(in super::super) does: Does,
    pub(in super::super) out: usize,
    pub(in super::super) args: [Operand; 3],
    pub(in super::super) width: usize,
}

impl Piece {
    /// Whether it may run by blocks.
    fn is_blocked(&self) -> bool {
        use Does::{Add, CopyNum, Div, Flush, Mul, Neg, Pair, Sigmoid, Sub, Tanh};
        let is_known =
            matches!(self.does, Add | Sub | Mul | Div | Neg | Flush | CopyNum | Sigmoid | Tanh | Pair(_));
        is_known && self.width > BLOCK && self.width.is_multiple_of(BLOCK)
    }

    /// Whether it may take turns, block by block, with another one as wide: what one of them writes the other one reads
    /// or writes from the same place on, or not at all.
    fn takes_turns(&self, other: &Self) -> bool {
        let apart = |out: usize, Operand { at, is_row }: Operand| {
            let width = if is_row { self.width } else { 1 };
            is_row && at == out || at + width <= out || out + self.width <= at
        };
        let row = |at| Operand { at, is_row: true };
        apart(self.out, row(other.out))
            && other.reads().iter().all(|arg| apart(self.out, *arg))
            && self.reads().iter().all(|arg| apart(other.out, *arg))
    }

    fn reads(&self) -> &[Operand] {
        &self.args[..match self.does {
            Does::Pair(_) => 3,
            Does::Add | Does::Sub | Does::Mul | Does::Div => 2,
            _ => 1,
        }]
    }
}

/// The links that run by blocks, from the first one on.
pub(super) fn blocked(pieces: impl Iterator<Item = Option<Piece>>) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    for piece in pieces.map_while(|piece| piece.filter(Piece::is_blocked)) {
        let fits = all
            .iter()
            .chain([&piece])
            .all(|before| before.width == piece.width && before.takes_turns(&piece));
        if !fits || all.len() == MOST {
            break;
        }
        all.push(piece);
    }
    all
}

/// Links of a chain at most; each is compared with each.
const MOST: usize = 64;

/// Links by blocks.
pub(in super::super) struct Blocks<'a, N> {
    pub(in super::super) pieces: &'a [Piece],
    pub(in super::super) nums: &'a mut [N],
}

impl<N: Number> Task for Blocks<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { pieces, nums } = self;
        let width = pieces.first().map_or(0, |piece| piece.width);
        for from in (0..width).step_by(BLOCK) {
            for Piece { does, out, args: [a, b, c], .. } in pieces {
                let x = block(nums, *a, from);
                let mut y = [N::default(); BLOCK];
                macro_rules! pairs {
                    ($f:expr) => {{
                        let z = block(nums, *b, from);
                        for j in 0..BLOCK {
                            y[j] = $f(x[j], z[j]);
                        }
                    }};
                }
                match does {
                    Does::Add => pairs!(|x, z| x + z),
                    Does::Sub => pairs!(|x, z| x - z),
                    Does::Mul => pairs!(|x, z| x * z),
                    Does::Div => pairs!(|x, z| x / z),
                    Does::Neg => {
                        for j in 0..BLOCK {
                            y[j] = -x[j];
                        }
                    }
                    Does::Flush => {
                        for j in 0..BLOCK {
                            y[j] = x[j].flush();
                        }
                    }
                    Does::Pair(pair) => {
                        pair.compute([&x, &block(nums, *b, from), &block(nums, *c, from)], &mut y);
                    }
                    Does::Sigmoid => N::sigmoid(&x, &mut y),
                    Does::Tanh => N::tanh(&x, &mut y),
                    _ => y = x,
                }
                nums[out + from..][..BLOCK].as_chunks_mut::<BLOCK>().0[0] = y;
            }
        }
    }
}

/// A block of an operand.
#[inline(always)]
fn block<N: Number>(nums: &[N], Operand { at, is_row }: Operand, from: usize) -> [N; BLOCK] {
    if is_row { nums[at + from..][..BLOCK].as_chunks::<BLOCK>().0[0] } else { [nums[at]; BLOCK] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links at places that often overlap give the bits that they give one after the other.
    #[test]
    fn blocks_are_the_same_as_links_one_after_the_other() {
        use Does::{Add, CopyNum, Div, Flush, Mul, Neg, Sigmoid, Sub, Tanh};
        let mut state = 1_usize;
        let mut next = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let (all, mut long, mut cut) = (crate::plan::pair::tests::all(), 0, 0);
        for _ in 0..400 {
            let width = BLOCK * (2 + next(3));
            let pair = Does::Pair(all[next(all.len())]);
            let mut place = || BLOCK * next(60) + next(10) / 9;
            let mut operand = |kind| Operand { at: place(), is_row: kind != 0 };
            let pieces: Vec<Piece> = [Sigmoid, Add, Mul, pair, Neg, Tanh, Sub, Flush, CopyNum, Div]
                .into_iter()
                .enumerate()
                .map(|(i, does)| {
                    let (out, args) = (operand(1).at, [operand(i % 5), operand(i % 3), operand(i % 4)]);
                    Piece { does, out, args, width }
                })
                .collect();
            let blocked = blocked(pieces.iter().copied().map(Some));
            long += usize::from(blocked.len() > 3);
            cut += usize::from(blocked.len() < pieces.len());
            let numbers = |n: usize| (0..n).map(|i| (i * 37 % 101) as f32 / 25.0 - 2.0).collect::<Vec<f32>>();
            let (mut nums, mut wanted) = (numbers(2100), numbers(2100));
            rml_kernels::run(Blocks { pieces: &blocked, nums: &mut nums });
            blocked.iter().for_each(|piece| link(piece, &mut wanted));
            let bits = |all: &[f32]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert!(bits(&nums) == bits(&wanted), "{blocked:?}");
        }
        assert!(long > 40 && cut > 40, "{long} of 400 chains are long, {cut} are cut");
    }

    /// A link as a whole.
    fn link(Piece { does, out, args, width }: &Piece, nums: &mut [f32]) {
        let [a, b, c] = args.map(|Operand { at, is_row }| {
            (0..*width).map(|i| nums[if is_row { at + i } else { at }]).collect::<Vec<f32>>()
        });
        let pairs = |f: fn(f32, f32) -> f32| a.iter().zip(&b).map(|(x, y)| f(*x, *y)).collect::<Vec<f32>>();
        let mut y = a.clone();
        match does {
            Does::Pair(pair) => pair.compute([&a, &b, &c], &mut y),
            Does::Add => y = pairs(|x, y| x + y),
            Does::Sub => y = pairs(|x, y| x - y),
            Does::Mul => y = pairs(|x, y| x * y),
            Does::Div => y = pairs(|x, y| x / y),
            Does::Neg => y = pairs(|x, _| -x),
            Does::Flush => y = pairs(|x, _| x.flush()),
            Does::Sigmoid => f32::sigmoid(&a, &mut y),
            Does::Tanh => <f32 as Number>::tanh(&a, &mut y),
            _ => {}
        }
        nums[*out..][..*width].copy_from_slice(&y);
    }
}
