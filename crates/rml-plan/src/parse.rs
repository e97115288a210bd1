//! Reads the text of a plan. The text names no source positions: all spans are the start of text 0. A tape is numbered
//! where it is first filled, and a constant without a line of its own after those that have one.

use std::collections::BTreeMap;
use std::sync::Arc;

use rml_base::{FileId, IndexVec, Span};
use rml_ir::op::Op;
use rml_ir::text::{Cursor, ReadResult};
use rml_ir::{Position, Positions, Precision, Value};

use super::print::position;
use super::{
    Atom, Case, Const, Ends, Guard, Lifetime, Output, Part, Plan, Reg, Region, Register, Rule, Tape,
    TapeData, Term, Tick, Write,
};

/// Reads what [`print`](super::print) writes; an error names line and expectation. The result need not verify.
///
/// # Errors
/// The first line that is not part of a plan.
pub fn parse(text: &str) -> Result<Plan, String> {
    let lines = || text.lines().enumerate().map(|(i, l)| Cursor::new(i + 1, l)).filter(|c| !c.at_end());
    let (plan, ends) = head(&mut lines().next().ok_or("the text is empty")?)?;
    let mut reader = Reader { plan, names: BTreeMap::new(), scalars: BTreeMap::new(), looped: None };
    // Constants and tapes may be read before the line that makes them.
    let mut in_loop = false;
    for mut line in lines().skip(1) {
        in_loop = reader.declare(&mut line, in_loop)?;
    }
    reader.ends(ends)?;
    for mut line in lines().skip(1) {
        reader.line(&mut line)?;
    }
    if reader.looped.is_some() { Err("the last loop has no end".to_owned()) } else { Ok(reader.plan) }
}

/// The first line: a plan of nothing, and the inputs that end a window.
fn head<'a>(c: &mut Cursor<'a>) -> ReadResult<(Plan, Vec<(&'a str, bool)>)> {
    c.expect("plan")?;
    let (name, precision) = (c.string()?, c.precision()?);
    let mut ends = Vec::new();
    if c.eat("until") {
        loop {
            let value = !c.eat("not");
            ends.push((c.word("the name of an input")?, value));
            if !c.eat("or") {
                break;
            }
        }
    }
    let waits = c.eat("waits");
    c.end()?;
    let plan = Plan {
        name,
        precision,
        ends: Ends::Nothing,
        waits,
        inputs: Vec::new(),
        consts: IndexVec::new(),
        tapes: IndexVec::new(),
        registers: IndexVec::new(),
        regions: Vec::new(),
        commits: Vec::new(),
        outputs: Vec::new(),
    };
    Ok((plan, ends))
}

/// The most constants that a text may number: otherwise a single large id would use up the memory.
const MAX_CONSTS: u32 = 1 << 20;

/// A loop that is being read.
struct Looped {
    backward: bool,
    by: Vec<Tape>,
    parts: Vec<Part>,
    writes: Vec<Write>,
}

struct Reader<'a> {
    plan: Plan,
    names: BTreeMap<&'a str, Tape>,
    /// Constants written in place, by their text.
    scalars: BTreeMap<&'a str, Const>,
    looped: Option<Looped>,
}

/// The words that begin a declaration, outside of loops.
const DECLARED: [&str; 6] = ["in", "const", "parameter", "state", "carried", "local"];

impl<'a> Reader<'a> {
    /// Reads only the declaration in a line: an input, a constant or a register; or the name and type of a tape that
    /// the line fills. Returns whether the next line is in a loop.
    fn declare(&mut self, c: &mut Cursor<'a>, in_loop: bool) -> ReadResult<bool> {
        if in_loop && c.eat("}") {
            return Ok(false);
        }
        if !in_loop && c.eat("loop") {
            return Ok(true);
        }
        if in_loop && !c.eat("write") && !c.eat("until") || !in_loop && c.eat("over") {
            self.tape(c)?;
        } else if !in_loop && let Some(word) = DECLARED.into_iter().find(|w| c.eat(w)) {
            self.declaration(word, c)?;
            c.end()?;
        }
        Ok(in_loop)
    }

