//! Reads the text of nests. The text names no source positions: all spans are the start of text 0. A slot is numbered
//! where its line stands.

use std::collections::BTreeMap;

use rml_base::{FileId, IndexVec, Span};
use rml_ir::text::{Cursor, ReadResult};
use rml_plan::read_place;

use crate::{
    Access, Call, Def, Dim, Ends, Fold, Guard, Home, Lifetime, Nest, NestNode, NestProgram, NestStage,
    Operand, Order, Output, Positions, Slot, SlotData, Test, Tick, Val, Variant, Variants, Work, Write,
};

/// Reads what [`print`](super::print) writes; an error names line and expectation. The result need not verify.
///
/// # Errors
/// The first line that is none of nests.
pub fn parse(text: &str) -> Result<NestProgram, String> {
    let lines = || text.lines().enumerate().map(|(i, l)| Cursor::new(i + 1, l)).filter(|c| !c.at_end());
    let mut c = lines().next().ok_or("the text is empty")?;
    c.expect("nests")?;
    let (name, precision, waits) = (c.string()?, c.precision()?, c.eat("waits"));
    let ahead = if c.eat("ahead") { c.parse("a number of ticks")? } else { 0 };
    c.end()?;
    let (slots, nodes, commits, outputs) = (IndexVec::new(), Vec::new(), Vec::new(), Vec::new());
    let program =
        NestProgram { name, precision, ends: Ends::Nothing, waits, ahead, slots, nodes, commits, outputs };
    let mut reader = Reader { program, names: BTreeMap::new(), node: None, stage: None };
    // A slot may be read before its line.
    let mut rest = Vec::new();
    for mut line in lines().skip(1) {
        if !reader.slot(&mut line)? {
            rest.push(line);
        }
    }
    for mut line in rest {
        reader.line(&mut line)?;
    }
    if reader.node.is_some() { Err("the last node has no end".to_owned()) } else { Ok(reader.program) }
}

/// A nest that is read, and the stage around it.
struct Open {
    at: Positions,
    when: Vec<Guard>,
    may_fail: bool,
    nest: Nest,
}

struct Reader<'a> {
    program: NestProgram,
    names: BTreeMap<&'a str, Slot>,
    node: Option<NestNode>,
    stage: Option<Open>,
}

/// The words that begin the line of a slot.
const HOMES: [&str; 7] = ["in", "const", "tick", "parameter", "state", "carried", "local"];

impl<'a> Reader<'a> {
    /// Reads the line of a slot, if it is one.
    fn slot(&mut self, c: &mut Cursor<'a>) -> ReadResult<bool> {
        let Some(word) = HOMES.into_iter().find(|word| c.eat(word)) else { return Ok(false) };
        let name = c.word("the name of a slot")?;
        c.expect(":")?;
        let ty = c.ty()?;
        let home = match word {
            "in" => Home::Input,
            "const" => {
                c.expect("=")?;
                Home::Const(c.value(&ty, self.program.precision)?)
            }
            "tick" => Home::Tick { ahead: if c.eat("ahead") { c.parse("a number of ticks")? } else { 0 } },
            _ => {
                let kind = match word {
                    "carried" => Lifetime::Hidden,
                    "local" => Lifetime::Local,
                    _ => Lifetime::State { key: c.string()?, parameter: word == "parameter" },
                };
                let known = if c.eat("is") { Some(c.parse("a truth value")?) } else { None };
                Home::Register { kind, known }
            }
        };
        let asserts = if c.eat("asserts") { Some(c.string()?) } else { None };
        c.end()?;
        let span = Span::new(FileId(0), 0, 0);
        let slot = self.program.slots.push(SlotData { name: name.into(), ty, home, span, asserts });
        match self.names.insert(name, slot) {
            None => Ok(true),
            Some(_) => {
                Err(c.error(format_args!("a name other than `{name}`, which another slot has, before this")))
            }
        }
    }

    /// Reads a line whose slots are known.
    fn line(&mut self, c: &mut Cursor<'a>) -> ReadResult<()> {
        if let Some(mut open) = self.stage.take() {
            if !c.eat("}") {
                self.statement(c, &mut open)?;
                self.stage = Some(open);
            } else if let Some(node) = &mut self.node {
                let Open { at, when, may_fail, nest } = open;
                node.stages.push(NestStage { at, when, may_fail, work: Work::Nest(nest) });
            }
        } else if let Some(mut node) = self.node.take() {
            if c.eat("}") {
                self.program.nodes.push(node);
                return c.end();
            }
            self.inside(c, &mut node)?;
            self.node = Some(node);
        } else if c.eat("until") {
            self.program.ends = Ends::Given(self.guards(c, "or")?);
        } else if c.eat("commit") {
            let write = self.write(c)?;
            self.program.commits.push(write);
        } else if c.eat("out") {
            let name = c.word("the name of an output")?;
            c.expect(":")?;
            self.program.outputs.push(Output { name: name.into(), ty: c.ty()?, cases: Vec::new() });
            if !c.at_end() {
                self.case(c)?;
            }
        } else if c.eat("or") {
            self.case(c)?;
        } else {
            self.node = Some(self.head(c)?);
        }
        c.end()
    }

