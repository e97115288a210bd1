//! A node as a unit of compilation: the front end and differentiation run once, for the program and for the analysis.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_analysis::{Bounded, RootRole};
use rml_base::{Diagnostics, Error, Span};
use rml_ir::flat::Flat;
use rml_ir::normal::Differentiated;
use rml_ir::pass::Exchanged;
use rml_ir::{pass, typed};

use crate::analysis::Analysis;
use crate::analysis::calls::calls;
use crate::front::Front;
use crate::lower::{Learning, runnable, with_gradients};
use crate::options::{Options, root};
use crate::probe;
use crate::program::Program;
use crate::source::Source;

/// A node and its callees after differentiation. Both its program and its analysis are made from this form, without
/// running the front end again.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let source = rml::Source::text("f.rml", "node f(x: num []) -> (o)  o = x + 1.0;");
/// let unit = rml::Unit::new(&source, &rml::Options::default())?;
/// assert_eq!(unit.program()?.node(), "f");
/// assert_eq!(unit.analysis()?.findings().count(), 0);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Unit {
    front: Arc<Front>,
    options: Options,
    warnings: Diagnostics,
    module: Differentiated,
    bounded: Vec<Bounded>,
    rates: Vec<Span>,
}

impl Unit {
    /// The node that runs, [`Options::node`].
    ///
    /// # Errors
    /// All errors of the front end and of differentiation; a file that cannot be read.
    pub fn new(source: &Source, options: &Options) -> Result<Self, Error> {
        let front = Arc::clone(source.front()?);
        let made = front.elaborate(options, root(options)).and_then(|(module, mut warnings)| {
            let Form { learning, module, bounded, rates } =
                Form::new(&front, &module, role(&front, &module, options));
            warnings.extend(learning);
            if options.trained {
                warnings.extend(front.stacked(options, root(options)));
            }
            Ok((module?, warnings, bounded, rates))
        });
        let (module, warnings, bounded, rates) = front.fail(made)?;
        Ok(Self { front, options: options.clone(), warnings, module, bounded, rates })
    }

    /// The program that runs.
    ///
    /// # Errors
    /// Errors of the passes after differentiation.
    pub fn program(&self) -> Result<Program, Error> {
        let made = with_gradients(&self.module, &self.options).and_then(|learning| {
            let Learning { flat, norms, probes, learned } = learning;
            let calls = Arc::new(calls(&flat));
            Ok((runnable(flat, &self.options)?, norms, probes, learned, calls))
        });
        let (flat, gradients, probes, learned, calls) = self.front.fail(made)?;
        let program = Program::new(flat, &self.front, self.warnings.clone());
        let (bounded, rates) = (self.bounded.clone().into(), self.rates.clone().into());
        Ok(Program { gradients, probes, learned: Arc::new(learned), bounded, rates, calls, ..program })
    }

    /// The program in two parts, for a training with shards.
    ///
    /// # Errors
    /// The same as for [`program`](Self::program); an update that cannot be separated from the rest.
    pub fn sharded(&self) -> Result<Sharded, Error> {
        let made = pass::inline_with_gradients(&self.module).and_then(|mut inlined| {
            probe::probe(&mut inlined.flat, &self.options.probes)?;
            let mut cut = pass::cut(&inlined)?;
            let norms = match self.options.gradients {
                true => cut.show_norms(|key| inlined.gradients.contains_key(key)),
                false => IndexMap::new(),
            };
            let calls = Arc::new(calls(&inlined.flat));
            let finish = |flat| runnable(flat, &self.options);
            Ok((
                finish(cut.gradients)?,
                finish(cut.update)?,
                norms,
                calls,
                cut.exchanged,
                cut.clocks,
                cut.ticks,
            ))
        });
        let (gradients, update, norms, calls, exchanged, clocks, ticks) = self.front.fail(made)?;
        let program = |flat| {
            let program = Program::new(flat, &self.front, Diagnostics::new());
            Program { calls: Arc::clone(&calls), ..program }
        };
        let update = Program { gradients: norms, ..program(update) };
        Ok(Sharded { gradients: program(gradients), update, exchanged, clocks, ticks })
    }

    /// The facts about the node before it runs, including the errors that the analyses find.
    ///
    /// # Errors
    /// The program is too large when inlined.
    pub fn analysis(&self) -> Result<Analysis, Error> {
        Ok(Analysis::new(self.inlined()?, &self.front))
    }

    /// The node inlined, with every variable and every constant as written.
    pub(crate) fn inlined(&self) -> Result<Flat, Error> {
        self.front.fail(pass::inline(&self.module))
    }
}

/// A program that trains, in two parts: see [`pass::cut`].
#[derive(Clone, Debug)]
pub struct Sharded {
    /// Computes gradients; after the outputs of the node it has `bp` and `do` of each parameter.
    pub gradients: Program,
    /// Updates the parameters.
    pub update: Program,
    /// The parameters that are updated, in the order of outputs and inputs.
    pub exchanged: Vec<Exchanged>,
    /// The number of clocks on which they are updated.
    pub clocks: usize,
    /// The keys of the states that count the draws of random streams.
    pub ticks: IndexSet<Arc<str>>,
}

/// The role of the root of a module.
fn role(front: &Front, module: &typed::Module, options: &Options) -> RootRole {
    match front.role(&module.nodes[module.root].name) {
        _ if options.trained => RootRole::Trains,
        RootRole::Evaluates => RootRole::Evaluates,
        RootRole::Trains | RootRole::Runs if options.evaluates => RootRole::Evaluates,
        RootRole::Trains | RootRole::Runs => RootRole::Runs,
    }
}

/// A module after normalisation and differentiation.
pub(crate) struct Form {
    /// Findings about what it learns, reported if nothing else is wrong.
    learning: Diagnostics,
    /// The differentiated module, or why it cannot be differentiated.
    pub(crate) module: Result<Differentiated, Diagnostics>,
    /// Inputs that it compares with values of a known range.
    bounded: Vec<Bounded>,
    /// The places of the learning rates.
    rates: Vec<Span>,
}

impl Form {
    /// `role` is the role of the root.
    pub(crate) fn new(front: &Front, module: &typed::Module, role: RootRole) -> Self {
        let module = pass::normalize(module);
        let learning = front.learning(&module, role);
        let (bounded, rates) = match role {
            RootRole::Trains => (front.bounded(&module), front.learning_rates(&module)),
            RootRole::Evaluates | RootRole::Runs => (Vec::new(), Vec::new()),
        };
        Self { learning, module: rml_autodiff::differentiate(module), bounded, rates }
    }

    /// All findings. The inputs in `open` may be constants.
    pub(crate) fn findings(&self, open: &dyn Fn(&str) -> bool) -> Diagnostics {
        let module = self.module.as_ref().map_err(Diagnostics::clone);
        module
            .and_then(|module| pass::inline_open(module, open))
            .err()
            .unwrap_or_else(|| self.learning.clone())
    }
}
