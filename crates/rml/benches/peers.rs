//! Jobs that other libraries can do too. `cargo xtask peers` runs them next to the jobs of these libraries, and `cargo
//! xtask bench` next to those of another commit.
//!
//! `cargo bench -p rml --bench peers -- JOB..` prints JSON lines for each job: the median, the minimum and the 99th
//! percentile of the time of a step in milliseconds. The jobs are
//!
//! - `lstm:B,T,D,H`, a step of gradient descent for an LSTM of H units that classifies B sequences of T vectors of D
//!   numbers; and in the same way `gru`; `peephole`, a user-defined cell; `ring`, attention over the last 16 values;
//!   `hmm`, a hidden Markov model of H states; and `bi_lstm`, which classifies each vector;
//! - `nested:B,S,T,H`, a step for an LSTM of H units on windows of B rows of S sequences of T vectors, one sequence
//!   after the other, and a loss for each sequence;
//! - `conv:B`, a step for two convolutions, of 16 and 32 filters, on B images of 28 x 28;
//! - `scalars:N,T`, a gradient through a recurrence of N numbers over T cycles;
//! - `cartpole:16`, a hundred updates of an actor-critic with 16 carts;
//! - `breadth:FAMILY,SIZE`, a step of gradient descent for a family of models in `benches/breadth`;
//! - `stream:D,H`, a step of an LSTM of H units and a dense layer of 4 on D numbers, by a `Stepper`;
//! - `replay:N,D,K`, a cycle of a memory of the last N rows of D numbers: one row is added and K rows are drawn;
//! - `digits:SEED`, one training until 0.95 of the test images are classified correctly;
//! - `product:M,K,N`, `tanh:N`, `compile:N`: a single kernel, or the compiler on a program of N states;
//! - `long:STEPS,WINDOWS`, STEPS steps of a small stream, and the training of a small recurrence on WINDOWS windows, by
//!   slices and from data; the job prints the memory of the process before and after, and fails if it grows.
//!
//! `--engine sim` trains with the simulator; `--engine native`, `xla` and `torch` train with this backend.
//! `--threads N` sets the number of threads; the default is one. `--memory BYTES` limits the memory of values, as for
//! the commands; data and parameters are included. `--folder DIR` writes data and initial parameters to a folder, for
//! the other libraries. `--turns` measures one turn for each line of standard input.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

#[path = "peers/breadth.rs"]
mod breadth;
#[path = "peers/family.rs"]
mod family;
#[path = "peers/kernels.rs"]
mod kernels;
#[path = "peers/long.rs"]
mod long;
#[path = "peers/replay.rs"]
mod replay;
#[path = "peers/share.rs"]
mod share;
#[path = "peers/stream.rs"]
mod stream;
#[path = "peers/training.rs"]
mod training;
#[path = "peers/turns.rs"]
mod turns;

use rml::{Engine, backend};

use share::Share;
use turns::Turns;

/// The settings of the jobs.
struct Setting {
    engine: String,
    threads: usize,
    folder: Option<String>,
    turns: bool,
}

impl Setting {
    fn engine(&self) -> Engine {
        match self.engine.as_str() {
            "sim" => Engine::simulator(),
            name => {
                let options = backend::Options { threads: Some(self.threads), ..backend::Options::default() };
                done(backend::engine(backend::Runner::Plan, name, &options))
            }
        }
    }
}

fn main() {
    let mut setting = Setting { engine: "cpu".to_owned(), threads: 1, folder: None, turns: false };
    let mut jobs = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_else(|| fail(&format!("{arg} needs a value")));
        match arg.as_str() {
            "--engine" => setting.engine = value(),
            "--memory" => rml::memory::set_limit(done(value().parse())),
            "--threads" => setting.threads = done(value().parse()),
            "--folder" => setting.folder = Some(value()),
            "--turns" => setting.turns = true,
            // arguments that cargo passes to benchmarks
            "--bench" | "--test" => {}
            _ => jobs.push(arg),
        }
    }
    for job in jobs {
        run(&job, &setting);
    }
}

fn run(job: &str, setting: &Setting) {
    let Some((name, sizes)) = job.split_once(':') else { usage(job) };
    let share = setting.folder.as_ref().map(|folder| Share::new(folder, job));
    let (turns, share) = (Turns::new(job, setting.turns), share.as_ref());
    if let ("breadth", Some((family, size))) = (name, sizes.split_once(',')) {
        return breadth::breadth(family, size, turns, setting, share);
    }
    let sizes: Vec<usize> = sizes.split(',').filter_map(|s| s.parse().ok()).collect();
    match (name, &sizes[..]) {
        ("nested", [b, s, t, h]) => training::nested([*b, *s, *t, *h], turns, setting),
        ("conv", [b]) => training::conv(*b, turns, setting),
        ("scalars", [n, t]) => training::scalars(*n, *t, turns, setting, share),
        ("cartpole", [16]) => training::cartpole(turns, setting),
        ("digits", [seed]) => training::digits(*seed, setting),
        ("stream", [d, h]) => done(stream::stream(*d, *h, turns, share)),
        ("replay", [n, d, k]) => done(replay::replay([*n, *d, *k], turns)),
        ("product", [m, k, n]) => kernels::product([*m, *k, *n], turns),
        ("tanh", [n]) => kernels::function(*n, turns),
        ("compile", [n]) => kernels::compile(*n, turns),
        ("long", [steps, windows]) => done(long::run(*steps, *windows)),
        (cell, [b, t, d, h]) if training::cell(cell, [*b, *t, *d, *h], turns, setting, share) => {}
        _ => usage(job),
    }
}

fn usage(job: &str) -> ! {
    eprintln!("`{job}` is no job; the jobs are described in crates/rml/benches/peers.rs");
    std::process::exit(2)
}

/// The value of a result; an error ends the benchmark.
fn done<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|why| fail(&why))
}

fn fail(why: &dyn std::fmt::Display) -> ! {
    eprintln!("{why}");
    std::process::exit(1)
}
