//! Signals during a training: it saves and ends; at the second signal it ends at once.

#![cfg(unix)]

mod support;

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use serde_json::json;
use support::Folder;

const LINE: &str = "
node line(x) -> (o)
  k = param(0.0);
  o = k * x;

node train(x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, 0.02 * (y - o));
  loss = (o - y) * (o - y);
";

/// A training whose batches take too long to wait for.
const SLOW: &str = "
node line(x: num [900, 900]) -> (o)
  k = param(0.0);
  o = k * sum(x * x * x * x * x * x * x * x * x * x * x * x * x * x * x * x);

node train(x: num []) -> (loss)
  o, _ = diff_line(broadcast([900, 900], x), true, 0.0 * o);
  loss = o;
";

const ENDLESS: &str = "train line.rml --data d.json --epochs 100000000 --save l.safetensors";

fn folder() -> Folder {
    let xs: Vec<f64> = (0..60).map(|i| f64::from(i) / 60.0).collect();
    Folder::new().file("line.rml", LINE).file("d.json", json!({"x": xs, "y": xs}).to_string())
}

/// A training that has started.
struct Training {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Training {
    /// Starts a command that ignores these signals, and waits until it prints these words. Other signals have their
    /// default effect, whatever the tests inherited: `nohup` ignores SIGHUP, a script ignores SIGINT for commands in
    /// the background.
    fn start(folder: &Folder, ignored: &str, args: &str, until: &str) -> Self {
        let mut command = command(folder, ignored, args);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        wait_for(&mut lines, until);
        Self { child, lines }
    }

