//! Analyses: of the node that runs, or of every node that no other calls.

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

/// Analyses the node that runs, [`Options::node`], with everything that it calls.
///
/// # Errors
/// Whatever stops the compilation. What the analyses themselves reject is part of the result.
pub fn analyse(source: &Source, options: &Options) -> Result<Analysis, Error> {
    Unit::new(source, options)?.analysis()
}

/// As [`analyse`]; the dimension `batch` gets an arbitrary value where it has none.
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

/// Analyses every node that no other node calls, with everything that it calls, whatever is wrong elsewhere. Where such
/// a node cannot be compiled, what it calls is analysed by itself. A setting counts for the nodes that take it; a
/// static parameter or named dimension without a value is given an arbitrary one.
pub fn analyse_all(source: &Source, options: &Options) -> Vec<Analysis> {
    let Ok(front) = source.front() else { return Vec::new() };
    let (modules, findings) = front.check_all(options);
    let (all, _) = analyse_each(front, options, !findings.has_errors(), &Forms::new(front, options, modules));
    all.into_iter().map(Arc::unwrap_or_clone).collect()
}

/// As [`analyse_all`]; `clean` says that no error is known, `forms` has what [`Front::check_all`] makes. For each other
/// node, the reason why it is not analysed.
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

/// The analysis of a node with everything that it calls, whatever is wrong elsewhere, and where its inputs may be
/// constants, as they may where it is called; `None` if anything there is in error. What `forms` has of the same values
/// is not made again.
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

/// What [`analyse_each`] gives, where `analyse` analyses a node.
///
/// Without errors, a node that is not analysed lacks a value or a type; what it calls has its inputs from there, and is
/// not analysed as a program of its own. What serves differentiation is part of the nodes that train.
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

/// How a node is analysed of which not all is said.
#[derive(Clone)]
pub(crate) struct Placed {
    /// With a value for each static parameter and named dimension.
    pub(crate) options: Options,
    /// The arbitrary values.
    pub(crate) assumed: Vec<(String, StaticValue)>,
}

impl Placed {
    fn new(node: &NodeSignature, given: &Options) -> Self {
        let options = Options { node: Some(node.name.clone()), ..with_placeholders(node, given) };
        let assumed = options.defaults.iter().filter(|(name, _)| !given.defaults.contains_key(*name));
        let assumed = assumed.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { options, assumed }
    }

    /// As it is; then with other numbers, or a value of another kind, for one of the parameters. A size of 1, which
    /// fits beside any other one, comes after sizes that do not.
    fn all(&self) -> impl Iterator<Item = Self> {
        let int = StaticValue::Int;
        let list = |sizes: &[i64]| StaticValue::Array(sizes.iter().map(|size| int(*size)).collect());
        let values = [int(2), int(3), int(1), int(0), list(&[5, 7]), list(&[5]), StaticValue::Bool(true)];
        let others =
            (0..self.assumed.len()).flat_map(move |i| values.clone().map(|value| self.with(i, value)));
        std::iter::once(self.clone()).chain(others)
    }

    /// Whether a named dimension of the node, or a static integer, has another value than here: the node is right for
    /// some sizes alone.
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

/// The nodes, each with those that it calls, in an order in which each stands after those that call it, else as in the
/// text.
fn callers_first(calls: &[Vec<usize>]) -> Vec<usize> {
    let mut callers = vec![0_usize; calls.len()];
    calls.iter().flatten().for_each(|callee| callers[*callee] += 1);
    let uncalled = (0..calls.len()).filter(|i| callers[*i] == 0);
    let mut ready: BinaryHeap<Reverse<usize>> = uncalled.map(Reverse).collect();
    let mut order = Vec::with_capacity(calls.len());
    // The elaboration cuts calls of a node by itself, so that every node is uncalled in the end.
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

/// Marks a node and everything that it calls.
fn cover(calls: &[Vec<usize>], node: usize, covered: &mut [bool]) {
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        if !std::mem::replace(&mut covered[node], true) {
            todo.extend(&calls[node]);
        }
    }
}
