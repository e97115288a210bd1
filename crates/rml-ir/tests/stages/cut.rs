//! Programs that train, cut between gradients and updates.

use rml_ir::flat::{Flat, Rhs, parse, print};
use rml_ir::pass::{self, Cut};

use crate::support::{differentiated, edited};
use crate::update::WINDOWED;

fn cut(text: &str) -> (Flat, Cut) {
    let inlined = pass::inline_with_gradients(&differentiated(text)).unwrap_or_else(|e| panic!("{e}"));
    let cut = pass::cut(&inlined).unwrap_or_else(|e| panic!("{e}"));
    (inlined.flat, cut)
}

fn keys(flat: &Flat) -> Vec<(&str, bool)> {
    flat.states.iter().map(|(key, state)| (&**key, state.parameter)).collect()
}

#[test]
fn a_program_falls_into_gradients_and_updates() {
    for text in [WINDOWED.to_owned(), edited(WINDOWED, " every v3", "")] {
        let (whole, cut) = cut(&text);
        assert_eq!(keys(&cut.gradients), [("scale_0.k", true)]);
        assert_eq!(keys(&cut.update), [("scale_0.k.momentum_0.m", false), ("scale_0.k", true)]);
        assert!(cut.gradients.equations.iter().any(|e| matches!(e.rhs, Rhs::Param { .. })));
        assert_eq!(cut.gradients.outputs.len(), whole.outputs.len() + 2);
        assert_eq!((cut.clocks, cut.exchanged.len()), (1, 1));
        assert_eq!(&*cut.exchanged[0].key, "scale_0.k");
        // Both have the initial value, which is drawn by the same key.
        let drawn = |flat: &Flat| flat.random_keys.values().map(|key| key.to_string()).collect::<Vec<_>>();
        assert_eq!(drawn(&cut.gradients), drawn(&cut.update));
        assert_eq!(drawn(&whole), drawn(&cut.update));
        for flat in [&cut.gradients, &cut.update] {
            let again = parse(&print(flat)).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(print(&again), print(flat));
        }
    }
}

#[track_caller]
fn violates(invariant: &str, damage: impl FnOnce(&mut Cut)) {
    let (whole, mut cut) = cut(WINDOWED);
    pass::verify_cut(&whole, &cut).unwrap_or_else(|e| panic!("{e:?}"));
    damage(&mut cut);
    let found = pass::verify_cut(&whole, &cut).expect_err("it is damaged");
    assert!(found[0].starts_with(invariant), "{found:?}");
}

#[test]
fn x1_both_parts_verify() {
    violates("X1", |cut| cut.update.states.clear());
}

#[test]
fn x2_the_gradients_have_the_outputs_of_the_program_and_change_no_parameter() {
    violates("X2", |cut| cut.gradients.outputs.swap(1, 2));
    violates("X2", |cut| {
        let state = cut.gradients.states["scale_0.k"];
        let equation = &mut cut.gradients.equations[state.equation];
        let Rhs::Param { init } = equation.rhs else { panic!("it is read") };
        equation.rhs = Rhs::Fby { init: rml_ir::flat::Init::Stream(init), next: equation.lhs, window: None };
    });
}

#[test]
fn x3_the_updates_have_no_inputs_but_clocks_and_gradients() {
    violates("X3", |cut| cut.update.outputs.push(cut.update.inputs[0].var));
    violates("X3", |cut| cut.update.inputs[2].clock = Some((cut.update.inputs[0].var, true)));
    violates("X3", |cut| cut.update.inputs[1].clock = None);
}

#[test]
fn x4_each_state_is_in_one_part() {
    violates("X4", |cut| {
        let state = cut.update.states.shift_remove("scale_0.k.momentum_0.m").expect("the state exists");
        cut.update.states.insert("other".into(), state);
    });
}

#[test]
fn x5_parameters_are_present_with_their_conditions() {
    violates("X5", |cut| {
        let end = cut.gradients.inputs[3].var;
        cut.gradients.outputs[1] = end;
    });
}

#[test]
fn what_cannot_be_apart_is_refused() {
    let called = edited(WINDOWED, "v7 by n1", "v7 by n1 \"diff_param_0\"");
    for (text, why) in [
        (edited(&called, "v3 = fby v0 v4", "v3 = apply add (v0, v4)"), "keeps no parameter"),
        (edited(&called, "param_update v5", "param_update v0"), "initial value"),
    ] {
        let inlined = pass::inline_with_gradients(&differentiated(&text)).unwrap_or_else(|e| panic!("{e}"));
        let error = pass::cut(&inlined).expect_err("it cannot be cut");
        assert_eq!(error.0[0].code.name, "cannot-shard");
        assert!(error.0[0].message.contains(why), "{}", error.0[0].message);
    }
}
