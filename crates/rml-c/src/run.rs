//! The functions that a caller sees.

use rml_plan::Ends;

use crate::function::{Function, declare_tick};
use crate::lines::Lines;
use crate::operand::Operand;
use crate::registers::Starts;
use crate::scope::Scope;

/// The function that gives states the values that they start with.
pub(crate) fn start(scope: &Scope<'_>, starts: &Starts) -> String {
    let mut f = Function::new(scope);
    for (id, r) in scope.registers.iter_enumerated() {
        if r.fixed || r.local {
            continue;
        }
        let place = scope.state(id);
        match &starts.0[id] {
            Some(value) => f.fill(&place, value, &scope.table("start", id)),
            None => f.copy(&Operand::alike("0", place.dtype, place.shape.clone()), &place),
        }
        if r.flagged {
            f.lines.line(format!("state->{}_set = {};", r.name, starts.0[id].is_some()));
        }
    }
    let head = format!("void {0}_start({0}_state *state)", scope.name);
    f.text(&head, &["(void)state;"])
}

/// The function that runs a window, by those of so many groups.
pub(crate) fn run(scope: &Scope<'_>, groups: usize) -> String {
    let (name, upper) = (&scope.name, scope.name.to_uppercase());
    let mut f = Function::new(scope);
    let searched = length(&mut f, &upper);
    for (id, r) in scope.registers.iter_enumerated().filter(|(_, r)| r.looped) {
        if r.local {
            f.unset(id, "");
        } else {
            let (from, to) = (scope.state(id), scope.register(id, ""));
            f.copy(&from, &to);
            if r.flagged {
                f.lines.line(format!("work->{0}_set = state->{0}_set;", r.name));
            }
        }
    }
    for i in 0..groups {
        f.lines.line(format!("code = {name}_{i}(in, state, work, ticks, done);"));
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
    f.text(
        &head,
        &["long ticks, done, code = 0;", "(void)state, (void)work, (void)in, (void)out, (void)code;"],
    )
}

/// Finds how many ticks run; whether the first group does that.
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

/// In a loop over the ticks that are done.
fn over_done(f: &mut Function<'_>, write: impl FnOnce(&mut Function<'_>)) {
    let outer = std::mem::take(&mut f.lines);
    write(f);
    let text = std::mem::replace(&mut f.lines, outer).into_text();
    if text.is_empty() {
        return;
    }
    f.lines.open(if f.scope.cycles == 1 { "" } else { "for (long t = 0; t < done; t++)" });
    declare_tick(&mut f.lines, f.scope.cycles, &text, "const bool last = t == done - 1;");
    let mut all = Lines::default();
    text.lines().for_each(|line| all.line(line));
    f.lines.paste(&all);
    f.lines.close();
}

fn outputs(f: &mut Function<'_>) {
    over_done(f, |f| {
        let scope = f.scope;
        for (output, field) in scope.plan.outputs.iter().zip(&scope.outputs) {
            let place =
                crate::scope::scalar_or_array(format!("out[t].{field}"), output.ty.dtype, &output.ty.shape);
            let flagged = crate::header::is_flagged(output);
            if flagged {
                f.lines.line(format!("out[t].{field}_present = false;"));
            }
            for (at, when, value) in &output.cases {
                let condition = scope.condition(*at, when, scope.plan.ahead(), "t", &f.used);
                if condition.as_deref() == Some("false") {
                    continue;
                }
                if let Some(condition) = &condition {
                    f.lines.open(format!("if ({condition})"));
                }
                let from = f.atom(*value, "t");
                f.copy(&from, &place);
                if flagged {
                    f.lines.line(format!("out[t].{field}_present = true;"));
                }
                if condition.is_some() {
                    f.lines.close();
                }
            }
        }
    });
}

fn commits(f: &mut Function<'_>) {
    for (id, r) in f.scope.registers.iter_enumerated().filter(|(_, r)| r.looped && !r.local) {
        let suffix = if f.scope.plan.ahead() > 0 { "_done" } else { "" };
        let (from, to) = (f.scope.register(id, suffix), f.scope.state(id));
        f.copy(&from, &to);
        if r.flagged {
            let flag = f.scope.flag(id, suffix);
            f.lines.line(format!("state->{}_set = {flag};", r.name));
        }
    }
    over_done(f, |f| {
        let commits = &f.scope.plan.commits;
        f.writes(commits, "t", "");
    });
}
