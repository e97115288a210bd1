//! The flat form: text form and invariants.

use rml_ir::flat::{print, verify, verify_drawn};

use crate::support::{assert_only, edited, flat};

/// A program with every primitive.
const ALL: &str = r#"flat f64 "main"
input v0
input v1 when v0
input v2 when not v0
output v3
var v0 bool [] "c"
var v1 int [2, 2] "a"
var v2 int [2, 2] "b"
var v3 int [2, 2] "f_0.o"
var v4 int [2, 2]
var v5 int [2, 2]
var v6 int [2, 2]
var v7 int [2, 2]
var v8 int [2, 2]
var v9 int [2, 2]
var v10 num []
var v11 num []
const k0 int [2, 2] = fill -3
const k1 int [2, 2] = [1, 2, 3, 4]
const k2 num [] = random uniform{-0.5, 0.5}
random k2 "k.random0"
window w0 end v0
window w1 end v0 in w0
v4 = merge v0 v1 v2  # eq0
v5 = fby k0 v4 in w1  # eq1
v6 = fby_back k1 v5 in w0  # eq2
v7 = post v6 in w0  # eq3
v8 = if v0 v6 v7  # eq4
v9 = fby v4 v8  # eq5
v3 = apply add (v9, v4)  # eq6 f_0.o
v10 = const k2  # eq7
v11 = param v10  # eq8
state "f_0.o.fby0" eq5
state "k" eq8 parameter
"#;

#[test]
fn prints_back_what_it_reads() {
    let all = flat(ALL);
    assert_eq!(verify(&all), Ok(()));
    assert_eq!(print(&all), ALL);
}

#[test]
fn floats_keep_their_bits() {
    for precision in ["f32", "f64"] {
        let values = "[0.1, -0.0, 1e-45, 3.4028235e38, NaN, -inf, 0.30000001192092896]";
        let text = format!("flat {precision} \"m\"\nconst k0 num [7] = {values}\n");
        let once = print(&flat(&text));
        assert_eq!(print(&flat(&once)), once);
        assert_eq!(precision == "f64", once.contains("0.30000001192092896"), "{once}");
    }
}

#[test]
fn no_cut_of_the_text_makes_parser_or_verifier_panic() {
    for at in 0..ALL.len() {
        if let Ok(flat) = rml_ir::flat::parse(&ALL[..at]) {
            let _ = verify_drawn(&flat);
            print(&flat);
        }
    }
}

#[track_caller]
fn broken(rule: &str, from: &str, to: &str) {
    assert_only(verify(&flat(&edited(ALL, from, to))), rule);
}

#[test]
fn f1_single_definition() {
    broken("F1", "v7 = post v6 in w0  # eq3\nv8 = if v0 v6 v7", "v8 = if v0 v6 v6\nv8 = post v6 in w0");
    broken("F1", "v4 = merge v0 v1 v2", "v1 = merge v0 v1 v2");
    broken("F1", "output v3", "output v30");
}

#[test]
fn f2_types_of_primitives() {
    broken("F2", "apply add (v9, v4)", "apply add (v9, v10)");
    broken("F2", "param v10", "param v4");
}

#[test]
fn f3_init_has_the_type_of_the_result() {
    broken("F3", "fby_back k1", "fby_back k2");
    broken("F3", "fby_back k1", "fby_back k7");
}

#[test]
fn f4_conditions_are_bool() {
    broken("F4", "merge v0 v1 v2", "merge v1 v1 v2");
    broken("F4", "window w0 end v0", "window w0 end v10");
    broken("F4", "v1 when v0", "v1 when v2");
}

#[test]
fn f5_parents_stand_before() {
    broken("F5", "window w1 end v0 in w0", "window w1 end v0 in w1");
    broken("F5", "fby k0 v4 in w1", "fby k0 v4 in w2");
}

#[test]
fn f6_states_are_named() {
    broken("F6", "state \"f_0.o.fby0\" eq5\n", "");
    broken("F6", "state \"k\" eq8", "state \"k\" eq3");
    broken("F6", "state \"k\" eq8", "state \"k2\" eq8\nstate \"k\" eq8");
    broken("F6", "state \"k\" eq8", "state \"k2\" eq80\nstate \"k\" eq8");
    assert!(rml_ir::flat::parse(&edited(ALL, "\"f_0.o.fby0\"", "\"k\"")).is_err());
}

#[test]
fn f7_constants_are_computed_from_those_before() {
    let applied = |text: &str| edited(ALL, "random k2", &format!("const k3 num [] = {text}\nrandom k2"));
    assert_eq!(verify(&flat(&applied("apply mul (k2, k2)"))), Ok(()));
    for wrong in ["apply mul (k2, k3)", "apply mul (k2, k0)", "apply matmul (k2, k2)"] {
        assert_only(verify(&flat(&applied(wrong))), "F7");
    }
    let sum = edited(ALL, "random k2", "const k3 int [2, 2] = apply add (k0, k1)\nrandom k2");
    assert_only(verify(&flat(&sum)), "F7");
    assert_only(verify(&flat(&edited(ALL, "random k2 \"k.random0\"\n", ""))), "F7");
}

#[test]
fn f8_constants_are_drawn() {
    let all = flat(ALL);
    assert_only(verify_drawn(&all), "F8");
    let drawn = rml_ir::pass::draw(all.clone(), 7).unwrap();
    assert_eq!(verify_drawn(&drawn), Ok(()));
    assert_eq!(print(&drawn), print(&rml_ir::pass::draw(all.clone(), 7).unwrap()));
    assert_ne!(print(&drawn), print(&rml_ir::pass::draw(all, 8).unwrap()));
}
