//! Constant folding and copy propagation.

use rml_ir::flat::{Drawn, Flat, print};
use rml_ir::pass::{Keep, cone, draw, fold, lower};

use crate::support::flat;

fn folded(text: &str) -> Drawn {
    draw(cone(fold(flat(text))), 1).unwrap()
}

/// The equations, without remarks.
fn equations(flat: &Flat) -> Vec<String> {
    let text = print(flat);
    let lines = text.lines().filter(|l| l.contains("  # eq"));
    lines.filter_map(|l| l.split("  # ").next()).map(str::to_owned).collect()
}

#[test]
fn operators_on_literals_are_constants() {
    // o = x + (2.0 * 3.0 - 1.0)
    let result = folded(
        r#"flat f32 "m"
input v0
output v1
var v0 num [] "x"
var v1 num [] "o"
var v2 num []
var v3 num []
var v4 num []
var v5 num []
var v6 num []
const k0 num [] = 2.0
const k1 num [] = 3.0
const k2 num [] = 1.0
v1 = apply add (v0, v2)
v2 = apply sub (v3, v4)
v3 = apply mul (v5, v6)
v4 = const k2
v5 = const k0
v6 = const k1
"#,
    );
    assert_eq!(equations(&result), ["v1 = apply add (v0, v2)", "v2 = const k0"]);
    assert!(print(&result).contains("const k0 num [] = 5.0\n"));
}

#[test]
fn folding_computes_in_the_precision_of_the_program() {
    for (precision, expected) in [("f32", "0.3"), ("f64", "0.30000000000000004")] {
        let text = format!(
            "flat {precision} \"m\"\noutput v0\nvar v0 num []\nvar v1 num []\nvar v2 num []\n\
             const k0 num [] = 0.1\nconst k1 num [] = 0.2\n\
             v1 = const k0\nv2 = const k1\nv0 = apply add (v1, v2)\n"
        );
        let result = print(&folded(&text));
        let expected =
            if precision == "f32" { format!("{:?}", 0.1_f32 + 0.2_f32) } else { expected.to_owned() };
        assert!(result.contains(&format!("const k0 num [] = {expected}\n")), "{result}");
    }
}

#[test]
fn a_constant_that_others_read_ties_their_clocks_and_stays() {
    // c = 1.0; o = c + c; p = c * x: `o` is present where x is, not everywhere.
    let text = r#"flat f32 "m"
input v0
output v1
output v2
var v0 num [] "x"
var v1 num [] "o"
var v2 num [] "p"
var v3 num [] "c"
const k0 num [] = 1.0
v3 = const k0
v1 = apply add (v3, v3)
v2 = apply mul (v3, v0)
"#;
    let expected = ["v3 = const k0", "v1 = apply add (v3, v3)", "v2 = apply mul (v3, v0)"];
    assert_eq!(equations(&folded(text)), expected);
    // Without the other reader it is folded.
    let alone = text.replace("v2 = apply mul (v3, v0)", "v2 = apply copy (v0)");
    assert_eq!(equations(&folded(&alone)), ["v1 = const k0", "v2 = apply copy (v0)"]);
}

#[test]
fn a_constant_that_several_read_is_folded_into_all() {
    // k = to_num([0, 1]); y = x * cos(k); z = x * sin(k);
    let text = r#"flat f32 "m"
input v0
output v1
output v2
var v0 num [2] "x"
var v1 num [2] "y"
var v2 num [2] "z"
var v3 num [2] "k"
var v4 int [2]
var v5 num [2]
var v6 num [2]
const k0 int [2] = [0, 1]
v4 = const k0
v3 = apply to_num (v4)
v5 = apply cos (v3)
v6 = apply sin (v3)
v1 = apply mul (v0, v5)
v2 = apply mul (v0, v6)
"#;
    let result = folded(text);
    let expected = ["v3 = const k0", "v4 = const k1", "v1 = apply mul (v0, v3)", "v2 = apply mul (v0, v4)"];
    assert_eq!(equations(&result), expected);
    // With `z = sin(k) * sin(k)` it is `k` that says where `z` is present.
    let tied = text.replace("v2 = apply mul (v0, v6)", "v2 = apply mul (v6, v6)");
    let expected = [
        "v3 = const k0",
        "v4 = apply cos (v3)",
        "v5 = apply sin (v3)",
        "v1 = apply mul (v0, v4)",
        "v2 = apply mul (v5, v5)",
    ];
    assert_eq!(equations(&folded(&tied)), expected);
}

