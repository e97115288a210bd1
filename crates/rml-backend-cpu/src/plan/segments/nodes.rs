//! The computations of a window as nodes that read values at ticks, to decide in which sweep each node runs.

use std::ops::Range;

use rml_ir::Positions;

use super::super::code::{Added, Addend, At, Code, Guard, Instr, Kernel, Put, Slot, Unit};
use super::super::operand::Arg;

/// A unit of work: a loop, the filling of a tape over all ticks, or a sum.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) pass: usize,
    pub(super) units: Range<usize>,
    pub(super) kind: Kind,
    /// The operands that it reads, in no order.
    pub(super) reads: Vec<Arg>,
    /// The places that it fills, those of values on the way among them.
    pub(super) fills: Vec<Slot>,
}

/// How a node runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Tick by tick.
    Loop { backward: bool },
    /// All ticks at once.
    Over,
    /// A sum over all ticks.
    Sum { backward: bool },
    /// Once a window.
    Once,
}

/// All nodes, and for each operand its tick. If a reader runs only at the first or last tick, `Here` becomes `First` or
/// `Last`.
pub(super) struct Nodes {
    pub(super) nodes: Vec<Node>,
    pub(super) ats: Vec<At>,
    /// Operands that are read when all nodes have run, at ticks other than the first or the last.
    pub(super) late: Vec<Arg>,
    /// All operands that are read when all nodes have run.
    pub(super) ends: Vec<Arg>,
}

impl Nodes {
    pub(super) fn of(code: &Code) -> Self {
        let ats = code.refs.iter().map(|r| r.at).collect();
        let mut all = Self { nodes: Vec::new(), ats, late: Vec::new(), ends: Vec::new() };
        for (i, pass) in code.passes.iter().enumerate() {
            if !pass.over {
                all.add(code, i, pass.units.clone(), Kind::Loop { backward: pass.backward });
                continue;
            }
            let mut from = pass.units.start;
            for of_tape in code.units[pass.units.clone()].chunk_by(|a, b| a.tape == b.tape) {
                let units = from..from + of_tape.len();
                from = units.end;
                all.add(code, i, units, kind(code, of_tape));
            }
        }
        for put in &code.commits {
            all.ended(put.at, put_args(put));
        }
        for taken in code.outputs.iter().flatten() {
            all.ended(taken.at, taken.when.iter().map(|g| g.cond).chain([taken.value]).collect());
        }
        all
    }

    fn add(&mut self, code: &Code, pass: usize, units: Range<usize>, kind: Kind) {
        let (mut reads, mut fills) = (Vec::new(), Vec::new());
        for unit in &code.units[units.clone()] {
            let from = reads.len();
            visit(code, unit, &mut reads, &mut fills);
            if kind == Kind::Once {
                let own: Vec<Arg> = reads[from..].to_vec();
                own.into_iter().for_each(|arg| self.edge(arg, unit.at));
            }
            if let (Kind::Sum { .. }, [.., sum]) = (kind, &code.instrs[unit.instrs.clone()]) {
                sum.args.iter().for_each(|init| self.edge(*init, Positions::STARTS));
            }
        }
        let outs = fills.into_iter().map(|arg: Arg| code.refs[arg].slot);
        let mut fills: Vec<Slot> = outs.collect();
        fills.sort_unstable();
        fills.dedup();
        self.nodes.push(Node { pass, units, kind, reads, fills });
    }

    /// Marks an operand that is read only at the first tick, or only at the last.
    fn edge(&mut self, arg: Arg, at: Positions) {
        if let At::Here(n) = self.ats[arg] {
            self.ats[arg] = if at.is_within(Positions::STARTS) { At::First(n) } else { At::Last(n) };
        }
    }

    /// Adds operands that are read when all nodes have run.
    fn ended(&mut self, at: Positions, args: Vec<Arg>) {
        for arg in args {
            self.ends.push(arg);
            if at.is_edge() {
                self.edge(arg, at);
            } else {
                self.late.push(arg);
            }
        }
    }
}

fn kind(code: &Code, units: &[Unit]) -> Kind {
    let instr = |unit: &Unit| code.instrs[unit.instrs.clone()].last().cloned();
    for unit in units {
        let Some(instr) = instr(unit) else { continue };
        if let Kernel::Sum { backward, .. } = instr.kernel {
            return Kind::Sum { backward };
        }
        if unit.once || !code.data(instr.out).1.per_tick {
            return Kind::Once;
        }
    }
    Kind::Over
}

fn put_args(put: &Put) -> Vec<Arg> {
    let conds = put.when.iter().map(|g| g.cond).chain(put.unless.iter().copied());
    conds.chain([put.value]).collect()
}

/// The operands of a unit, and its results.
fn visit(code: &Code, unit: &Unit, reads: &mut Vec<Arg>, outs: &mut Vec<Arg>) {
    let conds = |when: &[Guard], reads: &mut Vec<Arg>| reads.extend(when.iter().map(|g| g.cond));
    conds(&unit.when, reads);
    let plain = |instr: &Instr, reads: &mut Vec<Arg>, outs: &mut Vec<Arg>| {
        reads.extend(&instr.args);
        outs.push(instr.out);
    };
    for instr in &code.instrs[unit.instrs.clone()] {
        plain(instr, reads, outs);
        let Kernel::Sum { terms, .. } = &instr.kernel else { continue };
        for Addend { when, added, .. } in terms {
            conds(when, reads);
            match added {
                Added::Rows(a, _) => reads.push(*a),
                Added::Outer(_, args) => reads.extend(args),
                Added::Made(instrs, a) => {
                    code.instrs[instrs.clone()].iter().for_each(|instr| plain(instr, reads, outs));
                    reads.push(*a);
                }
            }
        }
    }
}
