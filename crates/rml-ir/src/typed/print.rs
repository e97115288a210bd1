//! Text form of the typed stage, for reading only: expressions stay nested, variables print as `v3` with
//! their names beside them.

use std::fmt::{self, Write};

use super::{Callee, ConstKind, Equation, Expr, ExprId, ExprKind, Formal, Module, Node, Var};
use crate::normal::print::{RuleText, VarText};
use crate::text::{Commas, ConstantText, StaticsText};

/// The module as text.
pub fn print(module: &Module) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_module(&mut out, module);
    out
}

fn write_module(out: &mut String, module: &Module) -> fmt::Result {
    writeln!(out, "typed {} root {}", module.precision, module.root)?;
    for (node, with) in &module.overrides {
        writeln!(out, "override {node} {with}")?;
    }
    for ((rule, ty), node) in &module.optimisers {
        writeln!(out, "optimiser {ty} {node}{}", RuleText(*rule))?;
    }
    for (id, node) in module.nodes.iter_enumerated() {
        let held = if node.held > 0 { format!(" held {}", node.held) } else { String::new() };
        writeln!(out, "\nnode {id} {:?}{held}", node.name)?;
        write_interface(out, node)?;
        for equation in &node.equations {
            write_equation(out, node, equation)?;
        }
    }
    Ok(())
}

fn write_interface(out: &mut String, node: &Node) -> fmt::Result {
    for formal in &node.formals {
        match formal {
            Formal::Static { name, value } => writeln!(out, "  formal static {name:?} = {value}")?,
            Formal::Stream(input) => match input.clock {
                None => writeln!(out, "  formal {}", input.var)?,
                Some((c, true)) => writeln!(out, "  formal {} when {c}", input.var)?,
                Some((c, false)) => writeln!(out, "  formal {} when not {c}", input.var)?,
            },
        }
    }
    for output in &node.outputs {
        writeln!(out, "  output {output}")?;
    }
    for claim in &node.claims {
        let not = if claim.positive { "" } else { "not " };
        writeln!(out, "  claim {} when {not}{}", claim.var, claim.cond)?;
    }
    for (name, text) in &node.statics {
        writeln!(out, "  static {name:?} = {text:?}")?;
    }
    for (var, data) in node.vars.iter_enumerated() {
        writeln!(out, "  var {var} {}", VarText(data))?;
    }
    Ok(())
}

fn write_equation(out: &mut String, node: &Node, equation: &Equation) -> fmt::Result {
    let name = |v: &Option<Var>| v.map_or_else(|| "_".to_owned(), |v| v.to_string());
    let lhs: Vec<String> = equation.lhs.iter().map(name).collect();
    write!(out, "  {} = ", Commas(&lhs))?;
    write_expr(out, node, equation.rhs)?;
    let names = equation.lhs.iter().flatten().filter_map(|v| node.vars.get(*v)?.name.clone());
    let names: Vec<_> = names.collect();
    if names.is_empty() { writeln!(out) } else { writeln!(out, "  # {}", Commas(&names)) }
}

fn write_expr(out: &mut String, node: &Node, id: ExprId) -> fmt::Result {
    let Some(Expr { kind, ty, .. }) = node.exprs.get(id) else {
        return write!(out, "{id}?");
    };
    match kind {
        ExprKind::Const(c) => {
            let random = matches!(c.kind, ConstKind::Random(_));
            if random || !ty.shape.is_scalar() {
                write!(out, "({ty} {})", ConstantText(c))
            } else {
                write!(out, "{}", ConstantText(c))
            }
        }
        ExprKind::Var(v) => write!(out, "{v}"),
        ExprKind::Apply { op, args, statics } => {
            write_form(out, node, &op.to_string(), args)?;
            write!(out, "{}", StaticsText(statics))
        }
        ExprKind::If { cond, then, other } => write_form(out, node, "if", &[*cond, *then, *other]),
        ExprKind::When { value, cond } => write_form(out, node, "when", &[*value, *cond]),
        ExprKind::Merge { cond, on_true, on_false } => {
            write_form(out, node, "merge", &[*cond, *on_true, *on_false])
        }
        ExprKind::Fby { init, next } => write_form(out, node, "fby", &[*init, *next]),
        ExprKind::FbyBack { init, next } => write_form(out, node, "fby_back", &[*init, *next]),
        ExprKind::Post { next } => write_form(out, node, "post", &[*next]),
        ExprKind::Param { init, by } => {
            write_form(out, node, "param", &[*init])?;
            write!(out, "{}", RuleText(*by))
        }
        ExprKind::Call { callee, args, every, statics, member, instance } => {
            let name = match callee {
                Callee::Node(n) => format!("call {n}"),
                Callee::Diff { node, order } => format!("call diff {node}^{order}"),
            };
            write_form(out, node, &name, args)?;
            if let Some(end) = every {
                out.push_str(" every ");
                write_expr(out, node, *end)?;
            }
            if let Some(member) = member {
                write!(out, " in {member}")?;
            }
            if let Some(instance) = instance {
                write!(out, " as {instance}")?;
            }
            write!(out, "{}", StaticsText(statics))
        }
    }
}

fn write_form(out: &mut String, node: &Node, name: &str, operands: &[ExprId]) -> fmt::Result {
    write!(out, "{name}(")?;
    for (i, operand) in operands.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_expr(out, node, *operand)?;
    }
    out.push(')');
    Ok(())
}
