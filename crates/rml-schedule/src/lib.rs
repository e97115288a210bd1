//! From a program and its facts to a plan.
//!
//! 1. `resolve`: for each variable and each position of a window: whether it is a constant, equals another variable at
//!    the same tick, at the tick before or after, or at an edge of the window, or has a value of its own.
//! 2. `demand`: which values have to be computed at which positions, as tapes with cases; starts from the outputs, the
//!    states and operators that may fail.
//! 3. `common`: equal values are computed once.
//! 4. `regions`: groups tapes that need each other, orders them, and decides which are computed tick by tick.
//! 5. `ahead`: for blocks that look ahead, how many ticks past the finished ones each tape is needed.
//! 6. `products`: the part of a product that does not depend on a loop is computed before it; unread parts are not
//!    computed.
//! 7. `sums`: loops that only add up become sums, and sums of outer products one product. `compact`: unread tapes are
//!    dropped, unless they may fail.
//! 8. `sequences`: which loops consist of independent sequences.
//!
//! Windows are tried first, then blocks that look ahead, then blocks that wait.
//!
//! A program that cannot be planned is [`Declined`], with the reason; the simulator runs it.

use rml_base::IndexVec;
use rml_ir::flat::{Drawn, Var};

mod ahead;
mod atoms;
mod common;
mod compact;
mod declined;
mod demand;
mod ends;
mod foresee;
mod products;
mod regions;
mod resolve;
mod restarts;
mod sequences;
mod sums;
mod window;

use rml_analysis::{Analyses, Causality, Clocks, Facts, Verdict, WaitKind};
use rml_ir::check::checked;
use rml_plan::{Plan, Reg, verify};
use rml_validate::{Witness, validate};

pub use declined::Declined;
pub use foresee::{Foreseen, NextInput, foreseen};
pub use restarts::restarts;

/// How a run is fed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fed {
    /// By whole windows, if the program has windows.
    Windows,
    /// Any blocks of cycles, a single one among them. A program that looks ahead has windows anyway.
    Blocks,
}

/// The plan of a program.
///
/// Ensures: P1 to P9, V1 to V8.
///
/// # Errors
/// The reason why there is none.
pub fn schedule(flat: &Drawn, fed: Fed) -> Result<Plan, Declined> {
    known(flat, &Analyses::of(flat), fed).map(|made| made.plan)
}

/// The plan of a program that is already analysed, and for each of its registers the delay or parameter that it keeps.
///
/// Requires: analyses of that program, which may know less about its constants. Ensures: P1 to P9, V1 to V8.
///
/// # Errors
/// The reason why there is none.
pub fn schedule_known(
    flat: &Drawn,
    analyses: &Analyses,
    fed: Fed,
) -> Result<(Plan, IndexVec<Reg, Var>), Declined> {
    known(flat, analyses, fed).map(|made| (made.plan, made.witness.registers))
}

/// A plan, and the witness that proves it.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The plan.
    pub plan: Plan,
    /// For each tape and each register, the variable of the program that it holds.
    pub witness: Witness,
    /// The program that the plan is proved to compute, if it differs from the given one: its windows end on the base
    /// clock, and its meaning is the same.
    pub program: Option<Drawn>,
}

/// The plan of a program with its proof, for callers that check plans.
///
/// Ensures: P1 to P9, V1 to V8.
///
/// # Errors
/// The reason why there is none.
pub fn proved(flat: &Drawn, fed: Fed) -> Result<Proved, Declined> {
    known(flat, &Analyses::of(flat), fed)
}

fn known(flat: &Drawn, analyses: &Analyses, fed: Fed) -> Result<Proved, Declined> {
    let _span = tracing::debug_span!("schedule", equations = flat.equations.len()).entered();
    let Analyses { clocks, causality, bounds } = analyses;
    if clocks.verdict != Verdict::Synchronous {
        return Err(Declined::clocks(clocks));
    }
    if let Some(found) = causality.findings.iter().find(|d| d.is_error()) {
        return Err(Declined::found(found));
    }
    match bounds.program.kind {
        WaitKind::Bounded | WaitKind::Windowed => {}
        WaitKind::ClosedOnly => return Err(Declined::closed(causality)),
        WaitKind::Dynamic | WaitKind::Rejected => return Err(Declined::dynamic(flat, causality)),
    }
    let facts = analyses.facts(flat);
    let known = Known { clocks: &clocks.clocks, facts: &facts, causality };
    // Where its windows have no plan, blocks may have one.
    let windows = match fed {
        Fed::Windows => match plan(flat, known, Shape::Windows).or_else(|why| on_base(flat, analyses, why)) {
            Ok(found) => return Ok(found),
            Err(why) => Some(why),
        },
        Fed::Blocks => None,
    };
    let blocks = plan(flat, known, Shape::Blocks).or_else(|_| plan(flat, known, Shape::Waiting));
    // If both fail, the reason for windows is more helpful.
    blocks.map_err(|why| windows.filter(|_| !flat.windows.is_empty()).unwrap_or(why))
}

/// Plans a program whose windows end on a sampled clock, by moving these ends to the base clock.
fn on_base(flat: &Drawn, analyses: &Analyses, why: Declined) -> Result<Proved, Declined> {
    let Some(program) = ends::on_base(flat, &analyses.clocks.clocks) else { return Err(why) };
    let analyses = Analyses::of(&program);
    if analyses.clocks.verdict != Verdict::Synchronous || analyses.causality.findings.has_errors() {
        return Err(why);
    }
    let facts = analyses.facts(&program);
    let known = Known { clocks: &analyses.clocks.clocks, facts: &facts, causality: &analyses.causality };
    let proved = plan(&program, known, Shape::Windows)?;
    Ok(Proved { program: Some(program), ..proved })
}

/// What a plan runs at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// A window, if the program has windows.
    Windows,
    /// Any block of cycles, plus the fixed number of cycles that values wait for.
    Blocks,
    /// Any block of cycles, up to the first with an unknown value.
    Waiting,
}

/// What is known about a program.
#[derive(Clone, Copy)]
struct Known<'a> {
    clocks: &'a Clocks,
    facts: &'a Facts,
    causality: &'a Causality,
}

fn plan(flat: &Drawn, known: Known<'_>, shape: Shape) -> Result<Proved, Declined> {
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
    // For single cycles, splitting products does not pay off.
    let (plan, witness) =
        if shape == Shape::Windows { products::products(plan, witness) } else { (plan, witness) };
    checked("products", || verify(&plan));
    let plan = if window.waits { plan } else { sums::sums(plan) };
    checked("sums", || verify(&plan));
    let (plan, witness) = compact::compact(plan, witness);
    checked("compact", || verify(&plan));
    let plan = sequences::sequences(plan);
    if let Err(found) = validate(flat, known.clocks, known.facts, &plan, &witness) {
        checked("schedule", || Err(found));
        let why = Declined::new("its plan could not be proved correct");
        return Err(why.help("this is a bug in the compiler: please report the program"));
    }
    Ok(Proved { plan, witness, program: None })
}
