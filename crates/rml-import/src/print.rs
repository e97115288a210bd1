//! A program as text.

use std::fmt::Write as _;

use rml_ir::op::{Op, Reduction};
use rml_ir::surface::{self, Level, Piece};
use rml_ir::{DType, Value};

use crate::names::{Taken, short};
use crate::program::{Along, Equation, Node, Program, Rhs, Var};
use crate::tensor::uniform;

/// How long a value that is used once may be to stand in the expression that uses it.
const SHORT: usize = 60;

/// How deeply such values are nested.
const DEPTH: usize = 6;

/// The text of a program, and for each node the names of its variables.
pub(crate) fn print(program: &Program, head: &str) -> (String, Vec<Vec<String>>) {
    let mut text = head.to_owned();
    let frozen = |e: &Equation| matches!(e.rhs, Rhs::Param { frozen: true, .. });
    if program.nodes.iter().any(|n| n.equations.iter().any(frozen)) {
        text.push_str("import std.optimisers (frozen);\n\n");
    }
    let mut names = Vec::new();
    for (id, node) in program.nodes.iter().enumerate() {
        let mut printer = Printer::new(program, node);
        text.push_str(&printer.node(id + 1 == program.nodes.len()));
        text.push('\n');
        names.push(printer.names);
    }
    (text, names)
}

struct Printer<'p> {
    program: &'p Program,
    node: &'p Node,
    /// By variable; empty for one that stands where it is used.
    names: Vec<String>,
    /// The equation of each variable.
    definition: Vec<Option<usize>>,
    uses: Vec<usize>,
    /// Whether it is an output, or a delay reads it, whose equation may stand before.
    pinned: Vec<bool>,
    outputs: Vec<bool>,
    /// The texts of variables that are used once.
    pieces: Vec<Option<(Piece, usize)>>,
    /// The name of the index of chains.
    index: String,
}

impl<'p> Printer<'p> {
    fn new(program: &'p Program, node: &'p Node) -> Self {
        let n = node.vars.len();
        let (mut definition, mut uses) = (vec![None; n], vec![0; n]);
        for (k, equation) in node.equations.iter().enumerate() {
            equation.lhs.iter().for_each(|v| definition[v.0] = Some(k));
            equation.rhs.operands().iter().for_each(|v| uses[v.0] += 1);
        }
        let mut outputs = vec![false; n];
        node.outputs.iter().for_each(|v| outputs[v.0] = true);
        let mut pinned = outputs.clone();
        for equation in &node.equations {
            if let Rhs::Fby { next, .. } = equation.rhs {
                pinned[next.0] = true;
            }
        }
        let (names, pieces) = (vec![String::new(); n], vec![None; n]);
        let index = String::new();
        let mut printer = Self { program, node, names, definition, uses, pinned, outputs, pieces, index };
        printer.name_all();
        printer
    }

    /// Gives names to inputs and outputs first, so that they keep theirs, then to parameters and others.
    fn name_all(&mut self) {
        let mut taken = Taken::default();
        let node = self.node;
        let mut name = |names: &mut Vec<String>, v: Var, default: &str| {
            if names[v.0].is_empty() {
                let words = node.vars[v.0].name.as_deref();
                names[v.0] = taken.fresh(&words.map_or_else(|| default.to_owned(), short));
            }
        };
        node.inputs.iter().for_each(|v| name(&mut self.names, *v, "x"));
        node.outputs.iter().for_each(|v| name(&mut self.names, *v, "y"));
        for equation in &node.equations {
            if matches!(equation.rhs, Rhs::Param { .. }) {
                equation.lhs.iter().for_each(|v| name(&mut self.names, *v, "weight"));
            }
        }
        for equation in node.equations.iter().filter(|e| matches!(e.rhs, Rhs::Chain { .. })) {
            let mut family = String::new();
            equation.lhs.first().into_iter().for_each(|v| name(&mut self.names, *v, "h"));
            for (k, v) in equation.lhs.iter().enumerate() {
                if k == 0 {
                    family.clone_from(&self.names[v.0]);
                }
                self.names[v.0] = format!("{family}[{}]", k + 1);
            }
        }
        for equation in &node.equations {
            // A constant that stands where it is used takes no name from others.
            let needs_name =
                |v: &&Var| if let Rhs::Const(value) = &equation.rhs { !self.nests(**v, value) } else { true };
            let named: Vec<Var> = equation.lhs.iter().filter(needs_name).copied().collect();
            named.into_iter().for_each(|v| name(&mut self.names, v, default_name(&equation.rhs)));
        }
        self.index = taken.fresh("k");
    }

