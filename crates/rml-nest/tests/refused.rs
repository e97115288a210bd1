//! The verifier refuses a program in which an invariant does not hold, by the number of the invariant.

use rml_nest::{parse, verify};

/// Forward and backward loops, folds, a register that a loop writes, a call.
const LOOPS: &str = "nests \"loops\" f32
in x: num [2, 3]
in n: int [4]
in e: bool []
state r0: num [2, 3] \"s\"
local r1: num [2, 3]
const k0: num [] = 0.0
tick s: num [2, 3]
tick m: num [2]
tick both: num [2, 6]
tick count: int []
tick y: num [2, 3]
tick z: num [2, 2]
over {
  nest for i0<4 may fail {
    v0 = load n(1)
    v1 = fold serial i0 v0
    store count(0) = v1
  }
}
forward by e {
  nest for i0<2, i1<3 {
    v0 = load k0(0, 0) at behind first if e@-1 | s@-1(3, 1) at behind first | r0(3, 1) at first if r0 is set | k0(0, 0) at first
    v1 = load x(3, 1)
    v2 = add(v0, v1)
    store s(3, 1) = v2
  }
  nest for i0<2, i1<3 {
    v0 = load s(3, 1)
    v1 = fold largest i1 v0
    store m(1, 0) = v1
  }
}
backward {
  nest for i0<2, i1<3 when e {
    v0 = load r1(3, 1) if r1 is set | s(3, 1)
    store y(3, 1) = v0
  }
  write r1 = y(3, 1) unless e when e
}
over {
  nest for i0<2, i1<3 {
    v0 = load s(3, 1)
    store both(6, 1) = v0
  }
  nest for i0<2, i1<3 {
    v0 = load x(3, 1)
    store both:3(6, 1) = v0
  }
  call z = matmul([2, 3] s(3, 1), [3, 2] x(1, 3))
}
commit r0 at last = s(3, 1)
out m: num [2] = m(1)
out z: num [2, 2] = z(2, 1)
";

/// Elements at positions that come with the data.
const PICK: &str = "nests \"pick\" f32
in x: num [4, 3]
in i: int [2]
tick y: num [2, 3]
over {
  nest for i0<2, i1<3 may fail {
    v0 = load i(1, 0)
    v1 = take v0<4(3) x(0, 1)
    store y(3, 1) = v1
  }
}
out y: num [2, 3] = y(3, 1)
";

/// A program that finds the end of its windows.
const SEARCH: &str = "nests \"search\" f32
in n: int []
const k0: int [] = 0
const k1: int [] = 10
tick s: int []
tick stop: bool []
forward {
  nest may fail {
    v0 = load s@-1 at behind first | k0 at first
    v1 = load n
    v2 = add(v0, v1)
    store s = v2
  }
  nest {
    v0 = load s
    v1 = load k1
    v2 = gt(v0, v1)
    store stop = v2
  }
  until stop
}
out s: int [] = s
";

/// A program that looks ahead.
const AHEAD: &str = "nests \"ahead\" f32 ahead 2
in x: num []
tick y: num [] ahead 1
tick z: num []
over {
  nest {
    v0 = load x@+1
    v1 = neg(v0)
    store y = v1
  }
  nest {
    v0 = load y@+1
    v1 = neg(v0)
    store z = v1
  }
}
out z: num [] = z
";

/// A block that waits.
const WAITS: &str = "nests \"waits\" f32 waits
in x: num []
tick y: num []
tick z: num []
backward {
  nest {
    v0 = load y@+1
    v1 = load x
    v2 = add(v0, v1)
    store y = v2
  }
}
over {
  nest {
    v0 = load y
    store z = v0
  }
}
out z: num [] = z
";

/// Refuses the text in which `from` is replaced by `to`, by that invariant.
fn refuses(text: &str, invariant: &str, from: &str, to: &str) {
    assert!(text.contains(from), "{from}");
    let program = parse(&text.replacen(from, to, 1)).unwrap_or_else(|why| panic!("{to}: {why}"));
    let found = verify(&program).expect_err(to);
    assert!(
        found.iter().any(|why| why.starts_with(&format!("{invariant}: "))),
        "{invariant}, `{to}`: {found:#?}"
    );
}

