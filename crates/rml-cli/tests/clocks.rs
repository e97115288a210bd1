//! Clocks on the command line: printed beside types, checked before a training begins, and left to the simulator by a run.

mod support;

use support::Folder;

const GOOD: &str = "node main(x: num [n], c: bool []) -> (o: num [n])
  h = x when c;
  o = merge c h (0.0 * x when not c);
";

const BAD: &str = "node main(x: num [], c: bool []) -> (o)
  o = x + (x when c);
";

#[test]
fn types_show_shapes_and_clocks() {
    let folder = Folder::new().file("good.rml", GOOD);
    let text = folder.rml("check good.rml --node main --set n=3 --types").ok();
    assert!(text.contains("\n  h: num [3] when c\n") && text.contains("\n  o: num [3]\n"), "{text}");
    let text = folder.rml("check good.rml --types").ok();
    assert!(text.contains("node main, taking n = 5\n"), "{text}");
}

#[test]
fn types_of_a_named_node_need_no_batch() {
    let folder = Folder::new().file("rows.rml", "node main(x: num [batch, 3]) -> (o)\n  o = x + 1.0;\n");
    let text = folder.rml("check rows.rml --node main --types").ok();
    assert!(text.contains("node main, taking batch = 5\n  x: num [5, 3]\n"), "{text}");
}

#[test]
fn ill_clocked_programs_are_checked_early_by_training_and_late_by_runs() {
    let inputs = r#"{"x": [1.0, 2.0], "c": [true, true]}"#;
    let folder = Folder::new().file("bad.rml", BAD).file("inputs.json", inputs);
    folder.rml("check bad.rml").fails(1, &["error[clock-mismatch]", "sample `x`: `x when c`"]);
    folder
        .rml("train bad.rml --node main --data inputs.json --epochs 1")
        .fails(1, &["error[clock-mismatch]"]);
    // Here no cycle shows it.
    assert!(folder.rml("run bad.rml --inputs inputs.json").ok().contains("[2.0, 4.0]"));
}