#[test]
fn an_initialiser_that_others_read_becomes_a_constant() {
    // c = 1.0 + 1.0; s = c fby x; y = s * c;
    let text = r#"flat f32 "m"
input v0
output v1
var v0 num [] "x"
var v1 num [] "y"
var v2 num [] "s"
var v3 num [] "c"
var v4 num []
const k0 num [] = 1.0
v4 = const k0
v3 = apply add (v4, v4)
v2 = fby v3 v0
v1 = apply mul (v2, v3)
state "s" eq2
"#;
    assert_eq!(equations(&folded(text)), ["v3 = const k0", "v2 = fby k0 v0", "v1 = apply mul (v2, v3)"]);
}

#[test]
fn folding_stores_no_more_than_so_many_elements() {
    // Two constants of 2^21 elements each, made of one number, and one element too many.
    let text = r#"flat f32 "m"
input v0
output v1
output v2
output v3
var v0 num [] "x"
var v1 num [2097152] "a"
var v2 num [2097152] "b"
var v3 num [2] "c"
var v4 num [2097152]
var v5 num [2097152]
var v6 num [2]
var v7 num []
const k0 num [] = 1.5
v7 = const k0
v4 = apply broadcast{[2097152]} (v7)
v5 = apply broadcast{[2097152]} (v7)
v6 = apply broadcast{[2]} (v7)
v1 = apply mul (v4, v0)
v2 = apply mul (v5, v0)
v3 = apply mul (v6, v0)
"#;
    let result = equations(&cone(fold(flat(text))));
    let folded = |v: &str| result.iter().any(|e| e.starts_with(&format!("{v} = const")));
    assert_eq!(["v4", "v5", "v6", "v7"].map(folded), [true, true, false, true], "{result:?}");
}

#[test]
fn outputs_window_ends_and_clocks_are_not_folded_away() {
    let text = r#"flat f32 "m"
input v0
output v1
output v2
var v0 num [] "x"
var v1 num [] "k"
var v2 num [] "o"
var v3 bool [] "e"
var v4 num [] "n"
const k0 num [] = 1.0
const k1 bool [] = true
window w0 end v3
v1 = const k0
v3 = const k1
v4 = apply neg (v1)
v2 = fby v4 v0 in w0
"#;
    let result = equations(&folded(text));
    assert!(result.contains(&"v4 = apply neg (v1)".to_owned()), "{result:?}");
}

#[test]
fn what_fails_is_left_to_fail() {
    let text = r#"flat f32 "m"
output v0
var v0 int []
var v1 int []
var v2 int []
const k0 int [] = 9223372036854775807
const k1 int [] = 1
v1 = const k0
v2 = const k1
v0 = apply add (v1, v2)
"#;
    assert_eq!(equations(&folded(text)).last().map(String::as_str), Some("v0 = apply add (v1, v2)"));
}

#[test]
fn equations_read_past_copies_and_initialisers_become_constants() {
    let text = r#"flat f32 "m"
input v0
output v1
var v0 num [] "x"
var v1 num [] "o"
var v2 num [] "f_0.init"
var v3 num []
var v4 num [] "f_0.x"
var v5 num [] "f_0.o"
var v6 bool [] "end"
var v7 bool [] "f_0.end"
const k0 num [] = 1.0
const k1 bool [] = false
window w0 end v7
v7 = apply copy (v6)
v6 = const k1
v3 = const k0
v2 = apply copy (v3)
v4 = apply copy (v0)
v5 = fby v2 v4 in w0
v1 = apply copy (v5)
"#;
    let result = folded(text);
    assert_eq!(equations(&result), ["v3 = const k1", "v2 = fby k0 v0 in w0", "v1 = apply copy (v2)"]);
    assert!(print(&result).contains("window w0 end v3\n"));
}

#[test]
fn circles_of_copies_stay() {
    let text = r#"flat f32 "m"
output v0
var v0 num []
var v1 num []
var v2 num []
v0 = apply copy (v1)
v1 = apply copy (v2)
v2 = apply copy (v1)
"#;
    assert_eq!(equations(&folded(text)).len(), 3);
}

