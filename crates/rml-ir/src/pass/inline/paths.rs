//! Instance paths, and the names that equations without a named result have in keys.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use crate::normal::{Callee, ConstKind, Eq, Module, Node, Rhs};
use crate::op::Op;

/// The name of an instance, or of an equation in it, in two forms: the full instance path, and the form used in the
/// keys of states, which leaves out `diff_`, so that an adjoint and its primal share their states' keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct InstancePath {
    full: Arc<str>,
    key: Arc<str>,
}

impl InstancePath {
    /// The root node.
    pub(super) fn root() -> Self {
        Self { full: "".into(), key: "".into() }
    }

    /// The path of something inside this one: its name, and its name in keys.
    pub(super) fn child(&self, name: &str, in_keys: &str) -> Self {
        Self { full: self.join(name), key: join(&self.key, in_keys) }
    }

    /// The full instance path.
    pub(super) fn full(&self) -> &Arc<str> {
        &self.full
    }

    /// The full instance path of something inside.
    pub(super) fn join(&self, name: &str) -> Arc<str> {
        join(&self.full, name)
    }

    /// A key that is not taken: the short form if it is free, else the full path, else the full path with a number.
    pub(super) fn unique(&self, taken: impl Fn(&str) -> bool) -> Arc<str> {
        if !taken(&self.key) {
            return self.key.clone();
        }
        if !taken(&self.full) {
            return self.full.clone();
        }
        let numbered = (2_u64..).map(|n| format!("{}#{n}", self.full));
        numbered.into_iter().find(|key| !taken(key)).unwrap_or_default().into()
    }
}

fn join(prefix: &Arc<str>, name: &str) -> Arc<str> {
    if prefix.is_empty() { name.into() } else { format!("{prefix}.{name}").into() }
}

/// An instance's name in keys: that of the primal for an adjoint of any order.
pub(super) fn stripped(instance: &str) -> &str {
    let mut name = instance;
    while let Some(rest) = name.strip_prefix("diff_") {
        name = rest;
    }
    name
}

/// For each equation of a node, what its result and the random constant in it are called in keys.
///
/// A result with a name has that name. Others are counted, for each kind, under the next equation with a
/// named result: the adjoint of a node keeps the node's equations in order, so it finds the same names. A parameter
/// that is the only one under such an equation has the name of the equation, unless that is the name of a state:
/// `k = stop_gradient(param(0.0))` has the parameter `k`.
pub(super) struct Labels {
    results: Vec<Arc<str>>,
    randoms: Vec<Arc<str>>,
}

impl Labels {
    /// The names for a node.
    pub(super) fn new(module: &Module, node: &Node) -> Self {
        let mut owners: Vec<Option<Arc<str>>> = Vec::with_capacity(node.equations.len());
        let mut owner = None;
        for equation in node.equations.as_slice().iter().rev() {
            let name = equation.lhs.first().and_then(|v| node.vars[*v].name.clone());
            owner = name.or(owner);
            owners.push(owner.clone());
        }
        owners.reverse();
        let mut counts: IndexMap<(&str, Option<Arc<str>>), usize> = IndexMap::new();
        let mut next = |kind, owner: &Option<Arc<str>>| -> Arc<str> {
            let count = counts.entry((kind, owner.clone())).or_insert(0);
            let dot = owner.as_ref().map(|o| format!("{o}.")).unwrap_or_default();
            let label = format!("{dot}{kind}{count}").into();
            *count += 1;
            label
        };
        let alone = only_parameters(module, node, &owners);
        let mut labels = Self { results: Vec::new(), randoms: Vec::new() };
        for (equation, owner) in node.equations.iter().zip(&owners) {
            let name = equation.lhs.first().and_then(|v| node.vars[*v].name.clone());
            let only = owner.clone().filter(|owner| alone.contains(owner));
            labels.results.push(match (name, kind(module, &equation.rhs), only) {
                (Some(name), _, _) | (None, Some(PARAMETER), Some(name)) => name,
                (None, Some(kind), _) => next(kind, owner),
                (None, None, _) => "".into(),
            });
            let constant = equation.rhs.constant().map(|k| &node.consts[k].kind);
            labels.randoms.push(match constant {
                Some(ConstKind::Random(_)) => next("random", owner),
                Some(ConstKind::Value(_)) | None => "".into(),
            });
        }
        labels
    }

    /// What the result of an equation is called.
    pub(super) fn result(&self, eq: Eq) -> &Arc<str> {
        &self.results[eq.0 as usize]
    }

    /// What the random constant in an equation is called.
    pub(super) fn random(&self, eq: Eq) -> &Arc<str> {
        &self.randoms[eq.0 as usize]
    }
}

/// The names of equations that hold no state themselves, and have one parameter without a name among their operands.
fn only_parameters(module: &Module, node: &Node, owners: &[Option<Arc<str>>]) -> IndexSet<Arc<str>> {
    let mut counts: IndexMap<&Arc<str>, usize> = IndexMap::new();
    for (equation, owner) in node.equations.iter().zip(owners) {
        let Some(owner) = owner else { continue };
        let is_named = equation.lhs.first().is_some_and(|v| node.vars[*v].name.is_some());
        let count = counts.entry(owner).or_insert(0);
        *count += match kind(module, &equation.rhs) {
            Some(_) if is_named => 2,
            Some(PARAMETER) => 1,
            Some(_) | None => 0,
        };
    }
    counts.into_iter().filter(|(_, count)| *count == 1).map(|(owner, _)| owner.clone()).collect()
}

/// The kind of parameters.
const PARAMETER: &str = "param";

/// What an equation that may hold a state is counted as.
fn kind(module: &Module, rhs: &Rhs) -> Option<&'static str> {
    match rhs {
        Rhs::Fby { .. } => Some("fby"),
        Rhs::Param { .. } | Rhs::ParamUpdate { .. } => Some(PARAMETER),
        Rhs::Call { callee: Callee::Node(node), .. } if *module.nodes[*node].name == *super::PARAM => {
            Some(PARAMETER)
        }
        Rhs::Apply { op: Op::RandomUniform { .. } | Op::RandomNormal { .. }, .. } => Some("draw"),
        Rhs::Call { .. }
        | Rhs::Const(_)
        | Rhs::Apply { .. }
        | Rhs::If { .. }
        | Rhs::When { .. }
        | Rhs::Merge { .. }
        | Rhs::FbyBack { .. }
        | Rhs::Post { .. } => None,
    }
}
