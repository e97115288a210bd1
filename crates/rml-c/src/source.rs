//! The text of the source file: constants, a function for each node, and the functions for callers.

use std::collections::BTreeSet;

use rml_base::EntityId;
use rml_ir::Value;
use rml_nest::{Ends, Home, NestNode, NestStage, Order, Slot};
use rml_plan::Reg;

use crate::function::{Function, Places, Written, declare_tick, num};
use crate::header::comment;
use crate::lines::Lines;
use crate::operand::{c_type, literals};
use crate::registers::Starts;
use crate::scope::{EACH, ONCE, Scope};
use crate::store::{Arrays, DTYPES, Wanted, place};
use crate::{Math, Options, checkpoint, run};

/// The text of the source file, the bytes of its constants, and the arrays of its values.
pub(crate) fn source(scope: &Scope<'_>, starts: &Starts, options: &Options) -> (String, u64, Arrays) {
    let nodes: Vec<Option<Written>> =
        scope.program.nodes.iter().enumerate().map(|(k, node)| self::node(scope, k, node)).collect();
    let numbers: Vec<usize> = (0..nodes.len()).filter(|k| nodes[*k].is_some()).collect();
    let run = run::run(scope, &numbers);
    let (texts, arrays) = placed(scope, &nodes, run);
    let start_text = run::start(scope, starts);
    let checkpoint = checkpoint::functions(scope);
    let run_text = texts.last().cloned().unwrap_or_default();
    let (tables, bytes) = tables(scope, starts, &[&start_text, &run_text]);
    let mut body = scope.scalars.text() + &tables;
    for text in &texts[..texts.len() - 1] {
        body += text;
        body.push('\n');
    }
    body = body + &start_text + "\n" + &checkpoint + "\n" + &run_text;
    (head(scope, options, &body) + &body, bytes, arrays)
}

/// The functions of nodes, followed by the function that runs them, with the addresses of all values: those of slots,
/// and the memory of each function.
fn placed(scope: &Scope<'_>, nodes: &[Option<Written>], mut run: Written) -> (Vec<String>, Arrays) {
    let (mut wanted, mut slots) = (Vec::new(), vec![None; scope.program.slots.len()]);
    for (slot, data) in scope.program.slots.iter_enumerated() {
        let Some(span) = scope.layout.spans[slot] else { continue };
        let ticks = if scope.layout.one[slot] { 1 } else { scope.cycles };
        slots[slot.index()] = Some(wanted.len());
        wanted.push(Wanted { dtype: data.ty.dtype, span, len: data.ty.shape.len() * ticks });
    }
    let own = wanted.len();
    for (k, written) in nodes.iter().map(Option::as_ref).chain([Some(&run)]).enumerate() {
        let room = written.map(|written| written.room).unwrap_or_default();
        for len in [room.most, room.kept] {
            wanted.extend(DTYPES.into_iter().zip(len).map(|(dtype, len)| Wanted {
                dtype,
                span: (k, k),
                len,
            }));
        }
    }
    let (places, arrays) = place(&wanted);
    let slot = |slot: Slot| slots[slot.index()].map(|i: usize| places[i]);
    let places_of = |k: usize| {
        let of = |kind: usize| [0, 1, 2].map(|i| places[own + 6 * k + 3 * kind + i]);
        Places { slots: &slot, own: of(0), kept: of(1) }
    };
    let mut texts = Vec::new();
    for (k, written) in nodes.iter().enumerate() {
        let Some(written) = written else { continue };
        let (text, args) = written.text(scope, &places_of(k));
        texts.push(text);
        let call = run::call(scope, k);
        let more = format!("{}{args})", call.trim_end_matches(')'));
        run.body = run.body.replace(&call, &more);
    }
    texts.push(run.text(scope, &places_of(nodes.len())).0);
    (texts, arrays)
}

