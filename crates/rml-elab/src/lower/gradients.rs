//! Advice about gradients, and about the parameters of nodes that are called.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_syntax::ast::{self, DTypeName, Decl, ExprKind as A, Ident, Lhs, Symbol};

use super::node::Lower;
use super::written::{brief, operand, written};
use crate::hir::{ExprKind, LocalKind, Order};
use crate::scope::Callable;

/// A call of an adjoint, `o, dx = diff_f(x, true, do)`.
struct Adjoint<'a> {
    lhs: &'a [Lhs<'a>],
    callee: Ident,
    args: &'a [ast::Expr<'a>],
    inputs: &'a [Decl<'a>],
    outputs: &'a [Decl<'a>],
}

impl<'a> Adjoint<'a> {
    /// The output whose gradient the argument of that number is, as the call names it.
    fn output_of(&self, arg: usize) -> Option<Symbol> {
        let number = arg.checked_sub(self.inputs.len() + 1)?;
        let mut nums = (0..self.outputs.len()).filter(|i| may_be_num(&self.outputs[*i]));
        match self.lhs.get(nums.nth(number)?)? {
            Lhs::Var(decl) => Some(decl.name.name),
            Lhs::Discard(_) => None,
        }
    }

    /// Where the gradient of the input of that number stands among the results, in the form that the call has: the
    /// outputs alone, with the gradients behind them, or with the cycles of each gradient before it.
    fn place_of(&self, input: usize) -> Option<usize> {
        let before = self.inputs.get(..input)?.iter().filter(|input| may_be_num(input)).count();
        let gradients = self.inputs.iter().filter(|input| may_be_num(input)).count();
        let outputs = self.outputs.len();
        let is_num = self.inputs.get(input).is_some_and(may_be_num);
        match self.lhs.len().checked_sub(outputs)? {
            given if given == 0 || given == gradients => is_num.then_some(outputs + before),
            given if given == 2 * gradients => is_num.then_some(outputs + 2 * before + 1),
            _ => None,
        }
    }

    /// How many results the call has with all gradients.
    fn results(&self) -> usize {
        self.outputs.len() + self.inputs.iter().filter(|input| may_be_num(input)).count()
    }

    /// The number of the argument that is that variable.
    fn position(&self, name: Symbol) -> Option<usize> {
        self.args.iter().position(|arg| matches!(arg.kind, A::Var(var) if var == name))
    }
}

fn may_be_num(decl: &Decl<'_>) -> bool {
    decl.node.is_none()
        && match decl.ty.map(|ty| ty.dtype) {
            None | Some(DTypeName::Num) => true,
            Some(DTypeName::Bool | DTypeName::Int | DTypeName::Named(_)) => false,
        }
}

