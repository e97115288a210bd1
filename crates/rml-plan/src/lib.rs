//! The plan: a program as regions over the ticks of a window.
//!
//! A plan says how to run one *window* of `T` ticks, `T ≥ 1`: a window of `every`, or, for a program without windows,
//! any block of cycles. Its values are [tapes](TapeData), with one element for each tick. [Regions](Region) fill them,
//! one after the other: a region *over* all ticks fills each tape at once, since no tick needs another one; a *loop*
//! fills its tapes tick by tick, forward or backward. [Registers](Register) keep values from window to window.
//!
//! A tape may have different rules at different [`Position`]s. For example, the state of an LSTM is a constant at the
//! first tick, and at every other tick the value that the tick before it computed. So the loop needs no separate copy
//! for the first tick.
//!
//! A plan for blocks may look [ahead](Plan::ahead): then a window has some extra ticks, which are only read, and are
//! fed again in the next window. If it depends on data how far the plan has to look, it [waits](Plan::waits): a block
//! is computed up to the first tick with unavailable inputs.
//!
//! Nothing here knows equations, clocks or facts of the program: to run a plan, only the plan is needed. What follows
//! from a plan is found here for everything that runs or translates it: [what it reads](Plan::reads), which tapes are
//! [the same at all ticks](Plan::steady), where registers [start](Plan::starts), which loop [writes
//! them](Plan::loops_of_registers), and which of them [slide](Plan::slides).
//!
//! Invariants, checked by [`verify`]:
//! - **P1** each tape is filled exactly once at each position of its cases, by one part of one region; no two cases
//!   share a position.
//! - **P2** every id is one of the plan, and operands have the types that the rule of a case requires (N2).
//! - **P3** a part reads only tapes that are filled by then: at the same tick, tapes of earlier regions, or of earlier
//!   parts of its own region; at the tick before (after), and at the first (last) tick, tapes of earlier regions or of
//!   its own forward (backward) loop. So do writes of registers in a loop, which follow its parts. No loop fills a sum.
//! - **P4** nothing at a first tick reads the tick before it, and nothing at a last tick the one after it, unless the
//!   plan looks ahead or waits.
//! - **P5** registers are read and written in one loop, or else written after all reads.
//! - **P6** where a plan [finds](Ends::Found) the end of a window, its first region is a forward loop. The parts that
//!   compute the end conditions use the same case at `First` and `Only`, and the same case at `Middle` and `Last`.
//! - **P7** where a plan looks ahead, any block is a window, no loop is backward and nothing is a sum. Cases do not
//!   distinguish the last tick. Each tape is filled exactly as far ahead as its furthest reader.
//! - **P8** a loop with [`by`](Region::Loop::by) conditions reads its own tapes at another tick only through
//!   [`Rule::Restart`], whose `ends` contain every `by` condition. The conditions are filled before the loop, without
//!   guards, at every tick except the last one. Such a loop writes no register and finds no end, and its plan does not
//!   look ahead.
//! - **P9** where a plan waits, any block is a window, nothing is a sum, each tape is filled by one part, and cases do
//!   not distinguish the last tick. Registers that a loop backward writes do not outlive the block. In a loop forward
//!   no circle of reads leads to the same tick, or to one after it.

use std::sync::Arc;

use rml_base::{IndexVec, Span, entity_id};
use rml_ir::op::Op;
use rml_ir::{DType, Precision, Type, Value};
pub use rml_ir::{Position, Positions};

mod ahead;
mod facts;
mod lanes;
mod outline;
mod parse;
mod print;
mod reads;
pub mod reference;
mod sequences;
mod slides;
mod verify;
mod waits;

pub use facts::{Start, is_outer_product, outer_product};
pub use lanes::pack;
pub use outline::Outline;
pub use parse::{parse, place as read_place};
pub use print::{names, place, print, rules, written};
pub use reads::{Read, Reader};
pub use slides::Slide;
pub use verify::{dangling, verify};

entity_id!(
    /// A tape.
    Tape,
    "t"
);
entity_id!(
    /// A constant.
    Const,
    "k"
);
entity_id!(
    /// A register.
    Reg,
    "r"
);

