//! Restriction to what the results depend on.

use rml_ir::flat::{Flat, print, verify};
use rml_ir::pass::cone;

use crate::support::flat;

fn kept(text: &str) -> Flat {
    let result = cone(flat(text));
    assert_eq!(verify(&result), Ok(()));
    result
}

#[test]
fn drops_all_that_nothing_depends_on() {
    let result = kept(
        r#"flat f32 "m"
input v0
input v1
output v5
var v0 num [] "x"
var v1 bool [] "c"
var v2 num [] "dead"
var v3 num [] "dead2"
var v4 bool [] "e"
var v5 num [] "o"
var v6 bool [] "outer"
const k0 num [] = 1.0
const k1 num [] = 2.0
window w0 end v1
window w1 end v6
window w2 end v4 in w1
v2 = fby k0 v0
v3 = post v2 in w0
v6 = apply not (v1)
v4 = apply not (v6)
v5 = fby k1 v0 in w2
state "dead" eq0
"#,
    );
    let expected = r#"flat f32 "m"
input v0
input v1
output v3
var v0 num [] "x"
var v1 bool [] "c"
var v2 bool [] "e"
var v3 num [] "o"
var v4 bool [] "outer"
const k0 num [] = 2.0
window w0 end v4
window w1 end v2 in w0
v4 = apply not (v1)  # eq0 outer
v2 = apply not (v4)  # eq1 e
v3 = fby k0 v0 in w1  # eq2 o
"#;
    assert_eq!(print(&result), expected);
}

#[test]
fn trained_parameters_stay() {
    let text = r#"flat f32 "m"
input v0
output v1
var v0 num [] "x"
var v1 num [] "o"
var v2 num [] "k.o"
var v3 num [] "k.o1"
var v4 num [] "count"
var v5 num [] "unused"
const k0 num [] = 1.0
v1 = apply neg (v0)
v2 = fby k0 v3
v3 = apply add (v2, v0)
v4 = fby k0 v4
v5 = param v0
state "k" eq1 parameter
state "count" eq3
state "unused" eq4 parameter
"#;
    assert_eq!(kept(text).states.keys().map(|k| &**k).collect::<Vec<_>>(), ["k"]);
}

#[test]
fn a_program_without_outputs_is_kept_whole() {
    let text = "flat f32 \"m\"\ninput v0\nvar v0 num []\nvar v1 num []\nv1 = apply neg (v0)  # eq0\n";
    assert_eq!(print(&kept(text)), text);
}

/// The output is a constant whose clock only a dropped equation would tie to something.
fn constant_tied_by(equations: &str) -> String {
    format!(
        "flat f32 \"m\"\ninput v0\ninput v1\noutput v2\n\
         var v0 num [] \"x\"\nvar v1 bool [] \"c\"\nvar v2 num [] \"o\"\n\
         var v3 num [] \"z\"\nvar v4 num []\nvar v5 num []\nconst k0 num [] = 1.0\nv2 = const k0\n{equations}"
    )
}

#[test]
fn what_drives_a_kept_clock_stays() {
    for (equations, expected) in [
        // z = o + x
        ("v3 = apply add (v2, v0)\nv4 = apply neg (v3)\nv5 = post v0\n", 3),
        // z = o when c
        ("v3 = when v2 v1\nv4 = const k0\nv5 = const k0\n", 2),
        // z = merge c o 1.0
        ("v3 = merge v1 v2 v4\nv4 = const k0\nv5 = const k0\n", 3),
        // z = -o: nothing drives it in any case.
        ("v3 = apply neg (v2)\nv4 = const k0\nv5 = const k0\n", 1),
    ] {
        let result = kept(&constant_tied_by(equations));
        assert!(result.equations.len() >= expected, "{equations}\n{}", print(&result));
        assert_eq!(result.equations.len() == 1, expected == 1, "{equations}\n{}", print(&result));
    }
}

#[test]
fn a_claim_lasts_as_long_as_its_variables() {
    let result = kept(
        r#"flat f32 "m"
input v0
input v1
output v3
claim v2 when not v1
claim v3 when v1
claim v3 when v4
var v0 num [] "x"
var v1 bool [] "c"
var v2 num [] "dead"
var v3 num [] "o"
var v4 bool [] "unread"
v2 = post v0
v3 = when v0 v1
v4 = apply not (v1)
"#,
    );
    let claims: Vec<(u32, u32, bool)> =
        result.claims.iter().map(|c| (c.var.0, c.cond.0, c.positive)).collect();
    assert_eq!(claims, [(2, 1, true)], "{}", print(&result));
}
