//! The calls of a copy: which node is called, directly or through a name that denotes a node, and with which static
//! arguments.

use std::sync::Arc;

use rml_base::{Diagnostic, Span};
use rml_ir::typed::{Rule, StaticValue};
use rml_syntax::ast::DefinitionForm;

use super::copy::Copy;
use super::early::Why;
use super::kind_of::stacked_if;
use super::kinds::{Kind, Value, declared};
use super::value::{Given, NodeValue, Target};
use super::{Env, advice, along};
use crate::builtins::Builtin;
use crate::hir::{Apply, Clauses, Passed, Structure, Target as Written};
use crate::hir::{Call, ExprId, ExprKind, LocalKind, Node, Order, Role, Share, SourceId};

/// The result of expanding a call.
pub(super) enum Made {
    /// A call, and the kinds of its results.
    Call(Call, Vec<Option<Kind>>),
    Value(Value<ExprId>),
}

/// An argument of a call of the copy.
enum Arg {
    /// An expression of the template.
    Expr(ExprId),
    /// A value that was given with a node, and its enumeration if it is a case.
    Value(StaticValue, Span, Option<SourceId>),
    Node(NodeValue),
    /// An argument in error, which is reported.
    Error(Span),
}

/// The parts of a call other than the callee and its arguments.
pub(super) struct How {
    order: Order,
    name_span: Span,
    /// The clauses after the arguments, with an axis for each argument.
    pub(super) clauses: Clauses,
    pub(super) span: Span,
    /// The number of results that are used.
    results: usize,
    /// The shared instance that is called, and the rule that updates its parameters.
    pub(super) share: Option<(Share, Option<Rule>)>,
}

impl Copy<'_, '_> {
    /// Expands a call that names a node.
    pub(super) fn call_of(&mut self, call: &Call, span: Span, results: usize) -> Made {
        let args = call.args.iter().map(|arg| self.arg(*arg)).collect();
        let &Call { callee, order, name_span, .. } = call;
        let clauses = along::each(&call.clauses, call.args.len());
        let how = How { order, name_span, clauses, span, results, share: None };
        self.call(callee, args, how)
    }

    fn arg(&mut self, arg: ExprId) -> Arg {
        let template = Arc::clone(&self.template);
        let expr = &template.exprs[arg];
        match &expr.kind {
            ExprKind::Structure(Structure::Node(passed)) => {
                self.node_value(passed, expr.span).map_or(Arg::Error(expr.span), Arg::Node)
            }
            ExprKind::Error(parts) if parts.is_empty() => Arg::Error(expr.span),
            _ => Arg::Expr(arg),
        }
    }

    /// A node that is passed as an argument.
    pub(super) fn node_value(&mut self, passed: &Passed, span: Span) -> Option<NodeValue> {
        let given = match &passed.given {
            None => None,
            Some(given) => {
                let given: Vec<Option<Option<Given>>> =
                    given.iter().map(|arg| arg.map(|arg| self.given(arg))).collect();
                if given.iter().any(|given| matches!(given, Some(None))) {
                    return None;
                }
                Some(given.into_iter().map(Option::flatten).collect())
            }
        };
        match passed.target {
            Written::Source(id) => Some(NodeValue {
                target: Target::Source(id),
                order: passed.order,
                given,
                span,
                share: None,
                rule: None,
            }),
            Written::Builtin(which) => Some(NodeValue {
                target: Target::Builtin(which),
                order: passed.order,
                given,
                span,
                share: None,
                rule: None,
            }),
            Written::Formal(formal) => {
                let mut value = self.node_of(formal)?.clone();
                let Some(order) = value.order.then(passed.order) else {
                    self.say(advice::trains(&value.order, span));
                    return None;
                };
                value.order = order;
                if let Some(given) = given {
                    value.given = Some(match value.given.take() {
                        None => given,
                        Some(before) => filled(before, given),
                    });
                }
                Some(value)
            }
        }
    }

