//! What an inference says besides its metrics: how often each class is the answer, and whether the node learns.

use rml_base::codes::analysis::EVALUATION_LEARNS;
use rml_base::{Diagnostic, visible_name};
use rml_driver::{Program, ValueNames};
use rml_engine::KnownOutputs;
use rml_ir::{DType, Data};

use crate::train::updates::updates;

/// The note that a node learns from the windows that it runs over, unless a warning says so.
pub(super) fn learns(program: &Program) -> Option<String> {
    let counts = updates(program);
    let is_warned = program.warnings().iter().any(|found| found.code == EVALUATION_LEARNS);
    (!is_warned && counts.cycle + counts.window + counts.condition > 0).then(|| {
        let node = program.node();
        format!("`{node}` updates parameters, so it learns from the windows that it runs over; the checkpoint is kept")
    })
}

/// The outputs that are the number of a class, with how often each class is the answer.
pub(super) struct Answers {
    outputs: Vec<(usize, String, Vec<String>, Vec<u64>)>,
}

impl Answers {
    pub(super) fn new(program: &Program, names: &ValueNames) -> Self {
        let outputs =
            program.outputs().iter().enumerate().filter(|(_, output)| output.ty.dtype == DType::Int);
        let outputs = outputs.filter_map(|(index, output)| {
            let classes: Vec<String> = names.of(&output.name)?.iter().map(ToString::to_string).collect();
            let counts = vec![0; classes.len()];
            Some((index, output.name.to_string(), classes, counts))
        });
        Self { outputs: outputs.collect() }
    }

    /// Counts the answers in the outputs of some windows.
    ///
    /// # Errors
    /// Values that cannot be copied from their device.
    pub(super) fn add(&mut self, all: &[KnownOutputs]) -> Result<(), Diagnostic> {
        for (index, _, _, counts) in &mut self.outputs {
            for outputs in all {
                outputs.for_each_value(*index, |_, value| {
                    let Data::Int(classes) = value.to_data() else { return };
                    for class in classes {
                        let count = usize::try_from(class).ok().and_then(|class| counts.get_mut(class));
                        count.into_iter().for_each(|count| *count += 1);
                    }
                })?;
            }
        }
        Ok(())
    }

    /// The counts: sentences without a full stop.
    pub(super) fn notes(self) -> impl Iterator<Item = String> {
        self.outputs.into_iter().map(|(_, output, classes, counts)| {
            let counts = classes.iter().zip(counts);
            let counts: Vec<String> =
                counts.map(|(class, count)| format!("{count} `{}`", visible_name(class))).collect();
            format!("`{output}` is {}", counts.join(", "))
        })
    }
}
