//! Nests as text: `rml dump --after nests`. [`parse`](super::parse) reads it back. Each slot has a line; constants that
//! are long stand at the end.

use std::fmt::{self, Write as _};

use rml_ir::text::{Commas, ValueText};
use rml_plan::place;

use crate::{
    Access, Call, Def, Ends, Guard, Home, Lifetime, Nest, NestNode, NestProgram, NestStage, Operand, Order,
    Positions, Slot, SlotData, Test, Tick, Variant, Variants, Work, Write,
};

/// The text of a program.
pub fn print(program: &NestProgram) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = Printer { program, out: &mut out }.program();
    out
}

/// Whether a text can be the name of a slot from the source: letters, digits, `_` and `.`, no word of the form, and no
/// letter and a number, as names that are made are.
pub(crate) fn is_name(text: &str) -> bool {
    let is_made = ["t", "k", "r", "u", "in"]
        .iter()
        .any(|p| text.strip_prefix(p).is_some_and(|n| n.parse::<u32>().is_ok()));
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    !is_made && !text.is_empty() && text != "not" && text.chars().all(inside)
}

/// Whether the text of a constant is short enough to stand before what is computed.
fn is_short(data: &SlotData) -> bool {
    if let Home::Const(value) = &data.home { ValueText(value).to_string().len() <= 60 } else { true }
}

struct Printer<'a> {
    program: &'a NestProgram,
    out: &'a mut String,
}

