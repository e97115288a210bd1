//! Nodes in normal form as source text of the language, which parses and elaborates to the same meaning again.
//!
//! Temporaries that are read once are folded back into nested expressions with as few parentheses as reading needs; the
//! others get names. Static arguments and constants are printed as they were written, where the names they use still
//! exist, and as values otherwise. This module knows how source text looks, but does not depend on its parser.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use rml_base::Span;

use crate::normal::{Callee, Eq, Formal, Module, Node, NodeId, Rhs, Var};
use crate::typed::Rule;

mod constant;
mod expr;
mod flat_expr;
mod level;
mod operator;
mod sliding;

use expr::Body;
pub use flat_expr::{applied, expression, literal};
pub use level::{Level, Piece};

/// A node as source text, its inputs with their types.
pub fn print_node(module: &Module, node: NodeId) -> String {
    print_nodes(module, &[node], Some(node), &BTreeMap::new())
}

/// A value as source text: an expression that makes it.
pub fn value(value: &crate::value::Value) -> Piece {
    constant::value(value)
}

/// What comments say about the equations of an adjoint.
#[derive(Clone, Default, Debug)]
pub struct Origins {
    /// For equations of the node, those of the same node that they transpose.
    pub transposed: BTreeMap<Eq, Vec<Eq>>,
    /// The calls that stand for one of another node: its name, and how many of the outputs and inputs are its own.
    pub calls: BTreeMap<Eq, (Arc<str>, usize, usize)>,
}

/// A node as source text, in lines.
#[derive(Clone, PartialEq, Debug)]
pub struct Printed {
    /// The line with its name, inputs and outputs, and those of its static equations.
    pub head: String,
    /// Its equations, and comments before them.
    pub lines: Vec<Line>,
}

/// An equation or a comment of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// The text.
    pub text: String,
    /// The places of the program that it comes from: of the equations that it transposes, or its own; none of a
    /// comment.
    pub spans: Vec<Span>,
}

impl Printed {
    /// All of it.
    pub fn text(&self) -> String {
        let lines: String = self.lines.iter().map(|line| format!("  {}\n", line.text)).collect();
        self.head.clone() + &lines
    }
}

/// Nodes as source text, in that order; callees have to stand before callers. The inputs of `root` get their types
/// unless it has static parameters, on which they may depend; those of the others are left to inference.
///
/// Instances of one source node that print alike are printed once; where they differ, the later ones get other names.
/// The nodes of `origins` get comments that say which equations theirs transpose.
pub fn print_nodes(
    module: &Module,
    nodes: &[NodeId],
    root: Option<NodeId>,
    origins: &BTreeMap<NodeId, Origins>,
) -> String {
    let printed = printed_nodes(module, nodes, root, origins);
    printed.iter().map(Printed::text).collect::<Vec<_>>().join("\n")
}

/// The same in lines.
pub fn printed_nodes(
    module: &Module,
    nodes: &[NodeId],
    root: Option<NodeId>,
    origins: &BTreeMap<NodeId, Origins>,
) -> Vec<Printed> {
    let mut names: BTreeMap<NodeId, Arc<str>> =
        module.nodes.iter_enumerated().map(|(id, node)| (id, node.name.clone())).collect();
    let mut printed: BTreeMap<Arc<str>, String> = BTreeMap::new();
    let mut out = Vec::new();
    for &id in nodes {
        let own = own_name(module, id);
        for k in 1_u64.. {
            let name = if k == 1 { own.clone() } else { Arc::from(format!("{own}_{k}")) };
            if k > 1 && module.nodes.iter().any(|n| n.name == name) {
                continue;
            }
            names.insert(id, name.clone());
            let made = node(module, id, &names, root == Some(id), origins.get(&id));
            match printed.get(&name) {
                Some(same) if *same == made.text() => break,
                Some(_) => {}
                None => {
                    printed.insert(name, made.text());
                    out.push(made);
                    break;
                }
            }
        }
    }
    out
}