    /// The first line of a node.
    fn head(&self, c: &mut Cursor<'a>) -> ReadResult<NestNode> {
        let order = match c.word("a line of nests")? {
            "over" => Order::Over,
            "forward" => Order::Forward,
            "backward" => Order::Backward,
            _ => return Err(c.error("a line of nests before this")),
        };
        let mut by = Vec::new();
        if c.eat("by") {
            by.push(self.access(c)?);
            while c.eat("or") {
                by.push(self.access(c)?);
            }
        }
        c.expect("{")?;
        Ok(NestNode { order, by, stages: Vec::new(), writes: Vec::new() })
    }

    /// A line of a node.
    fn inside(&mut self, c: &mut Cursor<'a>, node: &mut NestNode) -> ReadResult<()> {
        if c.eat("nest") {
            let dims = if c.eat("for") { Self::dims(c)? } else { IndexVec::new() };
            let (at, when, may_fail) = self.run(c)?;
            c.expect("{")?;
            self.stage = Some(Open { at, when, may_fail, nest: Nest { dims, ..Nest::default() } });
        } else if c.eat("call") {
            let out = self.name(c)?;
            c.expect("=")?;
            let mut start = if c.rest().starts_with('[') { Some(self.operand(c)?) } else { None };
            if start.is_some() {
                c.expect("+")?;
            }
            let (op, mut operands) = (c.op()?, c.list("(", ")", |c| self.operand(c))?);
            let (at, when, may_fail) = self.run(c)?;
            start.iter_mut().chain(&mut operands).for_each(|o| within(&mut o.source, at));
            node.stages.push(NestStage {
                at,
                when,
                may_fail,
                work: Work::Call(Call { op, start, operands, out }),
            });
        } else if c.eat("until") {
            let conds = self.guards(c, "or")?;
            self.program.ends = Ends::Found { conds, head: node.stages.len() };
        } else {
            c.expect("write")?;
            let write = self.write(c)?;
            node.writes.push(write);
        }
        Ok(())
    }

    fn dims(c: &mut Cursor<'a>) -> ReadResult<IndexVec<Dim, usize>> {
        let mut dims: IndexVec<Dim, usize> = IndexVec::new();
        loop {
            c.next_id::<Dim>("i", dims.len())?;
            c.expect("<")?;
            dims.push(c.parse("how many points a dimension has")?);
            if !c.eat(",") {
                return Ok(dims);
            }
        }
    }

    /// Where a stage runs, and whether it may fail.
    fn run(&self, c: &mut Cursor<'a>) -> ReadResult<(Positions, Vec<Guard>, bool)> {
        let (at, when) = (read_place(c)?, self.when(c)?);
        let may_fail = c.eat("may");
        if may_fail {
            c.expect("fail")?;
        }
        Ok((at, when, may_fail))
    }

    /// A line of a nest.
    fn statement(&self, c: &mut Cursor<'a>, open: &mut Open) -> ReadResult<()> {
        if c.eat("store") {
            let access = self.access(c)?;
            c.expect("=")?;
            open.nest.stores.push((access, c.id::<Val>("v")?));
            return Ok(());
        }
        c.next_id::<Val>("v", open.nest.body.len())?;
        c.expect("=")?;
        let def = if c.eat("load") {
            let mut source = self.source(c)?;
            within(&mut source, open.at);
            Def::Load(source)
        } else if c.eat("take") {
            let at = c.id::<Val>("v")?;
            c.expect("<")?;
            let size = c.parse("the size of an axis")?;
            c.expect("(")?;
            let stride = c.parse("a stride")?;
            c.expect(")")?;
            let mut source = self.source(c)?;
            within(&mut source, open.at);
            Def::Take { source, at, size, stride }
        } else if c.eat("fold") {
            let word = c.word("a fold")?;
            let fold = Fold::ALL.into_iter().find(|fold| fold.name() == word);
            let fold = fold.ok_or_else(|| c.error("a fold before this"))?;
            Def::Fold(fold, c.id::<Dim>("i")?, c.id::<Val>("v")?)
        } else if c.eat("chain") {
            let dim = c.id::<Dim>("i")?;
            let of = [c.id::<Val>("v")?, c.id::<Val>("v")?];
            let start = if c.eat("+") { Some(c.id::<Val>("v")?) } else { None };
            Def::Chain { dim, of, start }
        } else {
            Def::Apply(c.op()?, c.list("(", ")", |c| c.id::<Val>("v"))?)
        };
        open.nest.body.push(def);
        Ok(())
    }

    fn operand(&self, c: &mut Cursor<'a>) -> ReadResult<Operand> {
        Ok(Operand { dims: c.list("[", "]", |c| c.parse("a dimension"))?, source: self.source(c)? })
    }

