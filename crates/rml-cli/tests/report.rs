//! `rml train --report FILE.html`: the page of a training, however the training ends.

mod support;

use serde_json::json;
use support::{Folder, LINE};

/// Scores are the input times a parameter, which is always 1: class 1 is predicted where the input is above 0.
const CLASSIFIER: &str = "
node scores(x: num [batch]) -> (scores)
  k = param(1.0);
  scores = concat(zeros([batch, 1]), reshape([batch, 1], k * x), 1);

node train(x: num [batch], y: int [batch]) -> (loss: num [])
  s, _ = diff_scores(x, true, zeros([batch, 2]));
  loss = sum(s) * 0.0;

node infer(x: num [batch], y: int [batch], z: int [batch])
    -> (scores: num [batch, 2], class: int [batch], loss: num [])
  scores = scores(x);
  class = argmax(scores, -1);
  loss = 1.0 + 0.0 * sum(to_num(y)) + 0.0 * sum(to_num(z));
";

fn folder() -> Folder {
    let points = json!({"x": [0.1, 0.4, -0.3, 0.9, 0.6], "y": [0.3, 1.0, -1.0, 2.5, 2.0]});
    let classes =
        json!({"x": [1.0, 2.0, -1.0, -2.0, 3.0, 1.0], "y": [1, 1, 0, 1, 0, 7], "z": [0, 0, 0, 0, 0, 0]});
    Folder::new()
        .file("l.rml", LINE)
        .file("d.json", points.to_string())
        .file("c.rml", CLASSIFIER)
        .file("c.json", classes.to_string())
}