/// The name that a node is printed with. One that updates the parameters of `f(x) by g` is called by `g`, since
/// `diff_param` updates the others.
fn own_name(module: &Module, id: NodeId) -> Arc<str> {
    let node = &module.nodes[id];
    let is_rule = module.optimisers.iter().any(|((rule, _), made)| *made == id && *rule != Rule::DEFAULT);
    let callee = node.equations.iter().find_map(|equation| match &equation.rhs {
        Rhs::Call { callee: Callee::Node(callee), .. } if is_rule => Some(*callee),
        _ => None, // the rule is its only call
    });
    callee.map_or_else(
        || node.name.clone(),
        |callee| format!("{}_by_{}", node.name, module.nodes[callee].name).into(),
    )
}

fn node(
    module: &Module,
    id: NodeId,
    names: &BTreeMap<NodeId, Arc<str>>,
    typed: bool,
    origins: Option<&Origins>,
) -> Printed {
    let node = &module.nodes[id];
    let typed = typed && !node.formals.iter().any(|f| matches!(f, Formal::Static { .. }));
    let mut body = Body::new(module, node, names);
    let lines = body.equations(origins);
    let mut out = format!("node {}(", names[&id]);
    for (i, formal) in node.formals.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        match formal {
            Formal::Static { name, .. } => out.push_str(name),
            Formal::Stream(input) => {
                out.push_str(&body.name(input.var));
                // A formal that no expression reads would be taken for a static one.
                if typed || !body.is_read(input.var) {
                    let _ = write!(out, ": {}", node.vars[input.var].ty);
                }
                if let (true, Some((cond, positive))) = (typed, input.clock) {
                    let _ = write!(out, " when {}{}", if positive { "" } else { "not " }, body.name(cond));
                }
            }
        }
    }
    out.push_str(") -> (");
    for (i, &o) in node.outputs.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        out.push_str(&body.name(o));
    }
    out.push_str(")\n");
    for (name, text) in &node.statics {
        if body.is_static_used(name) {
            let _ = writeln!(out, "  {name} = {text};");
        }
    }
    Printed { head: out, lines }
}

/// The names of variables as they are printed. A member of a family, `h[3]`, is printed as `h_3` where a variable `h`
/// stands beside it.
fn variable_names(node: &Node) -> BTreeMap<Var, Arc<str>> {
    let named = node.vars.iter_enumerated().filter_map(|(v, data)| Some((v, data.name.clone()?)));
    let mut names: BTreeMap<Var, Arc<str>> = named.collect();
    let mut taken: BTreeSet<Arc<str>> = names.values().cloned().collect();
    for name in names.values_mut() {
        let Some((family, index)) = name.split_once('[') else { continue };
        if index.ends_with(']') && !taken.contains(family) {
            continue;
        }
        let mut plain = format!("{family}_{}", index.replace(']', "_").trim_end_matches('_'));
        while taken.contains(plain.as_str()) {
            plain.push('_');
        }
        *name = plain.into();
        taken.insert(name.clone());
    }
    names
}

/// The names that static expressions of a node may use: of statics and of functions.
fn static_names(node: &Node) -> BTreeSet<Arc<str>> {
    let mut known: BTreeSet<Arc<str>> = node.statics.iter().map(|(name, _)| name.clone()).collect();
    for formal in &node.formals {
        if let Formal::Static { name, .. } = formal {
            known.insert(name.clone());
        }
    }
    known.extend(crate::op::names().map(Arc::from));
    known.extend(["true", "false"].map(Arc::from));
    known
}

