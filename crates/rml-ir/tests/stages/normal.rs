//! The normal form: text form and invariants.

use rml_ir::normal::{print, verify, verify_differentiated};

use crate::support::{assert_only, edited, normal};

/// One module with every primitive.
pub(crate) const ALL: &str = r#"normal f32 root n2
override n0 n1
optimiser num [2] n3

node n0 "cell"
  formal static "units" = [2, 3.5, true]
  formal v0
  output v1
  static "shape" = "[units, \"x\"]"
  var v0 num [2] "x"
  var v1 num [2] "y"
  const k0 num [2] = fill 0.0 as "zeros([2])"
  v1 = fby k0 v0  # eq0 y

node n1 "diff_cell"
  formal v0
  formal v1
  formal v2
  output v3
  output v4
  var v0 num [2] "x"
  var v1 bool [] "bp"
  var v2 num [2] "dy"
  var v3 num [2] "y"
  var v4 num [2] "dx"
  const k0 num [2] = [1.5, -0.0]
  v3 = fby k0 v0  # eq0 y
  v4 = fby_back k0 v2  # eq1 dx

node n2 "main"
  formal v0
  formal v1 when v0
  formal v2 when not v0
  formal v14
  output v3
  var v0 bool [] "c"
  var v1 num [2] "a"
  var v2 num [2] "b"
  var v3 num [2] "o"
  var v4 num [2] "w"
  var v5 num [2] "s"
  var v6 num [2] "p"
  var v7 num [2] "i"
  var v8 num [2] "k"
  var v9 num [2] "y"
  var v10 num [2] "k2"
  var v11 num [2]
  var v12 bool []
  var v13 num [2]
  var v14 num [2] "d"
  var v15 num [2] "z"
  const k0 num [2] = random glorot_uniform as "glorot_uniform([2])"
  const k1 bool [] = true
  const k2 num [2] = [NaN, inf]
  v4 = merge v0 v1 v2  # eq0 w
  v5 = when v4 v0  # eq1 s
  v6 = post v4  # eq2 p
  v7 = if v0 v4 v6  # eq3 i
  v11 = const k0  # eq4
  v8 = param v11  # eq5 k
  v9 = call n0 "cell_0" (v7) every v0 statics ["[2]", "z"]  # eq6 y
  v12 = const k1  # eq7
  v10 = param_update v11 v12 v8 by n3 "diff_param_0"  # eq8 k2
  v13, v15 = call n1 "diff_cell_0" (v9, v12, v10)  # eq9 z
  v3 = apply index{0:2:1} (v15) statics ["0:2"]  # eq10 o

node n3 "diff_param"
  formal v0
  formal v1
  formal v2
  output v3
  var v0 num [2] "init"
  var v1 bool [] "bp"
  var v2 num [2] "do"
  var v3 num [2] "o"
  var v4 num [2] "o1"
  v3 = fby v0 v4  # eq0 o
  v4 = apply add (v3, v2)  # eq1 o1
"#;

#[test]
fn prints_back_what_it_reads() {
    let module = normal(ALL);
    assert_eq!(verify_differentiated(&module), Ok(()));
    assert_eq!(print(&module), ALL);
}