#[test]
fn a_page_tells_how_a_training_went_and_how_to_do_it_again() {
    let folder = folder();
    folder.rml("train l.rml --data d.json --epochs 3 --seed 7 --save a").ok();
    let run = folder.rml("train l.rml --data d.json --epochs 3 --seed 7 --save b --report 'the page.html'");
    assert!(!run.err.contains("compilation"), "nobody asked for the table of a profile: {}", run.err);
    run.ok();
    assert_eq!(std::fs::read(folder.path("a")).unwrap(), std::fs::read(folder.path("b")).unwrap());
    let page = folder.read("the page.html");
    for part in [
        "<title>Training of l.rml</title>",
        "It ended after 3 epochs.",
        "train: bounded, no look-ahead",
        "rml train l.rml --data d.json --epochs 3 --seed 7 --save b --report 'the page.html'",
        "<th scope=\"row\">seed</th><td class=\"text\">7</td>",
        "<b>line_0.<wbr>k</b> <span class=\"dim\">num []</span>",
        ">computing: steps and evaluations<",
        ">compilation<",
        "l.rml:4</th>",
        "<caption>The metrics of epoch 3, the last one</caption>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert_eq!(page.matches("SHA-256 ").count(), 2, "the program and its data");
}

#[test]
fn classes_are_counted_that_an_evaluation_finds() {
    let folder = folder();
    let train = "train c.rml --data c.json --epochs 1 --test 0 --validate c.json --report r.html";
    folder.rml(train).ok();
    assert!(folder.read("r.html").contains("There is none"), "`y` and `z` could both be labels");
    let found = |share: u32, class: &str, n: u32| {
        format!("<td class=\"{class}\" style=\"--share:{share}%\">{n}</td>")
    };
    let zero = "<th scope=\"row\">0</th>".to_owned() + &found(50, "right", 1) + &found(50, "wrong", 1);
    let one = "<th scope=\"row\">1</th>".to_owned() + &found(33, "wrong", 1) + &found(67, "right", 2);
    for (output, others) in [("scores", "3 of 6 are right; 1 were no class"), ("class", "3 of 6 are right<")]
    {
        folder.rml(&format!("{train} --confusion y:{output}")).ok();
        let page = folder.read("r.html");
        let caption = format!(
            "<code>y</code> in rows, what <code>{output}</code> says in columns, over the validation windows after epoch 1: {others}"
        );
        for part in [&zero, &one, &caption] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
    let seven = "<th scope=\"row\">7</th><td class=\"none\">0</td>".to_owned() + &found(100, "wrong", 1);
    assert!(folder.read("r.html").contains(&seven), "a class is what an output of classes says");
    let only = CLASSIFIER.replace(", z: int [batch])", ")").replace(" + 0.0 * sum(to_num(z))", "");
    let folder = folder.file("c.rml", only);
    folder.rml(train).ok();
    assert!(folder.read("r.html").contains(&zero), "the only pair need not be named");
}

#[test]
fn samples_are_the_same_windows_with_what_was_found() {
    let only = CLASSIFIER.replace(", z: int [batch])", ")").replace(" + 0.0 * sum(to_num(z))", "");
    let folder = folder().file("only.rml", only);
    folder.rml("train only.rml --data c.json --epochs 2 --test last:3 --report r.html").ok();
    let page = folder.read("r.html");
    for part in [
        "3 of the 3 test windows, the same ones after each epoch: <code>scores</code> beside <code>y</code>, after epoch 2, 0 of 3 are right",
        // Scores 0 and -2, of which the first is found, and 1 is right.
        "✗ <b>0</b></span> <span class=\"answer\">is 1</span>",
        "<span style=\"--share:88.1%\"><i>0</i> 88 %</span>",
        "<span class=\"dim title\">window 3</span>",
        "<span class=\"dim title\">window 5</span>",
        "<span class=\"row\"><i>x</i> 3.0000</span>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(page.find("window 3<") < page.find("window 5<"), "in the order of the data");
    // Numbers beside the output that they are compared with.
    let shown = LINE.replace("-> (loss)\n  o = line(x)", "-> (o, loss)\n  o = line(x)");
    assert_ne!(shown, LINE);
    let folder = folder.file("n.rml", shown);
    folder.rml("train n.rml --data d.json --epochs 1 --test 2 --report r.html").ok();
    let page = folder.read("r.html");
    assert!(
        page.contains("<code>o</code> beside <code>y</code>, after epoch 1<") && page.contains(", off by "),
        "{page}"
    );
    // Nothing is right or wrong where no output is of the type of an input.
    folder.rml("train l.rml --data d.json --epochs 1 --test 2 --report r.html").ok();
    assert!(!folder.read("r.html").contains("id=\"samples\""));
}

#[test]
fn what_cannot_be_compared_is_told() {
    let folder = folder();
    let train = |flags: &str| folder.rml(&format!("train c.rml --data c.json --report r.html {flags}"));
    train("--confusion y:loss")
        .fails(1, &["bad-option", "input `y`: int", "output `scores`: num", "LABEL:OUTPUT"]);
    train("--confusion no:scores").fails(1, &["bad-option", "`no` and `scores`"]);
    train("--confusion y").fails(2, &["such as y:logits"]);
    folder.rml("train c.rml --data c.json --confusion y:scores").fails(2, &["--report"]);
    let no_node =
        folder.rml("train c.rml --data c.json --report r.html --confusion y:scores --evaluate nothing");
    no_node.fails(1, &["nothing"]);
    assert!(!folder.path("r.html").exists(), "a training that did not begin has no page");
}

#[test]
fn a_training_that_fails_has_a_page_with_the_reason() {
    let diverging = LINE.replace("0.3 * (y - o)", "1000000.0 * (y - o)");
    let folder = folder().file("w.rml", diverging);
    let run = folder.rml("train w.rml --data d.json --epochs 40 --report r.html");
    run.fails(1, &["diverged"]);
    let page = folder.read("r.html");
    for part in ["It failed after", "error[diverged]", "class=\"failed\">"] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_training() {
    let folder = folder();
    std::fs::create_dir(folder.path("f.html")).expect("a folder");
    for (file, why) in [("f.html", "f.html"), ("no/folder/r.html", "unwritable-file")] {
        let run = folder.rml(&format!("train l.rml --data d.json --report {file}"));
        assert!(!run.err.contains("epoch"), "{}", run.err);
        run.fails(1, &[why]);
    }
    for flags in ["--save r.html", "--best r.html", "--profile=r.html"] {
        let run = folder.rml(&format!("train l.rml --data d.json --report ./r.html {flags}"));
        run.fails(1, &["bad-option", "two results"]);
    }
}

#[test]
fn both_meanings_of_the_flag_go_together() {
    let walk = "node train() -> (k)\n  k = 0.0 fby k + 1.0;\n";
    let folder = folder().file("w.rml", walk);
    folder.rml("train w.rml --windows 6 --report 2 --report r.html").ok();
    let page = folder.read("r.html");
    assert!(page.contains("It ended after 3 reports.") && page.contains(">report<"), "{page}");
    folder.rml("train w.rml --windows 6 --report 2 --report 3").fails(2, &["given twice"]);
    folder.rml("train w.rml --windows 6 --report r.htm").fails(2, &["ends with .html"]);
    folder.rml("train l.rml --data d.json --report 2").fails(2, &["--windows"]);
    folder
        .rml("train c.rml --data c.json --runs d --seeds 0..2 --report r.html --confusion y:scores")
        .fails(2, &["one training"]);
}

#[test]
fn a_stream_has_a_page_too() {
    let folder = folder();
    let lines: String = (0..4).map(|i| format!("{{\"x\": {i}.0, \"y\": {i}.5}}\n")).collect();
    folder.rml_with("train l.rml --stream --report 2 --report r.html", &lines).ok();
    let page = folder.read("r.html");
    assert!(page.contains("It ended after 2 reports.") && page.contains(">line_0.<wbr>k<"), "{page}");
}

#[test]
fn inference_says_which_class_is_taken_for_which() {
    let only = CLASSIFIER.replace(", z: int [batch])", ")").replace(" + 0.0 * sum(to_num(z))", "");
    let words = json!({"x": [1.0, 2.0, -1.0, -2.0, 3.0, 1.0], "y": ["no", "yes", "no", "no", "yes", "yes"]});
    let folder = folder().file("only.rml", only).file("words.json", words.to_string());
    folder.rml("train only.rml --data words.json --epochs 1 --test 2 --save k").ok();
    let infer = "infer only.rml --data words.json --params k --split all";
    let out = folder.rml(&format!("{infer} --confusion")).ok();
    let table = "\
`y` in rows, what `scores` says in columns
     no  yes  recall  precision      F1
no    2    1  0.6667     1.0000  0.8000
yes   0    3  1.0000     0.7500  0.8571
5 of 6 are right, macro F1 0.8286
";
    assert!(out.ends_with(table), "{out}");
    assert_eq!(folder.rml(&format!("{infer} --confusion y:scores")).ok(), out);
    let line = folder.rml(&format!("{infer} --confusion --message-format json")).json();
    assert_eq!(line["confusion"]["counts"], json!([[2, 1], [0, 3]]));
    assert_eq!(line["confusion"]["names"], json!(["no", "yes"]));
    assert!(!folder.rml(infer).ok().contains("in rows"), "only where it is asked for");
    // `c.rml` has two inputs that may be labels.
    folder.rml("train c.rml --data c.json --epochs 1 --test 0 --save k").ok();
    let two = "infer c.rml --data c.json --params k --confusion";
    folder
        .rml(two)
        .fails(1, &["bad-option", "exactly one integer input", "input `z`: int [6]", "LABEL:OUTPUT"]);
    folder.rml(&format!("{two} z:x")).fails(1, &["`z` and `x`"]);
    folder.rml(&format!("{two} z")).fails(2, &["such as y:logits"]);
}