/// The words of a text that could be names; `x` of `shape(x)`, which names a stream, is given to `stream`.
fn words<'t>(text: &'t str, mut stream: impl FnMut(&'t str)) -> Vec<&'t str> {
    let mut found = Vec::new();
    let mut pieces = text.split("shape(");
    found.extend(plain_words(pieces.next().unwrap_or_default()));
    for piece in pieces {
        let (name, rest) = piece.split_once(')').unwrap_or((piece, ""));
        stream(name);
        found.extend(plain_words(rest));
    }
    found
}

fn plain_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
        .flat_map(|piece| piece.split(".."))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// The variables that a right side reads, in order.
fn operands(rhs: &Rhs) -> Vec<Var> {
    use crate::normal::Init;
    match rhs {
        Rhs::Const(_) => Vec::new(),
        Rhs::Apply { args, .. } => args.clone(),
        Rhs::If { cond, then, other } => vec![*cond, *then, *other],
        Rhs::When { value, cond } => vec![*value, *cond],
        Rhs::Merge { cond, on_true, on_false } => vec![*cond, *on_true, *on_false],
        Rhs::Fby { init, next } | Rhs::FbyBack { init, next } => match init {
            Init::Const(_) => vec![*next],
            Init::Stream(i) => vec![*i, *next],
        },
        Rhs::Post { next } => vec![*next],
        Rhs::Param { init, .. } => vec![*init],
        Rhs::ParamUpdate { init, bp, d, .. } => vec![*init, *bp, *d],
        Rhs::Call { args, every, .. } => args.iter().copied().chain(*every).collect(),
    }
}

/// The name that a callee is called by.
fn callee_name(module: &Module, names: &BTreeMap<NodeId, Arc<str>>, callee: &Callee) -> String {
    match callee {
        Callee::Node(id) => names[id].to_string(),
        Callee::Diff { node, order } => {
            let held = module.nodes[*node].held.min(*order);
            let prefix = "diff_".repeat(usize::from(*order - held)) + &"grad_".repeat(usize::from(held));
            prefix + &names[node]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::print_node;
    use crate::normal::{NodeId, parse};

    /// The equations printed for a node `f(x, c) -> (o)` with temporaries `v3` to `v9`, all `num []` but `v8` and `v9`.
    #[track_caller]
    fn lines(equations: &str) -> Vec<String> {
        let mut text =
            String::from("normal f64 root n0\n\nnode n0 \"f\"\n  formal v0\n  formal v1\n  output v2\n");
        text += "  var v0 num [] \"x\"\n  var v1 bool [] \"c\"\n  var v2 num [] \"o\"\n";
        (3..8).for_each(|i| text += &format!("  var v{i} num []\n"));
        text += "  var v8 num [2]\n  var v9 num [2]\n";
        text += "  const k0 num [] = 0.0\n  const k1 num [] = -1.0\n  const k2 num [2] = fill 0.0\n";
        text += equations;
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let printed = print_node(&module, NodeId(0));
        printed.lines().skip(1).map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn parentheses_stand_where_reading_needs_them() {
        let sum_of_when =
            "  v3 = when v0 v1\n  v4 = when v0 v1\n  v5 = apply add (v4, v3)\n  v2 = apply mul (v5, v3)\n";
        assert_eq!(lines(sum_of_when), ["o = ((x when c) + (x when c)) * (x when c);"]);
        let negations = "  v3 = apply neg (v0)\n  v4 = apply neg (v3)\n  v2 = apply sub (v0, v4)\n";
        assert_eq!(lines(negations), ["o = x - -(-x);"]);
        let left = "  v3 = apply sub (v0, v0)\n  v4 = apply sub (v0, v3)\n  v2 = apply sub (v4, v0)\n";
        assert_eq!(lines(left), ["o = x - (x - x) - x;"]);
        let delay = "  v3 = const k1\n  v4 = merge v1 v0 v3\n  v2 = fby_back k0 v4\n";
        assert_eq!(lines(delay), ["o = 0.0 fby back (merge c x (-1.0));"]);
    }

    #[test]
    fn temporaries_read_twice_get_names() {
        let twice = "  v3 = apply exp (v0)\n  v2 = apply mul (v3, v3)\n";
        assert_eq!(lines(twice), ["t1 = exp(x);", "o = t1 * t1;"]);
    }

    #[test]
    fn temporaries_that_only_read_each_other_get_a_name() {
        let cycle = "  v2 = apply copy (v0)\n  v3 = fby k0 v4\n  v4 = apply add (v3, v0)\n";
        assert_eq!(lines(cycle), ["o = x;", "t1 = 0.0 fby t1 + x;"]);
    }

    #[test]
    fn a_constant_beside_a_tensor_is_left_to_broadcasting() {
        let merge = "  v8 = const k2\n  v9 = merge v1 v3 v8\n  v3 = apply exp (v0)\n  v2 = apply sum (v9)\n";
        assert_eq!(lines(merge), ["o = sum(merge c exp(x) 0.0);"]);
    }
}
