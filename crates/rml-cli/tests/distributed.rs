//! `rml train --distributed`: processes that train together.

mod support;

use std::fmt::Write as _;
use std::net::TcpListener;
use std::process::{Child, Stdio};

use support::{Folder, Run};

/// Draws, a state beyond windows, statistics of the batch, and Adam.
const NET: &str = "
import std.layers; import std.losses; import std.normalisation; import std.optimisers;

node diff_param(init, bp, do) -> (o)
  o = adam(0.01, 0.9, 0.999, 0.00000001, init, bp, do);

node net(x: num [batch, 3]) -> (o: num [batch, 1])
  o = dense(1, tanh(dense(7, batch_norm(0.9, x, true))));

node train(x: num [batch, 3], y: num [batch, 1]) -> (loss, seen)
  o, _ = diff_net(dropout(0.1, x, true), true, do);
  loss, do, _ = diff_mse(o, y, true, -1.0);
  seen = 0.0 fby 0.5 * seen + mean(x);

node infer(x: num [batch, 3], y: num [batch, 1]) -> (loss)
  loss = mse(net(x), y);
";

const TRAIN: &str = "train net.rml --data d.csv --columns x=a,b,c --columns y=d --batch 12 --test 10";

fn folder() -> Folder {
    let mut table = "a,b,c,d\n".to_owned();
    for i in 0..71 {
        let x = |k: usize| ((i * k) % 17) as f64 / 17.0;
        writeln!(table, "{},{},{},{}", x(3), x(5), x(7), x(3) - x(5)).expect("a text");
    }
    Folder::new().file("net.rml", NET).file("d.csv", table)
}

/// A port that was free a moment ago.
fn port() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is one");
    listener.local_addr().expect("it has one").port().to_string()
}

/// The environment of one of several processes.
fn variables<'v>(rank: &'v str, ranks: &'v str, port: &'v str) -> [(&'v str, &'v str); 5] {
    [
        ("RANK", rank),
        ("WORLD_SIZE", ranks),
        ("LOCAL_WORLD_SIZE", ranks),
        ("MASTER_ADDR", "127.0.0.1"),
        ("MASTER_PORT", port),
    ]
}

/// Runs a command in several processes; `each` changes what one of them runs.
fn together(folder: &Folder, ranks: usize, args: &str, each: impl Fn(usize) -> String) -> Vec<Run> {
    let (port, all) = (port(), ranks.to_string());
    std::thread::scope(|scope| {
        let start = |rank: usize| {
            let args = format!("{args} --distributed {}", each(rank));
            let (port, all) = (&port, &all);
            scope.spawn(move || folder.rml_where(&variables(&rank.to_string(), all, port), &args))
        };
        let all: Vec<_> = (0..ranks).map(start).collect();
        all.into_iter().map(|process| process.join().expect("it ends")).collect()
    })
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).expect("a file")
}

/// The number of processes changes no bit of a checkpoint, of the best one, or of what is printed. Only the first one
/// prints and writes.
#[test]
fn processes_train_as_one_does() {
    let folder = folder();
    let all = format!("{TRAIN} --shards 6 --epochs 3 --message-format json");
    let timeless = |text: &str| {
        let is_timed = |entry: &&str| !entry.contains("seconds") && !entry.contains("evaluating");
        text.split(',').filter(is_timed).collect::<Vec<_>>().join(",")
    };
    let alone = folder.rml(&format!("{all} --save one --best one.best --log one.log")).ok();
    for ranks in [2, 3, 4] {
        let files = format!("--save {ranks} --best {ranks}.best --log {ranks}.log");
        let mut found = together(&folder, ranks, &format!("{all} {files}"), |_| String::new());
        assert_eq!(timeless(&found.remove(0).ok()), timeless(&alone));
        for other in found {
            assert_eq!(other.err, "");
            assert_eq!(other.ok(), "");
        }
        assert!(bytes(&folder, &ranks.to_string()) == bytes(&folder, "one"), "{ranks} processes");
        assert!(bytes(&folder, &format!("{ranks}.best")) == bytes(&folder, "one.best"), "{ranks} processes");
        let log = |name: &str| folder.read(&format!("{name}.log/metrics.csv")).lines().count();
        assert_eq!(log(&ranks.to_string()), log("one"));
    }
}

