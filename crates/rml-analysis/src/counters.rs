//! Conditions that end windows and are true in at most one cycle, because they are computed from a counter that nothing
//! resets.

use rml_base::codes::analysis::FEW_WINDOWS;
use rml_base::{Diagnostic, Diagnostics};
use rml_ir::flat::{Eq, Flat, Init, Rhs, Var};
use rml_ir::op::{Binary, Compare, Op};

use crate::clocks::expression;

/// Warns about windows that end at most once, or never.
///
/// Requires: `flat::verify`.
pub fn few_windows(flat: &Flat) -> Diagnostics {
    let counters = Counters { flat };
    let mut ends: Vec<Var> = flat.windows.iter().map(|window| counters.origin(window.end)).collect();
    ends.sort_unstable();
    ends.dedup();
    Diagnostics(ends.into_iter().filter_map(|end| counters.finding(end)).collect())
}

/// A fact about an int.
enum Known {
    /// The int is `first` in its first cycle, and grows by `step` in each later cycle.
    Counts { first: i64, step: i64 },
    /// The int is at least 0 and below this number.
    Below(i64),
}

struct Counters<'f> {
    flat: &'f Flat,
}

impl Counters<'_> {
    fn definition(&self, v: Var) -> Option<(Eq, &Rhs)> {
        let found = self.flat.equations.iter_enumerated().find(|(_, e)| e.lhs == v);
        found.map(|(eq, equation)| (eq, &equation.rhs))
    }

    /// The variable of which a variable is a copy.
    fn origin(&self, mut v: Var) -> Var {
        for _ in 0..self.flat.vars.len() {
            let Some((_, Rhs::Apply { op: Op::Copy, args })) = self.definition(v) else { return v };
            let [of] = args[..] else { return v };
            v = of;
        }
        v
    }

    /// The value of an int that is the same in all cycles.
    fn number(&self, v: Var) -> Option<i64> {
        let Rhs::Const(k) = self.definition(self.origin(v))?.1 else { return None };
        self.flat.consts[*k].value()?.as_int()
    }

    fn known(&self, v: Var) -> Option<Known> {
        let v = self.origin(v);
        if let Rhs::Apply { op: Op::Binary(Binary::Mod), args } = self.definition(v)?.1 {
            let modulus = self.number(*args.get(1)?).filter(|modulus| *modulus > 0)?;
            return Some(Known::Below(modulus));
        }
        if let Some((first, next)) = self.delayed(v) {
            let (from, step) = self.plus(next)?;
            return (from == v).then_some(Known::Counts { first, step });
        }
        // The next value of a counter.
        let (from, step) = self.plus(v)?;
        let (first, next) = self.delayed(from)?;
        (self.origin(next) == v).then_some(Known::Counts { first: first.checked_add(step)?, step })
    }

    /// The first value of a delay that no window resets, and the delayed variable.
    fn delayed(&self, v: Var) -> Option<(i64, Var)> {
        let rhs = self.definition(self.origin(v))?.1;
        let Rhs::Fby { init: Init::Const(k), next, window: None, .. } = rhs else { return None };
        Some((self.flat.consts[*k].value()?.as_int()?, *next))
    }

    /// The parts of a sum of a variable and a positive number.
    fn plus(&self, v: Var) -> Option<(Var, i64)> {
        let Rhs::Apply { op: Op::Binary(Binary::Add), args } = self.definition(self.origin(v))?.1 else {
            return None;
        };
        let [a, b] = args[..] else { return None };
        let found = match (self.number(a), self.number(b)) {
            (None, Some(step)) => (self.origin(a), step),
            (Some(step), None) => (self.origin(b), step),
            _ => return None,
        };
        Some(found).filter(|(_, step)| *step > 0)
    }

    fn finding(&self, end: Var) -> Option<Diagnostic> {
        let (eq, rhs) = self.definition(end)?;
        let Rhs::Apply { op: Op::Compare(compare), args } = rhs else { return None };
        let [a, b] = args[..] else { return None };
        let (v, limit, compare) = match (self.number(a), self.number(b)) {
            (None, Some(limit)) => (a, limit, *compare),
            (Some(limit), None) => (b, limit, turned(*compare)),
            _ => return None,
        };
        // Use the names in the node of the condition, without the path of the instance.
        let node = self.flat.instance(end).map(|path| format!("{path}.")).unwrap_or_default();
        let name = |v: Var| match node.is_empty() {
            true => expression(self.flat, v),
            false => expression(self.flat, v).replace(&node, ""),
        };
        let (condition, of) = (name(end), name(v));
        let d = |what: String, label: String| {
            Diagnostic::warning(FEW_WINDOWS, what).label(self.flat.equations[eq].span, label)
        };
        match self.known(v)? {
            Known::Below(modulus) if never(compare, limit, modulus) => Some(
                d(
                    format!("`{condition}` is never true, so no window ends by it"),
                    match compare {
                        Compare::Lt | Compare::Le => format!("`{of}` is at least 0"),
                        Compare::Gt | Compare::Ge | Compare::Eq | Compare::Ne => {
                            format!("`{of}` is at most {}", modulus - 1)
                        }
                    },
                )
                .help(format!("for windows of {modulus} cycles, write `{of} == {}`", modulus - 1)),
            ),
            Known::Counts { first, step } if compare == Compare::Eq => {
                let ahead = limit.checked_sub(first)?;
                if ahead < 0 || ahead % step != 0 {
                    return Some(d(
                        format!("`{condition}` is never true, so no window ends by it"),
                        format!("`{of}` begins with {first}, and grows by {step} in each cycle"),
                    ));
                }
                let cycles = ahead / step + 1;
                let d = d(
                    format!("`{condition}` is true in one cycle only, so one window ends by it"),
                    format!("`{of}` is {limit} in one cycle, and nothing resets it"),
                );
                Some(match (step, cycles) {
                    (1, 2..) => d.help(format!(
                        "for windows of {cycles} cycles, write `mod({of}, {cycles}) == {}`",
                        limit.rem_euclid(cycles)
                    )),
                    _ => d.help("let the counter begin again: `t = 0 fby (if end then 0 else t + 1)`"),
                })
            }
            Known::Below(_) | Known::Counts { .. } => None,
        }
    }
}

/// The comparison for exchanged operands.
fn turned(compare: Compare) -> Compare {
    match compare {
        Compare::Lt => Compare::Gt,
        Compare::Le => Compare::Ge,
        Compare::Gt => Compare::Lt,
        Compare::Ge => Compare::Le,
        Compare::Eq | Compare::Ne => compare,
    }
}

/// Whether the comparison with `limit` is false for all ints from 0 up to, and not including, `modulus`.
fn never(compare: Compare, limit: i64, modulus: i64) -> bool {
    match compare {
        Compare::Eq => limit < 0 || limit >= modulus,
        Compare::Gt => limit >= modulus - 1,
        Compare::Ge => limit >= modulus,
        Compare::Lt => limit <= 0,
        Compare::Le => limit < 0,
        Compare::Ne => false,
    }
}