/// How to run one window.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The node's name.
    pub name: Arc<str>,
    /// How `num` is computed.
    pub precision: Precision,
    /// The end of a window.
    pub ends: Ends,
    /// Whether a block is filled only as far as what is read is available. At a tick, a tape waits for all operands and
    /// guards of its case, and for itself at all earlier ticks. In a backward loop it waits only for the operands that
    /// decide its value: the guards up to the first that does not hold, and the branch that is chosen; a register is
    /// available from the last tick that is known to write it. A tape that waits is not filled. In a forward loop,
    /// parts may lag [some ticks](Plan::lags) behind others. A tick is done once all outputs, register writes and
    /// operators that [may fail](Plan::may_fail) up to it are available. The remaining ticks are fed again in the next,
    /// longer block.
    pub waits: bool,
    /// The inputs, in order: the name and the type of each.
    pub inputs: Vec<(Arc<str>, Type)>,
    /// All constants.
    pub consts: IndexVec<Const, Value>,
    /// All tapes.
    pub tapes: IndexVec<Tape, TapeData>,
    /// All registers.
    pub registers: IndexVec<Reg, Register>,
    /// The regions that fill the tapes, in order.
    pub regions: Vec<Region>,
    /// Registers that are written when all regions have run.
    pub commits: Vec<Write>,
    /// The outputs, in order.
    pub outputs: Vec<Output>,
}

/// The end of a window.
#[derive(Clone, PartialEq, Debug)]
pub enum Ends {
    /// Nothing: any block of cycles is a window.
    Nothing,
    /// The data: a tick is the last one if one of these inputs has the given value.
    Given(Vec<(u32, bool)>),
    /// The program: a tick is the last one if one of the conditions holds. The first region runs tick by tick until
    /// then, while `T` is not yet known.
    Found {
        /// The conditions.
        conds: Vec<Guard>,
        /// How many parts of the first region compute the conditions. The other parts run once it is known whether the
        /// tick is the last one.
        head: usize,
    },
}

impl Plan {
    /// How many ticks the plan looks ahead: a window has inputs for this many ticks after those that are done, but
    /// these ticks give no outputs and commit no registers.
    pub fn ahead(&self) -> u32 {
        self.tapes.iter().map(|tape| tape.ahead).max().unwrap_or(0)
    }

    /// Whether the operator of a case may fail. Then the case is computed even if nothing reads it.
    pub fn may_fail(&self, case: &Case) -> bool {
        let Rule::Apply { op, args } = &case.rule else { return false };
        op.may_fail(args.iter().map(|arg| self.dtype(*arg)))
    }

    fn dtype(&self, atom: Atom) -> DType {
        match atom {
            Atom::Const(k) => self.consts[k].dtype(),
            Atom::Tape(tape, _) => self.tapes[tape].ty.dtype,
        }
    }

    /// The type of an operand.
    pub fn ty(&self, atom: Atom) -> Type {
        match atom {
            Atom::Const(k) => self.consts[k].ty(),
            Atom::Tape(tape, _) => self.tapes[tape].ty.clone(),
        }
    }

    /// For each register written in a loop: how many ticks past the last finished tick it is written (the maximum over
    /// its readers).
    pub fn reaches(&self) -> IndexVec<Reg, u32> {
        let mut reaches = IndexVec::filled(0, self.registers.len());
        for tape in self.tapes.iter().filter(|tape| tape.ahead > 0) {
            for register in tape.cases.iter().filter_map(|case| case.rule.register()) {
                reaches[register] = tape.ahead.max(reaches[register]);
            }
        }
        reaches
    }
}

impl Ends {
    /// The conditions that the program finds.
    pub fn found(&self) -> &[Guard] {
        if let Ends::Found { conds, .. } = self { conds } else { &[] }
    }
}

/// A value for each tick at which it is present.
#[derive(Clone, Debug)]
pub struct TapeData {
    /// The name in the source, if it has one.
    pub name: Option<Arc<str>>,
    /// The type of an element.
    pub ty: Type,
    /// Its place in the source.
    pub span: Span,
    /// The name of the assertion that it checks: its operator fails where the assertion does not hold.
    pub asserts: Option<Arc<str>>,
    /// How many ticks past the last finished one it is filled.
    pub ahead: u32,
    /// Its rules, by position. At positions without a case it is never present.
    pub cases: Vec<Case>,
}

