//! Element types at calls, and of the gradients of adjoints; only nums have gradients.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::DType;

use super::classes::Class;
use super::exchanged::Argument;
use super::{Infer, Pending, habits};
use rml_syntax::ast::Literal;

use crate::hir::{Call, ExprId, ExprKind, Local, LocalKind, Node};
use crate::infer::adjoint::{self, Adjoint, Results};
use crate::instance::InstanceId;
use crate::text;

impl Infer<'_, '_, '_> {
    /// Handles a call whose results are assigned to `lhs`.
    pub(super) fn call(&mut self, id: InstanceId, expr: ExprId, lhs: &[(Class, Span)]) {
        let node = self.tree.node(id);
        let Some(call) = node.as_call(expr) else { return };
        if let Some(end) = call.clauses.every {
            self.condition_or(id, end, "`every`", windows_of(node, end));
        }
        let Some(&child) = self.tree.instances[id].calls.get(&expr) else {
            for operand in &call.args {
                self.expr(id, *operand);
            }
            self.fail(lhs);
            return;
        };
        let callee = self.tree.node(child);
        let mut args: Vec<Argument> = Vec::new();
        for (i, arg) in call.args.iter().enumerate() {
            let is_static = callee.formals.get(i).is_some_and(|formal| !self.tree.is_stream(child, *formal));
            args.push(if is_static { None } else { Some(self.expr(id, *arg)) });
        }
        // The arguments of an adjoint continue with `bp` and at least one gradient.
        let shifted = self.is_shifted(node, call, child);
        if shifted {
            // The arguments are not in the positions of their inputs.
            let extra = args.split_off(callee.formals.len()).into_iter().flatten().collect();
            self.pending.push(Pending { id, call: expr, results: lhs.to_vec(), extra, shifted });
            return;
        }
        let complete = call.order.times == 0 || args.len() > callee.formals.len() + 1;
        let order = if complete { self.exchanged((id, expr), call, child, &args) } else { None };
        for (i, &formal) in callee.formals.iter().enumerate() {
            let from = order.as_ref().map_or(i, |order| order[i]);
            if !call.restarts.is_empty() && i + 1 == callee.formals.len() {
                let help = habits::split_condition(node, expr, "restart", call.args[from]);
                self.condition_or(id, call.args[from], "the condition of `restart`", help);
            } else if let Some(arg) = args[from] {
                self.at = (id, call.args[from]);
                let what = format!("input `{}` of `{}`", callee.name_of(formal), callee.name);
                self.define((self.slot(child, formal), callee.locals[formal].span), arg, &what);
            }
        }
        if order.is_some() {
            return self.fail(lhs);
        }
        let extra = args.split_off(callee.formals.len()).into_iter().flatten().collect();
        self.at = (id, expr);
        for (&output, &target) in callee.outputs.iter().zip(lhs) {
            self.result((self.slot(child, output), callee.locals[output].span), target, || {
                format!("output `{}` of `{}`", callee.name_of(output), callee.name)
            });
        }
        if call.order.times > 0 {
            self.pending.push(Pending { id, call: expr, results: lhs.to_vec(), extra, shifted });
        }
    }

    /// Whether the call of an adjoint seems to lack an argument: `bp` is in the position of the last input.
    fn is_shifted(&mut self, node: &Node, call: &Call, child: InstanceId) -> bool {
        let callee = self.tree.node(child);
        let Some((last, at)) = callee.formals.last().zip(callee.formals.len().checked_sub(1)) else {
            return false;
        };
        let bool_input =
            self.classes.get(self.tree.slot(child, *last)).is_some_and(|(ty, _)| ty == DType::Bool);
        call.order.times > 0
            && !bool_input
            && call.args.get(at).is_some_and(|arg| is_bp(node, arg))
            && !call.args[at + 1..].iter().any(|arg| is_bp(node, arg))
    }

    /// Unifies a result of a call with its left side; if their types differ, the left side is reported.
    fn result(&mut self, output: (Class, Span), target: (Class, Span), what: impl Fn() -> String) {
        if self.classes.is_lost(output.0) {
            self.classes.lose_unknown(target.0);
        } else {
            self.unify(output, target, &what());
        }
    }

    /// Marks the left sides of an equation in error.
    fn fail(&mut self, lhs: &[(Class, Span)]) {
        for &(class, _) in lhs {
            self.classes.lose_unknown(class);
        }
    }

    /// Connects the gradients of the calls for which all element types are known. Returns whether there were such
    /// calls.
    pub(super) fn adjoints_known(&mut self) -> bool {
        let before = self.pending.len();
        for call in std::mem::take(&mut self.pending) {
            if !self.adjoint(&call, false) {
                self.pending.push(call);
            }
        }
        self.pending.len() < before
    }

    /// Connects the gradients of a call whose element types nothing determines. Returns whether there was such a call.
    pub(super) fn adjoint_by_default(&mut self) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let call = self.pending.remove(0);
        self.adjoint(&call, true)
    }

    fn adjoint(&mut self, pending: &Pending, default: bool) -> bool {
        let (id, tree) = (pending.id, self.tree);
        self.at = (id, pending.call);
        let node = tree.node(id);
        let (Some(&child), Some(call)) =
            (tree.instances[id].calls.get(&pending.call), node.as_call(pending.call))
        else {
            return true;
        };
        let mut lost = false;
        let mut dtype = |local: Local| {
            let class = tree.slot(child, local);
            if self.classes.is_lost(class) {
                lost = true;
                return Some(DType::Num);
            }
            if default {
                let dtype = self.classes.settled(class);
                self.classes.set(class, dtype, tree.node(child).locals[local].span);
            }
            self.classes.get(class).map(|(d, _)| d)
        };
        let Some((mut adjoint, results)) = Adjoint::new(tree, child, call.order, &mut dtype) else {
            return false;
        };
        if lost {
            self.fail(&pending.results);
            return true;
        }
        let callee = tree.node(child);
        let span = node.exprs[pending.call].span;
        let own = callee.formals.iter().filter(|l| tree.is_stream(child, **l)).count();
        let wanted = adjoint.inputs.len() - own;
        let chosen = results.choose(pending.results.len());
        if pending.shifted || pending.extra.len() != wanted || chosen.is_none() {
            self.arity(callee, call.order, &adjoint, &results, pending, wanted);
            self.fail(&pending.results);
            return true;
        }
        let args = call.args.iter().skip(callee.formals.len());
        for (((name, port), arg), &expr) in adjoint.inputs[own..].iter().zip(&pending.extra).zip(args) {
            self.at = (id, expr);
            match port {
                adjoint::Port::Condition => self.expect(DType::Bool, *arg, codes::CONDITION_TYPE, "`bp`"),
                adjoint::Port::Like(_) => {
                    let what = format!("the gradient `{name}`");
                    self.expect(DType::Num, *arg, codes::TYPE_MISMATCH, &what);
                }
            }
        }
        self.at = (id, pending.call);
        adjoint.results = chosen.unwrap_or_default();
        let gradients = adjoint.results.iter().zip(&pending.results).skip(results.primal);
        let targets: Vec<(adjoint::Port, (Class, Span))> =
            gradients.map(|(i, target)| (adjoint.outputs[*i].1, *target)).collect();
        let is_number =
            |infer: &mut Self, class| infer.classes.get(class).is_some_and(|(t, _)| t == DType::Num);
        for (i, (port, target)) in targets.iter().enumerate() {
            if *port == adjoint::Port::Condition && is_number(self, target.0) {
                let d = self.condition_taken(&adjoint, (results.primal, i), callee, call, pending);
                self.report.push(d);
                self.fail(&pending.results);
                self.broken.insert(self.at);
                return true;
            }
        }
        for (port, target) in targets {
            let dtype = if port == adjoint::Port::Condition { DType::Bool } else { DType::Num };
            let class = self.classes.fresh(Some((dtype, span)));
            self.unify((class, span), target, "a gradient of this call");
        }
        self.adjoints.insert((id, pending.call), adjoint);
        true
    }

    /// The error that the name given to the condition of a gradient is used as the gradient.
    fn condition_taken(
        &self,
        adjoint: &Adjoint,
        (primal, gradient): (usize, usize),
        callee: &Node,
        call: &Call,
        pending: &Pending,
    ) -> Diagnostic {
        let node = self.tree.node(pending.id);
        let equation = node.equations.iter().find(|equation| equation.rhs == pending.call);
        let given = equation.iter().flat_map(|equation| &equation.lhs);
        let given: Vec<&str> =
            given.map(|(local, _)| local.map_or("_", |local| node.name_of(local).as_ref())).collect();
        let names: Vec<&str> = adjoint.results.iter().map(|i| adjoint.outputs[*i].0.as_str()).collect();
        let name = format!("{}{}", call.order.prefix(), callee.name);
        // The name that the program uses for a pair: that of the condition or that of the gradient.
        let of_pair =
            |pair: &[&str]| pair.iter().find(|name| **name != "_").map_or("_", |name| *name).to_owned();
        let short = given[..primal].iter().map(|name| (*name).to_owned());
        let short: Vec<String> = short.chain(given[primal..].chunks(2).map(of_pair)).collect();
        let at = primal + gradient;
        let (result, used) = (names.get(at).unwrap_or(&"bp"), given.get(at).unwrap_or(&"_"));
        Diagnostic::error(
            codes::TYPE_MISMATCH,
            format!("`{used}` is used as a gradient, and is the condition of one"),
        )
        .label(pending.results[at].1, format!("this gets `{result}`, which is bool"))
        .note(format!("with {} names, the results of `{name}` are {}", given.len(), names.join(", ")))
        .help(format!("for the gradients alone, write `{} = {name}(..)`", short.join(", ")))
    }

    fn arity(
        &mut self,
        callee: &crate::hir::Node,
        order: crate::hir::Order,
        adjoint: &Adjoint,
        results: &Results,
        pending: &Pending,
        wanted: usize,
    ) {
        let (given, extra) = (pending.results.len(), pending.extra.len());
        let span = self.tree.node(pending.id).exprs[pending.call].span;
        let prefix = order.prefix();
        let d = Diagnostic::error(
            codes::ARITY,
            format!("this call does not fit the interface of `{prefix}{}`", callee.name),
        );
        let d = if extra == wanted && !pending.shifted {
            let names = if given == 1 { "name" } else { "names" };
            d.label(span, format!("its results go to {given} {names}, expected {}", results.counts()))
        } else {
            d.label(span, format!("{extra} given after the inputs of the node, {wanted} expected"))
        };
        let d = d
            .label(callee.span, "the node that is differentiated")
            .note(format!("its interface is {}", adjoint::describe(callee, order, adjoint)));
        let name = format!("{prefix}{}", callee.name);
        let lacks_bp =
            extra + 1 == wanted && pending.extra.first().is_none_or(|(class, _)| !self.is_condition(*class));
        let may_lack = pending.shifted || extra + 1 == wanted;
        let lacks_input = if may_lack { self.with_input(&name, callee, pending) } else { None };
        self.report.push(match (extra == wanted, results.gradients.is_empty()) {
            _ if let Some((input, call)) = lacks_input => {
                d.help(format!("`{input}` is missing: write `{call}`"))
            }
            (false, _) if lacks_bp => {
                d.help(format!("`bp` is missing: write `{}`", self.with_bp(&name, callee, adjoint, pending)))
            }
            (false, _) => {
                let d = d.help("after the inputs of the node, pass `bp`, which is true where gradients are wanted, and the gradient of each num output");
                match self.with_gradients(&name, adjoint, results, pending, wanted) {
                    Some(equation) => d.help(format!("write `{equation};`")),
                    None => d,
                }
            }
            (true, true) => {
                let outputs: Vec<&str> = callee.outputs.iter().map(|o| callee.name_of(*o).as_ref()).collect();
                d.help(format!(
                    "`{name}` has no num input, so no gradient comes back: write `{} = {name}(..)`",
                    outputs.join(", ")
                ))
            }
            (true, false) => d.help(self.with_results(&name, adjoint, results, pending)).help(
                match results.held {
                    true => "a call takes the outputs and the gradient of each num input, or with them `bp` of each",
                    false => "a call takes the outputs only, or with them the gradient of each num input, or with them `bp` and gradient of each",
                },
            ),
        });
        self.broken.insert(self.at);
    }

    fn is_condition(&mut self, class: Class) -> bool {
        self.classes.is_lost(class) || self.classes.get(class).is_some_and(|(dtype, _)| dtype == DType::Bool)
    }

    /// The equation of a call of an adjoint with one name for each output and gradient.
    fn with_results(&self, name: &str, adjoint: &Adjoint, results: &Results, pending: &Pending) -> String {
        let names = self.result_names(adjoint, results, pending);
        let dropped: Vec<String> = names
            .iter()
            .filter(|(_, name)| name.is_none())
            .filter_map(|(place, _)| Some(format!("`{}`", adjoint.outputs.get(*place)?.0)))
            .collect();
        let names: Vec<&str> = names.iter().map(|(_, name)| name.unwrap_or("_")).collect();
        let call = format!("write `{} = {name}(..)`", names.join(", "));
        if dropped.is_empty() { call } else { format!("{call}; `_` drops {}", dropped.join(" and ")) }
    }

    /// The positions of the outputs and gradients of a call, with the names that the call gives them. If the number of
    /// missing names is the number of constant arguments, the gradients of these arguments have no names.
    fn result_names<'n>(
        &'n self,
        adjoint: &Adjoint,
        results: &Results,
        pending: &Pending,
    ) -> Vec<(usize, Option<&'n str>)> {
        let node = self.tree.node(pending.id);
        let equation = node.equations.iter().find(|equation| equation.rhs == pending.call);
        let given = equation.iter().flat_map(|equation| &equation.lhs);
        let given: Vec<&str> =
            given.map(|(local, _)| local.map_or("_", |local| node.name_of(local).as_ref())).collect();
        let places: Vec<usize> = (0..results.primal).chain(results.gradients.iter().copied()).collect();
        let of_constants: Vec<usize> = results
            .gradients
            .iter()
            .copied()
            .filter(|place| self.is_constant(adjoint, *place, pending))
            .collect();
        let only_gradients = results.held && given.len() == results.gradients.len();
        let skips = given.len() + of_constants.len() == places.len();
        let mut given = given.into_iter();
        let named = places.into_iter().map(|place| {
            let left_out = match only_gradients {
                true => place < results.primal,
                false => skips && of_constants.contains(&place),
            };
            (place, if left_out { None } else { given.next() })
        });
        named.collect()
    }

    /// Whether a gradient belongs to an argument that consists of literal numbers.
    fn is_constant(&self, adjoint: &Adjoint, place: usize, pending: &Pending) -> bool {
        let node = self.tree.node(pending.id);
        let child = self.tree.instances[pending.id].calls.get(&pending.call);
        let (Some(call), Some(&child)) = (node.as_call(pending.call), child) else { return false };
        let callee = self.tree.node(child);
        let Some((_, adjoint::Port::Like(local))) = adjoint.outputs.get(place) else { return false };
        let arg = callee.formals.iter().position(|formal| formal == local).and_then(|i| call.args.get(i));
        arg.is_some_and(|arg| is_number(node, *arg))
    }

    /// The equation of a call that has arguments for all inputs of the node, with `bp` and the missing gradients added.
    fn with_gradients(
        &self,
        name: &str,
        adjoint: &Adjoint,
        results: &Results,
        pending: &Pending,
        wanted: usize,
    ) -> Option<String> {
        let node = self.tree.node(pending.id);
        let given = &node.as_call(pending.call)?.args;
        let (own, have) = (given.len() - pending.extra.len(), pending.extra.len());
        let names = self.result_names(adjoint, results, pending);
        let names: Vec<&str> = names.iter().map(|(_, name)| name.unwrap_or("_")).collect();
        if have >= wanted || names.first().is_none_or(|name| *name == "_") {
            return None;
        }
        let mut args: Vec<String> = Vec::new();
        for arg in given {
            args.push(text::short(node, *arg)?);
        }
        let outputs = names.iter().take(results.primal).zip(&adjoint.outputs);
        let gradients = outputs
            .map(|(name, (output, _))| format!("d{}", if *name == "_" { output.as_str() } else { *name }));
        let all: Vec<String> = std::iter::once("true".to_owned()).chain(gradients).collect();
        args.extend(all.into_iter().take(wanted).skip(args.len() - own));
        (args.len() == own + wanted).then(|| format!("{} = {name}({})", names.join(", "), args.join(", ")))
    }

    /// An input of the node that a call of its adjoint lacks, and the call with that input added. It is the first input
    /// that has the name of a variable, or else the first one without which the types of the arguments fit.
    fn with_input(
        &mut self,
        name: &str,
        callee: &crate::hir::Node,
        pending: &Pending,
    ) -> Option<(String, String)> {
        let node = self.tree.node(pending.id);
        let given = &node.as_call(pending.call)?.args;
        let is = |arg: &ExprId, input: &str| text::short(node, *arg).is_some_and(|text| text == input);
        let defined =
            |input: &str| node.locals.iter().any(|l| *l.name == *input && l.kind != LocalKind::Undefined);
        let names: Vec<&str> = callee.formals.iter().map(|formal| callee.name_of(*formal).as_ref()).collect();
        let named = names.iter().position(|input| defined(input) && !given.iter().any(|arg| is(arg, input)));
        let at = match named {
            Some(at) if pending.shifted => at,
            // If an argument in the position of `bp` looks like a condition, an input may be missing.
            Some(at) => {
                Some(at).filter(|_| given.get(names.len() - 1).is_some_and(|arg| is_bp(node, arg)))?
            }
            None if pending.shifted => {
                (0..names.len()).find(|at| self.fits_without(callee, pending, given, *at))?
            }
            None => return None,
        };
        let mut args: Vec<String> = Vec::new();
        for arg in given {
            args.push(text::short(node, *arg)?);
        }
        args.insert(at, names[at].to_owned());
        Some((names[at].to_owned(), format!("{name}({})", args.join(", "))))
    }

    /// Whether the arguments of a call fit the types of the inputs of the node without one input, as far as they are
    /// known.
    fn fits_without(
        &mut self,
        callee: &crate::hir::Node,
        pending: &Pending,
        given: &[ExprId],
        input: usize,
    ) -> bool {
        let Some(child) = self.tree.instances[pending.id].calls.get(&pending.call).copied() else {
            return false;
        };
        let others: Vec<Local> = callee
            .formals
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != input)
            .map(|(_, formal)| *formal)
            .collect();
        others.iter().zip(given).all(|(formal, arg)| {
            let wanted = self.classes.get(self.tree.slot(child, *formal)).map(|(dtype, _)| dtype);
            let class = match self.tree.node(pending.id).exprs[*arg].kind {
                ExprKind::Local(local) => self.tree.slot(pending.id, local),
                _ => return true,
            };
            let found = self.classes.get(class).map(|(dtype, _)| dtype);
            wanted.is_none() || found.is_none() || wanted == found
        })
    }

    /// The call of an adjoint with `true` added for the missing `bp`.
    fn with_bp(&self, name: &str, callee: &crate::hir::Node, adjoint: &Adjoint, pending: &Pending) -> String {
        let node = self.tree.node(pending.id);
        let given = node.as_call(pending.call).map(|call| &*call.args).unwrap_or_default();
        let own = callee.formals.iter().map(|l| callee.name_of(*l).to_string());
        let gradients =
            adjoint.inputs.iter().rev().take(pending.extra.len()).rev().map(|(name, _)| name.clone());
        let texts = given.iter().zip(own.chain(gradients));
        let mut written: Vec<(String, String)> = texts
            .map(|(arg, name)| {
                let (of, field) = adjoint::record(&name);
                let text = text::short(node, *arg).unwrap_or_else(|| name.clone());
                (text.strip_suffix(field).unwrap_or(of).to_owned(), of.to_owned())
            })
            .collect();
        written.insert(callee.formals.len().min(written.len()), ("true".to_owned(), String::new()));
        written.dedup_by(|b, a| a.1 == b.1);
        let texts: Vec<String> = written.into_iter().map(|(text, _)| text).collect();
        format!("{name}({})", texts.join(", "))
    }
}

