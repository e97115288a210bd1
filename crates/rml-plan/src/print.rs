//! A plan as text: `rml dump --after plan`. It looks like hand-written loops, and [`parse`](super::parse) reads it
//! back. Constants of one number or truth value are printed where they are used; others have a line `const`.

use std::fmt::{self, Write};

use super::{Atom, Case, Const, Ends, Guard, Lifetime, Output, Part, Plan, Region, Rule, Tape, Tick};
use rml_ir::text::ValueText;
use rml_ir::{Position, Positions, Value};

/// The text of a plan.
pub fn print(plan: &Plan) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = Printer { plan, names: names(plan), out: &mut out }.plan();
    out
}

/// The name of each tape: its name in the source, if that is unique and the parser reads it as a name, else its number.
pub fn names(plan: &Plan) -> Vec<String> {
    let mut seen = std::collections::BTreeMap::new();
    for tape in plan.tapes.iter() {
        *seen.entry(tape.name.clone()).or_insert(0) += 1;
    }
    let name = |(id, tape): (Tape, &super::TapeData)| match &tape.name {
        Some(name) if seen[&tape.name] == 1 && is_name(name) => name.to_string(),
        _ => id.to_string(),
    };
    plan.tapes.iter_enumerated().map(name).collect()
}

/// How a part computes its tape: a line for each case, without the name of the tape.
pub fn rules(plan: &Plan, names: &[String], part: &Part) -> Vec<String> {
    let printer = Printer { plan, names: names.to_vec(), out: &mut String::new() };
    let cases = plan.tapes[part.tape].cases.iter().filter(|case| !case.at.and(part.at).is_empty());
    cases
        .map(|case| {
            let (rule, when) = (printer.rule(case), printer.guards(&case.when));
            format!("{rule}{}{when}", place(case.at.and(part.at)))
        })
        .collect()
}

/// The register that is written, and its value.
pub fn written(plan: &Plan, names: &[String], write: &super::Write) -> String {
    Printer { plan, names: names.to_vec(), out: &mut String::new() }.write(write)
}

/// Whether a text can only be the name of a tape: no keyword, no number, no id such as `t3`.
fn is_name(text: &str) -> bool {
    const WORDS: [&str; 10] = ["at", "false", "if", "in", "not", "or", "sum", "true", "until", "write"];
    let is_id = text.strip_prefix(['t', 'k', 'r']).is_some_and(|n| n.parse::<u32>().is_ok());
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    !is_id && !WORDS.contains(&text) && text.chars().all(inside) && text.parse::<f64>().is_err()
}

struct Printer<'a> {
    plan: &'a Plan,
    names: Vec<String>,
    out: &'a mut String,
}

