//! Adjoints that the program defines itself, optimisers, training, and rejected programs.

mod support;

use rml_autodiff::{differentiate, differentiate_node};
use rml_base::codes::{autodiff, elab};
use rml_elab::Root;
use rml_ir::flat::Flat;
use rml_ir::normal::Rhs;
use rml_ir::{Value, pass, surface};
use rml_sim::Status;
use rml_testkit::gradients::{InputRows, normal, run};
use support::flat;

fn numbers(row: &[Status]) -> Vec<Option<f64>> {
    row.iter().map(|s| s.value().and_then(Value::as_num)).collect()
}

fn nums(row: &[f64]) -> Vec<Option<Value>> {
    row.iter().map(|&x| Some(Value::F64(x))).collect()
}

fn bools(row: &[bool]) -> Vec<Option<Value>> {
    row.iter().map(|&x| Some(Value::Bool(x))).collect()
}

/// The paper's running example is trained as by its own adjoint (conformance vector `diff_app_mixed`).
#[test]
fn training_takes_the_same_steps_as_the_paper() {
    let text = format!(
        "{}node main(i: num [], bp: bool [], gt: num [] when bp) -> (o)
  o, di = diff_app(i, bp, do);
  do = -0.005 * (2.0 * ((o when bp) - gt));
",
        include_str!("programs/app.rml")
    );
    let module = normal(&text, Root::Run("main".into())).unwrap_or_else(|e| panic!("{e}"));
    let module = differentiate(module).unwrap_or_else(|e| panic!("{e}"));
    let bp = [true, true, false, false].repeat(3);
    let gt = [25.0, 9.0, 0.0, 0.0, 9.0, 1.0, 0.0, 0.0, 1.0, 25.0, 0.0, 0.0];
    let mut rows = InputRows::new();
    rows.insert("i".into(), nums(&[-1.0, 0.0, 1.0].repeat(4)));
    rows.insert("bp".into(), bools(&bp));
    rows.insert("gt".into(), gt.iter().zip(&bp).map(|(&x, &on)| on.then_some(Value::F64(x))).collect());
    let expected = [
        1.0,
        0.2304,
        0.838_711_326_284_185_4,
        4.178_705_233_484_186,
        0.318_308_279_884_185_64,
        0.668_878_109_634_234_9,
        4.588_807_965_821_745,
        0.431_299_750_160_871_4,
        0.686_713_863_460_717_6,
        4.588_807_965_821_745,
        2.328_733_046_837_522_5,
        0.704_032_737_687_103_3,
    ];
    for (found, expected) in numbers(&run(flat(&module), &rows, 12)["o"]).iter().zip(expected) {
        let found = found.expect("present");
        assert!((found - expected).abs() < 1e-12 * expected.abs().max(1.0), "{found} {expected}");
    }
}

const CLIPPED: &str = "
node square(x) -> (o)
  o = x * x;
node diff_square(x, bp, do) -> (o, dx)
  o = x * x;
  dx = 100.0 * do;
node f(x) -> (o)
  o = square(x) + x;
";

#[test]
fn a_defined_adjoint_replaces_the_synthesised_one() {
    let text = format!(
        "{CLIPPED}node main(x: num [], bp: bool [], do: num [] when bp) -> (o, dx)
  o, dx = diff_f(x, bp, do);
"
    );
    let module = normal(&text, Root::Run("main".into())).unwrap_or_else(|e| panic!("{e}"));
    let module = differentiate(module).unwrap_or_else(|e| panic!("{e}"));
    let mut rows = InputRows::new();
    rows.insert("x".into(), nums(&[3.0]));
    rows.insert("bp".into(), bools(&[true]));
    rows.insert("do".into(), nums(&[2.0]));
    let table = run(flat(&module), &rows, 1);
    assert_eq!(numbers(&table["o"]), [Some(12.0)]);
    assert_eq!(numbers(&table["dx"]), [Some(202.0)]);
}

#[test]
fn an_input_that_a_defined_adjoint_leaves_out_has_no_gradient() {
    let text = "
node scale(x, y) -> (o)
  o = x * y;
node diff_scale(x, y, bp, do) -> (o, dy)
  o = x * y;
  dy = (x when bp) * do;
node f(x, y) -> (o)
  o = scale(x, y);
node main(x: num [], y: num [], bp: bool [], do: num [] when bp) -> (o, dx, dy)
  o, dx, dy = diff_f(x, y, bp, do);
";
    let module = normal(text, Root::Run("main".into())).unwrap_or_else(|e| panic!("{e}"));
    let module = differentiate(module).unwrap_or_else(|e| panic!("{e}"));
    let mut rows = InputRows::new();
    rows.insert("x".into(), nums(&[3.0, 3.0]));
    rows.insert("y".into(), nums(&[5.0, 5.0]));
    rows.insert("bp".into(), bools(&[true, false]));
    rows.insert("do".into(), vec![Some(Value::F64(2.0)), None]);
    let table = run(flat(&module), &rows, 2);
    assert_eq!(numbers(&table["dx"]), [Some(0.0), None]);
    assert_eq!(numbers(&table["dy"]), [Some(6.0), None]);
}

