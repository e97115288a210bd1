//! Each stage of the compilation as text.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{Diagnostic, Diagnostics, Error};
use rml_ir::flat::{self, Drawn, Flat};
use rml_ir::pass::{self, LowerStep};
use rml_ir::{Value, normal, typed};
use rml_plan::{Ends, Plan};
use rml_schedule::{Declined, Fed, schedule};

use crate::lower::{back, keep, runnable};
use crate::options::{Options, root};
use crate::source::Source;

/// A stage that [`dump`] can show.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// use rml::{Options, Source, Stage};
///
/// let source = Source::text("f.rml", "node f(x: num []) -> (o)  o = 2.0 * x;");
/// let normal = rml::dump(&source, &Options::default(), Stage::Normalize)?;
/// assert!(normal.contains("apply mul"));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The syntax tree.
    Parse,
    /// The typed stage.
    Elab,
    /// The normal form.
    Normalize,
    /// The normal form with adjoint nodes synthesised.
    Diff,
    /// The flat form.
    Inline,
    /// The flat form with the branches of constant conditions chosen.
    Settle,
    /// The same with constants folded.
    Fold,
    /// The same, restricted to what the outputs and trained parameters need; the static analyses work on it.
    Cone,
    /// The same in two parts, for a training with shards: gradients, and updates of parameters.
    Cut,
    /// The same, in one part, with random constants drawn: the program that runs.
    Draw,
    /// The same, with the clocks and facts that a scheduler can use.
    Analyse,
    /// The same as regions over the ticks of a window.
    Plan,
    /// The same as loops over the elements of each tick.
    Nests,
    /// The same with fewer loops: a loop that reads the results of another one is fused with it.
    Fused,
}

/// The text of a stage.
///
/// # Errors
/// As [`compile`](crate::compile()).
pub fn dump(source: &Source, options: &Options, stage: Stage) -> Result<String, Error> {
    dump_with(source, options, stage, &IndexMap::new())
}

/// As [`dump`], of the program whose states begin with those values, by checkpoint key. The stages have them from
/// [`Stage::Inline`] on.
///
/// Requires: each value has the type of its state.
///
/// # Errors
/// As [`dump`].
pub fn dump_with(
    source: &Source,
    options: &Options,
    stage: Stage,
    states: &IndexMap<Arc<str>, Value>,
) -> Result<String, Error> {
    let front = source.front()?;
    if stage == Stage::Parse {
        let bump = bumpalo::Bump::new();
        let mut names = lasso::Rodeo::new();
        let parsed = rml_syntax::parse(&bump, &mut names, front.main, front.sources.text(front.main));
        if !parsed.diagnostics.is_empty() {
            return front.fail(Err(Diagnostics(parsed.diagnostics)));
        }
        return Ok(rml_syntax::dump(&parsed.file, &names));
    }
    let elaborated = front.elaborate(options, root(options));
    front.fail(elaborated.and_then(|(module, _)| dump_module(&module, options, stage, states)))
}

fn dump_module(
    module: &typed::Module,
    options: &Options,
    stage: Stage,
    states: &IndexMap<Arc<str>, Value>,
) -> Result<String, Diagnostics> {
    if stage == Stage::Elab {
        return Ok(typed::print(module));
    }
    let module = pass::normalize(module);
    let inlined = |module| Ok::<_, Diagnostics>(pass::begin_with(back(module, options)?, states));
    Ok(match stage {
        Stage::Parse | Stage::Elab | Stage::Normalize => normal::print(&module),
        Stage::Diff => {
            let differentiated = rml_autodiff::differentiate(module)?;
            normal::print(&differentiated)
        }
        Stage::Inline => flat_text(&inlined(module)?)?,
        Stage::Settle => after(inlined(module)?, options, LowerStep::Settle)?,
        Stage::Fold => after(inlined(module)?, options, LowerStep::Fold)?,
        Stage::Cone => after(inlined(module)?, options, LowerStep::Cone)?,
        Stage::Cut => {
            let cut = pass::cut(&pass::inline_with_gradients(&rml_autodiff::differentiate(module)?)?)?;
            let text = |flat| flat_text(&pass::lower(flat, keep(options)));
            format!("{}\n{}", text(cut.gradients)?, text(cut.update)?)
        }
        Stage::Draw => {
            let drawn = runnable(inlined(module)?, options)?;
            flat_text(&drawn)?
        }
        Stage::Analyse => {
            let flat = runnable(inlined(module)?, options)?;
            ask_for_text(&flat)?;
            let analyses = rml_analysis::Analyses::of(&flat);
            if let rml_analysis::Verdict::Rejected(found) = analyses.clocks.verdict {
                return Err(found);
            }
            rml_analysis::print_facts(&flat, &analyses.clocks.clocks, &analyses.facts(&flat))
        }
        Stage::Plan => rml_plan::print(&planned(inlined(module)?, options)?),
        Stage::Nests => rml_nest::print(&rml_nest::lower(&planned(inlined(module)?, options)?)),
        Stage::Fused => {
            rml_nest::print(&rml_nest::fuse(&rml_nest::lower(&planned(inlined(module)?, options)?)))
        }
    })
}

/// The plan of an inlined program.
fn planned(inlined: Flat, options: &Options) -> Result<Plan, Diagnostics> {
    let flat = runnable(inlined, options)?;
    Ok(plan(&flat).map_err(|declined| declined.diagnostic(&flat.name))?)
}

/// The plan that runs whole windows. If their ends look ahead, the plan of a program with data of the next cycle as
/// inputs.
fn plan(flat: &Drawn) -> Result<Plan, Declined> {
    let plan = schedule(flat, Fed::Windows);
    if plan.as_ref().map_or(true, |plan| plan.waits)
        && let Some(foreseen) = rml_schedule::foreseen(flat, &rml_analysis::clocks(flat).clocks)
        && let Ok(plan) = schedule(&foreseen.program, Fed::Windows)
        && plan.ends != Ends::Nothing
    {
        return Ok(plan);
    }
    plan
}

/// The text after the lowering steps up to `last`.
fn after(inlined: Flat, options: &Options, last: LowerStep) -> Result<String, Diagnostics> {
    let mut shown = None;
    pass::lower_with(inlined.clone(), keep(options), &mut |step, flat| {
        if step <= last {
            shown = Some(flat.clone());
        }
    });
    Ok(flat_text(shown.as_ref().unwrap_or(&inlined))?)
}

/// The text of a flat program.
fn flat_text(flat: &Flat) -> Result<String, Diagnostic> {
    ask_for_text(flat)?;
    Ok(flat::print(flat))
}

/// Requests the memory for the printed form, in which each element of a constant is written out.
fn ask_for_text(flat: &Flat) -> Result<(), Diagnostic> {
    /// Digits, sign, exponent, comma; three times, since a growing string is copied.
    const ELEMENT: u64 = 3 * 24;
    let values = flat.consts.iter().filter_map(|c| c.value());
    let elements = values.fold(0_u64, |n, v| n.saturating_add(v.shape().len() as u64));
    rml_base::memory::ask(elements.saturating_mul(ELEMENT))
        .map_err(|short| short.diagnostic(format!("the text of {elements} elements of constants")))
}
