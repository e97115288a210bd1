//! Parameters with an optimiser, outside and under windows.

use rml_ir::flat::{Flat, Init, Rhs, print};

use crate::support::{differentiated, edited, equation_of, inlined};

/// `k` is trained with an optimiser that has a state of its own, in a node that is called `every end`.
pub(crate) const WINDOWED: &str = r#"normal f32 root n3
node n0 "momentum"
  formal v0
  formal v1
  formal v2
  output v3
  var v0 num [2] "init"
  var v1 bool [] "bp"
  var v2 num [2] "do"
  var v3 num [2] "o"
  var v4 num [2] "o1"
  var v5 num [2] "m"
  var v6 num [2] "pad"
  var v7 num [2]
  const k0 num [2] = fill 0.0
  v7 = const k0
  v6 = merge v1 v2 v7
  v5 = fby k0 v6
  v3 = fby v0 v4
  v4 = apply add (v3, v5)

node n1 "diff_param"
  formal v0
  formal v1
  formal v2
  output v3
  var v0 num [2] "init"
  var v1 bool [] "bp"
  var v2 num [2] "do"
  var v3 num [2] "o"
  v3 = call n0 "momentum_0" (v0, v1, v2)

node n2 "diff_scale"
  formal v0
  formal v1
  formal v2
  output v3
  output v6
  var v0 num [2] "x"
  var v1 bool [] "bp"
  var v2 num [2] "do"
  var v3 num [2] "o"
  var v4 num [2] "k"
  var v5 num [2]
  var v6 num [2] "dx"
  var v7 num [2] "dk"
  const k0 num [2] = random glorot_uniform
  v5 = const k0
  v4 = param_update v5 v1 v7 by n1
  v3 = apply mul (v4, v0)
  v6 = when v4 v1
  v7 = apply mul (v2, v6)

node n3 "main"
  formal v0
  formal v1
  formal v2
  formal v3
  output v4
  var v0 num [2] "x"
  var v1 bool [] "bp"
  var v2 num [2] "do"
  var v3 bool [] "end"
  var v4 num [2] "o"
  var v5 num [2]
  v4, v5 = call n2 "diff_scale_0" (v0, v1, v2) every v3
"#;

fn key_of(flat: &Flat, key: &str) -> String {
    let equation = &flat.equations[flat.states[key].equation];
    flat.vars[equation.lhs].name.as_deref().unwrap_or("no name").to_owned()
}

#[test]
fn outside_windows_the_optimiser_is_an_instance() {
    let flat = inlined(&edited(WINDOWED, " every v3", ""));
    assert_eq!(equation_of(&flat, "diff_scale_0.k"), "diff_scale_0.k = apply copy (diff_scale_0.k.o)");
    assert_eq!(equation_of(&flat, "diff_scale_0.k.bp"), "diff_scale_0.k.bp = apply copy (diff_scale_0.bp)");
    let states: Vec<_> = flat.states.iter().map(|(k, s)| (&**k, s.parameter)).collect();
    assert_eq!(states, [("scale_0.k.momentum_0.m", false), ("scale_0.k", true)]);
    assert_eq!(key_of(&flat, "scale_0.k"), "diff_scale_0.k.momentum_0.o");
}

#[test]
fn under_windows_the_optimiser_ticks_once_a_window() {
    let flat = inlined(WINDOWED);
    let text = print(&flat);
    assert!(text.contains("window w0 end v3\n"));
    // The optimiser's states are outside windows and have the same keys as without.
    let states: Vec<_> = flat.states.iter().map(|(k, s)| (&**k, s.parameter)).collect();
    assert_eq!(states, [("scale_0.k.momentum_0.m", false), ("scale_0.k", true)]);

    let rhs_of = |var| &flat.equations.iter().find(|e| e.lhs == var).expect("it is defined").rhs;
    let var = |name: &str| {
        let named = flat.vars.iter_enumerated().find(|(_, d)| d.name.as_deref() == Some(name));
        named.unwrap_or_else(|| panic!("no {name}")).0
    };
    let Rhs::Merge { cond: first, on_true: p, on_false: held } = rhs_of(var("diff_scale_0.k")) else {
        panic!("the parameter is merged from the optimiser and what is held");
    };
    assert!(matches!(rhs_of(*first), Rhs::Fby { init: Init::Const(_), window: Some(_), .. }));
    let Rhs::Apply { args, .. } = rhs_of(*p) else { panic!("the optimiser's output is copied") };
    assert_eq!(args[..], [var("diff_scale_0.k.o")]);
    let Rhs::When { value: held, .. } = rhs_of(*held) else { panic!("what is held is sampled") };
    let Rhs::Fby { next, window: Some(_), .. } = rhs_of(*held) else {
        panic!("the parameter is held in the window")
    };
    assert_eq!(*next, var("diff_scale_0.k"));
    let argument = |name: &str| match rhs_of(var(name)) {
        Rhs::Apply { args, .. } => match rhs_of(args[0]) {
            Rhs::Apply { args, .. } => rhs_of(args[0]),
            other => other,
        },
        other => panic!("{other:?}"),
    };
    assert!(matches!(argument("diff_scale_0.k.init"), Rhs::Const(_)), "a constant is not sampled");
    assert!(matches!(argument("diff_scale_0.k.bp"), Rhs::When { cond, .. } if cond == first));
    let Rhs::When { value, .. } = argument("diff_scale_0.k.do") else { panic!("the gradient is sampled") };
    let Rhs::When { value: total, cond: some } = rhs_of(*value) else { panic!("twice") };
    assert!(matches!(rhs_of(*total), Rhs::Apply { .. }));
    let Rhs::If { cond, then, other } = rhs_of(*some) else { panic!("bp or later") };
    assert_eq!(*cond, var("diff_scale_0.bp"));
    assert!(matches!(rhs_of(*then), Rhs::Const(_)));
    assert!(matches!(rhs_of(*other), Rhs::FbyBack { window: Some(_), .. }));
}