    /// An argument that is given together with a node; `None` if it is in error.
    fn given(&mut self, arg: ExprId) -> Option<Given> {
        let span = self.template.exprs[arg].span;
        match self.arg(arg) {
            Arg::Node(node) => Some(Given::Node(node)),
            Arg::Error(_) | Arg::Value(..) => None,
            Arg::Expr(arg) => match self.early(arg) {
                Ok(value) => {
                    let of = match self.template.exprs[arg].kind {
                        ExprKind::Local(local) => self.enum_of(local),
                        _ => None,
                    };
                    Some(Given::Value(value, span, of))
                }
                Err(why) => {
                    match why {
                        Why::Unknown => {}
                        Why::Stream(at) => self.say(advice::given(span, at)),
                        Why::Bad(d) => self.say(*d),
                    }
                    self.unknown = true;
                    None
                }
            },
        }
    }

    /// Expands a call of a node that is an argument; `results` results are expected.
    pub(super) fn apply(&mut self, apply: &Apply, span: Span, results: usize) -> Made {
        let value = self.node_of(apply.formal).cloned();
        let mut args: Vec<Arg> = apply.args.iter().map(|arg| self.arg(*arg)).collect();
        let Some(value) = value else { return self.failed(args, span) };
        let formal = self.template.name_of(apply.formal).clone();
        let mut clauses = along::each(&apply.clauses, args.len());
        if let Some(given) = &value.given {
            let open = given.iter().filter(|given| given.is_none()).count();
            if args.len() < open || value.order.times == 0 && apply.order.times == 0 && args.len() > open {
                let message =
                    format!("`{formal}` takes {}, but {} given", crate::lower::arguments(open), args.len());
                self.say(advice::arity(&formal, &value, span, message));
                return self.failed(args, span);
            }
            let mut rest = args.into_iter();
            let mut all: Vec<Arg> = Vec::new();
            for given in given {
                all.extend(match given {
                    None => rest.next(),
                    Some(Given::Value(value, span, of)) => Some(Arg::Value(value.clone(), *span, *of)),
                    Some(Given::Node(node)) => Some(Arg::Node(node.clone())),
                });
            }
            all.extend(rest);
            args = all;
            if let Some(along) = &mut clauses.along {
                let open = given.iter().map(Option::is_none);
                along::filled(along, open);
            }
        }
        let Some(order) = value.order.then(apply.order) else {
            self.say(advice::trains(&value.order, span));
            return self.failed(args, span);
        };
        match value.target {
            Target::Builtin(which) => self.builtin(which, args, &value, apply, (span, results)),
            Target::Source(id) => {
                let callee = Arc::clone(&self.expansion.program.nodes[id]);
                if let Some(d) = misfit(&formal, &callee, &value, order, (args.len(), results), span) {
                    self.say(d);
                    return self.failed(args, span);
                }
                let share = value.share.map(|share| (share, value.rule));
                let name_span = apply.name_span;
                self.call(id, args, How { order, name_span, clauses, span, results, share })
            }
        }
    }

    fn builtin(
        &mut self,
        which: Builtin,
        args: Vec<Arg>,
        value: &NodeValue,
        apply: &Apply,
        (span, results): (Span, usize),
    ) -> Made {
        let (formal, name) = (self.template.name_of(apply.formal).clone(), which.name());
        let (least, most, usage) = which.arity();
        let message = if apply.order.times > 0 || value.order.times > 0 {
            Some(format!("the function `{name}` has no adjoint that can be called"))
        } else if let Some(message) = useless(&apply.clauses) {
            Some(format!("the function `{name}` has no {message}"))
        } else if results != 1 {
            Some(format!("the function `{name}` gives one value, but {results} are expected"))
        } else if args.len() < least || args.len() > most {
            Some(format!("the function `{name}` takes {usage}, but {} given", args.len()))
        } else {
            None
        };
        if let Some(message) = message {
            let d = advice::arity(&formal, value, span, message);
            self.say(d.help(format!("pass a node that calls it: `node f(x) -> (o)  o = {name}(x);`")));
            return self.failed(args, span);
        }
        let args = args.into_iter().map(|arg| self.value_arg(arg, name, span)).collect();
        Made::Value(Value::One(self.push(ExprKind::Builtin { which, args }, span)))
    }

