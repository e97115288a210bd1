//! Inputs that are kept until their cycles are done.

use std::collections::VecDeque;

use rml_base::Diagnostic;

use crate::block::{Block, Inputs};
use crate::run::Run;
use crate::status::InputCell;

/// The inputs of the open cycles, in order.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    parts: VecDeque<Part>,
    /// The number of done cycles at the front of the first part.
    done: usize,
    cycles: usize,
}

#[derive(Debug)]
enum Part {
    Cycle(Vec<InputCell>),
    Block(Block),
}

impl Part {
    fn inputs(&self) -> Inputs<'_> {
        match self {
            Part::Cycle(row) => Inputs::Cycle(row),
            Part::Block(block) => Inputs::Block(block),
        }
    }
}

impl Kept {
    /// The number of open cycles.
    pub(crate) fn cycles(&self) -> usize {
        self.cycles
    }

    /// Keeps the next cycles.
    pub(crate) fn push(&mut self, inputs: Inputs<'_>) {
        self.cycles += inputs.cycles();
        self.parts.push_back(match inputs {
            Inputs::Cycle(row) => Part::Cycle(row.to_vec()),
            Inputs::Block(block) => Part::Block(block.clone()),
        });
    }

    /// Removes the first `cycles` cycles, which are done.
    pub(crate) fn done(&mut self, cycles: usize) {
        self.cycles -= cycles;
        self.done += cycles;
        while let Some(first) = self.parts.front().map(|part| part.inputs().cycles())
            && first <= self.done
        {
            self.done -= first;
            self.parts.pop_front();
        }
    }

    /// Feeds the cycles to a run.
    pub(crate) fn feed(&self, run: &mut dyn Run) -> Result<(), Diagnostic> {
        for (i, part) in self.parts.iter().enumerate() {
            match part {
                Part::Block(block) if i == 0 && self.done > 0 => {
                    let (mut rows, mut row) = (block.rows()?, Vec::new());
                    rows.skip(self.done);
                    while rows.next_inputs(&mut row) {
                        run.feed(Inputs::Cycle(&row))?;
                    }
                }
                part => run.feed(part.inputs())?,
            }
        }
        Ok(())
    }
}
