//! If `bp` is always false, an adjoint reduces to the node itself; if `bp` is always true, no condition remains.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rml_autodiff::differentiate;
use rml_elab::Root;
use rml_ir::flat::{Drawn, Flat, Init, Rhs, Var, Window};
use rml_ir::pass;
use rml_testkit::gradients::normal;
use support::source::{FEATURES, PROGRAMS, checked_nodes};

/// The compiled program for the node `node` of the text.
fn compiled(text: &str, node: &str) -> Drawn {
    let module = normal(text, Root::Run(node.into())).unwrap_or_else(|e| panic!("{node}: {e}\n{text}"));
    let module = differentiate(module).unwrap_or_else(|e| panic!("{node}: {e}\n{text}"));
    let flat = pass::inline(&module).unwrap_or_else(|e| panic!("{node}: {e}"));
    pass::draw(pass::lower(flat, pass::Keep::Needed), 1).expect("memory for the draws")
}

/// The equations on which the outputs depend, with variables numbered in the order in which they are reached from the
/// outputs.
fn canonical(flat: &Flat) -> String {
    let equations: BTreeMap<Var, &Rhs> = flat.equations.iter().map(|eq| (eq.lhs, &eq.rhs)).collect();
    let mut names: BTreeMap<Var, String> =
        flat.inputs.iter().enumerate().map(|(k, i)| (i.var, format!("input{k}"))).collect();
    let mut order = flat.outputs.clone();
    let mut seen = order.clone();
    let mut at = 0;
    while let Some(&v) = order.get(at) {
        at += 1;
        let count = names.len();
        names.entry(v).or_insert_with(|| format!("v{count}"));
        let Some(rhs) = equations.get(&v) else { continue };
        let mut next = Vec::new();
        rhs.for_each_operand(|v| next.push(v));
        let mut window = rhs.window();
        while let Some(w) = window {
            next.push(flat.windows[w].end);
            window = flat.windows[w].parent;
        }
        for v in next {
            if !seen.contains(&v) {
                seen.push(v);
                order.push(v);
            }
        }
    }
    let mut text = String::new();
    for v in order {
        let Some(rhs) = equations.get(&v) else { continue };
        writeln!(text, "{} = {}", names[&v], written(flat, rhs, &names)).expect("a string takes all");
    }
    text
}

fn written(flat: &Flat, rhs: &Rhs, names: &BTreeMap<Var, String>) -> String {
    let name = |v: &Var| names[v].as_str();
    let constant = |k: &rml_ir::flat::ConstId| format!("{:?}", flat.consts[*k].kind);
    let init = |init: &Init| match init {
        Init::Const(k) => constant(k),
        Init::Stream(v) => name(v).to_owned(),
    };
    let within = |window: &Option<Window>| {
        let mut ends = Vec::new();
        let mut window = *window;
        while let Some(w) = window {
            ends.push(name(&flat.windows[w].end));
            window = flat.windows[w].parent;
        }
        ends.join(" in ")
    };
    match rhs {
        Rhs::Const(k) => constant(k),
        Rhs::Apply { op, args } => format!("{op:?} {:?}", args.iter().map(name).collect::<Vec<_>>()),
        Rhs::If { cond, then, other } => format!("if {} {} {}", name(cond), name(then), name(other)),
        Rhs::When { value, cond } => format!("{} when {}", name(value), name(cond)),
        Rhs::Merge { cond, on_true, on_false } => {
            format!("merge {} {} {}", name(cond), name(on_true), name(on_false))
        }
        Rhs::Fby { init: i, next, window } => format!("{} fby[{}] {}", init(i), within(window), name(next)),
        Rhs::FbyBack { init: i, next, window } => {
            format!("{} back[{}] {}", init(i), within(window), name(next))
        }
        Rhs::Post { next, window } => format!("post[{}] {}", within(window), name(next)),
        Rhs::Param { init } => format!("param {}", name(init)),
    }
}

/// `text` with nodes `plain` and `idle` that call `node` and its adjoint; the adjoint is called with `bp`.
fn called(text: &str, node: &str, bp: &str) -> String {
    let module = normal(text, Root::Diff(node.into())).unwrap_or_else(|e| panic!("{node}: {e}"));
    let f = &module.nodes[module.root];
    let name = |v: Var| f.vars[v].name.clone().expect("interfaces are named");
    let formal = |v: Var, clock: Option<(Var, bool)>| {
        let clock = clock
            .map_or_else(String::new, |(c, on)| format!(" when {}{}", if on { "" } else { "not " }, name(c)));
        format!("{}: {}{clock}", name(v), f.vars[v].ty)
    };
    let inputs: Vec<String> = f.inputs().map(|i| formal(i.var, i.clock)).collect();
    let args: Vec<String> = f.inputs().map(|i| name(i.var).to_string()).collect();
    let outputs: Vec<String> = f.outputs.iter().map(|&o| name(o).to_string()).collect();
    let mut diff_args = args.clone();
    diff_args.push(bp.to_owned());
    for &o in f.outputs.iter().filter(|&&o| f.vars[o].ty.is_num()) {
        let shape = f.vars[o].ty.shape.to_string();
        diff_args.push(format!("zeros({shape})"));
    }
    let (inputs, outputs) = (inputs.join(", "), outputs.join(", "));
    format!(
        "{text}\nnode plain({inputs}) -> ({outputs})\n  {outputs} = {node}({});\n\
         node idle({inputs}) -> ({outputs})\n  {outputs} = diff_{node}({});\n",
        args.join(", "),
        diff_args.join(", ")
    )
}

const LIBRARY: &str = concat!(
    include_str!("../../../std/layers.rml"),
    include_str!("../../../std/losses.rml"),
    "
node check_lstm(x: num [2, 3], end: bool []) -> (o)
  h = lstm(4, x) every end;
  o = dense(2, h);
node check_gru(x: num [2, 3], end: bool []) -> (o: num [] when end)
  h = gru(4, x) every end;
  o = mse(dense(2, h when end), zeros([2, 2]));
"
);

#[test]
fn an_adjoint_whose_condition_is_false_is_the_node_itself() {
    let checks = [LIBRARY].into_iter().chain(FEATURES.iter().copied());
    let checks = checks.flat_map(|text| checked_nodes(text).map(move |node| (text, node)));
    let mut tried = 0;
    for (text, node) in checks.chain(PROGRAMS.iter().copied()) {
        // A node that calls adjoints trains or computes gradients, whatever its own `bp` is.
        if text == FEATURES[3] {
            continue;
        }
        let text = called(text, node, "false");
        let (plain, idle) = (canonical(&compiled(&text, "plain")), canonical(&compiled(&text, "idle")));
        assert_eq!(idle, plain, "{node}");
        let (idle, plain) = (compiled(&text, "idle"), compiled(&text, "plain"));
        assert_eq!(idle.equations.len(), plain.equations.len(), "{node}");
        assert_eq!(idle.states.keys().collect::<Vec<_>>(), plain.states.keys().collect::<Vec<_>>(), "{node}");
        tried += 1;
    }
    assert!(tried > 40, "{tried}");
}