/// Elaboration rejects such programs first; this check applies to modules that do not come from elaboration.
#[test]
fn a_defined_adjoint_with_another_interface_is_refused() {
    let text = "
node square(x) -> (o)
  o = x * x;
node other(x, bp: bool []) -> (o, dx: bool [])
  o = x * x;
  dx = bp;
node f(x: num [], bp: bool []) -> (o)
  o = square(x) + p;
  p, dx = other(x, bp);
";
    let mut module = normal(text, Root::Diff("f".into())).unwrap_or_else(|e| panic!("{e}"));
    let find = |name: &str| module.nodes.iter_enumerated().find(|(_, n)| *n.name == *name).expect("a node").0;
    let (square, other) = (find("square"), find("other"));
    module.overrides.insert(square, other);
    let root = module.root;
    let problems = differentiate_node(module, root).expect_err("the interface does not fit");
    let found: Vec<_> = problems.iter().collect();
    assert_eq!(found.len(), 2, "{problems}");
    assert!(found.iter().all(|p| p.code == elab::OVERRIDE_INTERFACE && p.labels.len() == 2));
    assert!(found[0].notes[0].contains("`num []`, `bool []`, `num []`"), "{problems}");
    assert!(found[1].message.contains("`dx` of `other` has type `bool []`"), "{problems}");
}

#[test]
fn a_parameter_without_optimiser_is_refused() {
    let text = "node f(x: num []) -> (o)\n  k = param(1.0);\n  o = k * x;\n";
    let mut module = normal(text, Root::Diff("f".into())).unwrap_or_else(|e| panic!("{e}"));
    module.optimisers.clear();
    let root = module.root;
    let problems = differentiate_node(module, root).expect_err("no optimiser");
    assert_eq!(problems.iter().next().expect("a finding").code, autodiff::NO_OPTIMISER);
}

#[test]
fn a_call_with_one_condition_for_clocks_that_it_cannot_tell_apart_is_refused() {
    let text = "
node split(x) -> (a, b)
  c = x > 0.5;
  a = (x * 2.0) when c;
  b = (x * x) when not c;
node f(x) -> (a, b)
  a, b = split(x);
node main(x: num []) -> (a, b)
  a, b, dx = diff_f(x, true, 1.0, 1.0);
node diff_split(x, bp, da, db) -> (a, b, dx)
  a, b = split(x);
  dx = 0.0 when bp;
node g(x) -> (o)
  a, b = split(x);
  o = merge (x > 0.5) a b;
node own(x: num []) -> (o)
  o, dx = diff_g(x, true, 1.0);
";
    let without_own = text.split("node diff_split").next().expect("the first part");
    for (text, node) in [(without_own, "main"), (text, "own")] {
        let module = normal(text, Root::Run(node.into())).unwrap_or_else(|e| panic!("{e}"));
        let problems = differentiate(module).expect_err("the condition is hidden");
        assert_eq!(problems.iter().next().expect("a finding").code, autodiff::GRADIENT_CLOCK);
    }
    let module = normal(without_own, Root::Diff("f".into())).unwrap_or_else(|e| panic!("{e}"));
    let root = module.root;
    let made = differentiate_node(module, root).unwrap_or_else(|e| panic!("{e}"));
    let text = surface::print_node(&made.module, made.adjoint);
    assert!(
        text.contains("node diff_f(x: num [], bpa: bool [], bpb: bool [], da: num [] when bpa,"),
        "{text}"
    );
}

