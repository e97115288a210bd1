//! Programs with shared instances compute the same bits as programs whose parameters are arguments: values, gradients,
//! and learned parameters. Programs with groups of parameters learn the same as programs with one optimiser, or with
//! one parameter.

use std::sync::Arc;

use rml::{Options, Precision, Source};
use rml_ir::flat::Drawn;
use rml_ir::{DType, Value};
use rml_sim::{InputCell, Options as SimOptions, Simulator, Status};
use rml_testkit::Lcg;

const CYCLES: usize = 12;

/// The nodes of both programs.
const COMMON: &str = "
node diff_param(init, bp, do) -> (o)
  o = init fby o + v;
  v = 0.5 * (zeros_like(init) fby v) + merge bp do (zeros_like(init));

node inner(k: num [3, 3], x: num [3]) -> (o: num [3])
  o = tanh(matmul(x, k) + 0.3 * (zeros([3]) fby o));

node body(a: num [3, 3], b: num [3, 3], c: num [3], x: num [3]) -> (o: num [3])
  o = inner(b, inner(a, x)) + c;

node layer(s, x: num [3]) -> (o: num [3])
  k = param(s * [[0.5, -0.25, 0.125], [0.75, 0.5, -1.0], [0.0, 0.25, 0.5]]);
  o = tanh(matmul(x, k) + 0.3 * (zeros([3]) fby o));

node net(x: num [3]) -> (o: num [3])
  c = param([0.25, -0.5, 0.75]);
  o = layer(-0.5, layer(1.0, x)) + c;

node a() -> (k)
  k = 1.0 * [[0.5, -0.25, 0.125], [0.75, 0.5, -1.0], [0.0, 0.25, 0.5]];

node b() -> (k)
  k = -0.5 * [[0.5, -0.25, 0.125], [0.75, 0.5, -1.0], [0.0, 0.25, 0.5]];
";

fn compiled(text: &str, node: &str) -> Arc<Drawn> {
    let options = Options { precision: Precision::F64, node: Some(node.to_owned()), ..Options::default() };
    let program = rml::compile(&Source::text("program", text), &options);
    Arc::clone(program.unwrap_or_else(|e| panic!("{e}\n{text}")).flat())
}

