//! The text of the source file: constants, a function for each group, and those that a caller sees.

use std::collections::BTreeSet;

use rml_ir::Value;
use rml_plan::{Rule, Tape};

use crate::function::{Function, declare_tick, num};
use crate::fuse::{Block, Blocks};
use crate::groups::{Group, What};
use crate::header::comment;
use crate::lines::Lines;
use crate::operand::{Operand, c_type, literals};
use crate::registers::Starts;
use crate::scope::Scope;
use crate::{Math, Options};
use crate::{checkpoint, point, products, run, sums, tensor};

/// The text of the source file, and how many bytes its constants take.
pub(crate) fn source(scope: &Scope<'_>, starts: &Starts, options: &Options) -> (String, u64) {
    let mut groups: Vec<String> = Vec::new();
    for g in &scope.groups {
        groups.extend(group(scope, groups.len(), g));
    }
    let run = run::run(scope, groups.len());
    let start_text = run::start(scope, starts);
    let checkpoint = checkpoint::functions(scope);
    let (tables, bytes) = tables(scope, starts, &[&start_text, &run]);
    let body = scope.prelude.text()
        + &tables
        + &groups.join("\n")
        + "\n"
        + &start_text
        + "\n"
        + &checkpoint
        + "\n"
        + &run;
    (head(scope, options, &body) + &body, bytes)
}

/// What stands before everything.
fn head(scope: &Scope<'_>, options: &Options, body: &str) -> String {
    let mut text = Lines::default();
    text.line(comment(&options.note));
    text.line(format!("#include \"{}.h\"\n", scope.name));
    if scope.prelude.needs_library() {
        text.line("#include <math.h>\n");
    }
    if options.math == Math::Own {
        text.line("#ifdef __FAST_MATH__\n#error \"the functions of this file need IEEE arithmetic: compile it without -ffast-math\"\n#endif\n");
        text.line("#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#endif\n");
    }
    text.line(format!("typedef {} num;\n", c_type(rml_ir::DType::Num, scope.plan.precision)));
    for (name, value) in [("RML_NAN", "0.0 / 0.0"), ("RML_INFINITY", "1.0 / 0.0")] {
        if body.contains(name) {
            text.line(format!("#define {name} ((num)({value}))\n"));
        }
    }
    text.into_text()
}

/// Constants that are tables, and how many bytes they take.
fn tables(scope: &Scope<'_>, starts: &Starts, users: &[&String]) -> (String, u64) {
    let (mut lines, mut bytes) = (Lines::default(), 0);
    let mut table = |name: String, value: &Value| {
        let literals = literals(value);
        if literals.is_empty() {
            return;
        }
        bytes += (value.dtype().size(scope.plan.precision) * literals.len()) as u64;
        lines.line(format!("static const {} {name}[{}] = {{", num(value.dtype()), literals.len()));
        literals.chunks(8).for_each(|row| lines.line(format!("    {},", row.join(", "))));
        lines.line("};\n");
    };
    for k in scope.tables.borrow().iter() {
        table(format!("{}_k{}", scope.name, k.0), &scope.plan.consts[*k]);
    }
    for (id, r) in scope.registers.iter_enumerated() {
        let (own, first) = (&starts.0[id], &r.start);
        if let (true, Some(value)) = (r.fixed, own) {
            table(scope.table("value", id), value);
            continue;
        }
        for (kind, value) in [("start", own), ("first", first)] {
            let table_name = scope.table(kind, id);
            if let Some(value) = value
                && users.iter().any(|user| user.contains(&format!("{table_name}[")))
            {
                table(table_name, value);
            }
        }
    }
    (lines.into_text(), bytes)
}

/// A group as a function; none if nothing of it is computed.
fn group(scope: &Scope<'_>, i: usize, (group, blocks): &(Group, Blocks)) -> Option<String> {
    let mut f = Function::new(scope);
    f.blocks(&blocks.once, "0");
    let ticks = match group.what {
        What::Search(_) => search(&mut f, group, blocks),
        _ => each_tick(&mut f, group, blocks),
    };
    f.lines.paste(&ticks);
    if f.lines.is_empty() {
        return None;
    }
    f.lines.line("return 0;");
    let params = "const @_in *restrict in, @_state *restrict state, @_work *restrict work, const long ticks, const long done";
    let head = format!("static long @_{i}({params})").replace('@', &scope.name);
    let text = f.text(&head, &["(void)in, (void)state, (void)work, (void)ticks, (void)done;"]);
    Some(comment(&says(scope, group)) + "\n" + &text)
}

/// What a group does, and the first of the names in the source that it computes.
fn says(scope: &Scope<'_>, group: &Group) -> String {
    const MOST: usize = 4;
    let parts = || group.once.iter().chain(&group.parts);
    let sums = parts().any(|part| scope.plan.tapes[part.tape].is_sum());
    let how = match (group.what, scope.cycles) {
        (What::Search(_), _) => {
            "Looks for the end of the window, and gives how many cycles it has; 0 if it does not end"
        }
        (_, 1) => "In a cycle",
        _ if sums => "A sum over all cycles",
        (What::Forward, _) => "From the first cycle to the last",
        (What::Backward, _) => "From the last cycle to the first",
    };
    let mut names: Vec<&str> =
        parts().filter_map(|part| scope.plan.tapes[part.tape].name.as_deref()).collect();
    names.dedup();
    let more = if names.len() > MOST { " and others" } else { "" };
    names.truncate(MOST);
    if names.is_empty() { format!("{how}.") } else { format!("{how}: {}{more}.", names.join(", ")) }
}