/// Environments are shards, too: each process has some of them. The episodes of all are logged.
#[test]
fn processes_learn_from_environments() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/cartpole.rml");
    let text = std::fs::read_to_string(example).expect("an example");
    let folder = Folder::new().file("cart.rml", text);
    let all = "train cart.rml --windows 6 --report 3 --test 2 --save-every 2steps";
    let rest = "train cart.rml --windows 9";
    folder.rml(&format!("{all} --shards 3 --save one --episodes one.csv")).ok();
    folder.rml(&format!("{rest} --resume one --save one --episodes one.csv")).ok();
    let log = folder.read("one.csv");
    let rows: Vec<usize> =
        log.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    // Each of the three environments has 16 carts.
    assert!(rows.iter().any(|row| *row < 16) && rows.iter().any(|row| *row >= 32), "{log}");
    let other = |rank: usize| if rank == 1 { "--report 4" } else { "--report 3" }.to_owned();
    let found = together(&folder, 2, "train cart.rml --windows 6", other);
    found.into_iter().for_each(|run| drop(run.fails(1, &["error[ranks-differ]", "\"report\":4"])));
    for ranks in [2, 3] {
        let own = |rank: usize| {
            if rank == 0 {
                format!("--save {ranks} --episodes {ranks}.csv")
            } else {
                format!("--save none --episodes {ranks}.csv")
            }
        };
        let mut found = together(&folder, ranks, &format!("{all} --shards 3"), own);
        found.extend(together(&folder, ranks, &format!("{rest} --resume {ranks}"), own));
        found.into_iter().for_each(|run| drop(run.ok()));
        assert!(bytes(&folder, &ranks.to_string()) == bytes(&folder, "one"), "{ranks} processes");
        assert_eq!(folder.read(&format!("{ranks}.csv")), log, "{ranks} processes");
    }
}

/// Also in the middle of an epoch.
#[test]
fn a_run_continues_with_another_number_of_processes() {
    let folder = folder();
    folder.rml(&format!("{TRAIN} --shards 6 --epochs 4 --save one")).ok();
    together(&folder, 2, &format!("{TRAIN} --shards 6 --epochs 1 --save two"), |_| String::new());
    let rest = |epochs: usize| format!("{TRAIN} --epochs {epochs} --resume two --save two");
    together(&folder, 3, &rest(2), |_| String::new());
    folder.rml(&rest(3)).ok();
    together(&folder, 2, &rest(4), |_| String::new());
    assert!(bytes(&folder, "two") == bytes(&folder, "one"));
}

#[test]
fn processes_that_do_not_do_the_same_are_refused() {
    let folder = folder();
    let other = folder.read("d.csv").replacen("0,0,0,0", "0,0,0,1", 1);
    let folder = folder.file("other.csv", other).file("old.rml", NET.replace("tanh", "sigmoid"));
    let differs = |ranks, args: &str, each: &dyn Fn(usize) -> String, what: &str| {
        let found = together(&folder, ranks, args, each);
        assert!(found.iter().all(|run| run.code == Some(1)));
        let all: String = found.iter().map(|run| run.err.as_str()).collect();
        assert!(all.contains("error[ranks-differ]") && all.contains(what), "{all}");
    };
    let flag = |flag: &'static str| move |rank| if rank == 1 { flag.to_owned() } else { String::new() };
    differs(2, TRAIN, &flag("--seed 3"), "`seed` differs");
    differs(3, TRAIN, &flag("--epochs 3"), "`epochs` differs");
    differs(
        2,
        &TRAIN.replace("--data d.csv", ""),
        &|rank| format!("--data {}", ["d.csv", "other.csv"][rank]),
        "`data`",
    );
    differs(
        2,
        &TRAIN.replace("net.rml", ""),
        &|rank| ["net.rml", "old.rml"][rank].to_owned(),
        "`program` differs",
    );
}

#[test]
fn every_process_has_a_shard() {
    let folder = folder();
    for run in together(&folder, 3, &format!("{TRAIN} --shards 2"), |_| String::new()) {
        run.fails(1, &["bad-option", "3 processes train together, and a step has 2 shards", "--shards 3"]);
    }
}

/// An error of one process ends all, and they name it.
#[test]
fn processes_end_with_one_that_fails() {
    let folder = folder();
    let each = |rank| if rank == 1 { "--validate missing.csv" } else { "" }.to_owned();
    let found = together(&folder, 3, TRAIN, each);
    found.iter().for_each(|run| assert_eq!(run.code, Some(1)));
    assert!(
        found[1].err.starts_with("rank 1 on ") && found[1].err.contains("missing.csv"),
        "{}",
        found[1].err
    );
    for other in [&found[0], &found[2]] {
        assert!(other.err.contains("error[peer-lost]: rank 1 on "), "{}", other.err);
        assert!(other.err.contains("its error: ") && other.err.contains("missing.csv"), "{}", other.err);
    }
}

