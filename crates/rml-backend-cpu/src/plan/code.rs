//! A plan as code, independent of the length of a window.

use std::ops::Range;

use rml_ir::op::{Around, Convolution, Op, Reduction};
use rml_ir::{DType, Positions, Shape};

use super::operand::Arg;
use super::walk::Walk;
use super::wants::{Lazy, LazyWrite, Wants};

/// A place for values: a constant, a register, a tape, or a value on the way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot(pub(super) usize);

/// The content of a place.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SlotData {
    pub(super) dtype: DType,
    /// Elements of a value.
    pub(super) width: usize,
    /// Whether it holds a value for each tick, not one alone.
    pub(super) per_tick: bool,
    /// Whether it holds its value for longer than a window.
    pub(super) kept: bool,
    /// Whether it is a constant whose elements are all the same.
    pub(super) uniform: bool,
    /// How many elements its value moves on at each tick, if values of successive ticks overlap: one that slides.
    pub(super) slides: i32,
}

impl SlotData {
    /// How far it is from the value at one tick to that at the next one; a negative number wraps around.
    pub(super) fn step(&self) -> usize {
        if self.per_tick { self.width } else { self.slide().cast_unsigned() }
    }

    /// How many elements its value moves on at each tick, if it slides; else 0.
    pub(super) fn slide(&self) -> isize {
        self.slides as isize
    }

    /// Whether it has another place at each tick.
    pub(super) fn moves(&self) -> bool {
        self.per_tick || self.slides != 0
    }
}

/// The tick of an operand: relative to the current tick, or to an end of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum At {
    /// This many ticks after the current tick.
    Here(isize),
    /// This many ticks after the first tick.
    First(isize),
    /// This many ticks after the last tick.
    Last(isize),
}

/// An operand: elements of a place, from `offset` on, at a tick.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Ref {
    pub(super) slot: Slot,
    pub(super) at: At,
    pub(super) offset: usize,
}

/// How a value is computed from operands.
#[derive(Clone, Debug)]
pub(super) enum Kernel {
    /// Element by element; the type is that of the first operand that is no condition.
    Point(Op, DType, Walk),
    /// A copy.
    Copy(DType, Walk),
    /// Operands are conditions, then two values: the first value if any condition holds, else the second.
    Choose(DType),
    /// A register, if it is set; else its start value.
    Read(DType, usize),
    /// Zeros.
    Clear(DType),
    /// `a x b` for `(m, k, n)`, and which [`Pack`] `b` is, if it is one.
    Product([usize; 3], Option<usize>),
    /// The same product, added to a third operand: each element continues the chain that begins there.
    Further([usize; 3], Option<usize>),
    /// That many products of pairs of matrices.
    Products(usize, [usize; 3]),
    /// `sum`, `mean`, `max`, `min`, `any` or `all`.
    Reduce(Reduction, DType, Around),
    /// Positions of the largest (true) or smallest elements.
    Position(bool, DType, Around),
    /// Softmax, or its logarithm (true), of rows of that many columns.
    Softmax(bool, usize),
    /// One element of each row of that many columns.
    Pick(DType, usize),
    /// That many entries along an axis.
    Gather(DType, Around, usize),
    /// Zeros with numbers added along an axis, at that many positions.
    ScatterAdd(Around, usize),
    /// That many columns, with a 1 in each row.
    OneHot(usize),
    /// A convolution or a gradient of one.
    Convolve(Box<Convolution>),
    /// Random numbers.
    Draw(Op),
    /// A sum over ticks.
    Sum { backward: bool, init: bool, terms: Vec<Addend> },
    /// Any operator without a kernel: the reference evaluation, on values.
    General(Op, Vec<(DType, Shape)>, DType),
}

/// The term of a sum at some positions, where all conditions hold.
#[derive(Clone, Debug)]
pub(super) struct Addend {
    pub(super) at: Positions,
    pub(super) when: Vec<Guard>,
    pub(super) added: Added,
}

/// The term of a sum at a tick.
#[derive(Clone, Debug)]
pub(super) enum Added {
    /// The sum of that many rows.
    Rows(Arg, usize),
    /// `aᵀ x b` for `(m, k, n)`.
    Outer([usize; 3], [Arg; 2]),
    /// The value that these instructions compute, and where they leave it.
    Made(Range<usize>, Arg),
}

/// A value that is computed.
#[derive(Clone, Debug)]
pub(super) struct Instr {
    pub(super) kernel: Kernel,
    pub(super) out: Arg,
    /// How many elements the place of the result has.
    pub(super) width: usize,
    pub(super) args: Vec<Arg>,
}

/// A condition, and the value that it must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Guard {
    pub(super) cond: Arg,
    pub(super) value: bool,
}