/// The beginning of the file.
fn head(scope: &Scope<'_>, options: &Options, body: &str) -> String {
    let mut text = Lines::default();
    text.line(comment(&options.note));
    text.line(format!("#include \"{}.h\"\n", scope.name));
    if scope.scalars.needs_library() {
        text.line("#include <math.h>\n");
    }
    if options.math == Math::Own {
        text.line("#ifdef __FAST_MATH__\n#error \"the functions of this file need IEEE arithmetic: compile it without -ffast-math, which -Ofast includes\"\n#endif\n");
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

/// Constants that are tables, and their bytes.
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
    for slot in scope.tables.borrow().iter() {
        let data = &scope.program.slots[*slot];
        if let Home::Const(value) = &data.home {
            table(format!("{}_{}", scope.name, data.name), value);
        }
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

/// A node as a function; none if it computes nothing.
fn node(scope: &Scope<'_>, k: usize, node: &NestNode) -> Option<Written> {
    let mut f = Function::new(scope, EACH);
    let searches = k == 0 && matches!(scope.program.ends, Ends::Found { .. });
    let (steady, ticks): (Vec<&NestStage>, Vec<&NestStage>) = node.stages.iter().partition(|stage| {
        let mut fills = stage.fills();
        fills.next().is_some_and(|slot| scope.layout.steady[slot])
            && fills.all(|slot| scope.layout.steady[slot])
    });
    f.ticks = ONCE;
    let once = f.aside(|f| steady.into_iter().for_each(|stage| f.stage(stage)));
    f.once.paste(&once);
    f.ticks = EACH;
    let ticks = if searches { search(&mut f, node) } else { each_tick(&mut f, node, &ticks) };
    let once = std::mem::take(&mut f.once);
    f.lines.paste(&once);
    f.lines.paste(&ticks);
    if f.lines.is_empty() {
        return None;
    }
    f.lines.line("return 0;");
    let params = "const @_in *restrict in, @_state *restrict state, @_work *restrict work, const long ticks, const long done";
    let head = format!("static long @_{k}({params})").replace('@', &scope.name);
    let mut written = f.written(&head, &["(void)in, (void)state, (void)work, (void)ticks, (void)done;"]);
    written.says = comment(&says(scope, node, searches));
    Some(written)
}

/// A comment with the purpose of a node, and the first of the names in the source that it computes.
fn says(scope: &Scope<'_>, node: &NestNode, searches: bool) -> String {
    const MOST: usize = 4;
    let how = match (node.order, scope.cycles) {
        _ if searches => {
            "Searches for the end of the window, and gives how many cycles it has; 0 if it does not end"
        }
        (_, 1) => "In a cycle",
        (Order::Forward | Order::Over, _) => "From the first cycle to the last",
        (Order::Backward, _) => "From the last cycle to the first",
    };
    let mut names: Vec<&str> =
        node.stages.iter().flat_map(NestStage::fills).filter_map(|slot| scope.user_name(slot)).collect();
    names.dedup();
    let more = if names.len() > MOST { " and others" } else { "" };
    names.truncate(MOST);
    if names.is_empty() { format!("{how}.") } else { format!("{how}: {}{more}.", names.join(", ")) }
}

/// The code for each tick, in a loop.
fn each_tick(f: &mut Function<'_>, node: &NestNode, stages: &[&NestStage]) -> Lines {
    let inner = f.aside(|f| {
        stages.iter().for_each(|stage| f.stage(stage));
        loop_writes(f, node);
    });
    let mut lines = Lines::default();
    if inner.is_empty() {
        return lines;
    }
    let text = inner.into_text();
    let head = match (f.scope.cycles, node.order) {
        (1, _) => "",
        (_, Order::Forward | Order::Over) => "for (long t = 0; t < ticks; t++)",
        (_, Order::Backward) => "for (long t = ticks - 1; t >= 0; t--)",
    };
    if !head.is_empty() {
        lines.open(head);
    }
    declare_tick(&mut lines, f.scope.cycles, &text, "ticks - 1");
    text.lines().for_each(|line| lines.line(line));
    lines.close_all(usize::from(!head.is_empty()));
    lines
}

fn loop_writes(f: &mut Function<'_>, node: &NestNode) {
    let (reaches, ahead) = (f.scope.program.reaches(), f.scope.program.ahead);
    for write in &node.writes {
        f.begin_stage();
        let reach = reaches[write.register];
        let bounded = reach < ahead;
        if bounded {
            f.lines.open(if reach == 0 {
                "if (t < done)".to_owned()
            } else {
                format!("if (t < done + {reach})")
            });
        }
        f.writes(std::slice::from_ref(write), "");
        f.lines.close_all(usize::from(bounded));
    }
    if ahead > 0 && !node.writes.is_empty() {
        f.lines.open("if (t == done - 1)");
        let registers: BTreeSet<_> = node.writes.iter().map(|write| f.scope.reg(write.register)).collect();
        let is_copied = |id: &Reg| f.scope.registers[*id].looped && !f.scope.registers[*id].local;
        for register in registers.into_iter().filter(is_copied) {
            let (from, to) = (f.scope.register(register, ""), f.scope.register(register, "_done"));
            let n = f.scope.plan.registers[register].ty.shape.len();
            f.copy(&crate::loops::LoadElements::At(from), &to, n);
            if f.scope.registers[register].flagged {
                let (from, to) = (f.scope.flag(register, ""), f.scope.flag(register, "_done"));
                f.lines.line(format!("{to} = {from};"));
            }
        }
        f.lines.close();
    }
}

/// A loop that finds the end of the window; the function returns the length of the window.
fn search(f: &mut Function<'_>, node: &NestNode) -> Lines {
    let Ends::Found { conds, head } = &f.scope.program.ends else { return Lines::default() };
    let (head, rest) = node.stages.split_at(*head);
    let inner = f.aside(|f| {
        head.iter().for_each(|stage| f.stage(stage));
        let conds: Vec<String> = conds.iter().map(|end| f.holds(end)).collect();
        f.lines.line(format!("last = {};", conds.join(" || ")));
        rest.iter().for_each(|stage| f.stage(stage));
        loop_writes(f, node);
        f.lines.open("if (last)");
        f.lines.line("return t + 1;");
        f.lines.close();
    });
    let mut lines = Lines::default();
    lines.open("for (long t = 0; t < ticks; t++)");
    lines.line("bool last = false;");
    lines.paste(&inner);
    lines.close();
    lines
}