    fn node(&mut self, typed: bool) -> String {
        let mut lines = Vec::new();
        for equation in &self.node.equations {
            let (rhs, depth) = self.rhs(equation);
            if let [v] = equation.lhs.as_slice()
                && self.may_nest(*v, &equation.rhs, &rhs, depth)
            {
                self.pieces[v.0] = Some((rhs, depth));
                continue;
            }
            if let Rhs::Chain { args, at, .. } = &equation.rhs {
                lines.push(self.chain(equation.lhs[0], args[*at], equation.lhs.len(), &rhs));
                continue;
            }
            let left: Vec<&str> = equation.lhs.iter().map(|v| self.left(*v)).collect();
            lines.push(format!("  {} = {};\n", left.join(", "), rhs.text));
        }
        let mut text = String::new();
        if !self.node.comment.is_empty() {
            let _ = writeln!(text, "(* {} *)", self.node.comment);
        }
        let declared = |v: &Var, printer: &Self| match typed || printer.uses[v.0] == 0 {
            true => format!("{}: {}", printer.names[v.0], printer.node.vars[v.0].ty),
            false => printer.names[v.0].clone(),
        };
        let inputs: Vec<String> = self
            .node
            .inputs
            .iter()
            .map(|v| format!("{}: {}", self.names[v.0], self.node.vars[v.0].ty))
            .collect();
        let outputs: Vec<String> = self.node.outputs.iter().map(|v| declared(v, self)).collect();
        let _ = writeln!(text, "node {}({}) -> ({})", self.node.name, inputs.join(", "), outputs.join(", "));
        text + &lines.concat()
    }

    /// The equations of a chain: its first member, and the call that makes a member of the one before.
    fn chain(&self, first: Var, before: Var, calls: usize, call: &Piece) -> String {
        let (family, k) = (self.family(first), &self.index);
        let before = self.var(before).0.text;
        format!("  {family}[0] = {before};\n  {family}[{k} + 1] = {} for {k} < {calls};\n", call.text)
    }

    /// The name of the family of a member.
    fn family(&self, member: Var) -> &str {
        self.names[member.0].split('[').next().unwrap_or("h")
    }

    /// The name on the left; `_` for one of several results that nothing reads.
    fn left(&self, v: Var) -> &str {
        let read = self.uses[v.0] > 0 || self.outputs[v.0];
        let single = self.definition[v.0].is_some_and(|e| self.node.equations[e].lhs.len() == 1);
        if read || single { &self.names[v.0] } else { "_" }
    }

    /// Whether a variable stands where it is used.
    fn may_nest(&self, v: Var, rhs: &Rhs, text: &Piece, depth: usize) -> bool {
        if self.pinned[v.0] {
            return false;
        }
        match rhs {
            Rhs::Const(value) => self.nests(v, value),
            Rhs::Apply(..) | Rhs::Fold { .. } => {
                self.uses[v.0] == 1 && text.text.len() <= SHORT && depth < DEPTH
            }
            Rhs::Param { .. } | Rhs::If { .. } | Rhs::Fby { .. } | Rhs::Call { .. } | Rhs::Chain { .. } => {
                false
            }
        }
    }

    /// Whether a constant stands where it is used: once, or if it is short.
    fn nests(&self, v: Var, value: &Value) -> bool {
        let is_short = || value.shape().is_scalar() || constant(value).text.len() < 24;
        !self.pinned[v.0] && (self.uses[v.0] == 1 || is_short())
    }

    /// A variable where it is read, and how deeply expressions are nested in it.
    fn var(&self, v: Var) -> (Piece, usize) {
        self.pieces[v.0].clone().unwrap_or_else(|| (Piece::atom(self.names[v.0].as_str()), 0))
    }

