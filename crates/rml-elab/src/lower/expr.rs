//! Expressions: names of variables, calls, the grouping of `merge`.

use rml_base::codes::{elab as codes, syntax};
use rml_base::{Diagnostic, Label, Span, suggest};
use rml_syntax::ast::{self, Ident};
use rml_syntax::operands::{MergeOperand, group_merge};

use super::imports;
use super::node::Lower;
use crate::builtins::Builtin;
use crate::habits;
use crate::hir::Order;
use crate::hir::{Call, Clauses, Expr, ExprId, ExprKind, Index, Item, Local, LocalKind, SourceId};
use crate::scope::{Callable, adjoint_prefix};

impl Lower<'_, '_> {
    pub(super) fn expr(&mut self, expr: &ast::Expr<'_>) -> ExprId {
        use ast::ExprKind as A;
        let span = expr.span;
        let kind = match expr.kind {
            A::Literal(literal) => ExprKind::Literal(literal),
            A::Text(text) => ExprKind::Text(self.names.resolve(&text).into()),
            A::Var(name) => self.named(name, span),
            A::Call { callee, args } => self.call(callee, args, span),
            A::Array(dims) => ExprKind::Array(self.items(dims)),
            A::Entry(index) => ExprKind::Entry(self.index(index)),
            A::Index { base, indices } => match self.member(base, indices) {
                Some(kind) => kind,
                None if self.new_axis(base, indices, span) => ExprKind::Error(vec![self.expr(base)]),
                None => {
                    let base = self.expr(base);
                    ExprKind::Index { base, indices: self.indices(indices) }
                }
            },
            A::Unary(op, a) => ExprKind::Unary(op, self.expr(a)),
            A::Binary(op, a, b) => ExprKind::Binary(op, self.expr(a), self.expr(b)),
            A::If { cond, then, other } => {
                let (cond, then, other) = (self.expr(cond), self.expr(then), self.expr(other));
                self.conditional(cond, then, other)
            }
            A::Fby { init, next } => ExprKind::Fby { init: self.expr(init), next: self.expr(next) },
            A::FbyBack { init, next } => ExprKind::FbyBack { init: self.expr(init), next: self.expr(next) },
            A::Post(next) => ExprKind::Post(self.expr(next)),
            A::When { value, cond } => ExprKind::When { value: self.expr(value), cond: self.expr(cond) },
            A::Merge { cond, on_true, on_false } => ExprKind::Merge {
                cond: self.expr(cond),
                on_true: self.expr(on_true),
                on_false: self.expr(on_false),
            },
            A::MergeOperands(operands) => self.merge(operands, span),
            A::Every { call, end } => self.every(call, end),
            A::Restart { call, cond } => self.restart(call, cond),
            A::By { call, rule } => self.by(call, rule),
            A::Along { call, back, axes } => self.along(call, back, axes),
            A::Field { base, field } => self.field(base, field),
            A::Match { value, cases } => self.matched(value, cases, span),
            A::Juxtaposed { name, args, suffixes, .. } => {
                let kind = self.call(name, args, span);
                let call = self.exprs.push(Expr { kind, span });
                return self.followed(call, span, suffixes);
            }
            A::Assert { name, cond } => {
                let cond = self.expr(cond);
                let text = ExprKind::Text(self.names.resolve(&name.name).into());
                let name = self.exprs.push(Expr { kind: text, span: name.span });
                ExprKind::Builtin { which: Builtin::Assert, args: vec![cond, name] }
            }
            A::Share(_) | A::Automaton(_) => ExprKind::Error(Vec::new()), // See `declare`.
            A::Hole => self.hole(span),
            A::Error => ExprKind::Error(Vec::new()),
        };
        self.exprs.push(Expr { kind, span })
    }

