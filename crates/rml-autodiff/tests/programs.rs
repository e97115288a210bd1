//! Random programs over all primitives, clocks and both directions of time, against finite differences of their results
//! (ADJ-3 to ADJ-10, ADJ-14).

mod support;

use indexmap::IndexMap;
use rml_autodiff::{ShownAdjoint, differentiate_node};
use rml_elab::Root;
use rml_ir::normal::{Callee, Differentiated, Init, Module, Node, NodeId, Rhs, Rule, Var};
use rml_ir::op::{Binary, Op, Unary};
use rml_ir::{DType, Type, Value};
use rml_sim::Status;
use rml_testkit::Lcg;
use rml_testkit::gradients::{normal, run};
use support::{NodeBuilder, module};

type Rows = IndexMap<String, Vec<Option<Value>>>;

fn num() -> Type {
    Type::scalar(DType::Num)
}

fn boolean() -> Type {
    Type::condition()
}

/// Variables by clock: the base clock, `c`, and `not c`.
const BASE: usize = 0;
const C: usize = 1;
const N: usize = 2;

struct Generator<'r> {
    r: &'r mut Lcg,
    b: NodeBuilder,
    vs: [Vec<Var>; 3],
    conds: [Var; 3],
    clock: [Option<Var>; 3],
    param: bool,
}

impl Generator<'_> {
    fn pick(&mut self, ck: usize) -> Var {
        let list = &self.vs[ck];
        list[self.r.below(list.len())]
    }

    fn fresh(&mut self, ck: usize) -> Var {
        let name = format!("v{}", self.b.0.vars.len());
        let v = self.b.var(if self.r.chance(0.5) { &name } else { "" }, num());
        self.vs[ck].push(v);
        v
    }

    fn delay(&mut self, v: Var, kind: usize, init: Option<Var>, next: Var) {
        let x = self.r.range(-1.0, 1.0);
        let init = init.map_or_else(|| self.b.num(x), Init::Stream);
        let rhs = if kind == 0 { Rhs::Fby { init, next } } else { Rhs::FbyBack { init, next } };
        self.b.eq(&[v], rhs);
    }

    fn step(&mut self) {
        let ck = self.r.below(3);
        match self.r.below(9) {
            0 | 1 => {
                let ops = [
                    Op::Binary(Binary::Add),
                    Op::Binary(Binary::Mul),
                    Op::Unary(Unary::Tanh),
                    Op::Binary(Binary::Sub),
                    Op::Unary(Unary::Neg),
                    Op::Unary(Unary::Sigmoid),
                ];
                let op = self.r.pick(&ops).clone();
                let n = if matches!(op, Op::Binary(Binary::Add | Binary::Mul | Binary::Sub)) { 2 } else { 1 };
                let args: Vec<Var> = (0..n).map(|_| self.pick(ck)).collect();
                let v = self.fresh(ck);
                self.b.apply(v, op, &args);
            }
            2 => {
                let ck = self.r.below(3);
                let (then, other) = (self.pick(ck), self.pick(ck));
                let (v, cond) = (self.fresh(ck), self.conds[ck]);
                self.b.eq(&[v], Rhs::If { cond, then, other });
            }
            3 => {
                let ck = 1 + self.r.below(2);
                let value = self.pick(BASE);
                let (v, cond) = (self.fresh(ck), self.clock[ck].expect("sampled"));
                self.b.eq(&[v], Rhs::When { value, cond });
            }
            4 => {
                let (on_true, on_false) = (self.pick(C), self.pick(N));
                let (v, cond) = (self.fresh(BASE), self.clock[C].expect("sampled"));
                self.b.eq(&[v], Rhs::Merge { cond, on_true, on_false });
            }
            5 | 6 => {
                let kind = self.r.below(2);
                let (next, init) = (self.pick(ck), self.pick(ck));
                let stream = self.r.chance(0.3);
                let v = self.fresh(ck);
                self.delay(v, kind, stream.then_some(init), next);
            }
            7 => self.guarded_post(ck),
            _ if !self.param => {
                self.param = true;
                let k = self.b.constant(Value::F64(0.7));
                let (init, p) = (self.b.var("", num()), self.b.var("p", num()));
                self.b.eq(&[init], Rhs::Const(k));
                self.b.eq(&[p], Rhs::Param { init, by: Rule::DEFAULT });
                let x = self.pick(ck);
                let v = self.fresh(ck);
                self.b.apply(v, Op::Binary(Binary::Mul), &[p, x]);
            }
            _ => {}
        }
    }

    /// Adds `if (true fby back false) then x else post y`.
    fn guarded_post(&mut self, ck: usize) {
        let (next, then) = (self.pick(ck), self.pick(ck));
        let no = self.b.constant(Value::Bool(false));
        let yes = Init::Const(self.b.constant(Value::Bool(true)));
        let (f, last, post) = (self.b.var("", boolean()), self.b.var("", boolean()), self.b.var("", num()));
        self.b.eq(&[f], Rhs::Const(no));
        self.b.eq(&[last], Rhs::FbyBack { init: yes, next: f });
        self.b.eq(&[post], Rhs::Post { next });
        let v = self.fresh(ck);
        self.b.eq(&[v], Rhs::If { cond: last, then, other: post });
    }
}

