//! Stages as text, for tests.
//!
//! ```text
//! forward {
//!   at first: t2 = mul t1 k0
//!   y = product 1x3x20 x r2
//! }
//! ```
//!
//! Each line is an instruction, after the positions and conditions of its unit: the place of its result, its kernel,
//! and its operands. `h@-1` is that of the tick before, `@first` and `@last` those of the edges of the window; `[4]` is
//! an operand that begins at that element. Places on the way are `s9`.

use std::fmt::Write;

use rml_ir::{Position, Positions};
use rml_plan::Plan;

use super::super::code::{Added, At, Code, Guard, Instr, Kernel, Put, Unit};
use super::super::listed::{Entry, Listed};
use super::super::operand::Arg;
use super::super::place::Placement;

/// Names of places, as a plan has them.
pub(super) struct Text<'a> {
    code: &'a Code,
    names: Vec<String>,
}

impl<'a> Text<'a> {
    pub(super) fn new(plan: &Plan, code: &'a Code) -> Self {
        let consts = (0..plan.consts.len()).map(|i| format!("k{i}"));
        let registers = (0..plan.registers.len()).map(|i| format!("r{i}"));
        let mut names: Vec<String> = consts.chain(registers).chain(rml_plan::names(plan)).collect();
        names.extend((names.len()..code.slots.len()).map(|i| format!("s{i}")));
        Self { code, names }
    }

    /// Passes, with their instructions, and what is written and given at the end.
    pub(super) fn code(&self) -> String {
        let code = self.code;
        let mut text = String::new();
        for pass in &code.passes {
            let kind = if pass.over { "over" } else { ["forward", "backward"][usize::from(pass.backward)] };
            let _ = writeln!(text, "{kind} {{");
            for unit in pass.units.clone() {
                text.push_str(&self.unit(&code.units[unit]));
            }
            for put in &pass.puts {
                let _ = writeln!(text, "  write {}", self.put(put));
            }
            text.push_str("}\n");
        }
        for put in &code.commits {
            let _ = writeln!(text, "commit {}", self.put(put));
        }
        text
    }

    fn unit(&self, unit: &Unit) -> String {
        let at = place(unit.at);
        let once = if unit.once { "once: " } else { "" };
        let when = self.when(&unit.when);
        let line = |i: usize| format!("  {at}{once}{when}{}\n", self.instr(&self.code.instrs[i]));
        unit.instrs.clone().map(line).collect()
    }

    fn when(&self, when: &[Guard]) -> String {
        let each =
            |guard: &Guard| format!("{}{}", if guard.value { "" } else { "not " }, self.arg(guard.cond));
        let all: Vec<String> = when.iter().map(each).collect();
        if all.is_empty() { String::new() } else { format!("if {}: ", all.join(" and ")) }
    }

    fn put(&self, put: &Put) -> String {
        let at = place(put.at);
        let unless: String = put.unless.iter().map(|end| format!(" unless {}", self.arg(*end))).collect();
        let register = &self.names[self.code.register(put.register).0];
        format!("{at}{}{register} = {}{unless}", self.when(&put.when), self.arg(put.value))
    }

    fn instr(&self, instr: &Instr) -> String {
        let args: Vec<String> = instr.args.iter().map(|arg| self.arg(*arg)).collect();
        let kernel = match &instr.kernel {
            Kernel::Sum { terms, .. } => {
                let terms = terms.iter().map(|term| match &term.added {
                    Added::Rows(a, _) => self.arg(*a),
                    Added::Outer(_, [a, b]) => format!("{}' x {}", self.arg(*a), self.arg(*b)),
                    Added::Made(_, a) => self.arg(*a),
                });
                return format!("{} = sum {}", self.arg(instr.out), terms.collect::<Vec<_>>().join(" | "));
            }
            kernel => name(kernel),
        };
        let space = if args.is_empty() { "" } else { " " };
        format!("{} = {kernel}{space}{}", self.arg(instr.out), args.join(" "))
    }

    fn arg(&self, arg: Arg) -> String {
        let r = &self.code.refs[arg];
        let at = match r.at {
            At::Here(0) => String::new(),
            At::Here(n) => format!("@{n:+}"),
            At::First(0) => "@first".to_owned(),
            At::First(n) => format!("@first{n:+}"),
            At::Last(0) => "@last".to_owned(),
            At::Last(n) => format!("@last{n:+}"),
        };
        let offset = if r.offset == 0 { String::new() } else { format!("[{}]", r.offset) };
        format!("{}{at}{offset}", self.names[r.slot.0])
    }