impl TapeData {
    /// The case at a position.
    pub fn case(&self, at: Position) -> Option<&Case> {
        self.cases.iter().find(|c| c.at.contains(at))
    }

    /// The positions at which it may be present.
    pub fn place(&self) -> Positions {
        self.cases.iter().fold(Positions::NONE, |all, c| all.or(c.at))
    }
}

/// The rule of a tape at some positions.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The positions.
    pub at: Positions,
    /// The tape is present where all of these hold. They are tested in order: a later one may be absent where an
    /// earlier one does not hold.
    pub when: Vec<Guard>,
    /// The rule that computes its value.
    pub rule: Rule,
}

/// A condition, and the value that it must have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Guard {
    /// The condition.
    pub cond: Atom,
    /// Its value.
    pub value: bool,
}

/// How a value is computed.
#[derive(Clone, PartialEq, Debug)]
pub enum Rule {
    /// An operator.
    Apply {
        /// The operator.
        op: Op,
        /// Its operands.
        args: Vec<Atom>,
    },
    /// A matrix product that continues from a start: the chain of each element begins with the element of `start`. So
    /// the product over a concatenation equals, bit by bit, the product over its leading part, continued over its
    /// trailing part.
    Product {
        /// The value that the product is added to.
        start: Atom,
        /// The factors; the second one is no stack of matrices.
        args: [Atom; 2],
    },
    /// The value of an operand.
    Copy(Atom),
    /// One of two operands; the other one may be absent.
    Select {
        /// Which one.
        cond: Atom,
        /// Where true.
        then: Atom,
        /// Where false.
        other: Atom,
    },
    /// A delay that restarts where one of the `ends` holds.
    Restart {
        /// The conditions.
        ends: Vec<Atom>,
        /// Its value where it restarts.
        init: Atom,
        /// Its value elsewhere.
        next: Atom,
    },
    /// The sum of the terms over all ticks.
    Sum {
        /// Its start value; none if it is the first term.
        init: Option<Atom>,
        /// Whether the terms are added from the last tick to the first.
        backward: bool,
        /// The terms, by position.
        terms: Vec<Term>,
    },
    /// An input of the program.
    Input(u32),
    /// A register; where it is not set, `init`.
    Read {
        /// The register.
        register: Reg,
        /// Its start value; none if it is always set.
        init: Option<Atom>,
    },
}

/// The term of a sum at some positions.
#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    /// The positions.
    pub at: Positions,
    /// The term is added where all of these hold. A term with guards only copies its operand, or adds up rows or
    /// products: for these operators, zeros as operands give zeros as the result.
    pub when: Vec<Guard>,
    /// An operator; its result has the type of the sum.
    pub op: Op,
    /// Its operands, as seen from each tick.
    pub args: Vec<Atom>,
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Atom {
    /// A constant.
    Const(Const),
    /// The element of a tape.
    Tape(Tape, Tick),
}

/// Which element of a tape an operand is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tick {
    /// That of the same tick.
    Now,
    /// That of the tick before.
    Before,
    /// That of the tick after.
    After,
    /// That of the first tick.
    First,
    /// That of the last tick.
    Last,
}

impl Tick {
    /// The positions that the element's tick may have, for a reader at position `p`.
    pub fn seen_from(self, p: Position) -> Positions {
        match self {
            Tick::Now => Positions::NONE.with(p),
            Tick::Before => p.before(),
            Tick::After => p.after(),
            Tick::First => Positions::NONE.with(p.start()),
            Tick::Last => Positions::NONE.with(p.end()),
        }
    }
}

/// A value that is kept from tick to tick, or from window to window.
#[derive(Clone, PartialEq, Debug)]
pub struct Register {
    /// The type of its value.
    pub ty: Type,
    /// How long its value is kept.
    pub kind: Lifetime,
    /// The truth value that it has at the start of every window, if the plan relies on one. The plan cannot continue
    /// from loaded states with another value.
    pub known: Option<bool>,
}

