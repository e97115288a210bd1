//! A program as a picture of its network: instances of nodes with what flows between them. This finds the boxes and the
//! lines; the page lays them out, and folds the boxes of an instance into one.

use std::collections::BTreeMap;

use rml_base::IndexVec;
use rml_ir::flat::{Eq, Flat, Init, Rhs, Var, around};
use rml_ir::op::Op;
use rml_ir::surface;

use crate::rows::StreamNames;

/// Boxes and lines.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Network {
    /// The boxes.
    pub boxes: Vec<NetworkBox>,
    /// The lines between them: from, to, and how time passes: 0 not at all, 1 forward, -1 backward.
    pub lines: Vec<(usize, usize, i8)>,
}

/// One value of the program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetworkBox {
    /// The instance that it is in; empty for the node itself.
    pub path: String,
    /// Its name, if it has one.
    pub name: String,
    /// What computes it: `input`, `parameter`, or an expression.
    pub what: String,
    /// Its type.
    pub ty: String,
    /// Whether it is an input, a parameter or an output of the node.
    pub role: Role,
}

/// What a box stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// A value that is computed.
    #[default]
    Value,
    /// An input of the node.
    Input,
    /// A parameter.
    Parameter,
    /// An output of the node, which is computed, too.
    Output,
}

/// Programs with more equations have no picture.
const MOST: usize = 20_000;

/// The network of a program. A variable that only copies another one is the same box. Constants, and what is computed
/// from constants alone, are part of what reads them. Each output has a box of its own.
pub fn network(flat: &Flat) -> Network {
    if flat.equations.len() > MOST {
        return Network::default();
    }
    let names = StreamNames::new(flat);
    let (paths, fixed, reads) = (paths(flat, &names), fixed(flat), reads(flat));
    let parameters: BTreeMap<Eq, &str> =
        flat.states.iter().filter(|(_, s)| s.parameter).map(|(key, s)| (s.equation, &**key)).collect();
    let mut found = Network::default();
    let mut of: BTreeMap<Var, usize> = BTreeMap::new();
    for v in flat.vars.ids() {
        let rhs = names.definition(v).map(|eq| (eq, &flat.equations[eq].rhs));
        let is_copy = matches!(rhs, Some((_, Rhs::Apply { op: Op::Copy, .. })));
        let is_read = reads[v] > 0 || flat.vars[v].name.is_some();
        if is_copy || fixed[v] || !is_read {
            continue;
        }
        let mut name = names.short(v).unwrap_or_default();
        let (what, role) = match rhs {
            None => ("input".to_owned(), Role::Input),
            Some((eq, _)) => match parameters.get(&eq) {
                Some(key) => {
                    name = (*key).to_owned();
                    ("parameter".to_owned(), Role::Parameter)
                }
                None => (kind(flat, &names, &fixed, eq), Role::Value),
            },
        };
        of.insert(v, found.boxes.len());
        let (path, ty) = (paths[v].clone(), flat.vars[v].ty.to_string());
        found.boxes.push(NetworkBox { path, name, what, ty, role });
    }
    let source = |v: Var| of.get(&origin(flat, &names, v)).copied();
    for (v, to) in &of {
        let Some(eq) = names.definition(*v) else { continue };
        let mut add = |from: Var, time: i8| {
            let from = source(from).filter(|from| from != to || time != 0);
            found.lines.extend(from.map(|from| (from, *to, time)));
        };
        match &flat.equations[eq].rhs {
            Rhs::Fby { init, next, .. } => {
                start(*init).into_iter().for_each(|v| add(v, 0));
                add(*next, 1);
            }
            Rhs::FbyBack { init, next, .. } => {
                start(*init).into_iter().for_each(|v| add(v, 0));
                add(*next, -1);
            }
            Rhs::Post { next, .. } => add(*next, -1),
            Rhs::Param { .. } => {}
            rhs => rhs.for_each_operand(|v| add(v, 0)),
        }
    }
    for v in &flat.outputs {
        let name = flat.vars[*v].name.as_deref().unwrap_or_default().to_owned();
        let (what, ty) = ("output".to_owned(), flat.vars[*v].ty.to_string());
        found.lines.extend(source(*v).map(|from| (from, found.boxes.len(), 0)));
        found.boxes.push(NetworkBox { path: String::new(), name, what, ty, role: Role::Output });
    }
    found.lines.sort_unstable();
    found.lines.dedup();
    found
}

/// The stream that a delay starts with.
fn start(init: Init) -> Option<Var> {
    match init {
        Init::Stream(v) => Some(v),
        Init::Const(_) => None,
    }
}

/// How often each variable is read.
fn reads(flat: &Flat) -> IndexVec<Var, usize> {
    let mut reads = IndexVec::filled(0, flat.vars.len());
    for equation in flat.equations.iter() {
        equation.rhs.for_each_operand(|v| reads[v] += 1);
    }
    reads
}

