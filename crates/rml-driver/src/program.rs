//! A compiled program.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_analysis::Bounded;
use rml_base::{Diagnostic, Diagnostics, Error, Sources, Span};
use rml_ir::flat::{self, Drawn};
use rml_ir::{InputInfo, OutputInfo, Precision};

use crate::analysis::callers::{show, user_call};
use crate::analysis::calls::Calls;
use crate::front::Front;

/// A compiled program. Cheap to clone.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// use rml::{Options, Source};
///
/// let source = Source::text("sum.rml", "node sum(x: num []) -> (y)  y = x + (0.0 fby y);");
/// let program = rml::compile(&source, &Options::default())?;
/// assert_eq!(program.node(), "sum");
/// assert_eq!(&*program.inputs()[0].name, "x");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) flat: Arc<Drawn>,
    pub(crate) sources: Arc<Sources>,
    pub(crate) inputs: Arc<[InputInfo]>,
    pub(crate) outputs: Arc<[OutputInfo]>,
    pub(crate) warnings: Diagnostics,
    /// The place where each instance is called, by its path.
    pub(crate) calls: Arc<Calls>,
    /// The indices of the outputs that are squared norms of gradients, by checkpoint key.
    pub(crate) gradients: IndexMap<Arc<str>, usize>,
    /// The indices of the outputs that are inner variables, by name.
    pub(crate) probes: IndexMap<Arc<str>, usize>,
    /// The checkpoint keys of the parameters that adjoints update.
    pub(crate) learned: Arc<IndexSet<Arc<str>>>,
    /// Inputs that a training compares with values of a known range.
    pub(crate) bounded: Arc<[Bounded]>,
    /// The places of the learning rates of a training.
    pub(crate) rates: Arc<[Span]>,
}

impl Program {
    pub(crate) fn new(flat: Drawn, front: &Front, warnings: Diagnostics) -> Self {
        let interface = front.interfaces().get(&flat.name);
        let name = |v: flat::Var| flat.vars[v].name.clone().unwrap_or_else(|| v.to_string().into());
        let inputs = flat.inputs.iter().map(|input| {
            let name_of = name(input.var);
            InputInfo {
                batched: interface.is_some_and(|i| i.is_batched(&name_of)),
                name: name_of,
                ty: flat.vars[input.var].ty.clone(),
                clock: input.clock.map(|(c, flag)| (name(c), flag)),
            }
        });
        let outputs =
            flat.outputs.iter().map(|v| OutputInfo { name: name(*v), ty: flat.vars[*v].ty.clone() });
        Self {
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            sources: Arc::clone(&front.sources),
            warnings,
            gradients: IndexMap::new(),
            probes: IndexMap::new(),
            learned: Arc::default(),
            bounded: Arc::default(),
            rates: Arc::default(),
            calls: Arc::default(),
            flat: Arc::new(flat),
        }
    }

    /// The run node's name.
    pub fn node(&self) -> &str {
        &self.flat.name
    }

    /// Inputs, in order.
    pub fn inputs(&self) -> &[InputInfo] {
        &self.inputs
    }

    /// Outputs, in order.
    pub fn outputs(&self) -> &[OutputInfo] {
        &self.outputs
    }

    /// The outputs that are the squared norms of the gradients of parameters, by checkpoint key, if
    /// [`Options::gradients`](crate::Options::gradients) requested them. A parameter that no adjoint trains has none.
    pub fn gradients(&self) -> &IndexMap<Arc<str>, usize> {
        &self.gradients
    }

    /// The outputs that are inner variables, by name, if [`Options::probes`](crate::Options::probes) requested them and
    /// they are no outputs of the node.
    pub fn probes(&self) -> &IndexMap<Arc<str>, usize> {
        &self.probes
    }

    /// The checkpoint keys of the parameters that adjoints update. Values that the program updates itself, such as
    /// moving averages, are not included.
    pub fn learned(&self) -> &IndexSet<Arc<str>> {
        &self.learned
    }

    /// The inputs that a training compares with values of a known range, such as those of a `sigmoid`.
    pub fn bounded(&self) -> &[Bounded] {
        &self.bounded
    }

    /// The places of the learning rates of a training.
    pub fn learning_rates(&self) -> &[Span] {
        &self.rates
    }

    /// How `num` is computed.
    pub fn precision(&self) -> Precision {
        self.flat.precision
    }

    /// The program that runs.
    pub fn flat(&self) -> &Arc<Drawn> {
        &self.flat
    }

    /// The source texts, for drawing diagnostics.
    pub fn sources(&self) -> &Arc<Sources> {
        &self.sources
    }

    /// Findings that did not stop the compilation.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The place in the program's own texts that calls an instance, directly or through the library.
    pub fn call(&self, instance: &str) -> Option<Span> {
        user_call(&self.sources, &self.calls, instance)
    }

    /// A finding about the program. If it begins in the library, a place in the program's own texts comes first.
    #[must_use]
    pub fn shown(&self, mut finding: Diagnostic) -> Diagnostic {
        show(&self.sources, &self.flat, &self.calls, &mut finding);
        finding
    }

    /// Converts findings about the program to an error that shows the program's texts. Each finding is changed as in
    /// [`Self::shown`].
    pub fn error(&self, findings: impl Into<Diagnostics>) -> Error {
        let findings = findings.into().into_iter().map(|finding| self.shown(finding)).collect();
        Error::new(Diagnostics(findings), Arc::clone(&self.sources))
    }

    /// The same program with more findings that do not stop it.
    #[must_use]
    pub fn with_warnings(mut self, more: impl IntoIterator<Item = Diagnostic>) -> Self {
        self.warnings.extend(more);
        self
    }
}