/// The bits of all elements of all outputs of a run.
fn outputs(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], text: &str) -> Vec<Option<Vec<u64>>> {
    let mut sim = Simulator::new(Arc::clone(flat), SimOptions::default());
    let ran = inputs.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(true));
    ran.unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let bits = |value: &Value| match value {
        Value::F64(x) => vec![x.to_bits()],
        Value::Tensor(t) => match t.data() {
            rml_ir::Data::F64(all) => all.iter().map(|x| x.to_bits()).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let cells = |status: &Status| match status {
        Status::Value(value) => Some(bits(value)),
        Status::Absent => None,
        other => panic!("{other:?}\n{text}"),
    };
    let rows = std::iter::from_fn(|| sim.next_output());
    rows.flat_map(|row| row.values.iter().map(cells).collect::<Vec<_>>()).collect()
}

/// The outputs of two programs that receive the same inputs. Both have a node `main(x: num [3], y: num [3], c: bool [],
/// end: bool [])`.
fn both(first: &str, second: &str) -> [Vec<Option<Vec<u64>>>; 2] {
    let (a, b) = (compiled(first, "main"), compiled(second, "main"));
    let mut r = Lcg(7);
    let mut row = |t: usize| -> Vec<InputCell> {
        let ty = |v: rml_ir::flat::Var| a.vars[v].ty.clone();
        let inputs = a.inputs.iter().map(|input| {
            let ty = ty(input.var);
            InputCell::Given(match ty.dtype {
                DType::Bool => Value::Bool(r.chance(0.4) || t + 1 == CYCLES),
                DType::Int | DType::Num => {
                    let all = (0..ty.shape.len()).map(|_| r.range(-1.0, 1.0)).collect();
                    Value::new(ty.shape.clone(), rml_ir::Data::F64(all))
                }
            })
        });
        inputs.collect()
    };
    let inputs: Vec<Vec<InputCell>> = (0..CYCLES).map(&mut row).collect();
    [(&a, first), (&b, second)].map(|(flat, text)| outputs(flat, &inputs, text))
}

fn agree(name: &str, shared: &str, plain: &str) {
    let [first, second] = [shared, plain].map(|text| format!("{COMMON}{text}"));
    same(name, &first, &second);
}

fn same(name: &str, first: &str, second: &str) {
    let [p, q] = both(first, second);
    assert_eq!(p, q, "{name}\n{first}\n{second}");
    let learned = p.iter().flatten().flatten().collect::<std::collections::BTreeSet<_>>();
    assert!(learned.len() > CYCLES, "{name}: hardly anything is computed");
}

const HEAD: &str = "node main(x: num [3], y: num [3], c: bool [], end: bool [])";

#[test]
fn calls_on_different_clocks() {
    let plain = format!(
        "node model(x: num [3], y: num [3], c: bool []) -> (o: num [3])
           k = param(a()); l = param(b()); m = param([0.25, -0.5, 0.75]);
           go = x[0] > 0.0;
           s = body(k when c, l when c, m when c, y when c);
           t = body(k when not go, l when not go, m when not go, (x + y) when not go);
           o = body(k, l, m, x) + merge c s (x when not c) + merge go ((m * y) when go) t;
         {HEAD} -> (p, dx)
           p, dx, _ = diff_model(x, y, c, true, y - p) every end;"
    );
    let shared = format!(
        "node twice(f: node, x: num [3], y: num [3]) -> (t)
           t = f((x + y) when not (x[0] > 0.0));
         node model(x: num [3], y: num [3], c: bool []) -> (o: num [3])
           share u = net;
           s = u(y when c);
           o = u(x) + merge c s (x when not c)
             + merge (x[0] > 0.0) ((y when (x[0] > 0.0)) * u.params.c) (twice(u, x, y));
         {HEAD} -> (p, dx)
           p, dx, _ = diff_model(x, y, c, true, y - p) every end;"
    );
    let [first, second] = [shared, plain].map(|text| format!("{COMMON}{text}"));
    near("clocks", &first, &second);
}

#[test]
fn calls_share_parameters() {
    agree(
        "forward",
        &format!("{HEAD} -> (p, q)\n share u = net; p = u(x); q = u(u(y)) when c;"),
        &format!(
            "{HEAD} -> (p, q)
             ka = param(a()); kb = param(b()); kc = param([0.25, -0.5, 0.75]);
             p = body(ka, kb, kc, x); q = body(ka, kb, kc, body(ka, kb, kc, y)) when c;"
        ),
    );
}

/// The parameters of `net`, updated by gradients on the conditions of two calls.
const TRAINED: &str = "
node weights(p, dp: num [3, 3] when p, q, dq: num [3, 3] when q, r, dr: num [3] when r) -> (ka, kb, kc)
  ka = diff_param(a(), p, dp);
  kb = diff_param(b(), q, dq);
  kc = diff_param([0.25, -0.5, 0.75], r, dr);
";

#[test]
fn a_node_that_is_differentiated_updates_them_once() {
    let shared = format!(
        "node both(x: num [3], y: num [3], c: bool []) -> (o: num [], s: num [])
           share u = net;
           s = sum(u.params.layer_0.k * u.params.layer_0.k) + sum(u.params);
           o = sum(u(x) * u(y)) + (if c then sum(u(u(x))) else 0.0) + 0.1 * s;
         {HEAD} -> (o, s)
           o, s, _, _ = diff_both(x, y, c, true, 0.05 - 0.1 * o, 0.01 * o) every end;"
    );
    // the parameters in the order of their definition in `net`
    let plain = format!(
        "node both(x: num [3], y: num [3], c: bool []) -> (o: num [], s: num [])
           ka = param(a()); kb = param(b()); kc = param([0.25, -0.5, 0.75]);
           s = sum(kb * kb) + sum(concat(kc, concat(reshape([9], kb), reshape([9], ka), 0), 0));
           o = sum(body(ka, kb, kc, x) * body(ka, kb, kc, y))
             + (if c then sum(body(ka, kb, kc, body(ka, kb, kc, x))) else 0.0) + 0.1 * s;
         {HEAD} -> (o, s)
           o, s, _, _ = diff_both(x, y, c, true, 0.05 - 0.1 * o, 0.01 * o) every end;"
    );
    agree("trained", &shared, &plain);
}

#[test]
fn adjoints_of_an_instance_update_them_once_in_a_window() {
    let shared = format!(
        "{HEAD} -> (p, q)
           share u = net;
           p, _ = diff_u(x, true, 0.1 * (y - p)) every end;
           q, _ = diff_u(y, c, (0.1 * (x - q)) when c) every end;"
    );
    let plain = format!(
        "{TRAINED}{HEAD} -> (p, q)
           ka, kb, kc = weights(ba, da, bb, db, bc, dc) every end;
           p, b1, d1, b2, d2, b3, d3, _, _ = diff_body(ka, kb, kc, x, true, 0.1 * (y - p)) every end;
           q, c1, e1, c2, e2, c3, e3, _, _ = diff_body(ka, kb, kc, y, c, (0.1 * (x - q)) when c) every end;
           ba = if b1 then true else c1;
           bb = if b2 then true else c2;
           bc = if b3 then true else c3;
           da = ((merge b1 d1 (zeros([3, 3]))) + (merge c1 e1 (zeros([3, 3])))) when ba;
           db = ((merge b2 d2 (zeros([3, 3]))) + (merge c2 e2 (zeros([3, 3])))) when bb;
           dc = ((merge b3 d3 (zeros([3]))) + (merge c3 e3 (zeros([3])))) when bc;"
    );
    agree("windows", &shared, &plain);
}

#[test]
fn an_instance_is_passed_to_nodes() {
    let shared = format!(
        "node twice(f: node, x: num [3]) -> (o: num [3])
           o = x + f(f(x));
         node fit(f: node, x: num [3], y: num [3], end: bool []) -> (o: num [3])
           o, _ = diff_f(x, true, 0.1 * (y - o)) every end;
         {HEAD} -> (p, q)
           share u = net;
           p = fit(u, x, y, end);
           q = twice(u, y);"
    );
    let plain = format!(
        "node twice(a: num [3, 3], b: num [3, 3], c: num [3], x: num [3]) -> (o: num [3])
           o = x + body(a, b, c, body(a, b, c, x));
         {HEAD} -> (p, q)
           ka = diff_param(a(), b1, d1); kb = diff_param(b(), b2, d2);
           kc = diff_param([0.25, -0.5, 0.75], b3, d3);
           p, b1, d1, b2, d2, b3, d3, _, _ = diff_body(ka, kb, kc, x, true, 0.1 * (y - p)) every end;
           q = twice(ka, kb, kc, y);"
    );
    let always = |text: String| text.replace("every end", "every true");
    agree("passed", &always(shared), &always(plain));
}

#[test]
fn an_instance_in_an_instance_is_shared_too() {
    let shared = format!(
        "node pair(x: num [3]) -> (o: num [3])
           share v = layer(1.0, _);
           o = v(v(x));
         node both(x: num [3], y: num [3]) -> (o: num [3])
           share u = pair;
           o = u(x) - u(y);
         {HEAD} -> (o)
           o, _, _ = diff_both(x, y, true, -0.1 * o) every end;"
    );
    let plain = format!(
        "node pair(k: num [3, 3], x: num [3]) -> (o: num [3])
           o = inner(k, inner(k, x));
         node both(x: num [3], y: num [3]) -> (o: num [3])
           k = param(a());
           o = pair(k, x) - pair(k, y);
         {HEAD} -> (o)
           o, _, _ = diff_both(x, y, true, -0.1 * o) every end;"
    );
    agree("nested", &shared, &plain);
}

/// An optimiser other than `diff_param`.
const SLOW: &str = "
node slow(rate, init, bp, do) -> (o)
  o = init fby o + merge bp (rate * do) (zeros_like(init));
";

/// The text of `COMMON` in which `slow` updates all parameters.
fn all_slow() -> String {
    let own = "node diff_param(init, bp, do) -> (o)
  o = init fby o + v;
  v = 0.5 * (zeros_like(init) fby v) + merge bp do (zeros_like(init));
";
    assert!(COMMON.contains(own), "the optimiser of the common text");
    let other = "node diff_param(init, bp, do) -> (o)\n  o = slow(0.25, init, bp, do);\n";
    format!("{}{SLOW}", COMMON.replace(own, other))
}

#[test]
fn by_says_what_updates_the_parameters_in_a_call() {
    let plain = format!("{}{HEAD} -> (p)\n p, _ = diff_net(x, true, 0.1 * (y - p)) every end;", all_slow());
    let ways = [
        "p, _ = diff_net(x, true, 0.1 * (y - p)) every end by quarter;",
        "p, _ = diff_net(x, true, 0.1 * (y - p)) by slow(0.25, _, _, _) every end;",
        "p, _ = diff_inside(x, true, 0.1 * (y - p)) every end;",
        "p, _ = diff_each(x, true, 0.1 * (y - p)) every end by slow(1.0, _, _, _);",
        "share u = net by quarter; p, _ = diff_u(x, true, 0.1 * (y - p)) every end;",
        "p = fit(net, x, y, end) by quarter;",
        "p, _ = diff_back(x, true, 0.1 * (y - p)) every end by slow(3.0, _, _, _);",
    ];
    let nodes = "
node quarter(init, bp, do) -> (o)
  o = slow(0.25, init, bp, do);
node inside(x: num [3]) -> (o: num [3])
  o = applied(net, x) by quarter;
node applied(f: node, x: num [3]) -> (o: num [3])
  o = f(x);
node each(x: num [3]) -> (o: num [3])
  c = param([0.25, -0.5, 0.75]) by quarter;
  h[0] = x;
  h[i + 1] = layer(if i == 0 then 1.0 else -0.5, h[i]) by slow(0.25, _, _, _) for i < 2;
  o = h[2] + c;
node fit(f: node, x: num [3], y: num [3], end: bool []) -> (o: num [3])
  o, _ = diff_f(x, true, 0.1 * (y - o)) every end;
node back(x: num [3]) -> (o: num [3])
  o = net(x) by diff_param;
";
    for way in ways {
        let common = match way.contains("diff_back") {
            true => all_slow(),
            false => format!("{COMMON}{SLOW}"),
        };
        same(way, &format!("{common}{nodes}{HEAD} -> (p)\n {way}"), &plain);
    }
}

#[test]
fn what_is_frozen_keeps_its_value_and_passes_gradients_on() {
    let frozen = format!(
        "import std.optimisers (frozen);
         {COMMON}node half(x: num [3]) -> (o: num [3])
           o = layer(1.0, layer(-0.5, x) by frozen);
         {HEAD} -> (p, dx)
           p, dx = diff_half(x, c, (0.1 * (y - p)) when c) every end;"
    );
    let held = format!(
        "{COMMON}node half(x: num [3]) -> (o: num [3])
           o = layer(1.0, inner(b(), x));
         {HEAD} -> (p, dx)
           p, dx = diff_half(x, c, (0.1 * (y - p)) when c) every end;"
    );
    same("frozen", &frozen, &held);
}

/// Checks that two programs have the same outputs up to rounding.
fn near(name: &str, first: &str, second: &str) {
    let [p, q] = both(first, second);
    let mut all = 0;
    for (p, q) in p.iter().zip(&q) {
        assert_eq!(p.is_some(), q.is_some(), "{name}");
        for (p, q) in p.iter().flatten().zip(q.iter().flatten()) {
            let [p, q] = [*p, *q].map(f64::from_bits);
            assert!((p - q).abs() < 1e-12, "{name}: {p}, {q}\n{first}\n{second}");
            all += 1;
        }
    }
    assert!(all >= CYCLES, "{name}");
}

#[test]
fn gradients_are_clipped_by_the_norm_of_all() {
    // one parameter, whose norm is that of all its parts
    let joined = "
node joined(x: num [3]) -> (o: num [3])
  w = param(concat(reshape([9], a()), concat(reshape([9], b()), [0.25, -0.5, 0.75], 0), 0));
  o = inner(reshape([3, 3], w[9:18]), inner(reshape([3, 3], w[0:9]), x)) + w[18:21];
";
    let nodes = COMMON.split_once("node inner").map_or("", |(_, rest)| rest);
    let program = |optimiser: &str, main: &str| {
        format!(
            "import std.optimisers;
             node diff_param(init, bp, do) -> (o)
               o = {optimiser};
             node inner{nodes}{joined}{main}"
        )
    };
    let mains = [
        format!("{HEAD} -> (p)\n p, _ = diff_NET(x, true, y - p) every end;"),
        format!("{HEAD} -> (p)\n p, _ = diff_NET(x, c, (y - p) when c) every true;"),
        format!("{HEAD} -> (p)\n p, _ = diff_NET(x, c, (y - p) when c) every end;"),
        format!("{HEAD} -> (p)\n share u = NET; p, _ = diff_u(x, c, (y - p) when c) every end;"),
        format!(
            "node two(x: num [3], y: num [3], c: bool []) -> (o: num [])
               share u = NET; d = u(x) - u(y); o = sum(d * d) + 0.01 * sum(u.params);
             {HEAD} -> (p)\n p, _, _ = diff_two(x, y, c, true, -0.5) every end;"
        ),
    ];
    for main in mains {
        for (group, one) in [
            ("sgd(init, bp, clip_global(0.4, bp, do))", "sgd(init, bp, clip_norm(0.4, do))"),
            (
                "adam(0.1, 0.9, 0.99, 1e-8, init, bp, clip_global(0.4, bp, do))",
                "adam(0.1, 0.9, 0.99, 1e-8, init, bp, clip_norm(0.4, do))",
            ),
        ] {
            let (first, second) = (main.replace("NET", "net"), main.replace("NET", "joined"));
            near(&main, &program(group, &first), &program(one, &second));
        }
    }
}

#[test]
fn parts_that_run_in_some_cycles_are_clipped_with_the_others() {
    let experts = [
        "node f(x: num [], c: bool [], end: bool []) -> (o)
           o = line(1.0, x) + merge c line(1.0, x when c) (line(1.0, x when not c));",
        "node f(x: num [], c: bool [], end: bool []) -> (o)
           w = param(ones([3]));
           o = w[0] * x + merge c ((w[1] * x) when c) ((w[2] * x) when not c);",
    ];
    let recurrent = [
        "node f(x: num [], c: bool [], end: bool []) -> (o)
           h = rec(x, param(0.5)) every end;
           o = merge end line(1.0, h when end) (0.0 when not end);
         node rec(x: num [], k: num []) -> (h)
           h = tanh(k * x + (0.0 fby h));",
        "node f(x: num [], c: bool [], end: bool []) -> (o)
           w = param([0.5, 1.0]);
           h = tanh(w[0] * x + (0.0 fby h));
           o = merge end ((w[1] * h) when end) (0.0 when not end);",
    ];
    for ([group, one], ends) in [
        (experts, [", true, y[0]) every end", ", c, y[0] when c) every end", ", true, y[0])"].as_slice()),
        (recurrent, [", true, y[0]) every end", ", c, y[0] when c) every end"].as_slice()),
    ] {
        for end in ends {
            let program = |optimiser: &str, f: &str| {
                format!(
                    "import std.optimisers;
                     node diff_param(init, bp, do) -> (o)
                       o = sgd(init, bp, {optimiser});
                     node line(i, x) -> (o)
                       k = param(i);
                       o = k * x;
                     {f}
                     {HEAD} -> (o)
                       o, _ = diff_f(x[0], c, end{end};"
                )
            };
            let (first, second) =
                (program("clip_global(0.3, bp, do)", group), program("clip_norm(0.3, do)", one));
            near(end, &first, &second);
            let [clipped, plain] = both(&first, &program("do", group));
            assert_ne!(clipped, plain, "{end}: the gradients are short");
        }
    }
}

#[test]
fn a_group_is_what_one_node_updates() {
    // the same as with one rate for all parameters; two groups are the same as two programs
    let clipped = "
node clipped(rate, init, bp, do) -> (o)
  o = sgd(init, bp, rate * clip_global(0.4, bp, do));
node other(init, bp, do) -> (o)
  o = sgd(init, bp, 0.5 * clip_global(0.4, bp, do));
node left(x: num [3]) -> (o: num [3])
  o = layer(1.0, x);
node right(x: num [3]) -> (o: num [3])
  o = layer(-0.5, x);
";
    let text = |main: &str| format!("import std.optimisers;{COMMON}{clipped}{HEAD} -> (p, q)\n{main}");
    let calls = |p: &str, q: &str| {
        text(&format!(
            "p, _ = diff_left(x, true, y - p) every end{p};
             q, _ = diff_right(y, c, (x - q) when c) every end{q};"
        ))
    };
    let one = calls(" by clipped(0.5, _, _, _)", " by clipped(0.5, _, _, _)");
    let equal = calls(" by clipped(0.5, _, _, _)", " by clipped(0.25 + 0.25, _, _, _)");
    same("static arguments", &one, &equal);
    let apart = calls(" by clipped(0.5, _, _, _)", " by other");
    let alone = text(
        "p, _ = diff_left(x, true, y - p) every end by other;
         q, _ = diff_right(y, c, (x - q) when c) every end by clipped(0.5, _, _, _);",
    );
    same("two nodes", &apart, &alone);
    let [joint, separate] = both(&one, &apart);
    assert_ne!(joint, separate, "one norm is not two");
}