    /// The local with that name. An unknown name is reported once and becomes an undefined local.
    pub(super) fn variable(&mut self, name: ast::Symbol, span: Span) -> Local {
        if let Some((_, local)) = self.index.filter(|(index, _)| *index == name) {
            return local;
        }
        if self.doubled.contains_key(&name) {
            // It is unknown which definition is meant.
            return self.local(name, span, LocalKind::Undefined);
        }
        if let Some(local) = self.by_name.get(&name).copied().or_else(|| self.constant(name, span)) {
            self.automata.read.insert(local);
            return local;
        }
        let text = self.names.resolve(&name);
        if self.scopes.is_excused(self.header.file, text, false) {
            return self.local(name, span, LocalKind::Undefined);
        }
        if let Some(d) = self.defined_in_part(name, span) {
            self.report.push(d);
            return self.local(name, span, LocalKind::Undefined);
        }
        if let Some(d) = self.misplaced(name, span) {
            self.report.push(d);
            return self.local(name, span, LocalKind::Undefined);
        }
        let message = format!("nothing defines `{text}`");
        let constant = self.header.form == ast::DefinitionForm::Constant;
        let place = if constant { "not found" } else { "not found in this node" };
        let mut d = Diagnostic::error(codes::UNKNOWN_NAME, message).label(span, place);
        let defined = self.locals.iter().filter(|l| l.kind != LocalKind::Undefined);
        if let Some(help) = habits::variable(text) {
            d = match text {
                "True" | "False" => d.fix(help, span, text.to_lowercase()),
                _ => d.help(help),
            };
        } else if self.report.is_long() {
            d = d.help("define it with an equation, or make it an input");
        } else if let Some(advised) = self.discarded_gradient(name, &d) {
            d = advised;
        } else if let Some(near) = suggest(text, defined.map(|l| l.name.as_ref())) {
            d = d.fix(format!("there is `{near}`"), span, near);
        } else if let Some(help) = self.named_type_as_value(text) {
            d = d.help(help);
        } else if let Some(callable) = self.scopes.callable(self.header.file, text) {
            d.message = format!("`{text}` is not a value");
            d.labels = vec![Label { span, message: "a value is expected here".to_owned() }];
            d = d.help(match callable {
                Callable::Builtin(_) => format!("`{text}` is a function: call it with `{text}(..)`"),
                Callable::Node(..) | Callable::Ambiguous(_) => format!(
                    "`{text}` is a node: call it with `{text}(..)`; one node that is called several times is shared, `share u = {text};`"
                ),
            });
        } else if let Some(near) = self.case_near(text) {
            d = d.fix(format!("there is the case `{near}`"), span, near);
        } else if constant {
            d = d.help(format!("define it beside this constant: `const {text} = ..;`"));
        } else if self.in_range(span) {
            d = d.help(format!(
                "the number of equations is static: a constant beside the node, `const {text} = 3;`, or an input without a type"
            ));
        } else {
            d = d.help(format!("define it with an equation `{text} = ..;`, or make it an input"));
        }
        self.report.push(d);
        self.local(name, span, LocalKind::Undefined)
    }

    /// A case of an enumeration with a similar name.
    fn case_near(&self, text: &str) -> Option<&str> {
        let cases = self.scopes.enums.values().flatten().map(|case| self.headers[*case].name.as_ref());
        let seen = cases.filter(|case| self.scopes.constant(self.header.file, case).is_some());
        suggest(text, seen)
    }

    /// Whether a place is in the range of an equation.
    fn in_range(&self, span: Span) -> bool {
        let ast: &ast::Node<'_> = self.header.ast;
        ast.equations
            .iter()
            .filter_map(|equation| equation.range)
            .any(|range| range.span.to(span) == range.span)
    }

    /// The help for an enumeration or record that is used as a value.
    fn named_type_as_value(&self, text: &str) -> Option<String> {
        let id = self.scopes.named_type(self.header.file, text)?;
        Some(match self.scopes.cases(id) {
            [] => format!("`{text}` is a record: one is made by `{text}(..)`"),
            [first, ..] => {
                let case = &self.headers[*first].name;
                format!("`{text}` is an enumeration, whose cases stand alone: `{case}`, not `{text}.{case}`")
            }
        })
    }

