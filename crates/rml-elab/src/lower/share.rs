//! Shared instances: `share u = net;`, `u.params`.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, EntityId};
use rml_syntax::ast::{self, Ident};

use super::node::Lower;
use super::written::brief;
use crate::hir::{Equation, Expr, ExprId, ExprKind, Local, Segment, Structure, Target};
use crate::scope::Callable;

/// The word after the name of a shared instance.
const PARAMS: &str = "params";

impl Lower<'_, '_> {
    /// Lowers `share u = net;`.
    pub(super) fn share(&mut self, ast: &ast::Equation<'_>, node: &ast::Expr<'_>) -> Equation {
        let name = ast.lhs.iter().find_map(|side| match side {
            ast::Lhs::Var(decl) => self.by_name.get(&decl.name.name).copied(),
            ast::Lhs::Discard(_) => None,
        });
        let (node, rule) =
            if let ast::ExprKind::By { call, rule } = node.kind { (call, Some(rule)) } else { (node, None) };
        let node = self.shared_node(node);
        let by = rule.map(|rule| self.rule(rule));
        let span = self.exprs[node].span;
        let kind = match name.filter(|name| self.shares.contains(name)) {
            Some(name) => ExprKind::Structure(Structure::Share { name, node, by }),
            None => ExprKind::Error(std::iter::once(node).chain(by).collect()), // The name is defined twice, which is reported.
        };
        let rhs = self.exprs.push(Expr { kind, span });
        Equation { lhs: vec![(None, span)], rhs, span: ast.span, family: None }
    }

