//! `rml train --episodes`: a line for each episode, the same for any engine and number of threads, also after a resume.

mod support;

use serde_json::Value;
use support::Folder;

/// Carts that are pushed at random; a parameter is trained beside.
const CARTS: &str = "import std.environments;
node hold() -> (k)
  k = param(1.0);
node train() -> (loss)
  k = diff_hold(true, -0.01);
  action: int [3] = to_int(random_uniform([3]) < 0.5);
  seen, reward, terminated, _, _ = cart_pole(15.0, action);
  _, _, _, _ = episodes(15.0, reward, terminated);
  loss = k;
";

fn folder() -> Folder {
    Folder::new().file("p.rml", CARTS)
}

const TRAIN: &str = "train p.rml --report 50 --cycles";

#[test]
fn each_episode_has_a_line() {
    let folder = folder();
    folder.rml(&format!("{TRAIN} 300 --episodes e.jsonl")).ok();
    let text = folder.read("e.jsonl");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let number = |row: &Value, name: &str| {
        row[name].as_u64().or(row[name].as_f64().map(|x| x as u64)).expect("a number")
    };
    let mut last = [None; 3];
    for row in &rows {
        let (cycle, at) = (number(row, "cycle"), number(row, "row") as usize);
        let steps = cycle - last[at].map_or(0, |last: u64| last + 1) + 1;
        assert_eq!(number(row, "length"), steps, "{row}");
        assert_eq!(number(row, "return"), steps, "each step has the reward 1");
        // A pole that falls in the last step terminates the episode.
        assert!(row["end"] == "terminated" || (row["end"] == "truncated" && steps == 15), "{row}");
        last[at] = Some(cycle);
    }
    let order: Vec<(u64, u64)> = rows.iter().map(|row| (number(row, "cycle"), number(row, "row"))).collect();
    assert!(order.is_sorted() && rows.len() > 50, "{}", rows.len());
    for end in ["terminated", "truncated"] {
        assert!(rows.iter().any(|row| row["end"] == end), "{end}");
    }
}

#[test]
fn a_log_has_the_same_bits_and_changes_nothing() {
    let folder = folder();
    folder.rml(&format!("{TRAIN} 300 --episodes a.csv")).ok();
    folder.rml(&format!("{TRAIN} 300 --episodes b.csv --threads 3")).ok();
    folder.rml(&format!("{TRAIN} 300 --episodes c.csv --engine sim")).ok();
    let first = folder.read("a.csv");
    assert!(first.starts_with("cycle,row,return,length,end\n"), "{first}");
    assert_eq!((&folder.read("b.csv"), &folder.read("c.csv")), (&first, &first));
    let metrics = |flags: &str| {
        let lines = folder.rml(&format!("{TRAIN} 300 {flags} --message-format json")).ok();
        let row = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["train"].clone();
        lines.lines().map(row).collect::<Vec<_>>()
    };
    assert_eq!(metrics(""), metrics("--episodes d.csv"));
}

#[test]
fn a_resumed_run_continues_the_log() {
    for file in ["e.csv", "e.jsonl"] {
        let folder = folder();
        folder.rml(&format!("{TRAIN} 300 --episodes whole.{}", &file[2..])).ok();
        folder.rml(&format!("{TRAIN} 120 --episodes {file} --save s.safetensors")).ok();
        // The run was ended in the middle of a later line.
        let before = folder.read(file);
        let later = before
            .lines()
            .last()
            .expect("a line")
            .replace(before.lines().last().map_or("", first_number), "9999");
        let folder = folder.file(file, format!("{before}{later}\n{}", &later[..later.len() / 2]));
        folder
            .rml(&format!(
                "train p.rml --cycles 300 --episodes {file} --resume s.safetensors --save s.safetensors"
            ))
            .ok();
        assert_eq!(folder.read(file), folder.read(&format!("whole.{}", &file[2..])));
    }
}

/// The first number of a line.
fn first_number(line: &str) -> &str {
    let begin = line.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let rest = &line[begin..];
    &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())]
}

#[test]
fn runs_have_their_own_logs() {
    let folder = folder();
    let runs = format!("{TRAIN} 100 --runs out --seeds 0..2 --episodes e.csv");
    folder.rml(&runs).ok();
    for seed in [0, 1] {
        folder.rml(&format!("{TRAIN} 100 --seed {seed} --episodes {seed}.csv")).ok();
        assert_eq!(folder.read(&format!("out/seed={seed}/e.csv")), folder.read(&format!("{seed}.csv")));
    }
    assert!(!folder.path("e.csv").exists());
    folder.rml(&runs).ok();
}

#[test]
fn what_cannot_be_logged_is_refused() {
    let several =
        CARTS.replace("  loss = k;", "  _, _, _, _ = episodes(9.0, reward, terminated);\n  loss = k;");
    let none = "node hold() -> (k)  k = param(1.0);\nnode train() -> (loss)  loss = diff_hold(true, -0.01);";
    let line = support::LINE;
    let folder = folder().file("several.rml", several).file("none.rml", none).file("line.rml", line);
    let folder = folder.file("d.json", r#"{"x": [1, 2, 3], "y": [1, 2, 3]}"#).file("e.csv", "kept");
    folder.rml(&format!("{TRAIN} 9 --episodes e.csv")).fails(1, &["log-exists", "e.csv"]);
    assert_eq!(folder.read("e.csv"), "kept");
    folder.rml(&format!("{TRAIN} 9 --episodes e.txt")).fails(1, &["unknown-format", ".jsonl or .csv"]);
    folder.rml("train several.rml --cycles 9 --episodes s.csv").fails(1, &["--episodes-of episodes_0"]);
    folder.rml("train several.rml --cycles 9 --episodes s.csv --episodes-of episodes_1").ok();
    folder
        .rml("train p.rml --cycles 9 --episodes s2.csv --episodes-of x")
        .fails(1, &["`x` does not say", "ended: bool [n]"]);
    folder.rml("train none.rml --cycles 9 --episodes n.csv").fails(1, &["bad-option", "std.environments"]);
    folder.rml("train line.rml --data d.json --episodes n.csv").fails(2, &["--episodes"]);
    let same = format!("{TRAIN} 9 --episodes x.csv --plot x.csv");
    folder.rml(&same).fails(2, &["x.csv"]);
}