#[test]
fn an_output_without_gradient_may_be_on_any_clock() {
    let text = "
node watched(x) -> (a, seen)
  a = x * 2.0;
  seen = to_num((x > 0.5) when c);
  c = x > 0.0;
node f(x: num []) -> (o)
  o, seen = watched(x);
";
    let module = normal(text, Root::Diff("f".into())).unwrap_or_else(|e| panic!("{e}"));
    let root = module.root;
    differentiate_node(module, root).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_program_may_define_its_own_param() {
    let text = "
node param(init) -> (o)
  o = init;
node diff_param(init, bp, do) -> (o)
  o = init fby o1;
  o1 = o + merge bp do 0.0;
node f(x) -> (o)
  k = param(1.0);
  o = k * x;
node main(x: num [], bp: bool [], do: num [] when bp) -> (o)
  o = diff_f(x, bp, do);
";
    let module = normal(text, Root::Run("main".into())).unwrap_or_else(|e| panic!("{e}"));
    let module = differentiate(module).unwrap_or_else(|e| panic!("{e}"));
    let updates = |eq: &rml_ir::normal::Equation| matches!(eq.rhs, Rhs::ParamUpdate { .. });
    assert!(module.nodes.iter().any(|node| node.equations.iter().any(updates)));
    let mut rows = InputRows::new();
    rows.insert("x".into(), nums(&[3.0, 3.0, 3.0]));
    rows.insert("bp".into(), bools(&[true, true, true]));
    rows.insert("do".into(), nums(&[1.0, 1.0, 1.0]));
    assert_eq!(numbers(&run(flat(&module), &rows, 3)["o"]), [Some(3.0), Some(12.0), Some(21.0)]);
}

#[test]
fn equations_of_the_program_are_kept() {
    let module =
        normal(include_str!("programs/app.rml"), Root::Diff("app".into())).unwrap_or_else(|e| panic!("{e}"));
    let root = module.root;
    let before = module.nodes[root].equations.len();
    let made = differentiate_node(module, root).expect("differentiable");
    assert_eq!(made.module.nodes[root].equations.len(), before);
    assert!(surface::print_node(&made.module, root).contains("x = dense(i);"));
}

#[test]
fn second_derivatives_by_name() {
    let text = "
node cube(x) -> (o)
  o = x * x * x;
node main(x: num [], bp: bool [], do: num [], bp2: bool [], do2: num [], ddx: num []) -> (o, dx, ddx2, ddo)
  o, dx, ddx2, ddo = diff_diff_cube(x, bp, do, bp2, do2, ddx);
";
    let module = normal(text, Root::Run("main".into())).unwrap_or_else(|e| panic!("{e}"));
    let module = differentiate(module).unwrap_or_else(|e| panic!("{e}"));
    let mut rows = InputRows::new();
    for (name, x) in [("x", 2.0), ("do", 1.0), ("do2", 0.0), ("ddx", 1.0)] {
        rows.insert(name.into(), nums(&[x]));
    }
    for name in ["bp", "bp2"] {
        rows.insert(name.into(), bools(&[true]));
    }
    let table = run(flat(&module), &rows, 1);
    // dx = 3 x^2 do, so its gradients are 6 x do and 3 x^2.
    assert_eq!(numbers(&table["dx"]), [Some(12.0)]);
    assert_eq!(numbers(&table["ddx2"]), [Some(12.0)]);
    assert_eq!(numbers(&table["ddo"]), [Some(12.0)]);
}

/// A literal `bp` has no clock of its own: it is present together with the outputs that it gates, through nodes and in
/// second derivatives (ADJ-16).
#[test]
fn a_literal_condition_is_present_with_the_outputs() {
    let node = "node f(y) -> (o)\n  o = 1.0 fby y;\nnode gated(y, b, do) -> (o, dy)\n  o, bpy, dy = diff_f(y, b, do);\n";
    let calls = [
        "node main(y: num []) -> (o, dy)\n  o, bpy, dy = diff_f(y, true, do);\n  do = 0.1 * o;\n",
        "node main(y: num []) -> (o, dy)\n  o, dy = gated(y, true fby true, do);\n  do = 0.1 * o;\n",
    ];
    let mut rows = InputRows::new();
    let y = [Some(1.0), Some(2.0), None, Some(4.0)];
    rows.insert("y".into(), y.iter().map(|y| y.map(Value::F64)).collect());
    for call in calls {
        let module =
            normal(&format!("{node}{call}"), Root::Run("main".into())).unwrap_or_else(|e| panic!("{e}"));
        let module = differentiate(module).unwrap_or_else(|e| panic!("{e}"));
        let flat = flat(&module);
        let lowered = pass::lower(Flat::clone(&flat), pass::Keep::Needed);
        let lowered = pass::draw(lowered, 1).expect("memory for the draws");
        for flat in [flat, lowered] {
            let table = run(flat, &rows, 4);
            assert_eq!(numbers(&table["o"]), [Some(1.0), Some(1.0), None, Some(2.0)]);
            assert_eq!(numbers(&table["dy"]), [Some(0.1), Some(0.2), None, None]);
        }
    }
}
