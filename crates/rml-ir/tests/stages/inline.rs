//! normal → flat: paths, windows, states.

use rml_ir::flat::print;

use crate::support::{edited, equation_of, flat, inlined};

/// Two levels of instances, one of them twice, with a state, a parameter and random constants in each.
const PATHS: &str = r#"normal f32 root n2
node n0 "cell"
  formal v0
  output v1
  var v0 num [] "x"
  var v1 num [] "y"
  var v2 num [] "k"
  var v3 num []
  var v4 num []
  const k0 num [] = random normal{0.0, 1.0}
  const k1 num [] = 0.0
  v3 = const k0
  v2 = param v3
  v4 = fby k1 v0
  v1 = apply mul (v2, v4)

node n1 "layer"
  formal v0
  output v1
  output v2
  var v0 num [] "x"
  var v1 num [] "h"
  var v2 num [] "z"
  v1 = call n0 "cell_0" (v0)
  v2 = call n0 "cell_1" (v1)

node n2 "main"
  formal v0
  output v1
  output v2
  var v0 num [] "x"
  var v1 num [] "a"
  var v2 num [] "b"
  v1, v2 = call n1 "diff_layer_0" (v0)
"#;

#[test]
fn variables_have_instance_paths() {
    let flat = inlined(PATHS);
    let names: Vec<&str> = flat.vars.iter().filter_map(|v| v.name.as_deref()).collect();
    assert_eq!(
        names,
        [
            "x",
            "a",
            "b",
            "diff_layer_0.x",
            "diff_layer_0.h",
            "diff_layer_0.z",
            "diff_layer_0.cell_0.x",
            "diff_layer_0.cell_0.y",
            "diff_layer_0.cell_0.k",
            "diff_layer_0.cell_1.x",
            "diff_layer_0.cell_1.y",
            "diff_layer_0.cell_1.k",
        ]
    );
    assert_eq!(
        equation_of(&flat, "diff_layer_0.cell_1.x"),
        "diff_layer_0.cell_1.x = apply copy (diff_layer_0.h)"
    );
    assert_eq!(equation_of(&flat, "diff_layer_0.h"), "diff_layer_0.h = apply copy (diff_layer_0.cell_0.y)");
    assert_eq!(equation_of(&flat, "b"), "b = apply copy (diff_layer_0.z)");
}

#[test]
fn keys_do_not_count_diff() {
    let flat = inlined(PATHS);
    let keys: Vec<_> = flat.states.iter().map(|(k, s)| (&**k, s.parameter)).collect();
    assert_eq!(
        keys,
        [
            ("layer_0.cell_0.k", true),
            ("layer_0.cell_0.y.fby0", false),
            ("layer_0.cell_1.k", true),
            ("layer_0.cell_1.y.fby0", false),
        ]
    );
    let random: Vec<&str> = flat.random_keys.values().map(|k| &**k).collect();
    assert_eq!(random, ["layer_0.cell_0.k.random0", "layer_0.cell_1.k.random0"]);
    assert_eq!(flat.consts.len(), 3, "two random ones, one value for both instances");
}

#[test]
fn of_two_equal_keys_the_later_keeps_its_path() {
    let text = edited(
        PATHS,
        "  v1, v2 = call n1 \"diff_layer_0\" (v0)\n",
        "  var v3 num []\n  var v4 num []\n  v1, v2 = call n1 \"diff_layer_0\" (v0)\n  \
         v3, v4 = call n1 \"layer_0\" (v0)\n",
    );
    let text = edited(
        &text,
        "  v3, v4 = call n1",
        "  var v5 num []\n  var v6 num []\n  v5, v6 = call n1 \"diff_diff_layer_0\" (v0)\n  v3, v4 = call n1",
    );
    let keys = inlined(&text).states;
    let keys: Vec<&str> = keys.keys().map(|k| &**k).filter(|k| k.contains("cell_0.k")).collect();
    assert_eq!(keys, ["layer_0.cell_0.k", "diff_diff_layer_0.cell_0.k", "layer_0.cell_0.k#2"]);
}

#[test]
fn root_keeps_its_interface() {
    let text = edited(
        PATHS,
        "  formal v0\n  output v1\n  output v2\n  var v0 num [] \"x\"\n  var v1 num [] \"a\"",
        "  formal v3\n  formal v0 when not v3\n  output v1\n  output v2\n  \
         var v0 num [] \"x\"\n  var v1 num [] \"a\"",
    );
    let flat = inlined(&edited(&text, "  v1, v2 = call n1", "  var v3 bool [] \"c\"\n  v1, v2 = call n1"));
    assert!(
        print(&flat).starts_with("flat f32 \"main\"\ninput v3\ninput v0 when not v3\noutput v1\noutput v2\n")
    );
}

/// `every` around an instance, and again inside it.
const WINDOWS: &str = r#"normal f32 root n2
node n0 "sum"
  formal v0
  output v1
  var v0 num [] "x"
  var v1 num [] "s"
  var v2 num [] "l"
  const k0 num [] = 0.0
  v2 = fby k0 v1
  v1 = apply add (v2, v0)

