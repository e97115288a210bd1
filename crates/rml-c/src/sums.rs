//! Sums over ticks.

use rml_ir::DType;
use rml_ir::op::Op;
use rml_plan::{Atom, Term, is_outer_product, ticks_of_block};

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
    let blocks: Vec<(&Term, usize)> =
        terms.iter().filter_map(|term| Some((term, block(f, term)?))).filter(|(_, n)| *n > 1).collect();
    let depth = match (f.scope.cycles, backward) {
        (1, _) => {
            f.lines.open("");
            1
        }
        (_, false) => over_ticks(f, "long t = 0; t < ticks; t++"),
        (_, true) if blocks.is_empty() => over_ticks(f, "long t = ticks - 1; t >= 0; t--"),
        (_, true) => {
            f.lines.line("/* Ticks from last to first, but blocks of them from first to last. */");
            f.lines.open("for (long from, end = ticks; end > 0; end = from)");
            f.lines.line("from = end - 1;");
            blocks.iter().for_each(|(term, n)| begin(f, term, *n));
            1 + over_ticks(f, "long t = from; t < end; t++")
        }
    };
    declare_tick(&mut f.lines, f.scope.cycles, &body, LAST);
    body.lines().for_each(|line| f.lines.line(line));
    f.lines.close_all(depth + 1);
}

const LAST: &str = "const bool last = t == ticks - 1;";

fn over_ticks(f: &mut Function<'_>, ticks: &str) -> usize {
    f.lines.open(format!("for ({ticks})"));
    1
}

/// How many ticks of a term are one product, if it is one: those of a block, if they lie one after the other.
fn block(f: &Function<'_>, term: &Term) -> Option<usize> {
    let joined = term.args.iter().all(|arg| f.scope.is_joined(*arg));
    let rows = f.atom(*term.args.first()?, "t").dims().first().copied()?;
    (is_outer_product(&term.op) && joined).then(|| ticks_of_block(rows))
}

/// Finds where the block of ticks begins of which tick `end - 1` is the last.
fn begin(f: &mut Function<'_>, term: &Term, n: usize) {
    let Some(condition) = f.scope.condition(term.at, &term.when, f.scope.plan.ahead(), "t", &f.used) else {
        f.lines.line(format!("from = from / {n} * {n};"));
        return;
    };
    f.lines.open(format!("for (long t = end - 1; t >= 0 && (t == end - 1 || (t + 1) % {n} != 0); t--)"));
    declare_tick(&mut f.lines, f.scope.cycles, &condition, LAST);
    f.lines.open(format!("if (!({condition}))"));
    f.lines.line("break;");
    f.lines.close();
    f.lines.line("from = t;");
    f.lines.close();
}

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