    fn rhs(&self, Equation { lhs, rhs }: &Equation) -> (Piece, usize) {
        let operands: Vec<(Piece, usize)> = rhs.operands().into_iter().map(|v| self.var(v)).collect();
        let depth = operands.iter().map(|(_, depth)| depth + 1).max().unwrap_or(0);
        let pieces: Vec<Piece> = operands.into_iter().map(|(piece, _)| piece).collect();
        let piece = match (rhs, pieces.as_slice()) {
            (Rhs::Apply(op, args), _) => self.apply(op, args, pieces),
            (Rhs::Const(value), _) => constant(value),
            (Rhs::Fold { by, axes, keep, .. }, [of]) => fold(*by, axes, *keep, of),
            (Rhs::If { .. }, [cond, then, other]) => {
                let text = format!("if {} then {} else {}", cond.text, then.text, other.text);
                Piece::new(text, Level::If)
            }
            (Rhs::Fby { .. }, [init, next]) => {
                Piece::new(format!("{} fby {}", init.clone().at(Level::Or), next.text), Level::Fby)
            }
            (Rhs::Param { ty, frozen, .. }, _) => {
                let init =
                    if ty.shape.is_scalar() { "0.0".to_owned() } else { format!("zeros({})", ty.shape) };
                Piece::atom(format!("param({init}){}", if *frozen { " by frozen" } else { "" }))
            }
            (Rhs::Call { node, along, .. }, _) => self.call(*node, &pieces, along.as_ref()),
            (Rhs::Chain { node, at, .. }, _) => {
                let mut pieces = pieces;
                pieces[*at] = Piece::atom(format!("{}[{}]", self.family(lhs[0]), self.index));
                self.call(*node, &pieces, None)
            }
            (Rhs::Fold { .. } | Rhs::If { .. } | Rhs::Fby { .. }, _) => Piece::atom("_"),
        };
        (piece, depth)
    }

    fn apply(&self, op: &Op, args: &[Var], pieces: Vec<Piece>) -> Piece {
        let types: Vec<_> = args.iter().map(|v| self.node.ty(*v).clone()).collect();
        surface::applied(op, pieces, &types)
    }

    fn call(&self, node: usize, args: &[Piece], along: Option<&Along>) -> Piece {
        let args: Vec<&str> = args.iter().map(|p| p.text.as_str()).collect();
        let call = format!("{}({})", self.program.nodes[node].name, args.join(", "));
        let Some(along) = along else { return Piece::atom(call) };
        let axis = |a: &Option<usize>| a.map_or_else(|| "_".to_owned(), |a| a.to_string());
        let axes: Vec<String> = along.axes.iter().map(axis).collect();
        let axes = match axes.as_slice() {
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        };
        Piece::new(format!("{call} along {}{axes}", if along.back { "back " } else { "" }), Level::When)
    }
}

fn default_name(rhs: &Rhs) -> &str {
    match rhs {
        Rhs::Apply(op, _) => op.name(),
        Rhs::Fold { by, .. } => by.name(),
        Rhs::Const(_) => "k",
        Rhs::Param { .. } => "weight",
        Rhs::If { .. } => "chosen",
        Rhs::Fby { .. } => "before",
        Rhs::Call { .. } => "result",
        Rhs::Chain { .. } => "h",
    }
}

fn fold(by: Reduction, axes: &[usize], keep: bool, of: &Piece) -> Piece {
    let axes = match axes {
        [one] => one.to_string(),
        several => format!("{several:?}"),
    };
    let keep = if keep { ", true" } else { "" };
    Piece::atom(format!("{}({}, {axes}{keep})", by.name(), of.text))
}

/// A constant. Empty ones, and arrays of one element that is repeated, have the type that their element says.
fn constant(value: &Value) -> Piece {
    match uniform(value) {
        Some(element) if !value.shape().is_scalar() && value.dtype() != DType::Num => {
            Piece::atom(format!("broadcast({}, {})", value.shape(), surface::value(&element).text))
        }
        _ => surface::value(value),
    }
}
