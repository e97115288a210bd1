//! The options of a compilation.

use indexmap::IndexMap;
use rml_elab::{FormalKind, NodeSignature, Root};
use rml_ir::Precision;
use rml_ir::typed::StaticValue;

use crate::interface::BATCH;

/// The options of a compilation.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// # use rml_ir::typed::StaticValue;
/// use rml::{Options, Source};
///
/// let source = Source::text("f.rml", "node f(rate, x: num [n]) -> (o)  o = rate * x;");
/// let set = [("rate".to_owned(), StaticValue::Num(0.5)), ("n".to_owned(), StaticValue::Int(3))];
/// let options = Options { set: set.into_iter().collect(), ..Options::default() };
/// assert_eq!(rml::compile(&source, &options)?.inputs().len(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    /// The node to run; `None` = the only one that no other node calls.
    pub node: Option<String>,
    /// Values of the run node's static parameters and named dimensions.
    pub set: IndexMap<String, StaticValue>,
    /// The same, for names that the node may lack; values in `set` take precedence.
    pub defaults: IndexMap<String, StaticValue>,
    /// The value of the run node's dimension `batch`.
    pub batch: Option<usize>,
    /// How `num` is computed.
    pub precision: Precision,
    /// The seed of all random initialisers.
    pub seed: u64,
    /// Keeps every named variable, so that all can be traced: no folding, no restriction to what the outputs need.
    pub all_vars: bool,
    /// Inner variables, by instance path (`lstm_0.h`), that become outputs after those of the node.
    pub probes: Vec<String>,
    /// Whether the squared norms of the gradients of parameters become outputs after those of the node.
    pub gradients: bool,
    /// Whether the node is trained; then a program that updates no parameter gets a warning.
    pub trained: bool,
    /// Whether the node evaluates the results of another node's training; then updates of parameters get a warning. A
    /// node `infer` or `evaluate` beside a node `train` always does.
    pub evaluates: bool,
}

impl Options {
    /// The values of static parameters and named dimensions from all options.
    pub(crate) fn given(&self) -> IndexMap<String, StaticValue> {
        let batch = self.batch.and_then(|n| i64::try_from(n).ok());
        let batch = batch.map(|n| (BATCH.to_owned(), StaticValue::Int(n)));
        let given = self.defaults.iter().chain(&self.set).map(|(name, value)| (name.clone(), value.clone()));
        given.chain(batch).collect()
    }
}

/// The node that the options choose to run.
pub(crate) fn root(options: &Options) -> Root {
    options.node.clone().map_or(Root::Default, Root::Run)
}

/// Distinct numbers for the static parameters and named dimensions of a node that have no value.
pub(crate) fn with_placeholders(signature: &NodeSignature, options: &Options) -> Options {
    const PRIMES: [i64; 12] = [5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43];
    let mut options = options.clone();
    let statics = signature.formals.iter().filter(|f| f.kind == FormalKind::Static).map(|f| &f.name);
    for (name, prime) in statics.chain(&signature.dimensions).zip(PRIMES.into_iter().cycle()) {
        options.defaults.entry(name.clone()).or_insert(StaticValue::Int(prime));
    }
    options
}
