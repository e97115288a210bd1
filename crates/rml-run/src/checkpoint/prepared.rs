//! The preparation of data that a checkpoint records, for programs that get other data.

use rml_base::codes::run as codes;
use rml_base::{Code, Diagnostic, Error};
use rml_data::Preparation;
use rml_driver::{Program, prepare_inputs};
use rml_ir::InputInfo;
use rml_ir::pass::InputSteps;

use super::Checkpoint;

/// The most means and deviations that a message lists.
const SHOWN: usize = 8;

impl Checkpoint {
    /// A warning that inputs of a program get values as they are, which the training standardised.
    pub fn unprepared(&self, program: &Program) -> Option<Diagnostic> {
        let preparation = self.preparation();
        let is_scaled = |input: &&InputInfo| preparation.scale(&input.name).is_some();
        let inputs: Vec<&str> = program.inputs().iter().filter(is_scaled).map(|input| &*input.name).collect();
        let first = *inputs.first()?;
        let names = inputs.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let what = format!("the training of the checkpoint standardised {names}, which is not done here");
        let mut d = Diagnostic::warning(codes::NOT_PREPARED, what);
        for name in &inputs {
            d = scaled(&preparation, name).map_or(d.clone(), |scale| d.note(format!("`{name}`: {scale}")));
        }
        let help = format!("give `{first}` in that scale: less its mean, and divided by its deviation");
        Some(d.note("`rml infer`, `run` and `trace` prepare data as the checkpoint says").help(help))
    }

    /// The program that prepares its inputs itself, as the training of this checkpoint did, and a sentence about each
    /// such input.
    ///
    /// # Errors
    /// An input with another number of elements than in the training.
    pub(crate) fn prepares(&self, program: &Program) -> Result<(Program, Vec<String>), Error> {
        let preparation = self.preparation();
        let steps = |input: &InputInfo| steps(&preparation, input);
        check_with(program, &preparation, codes::EXPORT_REFUSED).map_err(|d| program.error(d))?;
        let prepared = || program.inputs().iter().map(|input| (input, steps(input)));
        let notes = prepared().filter_map(|(input, steps)| note(input, &steps)).collect();
        Ok((prepare_inputs(program, steps), notes))
    }
}

/// Checks that the inputs that are prepared have as many elements as in the training.
///
/// # Errors
/// An input with another number of elements.
pub(crate) fn check_preparation(program: &Program, preparation: &Preparation) -> Result<(), Diagnostic> {
    check_with(program, preparation, codes::CHECKPOINT_MISMATCH)
}

fn check_with(program: &Program, preparation: &Preparation, code: Code) -> Result<(), Diagnostic> {
    for input in program.inputs() {
        if let Some(len) = steps(preparation, input).misfit(&input.ty.shape) {
            return Err(misfit(input, len, code));
        }
    }
    Ok(())
}

fn steps<'p>(preparation: &'p Preparation, input: &InputInfo) -> InputSteps<'p> {
    match input.ty.is_num() {
        true => InputSteps { fill: preparation.fill(&input.name), scale: preparation.scale(&input.name) },
        false => InputSteps::default(),
    }
}

/// A sentence about an input that the program prepares, without a full stop.
fn note(input: &InputInfo, steps: &InputSteps<'_>) -> Option<String> {
    let name = &input.name;
    match (steps.scale.is_some(), steps.fill.is_some()) {
        (true, true) => Some(format!(
            "`{name}` gets values as in the data: NaN is a gap, which is filled, and values are standardised"
        )),
        (true, false) => Some(format!("`{name}` gets values as in the data, which are standardised")),
        (false, true) => Some(format!("`{name}` gets values as in the data: NaN is a gap, which is filled")),
        (false, false) => None,
    }
}

/// The means and the deviations of an input, if they are few.
fn scaled(preparation: &Preparation, input: &str) -> Option<String> {
    let (means, deviations) = preparation.scale(input)?;
    let listed = |list: &[f64]| match list {
        [one] => one.to_string(),
        all => format!("{all:?}"),
    };
    let is_short = means.len() <= SHOWN;
    is_short.then(|| format!("mean {}, deviation {}", listed(means), listed(deviations)))
}

fn misfit(input: &InputInfo, len: usize, code: Code) -> Diagnostic {
    let plural = if len == 1 { "" } else { "s" };
    let what =
        format!("input `{}: {}` was standardised or filled by {len} number{plural}", input.name, input.ty);
    Diagnostic::error(code, what)
        .note("the training of the checkpoint had another number of elements in each value of the input")
        .help(
            "give the input the same last axes as in the training, or another name if it is another quantity",
        )
}
