//! Text form of the normal form; [`parse`](super::parse) reads it back. One line an entry, ids count from 0
//! within a node, `#` starts a remark (the equation's id and the names it defines):
//!
//! ```text
//! normal f32 root n1                                  precision and root
//! override n0 n2                                      the program's own adjoint of a node
//! optimiser num [4] n3                                the optimiser of parameters of a type
//! node n0 "dense"
//!   formal static "units" = 4                         formals in order: static ones with their value,
//!   formal v0 when not v1                             streams with their clock
//!   output v2
//!   claim v2 when v1                                  the declared clock of an output
//!   static "shape" = "[units, d]"                     local static names, as written
//!   var v0 num [4] "x"                                type and name, if it has one
//!   var v9 int [] asserts "level"                     the property that its equation checks
//!   var v2 int [] "p" cases "Idle" "Heat"             the names of its values, for an enumeration
//!   const k0 num [4] = fill 0.0 as "zeros([units])"   or `[1.0, 2.0, ..]`, or `random glorot_uniform`
//!   v2 = fby k0 v3                                    see [`Rhs`] for the primitives
//!   v4, v5 = call n0 "dense_0" (v2) every v1 statics ["4"]
//!   v6, v7, v8 = diff n0 1 "diff_dense_0" (v2, v1, v9)
//! ```

use std::fmt::{self, Write};

use rml_base::IndexVec;

use super::{Callee, ClockClaim, Equation, Formal, Init, Input, Module, Node, Rhs, Rule, Var, VarData};
use crate::text::{Commas, ConstantText, StaticsText};

/// The module as text.
pub fn print(module: &Module) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_module(&mut out, module);
    out
}

fn write_module(out: &mut String, module: &Module) -> fmt::Result {
    writeln!(out, "normal {} root {}", module.precision, module.root)?;
    for (node, with) in &module.overrides {
        writeln!(out, "override {node} {with}")?;
    }
    for ((rule, ty), node) in &module.optimisers {
        writeln!(out, "optimiser {ty} {node}{}", RuleText(*rule))?;
    }
    for (id, node) in module.nodes.iter_enumerated() {
        let held = if node.held > 0 { format!(" held {}", node.held) } else { String::new() };
        writeln!(out, "\nnode {id} {:?}{held}", node.name)?;
        write_node(out, node)?;
    }
    Ok(())
}

fn write_node(out: &mut String, node: &Node) -> fmt::Result {
    for formal in &node.formals {
        match formal {
            Formal::Static { name, value } => writeln!(out, "  formal static {name:?} = {value}")?,
            Formal::Stream(input) => writeln!(out, "  formal {}", InputText(input))?,
        }
    }
    for output in &node.outputs {
        writeln!(out, "  output {output}")?;
    }
    for claim in &node.claims {
        writeln!(out, "  claim {}", ClaimText(claim))?;
    }
    for (name, text) in &node.statics {
        writeln!(out, "  static {name:?} = {text:?}")?;
    }
    for (var, data) in node.vars.iter_enumerated() {
        writeln!(out, "  var {var} {}", VarText(data))?;
    }
    for (id, constant) in node.consts.iter_enumerated() {
        writeln!(out, "  const {id} {} = {}", constant.ty, ConstantText(constant))?;
    }
    for (eq, equation) in node.equations.iter_enumerated() {
        write_equation(out, equation)?;
        writeln!(out, "  # {eq}{}", Names(&equation.lhs, &node.vars))?;
    }
    Ok(())
}

fn write_equation(out: &mut String, equation: &Equation) -> fmt::Result {
    write!(out, "  {} = ", Commas(&equation.lhs))?;
    match &equation.rhs {
        Rhs::Const(k) => write!(out, "const {k}"),
        Rhs::Apply { op, args, statics } => {
            write!(out, "apply {op} ({}){}", Commas(args), StaticsText(statics))
        }
        Rhs::If { cond, then, other } => write!(out, "if {cond} {then} {other}"),
        Rhs::When { value, cond } => write!(out, "when {value} {cond}"),
        Rhs::Merge { cond, on_true, on_false } => write!(out, "merge {cond} {on_true} {on_false}"),
        Rhs::Fby { init, next } => write!(out, "fby {} {next}", InitText(init)),
        Rhs::FbyBack { init, next } => write!(out, "fby_back {} {next}", InitText(init)),
        Rhs::Post { next } => write!(out, "post {next}"),
        Rhs::Param { init, by } => write!(out, "param {init}{}", RuleText(*by)),
        Rhs::ParamUpdate { init, bp, d, optimiser, instance } => {
            let instance = instance.as_ref().map(|i| format!(" {i:?}")).unwrap_or_default();
            write!(out, "param_update {init} {bp} {d} by {optimiser}{instance}")
        }
        Rhs::Call { callee, args, every, instance, statics } => {
            match callee {
                Callee::Node(node) => write!(out, "call {node}")?,
                Callee::Diff { node, order } => write!(out, "diff {node} {order}")?,
            }
            write!(out, " {instance:?} ({})", Commas(args))?;
            if let Some(end) = every {
                write!(out, " every {end}")?;
            }
            write!(out, "{}", StaticsText(statics))
        }
    }
}

/// An input with its clock: `v0`, `v0 when v1`, `v0 when not v1`.
pub(crate) struct InputText<'a>(pub(crate) &'a Input);

impl fmt::Display for InputText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.clock {
            None => write!(f, "{}", self.0.var),
            Some((cond, true)) => write!(f, "{} when {cond}", self.0.var),
            Some((cond, false)) => write!(f, "{} when not {cond}", self.0.var),
        }
    }
}

/// A claim: `v0 when v1`, `v0 when not v1`.
pub(crate) struct ClaimText<'a>(pub(crate) &'a ClockClaim);

impl fmt::Display for ClaimText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClockClaim { var, cond, positive, .. } = *self.0;
        InputText(&Input { var, clock: Some((cond, positive)) }).fmt(f)
    }
}

/// What updates a parameter, unless it is `diff_param`.
pub(crate) struct RuleText(pub(crate) Rule);

impl fmt::Display for RuleText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Rule::DEFAULT { Ok(()) } else { write!(f, " by {}", self.0) }
    }
}

/// A variable's type and name.
pub(crate) struct VarText<'a>(pub(crate) &'a VarData);

impl fmt::Display for VarText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.ty)?;
        if let Some(name) = &self.0.name {
            write!(f, " {name:?}")?;
        }
        if let Some(name) = &self.0.asserts {
            write!(f, " asserts {name:?}")?;
        }
        let Some(cases) = &self.0.cases else { return Ok(()) };
        f.write_str(" cases")?;
        cases.iter().try_for_each(|case| write!(f, " {case:?}"))
    }
}

/// A delay's initialiser.
pub(crate) struct InitText<'a>(pub(crate) &'a Init);

impl fmt::Display for InitText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Init::Const(k) => write!(f, "{k}"),
            Init::Stream(v) => write!(f, "{v}"),
        }
    }
}

/// The names of variables, for remarks.
pub(crate) struct Names<'a>(pub(crate) &'a [Var], pub(crate) &'a IndexVec<Var, VarData>);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in self.0.iter().filter_map(|v| self.1.get(*v)?.name.as_ref()) {
            write!(f, " {name}")?;
        }
        Ok(())
    }
}
