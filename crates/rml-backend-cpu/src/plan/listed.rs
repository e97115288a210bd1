//! Code with the lists that run at each tick.

use std::ops::{Deref, Range};

use rml_ir::op::{Binary, Compare, Unary};

use super::code::{Code, Ref, Slot};
use super::operand::Arg;
use super::walk::Dim;

/// Code, and the lists of what runs at each tick. This is the last stage that does not depend on the length of a
/// window.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    code: Code,
    pub(super) scalars: Vec<Scalar>,
    pub(super) links: Vec<Link>,
    /// The lists of each pass.
    pub(super) lists: Vec<Lists>,
    /// For each unit over all ticks: the scalar instructions that run at each tick, if it cannot run for all ticks at
    /// once.
    pub(super) steps: Vec<Option<Range<usize>>>,
    /// In a window that searches for its end: the lists before and after it is known, by position.
    pub(super) search: [[Vec<Entry>; 4]; 2],
    /// The matrices that products share.
    pub(super) packs: Vec<Pack>,
    /// What moves with registers that slide.
    pub(super) moving: Vec<Moving>,
}

impl Listed {
    /// Code without lists, whose products share those matrices.
    pub(super) fn new(code: Code, packs: Vec<Pack>) -> Self {
        let (lists, steps) = (vec![Lists::default(); code.passes.len()], vec![None; code.units.len()]);
        let (scalars, links, moving) = (Vec::new(), Vec::new(), Vec::new());
        Self { code, scalars, links, lists, steps, search: Default::default(), packs, moving }
    }

    /// The code, to be damaged.
    #[cfg(test)]
    pub(super) fn code_mut(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl Deref for Listed {
    type Target = Code;

    fn deref(&self) -> &Code {
        &self.code
    }
}

/// The operands, scalar instructions and links that move with a register that slides.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    pub(super) slot: Slot,
    pub(super) refs: Vec<usize>,
    pub(super) scalars: Vec<usize>,
    pub(super) links: Vec<usize>,
}

impl Moving {
    /// Those of the registers that slide.
    pub(super) fn of(code: &Listed) -> Vec<Self> {
        let one = |register: &usize| {
            let slot = code.register(*register);
            let has = |arg: &Option<usize>| arg.is_some_and(|arg| code.refs[arg].slot == slot);
            let refs = (0..code.refs.len()).filter(|arg| code.refs[*arg].slot == slot).collect();
            let scalars = (0..code.scalars.len()).filter(|i| code.scalars[*i].args.iter().any(has)).collect();
            let links = (0..code.links.len()).filter(|i| code.links[*i].args.iter().any(has)).collect();
            Self { slot, refs, scalars, links }
        };
        code.sliding.iter().map(one).collect()
    }
}

/// The lists of a pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    /// The list of each position of a tick.
    pub(super) at: [Vec<Entry>; 4],
    /// Over all ticks: what runs one after the other.
    pub(super) over: Vec<OverStep>,
    /// Lists for the ticks ahead of a loop, each with the number of ticks from which it applies: a tick uses the last
    /// list whose number is at most the number of ticks after it.
    pub(super) tails: Vec<(usize, Vec<Entry>)>,
}

/// The list for a tick.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Entry {
    Unit(usize),
    Scalars(Range<usize>),
    Chain(Range<usize>),
}

/// A step of a region over all ticks.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum OverStep {
    Unit(usize),
    /// Units that run at the first tick, or at the last one.
    First(Vec<Entry>),
    Last(Vec<Entry>),
}

/// The operation of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Do {
    /// Skips that many steps unless the condition has that value.
    Skip(bool, usize),
    AddNum,
    SubNum,
    MulNum,
    DivNum,
    NegNum,
    /// Operators by number.
    UnaryNum(Unary),
    BinaryNum(Binary),
    UnaryInt(Unary),
    BinaryInt(Binary),
    AddInt,
    LtNum,
    LeNum,
    GtNum,
    GeNum,
    EqInt,
    CompareNum(Compare),
    CompareInt(Compare),
    CompareBool(Compare),
    And,
    Or,
    Not,
    NumOfBool,
    NumOfInt,
    IntOfBool,
    IntOfNum,
    BoolOfInt,
    BoolOfNum,
    CopyNum,
    CopyInt,
    CopyBool,
    ChooseNum,
    ChooseInt,
    ChooseBool,
    ReadNum(usize),
    ReadInt(usize),
    ReadBool(usize),
}

/// A step before the window's length is known: to which unit it belongs, what it writes, and its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar {
    pub(super) unit: usize,
    pub(super) what: Do,
    pub(super) args: [Option<Arg>; 4],
}

/// The operation of a link on elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Does {
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Flush,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Not,
    Where,
    WhereBool,
    NumOfBool,
    NumOfInt,
    IntOfBool,
    CopyNum,
    CopyBool,
    Sigmoid,
    Tanh,
    Unary(Unary),
    Binary(Binary),
}

/// An instruction over rows of elements, before the window's length is known: to which unit it belongs, what it writes,
/// and its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) unit: usize,
    pub(super) does: Does,
    pub(super) args: [Option<Arg>; 4],
    pub(super) rows: Dim,
    pub(super) row: Dim,
}

/// A matrix that products share.
#[derive(Clone, Debug)]
pub(super) struct Pack {
    pub(super) of: Ref,
    /// How many rows and columns it has.
    pub(super) size: [usize; 2],
    /// Whether it is made again in each window.
    pub(super) fresh: bool,
}