/// How long a register keeps its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lifetime {
    /// Within a window; it is not set when the window begins.
    Local,
    /// From window to window.
    Hidden,
    /// From window to window, and in checkpoints.
    State {
        /// The key in checkpoints.
        key: Arc<str>,
        /// Whether it is a parameter.
        parameter: bool,
    },
}

/// The write of a register.
#[derive(Clone, PartialEq, Debug)]
pub struct Write {
    /// The register.
    pub register: Reg,
    /// The positions at which it is written.
    pub at: Positions,
    /// It is written where all of these hold.
    pub when: Vec<Guard>,
    /// Where one of these holds, it becomes unset instead, whether or not it would be written.
    pub unless: Vec<Atom>,
    /// The value.
    pub value: Atom,
}

/// A part of a plan that fills tapes.
#[derive(Clone, PartialEq, Debug)]
pub enum Region {
    /// Parts that run over all ticks at once: no tick depends on another one.
    Over(Vec<Part>),
    /// Parts that run tick by tick.
    Loop {
        /// Whether it runs from the last tick to the first.
        backward: bool,
        /// Conditions that end sequences within the window: a sequence ends after each tick at which one of them
        /// holds. Nothing that the loop fills is read at a tick of another sequence, so sequences may be filled in any
        /// order, or all at once. Without conditions the window is one sequence.
        by: Vec<Tape>,
        /// The parts filled in each tick, in order.
        parts: Vec<Part>,
        /// The registers written in each tick after that.
        writes: Vec<Write>,
    },
}

impl Rule {
    /// Its operands, in order, without those of the terms of a sum.
    pub fn operands(&self) -> Vec<Atom> {
        match self {
            Rule::Apply { args, .. } => args.clone(),
            Rule::Product { start, args: [a, b] } => vec![*start, *a, *b],
            Rule::Copy(a) => vec![*a],
            Rule::Select { cond, then, other } => vec![*cond, *then, *other],
            Rule::Restart { ends, init, next } => ends.iter().copied().chain([*init, *next]).collect(),
            Rule::Sum { init, .. } | Rule::Read { init, .. } => init.iter().copied().collect(),
            Rule::Input(_) => Vec::new(),
        }
    }

    /// Calls `f` on its operands, including those of the terms of a sum, to change them.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Atom)) {
        match self {
            Rule::Apply { args, .. } => args.iter_mut().for_each(f),
            Rule::Product { start, args: [a, b] } => [start, a, b].into_iter().for_each(f),
            Rule::Copy(a) => f(a),
            Rule::Select { cond, then, other } => [cond, then, other].into_iter().for_each(f),
            Rule::Restart { ends, init, next } => ends.iter_mut().chain([init, next]).for_each(f),
            Rule::Sum { init, terms, .. } => {
                init.iter_mut().for_each(&mut f);
                for term in terms {
                    term.when.iter_mut().for_each(|g| f(&mut g.cond));
                    term.args.iter_mut().for_each(&mut f);
                }
            }
            Rule::Read { init, .. } => init.iter_mut().for_each(f),
            Rule::Input(_) => {}
        }
    }
}

impl Region {
    /// The tapes that it fills.
    pub fn parts(&self) -> &[Part] {
        match self {
            Region::Over(parts) | Region::Loop { parts, .. } => parts,
        }
    }

    /// The same, to change them.
    pub fn parts_mut(&mut self) -> &mut Vec<Part> {
        match self {
            Region::Over(parts) | Region::Loop { parts, .. } => parts,
        }
    }

    /// The registers that it writes at each tick.
    pub fn writes(&self) -> &[Write] {
        match self {
            Region::Over(_) => &[],
            Region::Loop { writes, .. } => writes,
        }
    }
}

/// A tape, or its cases at some positions, as filled by one region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The tape.
    pub tape: Tape,
    /// The positions.
    pub at: Positions,
}

/// An output of the program.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: Arc<str>,
    /// The type of its values.
    pub ty: Type,
    /// Where it is present, and its value there.
    pub cases: Vec<(Positions, Vec<Guard>, Atom)>,
}
