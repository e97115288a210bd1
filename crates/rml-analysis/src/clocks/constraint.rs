//! The constraints of each equation on the clocks of its variables (CLOCK-1, WHEN-1, MERGE-2).

use rml_base::Span;
use rml_ir::flat::{ClockClaim, Eq, Equation, Flat, Var};
use rml_ir::{Sample, Synchrony};

/// The requirement of an equation, or of the declared clock of an input.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    /// The equation; `None` for a declared clock.
    pub(super) equation: Option<Eq>,
    /// The place of a declared clock that must be proved. Nothing is inferred from such a clock.
    pub(super) claim: Option<Span>,
    pub(super) span: Span,
    /// The variable that the equation defines.
    pub(super) target: Var,
    /// The variables from whose clocks the clock of the target follows.
    pub(super) sources: Vec<Var>,
    /// Variables that are present together.
    pub(super) together: Vec<Var>,
    /// Variables that are sampled.
    pub(super) samples: Vec<Sample>,
}

/// The constraints of a program: one for each equation, in order, then one for the declared clock of each input, and
/// then one for each clock that is declared for another variable.
pub(super) fn constraints(flat: &Flat) -> Vec<Constraint> {
    let equations = flat.equations.iter_enumerated().map(|(id, equation)| of_equation(id, equation));
    let declared = flat.inputs.iter().filter_map(|input| {
        let (cond, positive) = input.clock?;
        Some(Constraint {
            equation: None,
            claim: None,
            span: flat.vars[input.var].span,
            target: input.var,
            sources: vec![cond],
            together: Vec::new(),
            samples: vec![Sample { var: input.var, cond, positive }],
        })
    });
    let claims = flat.claims.iter().map(|&ClockClaim { var, cond, positive, span, call }| Constraint {
        equation: None,
        claim: Some(span),
        span: call.unwrap_or(span),
        target: var,
        sources: vec![cond],
        together: Vec::new(),
        samples: vec![Sample { var, cond, positive }],
    });
    equations.chain(declared).chain(claims).collect()
}

/// The constraint of an equation. Operands, or the condition, come before the variable that is defined.
fn of_equation(id: Eq, equation: &Equation) -> Constraint {
    let Synchrony { mut together, samples } = equation.synchrony();
    if !together.is_empty() {
        together.rotate_left(1);
    }
    let mut sources = Vec::new();
    match samples.first() {
        Some(sample) => sources.push(sample.cond),
        None => equation.rhs.for_each_operand(|v| sources.push(v)),
    }
    let (target, span) = (equation.lhs, equation.span);
    Constraint { equation: Some(id), claim: None, span, target, sources, together, samples }
}
