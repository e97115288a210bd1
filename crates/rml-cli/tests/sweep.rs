//! `rml train --runs`: several seeds and settings in one folder. Each run gives the same bits as alone, and finished
//! runs are not repeated.

mod support;

use serde_json::{Value, json};
use support::Folder;

/// A line through points, with the learning rate as a static parameter.
const LINE: &str = "
node line(x) -> (o)
  k = param(0.0);
  o = k * x;

node train(rate, x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, rate * (y - o));
  loss = (o - y) * (o - y);

node infer(x: num [], y: num []) -> (loss)
  o = line(x);
  loss = (o - y) * (o - y);
";

/// The loss of report N is (N - 1 - goal)².
const WALK: &str = "
node moving() -> (k)
  k = param(0.0);

node train(goal) -> (loss)
  k = diff_moving(true, 1.0);
  loss = (k - goal) * (k - goal);
";

const SWEEP: &str = "train l.rml --data d.json --epochs 4 --runs out --seeds 0..3 --sweep rate=0.1,0.3";

fn folder() -> Folder {
    let xs: Vec<f64> = (0..20).map(|i| f64::from(i) / 20.0).collect();
    let ys: Vec<f64> = xs.iter().map(|x| 3.0 * x + (17.0 * x).sin() / 10.0).collect();
    let data = json!({"x": xs, "y": ys}).to_string();
    Folder::new().file("l.rml", LINE).file("w.rml", WALK).file("d.json", data)
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).expect("a file")
}

/// A file of JSON.
fn json(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&folder.read(name)).expect("JSON")
}

