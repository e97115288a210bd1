//! Making unknown what differs from run to run.

use rml_ir::flat::{Drawn, Flat, Var, print, verify, verify_drawn};
use rml_ir::pass::{forget_inputs, forget_values};

use crate::support::flat;

/// A drawn constant, a drawn initial value, a parameter that is read, one that is trained and starts from a stream, a
/// state.
const LEARNING: &str = r#"flat f32 "m"
input v0
output v5
var v0 num [] "x"
var v1 num []
var v2 num [] "d"
var v3 num [] "k"
var v4 num [] "t"
var v5 num [] "o"
var v6 num [] "s"
const k0 num [] = random glorot_uniform
const k1 num [] = random glorot_uniform
const k2 num [] = 0.0
random k0 "a"
random k1 "b"
v1 = const k0
v2 = fby_back k1 v0
v3 = param v1
v4 = fby v3 v5
v5 = apply add (v4, v2)
v6 = fby k2 v0
state "k" eq2 parameter
state "t" eq3 parameter
state "s" eq5
"#;

fn lines(flat: &Flat) -> Vec<String> {
    let without_id = |line: &str| line.split("  # ").next().unwrap_or(line).to_owned();
    print(flat).lines().map(without_id).collect()
}

#[test]
fn draws_and_parameters_are_never_known() {
    let forgotten = forget_values(flat(LEARNING));
    assert_eq!(verify_drawn(&forgotten), Ok(()));
    let text = lines(&forgotten);
    for expected in [
        // Each waits for its own future, on the clock of what it depended on.
        "v1 = post v1",
        "v2 = fby_back v8 v0",
        "v8 = post v8",
        "v3 = fby_back v1 v3",
        "v7 = fby_back v3 v5",
        "v4 = fby_back v7 v4",
        // A state that is no parameter starts as ever.
        "v6 = fby k2 v0",
        // What trains a parameter stays needed.
        "output v4",
    ] {
        assert!(text.iter().any(|line| line == expected), "{expected}\n{}", text.join("\n"));
    }
    assert_eq!(forgotten.states.keys().map(|k| &**k).collect::<Vec<_>>(), ["s"]);
}

#[test]
fn inputs_are_present_as_declared_and_never_known() {
    let program = flat(
        r#"flat f32 "m"
input v0
input v1 when not v0
input v2
output v3
var v0 bool [] "c"
var v1 num [] "x"
var v2 num [] "y"
var v3 num [] "o"
v3 = apply add (v1, v2)
"#,
    );
    let program = Drawn::new(program).unwrap();
    let (forgotten, asked) = forget_inputs(program, &[Var(0), Var(1)]);
    assert_eq!(verify(&forgotten), Ok(()));
    assert!(forgotten.inputs.is_empty());
    // Where a clock is declared, the condition decides.
    assert_eq!(asked, [Var(0)]);
    let text = lines(&forgotten);
    for expected in ["v0 = post v0", "v4 = apply not (v0)", "v1 = when v5 v4", "v2 = post v2"] {
        assert!(text.iter().any(|line| line == expected), "{expected}\n{}", text.join("\n"));
    }
}