    /// Lowers the node of a shared instance.
    fn shared_node(&mut self, node: &ast::Expr<'_>) -> ExprId {
        let is_open = |args: &[ast::Expr<'_>]| args.iter().any(|arg| matches!(arg.kind, ast::ExprKind::Hole));
        match node.kind {
            ast::ExprKind::Call { args, .. } if !is_open(args) => {}
            _ => return self.passed(node, None), // A name, a call with open inputs, or not a node.
        }
        let d = Diagnostic::error(codes::NODE_ARGUMENT, "expected a node to share, found a call of one")
            .label(node.span, "a node is expected here");
        self.report.push(match self.open_form(node) {
            Some(open) => {
                d.fix(format!("write `{open}`, and give the rest in each call, `u(..)`"), node.span, open)
            }
            None => d.help("name the node: `share u = net;`"),
        });
        self.exprs.push(Expr { kind: ExprKind::Error(Vec::new()), span: node.span })
    }

    /// Whether an equation defines a variable as a call with open inputs: `f = dense(8, _);`
    pub(super) fn is_open_call(&self, ast: &ast::Equation<'_>) -> bool {
        let [ast::Lhs::Var(decl)] = ast.lhs else { return false };
        let ast::ExprKind::Call { callee, args } = ast.rhs.kind else { return false };
        let callee = self.names.resolve(&callee.name);
        decl.member.is_none()
            && decl.ty.is_none()
            && args.iter().any(|arg| matches!(arg.kind, ast::ExprKind::Hole))
            && matches!(self.scopes.callable(self.header.file, callee), Some(Callable::Node(..)))
    }

    /// Reports an equation that defines a variable as a node.
    pub(super) fn node_as_variable(&mut self, ast: &ast::Equation<'_>) {
        let [ast::Lhs::Var(decl)] = ast.lhs else { return };
        let ast::ExprKind::Call { callee, .. } = ast.rhs.kind else { return };
        let [name, callee] = [decl.name.name, callee.name].map(|name| self.names.resolve(&name));
        let written = brief(self.names, ast.rhs);
        let at = decl.name.span;
        self.uncalled.insert(decl.name.name);
        self.report.push(
            Diagnostic::error(
                codes::NODE_ARGUMENT,
                format!("`{callee}` with open inputs is a node, not a value"),
            )
            .label(ast.rhs.span, "a value is expected here")
            .fix(
                format!("to call one node several times, with the same parameters, write `share {name} = {written};`"),
                rml_base::Span { end: at.start, ..at },
                "share ",
            ),
        );
    }

    /// Lowers `u.params` or `u.params.dense_0.kernel`; `None` if this is a field of another expression.
    pub(super) fn params(&mut self, base: &ast::Expr<'_>, field: Ident) -> Option<ExprKind> {
        if let ast::ExprKind::Var(name) = base.kind {
            let of = *self.by_name.get(&name)?;
            if !self.shares.contains(&of) {
                return None;
            }
            if self.names.resolve(&field.name) != PARAMS {
                self.no_field(of, field);
                return Some(ExprKind::Error(Vec::new()));
            }
            return Some(ExprKind::Structure(Structure::Params { of, path: Vec::new() }));
        }
        let (of, mut path) = self.path(base)?;
        path.push(Segment::Name(self.names.resolve(&field.name).into()));
        Some(ExprKind::Structure(Structure::Params { of, path }))
    }

    /// The path before a field, if it begins with `u.params`.
    fn path(&mut self, base: &ast::Expr<'_>) -> Option<(Local, Vec<Segment>)> {
        match base.kind {
            ast::ExprKind::Field { base, field } => match self.params(base, field)? {
                ExprKind::Structure(Structure::Params { of, path }) => Some((of, path)),
                _ => None,
            },
            ast::ExprKind::Index { base, indices: [ast::IndexExpr::At(index)] } => {
                let (of, mut path) = self.path(base)?;
                path.push(Segment::Index(self.expr(index)));
                Some((of, path))
            }
            _ => None,
        }
    }

    /// Reports that a shared instance has no such field.
    fn no_field(&mut self, of: Local, field: Ident) {
        let (name, text) = (self.locals[of].name.clone(), self.names.resolve(&field.name));
        self.report.push(
            Diagnostic::error(
                codes::SHARED_INSTANCE,
                format!("the shared instance `{name}` has no `{text}`"),
            )
            .label(field.span, "expected `params`")
            .label(self.locals[of].span, "shared here")
            .help(format!("`{name}.params` are its parameters, `{name}.params.{text}` is one of them"))
            .help(format!("`{name}(..)` calls it")),
        );
    }

    /// Reports shared instances that are never called.
    pub(super) fn unused_shares(&mut self) {
        for share in self.shares.clone() {
            let name = self.names.get(&self.locals[share].name);
            if name.is_some_and(|name| self.uncalled.contains(&name)) {
                continue; // Not a shared instance in the source.
            }
            let calls = |kind: &ExprKind| match kind {
                ExprKind::Structure(Structure::Apply(apply)) => apply.formal == share,
                ExprKind::Structure(Structure::Node(passed)) => passed.target == Target::Formal(share),
                _ => false,
            };
            let own = self.exprs.iter().enumerate().find_map(|(i, expr)| match &expr.kind {
                ExprKind::Structure(Structure::Share { name, node, .. }) if *name == share => {
                    Some((ExprId::from_index(i), *node))
                }
                _ => None,
            });
            let Some((_, node)) = own else { continue };
            let others = self.exprs.iter_enumerated().filter(|(id, _)| *id != node);
            if !others.into_iter().any(|(_, expr)| calls(&expr.kind)) {
                let name = self.locals[share].name.clone();
                self.report.push(
                    Diagnostic::error(
                        codes::SHARED_INSTANCE,
                        format!("nothing calls the shared instance `{name}`"),
                    )
                    .label(self.locals[share].span, "its parameters have no use")
                    .note("the shapes of its parameters are those of its first call")
                    .help(format!(
                        "call it, `{name}(..)` or `diff_{name}(..)`, pass it to a node, or remove this line; calls of the node itself have parameters of their own"
                    )),
                );
            }
        }
    }
}
