//! Shared instances in a copy: the node of each, and the calls of each.

use std::sync::Arc;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};

use super::copy::Copy;
use super::value::{NodeValue, Target};
use crate::hir::{Expr, ExprId, ExprKind, Local, Segment, Share, Structure, Target as Written};

impl Copy<'_, '_> {
    /// The node that a name denotes: an argument, or a shared instance.
    pub(super) fn node_of(&self, local: Local) -> Option<&NodeValue> {
        match self.template.position(local) {
            Some(position) => self.env.nodes.get(&position),
            None => self.shared.get(&local),
        }
    }

    /// The shared instances of the template, with the nodes that they are instances of.
    fn written_shares(&self) -> Vec<(Local, ExprId, Option<ExprId>)> {
        let share = |expr: &Expr| match expr.kind {
            ExprKind::Structure(Structure::Share { name, node, by }) => Some((name, node, by)),
            _ => None,
        };
        self.template
            .equations
            .iter()
            .filter_map(|equation| share(&self.template.exprs[equation.rhs]))
            .collect()
    }

    /// Finds the nodes of the shared instances; each instance may pass earlier ones as arguments.
    pub(super) fn find_shares(&mut self) {
        let written = self.written_shares();
        let mut todo: Vec<usize> = (0..written.len()).collect();
        loop {
            let before = todo.len();
            for number in std::mem::take(&mut todo) {
                let (name, node, by) = written[number];
                let needs = |local: &Local| written.iter().any(|(share, ..)| share == local);
                if self.passed_names(node).iter().any(|l| needs(l) && !self.shared.contains_key(l)) {
                    todo.push(number);
                } else if let Some(value) = self.shared_node(name, (node, by), number) {
                    self.shared.insert(name, value);
                }
            }
            if todo.is_empty() || todo.len() == before {
                break;
            }
        }
        // Instances that depend on one in error are omitted.
        let circular = |copy: &Self, number: usize| {
            let names = copy.passed_names(written[number].1);
            names.iter().any(|l| todo.iter().any(|other| written[*other].0 == *l))
        };
        if let Some(&first) = todo.iter().find(|number| circular(self, **number)) {
            let name = self.template.name_of(written[first].0);
            let d = Diagnostic::error(
                codes::SHARED_INSTANCE,
                format!("the shared instance `{name}` takes itself as an argument"),
            )
            .label(self.template.locals[written[first].0].span, "this instance")
            .label(self.template.exprs[written[first].1].span, "needs it, directly or through others")
            .help("share an instance of each node by itself, and pass one to the other");
            self.say(d);
        }
    }

    /// The names of nodes in a node that is passed as an argument.
    fn passed_names(&self, expr: ExprId) -> Vec<Local> {
        let (mut found, mut todo) = (Vec::new(), vec![expr]);
        while let Some(expr) = todo.pop() {
            let kind = &self.template.exprs[expr].kind;
            if let ExprKind::Structure(Structure::Node(passed)) = kind
                && let Written::Formal(local) = passed.target
            {
                found.push(local);
            }
            todo.extend(kind.children());
        }
        found
    }

    fn shared_node(
        &mut self,
        name: Local,
        (node, by): (ExprId, Option<ExprId>),
        number: usize,
    ) -> Option<NodeValue> {
        let template = Arc::clone(&self.template);
        let rule = match by {
            Some(by) => Some(self.rule(by)?),
            None => self.env.rule,
        };
        let ExprKind::Structure(Structure::Node(passed)) = &template.exprs[node].kind else { return None };
        let span = template.exprs[node].span;
        let value = self.node_value(passed, span)?;
        let text = template.name_of(name);
        let wrong = |message: String| Diagnostic::error(codes::SHARED_INSTANCE, message);
        let d = match (value.target, value.share) {
            (_, Some(_)) => wrong(format!("`{text}` is to be an instance of what is an instance already"))
                .label(span, "this is a shared instance")
                .help("call it by its own name: all calls of a shared instance have its parameters"),
            (Target::Builtin(which), None) => {
                wrong(format!("the function `{}` has no parameters to share", which.name()))
                    .label(span, "a node is expected here")
                    .help("call the function where it is needed")
            }
            (Target::Source(_), None) if value.order.times > 0 => {
                wrong(format!("`{text}` is to be an instance of an adjoint"))
                    .label(span, "a node is expected here")
                    .help(format!("share the node itself, and call `{}{text}`", value.order.prefix()))
            }
            (Target::Source(_), None) => {
                return Some(NodeValue { share: Some(Share { owner: self.id, number }), rule, ..value });
            }
        };
        self.say(d);
        None
    }

    /// The names of the shared instances, by their numbers.
    pub(super) fn share_names(&self) -> Vec<(Arc<str>, Span)> {
        let name = |(local, ..): (Local, ExprId, Option<ExprId>)| {
            (self.template.name_of(local).clone(), self.template.locals[local].span)
        };
        self.written_shares().into_iter().map(name).collect()
    }

    /// Expands `u.params.h[1].kernel`.
    pub(super) fn params(&mut self, of: Local, path: &[Segment], span: Span) -> ExprId {
        let mut text = String::new();
        for segment in path {
            match segment {
                Segment::Name(name) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(name);
                }
                Segment::Index(index) => {
                    match self.needed_int(*index, "the index in the path of a parameter") {
                        Some(index) => text.push_str(&format!("[{index}]")),
                        None => return self.in_error(Vec::new(), span),
                    }
                }
            }
        }
        let Some(share) = self.node_of(of).and_then(|value| value.share) else {
            return self.in_error(Vec::new(), span);
        };
        self.push(ExprKind::Params(share, text.into()), span)
    }
}
