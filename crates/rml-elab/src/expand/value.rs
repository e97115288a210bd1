//! Static values that are nodes, and the keys that distinguish copies.

use std::fmt::{self, Display, Write as _};

use rml_base::Span;
use rml_ir::typed::{Rule, StaticValue};

use super::Env;
use crate::builtins::Builtin;
use crate::hir::{Order, Share, SourceId};

/// A node that is passed as an argument.
#[derive(Clone, Debug)]
pub(super) struct NodeValue {
    pub(super) target: Target,
    /// The order to which the node is differentiated.
    pub(super) order: Order,
    /// The arguments that are given; `None` for an open one.
    pub(super) given: Option<Vec<Option<Given>>>,
    /// The shared instance, if the node is one.
    pub(super) share: Option<Share>,
    /// The rule that updates the parameters of the shared instance.
    pub(super) rule: Option<Rule>,
    /// The place where the node is passed.
    pub(super) span: Span,
}

/// The callee.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Source(SourceId),
    Builtin(Builtin),
}

/// An argument that is given together with a node.
#[derive(Clone, Debug)]
pub(super) enum Given {
    /// A value, and its enumeration if it is a case.
    Value(StaticValue, Span, Option<SourceId>),
    Node(NodeValue),
}

/// The key that distinguishes copies: the template, its nodes and its static values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Key(String);

impl Key {
    pub(super) fn new(template: SourceId, env: &Env) -> Self {
        let Env { restarts, held, rule, is_root, .. } = env;
        let mut key = format!("{template}|{restarts}|{held}|{rule:?}|{is_root}");
        for (position, node) in &env.nodes {
            let _ = write!(key, "|{position}:{node}");
        }
        for (position, value) in &env.values {
            if let Ok(value) = value {
                let _ = write!(key, "|{position}={value}");
            }
        }
        Key(key)
    }
}

impl Display for NodeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            Target::Source(id) => write!(f, "{id}")?,
            Target::Builtin(which) => write!(f, "{which:?}")?,
        }
        write!(f, "'{}'{}", self.order.times, self.order.held)?;
        if let Some(share) = self.share {
            write!(f, "@{}:{}", share.owner, share.number)?;
        }
        for given in self.given.iter().flatten() {
            match given {
                None => f.write_str(",_")?,
                Some(Given::Value(value, _, of)) => write!(f, ",{value}{of:?}")?,
                Some(Given::Node(node)) => write!(f, ",({node})")?,
            }
        }
        Ok(())
    }
}