    /// The start of a line that fills a tape: `at last loss: num []`.
    fn tape(&mut self, c: &mut Cursor<'a>) -> ReadResult<Part> {
        let at = place(c)?;
        let name = c.word("the name of a tape")?;
        c.expect(":")?;
        let ty = c.ty()?;
        let ahead = if c.eat("ahead") { c.parse("a number of ticks")? } else { 0 };
        let asserts = if c.eat("asserts") { Some(c.string()?) } else { None };
        let plan = &mut self.plan;
        let tape = *self.names.entry(name).or_insert_with(|| {
            let is_id = name.strip_prefix('t').is_some_and(|n| n.parse::<u32>().is_ok());
            let name = (!is_id).then(|| Arc::from(name));
            let (ty, span, cases) = (ty.clone(), no_span(), Vec::new());
            plan.tapes.push(TapeData { name, ty, span, asserts, ahead, cases })
        });
        if plan.tapes[tape].ty != ty {
            return Err(c.error(format_args!("the type {} before this", plan.tapes[tape].ty)));
        }
        if plan.tapes[tape].ahead != ahead {
            return Err(c.error(format_args!("`ahead {}` before this", plan.tapes[tape].ahead)));
        }
        Ok(Part { tape, at })
    }

    fn declaration(&mut self, word: &str, c: &mut Cursor<'a>) -> ReadResult<()> {
        let plan = &mut self.plan;
        if word == "in" {
            let name = c.word("the name of an input")?;
            c.expect(":")?;
            plan.inputs.push((name.into(), c.ty()?));
        } else if word == "const" {
            let id: Const = c.id("k")?;
            if id.0 >= MAX_CONSTS {
                return Err(c.error(format_args!("an id below k{MAX_CONSTS} before this")));
            }
            c.expect(":")?;
            let ty = c.ty()?;
            c.expect("=")?;
            let value = c.value(&ty, plan.precision)?;
            // Constants may be used before their line, at the end of the text.
            while plan.consts.len() <= id.0 as usize {
                plan.consts.push(Value::Bool(false));
            }
            plan.consts[id] = value;
        } else {
            c.next_id::<Reg>("r", plan.registers.len())?;
            c.expect(":")?;
            let ty = c.ty()?;
            let kind = match word {
                "local" => Lifetime::Local,
                "carried" => Lifetime::Hidden,
                word => Lifetime::State { key: c.string()?, parameter: word == "parameter" },
            };
            let known = if c.eat("is") { Some(c.parse("a truth value")?) } else { None };
            plan.registers.push(Register { ty, kind, known });
        }
        Ok(())
    }

    fn ends(&mut self, ends: Vec<(&str, bool)>) -> Result<(), String> {
        let input = |(name, value): (&str, bool)| {
            let at = self.plan.inputs.iter().position(|(input, _)| **input == *name);
            let at = at.and_then(|at| u32::try_from(at).ok());
            Ok((at.ok_or_else(|| format!("`{name}`, which ends a window, is no input"))?, value))
        };
        let ends = ends.into_iter().map(input).collect::<Result<Vec<_>, String>>()?;
        if !ends.is_empty() {
            self.plan.ends = Ends::Given(ends);
        }
        Ok(())
    }

    /// Reads a line, once all tapes are declared.
    fn line(&mut self, c: &mut Cursor<'a>) -> ReadResult<()> {
        if let Some(mut looped) = self.looped.take() {
            if c.eat("}") {
                let Looped { backward, by, parts, writes } = looped;
                self.plan.regions.push(Region::Loop { backward, by, parts, writes });
                return c.end();
            }
            if c.eat("write") {
                looped.writes.push(self.write(c)?);
            } else if c.eat("until") {
                let conds = self.guards(c, "or")?;
                self.plan.ends = Ends::Found { conds, head: looped.parts.len() };
            } else {
                self.part(c, &mut looped.parts)?;
            }
            self.looped = Some(looped);
        } else if c.eat("over") {
            let mut parts = match self.plan.regions.pop() {
                Some(Region::Over(parts)) => parts,
                other => {
                    self.plan.regions.extend(other);
                    Vec::new()
                }
            };
            self.part(c, &mut parts)?;
            self.plan.regions.push(Region::Over(parts));
        } else if c.eat("loop") {
            let backward = c.eat("backward");
            if !backward {
                c.expect("forward")?;
            }
            let mut by = Vec::new();
            if c.eat("by") {
                by.push(self.condition(c)?);
                while c.eat("or") {
                    by.push(self.condition(c)?);
                }
            }
            c.expect("{")?;
            self.looped = Some(Looped { backward, by, parts: Vec::new(), writes: Vec::new() });
        } else if c.eat("commit") {
            let write = self.write(c)?;
            self.plan.commits.push(write);
        } else if c.eat("out") {
            self.output(c)?;
        } else if c.eat("or") {
            let at = place(c)?;
            self.taken(at, c)?;
        } else {
            // The first pass has read it.
            return if DECLARED.into_iter().any(|w| c.eat(w)) {
                Ok(())
            } else {
                Err(c.error("a line of a plan"))
            };
        }
        c.end()
    }

