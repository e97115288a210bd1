//! `cargo xtask pages`: a headless Chromium opens the page of a chronogram.

use std::process::Command;

use crate::microcontroller::installed;
use crate::workspace::{cargo, root, step};

/// A running sum, and a value that comes from the end of its window.
const PROGRAM: &str = "node main(x: num [2], end: bool []) -> (sum, ahead)
  sum = (zeros([2]) fby sum) + x;
  ahead = merge end (x when end) ((post ahead) when not end);
";

const INPUTS: &str = r#"{"x": [[1, 2], [-3, 4], [5, 6], [7, -8]], "end": [false, false, true, true]}"#;

/// What stands in the page once its script ran with the value of `ahead` in the first cycle held: the row is the last one.
const EXPECTED: [&str; 6] = [
    "aria-label=\"sum, cycle 1: [-2.0, 6.0]\"",
    "class=\"backward cause\"",
    "class=\"same cause\"",
    "<h2>ahead: num [2], cycle 0</h2>",
    "[5,6]",
    "<i>ahead: num [2]</i>",
];

/// Has Chromium open a page, and looks at what its script made.
pub(crate) fn pages() -> Result<(), String> {
    installed(&[("chromium", "chromium")])?;
    let folder = root().join("target/pages");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).map_err(|e| format!("cannot write {name}: {e}"))
    };
    std::fs::create_dir_all(&folder).map_err(|e| format!("cannot make a folder: {e}"))?;
    write("main.rml", PROGRAM)?;
    write("inputs.json", INPUTS)?;
    let mut trace = cargo(&["run", "--quiet", "--package", "rml-cli", "--", "trace"]);
    let of = |name: &str| folder.join(name).display().to_string();
    step(
        "pages: trace",
        trace.args([&of("main.rml"), "--inputs", &of("inputs.json"), "--html", &of("main.html")]),
    )?;
    println!("\n== pages: Chromium");
    let address = format!("file://{}#3,0", of("main.html"));
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", &address];
    let output = Command::new("chromium").args(flags).output().map_err(|e| format!("cannot start: {e}"))?;
    let found = String::from_utf8_lossy(&output.stdout);
    let missing: Vec<&str> = EXPECTED.into_iter().filter(|part| !found.contains(part)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("the page lacks {missing:?}")) }
}
