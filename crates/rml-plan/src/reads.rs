//! What the parts of a plan read, and who reads it.

use rml_ir::{Position, Positions};

use super::{Atom, Case, Guard, Output, Part, Plan, Reg, Region, Rule, Tape, TapeData, Term, Tick, Write};

/// A read: the operand, its positions and its reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The operand, relative to the ticks of its reader.
    pub atom: Atom,
    /// The positions at which it is read.
    pub at: Positions,
    /// Its reader.
    pub by: Reader,
}

/// What reads an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// A guard of a case of that tape.
    Guard(Tape),
    /// The rule of a case of that tape, or the start value of a sum.
    Rule(Tape),
    /// A term of a sum, or its guard: at each tick of the window.
    Term(Tape),
    /// The write of a register in a loop.
    Write(Reg),
    /// The write of a register when all regions have run.
    Commit(Reg),
    /// An output, or its guard.
    Output,
    /// The end of a window that the program finds.
    End,
}

impl Reader {
    /// The tape whose cases read the operand; none for other readers.
    pub fn tape(self) -> Option<Tape> {
        match self {
            Reader::Guard(tape) | Reader::Rule(tape) | Reader::Term(tape) => Some(tape),
            Reader::Write(_) | Reader::Commit(_) | Reader::Output | Reader::End => None,
        }
    }
}

fn conds(when: &[Guard]) -> impl Iterator<Item = Atom> + '_ {
    when.iter().map(|guard| guard.cond)
}

impl Plan {
    /// All reads: those of tapes, in order, then all others.
    pub fn reads(&self) -> impl Iterator<Item = Read> + '_ {
        let cases =
            self.tapes.iter_enumerated().flat_map(|(id, tape)| tape.cases.iter().map(move |c| (id, c)));
        let of_cases = cases.flat_map(|(tape, case)| {
            let guards = conds(&case.when).map(move |atom| (atom, case.at, Reader::Guard(tape)));
            let operands = case.rule.operands().into_iter().map(move |a| (a, case.at, Reader::Rule(tape)));
            let terms = case.rule.terms().iter();
            let terms = terms.flat_map(move |t| t.reads().map(move |a| (a, t.at, Reader::Term(tape))));
            guards.chain(operands).chain(terms)
        });
        of_cases.map(|(atom, at, by)| Read { atom, at, by }).chain(self.root_reads())
    }

    /// All reads that do not serve a tape: by writes of registers, outputs, and the end of a window.
    pub fn root_reads(&self) -> impl Iterator<Item = Read> + '_ {
        let written = self.regions.iter().flat_map(Region::writes).map(|w| (w, Reader::Write(w.register)));
        let committed = self.commits.iter().map(|w| (w, Reader::Commit(w.register)));
        let writes = written.chain(committed);
        let writes = writes.flat_map(|(w, by)| w.reads().map(move |atom| Read { atom, at: w.at, by }));
        let put_out = self.outputs.iter().flat_map(Output::reads);
        let put_out = put_out.map(|(at, atom)| Read { atom, at, by: Reader::Output });
        let ends = conds(self.ends.found()).map(|atom| Read { atom, at: Positions::ALL, by: Reader::End });
        writes.chain(put_out).chain(ends)
    }

    /// All writes of registers: first those in loops, then those after all regions.
    pub fn writes(&self) -> impl Iterator<Item = &Write> {
        self.regions.iter().flat_map(Region::writes).chain(&self.commits)
    }

    /// The cases of a tape that a part fills.
    pub fn cases_of(&self, part: Part) -> impl Iterator<Item = &Case> {
        self.tapes[part.tape].cases.iter().filter(move |case| !case.at.and(part.at).is_empty())
    }
}

impl Case {
    /// What it reads at each of its ticks: its guards, then the operands of its rule, without the terms of a sum.
    pub fn reads(&self) -> impl Iterator<Item = Atom> + '_ {
        conds(&self.when).chain(self.rule.operands())
    }

    /// The same, including what the terms of a sum read at other ticks.
    pub fn all_reads(&self) -> impl Iterator<Item = Atom> + '_ {
        self.reads().chain(self.rule.terms().iter().flat_map(Term::reads))
    }
}

impl Rule {
    /// The terms of a sum; none of any other rule.
    pub fn terms(&self) -> &[Term] {
        if let Rule::Sum { terms, .. } = self { terms } else { &[] }
    }

    /// The register that it reads, if it does.
    pub fn register(&self) -> Option<Reg> {
        if let Rule::Read { register, .. } = self { Some(*register) } else { None }
    }
}

impl TapeData {
    /// Whether it is a sum over ticks.
    pub fn is_sum(&self) -> bool {
        self.cases.iter().any(|case| matches!(case.rule, Rule::Sum { .. }))
    }
}

impl Term {
    /// Everything that it reads, its guards first.
    pub fn reads(&self) -> impl Iterator<Item = Atom> + '_ {
        conds(&self.when).chain(self.args.iter().copied())
    }
}

impl Write {
    /// Everything that it reads: its guards, the conditions that leave the register unset, and the value.
    pub fn reads(&self) -> impl Iterator<Item = Atom> + '_ {
        conds(&self.when).chain(self.unless.iter().copied()).chain([self.value])
    }
}

impl Output {
    /// Everything that it reads, and where: the guards of a case, then its value.
    pub fn reads(&self) -> impl Iterator<Item = (Positions, Atom)> + '_ {
        self.cases
            .iter()
            .flat_map(|(at, when, value)| conds(when).chain([*value]).map(move |atom| (*at, atom)))
    }
}

impl Atom {
    /// The tape of which it is an element; none if it is a constant.
    pub fn tape(self) -> Option<Tape> {
        if let Atom::Tape(tape, _) = self { Some(tape) } else { None }
    }
}

impl Tick {
    /// How many ticks after the reader's tick the element is. None if it is always at the first or the last tick.
    pub fn offset(self) -> Option<isize> {
        match self {
            Tick::Now => Some(0),
            Tick::Before => Some(-1),
            Tick::After => Some(1),
            Tick::First | Tick::Last => None,
        }
    }

    /// Whether it is the reader's own tick, for a reader at position `p`.
    pub fn is_here(self, p: Position) -> bool {
        match self {
            Tick::Now => true,
            Tick::First => p.is_start(),
            Tick::Last => p.is_end(),
            Tick::Before | Tick::After => false,
        }
    }

    /// The same at all of these positions.
    pub fn is_here_at(self, at: Positions) -> bool {
        at.iter().all(|p| self.is_here(p))
    }
}
