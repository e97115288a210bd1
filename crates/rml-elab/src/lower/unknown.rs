//! Help about calls: of unknown names, and with a wrong number of arguments.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span, suggest};
use rml_syntax::ast;

use super::imports;
use super::node::Lower;
use crate::builtins;
use crate::habits;
use crate::hir::{ExprId, ExprKind, LocalKind};

impl Lower<'_, '_> {
    /// The place to insert an import, and the text to insert: after the last import, or at the beginning.
    pub(super) fn new_import(&self, import: &str) -> (Span, String) {
        let file = self.header.file;
        match self.scopes.files.get(&file).and_then(|scope| scope.last_import) {
            Some(last) => (Span { start: last.end, ..last }, format!("\n{import}")),
            None => (Span::new(file, 0, 0), format!("{import}\n")),
        }
    }

    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        if self.report.is_long() { None } else { self.scopes.suggest(self.header.file, name) }
    }

    /// The error that `module.name` is unknown.
    pub(super) fn unknown_in(
        &self,
        module: &str,
        name: &str,
        span: Span,
        args: &[ast::Expr<'_>],
    ) -> Diagnostic {
        let scope = self.scopes.files.get(&self.header.file);
        let modules = scope.map(|scope| &scope.modules);
        if let Some((target, _)) = modules.and_then(|all| all.get(module)) {
            let Some(exporting) = self.scopes.files.get(target) else {
                return Diagnostic::error(codes::UNKNOWN_NAME, format!("`{module}` was not read"));
            };
            return match exporting.own.get(name) {
                Some(private) => imports::private(&self.headers[*private], span),
                None => {
                    let what = format!("what is imported as `{module}`");
                    let d = imports::not_exported(&what, name, span, exporting);
                    habits::call(name).map_or(d.clone(), |help| d.help(help))
                }
            };
        }
        let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("no import is called `{module}`"))
            .label(span, "not found");
        let known = self.scopes.callable(self.header.file, name).is_some();
        if self.locals.iter().any(|l| *l.name == *module && l.kind != LocalKind::Undefined) {
            // The first form of the call, with the variable in place of the operand: `(shape, x)`.
            let usage = builtins::find(name).map_or("(x)", |which| which.arity().2);
            let first = usage.split([')', '[']).next().unwrap_or_default().trim_start_matches('(');
            let sizes = sizes(args);
            let operands = first.split(", ").map(|operand| match (operand, &sizes) {
                ("x", _) => module,
                ("shape" | "permutation", Some(sizes)) => sizes,
                (operand, _) => operand,
            });
            let call = format!("{name}({})", operands.collect::<Vec<_>>().join(", "));
            let help = habits::call(name).map_or(format!("write `{call}`"), str::to_owned);
            return d.help(format!("`{module}` is a variable, and values have no methods; {help}"));
        }
        if let Some(help) = habits::call(name) {
            return d.help(help);
        }
        if known {
            return d.fix(format!("`{name}(..)` needs no module"), span, name);
        }
        match suggest(module, modules.into_iter().flat_map(|all| all.keys().map(String::as_str))) {
            Some(near) => d.fix(format!("there is `{near}`"), span, format!("{near}.{name}")),
            None => d.help(format!("name one of them: `import .. as {module};`")),
        }
    }

    /// The help for a wrong number of arguments: the call with the missing inputs added, or without a size that follows
    /// from an input; or the function that was meant as an argument.
    pub(super) fn miscounted(
        &self,
        name: &str,
        inputs: &[&ast::Decl<'_>],
        args: &[ExprId],
    ) -> Option<String> {
        let brief = |e: &ExprId| match &self.exprs[*e].kind {
            ExprKind::Literal(ast::Literal::Int(n)) => n.to_string(),
            ExprKind::Literal(ast::Literal::Num(x)) => format!("{x:?}"),
            ExprKind::Literal(ast::Literal::Bool(b)) => b.to_string(),
            ExprKind::Local(local) => self.locals[*local].name.to_string(),
            _ => "..".to_owned(),
        };
        let given: Vec<String> = args.iter().map(brief).collect();
        if args.len() < inputs.len() {
            let places = self.places(inputs, args);
            let (mut lacking, mut call) = (Vec::new(), Vec::new());
            for (i, input) in inputs.iter().enumerate() {
                let name = self.names.resolve(&input.name.name);
                match places.iter().position(|place| *place == i) {
                    Some(arg) => call.push(given[arg].clone()),
                    None => {
                        lacking.push(format!("`{name}`"));
                        call.push(name.to_owned());
                    }
                }
            }
            let verb = if lacking.len() == 1 { "is" } else { "are" };
            let free =
                |name: &&String| self.locals.iter().all(|local| *local.name != *name.trim_matches('`'));
            let free: Vec<&str> = lacking.iter().filter(free).map(String::as_str).collect();
            let call = call.join(", ");
            let help = format!("{} {verb} missing: `{name}({call})`", lacking.join(" and "));
            return Some(match free.is_empty() {
                true => help,
                false => format!("{help}, with a value for {}", free.join(" and ")),
            });
        }
        let names: Vec<&str> = inputs.iter().map(|input| self.names.resolve(&input.name.name)).collect();
        // An optimiser without settings is called with a rate.
        if let ([rate, rest @ ..], ["init", "bp", "do"]) = (&given[..], &names[..])
            && let [init, bp, gradient] = rest
            && matches!(self.exprs[args[0]].kind, ExprKind::Literal(ast::Literal::Num(_)))
        {
            let gradient = if gradient == ".." { "do" } else { gradient };
            return Some(format!(
                "`{name}` has no rate: write `{name}({init}, {bp}, {rate} * {gradient})`; a rate may also stand in the call of the loss, `diff_mse(o, gt, true, -{rate})`"
            ));
        }
        let more = args.len() - inputs.len();
        if self.begin_with_numbers(args, more + 1)
            && inputs[0].ty.is_none()
            && !self.begins_with_size(inputs, args)
        {
            let (list, rest) = given.split_at(more + 1);
            let rest: String = rest.iter().map(|arg| format!(", {arg}")).collect();
            let first = self.names.resolve(&inputs[0].name.name);
            return Some(format!("if `{first}` is a list, write `{name}([{}]{rest})`", list.join(", ")));
        }
        if self.begins_with_size(inputs, args) {
            let call = given[1..].join(", ");
            return Some(format!("the sizes of the inputs are known from them: `{name}({call})`"));
        }
        let function = args.iter().find_map(|e| match &self.exprs[*e].kind {
            ExprKind::Text(text) => builtins::find(text).is_some().then_some(text),
            _ => None,
        })?;
        let call = given.get(..inputs.len())?.join(", ");
        Some(format!("call `{function}` with the result: `{function}({name}({call}))`"))
    }

    /// Whether the first `count` arguments of a call are integers.
    fn begin_with_numbers(&self, args: &[ExprId], count: usize) -> bool {
        let is_number =
            |arg: &ExprId| matches!(self.exprs[*arg].kind, ExprKind::Literal(ast::Literal::Int(_)));
        args.get(..count).is_some_and(|args| args.iter().all(is_number))
    }

    /// Whether a call has one argument too many, which is a number at its beginning, and all others fit: `dense(4, 8,
    /// x)`.
    fn begins_with_size(&self, inputs: &[&ast::Decl<'_>], args: &[ExprId]) -> bool {
        let is_number =
            |arg: &ExprId| matches!(self.exprs[*arg].kind, ExprKind::Literal(ast::Literal::Int(_)));
        let is_tensor = |input: &ast::Decl<'_>| input.ty.as_ref().is_some_and(|ty| !ty.dims.is_empty());
        args.len() == inputs.len() + 1
            && is_number(&args[0])
            && args[1..].iter().zip(inputs).all(|(arg, input)| is_number(arg) != is_tensor(input))
    }

    /// For a call with too few arguments: the inputs for which the arguments were probably meant. A variable belongs to
    /// the input with its name, and the other arguments to the remaining inputs, in order.
    fn places(&self, inputs: &[&ast::Decl<'_>], args: &[ExprId]) -> Vec<usize> {
        let named = |arg: &ExprId| {
            let ExprKind::Local(local) = &self.exprs[*arg].kind else { return None };
            let name = &self.locals[*local].name;
            inputs.iter().position(|input| **name == *self.names.resolve(&input.name.name))
        };
        let by_name: Vec<Option<usize>> = args.iter().map(named).collect();
        let free: Vec<usize> = (0..inputs.len()).filter(|i| !by_name.contains(&Some(*i))).collect();
        let others: Vec<ExprId> =
            args.iter().zip(&by_name).filter(|(_, place)| place.is_none()).map(|(arg, _)| *arg).collect();
        let declared: Vec<&ast::Decl<'_>> = free.iter().map(|i| inputs[*i]).collect();
        let mut rest = self.in_order(&declared, &others).into_iter().map(|place| free[place]);
        by_name.into_iter().filter_map(|place| place.or_else(|| rest.next())).collect()
    }

    /// The inputs for which arguments were probably meant, in order. A number does not fit a tensor, and a computed
    /// value fits a tensor better than a setting. If several choices are equally good, the first inputs are chosen.
    fn in_order(&self, inputs: &[&ast::Decl<'_>], args: &[ExprId]) -> Vec<usize> {
        let fits = |arg: ExprId, input: usize| {
            let is_number = matches!(self.exprs[arg].kind, ExprKind::Literal(_));
            let is_tensor = inputs[input].ty.as_ref().is_some_and(|ty| !ty.dims.is_empty());
            usize::from(is_number != is_tensor)
        };
        // For each number of inputs: the best places of the first arguments among them, and how many of the arguments
        // fit.
        let mut best: Vec<Option<(usize, Vec<usize>)>> = vec![Some((0, Vec::new())); inputs.len() + 1];
        for (i, arg) in args.iter().enumerate() {
            let mut next = vec![None; inputs.len() + 1];
            for input in i..inputs.len() {
                let taken = best[input].as_ref().map(|(count, places)| {
                    let places = places.iter().copied().chain([input]).collect();
                    (count + fits(*arg, input), places)
                });
                let left: Option<(usize, Vec<usize>)> = next[input].clone();
                next[input + 1] = match (taken, left) {
                    (Some(taken), Some(left)) if left.0 >= taken.0 => Some(left),
                    (taken, left) => taken.or(left),
                };
            }
            best = next;
        }
        best.pop().flatten().map_or_else(|| (0..args.len()).collect(), |(_, places)| places)
    }
}

/// Sizes that are given one by one or as a list, as text: `[2, 3]`.
fn sizes(args: &[ast::Expr<'_>]) -> Option<String> {
    let items = match args {
        [ast::Expr { kind: ast::ExprKind::Array(items), .. }] => {
            items.iter().map(|item| if let ast::Dim::Expr(e) = item { size(e) } else { None }).collect()
        }
        args => args.iter().map(size).collect::<Option<Vec<_>>>(),
    };
    items.filter(|items| !items.is_empty()).map(|items| format!("[{}]", items.join(", ")))
}

fn size(e: &ast::Expr<'_>) -> Option<String> {
    match e.kind {
        ast::ExprKind::Literal(ast::Literal::Int(size)) => Some(size.to_string()),
        _ => None,
    }
}