node n1 "outer"
  formal v0
  formal v1
  output v2
  var v0 num [] "x"
  var v1 bool [] "e"
  var v2 num [] "o"
  var v3 num [] "p"
  var v4 num [] "b"
  const k0 num [] = 0.0
  v3 = call n0 "sum_0" (v0) every v1
  v4 = fby_back k0 v3
  v2 = post v4

node n2 "main"
  formal v0
  formal v1
  output v2
  output v3
  var v0 num [] "x"
  var v1 bool [] "end"
  var v2 num [] "o"
  var v3 num [] "t"
  v2 = call n1 "outer_0" (v0, v1) every v1
  v3 = call n0 "sum_0" (v0)
"#;

#[test]
fn windows_nest() {
    let flat = inlined(WINDOWS);
    let text = print(&flat);
    assert!(text.contains("window w0 end v1\n"), "{text}");
    let end = equation_of(&flat, "outer_0.e");
    assert_eq!(end, "outer_0.e = apply copy (end)");
    let inner = flat.vars.iter_enumerated().find(|(_, v)| v.name.as_deref() == Some("outer_0.e"));
    let inner = inner.expect("the variable exists").0;
    assert!(text.contains(&format!("window w1 end {inner} in w0\n")), "{text}");
    assert_eq!(equation_of(&flat, "outer_0.sum_0.l"), "outer_0.sum_0.l = fby k0 outer_0.sum_0.s in w1");
    assert!(equation_of(&flat, "outer_0.b").ends_with(" in w0"));
    assert!(equation_of(&flat, "outer_0.o").ends_with(" in w0"));
    assert_eq!(equation_of(&flat, "sum_0.l"), "sum_0.l = fby k0 sum_0.s");
    assert_eq!(flat.states.keys().map(|k| &**k).collect::<Vec<_>>(), ["sum_0.l"], "windows hold no state");
}

#[test]
fn a_node_named_param_is_the_primitive() {
    let flat = inlined(
        r#"normal f32 root n1
node n0 "param"
  formal v0
  output v1
  var v0 num [] "init"
  var v1 num [] "o"
  v1 = apply copy (v0)
node n1 "main"
  formal v2
  output v0
  var v0 num [] "k"
  var v1 num []
  var v2 bool [] "end"
  const k0 num [] = 1.0
  v1 = const k0
  v0 = call n0 "param_0" (v1) every v2
"#,
    );
    assert_eq!(equation_of(&flat, "k"), "k = param param_0.o");
    assert_eq!(equation_of(&flat, "param_0.o"), "param_0.o = apply copy (param_0.init)");
    assert!(flat.states["k"].parameter);
}

#[test]
fn static_formals_of_instances_are_shown() {
    let text =
        edited(PATHS, "node n1 \"layer\"\n", "node n1 \"layer\"\n  formal static \"units\" = [2, 3]\n");
    let flat = inlined(&text);
    let k = equation_of(&flat, "diff_layer_0.units");
    assert!(k.starts_with("diff_layer_0.units = const "), "{k}");
    assert!(print(&flat).contains(" int [2] = [2, 3]\n"));
    assert!(rml_ir::pass::cone(flat).vars.iter().all(|v| v.name.as_deref() != Some("diff_layer_0.units")));
}

#[test]
fn states_without_a_name_are_counted_under_their_reader() {
    let text = r#"normal f32 root n0
node n0 "main"
  formal v0
  output v4
  var v0 num [] "x"
  var v1 num []
  var v2 num []
  var v3 num [] "y"
  var v4 num [] "z"
  var v5 num []
  var v6 num []
  var v7 num []
  const k0 num [] = 0.0
  v1 = fby k0 v0
  v2 = fby v0 v1
  v3 = apply add (v1, v2)
  v7 = const k0
  v5 = param v7
  v4 = fby k0 v5
  v6 = fby k0 v4
"#;
    let keys = inlined(text).states;
    assert_eq!(keys.keys().map(|k| &**k).collect::<Vec<_>>(), ["y.fby0", "y.fby1", "z.param0", "z", "fby0"]);
}

#[test]
fn what_is_inlined_prints_and_reads_back() {
    for text in [PATHS, WINDOWS] {
        let printed = print(&inlined(text));
        assert_eq!(print(&flat(&printed)), printed);
    }
}

#[test]
fn too_large_programs_are_refused() {
    // Forty levels, each with two instances of the one below: 2^40 instances.
    let mut text = String::from(
        "normal f32 root n40\nnode n0 \"f0\"\n  formal v0\n  output v0\n  var v0 num [] \"x\"\n",
    );
    for level in 1..=40 {
        let below = level - 1;
        text += &format!(
            "node n{level} \"f{level}\"\n  formal v0\n  output v2\n  \
             var v0 num [] \"x\"\n  var v1 num []\n  var v2 num []\n  \
             v1 = call n{below} \"f{below}_0\" (v0)\n  v2 = call n{below} \"f{below}_1\" (v1)\n"
        );
    }
    let module = crate::support::differentiated(&text);
    let error = rml_ir::pass::inline(&module).expect_err("too large");
    assert_eq!(error.0[0].code.name, "inlined-too-large");
}
