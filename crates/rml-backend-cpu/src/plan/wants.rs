//! What the parts of a plan that waits need, as data.

use rml_ir::Positions;
use rml_plan::{Atom, Case, Output, Plan, Rule, Tick, Write};

use super::operand::Arg;

/// The positions of the first tick, and of those after it.
pub(super) const TWO: [Positions; 2] = [Positions::STARTS, Positions::AFTER_START];

/// An element of a tape: that of the same tick, of the one before (-1) or of the one after (1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Want {
    pub(super) tape: usize,
    pub(super) by: isize,
}

impl Want {
    pub(super) fn of(atom: Atom) -> Option<Self> {
        let Atom::Tape(tape, tick) = atom else { return None };
        // Plans that wait read no edges.
        Some(Self { tape: tape.0 as usize, by: tick.offset().unwrap_or(0) })
    }

    /// The tick of the element, for a reader at tick `t`.
    pub(super) fn far(self, t: usize) -> usize {
        t.saturating_add_signed(self.by)
    }

    /// The first tick at which the element does not exist, if the tape has `elements` elements.
    pub(super) fn before(self, elements: usize) -> usize {
        elements.saturating_add_signed(-self.by)
    }
}

/// Everything that is read at the first tick, and at those after it.
#[derive(Clone, Default, Debug)]
pub(super) struct Wants {
    pub(super) first: Vec<Want>,
    pub(super) behind: Vec<Want>,
}

impl Wants {
    fn add(&mut self, at: Positions, atoms: impl Iterator<Item = Atom>) {
        for want in atoms.filter_map(Want::of) {
            for (wants, positions) in [&mut self.first, &mut self.behind].into_iter().zip(TWO) {
                if !at.and(positions).is_empty() && !wants.contains(&want) {
                    wants.push(want);
                }
            }
        }
    }

    pub(super) fn of_cases<'a>(cases: impl Iterator<Item = &'a Case>) -> Self {
        let mut wants = Self::default();
        for case in cases {
            wants.add(case.at, case.reads());
        }
        wants
    }

    pub(super) fn of_write(write: &Write) -> Self {
        let mut wants = Self::default();
        wants.add(write.at, write.reads());
        wants
    }

    /// For all outputs of a plan, and what may fail.
    pub(super) fn of_outputs(plan: &Plan) -> Self {
        let mut wants = Self::default();
        for (at, atom) in plan.outputs.iter().flat_map(Output::reads) {
            wants.add(at, std::iter::once(atom));
        }
        for (tape, data) in plan.tapes.iter_enumerated() {
            for case in data.cases.iter().filter(|case| plan.may_fail(case)) {
                wants.add(case.at, std::iter::once(Atom::Tape(tape, Tick::Now)));
            }
        }
        wants
    }
}

/// The operands that determine an element in a loop backward. Constants are always available.
#[derive(Clone, Debug)]
pub(super) struct Lazy {
    pub(super) when: Vec<(Option<Want>, Arg, bool)>,
    pub(super) reads: Reads,
}

/// The operands that a rule reads.
#[derive(Clone, Debug)]
pub(super) enum Reads {
    All(Vec<Option<Want>>),
    Select {
        cond: (Option<Want>, Arg),
        then: Option<Want>,
        other: Option<Want>,
    },
    Restart {
        ends: Vec<(Option<Want>, Arg)>,
        init: Option<Want>,
        next: Option<Want>,
    },
    /// The initial value, where it is not set.
    Register {
        register: usize,
        init: Option<Option<Want>>,
    },
}

impl Lazy {
    /// For a case, where `arg` gives operands.
    pub(super) fn of(case: &Case, arg: &mut impl FnMut(Atom) -> Arg) -> Self {
        let when = case.when.iter().map(|g| (Want::of(g.cond), arg(g.cond), g.value)).collect();
        let reads = match &case.rule {
            Rule::Select { cond, then, other } => Reads::Select {
                cond: (Want::of(*cond), arg(*cond)),
                then: Want::of(*then),
                other: Want::of(*other),
            },
            Rule::Restart { ends, init, next } => Reads::Restart {
                ends: ends.iter().map(|end| (Want::of(*end), arg(*end))).collect(),
                init: Want::of(*init),
                next: Want::of(*next),
            },
            Rule::Read { register, init } => {
                Reads::Register { register: register.0 as usize, init: init.map(Want::of) }
            }
            rule => Reads::All(rule.operands().into_iter().map(Want::of).collect()),
        };
        Self { when, reads }
    }
}

/// The operands that determine the write of a register.
#[derive(Clone, Default, Debug)]
pub(super) struct LazyWrite {
    pub(super) when: Vec<(Option<Want>, Arg, bool)>,
    pub(super) unless: Vec<Option<Want>>,
    pub(super) value: Option<Want>,
}
