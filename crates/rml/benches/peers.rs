//! Jobs that other libraries do, too; `cargo xtask peers` runs them side by side.
//!
//! `cargo bench -p rml --bench peers -- JOB..` prints one JSON line for each job: the median and the least time of a step in
//! milliseconds. Jobs are `train:B,T,D,H`, a step of gradient descent for an LSTM of H units that classifies B sequences of T vectors
//! of D numbers; `scalars:N,T`, a gradient through a recurrence of N numbers over T cycles; and `stream:D,H`, a step of an LSTM of H units
//! and a dense layer of 4 on D numbers, by a `Stepper`. `long:STEPS,WINDOWS` runs as many steps of a small stream, and trains a small
//! recurrence on as many windows, by slices and from data; it prints the memory of the process before and after, and fails if it grows.
//! `RML_ENGINE=sim` has the simulator train, `RML_ENGINE=xla` and `torch` that backend, on
//! one thread.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

#[path = "peers/long.rs"]
mod long;

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rml::backend;
use rml::{Column, Columns, Elements, Engine, Observer, Progress, Shape, Source, StaticValue, TrainOptions};

/// How long a job is measured, at least, and how many steps are left out before.
const TIME: Duration = Duration::from_millis(1500);
const WARM: usize = 5;

fn main() {
    let jobs = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    for job in jobs {
        let Some((name, sizes)) = job.split_once(':') else { usage(&job) };
        let sizes: Vec<usize> = sizes.split(',').filter_map(|s| s.parse().ok()).collect();
        if let ("long", [steps, windows]) = (name, &sizes[..]) {
            done(long::run(*steps, *windows));
            continue;
        }
        let mut times = match (name, &sizes[..]) {
            ("train", [b, t, d, h]) => train(*b, *t, *d, *h),
            ("scalars", [n, t]) => scalars(*n, *t),
            ("stream", [d, h]) => done(stream(*d, *h)),
            _ => usage(&job),
        };
        times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (median, least, steps) = (ms(times[times.len() / 2]), ms(times[0]), times.len());
        println!(
            "{{\"job\": {job:?}, \"median_ms\": {median:.6}, \"least_ms\": {least:.6}, \"steps\": {steps}}}"
        );
    }
}

fn usage(job: &str) -> ! {
    eprintln!("`{job}` is no job; expected train:B,T,D,H, scalars:N,T, stream:D,H or long:STEPS,WINDOWS");
    std::process::exit(2)
}

/// What a job gives; the benchmark ends where it fails.
fn done<T>(result: Result<T, rml::Error>) -> T {
    result.unwrap_or_else(|why| {
        eprintln!("{why}");
        std::process::exit(1)
    })
}

/// The time of each step, until there are enough.
struct Clock {
    last: Option<Instant>,
    until: Option<Instant>,
    seen: usize,
    times: Vec<Duration>,
    stop: Arc<AtomicBool>,
}

impl Observer for Clock {
    fn batch(&mut self, _: &Progress<'_>) {
        let now = Instant::now();
        self.seen += 1;
        if let (Some(last), true) = (self.last, self.seen > WARM) {
            self.times.push(now - last);
        }
        if now > *self.until.get_or_insert(now + TIME) && self.times.len() >= 10 {
            self.stop.store(true, Ordering::SeqCst);
        }
        self.last = Some(Instant::now());
    }

    // What an epoch's end takes is no part of a step.
    fn epoch(&mut self, _: &rml::EpochSummary) {
        self.last = None;
    }
}

fn steps(text: &str, data: &Columns, batch: Option<usize>, set: &[(&str, usize)]) -> Vec<Duration> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut clock = Clock { last: None, until: None, seen: 0, times: Vec::new(), stop: Arc::clone(&stop) };
    let engine = match std::env::var("RML_ENGINE").as_deref() {
        Ok("sim") => Engine::simulator(),
        Ok(name) => {
            let one = backend::Options { threads: Some(1), ..backend::Options::default() };
            Engine::plan_on(done(backend::open(name, &one)))
        }
        Err(_) => Engine::plan(),
    };
    let set = set.iter().map(|(name, n)| ((*name).to_owned(), StaticValue::Int(*n as i64))).collect();
    let options = TrainOptions {
        epochs: u64::MAX,
        batch,
        set,
        engine,
        interrupt: Some(stop),
        ..TrainOptions::default()
    };
    done(rml::train(&Source::text("bench.rml", text), data, &options, &mut clock));
    clock.times
}

/// Numbers between -1 and 1.
fn numbers(n: usize) -> Elements {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    Elements::F32((0..n).map(|_| next()).collect())
}

fn column(shape: &[usize], elements: Elements) -> Column {
    Column { shape: Shape::new(shape), elements, present: None }
}

fn train(b: usize, t: usize, d: usize, h: usize) -> Vec<Duration> {
    let windows = 16 * b;
    let labels = (0..windows).map(|i| (i % 10) as i64).collect();
    let mut data = Columns::default();
    data.columns.insert("x".into(), column(&[windows, t, d], numbers(windows * t * d)));
    data.columns.insert("y".into(), column(&[windows], Elements::Int(labels)));
    steps(include_str!("peers/train.rml"), &data, Some(b), &[("units", h), ("d", d)])
}

fn scalars(n: usize, t: usize) -> Vec<Duration> {
    let mut text = format!("node chain(u: num []) -> (s{}: num [])\n", n - 1);
    for i in 0..n {
        let previous = if i == 0 { "u".to_owned() } else { format!("p{}", i - 1) };
        let _ = write!(
            text,
            "  a{i} = param(0.5);\n  b{i} = param(0.5);\n  p{i} = 0.0 fby s{i};
  s{i} = tanh(a{i} * p{i} + b{i} * {previous}) + 0.1 * u;\n"
        );
    }
    text.push_str(
        "
node net(u: num [], end: bool []) -> (o: num [])
  o = chain(u) every end;

node train(u: num [], end: bool [], y: num []) -> (loss: num [])
  o, _ = diff_net(u, end, true, -0.00001 * error);
  error = o - y;
  loss = error * error;
",
    );
    let windows = 8;
    let mut data = Columns::default();
    for name in ["u", "y"] {
        data.columns.insert(name.into(), column(&[windows, t], numbers(windows * t)));
    }
    steps(&text, &data, None, &[])
}

/// The mean times of a thousand steps each: one alone is shorter than what the clock takes.
fn stream(d: usize, h: usize) -> Result<Vec<Duration>, rml::Error> {
    const STEPS: u32 = 1000;
    let text = format!("import std.layers; node main(x: num [{d}]) -> (y) y = dense(4, lstm({h}, x));");
    let program = rml::compile(&Source::text("bench.rml", text), &rml::Options::default())?;
    let mut stepper = rml::Stepper::stream(&program)?;
    let (x, y) = (stepper.input::<f32>("x")?, stepper.output::<f32>("y")?);
    let data = vec![0.5; d];
    let (mut times, until) = (Vec::new(), Instant::now() + TIME);
    while Instant::now() < until {
        let start = Instant::now();
        for _ in 0..STEPS {
            stepper.write(x, &data);
            stepper.step()?;
            std::hint::black_box(stepper.read(y));
        }
        times.push(start.elapsed() / STEPS);
    }
    Ok(times)
}