    /// Expands a call of a node. Nodes among its arguments determine which copy is called.
    fn call(&mut self, callee: SourceId, args: Vec<Arg>, how: How) -> Made {
        let node = Arc::clone(&self.expansion.program.nodes[callee]);
        if node.form == DefinitionForm::Record {
            let args = args.into_iter().map(|arg| self.argument(arg, &node.name, how.span)).collect();
            return Made::Value(self.constructed(callee, args, how.span));
        }
        let within = Order { times: self.env.held, held: self.env.held };
        let Some(Order { held, .. }) = how.order.then(within) else {
            self.say(advice::trains(&how.order, how.span));
            return self.failed(args, how.span);
        };
        let passed = args.iter().filter_map(|arg| match arg {
            Arg::Node(NodeValue { target: Target::Source(id), .. }) => Some(*id),
            Arg::Node(_) | Arg::Expr(_) | Arg::Value(..) | Arg::Error(_) => None,
        });
        let passed: Vec<SourceId> = passed.collect();
        if let Some(d) = along::misused(&node.name, &how.clauses, how.order, how.span) {
            self.say(d);
            return self.failed(args, how.span);
        }
        // A call along an axis starts again in each cycle.
        let restarts = match how.clauses.along {
            Some(_) => Vec::new(),
            None => self.restarted_by(how.clauses.restart, callee),
        };
        let restart_span = how.clauses.restart.map_or(how.span, |restart| self.template.exprs[restart].span);
        let mut axes = Vec::new();
        let kinds =
            stacked_if(how.clauses.along.is_some(), self.outputs(callee, how.order.times, how.results));
        if how.order.times > 0 && how.results > kinds.len() && kinds.iter().any(Option::is_some) {
            self.say(advice::results(&node, how.order, how.results, kinds.len(), how.span));
            return self.failed(args, how.span);
        }
        let mut env = Env::default();
        let mut values = Vec::with_capacity(args.len());
        for (position, arg) in args.into_iter().enumerate() {
            if position == node.formals.len() {
                values.extend(self.restart_argument(&restarts, restart_span));
            }
            let formal = node.formals.get(position);
            if !formal.is_some_and(|formal| node.locals[*formal].kind == LocalKind::Node) {
                if let Some(formal) = formal.filter(|_| node.template)
                    && matches!(node.roles[*formal], Role::Static | Role::Both | Role::Unused)
                {
                    env.values.insert(position, self.static_arg(&arg));
                }
                let (value, span) = self.argument(arg, &node.name, how.span);
                let before = values.len();
                match formal {
                    Some(&formal) => {
                        let want = declared(&node, formal);
                        values.extend(self.fitting(value, want, (&node, Some(formal)), span));
                    }
                    // Arguments of an adjoint after the inputs of the node.
                    None => values.extend(value.leaves()),
                }
                let axis = how.clauses.along.as_ref().and_then(|along| along.axes[position]);
                axes.resize(axes.len() + values.len() - before, axis);
                continue;
            }
            match arg {
                Arg::Node(value) => {
                    env.nodes.insert(position, value);
                }
                Arg::Error(_) => return self.failed(Vec::new(), how.span),
                Arg::Expr(_) | Arg::Value(..) => {
                    let name = formal.map_or("", |formal| node.name_of(*formal));
                    let message = format!("`{name}` of `{}` is a node, found a value", node.name);
                    self.say(
                        Diagnostic::error(rml_base::codes::elab::NODE_ARGUMENT, message)
                            .label(how.span, "a value is passed on here")
                            .label(node.span, "its interface"),
                    );
                    return self.failed(Vec::new(), how.span);
                }
            }
        }
        if how.order.times == 0 {
            values.extend(self.restart_argument(&restarts, restart_span));
        }
        let Some(rule) = self.rule_of(callee, &passed, &how) else {
            return self.failed(Vec::new(), how.span);
        };
        (env.restarts, env.held, env.rule) = (!restarts.is_empty(), held, rule);
        let library = self.expansion.program.scopes.is_library(self.template.file);
        let via = if library { self.via.clone() } else { Some((how.span, node.name.clone())) };
        let first = if callee == self.source { self.first } else { Some(how.span) };
        let callee = self.expansion.request(callee, env, self.depth + 1, via, first);
        let every = how.clauses.every.map(|end| self.expr(end));
        let along = how.clauses.along.map(|along| self.along(axes, along.back));
        let call = Call {
            callee,
            order: how.order,
            name_span: how.name_span,
            args: values,
            clauses: Clauses { every, along, ..Clauses::default() },
            member: self.member.clone(),
            share: how.share.map(|(share, _)| share),
            restarts,
        };
        Made::Call(call, kinds)
    }