impl Printer<'_> {
    fn plan(&mut self) -> fmt::Result {
        let plan = self.plan;
        let precision = if plan.precision == rml_ir::Precision::F32 { "f32" } else { "f64" };
        write!(self.out, "plan {:?} {precision}", plan.name)?;
        if let Ends::Given(ends) = &plan.ends {
            let each = ends.iter().map(|(i, value)| literal(&plan.inputs[*i as usize].0, *value));
            write!(self.out, " until {}", each.collect::<Vec<_>>().join(" or "))?;
        }
        if plan.waits {
            write!(self.out, " waits")?;
        }
        writeln!(self.out)?;
        for (name, ty) in &plan.inputs {
            writeln!(self.out, "in {name}: {ty}")?;
        }
        for (id, register) in plan.registers.iter_enumerated() {
            match &register.kind {
                Lifetime::State { key, parameter } => {
                    let what = if *parameter { "parameter" } else { "state" };
                    let known = register.known.map_or(String::new(), |known| format!(" is {known}"));
                    writeln!(self.out, "{what} {id}: {} {key:?}{known}", register.ty)?;
                }
                Lifetime::Hidden => writeln!(self.out, "carried {id}: {}", register.ty)?,
                Lifetime::Local => writeln!(self.out, "local {id}: {}", register.ty)?,
            }
        }
        for (id, value) in tensors(plan).filter(|(_, value)| is_short(value)) {
            writeln!(self.out, "const {id}: {} = {}", value.ty(), ValueText(value))?;
        }
        for (i, region) in plan.regions.iter().enumerate() {
            self.region(region, i == 0)?;
        }
        for write in &plan.commits {
            let text = self.write(write);
            writeln!(self.out, "commit {text}")?;
        }
        for output in &plan.outputs {
            self.output(output)?;
        }
        for (id, value) in tensors(plan).filter(|(_, value)| !is_short(value)) {
            writeln!(self.out, "const {id}: {} = {}", value.ty(), ValueText(value))?;
        }
        Ok(())
    }

    fn region(&mut self, region: &Region, is_first: bool) -> fmt::Result {
        match region {
            Region::Over(parts) => {
                for part in parts {
                    self.part(part, "over")?;
                }
                Ok(())
            }
            Region::Loop { backward, by, parts, writes } => {
                let way = if *backward { "backward" } else { "forward" };
                let by: Vec<&str> = by.iter().map(|tape| &*self.names[tape.0 as usize]).collect();
                let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(" or ")) };
                writeln!(self.out, "loop {way}{by} {{")?;
                let until = match &self.plan.ends {
                    Ends::Found { conds, head } if is_first => Some((conds, *head)),
                    _ => None,
                };
                for (i, part) in parts.iter().enumerate() {
                    self.part(part, "  ")?;
                    if let Some((conds, _)) = until.filter(|(_, head)| i + 1 == *head) {
                        let each = conds.iter().map(|g| literal(&self.atom(g.cond), g.value));
                        writeln!(self.out, "   until {}", each.collect::<Vec<_>>().join(" or "))?;
                    }
                }
                for write in writes {
                    let text = self.write(write);
                    writeln!(self.out, "   write {text}")?;
                }
                writeln!(self.out, "}}")
            }
        }
    }

    fn part(&mut self, part: &Part, lead: &str) -> fmt::Result {
        let tape = &self.plan.tapes[part.tape];
        for case in &tape.cases {
            let at = case.at.and(part.at);
            if at.is_empty() {
                continue;
            }
            let place = place(at);
            let when = self.guards(&case.when);
            let rule = self.rule(case);
            let ahead = if tape.ahead > 0 { format!(" ahead {}", tape.ahead) } else { String::new() };
            let asserts = tape.asserts.as_ref().map_or(String::new(), |name| format!(" asserts {name:?}"));
            writeln!(
                self.out,
                "{lead}{place} {}: {}{ahead}{asserts} = {rule}{when}",
                self.names[part.tape.0 as usize], tape.ty
            )?;
        }
        Ok(())
    }

    fn rule(&self, case: &Case) -> String {
        match &case.rule {
            Rule::Apply { op, args } => {
                let args: Vec<String> = args.iter().map(|a| self.atom(*a)).collect();
                format!("{}({})", op, args.join(", "))
            }
            Rule::Product { start, args: [a, b] } => {
                format!("{} + matmul({}, {})", self.atom(*start), self.atom(*a), self.atom(*b))
            }
            Rule::Copy(a) => self.atom(*a),
            Rule::Select { cond, then, other } => {
                format!("if {} then {} else {}", self.atom(*cond), self.atom(*then), self.atom(*other))
            }
            Rule::Restart { ends, init, next } => {
                let ends: Vec<String> = ends.iter().map(|a| self.atom(*a)).collect();
                format!("{} if {} else {}", self.atom(*init), ends.join(" or "), self.atom(*next))
            }
            Rule::Sum { init, backward, terms } => {
                let init = init.map_or(String::new(), |a| format!("{} + ", self.atom(a)));
                let way = if *backward { "last to first" } else { "first to last" };
                let terms: Vec<String> = terms.iter().map(|t| self.term(t)).collect();
                format!("{init}sum {way} of {}", terms.join("; "))
            }
            Rule::Input(i) => format!("in {}", self.plan.inputs[*i as usize].0),
            Rule::Read { register, init: None } => register.to_string(),
            Rule::Read { register, init: Some(init) } => format!("{register} or {}", self.atom(*init)),
        }
    }

    fn term(&self, term: &super::Term) -> String {
        let args: Vec<String> = term.args.iter().map(|a| self.atom(*a)).collect();
        let text = match &term.op {
            rml_ir::op::Op::Copy => args.join(", "),
            op => format!("{op}({})", args.join(", ")),
        };
        let guards: Vec<String> = term.when.iter().map(|g| literal(&self.atom(g.cond), g.value)).collect();
        let guards = if guards.is_empty() { String::new() } else { format!(" if {}", guards.join(" and ")) };
        format!("{text}{}{guards}", place(term.at))
    }

    fn write(&self, write: &super::Write) -> String {
        let unless: Vec<String> = write.unless.iter().map(|a| self.atom(*a)).collect();
        let unless =
            if unless.is_empty() { String::new() } else { format!(" unless {}", unless.join(" or ")) };
        let when = self.guards(&write.when);
        format!("{}{} = {}{unless}{when}", write.register, place(write.at), self.atom(write.value))
    }

    fn output(&mut self, output: &Output) -> fmt::Result {
        if output.cases.is_empty() {
            writeln!(self.out, "out {}: {}", output.name, output.ty)?;
        }
        for (i, (at, when, atom)) in output.cases.iter().enumerate() {
            let (atom, when) = (self.atom(*atom), self.guards(when));
            match i {
                0 => writeln!(self.out, "out{} {}: {} = {atom}{when}", place(*at), output.name, output.ty)?,
                _ => writeln!(self.out, " or{} = {atom}{when}", place(*at))?,
            }
        }
        Ok(())
    }

    fn guards(&self, guards: &[Guard]) -> String {
        let all: Vec<String> = guards.iter().map(|g| literal(&self.atom(g.cond), g.value)).collect();
        if all.is_empty() { String::new() } else { format!(" when {}", all.join(" and ")) }
    }

    fn atom(&self, atom: Atom) -> String {
        match atom {
            Atom::Const(k) => match &self.plan.consts[k] {
                Value::Tensor(_) => k.to_string(),
                scalar => ValueText(scalar).to_string(),
            },
            Atom::Tape(t, tick) => {
                let name = &self.names[t.0 as usize];
                match tick {
                    Tick::Now => name.clone(),
                    Tick::Before => format!("{name}[t-1]"),
                    Tick::After => format!("{name}[t+1]"),
                    Tick::First => format!("{name}[first]"),
                    Tick::Last => format!("{name}[last]"),
                }
            }
        }
    }
}

