//! Inputs that are declared for every cycle, but that the program uses only in some.

use std::collections::BTreeSet;

use rml_analysis::{ClockReport, Clocks, Verdict, clocks_if_always};
use rml_base::codes::analysis::UNDECLARED_CLOCK;
use rml_base::{Diagnostic, Sources, Span};
use rml_ir::flat::{Flat, Rhs, Var};
use rml_ir::op::Op;

use super::declared;

/// A warning for each input without a declared clock that the program uses only in some cycles, if named conditions
/// determine these cycles. A node that replaces an adjoint gets none, since its interface is prescribed.
pub(super) fn findings(flat: &Flat, clocks: &ClockReport, sources: &Sources) -> Vec<Diagnostic> {
    if flat.name.starts_with("diff_") {
        return Vec::new();
    }
    let open = flat.inputs.iter().filter(|i| i.clock.is_none() && clocks.clocks.of[i.var] != Clocks::BASE);
    let finding = |input: &rml_ir::flat::Input| {
        let data = &flat.vars[input.var];
        let clock = declared::clock(flat, clocks, input.var);
        let clock = clock.strip_prefix(" when ").filter(|path| !path.contains('.'))?;
        let name = data.name.as_deref()?;
        // An input without a type gets its clock from the caller.
        let declaration = Some(declaration(sources, data.span)).filter(|text| text.contains(':'))?;
        let fix = format!("{declaration} when {clock}");
        let span = Span { end: data.span.start + u32::try_from(declaration.len()).ok()?, ..data.span };
        let place = clash(flat, input.var);
        let sample = after_state(flat, sources, input.var, clock);
        if let (Some(claim), Some((value, text))) = (place.and_then(|at| claimed(flat, at)), &sample) {
            let claim = claim.label(data.span, format!("`{name}` comes in every cycle"));
            return Some(
                claim.help(format!("sample it: in `{text}`, write `{value} when {clock}` for `{value}`")),
            );
        }
        let place = place.map(|at| (at, format!("`{name}` of every cycle does not fit here")));
        let what = format!("`{name}` is declared for every cycle, but used only where `{clock}` is true");
        let found = Diagnostic::warning(UNDECLARED_CLOCK, what)
            .label(data.span, format!("data has a value of `{name}` for every cycle"));
        let declared = format!("if it comes where `{clock}` is true, declare `{fix}`");
        // A value computed through a state is computed in every cycle in which the input is present.
        let found = match sample {
            Some((value, text)) => found.help(format!(
                "if it comes in every cycle, sample what is computed from it: in `{text}`, write `{value} when {clock}` for `{value}`"
            )).help(declared),
            None => found.fix(declared, span, fix.clone()).help(format!(
                "if it comes in every cycle, write `.. when {clock}` where a value computed from it meets one that does not"
            )),
        };
        Some(place.into_iter().fold(found, |found, (at, why)| found.label(at, why)))
    };
    open.filter_map(finding).collect()
}

/// The finding that the output whose declared clock is at `at` is computed in every cycle.
fn claimed(flat: &Flat, at: Span) -> Option<Diagnostic> {
    let claim = flat.claims.iter().find(|claim| claim.span == at)?;
    let equation = flat.equations.iter().find(|e| e.lhs == claim.var && e.span.file == at.file)?;
    let [output, clock] = [claim.var, claim.cond].map(|v| last(flat, v));
    let (output, not, clock) = (output?, if claim.positive { "" } else { "not " }, clock?);
    let what = format!("`{output}` is declared `when {not}{clock}`, but computed in every cycle");
    Some(
        Diagnostic::warning(UNDECLARED_CLOCK, what)
            .label(equation.span, "what it is computed from is present in every cycle")
            .label(at, "declared here"),
    )
}

/// The name of a variable within its node.
fn last(flat: &Flat, v: Var) -> Option<&str> {
    flat.vars[v].name.as_deref().map(|name| name.rsplit('.').next().unwrap_or(name))
}

