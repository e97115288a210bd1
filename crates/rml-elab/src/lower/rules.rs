//! `f(x) by g`, `param(k) by g`: the nodes that update parameters.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span};
use rml_syntax::ast::{self, DefinitionForm};

use super::clauses::set;
use super::node::Lower;
use crate::builtins::Builtin;
use crate::hir::{
    Apply, Clauses, Equation, Expr, ExprId, ExprKind, Local, LocalData, LocalKind, Node, Order, Structure,
};

impl Lower<'_, '_> {
    /// Lowers the node after `by`.
    pub(super) fn rule(&mut self, rule: &ast::Expr<'_>) -> ExprId {
        let ast::ExprKind::Literal(rate) = rule.kind else { return self.passed(rule, None) };
        let rate = match rate {
            ast::Literal::Num(x) => format!("{x:?}"),
            ast::Literal::Int(_) | ast::Literal::Bool(_) => "0.001".to_owned(),
        };
        let d = Diagnostic::error(codes::NODE_ARGUMENT, "`by` takes a node that updates parameters, found a number")
            .label(rule.span, "a node is expected here")
            .help(format!(
                "an optimiser with this rate is `by adam({rate}, 0.9, 0.999, 0.00000001, _, _, _)`, with `import std.optimisers;`"
            ))
            .help(format!("for plain gradient descent leave `by` out, and give the rate to the loss: `diff_mse(o, gt, true, -{rate})`"));
        self.report.push(d);
        self.exprs.push(Expr { kind: ExprKind::Error(Vec::new()), span: rule.span })
    }

    /// Lowers `f(x) by g`.
    pub(super) fn by(&mut self, call: &ast::Expr<'_>, rule: &ast::Expr<'_>) -> ExprKind {
        let id = self.expr(call);
        let rule = self.rule(rule);
        if let ExprKind::Builtin { which: Builtin::Param, .. } = self.exprs[id].kind {
            return ExprKind::Structure(Structure::By { param: id, rule });
        }
        let span = call.span;
        self.clause(
            id,
            vec![rule],
            |clauses| set(&mut clauses.by, rule),
            |kind, twice| {
                let message = "`by` says what updates the parameters in the call of a node";
                let d = Diagnostic::error(codes::NOT_A_CALL, message);
                match twice || matches!(kind, ExprKind::Structure(Structure::By { .. })) {
                    true => d
                        .label(span, "this has a `by` already")
                        .help("one node updates a parameter: put what both do into it"),
                    false => d
                        .label(span, "this is not a call of a node")
                        .help("write it after the call, `diff_net(x, true, d) by g`, or after `param(k)`"),
                }
            },
        )
    }
}

/// The node that updates parameters by the node passed to it: `node diff_param(rule: node, init, bp, do) -> (o)` with
/// `o = rule(init, bp, do);`
pub(super) fn update(span: Span) -> Node {
    let mut locals: IndexVec<Local, LocalData> = IndexVec::new();
    let mut local = |name: &str, kind: LocalKind| {
        let (types, clock, element) = (Vec::new(), None, None);
        locals.push(LocalData { name: name.into(), span, kind, types, clock, element })
    };
    let rule = local("rule", LocalKind::Node);
    let inputs = ["init", "bp", "do"].map(|name| local(name, LocalKind::Formal));
    let o = local("o", LocalKind::Defined { equation: 0 });
    let mut exprs: IndexVec<ExprId, Expr> = IndexVec::new();
    let args = inputs.iter().map(|input| exprs.push(Expr { kind: ExprKind::Local(*input), span })).collect();
    let apply =
        Apply { formal: rule, order: Order::NONE, name_span: span, args, clauses: Clauses::default() };
    let kind = ExprKind::Structure(Structure::Apply(Box::new(apply)));
    let rhs = exprs.push(Expr { kind, span });
    Node {
        name: Arc::from("diff_param"),
        file: span.file,
        span,
        name_span: span,
        formals: std::iter::once(rule).chain(inputs).collect(),
        outputs: vec![o],
        locals,
        exprs,
        equations: vec![Equation { lhs: vec![(Some(o), span)], rhs, span, family: None }],
        is_extern: false,
        names: Vec::new(),
        roles: IndexVec::new(),
        static_order: Vec::new(),
        form: DefinitionForm::Node,
        template: true,
        held: 0,
        members: Vec::new(),
        cases: None,
        rules: None,
        restarts: None,
        numbered: IndexMap::new(),
        shares: Vec::new(),
        states: None,
    }
}