/// `node f(x, y, c, b) -> (o0, ..)`, with some outputs; the first one is on the base clock.
fn random_node(r: &mut Lcg) -> Node {
    let mut b = NodeBuilder::new("f");
    let (x, y) = (b.input("x", num()), b.input("y", num()));
    let (c, cond) = (b.input("c", boolean()), b.input("b", boolean()));
    let nc = b.var("nc", boolean());
    b.apply(nc, Op::Not, &[c]);
    let (xc, yn) = (b.var("xc", num()), b.var("yn", num()));
    let (e, g) = (b.var("e", boolean()), b.var("g", boolean()));
    b.eq(&[xc], Rhs::When { value: x, cond: c });
    b.eq(&[yn], Rhs::When { value: y, cond: nc });
    b.eq(&[e], Rhs::When { value: cond, cond: c });
    b.eq(&[g], Rhs::When { value: cond, cond: nc });
    let vs = [vec![x, y], vec![xc], vec![yn]];
    let mut generator =
        Generator { r, b, vs, conds: [cond, e, g], clock: [None, Some(c), Some(nc)], param: false };
    let mut recurrences = Vec::new();
    for ck in [BASE, C, N] {
        for _ in 0..[0, 1, 1, 2][generator.r.below(4)] {
            let (v, anchor) = (generator.fresh(ck), generator.vs[ck][0]);
            recurrences.push((v, anchor, ck, generator.r.below(2)));
        }
    }
    for _ in 0..4 + generator.r.below(7) {
        generator.step();
    }
    for (v, anchor, ck, kind) in recurrences {
        let from = generator.pick(ck);
        let (sum, half) = (generator.b.var("", num()), generator.fresh(ck));
        generator.b.apply(sum, Op::Binary(Binary::Add), &[from, anchor]);
        generator.b.apply(half, Op::Unary(Unary::Tanh), &[sum]);
        generator.delay(v, kind, None, half);
    }
    let first = generator.pick(BASE);
    let outputs = [BASE, C, N].map(|ck| generator.pick(ck));
    let Generator { mut b, r, .. } = generator;
    let count = 1 + r.below(3);
    for (i, v) in std::iter::once(first).chain(outputs).take(count).enumerate() {
        let o = b.var(&format!("o{i}"), num());
        b.apply(o, Op::Copy, &[v]);
        b.0.outputs.push(o);
    }
    b.0
}

/// `node diff_param(init, bp, do) -> (o)`: never changes the parameter, but sums its gradient in `s1`.
fn recorder() -> Node {
    let mut b = NodeBuilder::new("diff_param");
    let (init, bp, d) = (b.input("init", num()), b.input("bp", boolean()), b.input("do", num()));
    let (o, s, s1, m, z) =
        (b.var("o", num()), b.var("s", num()), b.var("s1", num()), b.var("", num()), b.var("", num()));
    let zero = b.constant(Value::F64(0.0));
    b.eq(&[o], Rhs::Fby { init: Init::Stream(init), next: o });
    b.eq(&[z], Rhs::Const(zero));
    b.eq(&[m], Rhs::Merge { cond: bp, on_true: d, on_false: z });
    b.eq(&[s], Rhs::Fby { init: Init::Const(zero), next: s1 });
    b.apply(s1, Op::Binary(Binary::Add), &[s, m]);
    b.0.outputs.push(o);
    b.0
}