/// What runs at each tick, in a loop.
fn each_tick(f: &mut Function<'_>, group: &Group, blocks: &Blocks) -> Lines {
    let outer = std::mem::take(&mut f.lines);
    f.blocks(&blocks.ticks, "t");
    loop_writes(f, group);
    let inner = std::mem::replace(&mut f.lines, outer);
    let mut lines = Lines::default();
    if inner.is_empty() {
        return lines;
    }
    let backward = group.what == What::Backward;
    lines.open(
        match (f.scope.cycles, backward) {
            (1, _) => String::new(),
            (_, false) => "for (long t = 0; t < ticks; t++)".to_owned(),
            (_, true) => "for (long t = ticks - 1; t >= 0; t--)".to_owned(),
        }
        .trim_start(),
    );
    let text = inner.into_text();
    declare_tick(&mut lines, f.scope.cycles, &text, "const bool last = t == ticks - 1;");
    let mut all = Lines::default();
    text.lines().for_each(|line| all.line(line));
    lines.paste(&all);
    lines.close();
    lines
}

fn loop_writes(f: &mut Function<'_>, group: &Group) {
    let reaches = f.scope.plan.reaches();
    for write in &group.writes {
        let reach = reaches[write.register];
        let bounded = f.scope.plan.ahead() > 0 && reach < f.scope.plan.ahead();
        if bounded {
            f.lines.open(if reach == 0 {
                "if (t < done)".to_owned()
            } else {
                format!("if (t < done + {reach})")
            });
        }
        f.writes(std::slice::from_ref(write), "t", "");
        if bounded {
            f.lines.close();
        }
    }
    if f.scope.plan.ahead() > 0 && !group.writes.is_empty() {
        f.lines.open("if (t == done - 1)");
        let registers: BTreeSet<_> = group.writes.iter().map(|write| write.register).collect();
        for register in registers.into_iter().filter(|register| !f.scope.registers[*register].local) {
            f.keep(register);
        }
        f.lines.close();
    }
}

impl Function<'_> {
    fn blocks(&mut self, blocks: &[Block], t: &str) {
        for block in blocks {
            self.block(block, t);
        }
    }

    fn block(&mut self, block: &Block, t: &str) {
        let is_made = |tape: &Tape| self.scope.homes[*tape].is_made();
        if !block.fills.iter().any(|(tape, _)| is_made(tape)) {
            return;
        }
        // What is the same at all ticks is computed wherever they are.
        let condition = match t {
            "0" => None,
            _ => self.scope.condition(block.at, &block.when, block.ahead, t, &self.used),
        };
        if condition.as_deref() == Some("false") {
            return;
        }
        if let Some(condition) = &condition {
            self.lines.open(format!("if ({condition})"));
        }
        match (block.len, &block.fills[..]) {
            (Some(len), fills) => point::block(self, fills, len, t),
            (None, fills) => fills.iter().for_each(|(tape, cases)| {
                cases.iter().for_each(|case| self.single(*tape, *case, t));
            }),
        }
        if condition.is_some() {
            self.lines.close();
        }
    }

    /// A value by an operator that has loops of its own.
    fn single(&mut self, tape: Tape, case: usize, t: &str) {
        let data = &self.scope.plan.tapes[tape];
        let out = self.scope.tape(tape, t, &self.used);
        match &data.cases[case].rule {
            Rule::Apply { op, args } => {
                let args: Vec<Operand> = args.iter().map(|arg| self.atom(*arg, t)).collect();
                self.says(data.name.as_deref(), op.name());
                tensor::apply(self, op, &args, &out, false);
            }
            Rule::Product { start, args } => {
                let [start, a, b] = [*start, args[0], args[1]].map(|atom| self.atom(atom, t));
                self.says(data.name.as_deref(), "a sum that goes on with matmul");
                self.copy(&start, &out);
                products::matmul(self, &[a, b], &out, true);
            }
            Rule::Sum { init, backward, terms } => {
                self.says(data.name.as_deref(), "a sum over ticks");
                sums::sum(self, *init, *backward, terms, &out);
            }
            _ => point::block(self, &[(tape, vec![case])], out.len(), t),
        }
    }

    fn says(&mut self, name: Option<&str>, what: &str) {
        if let Some(name) = name {
            self.lines.line(comment(&format!("{name} = {what}")));
        }
    }

    /// Keeps the value of a register after the last finished tick.
    fn keep(&mut self, register: rml_plan::Reg) {
        let (from, to) = (self.scope.register(register, ""), self.scope.register(register, "_done"));
        self.copy(&from, &to);
        if self.scope.registers[register].flagged {
            let (from, to) = (self.scope.flag(register, ""), self.scope.flag(register, "_done"));
            self.lines.line(format!("{to} = {from};"));
        }
    }
}

/// A loop that finds the end of the window; what it gives is its length.
fn search(f: &mut Function<'_>, group: &Group, blocks: &Blocks) -> Lines {
    let (head, rest) = blocks.ticks.split_at(blocks.head);
    let outer = std::mem::take(&mut f.lines);
    f.blocks(head, "t");
    let conds: Vec<String> =
        f.scope.plan.ends.found().iter().map(|g| f.scope.holds(g, "t", &f.used)).collect();
    f.lines.line(format!("last = {};", conds.join(" || ")));
    f.blocks(rest, "t");
    loop_writes(f, group);
    f.lines.open("if (last)");
    f.lines.line("return t + 1;");
    f.lines.close();
    let inner = std::mem::replace(&mut f.lines, outer);
    let mut lines = Lines::default();
    lines.open("for (long t = 0; t < ticks; t++)");
    lines.line("bool last = false;");
    lines.paste(&inner);
    lines.close();
    lines
}