    fn write(&self, c: &mut Cursor<'a>) -> ReadResult<Write> {
        let (register, at) = (self.name(c)?, read_place(c)?);
        c.expect("=")?;
        let mut value = self.source(c)?;
        within(&mut value, at);
        let mut unless = Vec::new();
        if c.eat("unless") {
            unless.push(self.access(c)?);
            while c.eat("or") {
                unless.push(self.access(c)?);
            }
        }
        Ok(Write { register, at, when: self.when(c)?, unless, value })
    }

    /// One more case of the last output.
    fn case(&mut self, c: &mut Cursor<'a>) -> ReadResult<()> {
        let at = read_place(c)?;
        c.expect("=")?;
        let mut source = self.source(c)?;
        within(&mut source, at);
        let case = (at, self.when(c)?, source);
        let output = self.program.outputs.last_mut().ok_or_else(|| c.error("an output before this"))?;
        output.cases.push(case);
        Ok(())
    }

    fn when(&self, c: &mut Cursor<'a>) -> ReadResult<Vec<Guard>> {
        if c.eat("when") { self.guards(c, "and") } else { Ok(Vec::new()) }
    }

    fn guards(&self, c: &mut Cursor<'a>, between: &str) -> ReadResult<Vec<Guard>> {
        let mut guards = vec![self.guard(c)?];
        while c.eat(between) {
            guards.push(self.guard(c)?);
        }
        Ok(guards)
    }

    fn guard(&self, c: &mut Cursor<'a>) -> ReadResult<Guard> {
        let value = !c.eat("not");
        Ok(Guard { cond: self.access(c)?, value })
    }

    fn source(&self, c: &mut Cursor<'a>) -> ReadResult<Variants> {
        let mut source = vec![self.variant(c)?];
        while c.eat("|") {
            source.push(self.variant(c)?);
        }
        Ok(source)
    }

    fn variant(&self, c: &mut Cursor<'a>) -> ReadResult<Variant> {
        let (access, at) = (self.access(c)?, read_place(c)?);
        let mut any = Vec::new();
        if c.eat("if") {
            any.push(self.test(c)?);
            while c.eat("or") {
                any.push(self.test(c)?);
            }
        }
        Ok(Variant { at, any, access })
    }

    fn test(&self, c: &mut Cursor<'a>) -> ReadResult<Test> {
        let guard = self.guard(c)?;
        if !c.eat("is") {
            return Ok(Test::Is(guard));
        }
        c.expect("set")?;
        Ok(Test::IsSet(guard.cond.slot))
    }

    fn access(&self, c: &mut Cursor<'a>) -> ReadResult<Access> {
        let slot = self.name(c)?;
        let tick = if c.eat("@") {
            match c.word("a tick")? {
                "-1" => Tick::Before,
                "+1" => Tick::After,
                "first" => Tick::First,
                "last" => Tick::Last,
                _ => return Err(c.error("`-1`, `+1`, `first` or `last` before this")),
            }
        } else {
            Tick::Now
        };
        let offset = if c.eat(":") { c.parse("the number of an element")? } else { 0 };
        let strides =
            if c.rest().starts_with('(') { c.list("(", ")", |c| c.parse("a stride"))? } else { Vec::new() };
        Ok(Access { slot, tick, offset, strides })
    }

    fn name(&self, c: &mut Cursor<'a>) -> ReadResult<Slot> {
        let name = c.word("the name of a slot")?;
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| c.error(format_args!("`{name}` to have a line, before this")))
    }
}

/// Variants apply where their reader is.
fn within(source: &mut Variants, at: Positions) {
    source.iter_mut().for_each(|variant| variant.at = variant.at.and(at));
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn errors_name_the_line_and_what_is_expected() {
        let refused = [
            ("", "the text is empty"),
            ("nests \"n\" f16", "line 1: expected f32 or f64, found `f16`"),
            ("nests \"n\" f32\nin x: num [", "line 2: expected a dimension, found ``"),
            (
                "nests \"n\" f32\nin x: num []\nin x: num []",
                "line 3: expected a name other than `x`, which another slot has, before this, found ``",
            ),
            (
                "nests \"n\" f32\nout o: num [] = y",
                "line 2: expected `y` to have a line, before this, found ``",
            ),
            ("nests \"n\" f32\nover {", "the last node has no end"),
            (
                "nests \"n\" f32\nover {\n  nest for i1<3 {",
                "line 3: expected the next id `i0`, found `i1<3 {`",
            ),
            (
                "nests \"n\" f32\nover {\n  nest {\n v1 = f",
                "line 4: expected the next id `v0`, found `v1 = f`",
            ),
            ("nests \"n\" f32\nsum x", "line 2: expected a line of nests before this, found `x`"),
        ];
        for (text, why) in refused {
            assert_eq!(parse(text).unwrap_err(), why, "{text}");
        }
    }
}