#[test]
fn initial_values_of_parameters_are_computed() {
    // k = param(0.1 * glorot_uniform([3]))
    let text = r#"flat f32 "m"
output v0
var v0 num [3] "k"
var v1 num [3]
var v2 num []
var v3 num [3]
const k0 num [] = 0.1
const k1 num [3] = random glorot_uniform
random k1 "k.random0"
v2 = const k0
v3 = const k1
v1 = apply mul (v2, v3)
v0 = param v1
state "k" eq3 parameter
"#;
    let kept = |text: &str| lower(flat(text), Keep::All);
    // Nothing is drawn to find out that the initial value is a constant.
    let result = kept(text);
    assert!(print(&result).contains("const k2 num [3] = apply mul (k0, k1)\n"), "{}", print(&result));
    assert_eq!(equations(&result)[2], "v1 = const k2");
    let value = |flat: &Flat, of: &str| {
        let drawn = print(&draw(flat.clone(), 1).unwrap());
        let k = drawn.lines().find_map(|l| l.strip_prefix(of)?.split("  # ").next()).expect("a constant");
        let numbers = drawn.lines().find_map(|l| l.strip_prefix(&format!("const {k} num [3] = ")));
        let numbers = numbers.unwrap_or_else(|| panic!("{drawn}")).trim_matches(['[', ']']);
        numbers.split(", ").map(|x| x.parse().unwrap()).collect::<Vec<f32>>()
    };
    let (drawn, product) = (value(&result, "v3 = const "), value(&result, "v1 = const "));
    assert_eq!(product, drawn.iter().map(|x| 0.1_f32 * x).collect::<Vec<_>>());
    // The equations that run name the product alone, and only that is left.
    let runs = print(&draw(lower(flat(text), Keep::Needed), 1).unwrap());
    assert_eq!(runs.lines().filter(|l| l.starts_with("const ")).count(), 1, "{runs}");
    // Variables with names keep their clocks.
    let named = kept(&text.replace("var v3 num [3]", "var v3 num [3] \"base\""));
    assert_eq!(equations(&named)[2], "v1 = apply mul (v2, v3)");
}

#[test]
fn what_may_fail_is_not_drawn() {
    // i = to_int(10.0 * glorot_uniform([3])): no integer, if the draw is not finite.
    let text = r#"flat f32 "m"
output v0
var v0 int [3]
var v1 num [3]
const k0 num [3] = random glorot_uniform
random k0 "m.random0"
v1 = const k0
v0 = apply to_int (v1)
"#;
    assert_eq!(equations(&lower(flat(text), Keep::Needed)), ["v1 = const k0", "v0 = apply to_int (v1)"]);
}

#[test]
fn random_keys_decide_what_is_drawn() {
    let text = "flat f32 \"m\"\noutput v0\nvar v0 num [4]\n\
                const k0 num [4] = random normal{0.0, 1.0}\nrandom k0 \"a\"\nv0 = const k0\n";
    let draw = |text: &str, seed| print(&draw(flat(text), seed).unwrap());
    let other = text.replace("\"a\"", "\"b\"");
    assert_eq!(draw(text, 3), draw(text, 3));
    assert_ne!(draw(text, 3), draw(&other, 3));
    assert_ne!(draw(text, 3), draw(text, 4));
}

/// The constant that both delays read puts the first one on the clock of the input, though no output needs it.
#[test]
fn states_that_no_output_needs_keep_their_clocks() {
    let text = r#"flat f32 "m"
input v0
output v3
var v0 int [] "x"
var v1 int []
var v2 int []
var v3 int []
const k0 int [] = 0
const k1 int [] = -1
v1 = const k0
v2 = fby k1 v1
v3 = fby v1 v0
state "a" eq1
state "b" eq2
"#;
    let folded = fold(flat(text));
    assert_eq!(equations(&folded), ["v1 = const k0", "v2 = fby k1 v1", "v3 = fby v1 v0"]);
}

/// The state is sampled by a constant that is on the clock of the input only by way of `v3`.
#[test]
fn conditions_that_sample_states_keep_their_clocks() {
    let text = r#"flat f32 "m"
input v0
input v1 when v0
output v0
var v0 bool [] "c"
var v1 int [] "x"
var v2 bool []
var v3 bool []
var v4 int []
var v5 bool []
var v6 bool []
const k0 bool [] = false
const k1 bool [] = true
v2 = const k0
v3 = apply not (v2)
v4 = when v1 v3
v5 = when v2 v2
v6 = fby k1 v5
state "a" eq4
"#;
    let folded = equations(&fold(flat(text)));
    assert!(folded.iter().any(|equation| equation == "v3 = apply not (v2)"), "{folded:?}");
}
