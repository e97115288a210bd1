//! From a program and its facts to a plan.
//!
//! 1. `resolve`: what each variable is at each position of a window: a constant, the value of another variable at the same tick, at
//!    the tick before or behind, or at an edge of the window; or a value of its own.
//! 2. `demand`: what has to be computed at which positions, from the outputs and the states on, as tapes with cases.
//! 3. `common`: what is computed twice is computed once.
//! 4. `regions`: which tapes need each other, in which order they are filled, and which of them tick by tick.
//! 5. `ahead`: at how many ticks behind those that are done each tape is needed, where a block looks ahead.
//! 6. `products`: what products need of before a loop is computed before it, and what nothing needs of them not at all.
//! 7. `sums`: loops that only add up become sums, and sums of outer products one product. `compact`: what nothing reads is dropped.
//! 8. `sequences`: which loops fall into sequences that need nothing of each other.
//!
//! Windows are tried first, then blocks that look ahead, then blocks that wait.
//!
//! A program that cannot be planned is [`Declined`], with the reason; the simulator runs it.

use rml_base::{Diagnostic, IndexVec, Span, codes};
use rml_ir::flat::{Drawn, Var};

mod ahead;
mod atoms;
mod common;
mod compact;
mod demand;
mod products;
mod regions;
mod resolve;
mod sequences;
mod sums;
mod window;

use rml_analysis::{Analyses, Causality, Clocks, Facts, Kind, Verdict};
use rml_ir::check::checked;
use rml_plan::{Plan, Reg, verify};
use rml_validate::{Witness, validate};

/// Why a program has no plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Declined {
    /// The reason.
    pub why: String,
    /// Where.
    pub span: Option<Span>,
    /// A form of the program that has a plan.
    pub help: Option<String>,
}

impl Declined {
    /// As a diagnostic, for somebody who asked for the plan of that node.
    pub fn diagnostic(&self, node: &str) -> Diagnostic {
        let d = Diagnostic::error(
            codes::backend::ENGINE_DECLINES,
            format!("node {node} has no plan: {}", self.why),
        );
        let d = match self.span {
            Some(span) => d.label(span, "because of this"),
            None => d,
        };
        let d = if let Some(help) = &self.help { d.help(help) } else { d };
        d.help("the simulator runs this program, so no change is needed")
    }

    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), span: None, help: None }
    }

    fn at(why: impl Into<String>, span: Span) -> Self {
        Self { why: why.into(), span: Some(span), help: None }
    }

    fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// What a run is fed with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fed {
    /// Whole windows, where the program has any.
    Windows,
    /// Any blocks of cycles, a single one among them. A program that looks ahead has windows all the same.
    Blocks,
}

/// The plan of a program.
///
/// Ensures: P1 to P9, V1 to V9.
///
/// # Errors
/// The reason why there is none.
pub fn schedule(flat: &Drawn, fed: Fed) -> Result<Plan, Declined> {
    known(flat, &Analyses::of(flat), fed).map(|(plan, _)| plan)
}

/// The plan of a program of which all is known already, and the delay or parameter that each of its registers keeps.
///
/// Requires: analyses of that program; what they know of its constants may be less. Ensures: P1 to P7, V1 to V8.
///
/// # Errors
/// The reason why there is none.
pub fn schedule_known(
    flat: &Drawn,
    analyses: &Analyses,
    fed: Fed,
) -> Result<(Plan, IndexVec<Reg, Var>), Declined> {
    known(flat, analyses, fed).map(|(plan, witness)| (plan, witness.registers))
}

/// The plan of a program, and which variable of the program each tape and each register is, for who checks plans.
///
/// Ensures: P1 to P9, V1 to V9.
///
/// # Errors
/// The reason why there is none.
pub fn witnessed(flat: &Drawn, fed: Fed) -> Result<(Plan, Witness), Declined> {
    known(flat, &Analyses::of(flat), fed)
}

fn known(flat: &Drawn, analyses: &Analyses, fed: Fed) -> Result<(Plan, Witness), Declined> {
    let _span = tracing::debug_span!("schedule", equations = flat.equations.len()).entered();
    let Analyses { clocks, causality, bounds } = analyses;
    if clocks.verdict != Verdict::Synchronous {
        return Err(Declined::new("its clocks are not proved to fit"));
    }
    if let Some(found) = causality.findings.iter().find(|d| d.is_error()) {
        return Err(Declined { why: found.message.clone(), span: found.span(), help: None });
    }
    match bounds.program.kind {
        Kind::Bounded | Kind::Windowed => {}
        Kind::ClosedOnly => return Err(Declined::new("some value is known only when the trace ends")),
        Kind::Dynamic | Kind::Rejected => {
            return Err(Declined::new("only a run can tell when its values are known"));
        }
    }
    let facts = analyses.facts(flat);
    let known = Known { clocks: &clocks.clocks, facts: &facts, causality };
    // Where its windows have no plan, blocks may have one.
    let shapes = match fed {
        Fed::Windows => &[Shape::Windows, Shape::Blocks, Shape::Waiting][..],
        Fed::Blocks => &[Shape::Blocks, Shape::Waiting],
    };
    let mut declined = Declined::new("there are no ways to run it");
    for shape in shapes {
        match plan(flat, known, *shape) {
            Ok(found) => return Ok(found),
            Err(why) => declined = why,
        }
    }
    Err(declined)
}

/// What a plan runs at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// Windows, where the program has any.
    Windows,
    /// Any block of cycles, with as many more as values wait for.
    Blocks,
    /// Any block of cycles, as far as values are known.
    Waiting,
}

/// What is known of a program.
#[derive(Clone, Copy)]
struct Known<'a> {
    clocks: &'a Clocks,
    facts: &'a Facts,
    causality: &'a Causality,
}

fn plan(flat: &Drawn, known: Known<'_>, shape: Shape) -> Result<(Plan, Witness), Declined> {
    let window = window::Window::of(flat, known, shape)?;
    let open = window.given_ends().is_none().then(|| window.open());
    let demanded = common::common(&window, demand::demand(&window, open.as_ref())?);
    let witness = Witness {
        tapes: demanded.cases.keys().map(|v| window.claim(*v)).collect(),
        registers: demanded.registers.keys().copied().collect(),
    };
    let plan = regions::plan(&window, demanded)?;
    let plan = if window.looks_ahead && !window.waits { ahead::ahead(plan)? } else { plan };
    checked("regions", || verify(&plan));
    // Single steps are quicker with products as they are.
    let (plan, witness) =
        if shape == Shape::Windows { products::products(plan, witness) } else { (plan, witness) };
    checked("products", || verify(&plan));
    let plan = if window.waits { plan } else { sums::sums(plan) };
    checked("sums", || verify(&plan));
    let (plan, witness) = compact::compact(plan, witness);
    checked("compact", || verify(&plan));
    let plan = sequences::sequences(plan);
    checked("sequences", || verify(&plan));
    if let Err(found) = validate(flat, known.clocks, known.facts, &plan, &witness) {
        checked("schedule", || Err(found));
        return Err(Declined::new("its plan is not proved to compute it"));
    }
    Ok((plan, witness))
}