    /// Where values are stored in a window of `T` ticks, in the order of their places.
    pub(super) fn places(&self, placement: &Placement) -> String {
        let slots = self.code.slots.iter().enumerate();
        let used = slots.filter(|(i, slot)| placement.lives[*i].is_some() && slot.width > 0);
        let mut lines: Vec<_> = used
            .map(|(i, slot)| {
                let (room, name) = (placement.rooms[i], &self.names[i]);
                let ticks = if slot.per_tick {
                    format!(" + {} T, at each tick", room.per_tick)
                } else {
                    String::new()
                };
                let line = format!("place {name}: {} {} at {}{ticks}\n", slot.dtype, slot.width, room.fixed);
                (slot.dtype.to_string(), slot.per_tick, room.per_tick, room.fixed, line)
            })
            .collect();
        lines.sort();
        lines.into_iter().map(|(.., line)| line).collect()
    }

    /// What runs at each position of a tick.
    pub(super) fn lists(&self, listed: &Listed) -> String {
        let mut text = String::new();
        for (pass, lists) in listed.passes.iter().zip(&listed.lists) {
            let kind = if pass.over { "over" } else { ["forward", "backward"][usize::from(pass.backward)] };
            for p in Position::ALL.into_iter().filter(|p| !pass.over || *p == Position::Only) {
                let entries: Vec<String> =
                    lists.at[p.index()].iter().map(|entry| self.entry(listed, entry)).collect();
                let _ = writeln!(text, "{kind} {}: {}", format!("{p:?}").to_lowercase(), entries.join("; "));
            }
        }
        for pack in &listed.packs {
            let fresh = if pack.fresh { ", again in each window" } else { "" };
            let name = &self.names[pack.of.slot.0];
            let _ = writeln!(text, "shared {name}: {} x {}{fresh}", pack.size[0], pack.size[1]);
        }
        text
    }

    fn entry(&self, listed: &Listed, entry: &Entry) -> String {
        let outs = |units: Vec<usize>| {
            let mut units = units;
            units.dedup();
            let name = |unit: &usize| {
                let last = self.code.units[*unit].instrs.end - 1;
                self.arg(self.code.instrs[last].out)
            };
            units.iter().map(name).collect::<Vec<_>>().join(" ")
        };
        match entry {
            Entry::Unit(unit) => format!("unit {}", outs(vec![*unit])),
            Entry::Scalars(range) => {
                format!("scalars {}", outs(listed.scalars[range.clone()].iter().map(|s| s.unit).collect()))
            }
            Entry::Chain(range) => {
                format!("chain {}", outs(listed.links[range.clone()].iter().map(|l| l.unit).collect()))
            }
        }
    }
}

/// Positions before what happens there.
fn place(at: Positions) -> String {
    let place = rml_plan::place(at);
    if place.is_empty() { place } else { format!("{}: ", place.trim_start()) }
}

/// The name of a kernel, with its sizes.
fn name(kernel: &Kernel) -> String {
    match kernel {
        Kernel::Point(op, ..) | Kernel::Draw(op) => op.to_string(),
        Kernel::General(op, ..) => format!("general {op}"),
        Kernel::Copy(..) => "copy".to_owned(),
        Kernel::Choose(_) => "choose".to_owned(),
        Kernel::Read(..) => "read".to_owned(),
        Kernel::Clear(_) => "zeros".to_owned(),
        Kernel::Product([m, k, n], _) => format!("product {m}x{k}x{n}"),
        Kernel::Further([m, k, n], _) => format!("further product {m}x{k}x{n}"),
        Kernel::Products(count, [m, k, n]) => format!("products {count}x{m}x{k}x{n}"),
        Kernel::Reduce(reduction, ..) => format!("{reduction:?}").to_lowercase(),
        Kernel::Position(true, ..) => "argmax".to_owned(),
        Kernel::Position(false, ..) => "argmin".to_owned(),
        Kernel::Softmax(false, n) => format!("softmax of {n}"),
        Kernel::Softmax(true, n) => format!("log_softmax of {n}"),
        Kernel::Pick(..) => "pick".to_owned(),
        Kernel::Gather(..) => "gather".to_owned(),
        Kernel::ScatterAdd(..) => "scatter_add".to_owned(),
        Kernel::OneHot(n) => format!("one_hot of {n}"),
        Kernel::Convolve(_) => "convolution".to_owned(),
        Kernel::Sum { .. } => "sum".to_owned(),
    }
}