    /// The value of an argument, if it is static.
    fn static_arg(&self, arg: &Arg) -> Result<StaticValue, Why> {
        match arg {
            Arg::Expr(arg) => self.early(*arg).map_err(|why| match why {
                Why::Stream(_) => Why::Stream(self.template.exprs[*arg].span),
                // Errors are reported where the value is needed.
                Why::Unknown | Why::Bad(_) => Why::Unknown,
            }),
            Arg::Value(value, ..) => Ok(value.clone()),
            Arg::Node(_) | Arg::Error(_) => Err(Why::Unknown),
        }
    }

    /// An argument that is not a node, and its place.
    fn argument(&mut self, arg: Arg, callee: &str, span: Span) -> (Value<ExprId>, Span) {
        let (value, span) = match arg {
            Arg::Expr(arg) => return (self.value(arg), self.template.exprs[arg].span),
            Arg::Value(value, span, of) => (self.literal_of(&value, of, span), span),
            Arg::Node(value) => {
                self.say(advice::no_value(&value, callee, span));
                (self.in_error(Vec::new(), span), span)
            }
            Arg::Error(span) => (self.in_error(Vec::new(), span), span),
        };
        (Value::One(value), span)
    }

    /// An argument that must be one value.
    fn value_arg(&mut self, arg: Arg, callee: &str, span: Span) -> ExprId {
        match self.argument(arg, callee, span) {
            (Value::One(value), _) => value,
            (record @ Value::Record(..), span) => self.no_value(&record, span, None),
        }
    }

    /// Handles a call in error: expands its arguments, to report their errors.
    fn failed(&mut self, args: Vec<Arg>, span: Span) -> Made {
        let mut parts = Vec::new();
        for arg in args {
            if let Arg::Expr(arg) = arg {
                parts.extend(self.value(arg).leaves());
            }
        }
        Made::Value(Value::One(self.in_error(parts, span)))
    }
}

/// The reason why a call of a function cannot have these clauses, such as "state, so it does not restart".
fn useless(clauses: &Clauses) -> Option<&'static str> {
    let Clauses { every, restart, by, along } = clauses;
    if by.is_some() {
        Some("parameters that are updated")
    } else if every.is_some() {
        Some("state, so it does not run window by window")
    } else if restart.is_some() {
        Some("state, so it does not restart")
    } else if along.is_some() {
        Some("state, so it does not run along an axis")
    } else {
        None
    }
}

/// Fills the open arguments in `before` with those in `given`.
fn filled(before: Vec<Option<Given>>, given: Vec<Option<Given>>) -> Vec<Option<Given>> {
    let mut rest = given.into_iter();
    let mut all: Vec<Option<Given>> =
        before.into_iter().map(|given| given.or_else(|| rest.next().flatten())).collect();
    all.extend(rest);
    all
}

/// The error of a call of a node that is an argument, if the call does not fit the node.
fn misfit(
    formal: &str,
    callee: &Node,
    value: &NodeValue,
    order: Order,
    (args, results): (usize, usize),
    span: Span,
) -> Option<Diagnostic> {
    if order.times > 0 {
        return None; // The interface of an adjoint depends on types.
    }
    let (inputs, outputs) = (callee.formals.len(), callee.outputs.len());
    let name = &callee.name;
    let message = if args != inputs {
        format!("`{name}` takes {}, but `{formal}` is called with {args}", crate::lower::arguments(inputs))
    } else if outputs != results && !(outputs == 0 && results == 1) {
        let outputs = format!("{outputs} output{}", if outputs == 1 { "" } else { "s" });
        let are = if results == 1 { "is" } else { "are" };
        format!("`{name}` has {outputs}, but {results} {are} expected of `{formal}`")
    } else {
        return None;
    };
    let d = advice::arity(formal, value, span, message).label(callee.span, "its interface");
    Some(d.help(format!("pass a node with the interface that the calls of `{formal}` have")))
}
