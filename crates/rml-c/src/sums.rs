//! Sums over ticks.

use rml_ir::DType;
use rml_ir::op::Op;
use rml_plan::{Atom, Term};

use crate::exprs::{is_pointwise, pointwise};
use crate::function::{Function, declare_tick, num};
use crate::nest::plus;
use crate::operand::Operand;
use crate::tensor;

/// Adds up what terms are at all ticks.
pub(crate) fn sum(f: &mut Function<'_>, init: Option<Atom>, backward: bool, terms: &[Term], out: &Operand) {
    f.lines.open("");
    // Ticks of the sum are not that of its result.
    f.lines.line(format!("{} *const sum = &{};", num(out.dtype), out.at("0")));
    let sum = Operand::array("sum", "", out.dtype, out.shape.clone());
    let start =
        init.map_or_else(|| Operand::alike("0", out.dtype, out.shape.clone()), |init| f.atom(init, "0"));
    f.copy(&start, &sum);
    let outer = std::mem::take(&mut f.lines);
    for term in terms {
        self::term(f, term, &sum);
    }
    let body = std::mem::replace(&mut f.lines, outer).into_text();
    f.lines.open(match (f.scope.cycles, backward) {
        (1, _) => "",
        (_, false) => "for (long t = 0; t < ticks; t++)",
        (_, true) => "for (long t = ticks - 1; t >= 0; t--)",
    });
    declare_tick(&mut f.lines, f.scope.cycles, &body, LAST);
    body.lines().for_each(|line| f.lines.line(line));
    f.lines.close_all(2);
}

const LAST: &str = "const bool last = t == ticks - 1;";

fn term(f: &mut Function<'_>, term: &Term, sum: &Operand) {
    let condition = f.scope.condition(term.at, &term.when, f.scope.plan.ahead(), "t", &f.used);
    if condition.as_deref() == Some("false") {
        return;
    }
    if let Some(condition) = &condition {
        f.lines.open(format!("if ({condition})"));
    }
    let args: Vec<Operand> = term.args.iter().map(|arg| f.atom(*arg, "t")).collect();
    let fits = args.iter().all(|arg| arg.len() == sum.len() || arg.len() == 1);
    if (is_pointwise(&term.op) || matches!(term.op, Op::Reshape { .. })) && fits {
        let looped = f.lines.over("i", sum.len());
        let i = if looped { "i" } else { "0" };
        let texts: Vec<String> = args.iter().map(|arg| arg.each(i)).collect();
        let dtype = args.last().map_or(DType::Num, |arg| arg.dtype);
        let value = pointwise(&term.op, dtype, &texts, &f.scope.prelude);
        let line = plus(f, sum.dtype, &sum.at(i), &value);
        f.lines.line(&line);
        if looped {
            f.lines.close();
        }
        f.check(&line);
    } else {
        tensor::apply(f, &term.op, &args, sum, true);
    }
    if condition.is_some() {
        f.lines.close();
    }
}
