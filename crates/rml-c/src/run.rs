//! The functions for callers.

use std::collections::BTreeSet;

use rml_nest::Home;
use rml_plan::{Ends, Reg};

use crate::function::{Function, Places, Written, declare_tick};
use crate::loops::{Base, LoadElements};
use crate::registers::Starts;
use crate::scope::{DONE, Scope, base};

/// The function that gives states their start values.
pub(crate) fn start(scope: &Scope<'_>, starts: &Starts) -> String {
    let mut f = Function::new(scope, DONE);
    for (id, r) in scope.registers.iter_enumerated() {
        if r.fixed || r.local {
            continue;
        }
        let place = scope.state(id);
        match &starts.0[id] {
            Some(value) => f.fill(&place, value, &scope.table("start", id)),
            None => {
                f.copy(&LoadElements::Same("0".to_owned()), &place, scope.plan.registers[id].ty.shape.len())
            }
        }
        if r.flagged {
            f.lines.line(format!("state->{}_set = {};", r.name, starts.0[id].is_some()));
        }
        if scope.rings[id].is_some() {
            f.lines.line(format!("state->{}_at = 0;", r.name));
        }
    }
    let head = format!("void {0}_start({0}_state *state)", scope.name);
    f.written(&head, &["(void)state;"]).text(scope, &Places::nowhere()).0
}

/// The function that runs a window, by calling the functions of these nodes.
pub(crate) fn run(scope: &Scope<'_>, nodes: &[usize]) -> Written {
    let (name, upper) = (&scope.name, scope.name.to_uppercase());
    let mut f = Function::new(scope, DONE);
    let searched = length(&mut f, &upper);
    for (id, r) in scope.registers.iter_enumerated().filter(|(_, r)| r.looped) {
        if r.local {
            f.unset(id, "");
        } else {
            let (from, to) = (scope.state(id), scope.register(id, ""));
            f.copy(&LoadElements::At(from), &to, scope.plan.registers[id].ty.shape.len());
            if r.flagged {
                f.lines.line(format!("work->{0}_set = state->{0}_set;", r.name));
            }
        }
    }
    f.begin_rings();
    for i in nodes.iter().copied() {
        f.lines.line(format!("code = {};", call(scope, i)));
        if searched && i == 0 {
            f.lines.open("if (code <= 0)");
            f.lines.line(format!("return code == 0 && cycles >= {upper}_CYCLES ? {upper}_LONG : code;"));
            f.lines.close();
            f.lines.line("ticks = code;");
            f.lines.line("done = ticks;");
        } else {
            f.lines.open("if (code < 0)");
            f.lines.line("return code;");
            f.lines.close();
        }
    }
    outputs(&mut f);
    commits(&mut f);
    f.lines.line("return done;");
    let head = format!(
        "long {name}_run({name}_state *restrict state, {name}_work *restrict work, const {name}_in *restrict in, long cycles, {name}_out *restrict out)"
    );
    f.written(
        &head,
        &["long ticks, done, code = 0;", "(void)state, (void)work, (void)in, (void)out, (void)code;"],
    )
}

/// The call of the function of a node.
pub(crate) fn call(scope: &Scope<'_>, node: usize) -> String {
    format!("{}_{node}(in, state, work, ticks, done)", scope.name)
}

/// Computes how many ticks run. Returns whether the first group does that.
fn length(f: &mut Function<'_>, upper: &str) -> bool {
    let ahead = f.scope.plan.ahead();
    f.lines.line(format!("ticks = cycles > {upper}_CYCLES ? {upper}_CYCLES : cycles;"));
    match &f.scope.plan.ends {
        Ends::Nothing => {
            f.lines.open(format!("if (ticks <= {ahead})"));
            f.lines.line("return 0;");
            f.lines.close();
            f.lines.line(if ahead == 0 {
                "done = ticks;".to_owned()
            } else {
                format!("done = ticks - {ahead};")
            });
            false
        }
        Ends::Given(ends) => {
            let one = |(input, value): &(u32, bool)| {
                format!("{}in[done].{}", if *value { "" } else { "!" }, f.scope.inputs[*input as usize])
            };
            let ended: Vec<String> = ends.iter().map(one).collect();
            f.lines.line("done = 0;");
            f.lines.open(format!("while (done < ticks && !({}))", ended.join(" || ")));
            f.lines.line("done++;");
            f.lines.close();
            f.lines.open("if (done == ticks)");
            f.lines.line(format!("return cycles >= {upper}_CYCLES ? {upper}_LONG : 0;"));
            f.lines.close();
            f.lines.line("done++;");
            f.lines.line("ticks = done;");
            false
        }
        Ends::Found { .. } => {
            f.lines.open("if (ticks <= 0)");
            f.lines.line("return 0;");
            f.lines.close();
            f.lines.line("done = ticks;");
            true
        }
    }
}

