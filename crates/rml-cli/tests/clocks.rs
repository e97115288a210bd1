//! Clocks on the command line: printed beside types, checked before a training begins, and left to the simulator by a
//! run.

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
    // In this run no cycle violates the clock.
    assert!(folder.rml("run bad.rml --inputs inputs.json").ok().contains("[2.0, 4.0]"));
}

/// The clock of an input on a condition that the program computes.
const COMPUTED: &str = "node main(n: int [], x: int [] when c) -> (o, c)
  c = n > 1;
  o = merge c x 0;
";

#[test]
fn data_against_a_clock_that_the_program_computes_is_refused() {
    let folder = |x: &str| {
        let inputs = format!("{{\"n\": [1, 2, 3], \"x\": {x}}}");
        Folder::new().file("p.rml", COMPUTED).file("inputs.json", &inputs)
    };
    let right = folder("[null, 5, 6]");
    assert!(right.rml("run p.rml --inputs inputs.json").ok().contains("\"o\": [0, 5, 6]"));
    right.rml("trace p.rml --inputs inputs.json").ok();
    for (x, found, since) in [
        ("[4, 5, 6]", "input `x` is present in cycle 0, against its clock", "since `c` is false"),
        ("[null, null, 6]", "input `x` is absent in cycle 1, against its clock", "since `c` is true"),
    ] {
        for command in ["run p.rml --inputs inputs.json", "trace p.rml --inputs inputs.json"] {
            let words = ["error[input-clock]", found, since, "declared `when c`"];
            folder(x).rml(command).fails(1, &words);
        }
    }
}

/// In training and inference over windows, the data need a value wherever the input is present, and may have others; in
/// streams, exactly where the input is present.
#[test]
fn data_of_inference_follows_a_clock_that_the_program_computes() {
    let folder = |x: &str| {
        let data = format!("{{\"n\": [1, 2, 3], \"x\": {x}}}");
        Folder::new().file("p.rml", COMPUTED).file("d.json", &data)
    };
    let infer = "infer p.rml --node main --data d.json --out o.json";
    for x in ["[4, 5, 6]", "[null, 5, 6]"] {
        let folder = folder(x);
        folder.rml(infer).ok();
        assert!(folder.read("o.json").contains("[0, 5, 6]"), "{}", folder.read("o.json"));
    }
    folder("[4, null, 6]").rml(infer).fails(1, &["input-clock", "`x` is absent", "since `c` is true"]);
    let lines =
        "{\"n\": 1, \"x\": null}\n{\"n\": 2, \"x\": null}\n{\"n\": 1, \"x\": 3}\n{\"n\": 2, \"x\": 4}\n";
    let run = folder("[4]").rml_with("infer p.rml --node main --stream", lines);
    let answers: Vec<&str> = run.out.lines().collect();
    assert_eq!(answers.len(), 4, "{}", run.out);
    assert_eq!(answers[0], "{\"cycle\": 0, \"o\": 0, \"c\": false}");
    assert!(answers[1].contains("input-clock") && answers[1].contains("is absent in cycle 1"), "{}", run.out);
    assert!(
        answers[2].contains("input-clock") && answers[2].contains("is present in cycle 1"),
        "{}",
        run.out
    );
    assert_eq!(answers[3], "{\"cycle\": 1, \"o\": 4, \"c\": true}", "refused lines do not happen");
}