/// The instructions that fill a tape at some positions.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) tape: usize,
    pub(super) at: Positions,
    pub(super) when: Vec<Guard>,
    pub(super) instrs: Range<usize>,
    /// If the plan looks ahead: at how many of the last ticks the tape is not filled.
    pub(super) short: usize,
    /// Whether its value is the same at all ticks.
    pub(super) once: bool,
    /// True if an instruction reads another's scratch value, so the unit must run tick by tick.
    pub(super) in_turn: bool,
}

/// The write of a register: it gets a value, or is left unset.
#[derive(Clone, Debug)]
pub(super) struct Put {
    pub(super) register: usize,
    pub(super) at: Positions,
    pub(super) when: Vec<Guard>,
    pub(super) unless: Vec<Arg>,
    pub(super) value: Arg,
    /// If the plan looks ahead: at how many of the last ticks the register is not written.
    pub(super) short: usize,
    /// If the plan waits: the operands that the write needs.
    pub(super) wants: Wants,
    pub(super) lazy: LazyWrite,
}

/// A tape that a pass fills, in a plan that waits.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) tape: usize,
    pub(super) units: Range<usize>,
    pub(super) wants: Wants,
    /// In a forward loop: how many ticks it lags behind other parts.
    pub(super) lag: usize,
    /// The register that it reads.
    pub(super) reads: Option<usize>,
    /// In a backward loop: the operands that decide its value, at the first tick and at later ones.
    pub(super) lazy: [Option<Lazy>; 2],
}

/// A region as instructions.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// True if each unit runs for all ticks before the next one; false if all units run tick by tick.
    pub(super) over: bool,
    pub(super) backward: bool,
    pub(super) units: Range<usize>,
    pub(super) puts: Vec<Put>,
    /// If the plan waits: the tapes that this pass fills, in order (`parts`); whether it fills each tape of the plan
    /// (`fills`); and what it needs of other passes (`outer`).
    pub(super) parts: Vec<Part>,
    /// The largest lag of a part.
    pub(super) lag: usize,
    pub(super) fills: Vec<bool>,
    pub(super) outer: Wants,
}

/// An input, and where it is stored.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) input: usize,
    pub(super) slot: Slot,
    /// The positions at which it is read.
    pub(super) place: Positions,
}

/// The value of an output at some positions, where all conditions hold.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) at: Positions,
    pub(super) when: Vec<Guard>,
    pub(super) value: Arg,
}

/// The search for the end of a window: the first pass runs tick by tick until a condition holds.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    /// The conditions, one of which holds at the last tick.
    pub(super) conds: Vec<Guard>,
    /// The conditions are known once the units before this number have run.
    pub(super) head: usize,
}

/// A plan as code. `slots` holds the places of constants first, then those of registers, then those of tapes.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub(super) slots: Vec<SlotData>,
    pub(super) refs: Vec<Ref>,
    pub(super) instrs: Vec<Instr>,
    pub(super) units: Vec<Unit>,
    pub(super) passes: Vec<Pass>,
    pub(super) commits: Vec<Put>,
    pub(super) inputs: Vec<Given>,
    /// The cases of each output.
    pub(super) outputs: Vec<Vec<Taken>>,
    /// For registers that are read in place: the constant that they start with.
    pub(super) starts: Vec<Option<Slot>>,
    /// Whether a block is computed only up to the first tick with unavailable inputs. Then `taken` holds what outputs
    /// need.
    pub(super) waits: bool,
    pub(super) taken: Vec<Wants>,
    /// How many ticks of a window are ahead of those that are done.
    pub(super) ahead: usize,
    /// For each register that changes within a window: the place of its value from before the window.
    pub(super) backups: Vec<(usize, Slot)>,
    /// For each register that ticks ahead write: the place of its value after the last tick that is done.
    pub(super) done: Vec<(usize, Slot)>,
    /// The registers that slide. Their values before a tick are those of that tick, and those after it of the next one.
    pub(super) sliding: Vec<usize>,
    pub(super) consts: usize,
    pub(super) ending: Option<Ending>,
}

impl Code {
    /// Where a register is stored.
    pub(super) fn register(&self, register: usize) -> Slot {
        Slot(self.consts + register)
    }

    /// How many registers there are.
    pub(super) fn registers(&self) -> usize {
        self.starts.len()
    }

    /// Whether a loop writes a register.
    pub(super) fn is_put(&self, register: usize) -> bool {
        self.passes.iter().flat_map(|pass| &pass.puts).any(|put| put.register == register)
    }

    pub(super) fn slot(&self, slot: Slot) -> &SlotData {
        &self.slots[slot.0]
    }

    /// The target of an operand.
    pub(super) fn data(&self, arg: Arg) -> (&Ref, &SlotData) {
        let r = &self.refs[arg];
        (r, self.slot(r.slot))
    }
}
