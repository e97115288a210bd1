//! Windows that do not fit in `--memory` run in segments.

mod support;

use serde_json::json;
use support::Folder;

const CYCLES: usize = 600;

const PROGRAM: &str = "import std.layers;
import std.losses;
node net(x: num [4, 3]) -> (o: num [4, 2])
  o = dense(2, lstm(8, x));
node train(x: num [4, 3], i: int [4], end: bool []) -> (loss)
  o, _ = diff_net(x, true, do) every end;
  loss, do = diff_cross_entropy(o, i, true, -0.1);
";

/// Inputs of a window; if `bad` names a cycle, the label in this cycle is out of bounds.
fn inputs(bad: Option<usize>) -> String {
    let x = |t: usize, i: usize, j: usize| ((t * 7 + i * 5 + j * 3) % 11) as f64 / 8.0 - 0.6;
    let rows = |t: usize| (0..4).map(|i| (0..3).map(|j| x(t, i, j)).collect()).collect::<Vec<Vec<f64>>>();
    let labels = |t: usize| (0..4).map(|i| if bad == Some(t) { 7 } else { (t + i) % 2 }).collect::<Vec<_>>();
    let all = 0..CYCLES;
    let x: Vec<_> = all.clone().map(rows).collect();
    let i: Vec<_> = all.clone().map(labels).collect();
    let end: Vec<bool> = all.map(|t| t + 1 == CYCLES).collect();
    json!({"x": x, "i": i, "end": end}).to_string()
}

#[test]
fn the_least_that_is_stated_will_do() {
    let program = PROGRAM.replace("lstm(8", "lstm(32");
    let folder = Folder::new().file("p.rml", program).file("d.json", inputs(None));
    let run = "run p.rml --node train --inputs d.json";
    let whole = folder.rml(run).ok();
    assert_eq!(folder.rml(&format!("{run} --memory 2M")).ok(), whole, "the same bits");
    let refused =
        folder.rml(&format!("{run} --memory 400K")).fails(1, &["memory-limit", "a window of 600 cycles"]);
    let least = refused.err.split("`--memory ").nth(1).and_then(|rest| rest.split('`').next());
    let least: u64 = least.and_then(|bytes| bytes.parse().ok()).expect("it states the least");
    assert!((300 << 10..2 << 20).contains(&least), "{least}");
    assert_eq!(folder.rml(&format!("{run} --memory {least}")).ok(), whole, "the same bits");
}

#[test]
fn errors_in_segments_are_those_of_the_program() {
    let folder = Folder::new().file("p.rml", PROGRAM).file("d.json", inputs(Some(250)));
    let run = "run p.rml --node train --inputs d.json";
    let words =
        ["position-outside", "cycle 250", "expected a position of at least 0 and less than 2, found 7"];
    folder.rml(run).fails(1, &words);
    // The simulator finds the error if it has enough memory.
    folder.rml(&format!("{run} --memory 500K")).fails(1, &["memory-limit", "a faster engine met an error"]);
}

#[test]
fn check_states_the_bytes() {
    let folder = Folder::new().file("p.rml", PROGRAM);
    let check = "check p.rml --node train --explain --cycles 600 --memory";
    let text = folder.rml(&format!("{check} 500K")).ok();
    let words = [
        "a window of 600 cycles takes 1.6 MB",
        "it runs in segments of ",
        "1 of 2 loops",
        "in segments it takes at least ",
    ];
    words.iter().for_each(|word| assert!(text.contains(word), "{text}"));
    assert!(folder.rml(&format!("{check} 100M")).ok().contains("it fits in "));
    assert!(folder.rml(&format!("{check} 50K")).ok().contains("it does not fit in "));
    folder.rml("check p.rml --cycles 600").fails(2, &["--explain"]);
}