#[test]
fn a_text_that_is_no_module_is_an_error_with_its_line() {
    for (from, to, expected) in [
        ("merge v0 v1 v2", "merge v0 v1", "line 55: expected an id `v<number>`"),
        ("merge v0 v1 v2", "marge v0 v1 v2", "line 55: expected a primitive instead of `marge`"),
        ("var v12 bool []", "var v13 bool []", "line 48: expected the next id `v12`"),
        ("[1.5, -0.0]", "[1.5]", "line 26: expected 2 elements before this, not 1"),
        ("as \"zeros([2])\"", "as \"zeros([2])", "line 12: expected a string in quotes"),
        ("post v4", "post v4 v5", "line 57: expected the end of the line, found `v5"),
        ("index{0:2:1}", "index{0:2:1", "line 65: expected a closing `}`"),
    ] {
        let error = rml_ir::normal::parse(&edited(ALL, from, to)).expect_err("the text is broken");
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(rml_ir::normal::parse("").is_err());
}

#[test]
fn no_cut_of_the_text_makes_parser_or_verifier_panic() {
    for at in (0..ALL.len()).filter(|at| ALL.is_char_boundary(*at)) {
        if let Ok(module) = rml_ir::normal::parse(&ALL[..at]) {
            let _ = verify_differentiated(&module);
            print(&module);
        }
    }
}

#[track_caller]
fn broken(rule: &str, from: &str, to: &str) {
    assert_only(verify(&normal(&edited(ALL, from, to))), rule);
}

#[test]
fn n1_single_definition() {
    broken("N1", "  v5 = when v4 v0  # eq1 s\n", "");
    broken("N1", "  v5 = when v4 v0", "  v5 = when v4 v0\n  v5 = post v4");
    broken("N1", "  v5 = when v4 v0", "  v5 = when v4 v0\n  v1 = post v4");
    broken("N1", "post v4", "post v40");
    broken("N1", "  output v4", "  output v40");
    broken("N1", "  v5 = when v4 v0", "  v5, v6 = when v4 v0");
}

#[test]
fn n2_types_of_primitives() {
    broken("N2", "apply add (v3, v2)", "apply add (v3, v1)");
    broken("N2", "apply index{0:2:1}", "apply index{0:1:1}");
    broken("N2", "var v6 num [2]", "var v6 num [3]");
    broken("N2", "v12 = const k1", "v12 = const k0");
}

#[test]
fn n3_init_of_fby_has_its_type() {
    broken("N3", "num [2] = fill 0.0 as", "num [3] = fill 0.0 as");
    broken("N3", "fby_back k0", "fby_back k1");
}

#[test]
fn n4_conditions_are_bool() {
    broken("N4", "when v4 v0", "when v4 v4");
    broken("N4", "merge v0 v1 v2", "merge v1 v1 v2");
    broken("N4", "every v0", "every v1");
    broken("N4", "v1 when v0", "v1 when v2");
}

#[test]
fn n5_calls_fit_their_callee() {
    broken("N5", "call n0 \"cell_0\" (v7)", "call n0 \"cell_0\" (v7, v7)");
    broken("N5", "call n0 \"cell_0\" (v7)", "call n0 \"cell_0\" (v0)");
    broken("N5", "call n0 \"cell_0\"", "call n9 \"cell_0\"");
    broken("N5", "param_update v11 v12 v8 by n3", "param_update v11 v12 v8 by n0");
    broken("N5", "normal f32 root n2", "normal f32 root n7");
    broken("N5", "call n1 \"diff_cell_0\"", "diff n0 2 \"diff_cell_0\"");
}

#[test]
fn n6_no_recursion() {
    broken("N6", "  v1 = fby k0 v0", "  v1 = call n0 \"cell_0\" (v0)");
    let through = edited(ALL, "  v4 = fby_back k0 v2", "  v4 = call n0 \"cell_0\" (v2)");
    let circle = edited(
        &through,
        "  v1 = fby k0 v0",
        "  var v2 bool []\n  var v3 num [2]\n  const k1 bool [] = true\n  v2 = const k1\n  \
         v1, v3 = call n1 \"c\" (v0, v2, v0)",
    );
    assert_eq!(verify(&normal(&through)), Ok(()));
    assert_only(verify(&normal(&circle)), "N6");
}

#[test]
fn n7_no_adjoint_by_name() {
    let text = edited(ALL, "v13, v15 = call n1 \"diff_cell_0\"", "v13, v12, v15 = diff n0 1 \"diff_cell_0\"");
    let module = normal(&edited(&text, "  v12 = const k1  # eq7\n", ""));
    assert_eq!(verify(&module), Ok(()));
    assert_only(verify_differentiated(&module), "N7");
    assert_eq!(normal(&print(&module)).nodes.len(), 4);
}