#[test]
fn programs_as_they_are_made_are_accepted() {
    for text in [LOOPS, PICK, SEARCH, AHEAD, WAITS] {
        let program = parse(text).unwrap();
        assert_eq!(verify(&program), Ok(()), "{text}");
    }
}

#[test]
fn n1_each_element_is_filled_once() {
    refuses(LOOPS, "N1", "store both:3(6, 1)", "store both(6, 1)");
    refuses(LOOPS, "N1", "store both:3(6, 1)", "store both:2(6, 1)");
    refuses(LOOPS, "N1", "    store m(1, 0) = v1\n", "");
    refuses(LOOPS, "N1", "store both(6, 1) = v0", "store both@-1(6, 1) = v0");
    refuses(LOOPS, "N1", "store count(0) = v1", "store n(0) = v1");
    // Parts of a slot that are present at different ticks.
    let guarded = "nest for i0<2, i1<3 when e {\n    v0 = load x(3, 1)\n    store both:3";
    refuses(LOOPS, "N1", "nest for i0<2, i1<3 {\n    v0 = load x(3, 1)\n    store both:3", guarded);
}

#[test]
fn n2_accesses_stay_within_their_slots() {
    refuses(LOOPS, "N2", "v1 = load x(3, 1)", "v1 = load x(4, 1)");
    refuses(LOOPS, "N2", "v1 = load x(3, 1)", "v1 = load x:2(-3, 1)");
    refuses(LOOPS, "N2", "v1 = load x(3, 1)", "v1 = load x:1(3, 1)");
    refuses(LOOPS, "N2", "v1 = load x(3, 1)", "v1 = load x(3)");
    refuses(LOOPS, "N2", "[3, 2] x(1, 3)", "[3, 2] x(2, 3)");
    refuses(PICK, "N2", "v0<4(3)", "v0<5(3)");
    refuses(PICK, "N2", "v0<4(3)", "v0<4(-3)");
    refuses(LOOPS, "N2", "if e@-1 |", "if e@-1:1 |");
    refuses(LOOPS, "N2", "out m: num [2] = m(1)", "out m: num [2] = m(2)");
    refuses(LOOPS, "N2", "for i0<2, i1<3 {", "for i0<2, i1<9223372036854775807 {");
}

#[test]
fn n3_what_is_read_is_there() {
    refuses(LOOPS, "N3", "v1 = load x(3, 1)", "v1 = load both(6, 1)");
    refuses(LOOPS, "N3", "v1 = load x(3, 1)", "v1 = load s(3, 1)");
    refuses(LOOPS, "N3", "v1 = load x(3, 1)", "v1 = load x@-1(3, 1)");
    refuses(LOOPS, "N3", "v1 = load x(3, 1)", "v1 = load x@+1(3, 1)");
    refuses(LOOPS, "N3", "| s(3, 1)\n", "| y@+1(3, 1)\n");
    refuses(LOOPS, "N3", "forward by e {", "backward by e {");
    refuses(LOOPS, "N3", "commit r0 at last = s(3, 1)", "commit r0 = s@-1(3, 1)");
}

#[test]
fn n4_one_variant_applies() {
    refuses(LOOPS, "N4", " | k0(0, 0) at first", "");
    refuses(LOOPS, "N4", " if r0 is set", "");
    refuses(LOOPS, "N4", "| s@-1(3, 1) at behind first", "| s@-1(3, 1) at middle");
    refuses(LOOPS, "N4", "| s(3, 1)\n", "| s(3, 1) if e\n");
}

#[test]
fn n5_values_have_types_and_dimensions() {
    refuses(LOOPS, "N5", "v2 = add(v0, v1)", "v2 = and(v0, v1)");
    refuses(LOOPS, "N5", "v2 = add(v0, v1)", "v2 = add(v0, v2)");
    refuses(LOOPS, "N5", "v2 = add(v0, v1)", "v2 = softmax(v0)");
    refuses(LOOPS, "N5", "fold serial i0", "fold lanes i0");
    refuses(PICK, "N5", "v0 = load i(1, 0)", "v0 = load x(3, 1)");
    refuses(PICK, "N5", "take v0<4", "take v1<4");
    refuses(LOOPS, "N5", "fold serial i0", "fold serial i1");
    refuses(LOOPS, "N5", "v1 = fold largest i1 v0", "v1 = fold largest_at i1 v0");
    // A value that still depends on a dimension that the store has not.
    refuses(LOOPS, "N5", "store m(1, 0) = v1", "store m(1, 0) = v0");
    refuses(LOOPS, "N5", "store m(1, 0) = v1", "store m(1, 0) = v7");
    refuses(LOOPS, "N5", "nest for i0<2, i1<3 when e {", "nest for i0<2, i1<3 when k0 {");
    refuses(LOOPS, "N5", "out m: num [2] = m(1)", "out m: int [2] = m(1)");
}

