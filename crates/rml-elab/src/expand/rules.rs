//! `f(x) by g` in a copy: `g` updates the parameters of the call (PARAM-9). The call becomes one of a copy of `f` with
//! this rule, and so do all calls in it that have no rule of their own. The update is a separate node,
//! `diff_param(init, bp, do)` with `o = g(init, bp, do)`.

use std::sync::Arc;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, EntityId, Span};
use rml_ir::typed::Rule;
use rml_syntax::ast::DefinitionForm;

use super::calls::How;
use super::copy::Copy;
use super::kinds::Value;
use super::value::{NodeValue, Target};
use super::{Env, Expansion};
use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind, Node, SourceId, Structure};

/// The name of the node that updates parameters without a `by`.
const DEFAULT: &str = "diff_param";
/// The number of inputs of a rule that remain open: the initial value, the condition, the gradient.
const INPUTS: usize = 3;

/// A node that updates parameters, given after `by`.
#[derive(Debug)]
pub(crate) struct Updating {
    /// A key that identifies the node.
    key: String,
    pub(crate) name: Arc<str>,
    /// The `diff_param` node that calls the node.
    pub(crate) node: SourceId,
    /// The place of the node's interface.
    interface: Span,
    /// The place where the node is given.
    given: Span,
}

impl Copy<'_, '_> {
    /// The rule that an expression of the template after `by` denotes. `None` if it is in error.
    pub(super) fn rule(&mut self, by: ExprId) -> Option<Rule> {
        let template = Arc::clone(&self.template);
        let ExprKind::Structure(Structure::Node(passed)) = &template.exprs[by].kind else { return None };
        let value = self.node_value(passed, template.exprs[by].span)?;
        let Target::Source(id) = value.target else {
            self.say(no_rule(&value, "a function"));
            return None;
        };
        let node = Arc::clone(&self.expansion.program.nodes[id]);
        let open = match &value.given {
            Some(given) => given.iter().filter(|given| given.is_none()).count(),
            None => node.formals.len(),
        };
        let is_plain = value.order.times == 0 && value.share.is_none() && node.form == DefinitionForm::Node;
        if !is_plain || open != INPUTS || node.outputs.len() != 1 {
            let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            let found = match is_plain {
                true => {
                    format!("{} and {}", count(open, "open input"), count(node.outputs.len(), "output"))
                }
                false => "the adjoint of a node, a shared instance or a record".to_owned(),
            };
            self.say(no_rule(&value, &found).label(node.span, "its interface"));
            return None;
        }
        let program = &self.expansion.program;
        if let Ok(Some(default)) = program.scopes.node(program.main, DEFAULT)
            && default == id
        {
            return Some(Rule::DEFAULT);
        }
        Some(self.expansion.updating(value, &node, self.depth + 1))
    }

    /// Expands `param(k) by g`.
    pub(super) fn by(&mut self, param: ExprId, rule: ExprId) -> Value<ExprId> {
        let from = self.exprs.len();
        let value = self.value(param);
        if let Some(rule) = self.rule(rule) {
            self.updated(from, rule);
        }
        value
    }

    /// Notes the rule for the parameters among the expressions from position `from` on that have none yet.
    pub(super) fn updated(&mut self, from: usize, rule: Rule) {
        for (id, expr) in self.exprs.iter_enumerated().skip(from) {
            if matches!(expr.kind, ExprKind::Builtin { which: Builtin::Param, .. }) {
                self.rules.entry(id).or_insert(rule);
            }
        }
    }

    /// The rule that updates the parameters in a call with these nodes; `None` if there is an error.
    pub(super) fn rule_of(
        &mut self,
        callee: SourceId,
        nodes: &[SourceId],
        how: &How,
    ) -> Option<Option<Rule>> {
        let by = match how.clauses.by {
            Some(by) => Some(self.rule(by)?),
            None => None,
        };
        let rule = match (how.share, by) {
            (Some(_), Some(_)) => {
                self.say(of_shared(how.span));
                return None;
            }
            (Some((_, rule)), None) => rule,
            (None, Some(rule)) => Some(rule),
            (None, None) => self.env.rule,
        };
        if rule.is_none() || std::iter::once(&callee).chain(nodes).any(|id| self.expansion.has_parameter(*id))
        {
            return Some(rule);
        }
        if by.is_some() {
            let name = self.expansion.program.nodes[callee].name.clone();
            self.say(no_parameter(&name, how.span));
        }
        Some(None)
    }
}

impl Expansion<'_> {
    /// The rule for a node that updates parameters.
    fn updating(&mut self, value: NodeValue, of: &Node, depth: usize) -> Rule {
        let key = value.to_string();
        let known = self.rules.iter().position(|rule| rule.key == key);
        let at = known.unwrap_or_else(|| {
            let (name, interface, given) = (of.name.clone(), of.span, value.span);
            let mut env = Env::default();
            env.nodes.insert(0, value);
            let node = self.request(self.program.update, env, depth, None, None);
            self.rules.push(Updating { key, name, node, interface, given });
            self.rules.len() - 1
        });
        Rule::from_index(at + 1)
    }

    /// Gives an updating node the source place of the node that it calls, so that the parameters updated by one node of
    /// the source form a group.
    pub(super) fn place(&self, id: SourceId, node: &mut Node) {
        let Some(rule) = self.rules.iter().find(|rule| rule.node == id) else { return };
        node.span = rule.interface;
        node.exprs.iter_mut().for_each(|expr| expr.span = rule.given);
        node.equations.iter_mut().for_each(|equation| equation.span = rule.given);
    }

    /// Whether an instance of a node contains a parameter, or may contain one.
    fn has_parameter(&mut self, id: SourceId) -> bool {
        if let Some(&known) = self.training.get(&id) {
            return known;
        }
        let found = self.reaches(id, |node| {
            node.exprs.iter().any(|expr| {
                matches!(
                    expr.kind,
                    ExprKind::Builtin { which: Builtin::Param, .. }
                        | ExprKind::Structure(Structure::Apply(_))
                )
            })
        });
        self.training.insert(id, found);
        found
    }
}

/// The error that the operand of `by` is not a node that updates parameters.
fn no_rule(value: &NodeValue, found: &str) -> Diagnostic {
    Diagnostic::error(codes::OVERRIDE_INTERFACE, "this node does not update parameters")
        .label(value.span, "after `by`")
        .note(format!("expected a node with three open inputs and one output, found {found}"))
        .help("its inputs are the initial value, a bool, and the gradient where that is true: `node g(init, bp, do) -> (o)`, `adam(0.001, 0.9, 0.999, 0.00000001, _, _, _)`")
}

/// The error that `by` follows a call of a shared instance.
fn of_shared(span: Span) -> Diagnostic {
    Diagnostic::error(codes::SHARED_INSTANCE, "all calls of a shared instance have the same parameters")
        .label(span, "here, `by` says what updates them")
        .help("write it where the instance is shared: `share u = net by g;`")
}

/// The error that `by` follows a call without parameters.
fn no_parameter(name: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(codes::UNUSED_OPTIMISER, format!("`{name}` has no parameters, so `by` updates none"))
        .label(span, "nothing is updated here")
        .help("write `by` after the call whose node has parameters: `diff_net(x, true, d) by g`")
}