#[test]
fn an_initial_value_that_is_no_constant_is_sampled() {
    let text = edited(WINDOWED, "param_update v5", "param_update v0");
    let flat = rml_ir::pass::inline_open(&differentiated(&text), &|_| true).unwrap_or_else(|e| panic!("{e}"));
    let var = flat.vars.iter_enumerated().find(|(_, d)| d.name.as_deref() == Some("diff_scale_0.k.init"));
    let (var, _) = var.expect("it exists");
    let copy = flat.equations.iter().find(|e| e.lhs == var).expect("it is defined");
    let Rhs::Apply { args, .. } = &copy.rhs else { panic!("a copy") };
    let source = flat.equations.iter().find(|e| e.lhs == args[0]).expect("it is defined");
    assert!(matches!(source.rhs, Rhs::When { .. }));
}

/// As it is known from the interface alone: where the program runs, an input is no initial value.
#[test]
fn an_initial_value_that_is_a_stream_is_refused() {
    for text in [
        edited(WINDOWED, "param_update v5", "param_update v0"),
        edited(WINDOWED, "v5 = const k0", "v5 = fby k0 v0"),
    ] {
        let module = differentiated(&text);
        let found = [rml_ir::pass::inline(&module).err(), rml_ir::pass::inline_held(&module).err()];
        for error in found.map(|found| found.expect("the parameter begins with a stream")) {
            assert_eq!(error.0.len(), 1);
            assert_eq!(error.0[0].code.name, "initial-value");
            assert_eq!(error.0[0].labels.len(), 2);
        }
    }
}

#[test]
fn an_optimiser_without_fby_is_refused_where_it_must_train() {
    let text = edited(WINDOWED, "v3 = fby v0 v4", "v3 = apply add (v0, v4)");
    let error = rml_ir::pass::inline(&differentiated(&text)).expect_err("nothing holds the parameter");
    assert_eq!(error.0[0].code.name, "optimiser-shape");
    assert_eq!(error.0[0].labels.len(), 2);
    // A program may call such a node itself.
    let flat = inlined(&edited(&text, "v7 by n1", "v7 by n1 \"diff_param_0\""));
    assert!(flat.states.values().all(|s| !s.parameter));
    equation_of(&flat, "diff_scale_0.diff_param_0.init");
}

#[test]
fn parameters_start_from_constants_after_folding() {
    let computed = edited(
        WINDOWED,
        "  v5 = const k0\n  v4 = param_update v5",
        "  var v8 num [2]\n  v5 = const k0\n  v8 = apply add (v5, v5)\n  v4 = param_update v8",
    );
    for text in [WINDOWED.to_owned(), edited(WINDOWED, " every v3", ""), computed] {
        let flat = rml_ir::pass::lower(inlined(&text), rml_ir::pass::Keep::Needed);
        let state = &flat.equations[flat.states["scale_0.k"].equation];
        assert!(matches!(state.rhs, Rhs::Fby { init: Init::Const(_), .. }), "{}", print(&flat));
    }
}

/// Two parameters of a group, whose updates call `group_sum`.
const GROUP: &str = r#"normal f32 root n2
node n0 "group_sum"
  formal v0
  output v1
  var v0 num [] "x"
  var v1 num [] "total"
  v1 = apply copy (v0)

node n1 "diff_param"
  formal v0
  formal v1
  formal v2
  output v3
  var v0 num [] "init"
  var v1 bool [] "bp"
  var v2 num [] "do"
  var v3 num [] "o"
  var v4 num [] "all"
  var v5 num [] "pad"
  var v6 num []
  const k0 num [] = 0.0
  v6 = const k0
  v5 = merge v1 v2 v6
  v4 = call n0 "group_sum_0" (v5)
  v3 = fby v0 v4

node n2 "diff_pair"
  formal v0
  formal v1
  output v2
  var v0 bool [] "bp"
  var v1 num [] "do"
  var v2 num [] "o"
  var v3 num [] "a"
  var v4 num [] "b"
  var v5 num []
  const k0 num [] = 1.0
  v5 = const k0
  v3 = param_update v5 v0 v1 by n1
  v4 = param_update v5 v0 v1 by n1
  v2 = apply add (v3, v4)
"#;

#[test]
fn a_sum_over_a_group_is_known_by_its_name_and_body() {
    let is_instance = |text: &str| {
        let names: Vec<_> = inlined(text).vars.iter().filter_map(|v| v.name.clone()).collect();
        names.iter().any(|name| name.ends_with("group_sum_0.total"))
    };
    assert!(!is_instance(GROUP));
    assert!(is_instance(&edited(GROUP, "apply copy (v0)", "apply add (v0, v0)")));
    assert!(is_instance(&edited(GROUP, "node n0 \"group_sum\"", "node n0 \"other_sum\"")));
}
