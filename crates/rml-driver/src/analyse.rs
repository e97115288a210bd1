//! Analyses of the node that runs, or of every node that no other node calls.

mod open;
mod unchecked;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::Error;
use rml_elab::NodeSignature;
use rml_ir::typed::StaticValue;

use crate::analysis::Analysis;
use crate::check::Forms;
use crate::front::Front;
use crate::interface::BATCH;
use crate::options::{Options, root, with_placeholders};
use crate::source::Source;
use crate::unit::Unit;

pub use unchecked::Unchecked;

/// Analyses the node that runs, [`Options::node`], with all its callees.
///
/// # Errors
/// Errors that stop the compilation. Errors that the analyses find are part of the result.
pub fn analyse(source: &Source, options: &Options) -> Result<Analysis, Error> {
    Unit::new(source, options)?.analysis()
}

/// As [`analyse`]; a dimension `batch` without a value is given an arbitrary one.
///
/// # Errors
/// As [`analyse`].
pub fn analyse_any_batch(source: &Source, options: &Options) -> Result<Analysis, Error> {
    analyse(source, options).or_else(|error| {
        let batch = (BATCH.to_owned(), StaticValue::Int(5));
        let mut placed = options.clone();
        placed.defaults.insert(batch.0.clone(), batch.1.clone());
        let analysis = analyse(source, &placed).map_err(|_| error)?;
        Ok(Analysis { assumed: vec![batch], ..analysis })
    })
}

/// Analyses every node that no other node calls, with all its callees, regardless of errors in other nodes. If such a
/// node cannot be compiled, its callees are analysed on their own. A setting applies to the nodes that have the
/// parameter; a static parameter or named dimension without a value is given an arbitrary one.
pub fn analyse_all(source: &Source, options: &Options) -> Vec<Analysis> {
    let Ok(front) = source.front() else { return Vec::new() };
    let (modules, findings) = front.check_all(options);
    let (all, _) = analyse_each(front, options, !findings.has_errors(), &Forms::new(front, options, modules));
    all.into_iter().map(Arc::unwrap_or_clone).collect()
}

/// As [`analyse_all`]; `clean` says that no error is known, `forms` has the results of [`Front::check_all`]. Also
/// returns the nodes that are not analysed, with the reasons.
pub(crate) fn analyse_each(
    front: &Front,
    options: &Options,
    clean: bool,
    forms: &Forms<'_>,
) -> (Vec<Arc<Analysis>>, Vec<Unchecked>) {
    analyse_each_by(front, options, clean, &mut |node, placed| {
        analyse_alone(front, node, placed, forms).map(Arc::new)
    })
}

/// The analysis of a node with all its callees, regardless of errors in other nodes. Inputs may be constants, as in
/// calls of the node. `None` if the node or a callee has an error. Nodes in `forms` with the same values are not
/// elaborated again.
pub(crate) fn analyse_alone(
    front: &Front,
    node: &NodeSignature,
    placed: &Placed,
    forms: &Forms<'_>,
) -> Option<Analysis> {
    placed.all().find_map(|Placed { options, assumed }| {
        if forms.has(node, &options) {
            return Some(Analysis { assumed, ..forms.analysis(&node.name, &|_| true)? });
        }
        let module = front.elaborate_alone(&options, root(&options)).ok()?;
        let alone = Forms::new(front, &options, [module]);
        let open = open::warnings(front, node, &options, (forms, &alone));
        Some(Analysis { assumed, open, ..alone.analysis(&node.name, &|_| true)? })
    })
}