impl<'a> Lower<'a, '_> {
    /// The calls of adjoints that are equations of this node.
    fn adjoints(&self) -> Vec<Adjoint<'a>> {
        let ast: &'a ast::Node<'a> = self.header.ast;
        let calls = ast.equations.iter().filter_map(|equation| {
            let A::Call { callee, args } = equation.rhs.kind else { return None };
            match self.scopes.callable(self.header.file, self.names.resolve(&callee.name))? {
                Callable::Node(id, order) if order.times == 1 => {
                    let called = self.headers[id].ast;
                    let (inputs, outputs) = (called.inputs, called.outputs);
                    Some(Adjoint { lhs: equation.lhs, callee, args, inputs, outputs })
                }
                Callable::Node(..) | Callable::Builtin(_) | Callable::Ambiguous(_) => None,
            }
        });
        calls.collect()
    }

    /// What to write for a gradient that nothing defines, `h, _ = diff_enc(x, true, dh);`: what reads `h` has it among
    /// its results, where it is discarded or has another name.
    pub(super) fn discarded_gradient(&self, name: Symbol, d: &Diagnostic) -> Option<Diagnostic> {
        let calls = self.adjoints();
        let value = calls.iter().find_map(|call| call.output_of(call.position(name)?))?;
        let readers = || calls.iter().filter_map(|call| Some((call, call.position(value)?)));
        let mut readers = readers().filter(|(call, input)| *input < call.inputs.len());
        let (call, input) = readers.next()?;
        // The gradient of what several calls read is the sum of theirs.
        if readers.next().is_some() {
            return None;
        }
        let place = call.place_of(input)?;
        let [wanted, value] = [name, value].map(|name| self.names.resolve(&name));
        let callee = self.names.resolve(&call.callee.name);
        let side = |side: &Lhs<'_>| match side {
            Lhs::Var(decl) => self.names.resolve(&decl.name.name).to_owned(),
            Lhs::Discard(_) => "_".to_owned(),
        };
        let mut results: Vec<String> = call.lhs.iter().map(side).collect();
        let args: Vec<String> = call.args.iter().map(|arg| brief(self.names, arg)).collect();
        let args = if args.iter().any(|arg| arg == "..") { vec!["..".to_owned()] } else { args };
        let gives = format!("this `{callee}` gives the gradient of `{value}`");
        match call.lhs.get(place) {
            Some(Lhs::Var(decl)) => {
                let known = self.names.resolve(&decl.name.name);
                let at = d.span()?;
                Some(d.clone().label(decl.name.span, format!("the gradient of `{value}`")).fix(
                    format!("{gives}, which is `{known}` here: write `{known}`"),
                    at,
                    known,
                ))
            }
            Some(Lhs::Discard(at)) => {
                wanted.clone_into(results.get_mut(place)?);
                let write = format!("{} = {callee}({});", results.join(", "), args.join(", "));
                Some(d.clone().label(*at, format!("the gradient of `{value}` is discarded here")).fix(
                    format!("{gives}: write `{write}`"),
                    *at,
                    wanted,
                ))
            }
            None if call.lhs.len() == call.outputs.len() => {
                let more = (results.len()..call.results()).map(|at| if at == place { wanted } else { "_" });
                results.extend(more.map(str::to_owned));
                let write = format!("{} = {callee}({});", results.join(", "), args.join(", "));
                Some(d.clone().help(format!("{gives}: write `{write}`")))
            }
            None => None,
        }
    }

    /// `net.w` of a node, which is no value; it is reported once for each node.
    pub(super) fn variable_of_node(&mut self, base: &ast::Expr<'_>, field: Ident) -> Option<ExprKind> {
        let A::Var(name) = base.kind else { return None };
        let known = self.by_name.contains_key(&name) || self.index.is_some_and(|(index, _)| index == name);
        let (file, text) = (self.header.file, self.names.resolve(&name));
        if known || self.scopes.constant(file, text).is_some() {
            return None;
        }
        let Some(Callable::Node(_, Order::NONE)) = self.scopes.callable(file, text) else { return None };
        let inner = self.names.resolve(&field.name);
        let message = format!("the variables of node `{text}` are not visible outside of it");
        self.report.push(
            Diagnostic::error(codes::UNKNOWN_NAME, message)
                .label(base.span.to(field.span), "expected a variable of this node")
                .help("a penalty on parameters, weight decay, is a part of their update: `adamw` of `import std.optimisers;` in `diff_param`")
                .help(format!("what parameters are can be read, without a gradient: `share u = {text};`, calls of `u` and `diff_u` in place of `{text}` and `diff_{text}`, then `u.params.{inner}`")),
        );
        self.local(name, base.span, LocalKind::Undefined);
        Some(ExprKind::Error(Vec::new()))
    }

    /// What to write for a parameter that is defined again by its own update.
    pub(super) fn updated_parameter(&self, name: &str) -> Option<String> {
        let ast: &'a ast::Node<'a> = self.header.ast;
        let mut sides = ast.equations.iter().filter_map(|equation| match equation.lhs {
            [Lhs::Var(decl)] if self.names.resolve(&decl.name.name) == name => Some(equation.rhs),
            _ => None,
        });
        let (first, again) = (sides.next()?, sides.next()?);
        let A::Call { callee, args: [init] } = first.kind else { return None };
        if self.names.resolve(&callee.name) != "param" || sides.next().is_some() {
            return None;
        }
        let (init, update) = (operand(self.names, init)?, written(self.names, again)?);
        Some(format!(
            "to update it here, write `{name} = {init} fby ({update});` in place of both; a `param` is updated by the `diff_` call of its node alone"
        ))
    }

    /// `std(x, 0)` and `var(x, 0)` over the axes that the call names.
    pub(super) fn deviation(&self, name: &str, args: &[ast::Expr<'_>]) -> Option<String> {
        let x = written(self.names, args.first()?)?;
        let axis = args.get(1).map(|axis| written(self.names, axis)).unwrap_or_default();
        if args.len() > 2 || args.len() == 2 && axis.is_none() || !matches!(name, "std" | "var") {
            return None;
        }
        let over = axis.as_ref().map(|axis| format!(", {axis}")).unwrap_or_default();
        let mean = match axis.as_deref() {
            None | Some("0") => format!("mean({x}{over})"),
            Some(axis) => format!("expand_dims(mean({x}{over}), {axis})"),
        };
        let square = format!("mean(d * d{over})");
        Some(match name {
            "std" => format!(
                "write `sqrt({square} + 0.00001)` with the equation `d = {x} - {mean};`; the small number keeps it above 0 where all values are equal"
            ),
            _ => format!("write `{square}` with the equation `d = {x} - {mean};`"),
        })
    }

    /// `x[:, None]`, an axis of size 1 as other languages write it: which one, if the index has one.
    pub(super) fn new_axis(
        &mut self,
        base: &ast::Expr<'_>,
        indices: &[ast::IndexExpr<'_>],
        span: Span,
    ) -> bool {
        let known = |name: &Symbol| {
            let text = self.names.resolve(name);
            self.by_name.contains_key(name) || self.scopes.constant(self.header.file, text).is_some()
        };
        let is_new = |index: &ast::IndexExpr<'_>| {
            let ast::IndexExpr::At(e) = index else { return false };
            match e.kind {
                A::Var(name) => matches!(self.names.resolve(&name), "None" | "newaxis") && !known(&name),
                A::Field { base, field } => {
                    let foreign = self.names.resolve(&field.name) == "newaxis";
                    foreign && matches!(base.kind, A::Var(name) if !known(&name))
                }
                _ => false,
            }
        };
        let new: Vec<usize> = (0..indices.len()).filter(|i| is_new(&indices[*i])).collect();
        let [axis] = new[..] else { return false };
        let others = indices.iter().enumerate().filter(|(i, _)| *i != axis);
        let whole = others.clone().all(|(_, index)| match index {
            ast::IndexExpr::Slice { lo, hi, step, .. } => lo.is_none() && hi.is_none() && step.is_none(),
            ast::IndexExpr::Ellipsis(_) => true,
            ast::IndexExpr::At(_) => false,
        });
        let before =
            others.clone().any(|(i, index)| i < axis && matches!(index, ast::IndexExpr::Ellipsis(_)));
        let place = match before {
            true => format!("-{}", indices.len() - axis),
            false => axis.to_string(),
        };
        let x = written(self.names, base);
        let text = format!("expand_dims({}, {place})", x.as_deref().unwrap_or(".."));
        let at = match indices[axis] {
            ast::IndexExpr::At(e) => e.span,
            ast::IndexExpr::Slice { span, .. } | ast::IndexExpr::Ellipsis(span) => span,
        };
        let d = Diagnostic::error(codes::UNKNOWN_NAME, "an index adds no axis").label(at, "not a position");
        self.report.push(match (whole, x) {
            (true, Some(_)) => {
                d.fix(format!("write `{text}`, which has one more axis, of size 1"), span, text)
            }
            _ => d.help(format!("an axis of size 1 is added by a function: `{text}`")),
        });
        true
    }

    /// `sequential(dense(16, _), relu, x)`: the calls that are meant.
    pub(super) fn nested_layers(&self, name: &str, args: &[ast::Expr<'_>]) -> Option<String> {
        let chains = ["sequential", "Sequential", "chain", "compose", "pipe"];
        let (input, layers) = match args.split_last()? {
            (last, layers) if !self.is_layer(last) => (written(self.names, last)?, layers),
            _ => ("x".to_owned(), args),
        };
        if !chains.contains(&name) || layers.is_empty() {
            return None;
        }
        layers.iter().try_fold(input, |inner, layer| match layer.kind {
            A::Var(layer) => Some(format!("{}({inner})", self.names.resolve(&layer))),
            A::Call { callee, args } => {
                let mut parts = Vec::new();
                for arg in args {
                    parts.push(match arg.kind {
                        A::Hole => inner.clone(),
                        _ => written(self.names, arg)?,
                    });
                }
                if !args.iter().any(|arg| matches!(arg.kind, A::Hole)) {
                    parts.push(inner);
                }
                Some(format!("{}({})", self.names.resolve(&callee.name), parts.join(", ")))
            }
            _ => None,
        })
    }

    /// Whether an argument is a node, and no value: a call with an open input, or the name of one.
    pub(super) fn is_layer(&self, arg: &ast::Expr<'_>) -> bool {
        match arg.kind {
            A::Call { args, .. } => args.iter().any(|arg| matches!(arg.kind, A::Hole)),
            A::Var(name) => {
                !self.by_name.contains_key(&name)
                    && self.scopes.callable(self.header.file, self.names.resolve(&name)).is_some()
            }
            _ => false,
        }
    }
}