/// The first named value in the program's own texts that depends on an input through a state and is an argument of a
/// call, and the text of the call. Calls at which the condition `clock` is in scope are preferred.
fn after_state<'s>(flat: &Flat, sources: &'s Sources, input: Var, clock: &str) -> Option<(String, &'s str)> {
    let is_delay = |rhs: &Rhs| matches!(rhs, Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. });
    // A value that depends only on parameters is not computed from the input.
    let parameters: BTreeSet<Var> =
        flat.states.values().filter(|s| s.parameter).map(|s| flat.equations[s.equation].lhs).collect();
    let depends = follow(flat, [input], &parameters);
    let delays =
        flat.equations.iter().filter(|e| is_delay(&e.rhs) && depends.contains(&e.lhs)).map(|e| e.lhs);
    let depends = follow(flat, delays, &parameters);
    let knows = |instance: Option<&str>| {
        flat.vars.ids().any(|v| flat.instance(v) == instance && last(flat, v) == Some(clock))
    };
    let own = |span: Span| span.file == flat.vars[input].span.file;
    let copies =
        flat.equations.iter().filter(|e| own(e.span) && matches!(e.rhs, Rhs::Apply { op: Op::Copy, .. }));
    let copies = copies.filter(|copy| flat.instance(copy.lhs) != Some("") && !is_adjoint(sources, copy.span));
    let calls = copies.filter_map(|copy| {
        let mut operand = None;
        copy.rhs.for_each_operand(|v| operand = Some(v));
        let value = operand.filter(|v| depends.contains(v) && own(flat.vars[*v].span))?;
        let (name, text) = (last(flat, value)?, &sources.text(copy.span.file)[copy.span.range()]);
        let is_argument = flat.instance(value) != flat.instance(copy.lhs) && text.contains(name);
        let found = (name.to_owned(), text);
        (is_argument && !text.contains("diff_")).then(|| (found, knows(flat.instance(value))))
    });
    // Prefer a call at which the condition has a name, too.
    let calls: Vec<_> = calls.collect();
    let best = calls.iter().find(|(_, knows)| *knows).or(calls.first())?;
    Some(best.0.clone())
}

/// Whether a place is in a node that the program defines as an adjoint, such as its optimiser.
fn is_adjoint(sources: &Sources, at: Span) -> bool {
    let before = &sources.text(at.file)[..at.start as usize];
    before.rfind("node ").is_some_and(|node| before[node + "node ".len()..].trim_start().starts_with("diff_"))
}

/// All variables that depend on `from` by paths that avoid `without`.
fn follow(flat: &Flat, from: impl IntoIterator<Item = Var>, without: &BTreeSet<Var>) -> BTreeSet<Var> {
    let mut found: BTreeSet<Var> = from.into_iter().collect();
    loop {
        let before = found.len();
        for equation in &flat.equations {
            let mut reads = false;
            equation.rhs.for_each_operand(|v| reads |= found.contains(&v));
            if reads && !without.contains(&equation.lhs) {
                found.insert(equation.lhs);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The first place in the input's file that conflicts if the input is present in every cycle.
fn clash(flat: &Flat, input: Var) -> Option<Span> {
    let Verdict::Rejected(found) = clocks_if_always(flat, &BTreeSet::from([input])) else { return None };
    let declared = flat.vars[input].span;
    let places = |d: &Diagnostic| d.labels.iter().map(|label| label.span).collect::<Vec<_>>();
    let at = found.0.iter().map(places).find(|places| places.contains(&declared))?;
    at.into_iter().find(|at| at.file == declared.file && *at != declared)
}

/// The source text of an input's declaration, name and type, up to the comma or parenthesis after it.
fn declaration(sources: &Sources, name: Span) -> &str {
    let text = &sources.text(name.file)[name.start as usize..];
    let mut depth = 0_usize;
    let end = text.find(|c: char| {
        depth = match c {
            '[' | '(' => depth + 1,
            ']' => depth.saturating_sub(1),
            _ => depth,
        };
        depth == 0 && matches!(c, ',' | ')')
    });
    text[..end.unwrap_or(name.range().len())].trim_end()
}
