//! What each equation asks of the clocks of its variables (CLOCK-1, WHEN-1, MERGE-2).

use rml_base::Span;
use rml_ir::flat::{Claim, Eq, Flat, Rhs, Var};

/// Present exactly where `cond` is `positive`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) var: Var,
    pub(super) cond: Var,
    pub(super) positive: bool,
}

/// What an equation, or the declared clock of an input, asks for.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    /// The equation; `None` for a declared clock.
    pub(super) equation: Option<Eq>,
    /// Where a clock is declared that is to be proved. Nothing is inferred from it.
    pub(super) claim: Option<Span>,
    pub(super) span: Span,
    /// What is defined by it.
    pub(super) target: Var,
    /// From whose clocks that of the target follows.
    pub(super) sources: Vec<Var>,
    /// Variables that are present together.
    pub(super) together: Vec<Var>,
    /// Variables that are sampled.
    pub(super) samples: Vec<Sample>,
}

/// The constraints of a program: one for each equation, in order, then one for each declared clock: of inputs, then what is claimed
/// of other variables.
pub(super) fn constraints(flat: &Flat) -> Vec<Constraint> {
    let equations = flat.equations.iter_enumerated().map(|(id, equation)| {
        let mut constraint = of_rhs(equation.lhs, &equation.rhs, equation.span);
        constraint.equation = Some(id);
        constraint
    });
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
    let claims = flat.claims.iter().map(|&Claim { var, cond, positive, span, call }| Constraint {
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

fn of_rhs(target: Var, rhs: &Rhs, span: Span) -> Constraint {
    let mut operands = Vec::new();
    rhs.for_each_operand(|v| operands.push(v));
    let (sources, together, samples) = match *rhs {
        Rhs::When { value, cond } => {
            (vec![cond], vec![cond, value], vec![Sample { var: target, cond, positive: true }])
        }
        Rhs::Merge { cond, on_true, on_false } => {
            let branches = [(on_true, true), (on_false, false)];
            let samples = branches.map(|(var, positive)| Sample { var, cond, positive }).to_vec();
            (vec![cond], vec![cond, target], samples)
        }
        _ => {
            let together = operands.iter().copied().chain([target]).collect();
            (operands, together, Vec::new())
        }
    };
    Constraint { equation: None, claim: None, span, target, sources, together, samples }
}