    pub(super) fn indices(&mut self, indices: &[ast::IndexExpr<'_>]) -> Vec<Index> {
        indices.iter().map(|index| self.index(index)).collect()
    }

    pub(super) fn index(&mut self, index: &ast::IndexExpr<'_>) -> Index {
        match *index {
            ast::IndexExpr::At(e) => Index::At(self.expr(e)),
            ast::IndexExpr::Slice { lo, hi, step, span } => Index::Slice {
                lo: lo.map(|e| self.expr(e)),
                hi: hi.map(|e| self.expr(e)),
                step: step.map(|e| self.expr(e)),
                span,
            },
            ast::IndexExpr::Ellipsis(span) => Index::Ellipsis(span),
        }
    }

    /// Lowers an operand of `merge` with its suffixes.
    fn followed(&mut self, mut id: ExprId, span: Span, suffixes: &[ast::Suffix<'_>]) -> ExprId {
        for suffix in suffixes {
            let kind = match suffix {
                ast::Suffix::Index(list) => ExprKind::Index { base: id, indices: self.indices(list) },
                ast::Suffix::Field(field) => self.field_of(id, *field),
            };
            id = self.exprs.push(Expr { kind, span });
        }
        id
    }

    fn call(&mut self, callee: Ident, args: &[ast::Expr<'_>], span: Span) -> ExprKind {
        let name = self.names.resolve(&callee.name);
        if args.iter().any(|arg| matches!(arg.kind, ast::ExprKind::Hole)) {
            return self.open_call(name, args, span);
        }
        if let Some((formal, order)) = self.node_formal(name) {
            return self.apply(formal, order, callee.span, args);
        }
        match self.scopes.callable(self.header.file, name) {
            Some(Callable::Node(id, order)) => {
                self.called.push(id);
                let args: Vec<ExprId> = self.arguments(id, args);
                if order == Order::NONE && !self.count(id, args.len(), Some(&args), span) {
                    return ExprKind::Error(args);
                }
                ExprKind::Call(Box::new(Call {
                    callee: id,
                    order,
                    name_span: callee.span,
                    args,
                    clauses: Clauses::default(),
                    member: None,
                    share: None,
                    restarts: Vec::new(),
                }))
            }
            Some(Callable::Builtin(which)) => {
                let args: Vec<ExprId> = args.iter().map(|a| self.expr(a)).collect();
                self.builtin(which, args, span)
            }
            Some(Callable::Ambiguous(imports)) => {
                let mut d =
                    Diagnostic::error(codes::AMBIGUOUS_NAME, format!("several nodes are called `{name}`"))
                        .label(callee.span, "which one?");
                for import in imports {
                    d = d.label(import, "imports one");
                }
                self.report.push(
                    d.help(format!("import the intended one by name: `import .. ({name});`"))
                        .help("or give an import a name: `import .. as m;` and `m.f(..)`"),
                );
                ExprKind::Error(args.iter().map(|a| self.expr(a)).collect())
            }
            None => {
                let again = self.by_name.contains_key(&callee.name) && !self.uncalled.insert(callee.name);
                if !again && !self.scopes.is_excused(self.header.file, name, true) {
                    self.unknown_callee(name, callee, args);
                }
                // A node passed to an unknown callee is not itself in error.
                let values = args.iter().filter(|arg| !self.is_layer(arg)).collect::<Vec<_>>();
                ExprKind::Error(values.into_iter().map(|a| self.expr(a)).collect())
            }
        }
    }

    pub(super) fn unknown_callee(&mut self, name: &str, callee: Ident, args: &[ast::Expr<'_>]) {
        if let Some((module, inner)) = name.split_once('.') {
            let d = self.unknown_in(module, inner, callee.span, args);
            return self.report.push(d);
        }
        if let Some(private) = self.scopes.private_node(self.header.file, name) {
            return self.report.push(imports::private(&self.headers[private], callee.span));
        }
        let message = format!("there is no node or function `{name}`");
        let mut d = Diagnostic::error(codes::UNKNOWN_NAME, message).label(callee.span, "not in scope");
        let module = self.scopes.library_module(name);
        if let Some(nested) = self.nested_layers(name, args) {
            d = d.help(format!("call a layer on the result of another one: `{nested}`"));
        } else if let Some(help) = self.deviation(name, args).or_else(|| self.scanned(name, args)) {
            d = d.help(help);
        } else if let Some(help) = self.adjoint_of_function(name) {
            d.message =
                format!("the function `{}` has no adjoint that can be called", adjoint_prefix(name).1);
            d = d.help(help);
        } else if let Some(help) =
            habits::call(name).filter(|_| module.is_none_or(|(_, inputs)| inputs != args.len()))
        {
            d = d.help(help);
        } else if let Some((module, _)) = module {
            let import = format!("import {module};");
            let (place, line) = self.new_import(&import);
            d = d.fix(format!("the library has it: `{import}`"), place, line);
        } else if let Some(near) = self.nearest(name) {
            d = d.fix(format!("there is `{near}`"), callee.span, near);
        } else if self.scopes.constant(self.header.file, name).is_some() {
            d = d.help(format!("`{name}` is a constant: write it without parentheses"));
        } else if let Some(local) = self.by_name.get(&callee.name) {
            d = d.help(match self.locals[*local].kind {
                LocalKind::Formal => {
                    format!("if `{name}` is to be a node, declare the input so: `{name}: node`")
                }
                _ => format!("to call one node several times, write `share {name} = NODE;` with its name"),
            });
            d = d.help(format!("`{name}` is a variable; an element of it is written `{name}[i]`"));
        } else if let Some((module, near)) = self.scopes.library_name(name) {
            d = d.help(format!("write `{near}`, with `import {module};`"));
        } else {
            d = d.help(format!(
                "`rml doc` lists what the library has; a node of your own is written `node {name}(x) -> (o)`"
            ));
        }
        self.report.push(d);
    }

    /// Checks the number of arguments of a node. If the arguments are given, the help shows them.
    pub(super) fn count(&mut self, id: SourceId, given: usize, args: Option<&[ExprId]>, span: Span) -> bool {
        let callee = &self.headers[id];
        let expected = callee.ast.inputs.len();
        if expected == given {
            return true;
        }
        let inputs: Vec<&str> = callee.ast.inputs.iter().map(|d| self.names.resolve(&d.name.name)).collect();
        let name = &callee.name;
        let d = Diagnostic::error(
            codes::ARITY,
            format!("{} `{name}` takes {}, but {given} given", callee.what(), arguments(expected)),
        )
        .label(span, format!("{} here", arguments(given)))
        .label(callee.ast.header_span, "its interface")
        .note(format!("expected {name}({})", inputs.join(", ")));
        // After the inputs, an adjoint has an argument `bp` and one gradient for each num output.
        let gradients = given.checked_sub(expected + 1);
        let bp = args.and_then(|args| args.get(expected)).map(|bp| &self.exprs[*bp].kind);
        let is_adjoint = gradients.is_some_and(|n| (1..=callee.ast.outputs.len()).contains(&n))
            && !matches!(bp, Some(ExprKind::Literal(ast::Literal::Int(_) | ast::Literal::Num(_))));
        self.report.push(match is_adjoint {
            true => d.help(format!(
                "only the adjoint takes `bp` and gradients after the inputs: did you mean `diff_{name}`?"
            )),
            false => {
                let inputs: Vec<&ast::Decl<'_>> = callee.ast.inputs.iter().collect();
                let advice = args.and_then(|args| self.miscounted(name, &inputs, args));
                advice.into_iter().fold(d, Diagnostic::help)
            }
        });
        false
    }

    fn builtin(&mut self, which: Builtin, args: Vec<ExprId>, span: Span) -> ExprKind {
        let (least, most, usage) = which.arity();
        if let Some(call) = self.listed(which, &args) {
            let name = which.name();
            self.report.push(
                Diagnostic::error(
                    codes::ARITY,
                    format!("`{name}` takes its operands one by one, not as a list"),
                )
                .label(self.exprs[args[0]].span, "a list of operands")
                .note(format!("expected {name}{usage}"))
                .help(format!("write `{call}`")),
            );
            self.spoil(args[0]);
            return ExprKind::Error(args);
        }
        if args.len() < least || args.len() > most {
            let name = which.name();
            let takes = if least == most {
                arguments(least)
            } else if most == usize::MAX {
                format!("at least {}", arguments(least))
            } else {
                let to = if most == least + 1 { "or" } else { "to" };
                format!("{least} {to} {}", arguments(most))
            };
            let d =
                Diagnostic::error(codes::ARITY, format!("`{name}` takes {takes}, but {} given", args.len()))
                    .label(span, format!("{} here", arguments(args.len())))
                    .note(format!("expected {name}{usage}"));
            self.report.push(match (self.sizes(name, usage, most, &args), self.nested(which, &args)) {
                (Some(call), _) => d.help(format!("a shape is one argument: `{call}`")),
                (None, Some(help)) => d.help(help),
                (None, None) => d,
            });
            return ExprKind::Error(args);
        }
        if matches!(which, Builtin::Split { .. }) && !matches!(self.exprs[args[0]].kind, ExprKind::Local(_)) {
            let at = self.exprs[args[0]].span;
            self.report.push(
                Diagnostic::error(codes::NOT_A_CALL, "`split` takes the name of a variable")
                    .label(at, "this is an expression")
                    .help("give the expression a name with an equation of its own"),
            );
            return ExprKind::Error(args);
        }
        if which.takes_type() && !matches!(self.exprs[args[0]].kind, ExprKind::Local(_)) {
            let at = self.exprs[args[0]].span;
            self.report.push(
                Diagnostic::error(
                    codes::NOT_STATIC,
                    format!("`{}` takes the name of a variable", which.name()),
                )
                .label(at, "this is an expression")
                .help("give the expression a name with an equation of its own"),
            );
            return ExprKind::Error(args);
        }
        ExprKind::Builtin { which, args }
    }

    /// The call with the elements of a list as separate arguments, for `concat([x, y], 0)` and `stack([x, y])`.
    fn listed(&self, which: Builtin, args: &[ExprId]) -> Option<String> {
        let (list, axis) = match args {
            [list] => (*list, "0".to_owned()),
            [list, axis] => (*list, self.integer(*axis)?),
            _ => return None,
        };
        let ExprKind::Array(items) = &self.exprs[list].kind else { return None };
        let operand = |item: &Item| match item.expr().map(|e| &self.exprs[e].kind) {
            Some(ExprKind::Local(local)) => self.locals[*local].name.to_string(),
            _ => "..".to_owned(),
        };
        let operands: Vec<String> = items.iter().map(operand).collect();
        match which {
            Builtin::Stack if !items.is_empty() => Some(format!("stack({axis}, {})", operands.join(", "))),
            Builtin::Concat if items.len() > 1 => {
                let joined = |all: String, next: &String| format!("concat({all}, {next}, {axis})");
                Some(operands[1..].iter().fold(operands[0].clone(), joined))
            }
            _ => None,
        }
    }

    /// The correct form of a call with too many or too few operands.
    fn nested(&self, which: Builtin, args: &[ExprId]) -> Option<String> {
        let text = |e: &ExprId| match &self.exprs[*e].kind {
            ExprKind::Local(local) => self.locals[*local].name.to_string(),
            ExprKind::Literal(ast::Literal::Int(i)) => i.to_string(),
            ExprKind::Literal(ast::Literal::Num(x)) => format!("{x:?}"),
            _ => "..".to_owned(),
        };
        let axis = args.last().and_then(|last| self.integer(*last)).filter(|_| which == Builtin::Concat);
        let operands: Vec<String> =
            args[..args.len() - usize::from(axis.is_some())].iter().map(text).collect();
        let name = which.name();
        match which {
            Builtin::Softmax { .. } => Some(format!(
                "`{name}` is that over the last dimension: write `{name}({})`",
                operands.first()?
            )),
            Builtin::Clip if args.len() == 2 => {
                let (x, bound) = (&operands[0], &operands[1]);
                Some(format!("with one bound, write `minimum({x}, {bound})` or `maximum({x}, {bound})`"))
            }
            Builtin::Concat | Builtin::Binary(_) if operands.len() > 2 => {
                let axis = axis.map_or(String::new(), |axis| format!(", {axis}"));
                let all = operands[1..]
                    .iter()
                    .fold(operands[0].clone(), |all, next| format!("{name}({all}, {next}{axis})"));
                Some(format!("it takes two operands at a time: write `{all}`"))
            }
            _ => None,
        }
    }

    /// A literal integer as text.
    fn integer(&self, expr: ExprId) -> Option<String> {
        match &self.exprs[expr].kind {
            ExprKind::Literal(ast::Literal::Int(i)) => Some(i.to_string()),
            ExprKind::Unary(ast::UnaryOp::Neg, a) => self.integer(*a).map(|i| format!("-{i}")),
            _ => None,
        }
    }

    /// The call with its first arguments combined into a shape, if these are sizes and there are too many arguments.
    fn sizes(&self, name: &str, usage: &str, most: usize, args: &[ExprId]) -> Option<String> {
        let (shape, rest) = args.split_at_checked((args.len() + 1).checked_sub(most)?)?;
        let behind = usage.strip_prefix("(shape").filter(|_| rest.len() + 1 == most)?;
        let size = |e: &ExprId| match &self.exprs[*e].kind {
            ExprKind::Literal(ast::Literal::Int(size)) => Some(size.to_string()),
            ExprKind::Local(local) => Some(self.locals[*local].name.to_string()),
            _ => None,
        };
        // `reshape(x, 2, 3)`: the operand comes first, as in a method call.
        let is_number = |e: &ExprId| matches!(self.exprs[*e].kind, ExprKind::Literal(ast::Literal::Int(_)));
        if let (Some((first, sizes)), ", x)") = (args.split_first(), behind)
            && !is_number(first)
            && sizes.iter().all(is_number)
        {
            let sizes: Vec<String> = sizes.iter().filter_map(size).collect();
            return Some(format!("{name}([{}], {})", sizes.join(", "), size(first)?));
        }
        let sizes: Vec<String> = shape.iter().map(size).collect::<Option<_>>()?;
        Some(format!("{name}([{}]{behind}", sizes.join(", ")))
    }

    fn merge(&mut self, operands: &[ast::Expr<'_>], span: Span) -> ExprKind {
        let (scopes, file, names) = (self.scopes, self.header.file, self.names);
        let is_node = |name: &str| self.node_formal(name).is_some() || scopes.callable(file, name).is_some();
        let groups = group_merge(operands, |name| is_node(names.resolve(&name)));
        let ids: Vec<ExprId> = groups
            .iter()
            .map(|group| match *group {
                MergeOperand::Expr(e) => self.expr(e),
                MergeOperand::Name(ident) => {
                    let kind = self.named(ident.name, ident.span);
                    self.exprs.push(Expr { kind, span: ident.span })
                }
                MergeOperand::Call { callee, args, suffixes, span } => {
                    let kind = self.call(callee, args, span);
                    let call = self.exprs.push(Expr { kind, span });
                    self.followed(call, span, suffixes)
                }
                MergeOperand::Parenthesised { inner, suffixes } => {
                    let id = self.expr(inner);
                    self.followed(id, inner.span, suffixes)
                }
            })
            .collect();
        if let [cond, on_true, on_false] = ids[..] {
            return ExprKind::Merge { cond, on_true, on_false };
        }
        let mut d = Diagnostic::error(
            syntax::MERGE_OPERANDS,
            format!("`merge` takes three operands, but these are {}", ids.len()),
        )
        .label(span, "a condition, the value where it is true, the value where it is false");
        for (group, id) in groups.iter().zip(&ids) {
            if let MergeOperand::Call { callee, .. } = group {
                let name = self.names.resolve(&callee.name);
                d = d.label(self.exprs[*id].span, format!("one operand: `{name}` is a node or function"));
            }
        }
        self.report.push(d.help("put each operand that is more than a name into parentheses"));
        ExprKind::Error(ids)
    }
}

/// "1 argument", "2 arguments".
pub(crate) fn arguments(n: usize) -> String {
    format!("{n} argument{}", if n == 1 { "" } else { "s" })
}