/// `node g(x, y, c, b, end) -> (outputs of f)`: runs `f` window by window.
fn windowed(f: &Node) -> Node {
    let mut b = NodeBuilder::new("g");
    let mut args: Vec<Var> = Vec::new();
    for input in f.inputs() {
        let data = &f.vars[input.var];
        args.push(b.input(data.name.as_deref().expect("inputs are named"), data.ty.clone()));
    }
    let end = b.input("end", boolean());
    let lhs: Vec<Var> = (0..f.outputs.len()).map(|i| b.var(&format!("o{i}"), num())).collect();
    let call = Rhs::Call {
        callee: Callee::Node(NodeId(1)),
        args,
        every: Some(end),
        instance: "f_0".into(),
        statics: Vec::new(),
    };
    b.eq(&lhs, call);
    b.0.outputs = lhs;
    b.0
}

/// The flat form of a module that calls no adjoint by name.
fn flat(module: &Module) -> rml_ir::flat::Drawn {
    let module = Differentiated::new(module.clone()).unwrap_or_else(|e| panic!("{}", e.join("\n")));
    support::flat(&module)
}

fn with_recorder(mut nodes: Vec<Node>) -> Module {
    nodes.insert(0, recorder());
    let mut module = module(nodes);
    module.optimisers.insert((Rule::DEFAULT, num()), NodeId(0));
    module
}

fn set_param(module: &mut Module, x: f64) {
    for node in module.nodes.iter_mut() {
        let inits: Vec<Var> = node
            .equations
            .iter()
            .filter_map(|eq| if let Rhs::Param { init, .. } = eq.rhs { Some(init) } else { None })
            .collect();
        for eq in node.equations.iter() {
            if let (true, Rhs::Const(k)) = (inits.contains(&eq.lhs[0]), &eq.rhs) {
                node.consts[*k].kind = rml_ir::normal::ConstKind::Value(Value::F64(x));
            }
        }
    }
}

fn random_inputs(r: &mut Lcg, cycles: usize) -> Rows {
    let base: Vec<bool> = (0..cycles).map(|_| r.chance(0.8)).collect();
    let mut rows = Rows::new();
    for name in ["x", "y"] {
        let row = base.iter().map(|&on| on.then(|| Value::F64(r.range(-1.0, 1.0)))).collect();
        rows.insert(name.into(), row);
    }
    for (name, p) in [("c", 0.5), ("b", 0.5), ("end", 0.35)] {
        let row = base.iter().map(|&on| on.then(|| Value::Bool(r.chance(p)))).collect();
        rows.insert(name.into(), row);
    }
    rows
}

fn number(s: &Status) -> Option<f64> {
    s.value().and_then(Value::as_num)
}

/// Whether all cells are determined, except the last ones of `post`.
fn productive(flat: &rml_ir::flat::Flat, table: &IndexMap<String, Vec<Status>>) -> bool {
    let posts: Vec<usize> = flat
        .equations
        .iter()
        .filter(|eq| matches!(eq.rhs, rml_ir::flat::Rhs::Post { .. }))
        .map(|eq| eq.lhs.0 as usize)
        .collect();
    // The rows are in the order of the variables.
    table.values().enumerate().all(|(v, row)| posts.contains(&v) || row.iter().all(Status::is_determined))
}

/// Checks that the printed adjoint is a program with the same results.
fn reread(made: &ShownAdjoint, seeded: &Rows, table: &IndexMap<String, Vec<Status>>, case: &str) {
    let printed = rml_ir::surface::print_nodes(&made.module, &made.needed, Some(made.adjoint), &made.origins);
    let root = &made.module.nodes[made.adjoint];
    let again = normal(&printed, Root::Run(root.name.to_string()))
        .unwrap_or_else(|e| panic!("{case}: {e}\n{printed}"));
    let again = run(flat(&again), seeded, table.values().next().map_or(0, Vec::len));
    for &o in &root.outputs {
        let name = root.vars[o].name.as_deref().expect("outputs are named");
        let same = table[name].iter().zip(&again[name]).all(|(a, b)| a.same(b));
        assert!(same, "{case}: {name}: {:?} {:?}\n{printed}", table[name], again[name]);
    }
}

