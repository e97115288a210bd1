//! Programs from source text against finite differences.

mod support;

use rml_autodiff::{differentiate, differentiate_node};
use rml_elab::Root;
use rml_ir::normal::{Callee, Formal, Module, Rhs, Var};
use rml_ir::{Data, Type, Value};
use rml_sim::Status;
use support::source::{FROZEN, PROGRAMS, Rows, inputs, normal_with};
use support::{NodeBuilder, Random, flat, run};

const CYCLES: usize = 4;

fn numbers(v: &Value) -> Vec<f64> {
    match v.to_data() {
        Data::F64(v) => v,
        _ => Vec::new(),
    }
}

/// The sum over all cycles and outputs of seed times value.
fn loss(module: &Module, rows: &Rows, seeds: &Rows) -> f64 {
    let table = run(flat(module), rows, CYCLES);
    let mut sum = 0.0;
    for (o, seed) in seeds {
        for (status, seed) in table[o].iter().zip(seed) {
            if let (Some(v), Some(seed)) = (status.value(), seed) {
                sum += numbers(v).iter().zip(numbers(seed)).map(|(v, d)| v * d).sum::<f64>();
            }
        }
    }
    sum
}

/// The clock that the adjoint of the root declares for its `bp`; inputs have the same numbers in the wrapper.
fn clock_of_bp(module: &Module) -> Option<(Var, bool)> {
    let made = differentiate_node(module.clone(), module.root).unwrap_or_else(|e| panic!("{e}"));
    let node = &made.module.nodes[made.adjoint];
    let bp = node.inputs().nth(module.nodes[module.root].inputs().count()).expect("an adjoint has bp");
    let position = |v: Var| node.inputs().position(|i| i.var == v).expect("an input");
    bp.clock.map(|(cond, flag)| (Var(u32::try_from(position(cond)).expect("few inputs")), flag))
}

/// The module with a root that calls its root: as it is, or its adjoint.
fn wrapped(module: &Module, diff: bool) -> Module {
    let mut module = module.clone();
    let id = module.root;
    let f = &module.nodes[id];
    let name = |v: Var| f.vars[v].name.as_deref().expect("interfaces are named");
    let num = |v: &Var| f.vars[*v].ty.is_num();
    let ty = |v: Var| f.vars[v].ty.clone();
    let mut b = NodeBuilder::new("main");
    let mut args: Vec<Var> = f.inputs().map(|i| b.input(name(i.var), ty(i.var))).collect();
    let mut lhs: Vec<Var> = f.outputs.iter().map(|&o| b.var(name(o), ty(o))).collect();
    let prefix = if diff { "diff_" } else { "" };
    let mut callee = Callee::Node(id);
    if diff {
        callee = Callee::Diff { node: id, order: 1 };
        let bp = b.input("bp", Type::condition());
        args.push(bp);
        if let Some(Formal::Stream(formal)) = b.0.formals.last_mut() {
            formal.clock = clock_of_bp(&module);
        }
        for &o in f.outputs.iter().filter(|o| num(o)) {
            args.push(b.input(&format!("d{}", name(o)), ty(o)));
            let Some(Formal::Stream(d)) = b.0.formals.last_mut() else { continue };
            d.clock = Some((bp, true));
        }
        for x in f.inputs().map(|i| i.var).filter(num) {
            lhs.push(b.var(&format!("bp{}", name(x)), Type::condition()));
            lhs.push(b.var(&format!("d{}", name(x)), ty(x)));
        }
    }
    let instance = format!("{prefix}{}_0", f.name).into();
    b.eq(&lhs, Rhs::Call { callee, args, every: None, instance, statics: Vec::new() });
    b.0.outputs = lhs;
    module.root = module.nodes.push(b.0);
    differentiate(module).unwrap_or_else(|e| panic!("{e}"))
}

fn check(text: &str, node: &str) {
    let module = normal_with(text, Root::Diff(node.into()), FROZEN).unwrap_or_else(|e| panic!("{node}: {e}"));
    let (forward, adjoint) = (wrapped(&module, false), wrapped(&module, true));
    let mut r = Random(11);
    let rows = inputs(&adjoint, CYCLES, &mut r);
    let root = &forward.nodes[forward.root];
    let name = |v: Var| root.vars[v].name.as_deref().expect("interfaces are named");
    let seeds: Rows =
        root.outputs.iter().map(|&o| (name(o).to_owned(), rows[&format!("d{}", name(o))].clone())).collect();
    let given: Rows = root.inputs().map(|i| (name(i.var).to_owned(), rows[name(i.var)].clone())).collect();
    let table = run(flat(&adjoint), &rows, CYCLES);
    let h = 1e-6;
    for x in root.inputs().map(|i| i.var).filter(|&x| root.vars[x].ty.is_num()) {
        let d = &table[&format!("d{}", name(x))];
        for n in 0..CYCLES {
            assert!(d[n].is_determined(), "{node}: d{} at {n} is {:?}", name(x), d[n]);
            let on = table[&format!("bp{}", name(x))][n].value().and_then(Value::as_bool);
            assert_eq!(d[n].is_present(), on == Some(true), "{node}: bp{} at {n}", name(x));
            let len = root.vars[x].ty.shape.len();
            let found = match &d[n] {
                Status::Value(v) => numbers(v),
                _ => vec![0.0; len],
            };
            for k in 0..len {
                let moved = |h: f64| {
                    let mut rows = given.clone();
                    let cell = rows[name(x)][n].as_mut().expect("inputs without clock are present");
                    let mut data = numbers(cell);
                    data[k] += h;
                    *cell = Value::new(cell.shape(), Data::F64(data));
                    loss(&forward, &rows, &seeds)
                };
                let expected = (moved(h) - moved(-h)) / (2.0 * h);
                let error = (found[k] - expected).abs() / (1.0 + expected.abs());
                let x = name(x);
                assert!(error < 1e-6, "{node}: d{x}[{k}] at {n} is {}, by differences {expected}", found[k]);
            }
        }
    }
}

#[test]
fn programs_agree_with_finite_differences() {
    for &(text, node) in PROGRAMS {
        check(text, node);
    }
}
