//! Families, constants, nodes as arguments, and choices that are made at compile time.

use rml_base::codes::elab as codes;
use rml_base::scc::components;
use rml_base::{Diagnostic, EntityId, IndexVec, Span};
use rml_syntax::ast::{self, Symbol};

use super::node::Lower;
use crate::hir::{Apply, Clauses, Family, Member, Order, Passed, Range, Structure, Target, has_own};
use crate::hir::{Equation, Expr, ExprId, ExprKind, Index, Local, LocalData, LocalKind, Node, SourceId};
use crate::scope::Callable;

/// The number of names that are followed to find out whether a condition is static.
const MAX_CHAIN: usize = 16;

/// The number of inputs for the update of a parameter: its first value, `bp` and the gradient.
const UPDATE: usize = 3;

impl Lower<'_, '_> {
    /// The members of families that an equation defines, and its range. From then on, the index is in scope.
    pub(super) fn family(&mut self, ast: &ast::Equation<'_>) -> Option<Family> {
        let has_member = |side: &ast::Lhs<'_>| matches!(side, ast::Lhs::Var(decl) if decl.member.is_some());
        if ast.range.is_none() && !ast.lhs.iter().any(has_member) {
            return None;
        }
        let range = ast.range.map(|range| self.range(&range));
        let members = ast.lhs.iter().map(|side| match side {
            ast::Lhs::Var(decl) => {
                if decl.member.is_none() {
                    self.without_index(decl, ast.range);
                }
                let index = self.expr(decl.member?);
                let types = self.type_decl(decl).into_iter().collect();
                Some(Member { index, types })
            }
            ast::Lhs::Discard(_) => None,
        });
        let members = members.collect();
        Some(Family { members, range })
    }

    fn range(&mut self, ast: &ast::Range<'_>) -> Range {
        let first = ast.first.map(|first| self.expr(first));
        let end = self.expr(ast.end);
        let name = self.names.resolve(&ast.index.name);
        if let Some(&known) = self.by_name.get(&ast.index.name) {
            let message = format!("the index `{name}` has the name of a variable of the node");
            self.report.push(
                Diagnostic::error(codes::DUPLICATE_DEFINITION, message)
                    .label(ast.index.span, "the index of this equation")
                    .label(self.locals[known].span, "the variable")
                    .help("give the index another name"),
            );
        }
        let data = LocalData {
            name: name.into(),
            span: ast.index.span,
            kind: LocalKind::Index,
            types: Vec::new(),
            clock: None,
            element: None,
        };
        let index = self.locals.push(data);
        self.index = Some((ast.index.name, index));
        Range { index, first, end, span: ast.span }
    }

    /// Reports that an equation with an index defines a variable without one.
    fn without_index(&mut self, decl: &ast::Decl<'_>, range: Option<ast::Range<'_>>) {
        let Some(range) = range else { return };
        let (name, index) = (self.names.resolve(&decl.name.name), self.names.resolve(&range.index.name));
        self.report.push(
            Diagnostic::error(codes::DUPLICATE_DEFINITION, format!("`{name}` is defined for each `{index}`"))
                .label(decl.name.span, "one variable")
                .label(range.span, "the equation stands for each of these indices")
                .help(format!("define one variable for each: `{name}[{index}] = ..`")),
        );
    }

    /// Lowers a name as an expression.
    pub(super) fn named(&mut self, name: Symbol, span: Span) -> ExprKind {
        let local = self.variable(name, span);
        if self.locals[local].kind == LocalKind::Node {
            let name = &self.locals[local].name;
            let d = Diagnostic::error(codes::NODE_ARGUMENT, format!("`{name}` is a node, not a value"))
                .label(span, "a value is expected here")
                .label(self.locals[local].span, "declared as a node")
                .help(format!("call it: `{name}(..)`"));
            self.report.push(d);
            return ExprKind::Error(Vec::new());
        }
        ExprKind::Local(local)
    }

