//! Instructions on scalars: small steps without the cost of walking over elements.

use rml_ir::DType;
use rml_ir::op::{Binary, Compare, Number, Op, Unary, slices};

use super::Suspect;
use super::arena::Arena;
use super::code::{Instr, Kernel};
use super::list::Lister;
use super::listed::{Do, Scalar};
use super::operand::Arg;

/// A place at each tick.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Spot {
    pub(super) at: usize,
    pub(super) step: usize,
}

impl Spot {
    #[inline]
    pub(super) fn get(self, t: usize) -> usize {
        self.at.wrapping_add(self.step.wrapping_mul(t))
    }
}

/// A step: what it writes, and its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) what: Do,
    pub(super) out: Spot,
    pub(super) a: Spot,
    pub(super) b: Spot,
    pub(super) c: Spot,
}

impl Lister<'_> {
    /// The scalar step that computes the same as an instruction, if there is one.
    pub(super) fn step(&mut self, unit: usize, i: usize) -> Option<Scalar> {
        let Instr { kernel, width, args, .. } = &self.code.instrs[i];
        let by = |num, int, bool, dtype: &DType| match dtype {
            DType::Num => num,
            DType::Int => int,
            DType::Bool => bool,
        };
        let single = *width == 1;
        let mut at: Vec<Arg> = args.clone();
        let what = match kernel {
            Kernel::Point(op, dtype, walk) if walk.is_scalar() => Self::point(op, *dtype)?,
            Kernel::Copy(dtype, walk) if walk.is_scalar() => {
                by(Do::CopyNum, Do::CopyInt, Do::CopyBool, dtype)
            }
            Kernel::Choose(dtype) if single && args.len() == 3 => {
                by(Do::ChooseNum, Do::ChooseInt, Do::ChooseBool, dtype)
            }
            Kernel::Read(dtype, r) if single => {
                at.resize(2, at[0]);
                by(Do::ReadNum(*r), Do::ReadInt(*r), Do::ReadBool(*r), dtype)
            }
            _ => return None,
        };
        let out = self.code.instrs[i].out;
        let arg = |i: usize| at.get(i).copied();
        Some(Scalar { unit, what, args: [Some(out), arg(0), arg(1), arg(2)] })
    }

    /// None if no scalar step computes the operator on this type.
    fn point(op: &Op, dtype: DType) -> Option<Do> {
        let by = |num, int, bool| match dtype {
            DType::Num => num,
            DType::Int => int,
            DType::Bool => bool,
        };
        Some(match (op, dtype) {
            (Op::Binary(f), DType::Num) => match f {
                Binary::Add => Do::AddNum,
                Binary::Sub => Do::SubNum,
                Binary::Mul => Do::MulNum,
                Binary::Div => Do::DivNum,
                other => Do::BinaryNum(*other),
            },
            (Op::Binary(Binary::Add), DType::Int) => Do::AddInt,
            (Op::Binary(f), _) => Do::BinaryInt(*f),
            (Op::Unary(Unary::Neg), DType::Num) => Do::NegNum,
            (Op::Unary(f), DType::Num) => Do::UnaryNum(*f),
            (Op::Unary(f), _) => Do::UnaryInt(*f),
            (Op::Compare(how), DType::Num) => match how {
                Compare::Lt => Do::LtNum,
                Compare::Le => Do::LeNum,
                Compare::Gt => Do::GtNum,
                Compare::Ge => Do::GeNum,
                Compare::Eq | Compare::Ne => Do::CompareNum(*how),
            },
            (Op::Compare(Compare::Eq), DType::Int) => Do::EqInt,
            (Op::Compare(how), _) => by(Do::CompareNum(*how), Do::CompareInt(*how), Do::CompareBool(*how)),
            (Op::And, _) => Do::And,
            (Op::Or, _) => Do::Or,
            (Op::Not, _) => Do::Not,
            (Op::Where, _) => by(Do::ChooseNum, Do::ChooseInt, Do::ChooseBool),
            (Op::Convert(DType::Num), DType::Bool) => Do::NumOfBool,
            (Op::Convert(DType::Num), DType::Int) => Do::NumOfInt,
            (Op::Convert(DType::Int), DType::Bool) => Do::IntOfBool,
            (Op::Convert(DType::Int), DType::Num) => Do::IntOfNum,
            (Op::Convert(DType::Bool), DType::Int) => Do::BoolOfInt,
            (Op::Convert(DType::Bool), DType::Num) => Do::BoolOfNum,
            _ => return None,
        })
    }
}