/// Whether each variable is computed from constants alone.
fn fixed(flat: &Flat) -> IndexVec<Var, bool> {
    let mut fixed = IndexVec::filled(false, flat.vars.len());
    // Operands may be defined after what reads them.
    loop {
        let mut changed = false;
        for equation in flat.equations.iter().filter(|e| matches!(e.rhs, Rhs::Const(_) | Rhs::Apply { .. })) {
            let mut all = !fixed[equation.lhs];
            equation.rhs.for_each_operand(|v| all &= fixed[v]);
            fixed[equation.lhs] |= all;
            changed |= all;
        }
        if !changed {
            return fixed;
        }
    }
}

/// What a variable is a copy of in the end.
fn origin(flat: &Flat, names: &StreamNames<'_>, v: Var) -> Var {
    let mut at = v;
    while let Some(Rhs::Apply { op: Op::Copy, args }) = names.definition(at).map(|eq| &flat.equations[eq].rhs)
    {
        let Some(source) = args.first() else { break };
        at = *source;
    }
    at
}

/// What an equation does: the operator with its settings and constants, a dot for each other operand.
fn kind(flat: &Flat, names: &StreamNames<'_>, fixed: &IndexVec<Var, bool>, eq: Eq) -> String {
    match &flat.equations[eq].rhs {
        Rhs::If { .. } => "if".to_owned(),
        Rhs::When { cond, .. } => format!("when {}", names.short(*cond).unwrap_or_else(|| "..".to_owned())),
        Rhs::Merge { .. } => "merge".to_owned(),
        Rhs::Fby { .. } => "fby".to_owned(),
        Rhs::FbyBack { .. } => "fby back".to_owned(),
        Rhs::Post { .. } => "post".to_owned(),
        Rhs::Const(_) | Rhs::Apply { .. } | Rhs::Param { .. } => {
            surface::expression(flat, eq, &|v| (!fixed[v]).then(|| "·".to_owned()))
        }
    }
}

/// The instance that each variable is in. One without a name is where the variables are that it reads and that read it:
/// in the innermost instance around them.
fn paths(flat: &Flat, names: &StreamNames<'_>) -> IndexVec<Var, String> {
    let named = |v: Var| flat.vars[v].name.as_deref().map(around);
    let mut paths: IndexVec<Var, Option<String>> = IndexVec::filled(None, flat.vars.len());
    for v in flat.vars.ids() {
        paths[v] = named(v).map(str::to_owned);
    }
    let mut readers: IndexVec<Var, Vec<Var>> = IndexVec::filled(Vec::new(), flat.vars.len());
    for equation in flat.equations.iter() {
        equation.rhs.for_each_operand(|v| readers[v].push(equation.lhs));
    }
    let is_constant =
        |v: Var| matches!(names.definition(v).map(|eq| &flat.equations[eq].rhs), Some(Rhs::Const(_)));
    // What is nested in an expression is found after what is around it.
    loop {
        let mut changed = false;
        for v in flat.vars.ids().filter(|v| named(*v).is_none()) {
            let mut around = readers[v].clone();
            if let Some(eq) = names.definition(v) {
                flat.equations[eq].rhs.for_each_operand(|x| {
                    if !is_constant(x) {
                        around.push(x);
                    }
                });
            }
            let known = around.iter().filter_map(|x| paths[*x].as_deref());
            let found = known.map(str::to_owned).reduce(|a, b| common(&a, &b).to_owned());
            if found.is_some() && found != paths[v] && paths[v].is_none() {
                paths[v] = found;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    flat.vars.ids().map(|v| paths[v].clone().unwrap_or_default()).collect()
}

/// The innermost instance around two.
fn common<'a>(a: &'a str, b: &str) -> &'a str {
    let mut end = 0;
    let mut at = 0;
    for (x, y) in a.split('.').zip(b.split('.')) {
        if x != y {
            break;
        }
        at += x.len();
        end = at;
        at += 1;
    }
    &a[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_names_are_in_the_instance_around_what_they_are_made_of() {
        let text = "flat f32 \"main\"
input v0
output v4
var v0 num [] \"x\"
var v1 num [] \"f_0.x\"
var v2 num []
var v3 num [] \"f_0.y\"
var v4 num [] \"y\"
var v5 num []
const k0 num [] = 2.0 as \"2.0\"
v1 = apply copy (v0)
v5 = const k0
v2 = apply mul (v5, v1)
v3 = fby k0 v2
v4 = apply copy (v3)
";
        let flat = rml_ir::flat::parse(text).expect("a flat program");
        let found = network(&flat);
        let told: Vec<_> =
            found.boxes.iter().map(|b| (b.path.as_str(), b.name.as_str(), b.what.as_str(), b.role)).collect();
        assert_eq!(
            told,
            [
                ("", "x", "input", Role::Input),
                ("f_0", "", "2.0 * ·", Role::Value),
                ("f_0", "y", "fby", Role::Value),
                ("", "y", "output", Role::Output),
            ]
        );
        assert_eq!(found.lines, [(0, 1, 0), (1, 2, 1), (2, 3, 0)]);
    }

    #[test]
    fn the_innermost_instance_around_two() {
        assert_eq!(common("a.b", "a.c"), "a");
        assert_eq!(common("a.b", "a.b.c"), "a.b");
        assert_eq!(common("ab", "a"), "");
        assert_eq!(common("", "a"), "");
    }
}