    /// Lowers `h[k]` or `h[1:3]`, if `h` is a family.
    pub(super) fn member(
        &mut self,
        base: &ast::Expr<'_>,
        indices: &[ast::IndexExpr<'_>],
    ) -> Option<ExprKind> {
        let ast::ExprKind::Var(name) = base.kind else { return None };
        let family = *self.by_name.get(&name)?;
        if self.locals[family].kind != LocalKind::Family {
            return None;
        }
        let (first, rest) = indices.split_first()?;
        let kind = match self.index(first) {
            Index::At(index) => ExprKind::Structure(Structure::Member { family, index }),
            part @ Index::Slice { .. } => ExprKind::Structure(Structure::Members { family, part }),
            Index::Ellipsis(_) => return None,
        };
        if rest.is_empty() {
            return Some(kind);
        }
        let base = self.exprs.push(Expr { kind, span: base.span.to(index_span(first)) });
        let mut indices = self.indices(rest);
        if let Some(span) = is_part(first) {
            indices.insert(0, Index::Slice { lo: None, hi: None, step: None, span });
        }
        Some(ExprKind::Index { base, indices })
    }

    /// The constant with that name, as a local.
    pub(super) fn constant(&mut self, name: Symbol, span: Span) -> Option<Local> {
        let id = self.scopes.constant(self.header.file, self.names.resolve(&name))?;
        self.called.push(id);
        Some(self.local(name, span, LocalKind::Constant(id)))
    }

    /// The node formal that a name refers to, and the order given by the `diff_` and `grad_` before it.
    pub(super) fn node_formal(&self, name: &str) -> Option<(Local, Order)> {
        let (mut name, mut order) = (name, Order::NONE);
        loop {
            let local = self.names.get(name).and_then(|symbol| self.by_name.get(&symbol));
            if let Some(&local) = local.filter(|local| self.locals[**local].kind == LocalKind::Node) {
                return Some((local, order));
            }
            (name, order) = crate::scope::derivative(name, order)?;
        }
    }

    /// Lowers a call of a node that is an argument.
    pub(super) fn apply(
        &mut self,
        formal: Local,
        order: Order,
        name_span: Span,
        args: &[ast::Expr<'_>],
    ) -> ExprKind {
        let args =
            args.iter().map(|arg| if self.is_node(arg) { self.passed(arg, None) } else { self.expr(arg) });
        let args = args.collect();
        ExprKind::Structure(Structure::Apply(Box::new(Apply {
            formal,
            order,
            name_span,
            args,
            clauses: Clauses::default(),
        })))
    }

    /// Whether an argument can only be a node.
    fn is_node(&self, arg: &ast::Expr<'_>) -> bool {
        match arg.kind {
            ast::ExprKind::Var(name) => self.node_formal(self.names.resolve(&name)).is_some(),
            ast::ExprKind::Call { args, .. } => args.iter().any(is_hole),
            _ => false,
        }
    }

    /// Lowers the arguments of a node; some may be nodes.
    pub(super) fn arguments(&mut self, callee: SourceId, args: &[ast::Expr<'_>]) -> Vec<ExprId> {
        let inputs = self.headers[callee].ast.inputs;
        let args = args.iter().enumerate().map(|(i, arg)| match inputs.get(i) {
            Some(input) if input.node.is_some() => self.passed(arg, Some((callee, input))),
            Some(input) if let Some(d) = self.node_as_value(arg, callee, input) => {
                // A call of the input is in error too, and says the same.
                if !Self::calls_input(self.headers[callee].ast, input.name.name) {
                    self.report.push(d);
                }
                self.exprs.push(Expr { kind: ExprKind::Error(Vec::new()), span: arg.span })
            }
            _ => self.expr(arg),
        });
        args.collect()
    }

    /// The error that the name of a node is passed to an input that is declared as a value.
    fn node_as_value(
        &self,
        arg: &ast::Expr<'_>,
        callee: SourceId,
        input: &ast::Decl<'_>,
    ) -> Option<Diagnostic> {
        let ast::ExprKind::Var(name) = arg.kind else { return None };
        let text = self.names.resolve(&name);
        let known = self.by_name.contains_key(&name) || self.index.is_some_and(|(index, _)| index == name);
        if known || self.scopes.constant(self.header.file, text).is_some() {
            return None;
        }
        let callable = self.scopes.callable(self.header.file, text);
        let what = match callable? {
            Callable::Node(..) => "this is a node",
            Callable::Builtin(_) => "this is a function",
            Callable::Ambiguous(_) => return None,
        };
        let header = &self.headers[callee];
        let formal = self.names.resolve(&input.name.name);
        let d = Diagnostic::error(
            codes::NODE_ARGUMENT,
            format!("`{formal}` of `{}` takes a value, not a node", header.name),
        )
        .label(arg.span, what)
        .label(input.span, "declared here");
        let d = match self.scopes.is_library(header.file) {
            true => d,
            false => d.help(format!("to pass a node, declare the input so: `{formal}: node`")),
        };
        Some(d.help(format!("to pass its value, call it: `{text}(..)`")))
    }

    /// Lowers a node as an argument; `input` is the input of the callee, if that is known.
    pub(super) fn passed(
        &mut self,
        arg: &ast::Expr<'_>,
        input: Option<(SourceId, &ast::Decl<'_>)>,
    ) -> ExprId {
        let kind = match arg.kind {
            ast::ExprKind::Var(name) => {
                let callee = ast::Ident { name, span: arg.span };
                self.target(callee, input).map(|(target, order)| Passed { target, order, given: None })
            }
            ast::ExprKind::Call { callee, args } if args.iter().any(is_hole) => {
                self.target(callee, input).map(|(target, order)| self.partial(arg, target, order, args))
            }
            _ => {
                let d = self.no_node_argument(arg, input);
                self.report.push(d);
                None
            }
        };
        let kind = kind.map_or(ExprKind::Error(Vec::new()), |passed| {
            ExprKind::Structure(Structure::Node(Box::new(passed)))
        });
        self.exprs.push(Expr { kind, span: arg.span })
    }

    /// Lowers `dense(64, _)`.
    fn partial(
        &mut self,
        arg: &ast::Expr<'_>,
        target: Target,
        order: Order,
        args: &[ast::Expr<'_>],
    ) -> Passed {
        if let Target::Source(id) = target
            && order == Order::NONE
        {
            self.count(id, args.len(), None, arg.span);
        }
        let given = args.iter().enumerate().map(|(i, arg)| {
            let input = match target {
                Target::Source(id) => self.headers[id].ast.inputs.get(i).map(|input| (id, input)),
                Target::Formal(_) | Target::Builtin(_) => None,
            };
            match arg.kind {
                ast::ExprKind::Hole => None,
                _ if input.is_some_and(|(_, input)| input.node.is_some()) => Some(self.passed(arg, input)),
                _ if self.is_node(arg) => Some(self.passed(arg, None)),
                _ => Some(self.expr(arg)),
            }
        });
        let given = Some(given.collect());
        Passed { target, order, given }
    }

    /// The meaning of the name of a node that is passed.
    fn target(
        &mut self,
        callee: ast::Ident,
        input: Option<(SourceId, &ast::Decl<'_>)>,
    ) -> Option<(Target, Order)> {
        let name = self.names.resolve(&callee.name);
        if let Some((formal, order)) = self.node_formal(name) {
            return Some((Target::Formal(formal), order));
        }
        match self.scopes.callable(self.header.file, name) {
            Some(Callable::Node(id, order)) => {
                self.called.push(id);
                Some((Target::Source(id), order))
            }
            Some(Callable::Builtin(which)) => Some((Target::Builtin(which), Order::NONE)),
            Some(Callable::Ambiguous(_)) | None => {
                let is_value = self.by_name.contains_key(&callee.name);
                if is_value {
                    let arg = ast::Expr { kind: ast::ExprKind::Var(callee.name), span: callee.span };
                    let d = self.no_node_argument(&arg, input);
                    self.report.push(d);
                } else if !self.scopes.is_excused(self.header.file, name, true) {
                    self.unknown_callee(name, callee, &[]);
                }
                None
            }
        }
    }

    /// The error that an argument is a value where a node is expected.
    fn no_node_argument(&self, arg: &ast::Expr<'_>, input: Option<(SourceId, &ast::Decl<'_>)>) -> Diagnostic {
        let expected = input.map_or("a node is expected here".to_owned(), |(callee, input)| {
            let name = self.names.resolve(&input.name.name);
            format!("`{name}` of `{}` is a node", self.headers[callee].name)
        });
        let mut d =
            Diagnostic::error(codes::NODE_ARGUMENT, "a node is expected as this argument, found a value")
                .label(arg.span, expected);
        if let Some((_, input)) = input {
            d = d.label(input.span, "declared here");
        }
        match arg.kind {
            ast::ExprKind::Call { callee, args } => {
                let name = self.names.resolve(&callee.name);
                let open = match self.scopes.callable(self.header.file, name) {
                    Some(Callable::Node(id, Order::NONE)) if input.is_none() => self.open_rule(id),
                    _ if args.is_empty() => "_".to_owned(),
                    _ => ".., _".to_owned(),
                };
                d.help(format!("pass `{name}` itself, or `{name}({open})`, where `_` leaves an input open"))
            }
            _ => d.help(
                "pass the name of a node, or a call of one in which `_` leaves inputs open: `dense(64, _)`",
            ),
        }
    }

    /// The arguments of a node that updates parameters, with its last three inputs open, as text.
    fn open_rule(&self, id: SourceId) -> String {
        let inputs = self.headers[id].ast.inputs;
        let given = inputs.iter().take(inputs.len().saturating_sub(UPDATE));
        let given = given.map(|input| self.names.resolve(&input.name.name));
        given.chain(["_"; UPDATE]).collect::<Vec<_>>().join(", ")
    }

    /// Reports a call with open inputs where a value is expected.
    pub(super) fn open_call(&mut self, name: &str, args: &[ast::Expr<'_>], span: Span) -> ExprKind {
        let d = Diagnostic::error(
            codes::NODE_ARGUMENT,
            format!("`{name}` with open inputs is a node, not a value"),
        )
        .label(span, "a value is expected here")
        .help("`_` leaves an input open where a node is passed on: to an input that is declared as one, `f: node`");
        self.report.push(d);
        let given = args.iter().filter(|arg| !is_hole(arg)).map(|arg| self.expr(arg));
        ExprKind::Error(given.collect())
    }

    /// Reports a `_` that is not an argument of a call.
    pub(super) fn hole(&mut self, span: Span) -> ExprKind {
        let d = Diagnostic::error(codes::NODE_ARGUMENT, "`_` has no value")
            .label(span, "a value is expected here")
            .help("`_` leaves an input open where a node is passed on: `residual(dense(8, _), x)`");
        self.report.push(d);
        ExprKind::Error(Vec::new())
    }

    /// Reports an output that is declared as a node.
    pub(super) fn no_node(&mut self, decl: &ast::Decl<'_>) {
        let Some(span) = decl.node else { return };
        self.report.push(
            Diagnostic::error(codes::NODE_ARGUMENT, "an output cannot be a node")
                .label(span, "a type is expected here")
                .help("nodes are passed on as arguments only: `node twice(f: node, x) -> (o)`"),
        );
    }

    /// Lowers an `if`. It is decided at compile time if its condition depends on an index.
    pub(super) fn conditional(&mut self, cond: ExprId, then: ExprId, other: ExprId) -> ExprKind {
        let is_index = |local: Local| self.locals[local].kind == LocalKind::Index;
        let depends = self.index.is_some() && locals(&self.exprs, cond).into_iter().any(is_index);
        let names = Names { exprs: &self.exprs, locals: &self.locals, equations: &[] };
        match depends && names.are_static(cond, 0) {
            true => ExprKind::Structure(Structure::Choose { cond, then, other }),
            false => ExprKind::If { cond, then, other },
        }
    }
}

fn is_hole(arg: &ast::Expr<'_>) -> bool {
    matches!(arg.kind, ast::ExprKind::Hole)
}

fn index_span(index: &ast::IndexExpr<'_>) -> Span {
    match index {
        ast::IndexExpr::At(e) => e.span,
        ast::IndexExpr::Slice { span, .. } | ast::IndexExpr::Ellipsis(span) => *span,
    }
}

/// The place of a slice.
fn is_part(index: &ast::IndexExpr<'_>) -> Option<Span> {
    if let ast::IndexExpr::Slice { span, .. } = index { Some(*span) } else { None }
}

/// Whether `expand` makes copies of a node. The callees of the node must have been checked.
pub(super) fn is_template(nodes: &IndexVec<SourceId, Node>, id: SourceId) -> bool {
    let node = &nodes[id];
    has_own(node) || super::callees(node).iter().any(|(callee, ..)| nodes[*callee].template)
}

/// The names in an expression.
fn locals(exprs: &IndexVec<ExprId, Expr>, expr: ExprId) -> Vec<Local> {
    let mut found = Vec::new();
    let mut todo = vec![expr];
    while let Some(expr) = todo.pop() {
        if let ExprKind::Local(local) = exprs[expr].kind {
            found.push(local);
        }
        todo.extend(exprs[expr].kind.children());
    }
    found
}

/// For each node, a number that it shares with all nodes that are mutually recursive with it.
pub(super) fn recursive(
    calls: &IndexVec<SourceId, Vec<(SourceId, Span, ExprId)>>,
) -> IndexVec<SourceId, usize> {
    let next = |from: usize, edge: usize| {
        let (callee, ..) = calls.as_slice()[from].get(edge)?;
        Some(Some(callee.index()))
    };
    components(calls.len(), next).of.into_iter().collect()
}

/// Makes those `if`s of a node compile-time choices that decide whether the node calls itself, through nodes for which
/// `is_near` returns true. Returns the calls in them.
pub(super) fn choose(node: &mut Node, is_near: &dyn Fn(SourceId) -> bool) -> Vec<ExprId> {
    let inside = |branch: ExprId| {
        let (mut found, mut todo) = (Vec::new(), vec![branch]);
        while let Some(expr) = todo.pop() {
            if matches!(&node.exprs[expr].kind, ExprKind::Call(call) if is_near(call.callee)) {
                found.push(expr);
            }
            todo.extend(node.exprs[expr].kind.children());
        }
        found
    };
    let mut guarded = Vec::new();
    let mut choices = Vec::new();
    for (id, expr) in node.exprs.iter_enumerated() {
        if let ExprKind::If { cond, then, other } = expr.kind
            && (Names { exprs: &node.exprs, locals: &node.locals, equations: &node.equations })
                .are_static(cond, 0)
        {
            let calls: Vec<ExprId> = inside(then).into_iter().chain(inside(other)).collect();
            if !calls.is_empty() {
                guarded.extend(calls);
                choices.push((id, Structure::Choose { cond, then, other }));
            }
        }
    }
    for (id, choice) in choices {
        node.exprs[id].kind = ExprKind::Structure(choice);
    }
    guarded
}

/// The names of a node, during lowering.
struct Names<'a> {
    exprs: &'a IndexVec<ExprId, Expr>,
    locals: &'a IndexVec<Local, LocalData>,
    equations: &'a [Equation],
}

impl Names<'_> {
    /// Whether an expression may be static, judged by its form.
    fn are_static(&self, expr: ExprId, depth: usize) -> bool {
        let kind = &self.exprs[expr].kind;
        match kind {
            ExprKind::Literal(_) => true,
            ExprKind::Local(local) => {
                let data = &self.locals[*local];
                match data.kind {
                    LocalKind::Formal => data.types.is_empty(),
                    LocalKind::Index | LocalKind::Constant(_) => true,
                    LocalKind::Defined { equation } if depth < MAX_CHAIN => {
                        let equation = self.equations.get(equation);
                        equation.is_some_and(|equation| self.are_static(equation.rhs, depth + 1))
                    }
                    LocalKind::Defined { .. }
                    | LocalKind::Dim
                    | LocalKind::Undefined
                    | LocalKind::Node
                    | LocalKind::Family => false,
                }
            }
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::If { .. }
            | ExprKind::Array(_)
            | ExprKind::Index { .. } => kind.children().into_iter().all(|part| self.are_static(part, depth)),
            _ => false,
        }
    }
}