/// Processes that train until somebody ends them, and have saved at least once.
#[cfg(unix)]
fn endless(folder: &Folder, ranks: usize) -> Vec<Child> {
    let (port, all) = (port(), ranks.to_string());
    let start = |rank: usize| {
        let mut command =
            folder.command(&format!("{TRAIN} --shards 6 --epochs 100000000 --save l --distributed"));
        command.envs(variables(&rank.to_string(), &all, &port));
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let mut started: Vec<Child> = (0..ranks).map(start).collect();
    while !folder.path("l").exists() {
        let ended = started[0].try_wait().expect("it was started");
        assert!(ended.is_none(), "{:?}", ends(started.remove(0)));
        std::thread::yield_now();
    }
    started
}

#[cfg(unix)]
fn ends(process: Child) -> (Option<i32>, String) {
    let output = process.wait_with_output().expect("it ends");
    (output.status.code(), String::from_utf8(output.stderr).expect("a text"))
}

/// The number of epochs of a checkpoint.
#[cfg(unix)]
fn epochs(folder: &Folder) -> (u64, u64) {
    let text = String::from_utf8_lossy(&bytes(folder, "l")).into_owned();
    let number = |name: &str| {
        let (_, rest) = text.split_once(&format!("\\\"{name}\\\":")).expect("the position");
        rest.split([',', '}']).next().and_then(|n| n.parse().ok()).expect("a number")
    };
    (number("epoch"), number("done"))
}

/// What was learned until then is in the checkpoint, whole.
#[cfg(unix)]
#[test]
fn processes_end_with_one_that_is_killed() {
    let folder = folder();
    for victim in [0, 1] {
        let mut started = endless(&folder, 3);
        started[victim].kill().expect("it runs");
        let id = started[victim].id();
        for (rank, process) in started.into_iter().enumerate().filter(|(rank, _)| *rank != victim) {
            let (code, err) = ends(process);
            let lost = format!("rank {victim} on ");
            assert!(
                code == Some(1) && err.contains("error[peer-lost]") && err.contains(&lost),
                "{rank}: {err}"
            );
            assert!(err.contains(&format!("(process {id})")), "{rank}: {err}");
        }
        let (epoch, _) = epochs(&folder);
        folder.rml(&format!("{TRAIN} --shards 6 --epochs {epoch} --save same")).ok();
        assert!(bytes(&folder, "l") == bytes(&folder, "same"));
        std::fs::remove_file(folder.path("l")).expect("it exists");
    }
}

/// A signal to one of them ends all after the same step, and the first one saves.
#[cfg(unix)]
#[test]
fn a_signal_to_one_process_ends_all() {
    let folder = folder();
    let started = endless(&folder, 3);
    let kill = std::process::Command::new("kill").args(["-TERM", &started[2].id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    for process in started {
        let (code, err) = ends(process);
        assert_eq!(code, Some(143), "{err}");
    }
    let (epoch, done) = epochs(&folder);
    folder.rml(&format!("{TRAIN} --resume l --epochs {} --save l", epoch + 1)).ok();
    folder.rml(&format!("{TRAIN} --shards 6 --epochs {} --save same", epoch + 1)).ok();
    assert!(bytes(&folder, "l") == bytes(&folder, "same"), "after epoch {epoch} and {done} windows");
}

#[test]
fn without_a_launcher_nothing_is_distributed() {
    let folder = folder();
    folder
        .rml(&format!("{TRAIN} --distributed"))
        .fails(1, &["no-launcher", "`RANK` and `WORLD_SIZE`", "--shards N"]);
    let half = [("RANK", "1"), ("WORLD_SIZE", "2")];
    folder.rml_where(&half, &format!("{TRAIN} --distributed")).fails(1, &["no-launcher", "`MASTER_ADDR`"]);
    folder.rml_where(&half, TRAIN).fails(1, &["several-processes", "--distributed"]);
    let alone = variables("0", "1", "29500");
    folder.rml_where(&alone, &format!("{TRAIN} --distributed --epochs 1")).ok();
}