    /// Reads a case; consecutive cases of one tape form one part.
    fn part(&mut self, c: &mut Cursor<'a>, parts: &mut Vec<Part>) -> ReadResult<()> {
        let Part { tape, at } = self.tape(c)?;
        c.expect("=")?;
        let (rule, when) = (self.rule(c)?, self.when(c)?);
        self.plan.tapes[tape].cases.push(Case { at, when, rule });
        match parts.last_mut() {
            Some(part) if part.tape == tape => part.at = part.at.or(at),
            _ => parts.push(Part { tape, at }),
        }
        Ok(())
    }

    fn rule(&mut self, c: &mut Cursor<'a>) -> ReadResult<Rule> {
        if c.eat("in") {
            let name = c.word("the name of an input")?;
            let at = self.plan.inputs.iter().position(|(input, _)| **input == *name);
            let at = at.and_then(|at| u32::try_from(at).ok());
            return at.map(Rule::Input).ok_or_else(|| c.error("an input before this"));
        }
        if let Some(register) = c.maybe_id("r") {
            let init = if c.eat("or") { Some(self.atom(c)?) } else { None };
            return Ok(Rule::Read { register, init });
        }
        if c.eat("if") {
            let cond = self.atom(c)?;
            c.expect("then")?;
            let then = self.atom(c)?;
            c.expect("else")?;
            return Ok(Rule::Select { cond, then, other: self.atom(c)? });
        }
        if is_application(c) {
            return Ok(Rule::Apply { op: c.op()?, args: c.list("(", ")", |c| self.atom(c))? });
        }
        if c.eat("sum") {
            return self.sum(None, c);
        }
        let first = self.atom(c)?;
        if c.eat("+") {
            if c.eat("sum") {
                return self.sum(Some(first), c);
            }
            c.expect("matmul")?;
            let factors = c.list("(", ")", |c| self.atom(c))?;
            let args = factors.try_into().map_err(|_| c.error("two factors"))?;
            return Ok(Rule::Product { start: first, args });
        }
        if c.eat("if") {
            let mut ends = vec![self.atom(c)?];
            while c.eat("or") {
                ends.push(self.atom(c)?);
            }
            c.expect("else")?;
            return Ok(Rule::Restart { ends, init: first, next: self.atom(c)? });
        }
        Ok(Rule::Copy(first))
    }

    fn sum(&mut self, init: Option<Atom>, c: &mut Cursor<'a>) -> ReadResult<Rule> {
        let backward = c.eat("last");
        let words = if backward { ["to", "first", "of"] } else { ["first", "to", "last"] };
        words.into_iter().try_for_each(|word| c.expect(word))?;
        if !backward {
            c.expect("of")?;
        }
        let mut terms = vec![self.term(c)?];
        while c.eat(";") {
            terms.push(self.term(c)?);
        }
        Ok(Rule::Sum { init, backward, terms })
    }

    fn term(&mut self, c: &mut Cursor<'a>) -> ReadResult<Term> {
        let (op, args) = if is_application(c) {
            (c.op()?, c.list("(", ")", |c| self.atom(c))?)
        } else {
            (Op::Copy, vec![self.atom(c)?])
        };
        let at = place(c)?;
        let when = if c.eat("if") { self.guards(c, "and")? } else { Vec::new() };
        Ok(Term { at, when, op, args })
    }

    /// ` when a and not b`.
    fn when(&mut self, c: &mut Cursor<'a>) -> ReadResult<Vec<Guard>> {
        if c.eat("when") { self.guards(c, "and") } else { Ok(Vec::new()) }
    }

    /// `a and not b`, with that word between.
    fn guards(&mut self, c: &mut Cursor<'a>, between: &str) -> ReadResult<Vec<Guard>> {
        let mut guards = Vec::new();
        loop {
            let value = !c.eat("not");
            guards.push(Guard { cond: self.atom(c)?, value });
            if !c.eat(between) {
                return Ok(guards);
            }
        }
    }

    fn write(&mut self, c: &mut Cursor<'a>) -> ReadResult<Write> {
        let (register, at) = (c.id("r")?, place(c)?);
        c.expect("=")?;
        let value = self.atom(c)?;
        let mut unless = Vec::new();
        if c.eat("unless") {
            unless.push(self.atom(c)?);
            while c.eat("or") {
                unless.push(self.atom(c)?);
            }
        }
        Ok(Write { register, at, when: self.when(c)?, unless, value })
    }

    /// Reads an output with its first case, if it has one.
    fn output(&mut self, c: &mut Cursor<'a>) -> ReadResult<()> {
        let at = place(c)?;
        let name = c.word("the name of an output")?;
        c.expect(":")?;
        self.plan.outputs.push(Output { name: name.into(), ty: c.ty()?, cases: Vec::new() });
        if c.at_end() { Ok(()) } else { self.taken(at, c) }
    }