/// As [`analyse_each`], with `analyse` to analyse a node.
///
/// If there are no errors, a node is not analysed because it lacks a value or a type. Its callees get their inputs from
/// it, and are not analysed as programs of their own. Nodes for differentiation are analysed as part of the nodes that
/// train.
pub(crate) fn analyse_each_by(
    front: &Front,
    options: &Options,
    clean: bool,
    analyse: &mut dyn FnMut(&NodeSignature, &Placed) -> Option<Arc<Analysis>>,
) -> (Vec<Arc<Analysis>>, Vec<Unchecked>) {
    let nodes = front.signatures();
    let by_name: IndexMap<&str, usize> =
        nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), i)).collect();
    let calls: Vec<Vec<usize>> = nodes
        .iter()
        .map(|n| n.calls.iter().filter_map(|c| by_name.get(c.as_str()).copied()).collect())
        .collect();
    let options = Options { set: IndexMap::new(), defaults: options.given(), batch: None, ..options.clone() };
    let mut covered = vec![false; nodes.len()];
    let mut found = Vec::new();
    let mut unchecked = Vec::new();
    for i in callers_first(&calls) {
        let node = &nodes[i];
        if covered[i] {
            continue;
        }
        let placed = Placed::new(node, &options);
        let analysis = if node.overrides || node.is_extern { None } else { analyse(node, &placed) };
        let is_left_out = analysis.is_none() && clean;
        let is_lucky =
            clean && analysis.as_ref().is_some_and(|analysis| placed.is_changed(node, &analysis.assumed));
        if (is_left_out || is_lucky) && !node.overrides {
            unchecked.push(Unchecked::new(front, node, &placed, analysis.as_deref()));
        }
        if analysis.is_some() || is_left_out || node.overrides {
            cover(&calls, i, &mut covered);
        }
        found.extend(analysis);
    }
    (found, unchecked)
}

/// Complete options for a node, some of whose values may be arbitrary.
#[derive(Clone)]
pub(crate) struct Placed {
    /// The options with a value for each static parameter and named dimension.
    pub(crate) options: Options,
    /// The values that are arbitrary.
    pub(crate) assumed: Vec<(String, StaticValue)>,
}

impl Placed {
    fn new(node: &NodeSignature, given: &Options) -> Self {
        let options = Options { node: Some(node.name.clone()), ..with_placeholders(node, given) };
        let assumed = options.defaults.iter().filter(|(name, _)| !given.defaults.contains_key(*name));
        let assumed = assumed.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { options, assumed }
    }

    /// These options; then options with another number, or a value of another kind, for one of the parameters. The size
    /// 1, which fits any other size, comes after sizes that do not.
    fn all(&self) -> impl Iterator<Item = Self> {
        let int = StaticValue::Int;
        let list = |sizes: &[i64]| StaticValue::Array(sizes.iter().map(|size| int(*size)).collect());
        let values = [int(2), int(3), int(1), int(0), list(&[5, 7]), list(&[5]), StaticValue::Bool(true)];
        let others =
            (0..self.assumed.len()).flat_map(move |i| values.clone().map(|value| self.with(i, value)));
        std::iter::once(self.clone()).chain(others)
    }

    /// Whether a named dimension of the node, or a static integer, has another value in `assumed`. Then the node is
    /// right only for some sizes.
    fn is_changed(&self, node: &NodeSignature, assumed: &[(String, StaticValue)]) -> bool {
        let is_int = |value: &StaticValue| matches!(value, StaticValue::Int(_));
        let mut both = self.assumed.iter().zip(assumed);
        both.any(|((name, here), (_, there))| {
            here != there && (node.dimensions.contains(name) || is_int(here) && is_int(there))
        })
    }

    fn with(&self, i: usize, value: StaticValue) -> Self {
        let mut placed = self.clone();
        let (name, assumed) = &mut placed.assumed[i];
        *assumed = value.clone();
        placed.options.defaults.insert(name.clone(), value);
        placed
    }
}

/// The nodes, each given by its callees, in an order in which callers come before callees, and otherwise in the order
/// of the text.
fn callers_first(calls: &[Vec<usize>]) -> Vec<usize> {
    let mut callers = vec![0_usize; calls.len()];
    calls.iter().flatten().for_each(|callee| callers[*callee] += 1);
    let uncalled = (0..calls.len()).filter(|i| callers[*i] == 0);
    let mut ready: BinaryHeap<Reverse<usize>> = uncalled.map(Reverse).collect();
    let mut order = Vec::with_capacity(calls.len());
    // Elaboration removes recursive calls, so every node is uncalled eventually.
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &callee in &calls[i] {
            callers[callee] -= 1;
            if callers[callee] == 0 {
                ready.push(Reverse(callee));
            }
        }
    }
    order
}

/// Marks a node and all its callees.
fn cover(calls: &[Vec<usize>], node: usize, covered: &mut [bool]) {
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        if !std::mem::replace(&mut covered[node], true) {
            todo.extend(&calls[node]);
        }
    }
}
