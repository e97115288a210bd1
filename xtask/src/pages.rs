//! `cargo xtask pages`: a headless Chromium opens the pages of a chronogram and of a training.

use std::process::Command;

use crate::microcontroller::installed;
use crate::workspace::{program, root, step};

/// A running sum, a value that comes from the end of its window, and a gradient.
const PROGRAM: &str = "node twice(x: num [2]) -> (y)
  y = 2.0 * x;

node main(x: num [2], end: bool []) -> (sum, ahead, dx)
  _, dx = diff_twice(x, true, sum);
  sum = (zeros([2]) fby sum) + x;
  ahead = merge end (x when end) ((post ahead) when not end);
";

const INPUTS: &str = r#"{"x": [[1, 2], [-3, 4], [5, 6], [7, -8]], "end": [false, false, true, true]}"#;

/// What stands in the page once its script ran with the value of `ahead` in the first cycle held, in row 3.
const EXPECTED: [&str; 9] = [
    "aria-label=\"sum, cycle 1: [-2.0, 6.0]\"",
    "class=\"backward cause\"",
    "class=\"same cause\"",
    "<h2>ahead: num [2], cycle 0</h2>",
    "[5,6]",
    "<i>ahead: num [2]</i>",
    "<table class=\"side\">",
    "<code>y = 2.0 * x;</code>",
    "<s title=\"bytes of the values",
];

/// What stands in the page of a training, whose style has no script to help it: matrix, curves, histograms, lines.
const REPORTED: [&str; 6] = [
    "class=\"confusion\"",
    "<polyline class=\"c0\"",
    "class=\"histogram\"",
    "It ended after 2 epochs.",
    "SHA-256 ",
    "std/layers.rml:",
];

/// Has Chromium open pages: that of a chronogram, where it looks at what the script made, and that of a training.
pub(crate) fn pages() -> Result<(), String> {
    installed(&[("chromium", "chromium")])?;
    let folder = root().join("target/pages");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).map_err(|e| format!("cannot write {name}: {e}"))
    };
    std::fs::create_dir_all(&folder).map_err(|e| format!("cannot make a folder: {e}"))?;
    write("main.rml", PROGRAM)?;
    write("inputs.json", INPUTS)?;
    let of = |name: &str| folder.join(name).display().to_string();
    let rml = program("rml", "flags")?;
    let mut trace = Command::new(&rml);
    step(
        "pages: trace",
        trace.arg("trace").args([
            &of("main.rml"),
            "--inputs",
            &of("inputs.json"),
            "--html",
            &of("main.html"),
        ]),
    )?;
    let mut train = Command::new(&rml);
    let data = [
        "train",
        "examples/digits_mlp.rml",
        "--data",
        "examples/data/digits.npz",
        "--epochs",
        "2",
        "--report",
    ];
    step("pages: train", train.args(data).arg(of("report.html")).current_dir(root()))?;
    println!("\n== pages: Chromium");
    shows(&format!("{}#3,0", of("main.html")), &EXPECTED)?;
    shows(&of("report.html"), &REPORTED)
}

/// Has Chromium open the page in a file, and searches for what has to stand in it then.
fn shows(file: &str, expected: &[&str]) -> Result<(), String> {
    let address = format!("file://{file}");
    let flags =
        ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom", &address];
    let output = Command::new("chromium").args(flags).output().map_err(|e| format!("cannot start: {e}"))?;
    let found = String::from_utf8_lossy(&output.stdout);
    let missing: Vec<&&str> = expected.iter().filter(|part| !found.contains(**part)).collect();
    if !missing.is_empty() {
        return Err(format!("{file} lacks {missing:?}"));
    }
    // What a page may not do, and what its script fails at, is told on the console.
    let said = String::from_utf8_lossy(&output.stderr);
    let refused: Vec<&str> = said.lines().filter(|line| line.contains(":CONSOLE")).collect();
    if refused.is_empty() { Ok(()) } else { Err(format!("{file}: {}", refused.join("\n"))) }
}