/// Compares all gradients of `module`'s root; `None` if the program itself is not productive.
fn check(module: &Module, r: &mut Lcg, case: &str) -> Option<()> {
    let cycles = 1 + r.below(6);
    let inputs = random_inputs(r, cycles);
    let root = &module.nodes[module.root];
    let outputs: Vec<String> = root
        .outputs
        .iter()
        .map(|&o| root.vars[o].name.as_deref().expect("outputs are named").to_owned())
        .collect();
    let forward = run(flat(module), &inputs, cycles);
    if !productive(&flat(module), &forward) {
        return None;
    }
    // `bp` is present where the first output is present.
    let bp: Vec<Option<bool>> =
        forward[&outputs[0]].iter().map(|s| s.is_present().then(|| r.chance(0.6))).collect();
    let mut seeded = inputs.clone();
    seeded.insert("bp".into(), bp.iter().map(|b| b.map(Value::Bool)).collect());
    let mut seeds: Vec<Vec<f64>> = Vec::new();
    for o in &outputs {
        let seed: Vec<f64> = (0..cycles).map(|_| r.range(-1.0, 1.0)).collect();
        let here = |n: usize| bp[n] == Some(true) && forward[o][n].is_present();
        let row = (0..cycles).map(|n| here(n).then(|| Value::F64(seed[n]))).collect();
        seeded.insert(format!("d{o}"), row);
        seeds.push((0..cycles).map(|n| if here(n) { seed[n] } else { 0.0 }).collect());
    }
    let loss = |module: &Module, inputs: &Rows| -> f64 {
        let table = run(flat(module), inputs, cycles);
        let term = |(o, seed): (&String, &Vec<f64>)| -> f64 {
            (0..cycles)
                .filter(|&n| seed[n] != 0.0)
                .map(|n| seed[n] * number(&table[o][n]).expect("productive"))
                .sum()
        };
        outputs.iter().zip(&seeds).map(term).sum()
    };
    let made = differentiate_node(module.clone(), module.root).unwrap_or_else(|e| panic!("{case}: {e}"));
    let text = || rml_ir::normal::print(&made.module);
    let table = run(flat(&made.module), &seeded, cycles);
    for o in &outputs {
        assert!(table[o].iter().zip(&forward[o]).all(|(a, b)| a.same(b)), "{case}: {o} changed\n{}", text());
    }
    if r.chance(0.3) {
        reread(&made, &seeded, &table, case);
    }
    let h = 1e-5;
    for x in ["x", "y"] {
        let d = &table[&format!("d{x}")];
        for n in (0..cycles).filter(|&n| inputs[x][n].is_some()) {
            assert!(d[n].is_determined(), "{case}: d{x} at {n} is {:?}\n{}", d[n], text());
            let moved = |h: f64| {
                let mut inputs = inputs.clone();
                let row = &mut inputs[x];
                row[n] = row[n].as_ref().and_then(Value::as_num).map(|v| Value::F64(v + h));
                loss(module, &inputs)
            };
            let expected = (moved(h) - moved(-h)) / (2.0 * h);
            let found = number(&d[n]).unwrap_or(0.0);
            let error = (found - expected).abs() / (1.0 + expected.abs());
            assert!(error < 1e-6, "{case}: d{x} at {n} is {found}, by differences {expected}\n{}", text());
        }
    }
    let recorded = table.iter().find(|(name, _)| name.ends_with("s1"));
    if let Some((_, row)) = recorded {
        let found = row.iter().rev().find_map(number).unwrap_or(0.0);
        let moved = |x: f64| {
            let mut module = module.clone();
            set_param(&mut module, x);
            loss(&module, &inputs)
        };
        let expected = (moved(0.7 + h) - moved(0.7 - h)) / (2.0 * h);
        let error = (found - expected).abs() / (1.0 + expected.abs());
        assert!(
            error < 1e-6,
            "{case}: the parameter's gradient is {found}, by differences {expected}\n{}",
            text()
        );
    }
    Some(())
}

fn check_many(count: usize, seed: u64, make: impl Fn(Node) -> Module) {
    let (mut done, mut tried) = (0, 0);
    while done < count {
        tried += 1;
        assert!(tried < 10 * count, "hardly any program is productive");
        let mut r = Lcg(seed + 1000 * tried as u64);
        let module = make(random_node(&mut r));
        done += usize::from(check(&module, &mut r, &format!("case {tried}")).is_some());
    }
}

#[test]
fn random_programs_agree_with_finite_differences() {
    check_many(200, 1, |f| with_recorder(vec![f]));
}

#[test]
fn random_programs_under_windows_agree_with_finite_differences() {
    check_many(100, 2, |f| {
        let g = windowed(&f);
        with_recorder(vec![f, g])
    });
}