/// The constants that have lines of their own.
fn tensors(plan: &Plan) -> impl Iterator<Item = (Const, &Value)> {
    plan.consts.iter_enumerated().filter(|(_, value)| matches!(value, Value::Tensor(_)))
}

/// Whether the text of a constant is short enough to stand before what is computed.
fn is_short(value: &Value) -> bool {
    ValueText(value).to_string().len() <= 60
}

fn literal(cond: &str, value: bool) -> String {
    format!("{}{cond}", if value { "" } else { "not " })
}

/// The positions with ` at ` before them; nothing if they are all. [`read_place`](super::read_place) reads it back.
pub fn place(at: Positions) -> String {
    let text = match at {
        Positions::ALL => return String::new(),
        Positions::STARTS => "first",
        Positions::ENDS => "last",
        Positions::AFTER_START => "behind first",
        Positions::BEFORE_END => "before last",
        _ => {
            let names: Vec<&str> = at.iter().map(position).collect();
            return format!(" at {}", names.join("+"));
        }
    };
    format!(" at {text}")
}

/// A single position; `first` alone means a first tick, whether it is the last one or not.
pub(crate) fn position(p: Position) -> &'static str {
    match p {
        Position::First => "first-not-last",
        Position::Middle => "middle",
        Position::Last => "last-not-first",
        Position::Only => "only",
    }
}