impl Printer<'_> {
    fn program(&mut self) -> fmt::Result {
        let program = self.program;
        let precision = if program.precision == rml_ir::Precision::F32 { "f32" } else { "f64" };
        let waits = if program.waits { " waits" } else { "" };
        let ahead = if program.ahead == 0 { String::new() } else { format!(" ahead {}", program.ahead) };
        writeln!(self.out, "nests {:?} {precision}{waits}{ahead}", program.name)?;
        program.slots.iter().filter(|data| is_short(data)).try_for_each(|data| self.slot(data))?;
        if let Ends::Given(ends) = &program.ends {
            let text = self.guards(ends, " or ");
            writeln!(self.out, "until {text}")?;
        }
        for (i, node) in program.nodes.iter().enumerate() {
            self.node(node, i == 0)?;
        }
        for write in &program.commits {
            let text = self.write(write);
            writeln!(self.out, "commit {text}")?;
        }
        for output in &program.outputs {
            if output.cases.is_empty() {
                writeln!(self.out, "out {}: {}", output.name, output.ty)?;
            }
            for (i, (at, when, source)) in output.cases.iter().enumerate() {
                let (source, when) = (self.source(source, *at), self.when(when));
                match i {
                    0 => writeln!(
                        self.out,
                        "out {}: {}{} = {source}{when}",
                        output.name,
                        output.ty,
                        place(*at)
                    )?,
                    _ => writeln!(self.out, " or{} = {source}{when}", place(*at))?,
                }
            }
        }
        program.slots.iter().filter(|data| !is_short(data)).try_for_each(|data| self.slot(data))
    }

    fn slot(&mut self, data: &SlotData) -> fmt::Result {
        let SlotData { name, ty, .. } = data;
        match &data.home {
            Home::Input => writeln!(self.out, "in {name}: {ty}"),
            Home::Const(value) => writeln!(self.out, "const {name}: {ty} = {}", ValueText(value)),
            Home::Register { kind, known } => {
                let known = known.map_or(String::new(), |known| format!(" is {known}"));
                match kind {
                    Lifetime::State { key, parameter } => {
                        let what = if *parameter { "parameter" } else { "state" };
                        writeln!(self.out, "{what} {name}: {ty} {key:?}{known}")
                    }
                    Lifetime::Hidden => writeln!(self.out, "carried {name}: {ty}{known}"),
                    Lifetime::Local => writeln!(self.out, "local {name}: {ty}{known}"),
                }
            }
            Home::Tick { ahead } => {
                let ahead = if *ahead == 0 { String::new() } else { format!(" ahead {ahead}") };
                let asserts = data.asserts.as_ref().map_or(String::new(), |of| format!(" asserts {of:?}"));
                writeln!(self.out, "tick {name}: {ty}{ahead}{asserts}")
            }
        }
    }

    fn node(&mut self, node: &NestNode, is_first: bool) -> fmt::Result {
        let order = match node.order {
            Order::Over => "over",
            Order::Forward => "forward",
            Order::Backward => "backward",
        };
        let by: Vec<String> = node.by.iter().map(|cond| self.access(cond)).collect();
        let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(" or ")) };
        writeln!(self.out, "{order}{by} {{")?;
        let until = match &self.program.ends {
            Ends::Found { conds, head } if is_first => Some((self.guards(conds, " or "), *head)),
            Ends::Found { .. } | Ends::Nothing | Ends::Given(_) => None,
        };
        for i in 0..=node.stages.len() {
            if let Some((conds, _)) = until.as_ref().filter(|(_, head)| *head == i) {
                writeln!(self.out, "  until {conds}")?;
            }
            if let Some(stage) = node.stages.get(i) {
                self.stage(stage)?;
            }
        }
        for write in &node.writes {
            let text = self.write(write);
            writeln!(self.out, "  write {text}")?;
        }
        writeln!(self.out, "}}")
    }

    fn stage(&mut self, stage: &NestStage) -> fmt::Result {
        let fails = if stage.may_fail { " may fail" } else { "" };
        let run = format!("{}{}{fails}", place(stage.at), self.when(&stage.when));
        match &stage.work {
            Work::Nest(nest) => self.nest(nest, stage.at, &run),
            Work::Call(Call { op, start, operands, out }) => {
                let operand =
                    |o: &Operand| format!("[{}] {}", Commas(&o.dims), self.source(&o.source, stage.at));
                let start = start.as_ref().map_or(String::new(), |start| format!("{} + ", operand(start)));
                let operands: Vec<String> = operands.iter().map(operand).collect();
                let out = self.name(*out);
                let text = format!("call {out} = {start}{op}({}){run}", operands.join(", "));
                writeln!(self.out, "  {text}")
            }
        }
    }

    fn nest(&mut self, nest: &Nest, at: Positions, run: &str) -> fmt::Result {
        let dims: Vec<String> = nest.dims.iter_enumerated().map(|(dim, n)| format!("{dim}<{n}")).collect();
        let dims = if dims.is_empty() { String::new() } else { format!(" for {}", dims.join(", ")) };
        writeln!(self.out, "  nest{dims}{run} {{")?;
        for (id, def) in nest.body.iter_enumerated() {
            let text = match def {
                Def::Load(source) => format!("load {}", self.source(source, at)),
                Def::Take { source, at: position, size, stride } => {
                    format!("take {position}<{size}({stride}) {}", self.source(source, at))
                }
                Def::Apply(op, args) => format!("{op}({})", Commas(args)),
                Def::Fold(fold, dim, of) => format!("fold {} {dim} {of}", fold.name()),
                Def::Chain { dim, of: [a, b], start } => {
                    let start = start.map_or(String::new(), |start| format!(" + {start}"));
                    format!("chain {dim} {a} {b}{start}")
                }
            };
            writeln!(self.out, "    {id} = {text}")?;
        }
        for (access, val) in &nest.stores {
            let text = self.access(access);
            writeln!(self.out, "    store {text} = {val}")?;
        }
        writeln!(self.out, "  }}")
    }

    fn write(&self, write: &Write) -> String {
        let unless: Vec<String> = write.unless.iter().map(|cond| self.access(cond)).collect();
        let unless =
            if unless.is_empty() { String::new() } else { format!(" unless {}", unless.join(" or ")) };
        let (name, value) = (self.name(write.register), self.source(&write.value, write.at));
        format!("{name}{} = {value}{unless}{}", place(write.at), self.when(&write.when))
    }

    fn name(&self, slot: Slot) -> &str {
        &self.program.slots[slot].name
    }

    fn when(&self, guards: &[Guard]) -> String {
        if guards.is_empty() { String::new() } else { format!(" when {}", self.guards(guards, " and ")) }
    }

    fn guards(&self, guards: &[Guard], between: &str) -> String {
        let guards: Vec<String> = guards.iter().map(|guard| self.guard(guard)).collect();
        guards.join(between)
    }

    fn guard(&self, guard: &Guard) -> String {
        format!("{}{}", if guard.value { "" } else { "not " }, self.access(&guard.cond))
    }

    /// Variants; their positions are those of the reader, if nothing else is said.
    fn source(&self, source: &Variants, reader: Positions) -> String {
        let variants: Vec<String> = source.iter().map(|variant| self.variant(variant, reader)).collect();
        variants.join(" | ")
    }

    fn variant(&self, variant: &Variant, reader: Positions) -> String {
        let test = |test: &Test| match test {
            Test::Is(guard) => self.guard(guard),
            Test::IsSet(register) => format!("{} is set", self.name(*register)),
        };
        let tests: Vec<String> = variant.any.iter().map(test).collect();
        let tests = if tests.is_empty() { String::new() } else { format!(" if {}", tests.join(" or ")) };
        let at = if variant.at == reader { String::new() } else { place(variant.at) };
        format!("{}{at}{tests}", self.access(&variant.access))
    }

    fn access(&self, access: &Access) -> String {
        let tick = match access.tick {
            Tick::Now => "",
            Tick::Before => "@-1",
            Tick::After => "@+1",
            Tick::First => "@first",
            Tick::Last => "@last",
        };
        let offset = if access.offset == 0 { String::new() } else { format!(":{}", access.offset) };
        let strides =
            if access.strides.is_empty() { String::new() } else { format!("({})", Commas(&access.strides)) };
        format!("{}{tick}{offset}{strides}", self.name(access.slot))
    }
}