#[test]
fn n6_slots_of_a_stage_go_equally_far() {
    refuses(AHEAD, "N6", "tick z: num []", "tick z: num [] ahead 1");
    refuses(AHEAD, "N6", "tick y: num [] ahead 1", "tick y: num [] ahead 3");
    refuses(AHEAD, "N6", "out z: num [] = z", "out z: num [] = y@last");
    refuses(AHEAD, "N6", "    store y = v1\n", "    store y = v1\n    store z = v1\n");
    refuses(
        WAITS,
        "N6",
        "    store z = v0\n  }\n",
        "    store z = v0\n    store z = v0\n  }\n  nest {\n    v0 = load x\n    store z = v0\n    store y = v0\n  }\n",
    );
}

#[test]
fn n7_registers_are_written_by_writes_of_one_node() {
    refuses(LOOPS, "N7", "write r1 = y(3, 1)", "write r0 = y(3, 1)");
    refuses(LOOPS, "N7", "write r1 = y(3, 1)", "write y = s(3, 1)");
    refuses(LOOPS, "N7", "commit r0", "commit r1");
    refuses(LOOPS, "N7", "store y(3, 1) = v0", "store r1(3, 1) = v0");
    refuses(LOOPS, "N7", "if r1 is set", "if e is set");
    refuses(LOOPS, "N7", "v1 = load x(3, 1)", "v1 = load r1(3, 1)");
}

#[test]
fn n8_stages_say_whether_they_may_fail() {
    refuses(LOOPS, "N8", " may fail", "");
    refuses(PICK, "N8", " may fail", "");
    refuses(LOOPS, "N8", "nest for i0<2, i1<3 when e {", "nest for i0<2, i1<3 when e may fail {");
    refuses(LOOPS, "N8", "[3, 2] x(1, 3))", "[3, 2] x(1, 3)) may fail");
}

#[test]
fn n9_calls_take_the_types_of_their_operators() {
    refuses(LOOPS, "N9", "[3, 2] x(1, 3)", "[2, 3] x(3, 1)");
    refuses(LOOPS, "N9", "call z = matmul", "call both = matmul");
    refuses(LOOPS, "N9", "call z = matmul([2, 3] s(3, 1)", "call z = matmul([2, 3] z(1, 0)");
    refuses(LOOPS, "N9", "call z = matmul", "call z = [2, 3] s(3, 1) + matmul");
    refuses(LOOPS, "N9", "[2, 3] s(3, 1)", "[2, 3] s(3, 1) if e | n(1, 0)");
}

#[test]
fn n10_sequences_do_not_read_each_other() {
    refuses(LOOPS, "N10", "k0(0, 0) at behind first if e@-1 | ", "");
    refuses(LOOPS, "N10", "if e@-1", "if e");
    refuses(LOOPS, "N10", "if e@-1", "if not e@-1");
    refuses(LOOPS, "N10", "forward by e {", "forward by e@-1 {");
}

#[test]
fn n11_ends_are_found_without_the_last_tick() {
    refuses(SEARCH, "N11", "forward {", "over {");
    refuses(SEARCH, "N11", "until stop", "until stop@-1");
    refuses(SEARCH, "N11", "  nest {\n    v0 = load s\n", "  nest at first {\n    v0 = load s\n");
    refuses(SEARCH, "N11", "v1 = load n\n", "v1 = load n at before last | k0 at last\n");
    let stop = "  nest {\n    v0 = load s\n    v1 = load k1\n    v2 = gt(v0, v1)\n    store stop = v2\n  }\n";
    refuses(SEARCH, "N11", &format!("{stop}  until stop\n"), &format!("  until stop\n{stop}"));
    refuses(AHEAD, "N11", "  nest {\n    v0 = load y@+1", "  nest at before last {\n    v0 = load y@+1");
    refuses(AHEAD, "N11", "over {", "backward {");
}