    /// Reads one more case of the last output.
    fn taken(&mut self, at: Positions, c: &mut Cursor<'a>) -> ReadResult<()> {
        c.expect("=")?;
        let atom = self.atom(c)?;
        let case = (at, self.when(c)?, atom);
        let output = self.plan.outputs.last_mut().ok_or_else(|| c.error("an output before this"))?;
        output.cases.push(case);
        Ok(())
    }

    /// A tape that ends sequences.
    fn condition(&self, c: &mut Cursor<'a>) -> ReadResult<Tape> {
        let name = c.word("the name of a tape")?;
        self.names.get(name).copied().ok_or_else(|| c.error("a tape before this"))
    }

    fn atom(&mut self, c: &mut Cursor<'a>) -> ReadResult<Atom> {
        if let Some(k) = c.maybe_id::<Const>("k") {
            return Ok(Atom::Const(k));
        }
        let word = c.word("an operand")?;
        if let Some(tape) = self.names.get(word) {
            return Ok(Atom::Tape(*tape, tick(c)?));
        }
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => match word.parse() {
                Ok(int) => Value::Int(int),
                Err(_) => {
                    number(word, self.plan.precision).ok_or_else(|| c.error("an operand before this"))?
                }
            },
        };
        let consts = &mut self.plan.consts;
        Ok(Atom::Const(*self.scalars.entry(word).or_insert_with(|| consts.push(value))))
    }
}

fn number(word: &str, precision: Precision) -> Option<Value> {
    Some(match precision {
        Precision::F32 => Value::F32(word.parse().ok()?),
        Precision::F64 => Value::F64(word.parse().ok()?),
    })
}

fn tick(c: &mut Cursor<'_>) -> ReadResult<Tick> {
    if !c.eat("[") {
        return Ok(Tick::Now);
    }
    let tick = match c.word("a tick")? {
        "t-1" => Tick::Before,
        "t+1" => Tick::After,
        "first" => Tick::First,
        "last" => Tick::Last,
        _ => return Err(c.error("`t-1`, `t+1`, `first` or `last` before this")),
    };
    c.expect("]").map(|()| tick)
}

/// Reads positions as [`place`](super::place) prints them, such as ` at behind first`. Without `at`, all positions.
///
/// # Errors
/// If `at` is not followed by positions.
pub fn place(c: &mut Cursor<'_>) -> ReadResult<Positions> {
    if !c.eat("at") {
        return Ok(Positions::ALL);
    }
    let two = |c: &mut Cursor<'_>, word, positions| c.expect(word).map(|()| positions);
    match c.word("a position")? {
        "first" => Ok(Positions::STARTS),
        "last" => Ok(Positions::ENDS),
        "behind" => two(c, "first", Positions::AFTER_START),
        "before" => two(c, "last", Positions::BEFORE_END),
        names => {
            let of = |name: &str| Position::ALL.into_iter().find(|p| position(*p) == name);
            names.split('+').map(|name| of(name).ok_or_else(|| c.error("positions before this"))).collect()
        }
    }
}

/// Whether an operator comes next.
fn is_application(c: &Cursor<'_>) -> bool {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    c.rest().trim_start_matches(inside).starts_with(['(', '{'])
}

/// The position of everything that is read from text.
fn no_span() -> Span {
    Span::new(FileId(0), 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_line_and_what_is_expected() {
        let refused = [
            ("", "the text is empty"),
            ("plan \"n\" f16", "line 1: expected f32 or f64, found `f16`"),
            ("plan \"n\" f32\nover x: num [", "line 2: expected a dimension, found ``"),
            ("plan \"n\" f32\nover x: num [] = y", "line 2: expected an operand before this, found ``"),
            (
                "plan \"n\" f32\nover x: num [] = x[t-2]",
                "line 2: expected `t-1`, `t+1`, `first` or `last` before this, found `]`",
            ),
            ("plan \"n\" f32\nloop forward {", "the last loop has no end"),
            ("plan \"n\" f32\nover x: num [] = in x", "line 2: expected an input before this, found ``"),
            (
                "plan \"n\" f32\nstate r1: num [] \"s\"",
                "line 2: expected the next id `r0`, found `r1: num [] \"s\"`",
            ),
            (
                "plan \"n\" f32\nconst k1048576: num [0] = []",
                "line 2: expected an id below k1048576 before this, found `: num [0] = []`",
            ),
            ("plan \"n\" f32\nsum x", "line 2: expected a line of a plan, found `sum x`"),
        ];
        for (text, why) in refused {
            assert_eq!(parse(text).unwrap_err(), why, "{text}");
        }
    }
}