/// Whether an argument is a condition, judged by its form or name.
fn is_bp(node: &Node, arg: &ExprId) -> bool {
    match &node.exprs[*arg].kind {
        ExprKind::Literal(Literal::Bool(_)) => true,
        ExprKind::Local(local) => node.name_of(*local).as_ref() == "bp",
        _ => false, // Other expressions may be gradients or inputs.
    }
}

/// The correct form for `every 10`.
fn windows_of(node: &Node, end: ExprId) -> Option<String> {
    let ExprKind::Literal(Literal::Int(cycles)) = node.exprs[end].kind else { return None };
    let last = cycles.checked_sub(1).filter(|last| *last >= 0)?;
    Some(format!(
        "`every` takes a condition that is true in the last cycle of a window: for windows of {cycles} cycles write `every end`, with `t = 0 fby (if end then 0 else t + 1);` and `end = t == {last};`; for the windows of data, with an input `end: bool []`"
    ))
}

/// Whether an expression consists only of literal numbers.
fn is_number(node: &Node, id: ExprId) -> bool {
    match &node.exprs[id].kind {
        ExprKind::Literal(_) => true,
        ExprKind::Local(_) => false,
        kind => {
            let parts = kind.children();
            !parts.is_empty() && parts.into_iter().all(|part| is_number(node, part))
        }
    }
}