/// Writes code in a loop over the finished ticks.
fn over_done(f: &mut Function<'_>, write: impl FnOnce(&mut Function<'_>)) {
    f.begin_stage();
    let text = f.aside(write).into_text();
    if text.is_empty() {
        return;
    }
    f.lines.open(if f.scope.cycles == 1 { "" } else { "for (long t = 0; t < done; t++)" });
    declare_tick(&mut f.lines, f.scope.cycles, &text, "done - 1");
    text.lines().for_each(|line| f.lines.line(line));
    f.lines.close();
}

fn outputs(f: &mut Function<'_>) {
    over_done(f, |f| {
        let scope = f.scope;
        let flags = scope.plan.outputs.iter().map(crate::header::is_flagged);
        for ((output, field), flagged) in scope.program.outputs.iter().zip(&scope.outputs).zip(flags) {
            let place = base(format!("out[t].{field}"), &output.ty.shape);
            if flagged {
                f.lines.line(format!("out[t].{field}_present = false;"));
            }
            for (at, when, value) in &output.cases {
                let condition = f.condition(*at, when, scope.program.ahead);
                if condition.as_deref() == Some("false") {
                    continue;
                }
                let lines = f.aside(|f| {
                    f.copy_source(value, &output.ty.shape, *at, &place);
                    if flagged {
                        f.lines.line(format!("out[t].{field}_present = true;"));
                    }
                });
                f.enclose(lines, condition.map(|condition| format!("if ({condition})")));
            }
        }
    });
}

fn commits(f: &mut Function<'_>) {
    let scope = f.scope;
    for (id, r) in scope.registers.iter_enumerated().filter(|(_, r)| r.looped && !r.local) {
        let suffix = if scope.plan.ahead() > 0 { "_done" } else { "" };
        let (from, to) = (scope.register(id, suffix), scope.state(id));
        f.copy(&LoadElements::At(from), &to, scope.plan.registers[id].ty.shape.len());
        if r.flagged {
            let flag = scope.flag(id, suffix);
            f.lines.line(format!("state->{}_set = {flag};", r.name));
        }
    }
    f.begin_stage();
    let lines = f.aside(|f| {
        keep(f);
        let own = f.aside(|f| f.writes(&scope.program.commits, ""));
        let text = own.into_text();
        if text.is_empty() {
            return;
        }
        f.lines.open(if scope.cycles == 1 { "" } else { "for (long t = 0; t < done; t++)" });
        declare_tick(&mut f.lines, scope.cycles, &text, "done - 1");
        text.lines().for_each(|line| f.lines.line(line));
        f.lines.close();
    });
    f.enclose(lines, None);
    f.commit_rings();
}

/// Copies registers that commits both read and write, since all commits read the values from before the commits.
fn keep(f: &mut Function<'_>) {
    let scope = f.scope;
    let commits = &scope.program.commits;
    let written = commits.iter().map(|write| scope.reg(write.register));
    let written: BTreeSet<Reg> = written.filter(|id| scope.rings[*id].is_none()).collect();
    let is_register = |slot| matches!(scope.program.slots[slot].home, Home::Register { .. });
    let read = commits
        .iter()
        .flat_map(rml_nest::rooms::write_reads)
        .map(|access| access.slot)
        .filter(|slot| is_register(*slot));
    let read: BTreeSet<Reg> = read.map(|slot| scope.reg(slot)).filter(|id| written.contains(id)).collect();
    for id in read {
        let ty = &scope.plan.registers[id].ty;
        let (name, n) = (format!("before_{}", scope.registers[id].name), ty.shape.len());
        let declared = f.array(&name, ty.dtype, n);
        f.lines.line(declared);
        f.copy(&LoadElements::At(scope.register(id, "")), &Base::array(&*name), n);
        let flag = format!("{name}_set");
        if scope.registers[id].flagged {
            f.lines.line(format!("const bool {flag} = {};", scope.flag(id, "")));
        }
        f.before.insert(id, (Base::array(name), flag));
    }
}