    fn send(&self, signal: &str) {
        let sent = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits for its end; returns its status and the rest of its output.
    fn end(mut self) -> (ExitStatus, String) {
        let rest: Vec<String> = self.lines.by_ref().map(|line| line.expect("text")).collect();
        (self.child.wait().expect("rml ends"), rest.join("\n"))
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        // Fails if the command has ended; otherwise a test has failed.
        let _ = self.child.kill();
    }
}

/// A command that ignores only these signals.
fn command(folder: &Folder, ignored: &str, args: &str) -> Command {
    let rml = folder.command(args);
    let trap = if ignored.is_empty() { String::new() } else { format!("trap '' {ignored}; ") };
    let script = format!("{trap}exec \"$@\"");
    let mut shell = vec!["sh", "-c", &script, "sh"];
    if can_env_reset() {
        shell.splice(0..0, ["env", "--default-signal=INT,TERM,HUP"]);
    }
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).arg(rml.get_program()).args(rml.get_args()).current_dir(folder.path("."));
    command
}

/// Whether `env` can reset signals, as GNU's can; a shell cannot. On other systems the tests have to be started without
/// ignored signals.
fn can_env_reset() -> bool {
    let tried = Command::new("env").args(["--default-signal=HUP", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

fn wait_for(lines: &mut Lines<BufReader<ChildStderr>>, words: &str) {
    let mut seen = String::new();
    for line in lines.take(1000) {
        let line = line.expect("text");
        if line.contains(words) {
            return;
        }
        seen += &line;
    }
    panic!("no `{words}` in {seen}");
}

#[test]
fn the_first_signal_saves_and_ends() {
    let folder = folder();
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let training = Training::start(&folder, "", ENDLESS, " 1/100000000");
        training.send(signal);
        let (status, rest) = training.end();
        assert_eq!(status.code(), Some(code), "{signal}: {rest}");
        assert!(
            rest.contains("saved to l.safetensors, `--resume l.safetensors` continues from there"),
            "{rest}"
        );
        // The saved training continues bit for bit, and no other file remains.
        let names = std::fs::read_dir(folder.path(".")).expect("a folder").count();
        assert_eq!(names, 3, "program, data and checkpoint");
        folder.rml("params list line.rml --node train --params l.safetensors").ok();
        std::fs::remove_file(folder.path("l.safetensors")).expect("it exists");
    }
}

#[test]
fn without_a_file_to_save_to_that_is_said() {
    let folder = folder();
    let args = "train line.rml --data d.json --epochs 100000000";
    let training = Training::start(&folder, "", args, " 1/100000000");
    training.send("TERM");
    let (status, rest) = training.end();
    assert_eq!(status.code(), Some(143));
    assert!(rest.contains("nothing was saved"), "{rest}");
}

#[test]
fn what_is_interrupted_has_its_page() {
    let folder = folder();
    let training = Training::start(&folder, "", &format!("{ENDLESS} --report r.html"), " 1/100000000");
    training.send("INT");
    let (status, rest) = training.end();
    assert_eq!(status.code(), Some(130), "{rest}");
    let page = folder.read("r.html");
    assert!(page.contains("It was interrupted after ") && page.contains("aria-label=\"line_0.k: "), "{page}");
}

/// After the first signal the training continues to the end of the batch, which takes long.
#[test]
fn the_second_signal_ends_at_once() {
    let data = json!({"x": vec![vec![1.0; 100_000]; 2]}).to_string();
    let folder = Folder::new().file("line.rml", SLOW).file("d.json", data);
    for _ in 0..20 {
        let args = format!("{ENDLESS} --test 0");
        let training = Training::start(&folder, "", &args, "to train on");
        training.send("TERM");
        training.send("INT");
        let (status, rest) = training.end();
        if rest.contains("saved") {
            // The first signal came before the batch began.
            continue;
        }
        // The system decides which of two pending signals is handled first.
        assert!([Some(130), Some(143)].contains(&status.code()), "{status}");
        return;
    }
    panic!("no signal came within a batch");
}

#[test]
fn what_is_ignored_stays_ignored() {
    let folder = folder();
    let mut training = Training::start(&folder, "HUP INT", ENDLESS, " 1/100000000");
    training.send("HUP");
    training.send("INT");
    wait_for(&mut training.lines, "epoch ");
    assert_eq!(training.child.try_wait().expect("it runs"), None);
    training.send("TERM");
    assert_eq!(training.end().0.code(), Some(143));
}

/// A training killed at any time leaves the old checkpoint or the new one; the next training removes its temporary
/// files.
#[test]
fn killed_trainings_leave_nothing_for_ever() {
    let folder = folder();
    let whole = "train line.rml --data d.json --epochs 1 --save l.safetensors";
    for _ in 0..5 {
        let training = Training::start(&folder, "", ENDLESS, " 3/100000000");
        training.send("KILL");
        assert_eq!(training.end().0.code(), None);
        folder.rml("params list line.rml --node train --params l.safetensors").ok();
    }
    folder.rml(whole).ok();
    let mut names: Vec<_> = std::fs::read_dir(folder.path("."))
        .expect("a folder")
        .map(|e| e.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["d.json", "l.safetensors", "line.rml"]);
}

/// A random walk whose episodes end at a certain distance.
const WALK: &str = "
node value(x: num [1]) -> (v: num [1])
  v = param(zeros([1])) * x + param(zeros([1]));

node rest(v: num [1]) -> (g: num [1])
  g = 0.25 + (zeros([1]) fby back g) + 0.0 * v;

node train() -> (gap: num [])
  at = 0.0 fby (if end then 0.0 else at + random_uniform([]));
  end = at > 30.0;
  v, _ = diff_value([at], true, 0.0001 * (g - v)) every end;
  g = rest(v) every end;
  gap = abs(g[0] - v[0]);
";

/// Without data a report may take long: a signal is handled within it, and the resumed run finishes it bit for bit.
#[test]
fn a_report_stops_within() {
    for engine in ["plan", "sim"] {
        let cycles = if engine == "plan" { 120_000 } else { 30_000 };
        let train = format!("train walk.rml --cycles {cycles} --report 100000 --engine {engine}");
        let folder = Folder::new().file("walk.rml", WALK);
        folder.rml(&format!("{train} --save whole.safetensors")).ok();
        let training =
            Training::start(&folder, "", &format!("{train} --save part.safetensors"), "to evaluate");
        training.send("INT");
        let (status, rest) = training.end();
        assert_eq!(status.code(), Some(130), "{rest}");
        assert!(!rest.contains("report 1"), "it stops within the first report: {rest}");
        folder.rml(&format!("{train} --resume part.safetensors --save part.safetensors")).ok();
        let bytes = |name: &str| std::fs::read(folder.path(name)).expect("a checkpoint");
        assert!(bytes("whole.safetensors") == bytes("part.safetensors"), "{engine}");
    }
}

/// Runs of several seeds all save, and the same command continues them bit for bit.
#[test]
fn several_runs_save_and_go_on() {
    let train = "train walk.rml --cycles 60000 --report 100000 --seeds 0..3 --jobs 2";
    let folder = Folder::new().file("walk.rml", WALK);
    folder.rml(&format!("{train} --runs whole")).ok();
    let train = format!("{train} --runs part");
    let training = Training::start(&folder, "", &train, "3 runs");
    training.send("INT");
    let (status, rest) = training.end();
    assert_eq!(status.code(), Some(130), "{rest}");
    assert!(rest.contains("the same command continues with the runs in part"), "{rest}");
    assert!(!folder.path("part/seed=2/outcome.json").exists(), "{rest}");
    folder.rml(&train).ok();
    for seed in 0..3 {
        let bytes =
            |runs: &str| std::fs::read(folder.path(&format!("{runs}/seed={seed}/checkpoint.safetensors")));
        assert!(bytes("whole").expect("a checkpoint") == bytes("part").expect("a checkpoint"), "{seed}");
    }
}

/// A stream that waits for input: each line is answered before the next one comes, and after a signal the stream saves
/// and ends.
#[test]
fn a_training_stream_that_waits_saves() {
    let folder = folder();
    let train = "train line.rml --stream --save";
    let line = |i: u32| json!({"x": f64::from(i), "y": 2.0 * f64::from(i)}).to_string() + "\n";
    folder.rml_with(&format!("{train} whole"), &(0..5).map(line).collect::<String>()).ok();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut command = command(&folder, "", &format!("{train} part"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        for i in 0..5 {
            stdin.write_all(line(i).as_bytes()).expect("it reads");
            let answer = answers.next().expect("an answer").expect("text");
            assert!(answer.starts_with(&format!("{{\"cycle\": {i},")), "{answer}");
        }
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        let end = child.wait_with_output().expect("it ends");
        let err = String::from_utf8(end.stderr).expect("UTF-8");
        assert_eq!(end.status.code(), Some(code), "{err}");
        assert!(err.contains("saved to part"), "{err}");
        let bytes = |name: &str| std::fs::read(folder.path(name)).expect("a checkpoint");
        assert!(bytes("whole") == bytes("part"), "{signal}");
        drop(stdin);
    }
}

/// An interrupted training, and a stream that waits for its next line, write their profile.
#[test]
fn what_is_interrupted_writes_its_profile() {
    let folder = folder();
    let written = |folder: &Folder| {
        let trace: serde_json::Value = serde_json::from_str(&folder.read("t.json")).expect("JSON");
        trace["traceEvents"].as_array().is_some_and(|events| events.len() > 3)
    };
    let training = Training::start(&folder, "", &format!("{ENDLESS} --profile=t.json"), " 1/100000000");
    training.send("INT");
    let (status, rest) = training.end();
    assert_eq!(status.code(), Some(130), "{rest}");
    assert!(rest.contains("(total)") && rest.contains("saved to l.safetensors"), "{rest}");
    assert!(written(&folder));

    let args = "infer line.rml --node line --stream --params l.safetensors --profile=t.json";
    let args = args.replace("--node line", "--node answer");
    let folder = folder.file("line.rml", format!("{LINE}node answer(x: num []) -> (o) o = line(x);\n"));
    let mut child = folder.command(&args);
    child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    for _ in 0..3 {
        stdin.write_all(b"{\"x\": 1.0}\n").expect("it reads");
    }
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert_eq!(answers.by_ref().take(3).count(), 3);
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    assert!(written(&folder));
}