/// The cells of a table.
fn table(folder: &Folder, name: &str) -> Vec<Vec<String>> {
    folder.read(name).lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn each_run_is_what_it_is_alone() {
    let folder = folder();
    let out = folder.rml(SWEEP).ok();
    for (rate, seed) in [("0.1", 0), ("0.1", 2), ("0.3", 1)] {
        let alone = format!("train l.rml --data d.json --epochs 4 --set rate={rate} --seed {seed}");
        folder.rml(&format!("{alone} --save alone.safetensors")).ok();
        let run = format!("out/rate={rate},seed={seed}");
        let name = format!("{run}/checkpoint.safetensors");
        assert!(bytes(&folder, &name) == bytes(&folder, "alone.safetensors"), "{name}");
        let outcome = json(&folder, &format!("{run}/outcome.json"));
        assert_eq!((&outcome["state"], &outcome["epoch"]), (&json!("finished"), &json!(4)));
        let last = folder.read(&format!("{run}/metrics.jsonl")).lines().last().map(str::to_owned);
        let last: Value = serde_json::from_str(&last.expect("lines")).expect("JSON");
        assert_eq!(outcome["metrics"]["test.loss"], last["test"]["loss"]);
    }
    assert_eq!(out.lines().count(), 3, "{out}");
    let again = SWEEP.replace("--runs out", "--runs two --jobs 1 --threads 3");
    assert_eq!(folder.rml(&again).ok(), out, "however many run at once");
    assert_eq!(folder.read("two/table.csv"), folder.read("out/table.csv"));
}

#[test]
fn tables_have_the_mean_and_spread_of_the_logs() {
    let folder = folder();
    folder.rml(SWEEP).ok();
    let runs = table(&folder, "out/runs.csv");
    assert_eq!(runs[0].join(","), "rate,seed,state,epoch,seconds,loss,test.loss,error");
    assert_eq!(runs.len(), 7);
    let losses: Vec<f64> = runs[1..4].iter().map(|run| run[6].parse().expect("a number")).collect();
    let mean = losses.iter().sum::<f64>() / 3.0;
    let deviation = (losses.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 2.0).sqrt();
    let table = table(&folder, "out/table.csv");
    assert_eq!(table[0].join(","), "rate,metric,runs,of,mean,std,min,max,iqm,iqm low,iqm high");
    assert_eq!(table[2][..4], ["0.1", "test.loss", "3", "3"]);
    let cell = |i: usize| table[2][i].parse::<f64>().expect("a number");
    assert!((cell(4) - mean).abs() < 1e-12 && (cell(5) - deviation).abs() < 1e-12, "{table:?}");
    let sorted = |a: &f64, b: &f64| a.total_cmp(b);
    assert_eq!(Some(&cell(6)), losses.iter().min_by(|a, b| sorted(a, b)));
    assert_eq!(Some(&cell(7)), losses.iter().max_by(|a, b| sorted(a, b)));
}

#[test]
fn what_is_done_is_not_done_again() {
    let folder = folder();
    let first = folder.rml(SWEEP).ok();
    let log = "out/rate=0.1,seed=1/metrics.jsonl";
    let before = folder.read(log);
    let again = folder.rml(SWEEP);
    assert!(again.err.contains("6 runs, 6 of them done before"), "{}", again.err);
    assert_eq!(again.ok(), first);
    assert_eq!(folder.read(log), before);
    // New seeds and values are added to the existing ones.
    let more = folder.rml(&SWEEP.replace("0..3", "1,7").replace("0.1,0.3", "0.1,0.9"));
    assert!(more.err.contains("4 runs, 1 of them done before"), "{}", more.err);
    assert_eq!(more.ok().lines().count(), 3);
    assert_eq!(folder.read(log), before);
}

#[test]
fn runs_go_on_to_a_greater_length() {
    let folder = folder();
    folder.rml(&SWEEP.replace("0..3", "0,1")).ok();
    let longer = SWEEP.replace("--epochs 4", "--epochs 7");
    let run = folder.rml(&longer);
    assert!(run.err.contains("6 runs\n"), "none has ended: {}", run.err);
    let out = run.ok();
    // Longer runs that continue equal runs of the full length from the start.
    assert_eq!(folder.rml(&longer.replace("--runs out", "--runs once")).ok(), out);
    let checkpoint = "rate=0.3,seed=1/checkpoint.safetensors";
    assert!(bytes(&folder, &format!("out/{checkpoint}")) == bytes(&folder, &format!("once/{checkpoint}")));
    let again = folder.rml(&longer);
    assert!(again.err.contains("6 runs, 6 of them done before"), "{}", again.err);
    folder.rml(SWEEP).fails(1, &["resume-mismatch", "length: expected {\"epochs\":7}, found {\"epochs\":4}"]);
    // Runs without data continue in the same way; a run that missed its goal may still meet it.
    let walk = "train w.rml --report 1 --runs w --sweep goal=1.0 --until 'loss > 10' --windows";
    folder.rml(&format!("{walk} 3")).fails(1, &["goal-missed"]);
    folder.rml(&format!("{walk} 9")).ok();
    assert_eq!(table(&folder, "w/runs.csv")[1][2], "finished");
    folder.rml(&format!("{walk} 9 --cycles 20")).fails(1, &["resume-mismatch"]);
}

#[test]
fn curves_are_means_in_bands_over_the_seeds() {
    let folder = folder();
    folder.rml(&format!("{SWEEP} --plot c.svg")).ok();
    let svg = folder.read("c.svg");
    // Curves of training and test loss: a line and a band for each rate.
    for (shown, count) in
        [(">loss<", 1), (">test loss<", 1), (">rate=0.1<", 2), (">rate=0.3<", 2), (">epoch<", 2)]
    {
        assert_eq!(svg.matches(shown).count(), count, "{shown} in {svg}");
    }
    assert_eq!((svg.matches("<polyline").count(), svg.matches("<polygon").count()), (4, 4), "{svg}");
    // A single seed has no spread; a run that fails at once has no curve.
    let sweep = "train w.rml --report 1 --windows 3 --runs w --plot w.svg --sweep goal=1.0,true";
    folder.rml(sweep).fails(1, &["goal=true"]);
    let svg = folder.read("w.svg");
    assert_eq!((svg.matches("<polyline").count(), svg.matches("<polygon").count()), (1, 0), "{svg}");
    assert!(svg.contains(">goal=1.0<") && !svg.contains("goal=true"), "{svg}");
    folder.rml(&SWEEP.replace("--runs out", "--runs no --plot no/such/c.svg")).fails(1, &["unwritable-file"]);
    assert!(!folder.path("no").exists(), "it is said before anything is trained");
}

#[test]
fn a_page_compares_the_runs() {
    let folder = folder();
    folder.rml(&format!("{SWEEP} --report 'all runs.html'")).ok();
    let page = folder.read("all runs.html");
    for part in [
        "<title>Runs of l.rml</title>",
        "6 runs, of which 6 have ended.",
        "rml train l.rml --data d.json --epochs 4 --runs out",
        "<th scope=\"col\">rate</th><th scope=\"col\">seed</th><th scope=\"col\" data-metric=\"0\">test loss</th>",
        ">rate=0.3,seed=2</span></th><td data-value=\"0.3\">0.3</td><td data-value=\"2\">2</td>",
        "id=\"means\"",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let data = page.split("id=\"runs-data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let data: Value = serde_json::from_str(data.expect("data")).expect("JSON");
    assert_eq!(data["groups"], json!(["rate=0.1", "rate=0.3"]));
    let run = &data["runs"][5];
    assert_eq!((&run["name"], &run["group"]), (&json!("rate=0.3,seed=2"), &json!(1)));
    let log = folder.read("out/rate=0.3,seed=2/metrics.jsonl");
    let last: Value = serde_json::from_str(log.lines().last().expect("a line")).expect("JSON");
    assert_eq!(run["curves"][0][3], json!([4.0, last["test"]["loss"]]));
    // A failed run is a row without a curve.
    let sweep = "train w.rml --report 1 --report w.html --windows 3 --runs w --sweep goal=1.0,true";
    folder.rml(sweep).fails(1, &["goal=true"]);
    let page = folder.read("w.html");
    assert!(page.contains(">report<") && page.contains("goal=1.0"), "{page}");
    let page = "--report no/such/c.html";
    folder.rml(&SWEEP.replace("--runs out", &format!("--runs no {page}"))).fails(1, &["unwritable-file"]);
    assert!(!folder.path("no").exists(), "the error comes before any training");
}

/// A run that does not fit in memory is tried alone, fails, and is in the table like any other failed run.
#[test]
fn a_run_that_lacks_memory_leaves_the_others_as_they_are() {
    let wide = LINE
        .replace("param(0.0)", "mean(param(zeros([n])))")
        .replace("line(x", "line(n, x")
        .replace("(rate,", "(n,")
        .replace("rate *", "0.3 *")
        .replace("node infer(", "node infer(n, ");
    let folder = folder().file("wide.rml", &wide);
    let sweep =
        "train wide.rml --data d.json --epochs 2 --runs out --sweep n=4,8,4000000 --memory 8M --jobs 3";
    for _ in 0..2 {
        let run = folder.rml(sweep).fails(1, &["memory-limit", "in the run"]);
        assert!(run.out.contains("n=4000000 failed: "), "{}", run.out);
        let runs = table(&folder, "out/runs.csv");
        let states: Vec<&str> = runs[1..].iter().map(|run| &*run[2]).collect();
        assert_eq!(states, ["finished", "finished", "failed"]);
    }
    assert_eq!(json(&folder, "out/n=4000000/outcome.json")["error"]["code"], json!("memory-limit"));
    let alone = "train wide.rml --data d.json --epochs 2 --set n=8 --save alone.safetensors";
    folder.rml(alone).ok();
    assert!(bytes(&folder, "out/n=8/checkpoint.safetensors") == bytes(&folder, "alone.safetensors"));
}

#[test]
fn a_run_that_was_broken_off_goes_on() {
    let folder = folder();
    folder.rml(SWEEP).ok();
    let (run, other) = ("out/rate=0.3,seed=2", "out/rate=0.3,seed=1");
    let whole = bytes(&folder, &format!("{run}/checkpoint.safetensors"));
    let lines = folder.read(&format!("{run}/metrics.jsonl"));
    // The state of a run after the second epoch, when the log is a line ahead of the checkpoint.
    folder.rml("train l.rml --data d.json --epochs 2 --set rate=0.3 --seed 2 --save part.safetensors").ok();
    std::fs::copy(folder.path("part.safetensors"), folder.path(&format!("{run}/checkpoint.safetensors")))
        .expect("a copy");
    let part: String = lines.split_inclusive('\n').take(3).collect::<String>() + "{\"epo";
    std::fs::write(folder.path(&format!("{run}/metrics.jsonl")), part).expect("a log");
    std::fs::remove_file(folder.path(&format!("{run}/outcome.json"))).expect("it exists");
    // The state of a run before its first checkpoint.
    for name in ["outcome.json", "checkpoint.safetensors"] {
        std::fs::remove_file(folder.path(&format!("{other}/{name}"))).expect("it exists");
    }
    // Temporary files of killed writers.
    let files = ["outcome.json", "run.json", "metrics.jsonl", "metrics.csv", "events.out.tfevents.rml"];
    let killed = |run: &str, name: &str| folder.path(&format!("{run}/.{name}.rml-abcdef.tmp"));
    let left: Vec<_> = [run, other]
        .iter()
        .flat_map(|run| files.iter().chain(&["checkpoint.safetensors"]).map(|name| killed(run, name)))
        .chain(["table.csv", "runs.csv"].map(|name| killed("out", name)))
        .collect();
    left.iter().for_each(|path| std::fs::write(path, "half").expect("a file"));
    let table = folder.read("out/table.csv");
    let again = folder.rml(SWEEP);
    assert!(left.iter().all(|path| !path.exists()), "{left:?}");
    assert!(again.err.contains("6 runs, 4 of them done before"), "{}", again.err);
    again.ok();
    assert!(bytes(&folder, &format!("{run}/checkpoint.safetensors")) == whole);
    assert_eq!(folder.read("out/table.csv"), table);
    for run in [run, other] {
        let lines = folder.read(&format!("{run}/metrics.jsonl"));
        let epochs =
            lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["epoch"].clone());
        assert_eq!(epochs.collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
}

#[test]
fn runs_that_fail_are_in_the_table_and_the_others_go_on() {
    let folder = folder();
    let sweep = SWEEP.replace("0.1,0.3", "0.1,1e9");
    let run = folder
        .rml(&sweep)
        .fails(1, &["diverged", "in the runs rate=1000000000.0,seed=0 and", "/6  rate=0.1,seed=2"]);
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(lines[2].contains("0 of 3"), "{}", run.out);
    assert!(lines[3].starts_with("rate=1000000000.0,seed=0 failed: training diverged"), "{}", run.out);
    let runs = table(&folder, "out/runs.csv");
    assert_eq!((&*runs[3][2], &*runs[4][2]), ("finished", "failed"));
    assert!(runs[4][7].contains("diverged"), "{runs:?}");
    let outcome = json(&folder, "out/rate=1000000000.0,seed=0/outcome.json");
    assert_eq!((&outcome["state"], &outcome["error"]["code"]), (&json!("failed"), &json!("diverged")));
    // A failed run is tried again, but the other runs are not.
    folder.rml(&sweep).fails(1, &["6 runs, 3 of them done before", "diverged"]);
    // A value that the static parameter cannot have.
    let run = folder.rml("train w.rml --report 1 --windows 3 --runs w --sweep goal=1.0,true");
    let run = run.fails(1, &["goal=true"]);
    assert!(run.out.contains("goal=true failed: "), "{}", run.out);
    assert_eq!(table(&folder, "w/table.csv")[1][..4], ["1.0", "loss", "1", "1"]);
}

#[test]
fn what_lets_no_run_begin_is_said_before_anything_is_written() {
    let folder = folder();
    let fails = |flags: &str, code: i32, words: &[&str]| {
        folder.rml(&format!("train l.rml --data d.json --runs no {flags}")).fails(code, words);
        assert!(!folder.path("no").exists(), "{flags}");
    };
    fails("--seeds 0..2 --sweep rat=0.1", 1, &["unused-setting", "`rat`", "there is `rate`"]);
    fails("--sweep rate=true,false", 1, &["rate"]);
    fails("--sweep rate=0.1,0.1", 1, &["`rate=0.1` is given twice"]);
    fails("--sweep rate=0.1 --sweep rate=0.2", 1, &["`rate` is given twice"]);
    fails("--sweep rate=0.1 --set rate=0.2", 1, &["`rate` is given twice"]);
    fails("--sweep rate=0.1 --seeds 4,4", 1, &["`rate=0.1,seed=4` is given twice"]);
    fails("--sweep rate=0.1 --metric los:min", 1, &["unknown-metric"]);
    fails("", 2, &["--seeds"]);
    fails("--seeds 3..3", 2, &["contains no seed"]);
    fails("--seeds 0..2 --seed 1", 2, &["cannot be used with"]);
    fails("--seeds 0..2 --save x", 2, &["cannot be used with"]);
    folder.rml("train l.rml --data d.json --seeds 0..2").fails(2, &["--runs"]);
}

#[test]
fn a_folder_of_other_runs_is_left_as_it_is() {
    let folder = folder();
    folder.rml(SWEEP).ok();
    let before = folder.read("out/runs.csv");
    let fails = |command: &str, words: &[&str]| {
        folder.rml(command).fails(1, words);
        assert_eq!(folder.read("out/runs.csv"), before);
    };
    fails(&SWEEP.replace("--epochs 4", "--epochs 3"), &["resume-mismatch", "expected {\"epochs\":4}"]);
    fails(&format!("{SWEEP} --test 4"), &["resume-mismatch", "test: expected 3, found 4"]);
    fails(&format!("{SWEEP} --f64"), &["double: expected false, found true"]);
    fails(&SWEEP.replace("--seeds 0..3", ""), &["resume-mismatch", "seeds: expected true, found false"]);
    let changed = LINE.replace("(o - y) * (o - y);\n\nnode infer", "2.0 * (o - y) * (o - y);\n\nnode infer");
    let folder = folder.file("l.rml", changed);
    folder.rml(SWEEP).fails(1, &["resume-mismatch", "program: expected"]);
    assert_eq!(folder.read("out/runs.csv"), before);
}

#[test]
fn goals_and_best_epochs_count_for_each_run() {
    let folder = folder();
    // The loss is least in the report after the goal.
    let train = "train w.rml --report 1 --windows 6 --sweep goal=1.0,3.0";
    folder.rml(&format!("{train} --runs best --metric loss:min")).ok();
    let runs = table(&folder, "best/runs.csv");
    assert_eq!((&runs[1][3], &runs[2][3]), (&"2".to_owned(), &"4".to_owned()), "{runs:?}");
    assert_eq!(table(&folder, "best/table.csv")[1][4..], ["0", "", "0", "0", "0", "", ""]);
    assert!(folder.path("best/goal=1.0/best.safetensors").exists());
    let until = format!("{train} --runs until --until 'loss > 10'");
    for _ in 0..2 {
        let run = folder.rml(&until).fails(1, &["goal-missed", "in 1 of 2 runs", "goal=3.0"]);
        assert_eq!(run.out.lines().count(), 3, "{}", run.out);
    }
    let runs = table(&folder, "until/runs.csv");
    assert_eq!((&*runs[1][2], &*runs[2][2]), ("finished", "missed"));
}

#[test]
fn programs_read_what_the_runs_gave() {
    let folder = folder();
    let out = folder.rml(&format!("{SWEEP} --message-format json")).ok();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 6 + 4);
    assert!(lines[..6].iter().all(|line| line["state"] == "finished"), "{out}");
    assert_eq!((&lines[6]["metric"], &lines[6]["runs"]), (&json!("loss"), &json!(3)));
    assert_eq!(lines[9]["set"], json!({"rate": "0.3"}));
}

/// Each run is trained in one of the processes, with the same bits as in a single process; the first process prints the
/// table.
#[test]
fn processes_share_runs() {
    let folder = folder();
    let table = folder.rml(SWEEP).ok();
    let shared = SWEEP.replace("--runs out", "--runs shared --jobs 1");
    let tables = std::thread::scope(|scope| {
        ["0", "1", "2"]
            .map(|rank| {
                let variables = [("RANK", rank), ("WORLD_SIZE", "3")];
                let (folder, shared) = (&folder, &shared);
                scope.spawn(move || folder.rml_where(&variables, shared).ok())
            })
            .map(|process| process.join().expect("it ends"))
    });
    assert_eq!(tables, [table, String::new(), String::new()]);
    for rate in ["0.1", "0.3"] {
        for seed in 0..3 {
            let run = format!("rate={rate},seed={seed}");
            let file = |folder_of: &str, name: &str| bytes(&folder, &format!("{folder_of}/{run}/{name}"));
            let checkpoint = "checkpoint.safetensors";
            assert!(file("shared", checkpoint) == file("out", checkpoint), "{run}");
            let log = folder.read(&format!("shared/{run}/metrics.jsonl"));
            assert_eq!(log.lines().count(), 4, "{run} is trained once");
        }
    }
}

/// A process waits for a run that another process holds. If that process dies without an outcome, the first one trains
/// the run itself.
#[test]
fn runs_of_processes_that_died_are_continued() {
    let folder = folder();
    folder.rml(SWEEP).ok();
    let runs = folder.path("two");
    let held = "rate=0.1,seed=1";
    std::fs::create_dir_all(runs.join(held)).expect("a folder");
    let lock = std::fs::File::create(runs.join(held).join(".lock")).expect("a file");
    lock.lock().expect("there are locks");
    let outcome = |run: &str| runs.join(run).join("outcome.json").exists();
    std::thread::scope(|scope| {
        let process = scope.spawn(|| folder.rml(&SWEEP.replace("--runs out", "--runs two")));
        let others =
            ["rate=0.1,seed=0", "rate=0.1,seed=2", "rate=0.3,seed=0", "rate=0.3,seed=1", "rate=0.3,seed=2"];
        while !others.iter().all(|run| outcome(run)) && !process.is_finished() {
            std::thread::yield_now();
        }
        assert!(!outcome(held) && !process.is_finished(), "it waits");
        lock.unlock().expect("there are locks");
        process.join().expect("it ends").ok();
    });
    let checkpoint = format!("{held}/checkpoint.safetensors");
    assert!(bytes(&folder, &format!("two/{checkpoint}")) == bytes(&folder, &format!("out/{checkpoint}")));
}

/// A run that fails in one process is not tried again by the others, and all of them report it.
#[test]
fn failures_are_shared() {
    let folder = folder();
    let diverging =
        SWEEP.replace("rate=0.1,0.3", "rate=0.1,1e30").replace("--runs out", "--runs bad --jobs 1");
    std::thread::scope(|scope| {
        let run = |rank| {
            let (folder, diverging) = (&folder, &diverging);
            scope.spawn(move || folder.rml_where(&[("RANK", rank), ("WORLD_SIZE", "2")], diverging))
        };
        let [first, second] = ["0", "1"].map(run).map(|process| process.join().expect("it ends"));
        first.fails(1, &["diverged", "rate=1e30,seed=0"]);
        second.fails(1, &[]);
    });
}

#[test]
fn one_training_in_several_processes_is_refused() {
    let folder = folder();
    let variables = [("RANK", "1"), ("WORLD_SIZE", "4")];
    let run = folder.rml_where(&variables, "train l.rml --data d.json --set rate=0.1");
    run.fails(1, &["several-processes", "process 1 of 4", "WORLD_SIZE=4", "--runs DIR"]);
    folder.rml_where(&[("RANK", "0"), ("WORLD_SIZE", "1")], "train l.rml --data d.json --set rate=0.1").ok();
}

const PRUNED: &str = "train l.rml --data d.json --validate 0.2 --epochs 9 --seeds 0..2 --sweep rate=1e-3..1.0:log --samples 6 --prune halving";

/// The lines of the runs, without the time that they took.
fn without_time(folder: &Folder, name: &str) -> Vec<Vec<String>> {
    let mut rows = table(folder, &format!("{name}/runs.csv"));
    let seconds = rows[0].iter().position(|head| head == "seconds").expect("a column");
    rows.iter_mut().for_each(|row| drop(row.remove(seconds)));
    rows
}

#[test]
fn drawn_combinations_are_within_their_ranges_and_can_be_added() {
    let shifted =
        LINE.replace("train(rate,", "train(rate, offset,").replace("(y - o));", "(y + to_num(offset) - o));");
    let folder = folder().file("o.rml", shifted);
    let drawn = |samples: &str, out: &str| {
        let sweep = "--sweep rate=1e-3..1e-1:log --sweep offset=0,1,2";
        folder
            .rml(&format!("train o.rml --data d.json --epochs 1 --runs {out} {sweep} --samples {samples}"))
            .ok();
        without_time(&folder, out)
    };
    let few = drawn("4", "few");
    assert_eq!(few.len(), 5);
    let cell = |row: &[String], head: &str| {
        row[few[0].iter().position(|own| own == head).expect("a column")].clone()
    };
    for row in &few[1..] {
        let rate: f64 = cell(row, "rate").parse().expect("a number");
        assert!((1e-3..=1e-1).contains(&rate) && ["0", "1", "2"].contains(&&*cell(row, "offset")), "{row:?}");
    }
    assert_eq!(drawn("7", "few")[..5], few);
    assert_ne!(drawn("4:1", "other"), few);
    // A run is the same as alone.
    let (rate, offset) = (cell(&few[2], "rate"), cell(&few[2], "offset"));
    let alone = format!("train o.rml --data d.json --epochs 1 --set rate={rate} --set offset={offset}");
    folder.rml(&format!("{alone} --save a.safetensors")).ok();
    let run = format!("few/rate={rate},offset={offset}/checkpoint.safetensors");
    assert!(bytes(&folder, &run) == bytes(&folder, "a.safetensors"));
}

#[test]
fn a_comparison_of_equal_values_is_told() {
    let text = "node train(k) -> (loss: num [])\n  w = param(1.0);\n  loss = w * k - w * k;\n";
    let folder = Folder::new().file("w.rml", text);
    let sweep = "train w.rml --windows 40 --report 10 --runs w --sweep k=1,2,3 --prune halving --metric train.loss:min";
    let run = folder.rml(sweep);
    assert!(run.err.contains("`train.loss` is the same for all 3 combinations"), "{}", run.err);
}

#[test]
fn pruned_runs_end_early_whatever_runs_beside_them() {
    let folder = folder();
    let out = folder.rml(&format!("{PRUNED} --runs a"));
    assert!(out.err.contains("after 1 epoch, 2 of 6 combinations continue"), "{}", out.err);
    assert!(out.err.contains("after 3 epochs, 1 of 2 combinations continue"), "{}", out.err);
    let out = out.ok();
    let first = without_time(&folder, "a");
    let count = |state: &str| first.iter().filter(|row| row.contains(&state.to_owned())).count();
    assert_eq!((count("finished"), count("pruned"), first.len()), (2, 10, 13));
    let loss = |row: &[String]| {
        row[first[0].iter().position(|head| head == "validation.loss").expect("a column")].parse::<f64>()
    };
    assert!(first[1..].iter().all(|row| loss(row).is_ok()));
    assert_eq!(folder.rml(&format!("{PRUNED} --runs b --jobs 1 --threads 2")).ok(), out);
    assert_eq!(without_time(&folder, "b"), first);
    // Two processes share the runs.
    let mut other = folder.command(&format!("{PRUNED} --runs c --jobs 1"));
    let mut other = other
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("rml starts");
    assert_eq!(folder.rml(&format!("{PRUNED} --runs c --jobs 1")).ok(), out);
    assert!(other.wait().expect("rml ends").success());
    assert_eq!(without_time(&folder, "c"), first);
    // What is done is not done again, and more samples give what they would have given at once.
    let log = folder.read("a/runs.csv");
    assert_eq!(folder.rml(&format!("{PRUNED} --runs a")).ok(), out);
    assert_eq!(folder.read("a/runs.csv"), log);
    let more = PRUNED.replace("--samples 6", "--samples 9");
    let continued = folder.rml(&format!("{more} --runs a")).ok();
    assert_eq!(folder.rml(&format!("{more} --runs d")).ok(), continued);
    assert_eq!(without_time(&folder, "a"), without_time(&folder, "d"));
}

#[test]
fn pruning_needs_a_metric_and_a_length() {
    let folder = folder();
    let without = PRUNED.replace("--validate 0.2 ", "");
    folder.rml(&format!("{without} --runs a")).fails(1, &["bad-option", "--validate 0.15"]);
    folder.rml(&format!("{without} --metric test.loss:min --runs a")).ok();
    let free = "train w.rml --report 2 --runs w --sweep goal=1,9 --prune median --metric train.loss:min";
    folder.rml(&format!("{free} --cycles 8")).fails(1, &["--windows N"]);
    let run = folder.rml(&format!("{free} --windows 16"));
    assert!(run.err.contains("after 1 report, 1 of 2 combinations continue"), "{}", run.err);
    run.ok();
    folder.rml(&format!("{PRUNED} --runs b --prune-from 0")).fails(2, &["at least 1"]);
    folder.rml(&PRUNED.replace("halving", "worst")).fails(2, &["halving:N"]);
    let ranges = "train l.rml --data d.json --epochs 1 --runs r --sweep";
    folder.rml(&format!("{ranges} rate=0.1..0.2")).fails(1, &["--samples 20"]);
    folder
        .rml(&format!("{ranges} units=1..3 --sweep rate=0.1,0.2 --samples 7"))
        .fails(1, &["at most 6 samples"]);
    folder.rml(&format!("{ranges} rate=0.2..0.1 --samples 2")).fails(2, &["a greater one"]);
    folder.rml(&format!("{ranges} rate=0..1:log --samples 2")).fails(2, &["above 0"]);
}
