//! Windows whose end the program finds, in C: they have the same lengths as elsewhere, are refused if they are longer
//! than the limit, and are undone.

mod support;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rml::{Options as Compile, Precision, Source};
use rml_c::{Math, Options, export};
use rml_ir::Value;
use rml_plan::reference::Cells;
use rml_plan::{Ends, Plan};
use rml_schedule::{Fed, schedule};
use support::windows::{ran, same_in_c};

/// A program that learns in windows that end when a sum is large enough.
const PROGRAM: &str = "
node diff_param(init, bp, do) -> (o)
  o = init fby o1;
  o1 = o - 0.1 * do;
node net(x: num []) -> (o)
  h = tanh(param(0.5) * x + param(0.2) * (0.0 fby h));
  o = param(1.0) * h;
node found(x: num [], i: int []) -> (o, loss, length: int [] when end, count)
  sum = (0.0 fby left) + x;
  end = sum > 3.0;
  left = if end then 0.0 else sum;
  n = (0 fby (if end then 0 else n)) + 1;
  length = n when end;
  count = (0 fby count) + i;
  o, _ = diff_net(x, true, o - 0.5 * x) every end;
  loss = (o - 0.5 * x) * (o - 0.5 * x);
";

/// Windows of 2, 1, 4, 6 and 3 cycles, and one that does not end.
const X: &[f32] =
    &[2.0, 2.0, 4.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 1.0, 0.5, -1.0, 2.0, 3.0, 0.5, 0.25];
const LENGTHS: &[usize] = &[2, 1, 4, 6, 3];

fn plan() -> Arc<Plan> {
    let options = Compile { node: Some("found".to_owned()), precision: Precision::F32, ..Compile::default() };
    let program = rml::compile(&Source::text("found.rml", PROGRAM), &options).expect("it compiles");
    let plan = schedule(program.flat(), Fed::Windows).expect("it has a plan");
    assert!(matches!(plan.ends, Ends::Found { .. }));
    Arc::new(plan)
}

#[test]
fn windows_end_in_c_where_they_do_elsewhere() {
    let plan = plan();
    let inputs: [Cells; 2] = [
        X.iter().map(|x| Some(Value::num(f64::from(*x), Precision::F32))).collect(),
        (0..X.len()).map(|i| Some(Value::Int(i as i64))).collect(),
    ];
    let ran = ran(&plan, &inputs, (100, X.len()));
    assert_eq!(ran.windows.iter().map(|(ticks, _)| *ticks).collect::<Vec<_>>(), LENGTHS);
    assert_eq!(ran.states.len(), 6);
    assert_eq!(same_in_c(&plan, &inputs, &ran), Ok(()));
}

/// Windows of up to four cycles, followed by one of six.
const MAIN: &str = r#"
#include "p.h"
#include <stdio.h>
#include <string.h>
static p_state state, before;
static p_work work;
static p_out out[P_CYCLES];
static p_in in[18];
static const float x[18] = {@X@};
int main(void) {
    int at = 0;
    for (int t = 0; t < 18; t++) {
        in[t].x = x[t];
    }
    memset(&state, 0, sizeof state);
    p_start(&state);
    printf("%d:", P_CYCLES);
    for (int i = 0; i < 3; i++) {
        const long ran = p_run(&state, &work, in + at, 18 - at, out);
        printf(" %ld", ran);
        at += (int)ran;
    }
    before = state;
    for (int cycles = 0; cycles <= 8; cycles++) {
        /* What work has from before is of no matter. */
        memset(&work, 1, sizeof work);
        printf(" %ld", p_run(&state, &work, in + at, cycles, out));
    }
    in[at + 1].i = INT64_MAX;
    in[at + 2].i = 1;
    in[at + 2].x = 9;
    printf(" %ld", p_run(&state, &work, in + at, 4, out));
    printf("%s\n", memcmp(&before, &state, sizeof state) == 0 ? " unchanged" : " changed");
    return 0;
}
"#;

#[test]
fn a_window_that_is_too_long_changes_nothing() {
    let options = Options { name: "p".to_owned(), cycles: 4, math: Math::Own, note: "A test.".to_owned() };
    let exported = export(&plan(), &|_| None, &options).expect("it is exported");
    let folder = tempfile::tempdir().expect("a folder");
    let x: Vec<String> = X.iter().map(|x| format!("{x:?}f")).collect();
    let main = MAIN.replace("@X@", &x.join(", "));
    for (name, text) in [("p.h", &exported.header), ("p.c", &exported.source), ("main.c", &main)] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let run = |program: &Path, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(folder.path()).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let flags = [support::STRICT, &["-g", "-fsanitize=undefined,address", "-fno-sanitize-recover"]].concat();
    run(Path::new("cc"), &[&flags[..], &["p.c", "main.c", "-o", "p"]].concat());
    // Fewer than four cycles may be too few for a window; four cycles without an end are too many, whatever follows;
    // then an integer overflows.
    assert_eq!(run(&folder.path().join("p"), &[]), "4: 2 1 4 0 0 0 0 -3 -3 -3 -3 -3 -1 unchanged\n");
}