/// Runs steps at a tick. Returns the index of the next step; it is beyond the end by the number of further steps that a
/// condition skips.
pub(super) fn run<N: Number>(
    steps: &[Step],
    arena: &mut Arena<N>,
    set: &[bool],
    t: usize,
) -> Result<usize, Suspect> {
    let Arena { nums, ints, bools } = arena;
    let (nums, ints, bools) = (nums.all_mut(), ints.all_mut(), bools.all_mut());
    let mut next = 0;
    while let Some(step) = steps.get(next) {
        next += 1;
        let (o, a, b) = (step.out.get(t), step.a.get(t), step.b.get(t));
        match step.what {
            Do::AddNum => nums[o] = nums[a] + nums[b],
            Do::SubNum => nums[o] = nums[a] - nums[b],
            Do::MulNum => nums[o] = nums[a] * nums[b],
            Do::DivNum => nums[o] = nums[a] / nums[b],
            Do::NegNum => nums[o] = -nums[a],
            Do::ChooseNum => nums[o] = nums[if bools[a] { b } else { step.c.get(t) }],
            Do::LtNum => bools[o] = nums[a] < nums[b],
            Do::LeNum => bools[o] = nums[a] <= nums[b],
            Do::GtNum => bools[o] = nums[a] > nums[b],
            Do::GeNum => bools[o] = nums[a] >= nums[b],
            Do::And => bools[o] = bools[a] & bools[b],
            Do::Or => bools[o] = bools[a] | bools[b],
            Do::Not => bools[o] = !bools[a],
            Do::CopyNum => nums[o] = nums[a],
            Do::Skip(value, n) => {
                if bools[a] != value {
                    next += n;
                }
            }
            Do::UnaryNum(f) => nums[o] = N::unary_one(f, nums[a]),
            Do::BinaryNum(f) => {
                let mut y = [N::default()];
                N::binary(f, &[nums[a]], &[nums[b]], &mut y);
                nums[o] = y[0];
            }
            Do::AddInt => ints[o] = ints[a].checked_add(ints[b]).ok_or(Suspect)?,
            Do::UnaryInt(f) => ints[o] = slices::int_unary(f, ints[a])?,
            Do::BinaryInt(f) => ints[o] = slices::int_binary(f, ints[a], ints[b])?,
            Do::EqInt => bools[o] = ints[a] == ints[b],
            Do::CompareNum(how) => bools[o] = how.holds(&nums[a], &nums[b]),
            Do::CompareInt(how) => bools[o] = how.holds(&ints[a], &ints[b]),
            Do::CompareBool(how) => bools[o] = how.holds(&bools[a], &bools[b]),
            Do::NumOfBool => nums[o] = if bools[a] { N::ONE } else { N::default() },
            Do::NumOfInt => nums[o] = N::of_int(ints[a]),
            Do::IntOfBool => ints[o] = i64::from(bools[a]),
            Do::IntOfNum => ints[o] = nums[a].to_int().ok_or(Suspect)?,
            Do::BoolOfInt => bools[o] = ints[a] != 0,
            Do::BoolOfNum => bools[o] = nums[a] != N::default(),
            Do::CopyInt => ints[o] = ints[a],
            Do::CopyBool => bools[o] = bools[a],
            Do::ChooseInt => ints[o] = ints[if bools[a] { b } else { step.c.get(t) }],
            Do::ChooseBool => bools[o] = bools[if bools[a] { b } else { step.c.get(t) }],
            Do::ReadNum(r) => nums[o] = nums[if set[r] { a } else { b }],
            Do::ReadInt(r) => ints[o] = ints[if set[r] { a } else { b }],
            Do::ReadBool(r) => bools[o] = bools[if set[r] { a } else { b }],
        }
    }
    Ok(next)
}