/// Checks the adjoint of an adjoint, by positions; its names are not checked here.
fn check_second(first: &Module, r: &mut Lcg, case: &str) -> Option<()> {
    let cycles = 1 + r.below(4);
    let root = &first.nodes[first.root];
    let name = |node: &Node, v: Var| node.vars[v].name.as_deref().expect("interfaces are named").to_owned();
    let mut inputs = random_inputs(r, cycles);
    // The first order: `bp` is present with the first output, and gradients are present where it is true.
    let bp = inputs["x"].iter().map(|x| x.as_ref().map(|_| Value::Bool(r.chance(0.7)))).collect();
    inputs.insert("bp".into(), bp);
    for input in root.inputs().skip(5) {
        let on = inputs["bp"].iter().map(|b| b.as_ref().and_then(Value::as_bool) == Some(true));
        let row = on.map(|on| on.then(|| Value::F64(r.range(-1.0, 1.0)))).collect();
        inputs.insert(name(root, input.var), row);
    }
    let forward = run(flat(first), &inputs, cycles);
    let outputs: Vec<Var> = root.outputs.iter().copied().filter(|&o| root.vars[o].ty.is_num()).collect();
    let statuses = |o: Var| &forward[&name(root, o)];
    if !productive(&flat(first), &forward)
        || statuses(outputs[0]).iter().zip(&inputs["x"]).any(|(s, x)| s.is_present() != x.is_some())
    {
        return None;
    }
    let made = differentiate_node(first.clone(), first.root).unwrap_or_else(|e| panic!("{case}: {e}"));
    let second = &made.module.nodes[made.adjoint];
    let text = || rml_ir::surface::print_node(&made.module, made.adjoint);
    let formals: Vec<String> = second.inputs().map(|i| name(second, i.var)).collect();
    let start = root.inputs().count();
    let on: Vec<Option<bool>> = inputs["x"].iter().map(|x| x.as_ref().map(|_| r.chance(0.6))).collect();
    let mut seeded = inputs.clone();
    seeded.insert(formals[start].clone(), on.iter().map(|b| b.map(Value::Bool)).collect());
    let mut seeds: Vec<Vec<f64>> = Vec::new();
    for (formal, &o) in formals[start + 1..].iter().zip(&outputs) {
        let here = |n: usize| on[n] == Some(true) && statuses(o)[n].is_present();
        let seed: Vec<f64> = (0..cycles).map(|n| if here(n) { r.range(-1.0, 1.0) } else { 0.0 }).collect();
        seeded.insert(formal.clone(), (0..cycles).map(|n| here(n).then(|| Value::F64(seed[n]))).collect());
        seeds.push(seed);
    }
    let loss = |inputs: &Rows| -> f64 {
        let table = run(flat(first), inputs, cycles);
        let term = |(&o, seed): (&Var, &Vec<f64>)| -> f64 {
            let row = &table[&name(root, o)];
            (0..cycles)
                .filter(|&n| seed[n] != 0.0)
                .map(|n| seed[n] * number(&row[n]).expect("productive"))
                .sum()
        };
        outputs.iter().zip(&seeds).map(term).sum()
    };
    let table = run(flat(&made.module), &seeded, cycles);
    let nums: Vec<String> =
        root.inputs().map(|i| i.var).filter(|&v| root.vars[v].ty.is_num()).map(|v| name(root, v)).collect();
    let gradients =
        second.outputs[root.outputs.len()..].iter().copied().filter(|&o| second.vars[o].ty.is_num());
    let h = 1e-5;
    for (x, d) in nums.iter().zip(gradients) {
        let d = &table[&name(second, d)];
        for n in (0..cycles).filter(|&n| inputs[x][n].is_some()) {
            let moved = |h: f64| {
                let mut inputs = inputs.clone();
                let row = &mut inputs[x];
                row[n] = row[n].as_ref().and_then(Value::as_num).map(|v| Value::F64(v + h));
                loss(&inputs)
            };
            let expected = (moved(h) - moved(-h)) / (2.0 * h);
            let found = number(&d[n]).unwrap_or(0.0);
            let error = (found - expected).abs() / (1.0 + expected.abs());
            assert!(error < 1e-6, "{case}: d{x} at {n} is {found}, by differences {expected}\n{}", text());
        }
    }
    Some(())
}

#[test]
fn adjoints_of_adjoints_agree_with_finite_differences() {
    let mut done = 0;
    for tried in 0..200 {
        let mut r = Lcg(77 + 1000 * tried);
        let f = random_node(&mut r);
        if f.outputs.len() > 1 || f.equations.iter().any(|eq| matches!(eq.rhs, Rhs::Param { .. })) {
            continue;
        }
        let first = differentiate_node(with_recorder(vec![f]), NodeId(1)).expect("differentiable").module;
        done += usize::from(check_second(&first, &mut r, &format!("case {tried}")).is_some());
    }
    assert!(done > 20, "{done}");
}
