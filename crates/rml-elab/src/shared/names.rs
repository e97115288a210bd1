//! The names of parameters and instances in the paths of parameters. They are the names that normalisation and inlining
//! use: an instance has the name of its node and a number, a parameter the name of its variable.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_ir::typed::{self, Callee};

use crate::builtins::Builtin;
use crate::hir::{self, ExprKind};
use crate::instance::{InstanceId, Tree};

/// A parameter or a call, which have names in paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part<E> {
    Parameter(E),
    Call(E),
}

/// Assigns names in textual order.
#[derive(Default)]
struct Names {
    instances: IndexMap<String, usize>,
    parameters: IndexMap<String, usize>,
}

impl Names {
    fn instance(&mut self, order: u8, member: Option<&str>, name: &str) -> String {
        let member = member.map_or_else(String::new, |member| format!("{member}."));
        let name = format!("{}{member}{name}", "diff_".repeat(order.into()));
        let count = self.instances.entry(name.clone()).or_insert(0);
        *count += 1;
        // A parameter has the same path whether its node is called or differentiated.
        let mut stripped = &*name;
        while let Some(rest) = stripped.strip_prefix("diff_") {
            stripped = rest;
        }
        format!("{stripped}_{}", *count - 1)
    }

    /// Names the parameters in the equation of `owner`. With `alone`, there is only one, and the equation is no state.
    fn parameters<E>(&mut self, owner: &str, alone: bool, parts: &mut [(String, Part<E>)]) {
        for (name, _) in parts.iter_mut().filter(|(_, part)| matches!(part, Part::Parameter(_))) {
            *name = if alone {
                owner.to_owned()
            } else {
                let count = self.parameters.entry(owner.to_owned()).or_insert(0);
                *count += 1;
                format!("{owner}.param{}", *count - 1)
            };
        }
    }
}

/// The parameters and instances in an instance.
pub(super) fn of_instance(tree: &Tree<'_>, id: InstanceId) -> Vec<(String, Part<hir::ExprId>)> {
    let node = tree.node(id);
    let (mut names, mut found) = (Names::default(), Vec::new());
    for equation in &node.equations {
        if let [(Some(local), _)] = equation.lhs[..]
            && !tree.is_stream(id, local)
        {
            continue;
        }
        let owner = equation.lhs.iter().find_map(|(local, _)| *local);
        let owner = owner.map_or("", |local| &**node.name_of(local));
        let (first, mut parameters) = (found.len(), 0);
        let mut todo = vec![equation.rhs];
        while let Some(expr) = todo.pop() {
            match &node.exprs[expr].kind {
                ExprKind::Call(call) => {
                    let callee = &tree.program.nodes[call.callee].name;
                    let name = names.instance(call.order.times, call.member.as_deref(), callee);
                    found.push((name, Part::Call(expr)));
                }
                ExprKind::Builtin { which: Builtin::Param, .. } => {
                    parameters += 1;
                    found.push((String::new(), Part::Parameter(expr)));
                }
                _ => {} // Only these have names.
            }
            todo.extend(tree.operands(id, expr).into_iter().rev());
        }
        let is_state = matches!(node.exprs[equation.rhs].kind, ExprKind::Fby { .. });
        names.parameters(owner, parameters == 1 && !is_state, &mut found[first..]);
    }
    found
}

/// The parameters and instances in a typed node; `name` is the name of a node.
pub(crate) fn of_node(
    node: &typed::Node,
    name: &dyn Fn(Callee) -> (Arc<str>, u8),
) -> Vec<(String, Part<typed::ExprId>)> {
    let (mut names, mut found) = (Names::default(), Vec::new());
    for equation in &node.equations {
        let owner = equation.lhs.iter().flatten().find_map(|var| node.vars[*var].name.as_deref());
        let (first, mut parameters) = (found.len(), 0);
        let mut todo = vec![equation.rhs];
        while let Some(expr) = todo.pop() {
            match &node.exprs[expr].kind {
                typed::ExprKind::Call { callee, member, instance, .. } => {
                    let (callee, order) = name(*callee);
                    let name = match instance {
                        Some(instance) => instance.to_string(),
                        None => names.instance(order, member.as_deref(), &callee),
                    };
                    found.push((name, Part::Call(expr)));
                }
                typed::ExprKind::Param { .. } => {
                    parameters += 1;
                    found.push((String::new(), Part::Parameter(expr)));
                }
                _ => {} // Only these have names.
            }
            todo.extend(node.exprs[expr].kind.operands().into_iter().rev());
        }
        let is_state = matches!(node.exprs[equation.rhs].kind, typed::ExprKind::Fby { .. });
        names.parameters(owner.unwrap_or(""), parameters == 1 && !is_state, &mut found[first..]);
    }
    found
}
