//! Help about gradients, and about the parameters of called nodes.

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
    /// The variable to which the call assigns an output, if the argument at position `arg` is the gradient of that
    /// output.
    fn output_of(&self, arg: usize) -> Option<Symbol> {
        let number = arg.checked_sub(self.inputs.len() + 1)?;
        let mut nums = (0..self.outputs.len()).filter(|i| may_be_num(&self.outputs[*i]));
        match self.lhs.get(nums.nth(number)?)? {
            Lhs::Var(decl) => Some(decl.name.name),
            Lhs::Discard(_) => None,
        }
    }

    /// The position of the gradient of an input among the results. A call may name only the outputs (`o`), also the
    /// gradients (`o, dx`), or each gradient with its condition (`o, bpx, dx`).
    fn place_of(&self, input: usize) -> Option<usize> {
        let before = self.inputs.get(..input)?.iter().filter(|input| may_be_num(input)).count();
        let gradients = self.inputs.iter().filter(|input| may_be_num(input)).count();
        let outputs = self.outputs.len();
        let is_num = self.inputs.get(input).is_some_and(may_be_num);
        match self.lhs.len().checked_sub(outputs)? {
            given if given == 0 || given == gradients => is_num.then_some(outputs + before),
            given => (is_num && given == 2 * gradients).then_some(outputs + 2 * before + 1),
        }
    }

    /// The number of results of the call with all gradients.
    fn results(&self) -> usize {
        self.outputs.len() + self.inputs.iter().filter(|input| may_be_num(input)).count()
    }

    /// The position of a variable among the arguments.
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
    /// The equations of this node that are calls of adjoints.
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

    /// The correct form for a gradient that nothing defines, such as `dh` in `h, _ = diff_enc(x, true, dh);`. The
    /// adjoint that reads `h` returns this gradient, but the program discards it there or gives it another name.
    pub(super) fn discarded_gradient(&self, name: Symbol, d: &Diagnostic) -> Option<Diagnostic> {
        let calls = self.adjoints();
        let value = calls.iter().find_map(|call| call.output_of(call.position(name)?))?;
        let readers = || calls.iter().filter_map(|call| Some((call, call.position(value)?)));
        let mut readers = readers().filter(|(call, input)| *input < call.inputs.len());
        let (call, input) = readers.next()?;
        // If several calls read the value, its gradient is the sum of theirs.
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

    /// Reports `net.w`, where `net` is a node and not a value; once for each node.
    pub(super) fn variable_of_node(&mut self, base: &ast::Expr<'_>, field: Ident) -> Option<ExprKind> {
        let A::Var(name) = base.kind else { return None };
        let known = self.by_name.contains_key(&name) || self.index.is_some_and(|(index, _)| index == name);
        let (file, text) = (self.header.file, self.names.resolve(&name));
        if known || self.scopes.constant(file, text).is_some() {
            return None;
        }
        let Some(Callable::Node(_, Order::NONE)) = self.scopes.callable(file, text) else { return None };
        let inner = match self.names.resolve(&field.name) {
            "params" => String::new(),
            inner => format!(".{inner}"),
        };
        let message = format!("the variables of node `{text}` are not visible outside of it");
        self.report.push(
            Diagnostic::error(codes::UNKNOWN_NAME, message)
                .label(base.span.to(field.span), "expected a variable of this node")
                .help("a penalty on parameters, weight decay, is a part of their update: `adamw` of `import std.optimisers;` in `diff_param`")
                .help(format!("parameters can be read: `share u = {text};`, calls of `u` and `diff_u` in place of `{text}` and `diff_{text}`, then `u.params{inner}`")),
        );
        self.local(name, base.span, LocalKind::Undefined);
        Some(ExprKind::Error(Vec::new()))
    }

    /// The help for a parameter that is defined again by its own update.
    pub(super) fn updated_parameter(&self, name: &str) -> Option<String> {
        let ast: &'a ast::Node<'a> = self.header.ast;
        let mut sides = ast.equations.iter().filter_map(|equation| {
            let [Lhs::Var(decl)] = equation.lhs else { return None };
            (self.names.resolve(&decl.name.name) == name).then_some(equation.rhs)
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

    /// The correct form for `std(x, 0)` and `var(x, 0)`.
    pub(super) fn deviation(&self, name: &str, args: &[ast::Expr<'_>]) -> Option<String> {
        let x = written(self.names, args.first()?)?;
        let axis = args.get(1).map(|axis| written(self.names, axis)).unwrap_or_default();
        let is_std = match name {
            "std" => true,
            "var" => false,
            _ => return None,
        };
        if args.len() > 2 || args.len() == 2 && axis.is_none() {
            return None;
        }
        let over = axis.as_ref().map(|axis| format!(", {axis}")).unwrap_or_default();
        let mean = match axis.as_deref() {
            None | Some("0") => format!("mean({x}{over})"),
            Some(axis) => format!("expand_dims(mean({x}{over}), {axis})"),
        };
        let square = format!("mean(d * d{over})");
        Some(match is_std {
            true => format!(
                "write `sqrt({square} + 0.00001)` with the equation `d = {x} - {mean};`; the small number keeps it above 0 where all values are equal"
            ),
            false => format!("write `{square}` with the equation `d = {x} - {mean};`"),
        })
    }

    /// Reports `x[:, None]`, which adds an axis of size 1 in other languages.
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
            // `None`, `newaxis` or `np.newaxis`.
            let (name, axis) = match e.kind {
                A::Field { base, field } => (base, field.name),
                kind => (*e, if let A::Var(name) = kind { name } else { return false }),
            };
            let is_axis = matches!(self.names.resolve(&axis), "None" | "newaxis");
            is_axis && matches!(name.kind, A::Var(name) if !known(&name))
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
            (false, _) | (_, None) => d.help(format!("a function adds an axis of size 1: `{text}`")),
        });
        true
    }

    /// The nested calls that are meant by `sequential(dense(16, _), relu, x)`.
    pub(super) fn nested_layers(&self, name: &str, args: &[ast::Expr<'_>]) -> Option<String> {
        let chains = ["sequential", "Sequential", "chain", "compose", "pipe"];
        let (input, layers) = match args.split_last()? {
            (last, _) if self.is_layer(last) => ("x".to_owned(), args),
            (last, layers) => (written(self.names, last)?, layers),
        };
        if !chains.contains(&name) || layers.is_empty() {
            return None;
        }
        layers.iter().try_fold(input, |inner, layer| {
            if let A::Var(layer) = layer.kind {
                return Some(format!("{}({inner})", self.names.resolve(&layer)));
            }
            let A::Call { callee, args } = layer.kind else { return None };
            let is_open = |arg: &ast::Expr<'_>| matches!(arg.kind, A::Hole);
            let part = |arg| if is_open(arg) { Some(inner.clone()) } else { written(self.names, arg) };
            let mut parts = args.iter().map(part).collect::<Option<Vec<String>>>()?;
            if !args.iter().any(is_open) {
                parts.push(inner.clone());
            }
            Some(format!("{}({})", self.names.resolve(&callee.name), parts.join(", ")))
        })
    }

    /// Whether an argument is a node instead of a value: a call with an open input, or the name of a node.
    pub(super) fn is_layer(&self, arg: &ast::Expr<'_>) -> bool {
        if let A::Var(name) = arg.kind {
            let is_known = self.by_name.contains_key(&name);
            return !is_known && self.scopes.callable(self.header.file, self.names.resolve(&name)).is_some();
        }
        matches!(arg.kind, A::Call { args, .. } if args.iter().any(|arg| matches!(arg.kind, A::Hole)))
    }
}
