//! Long runs, in which memory must not grow.

use rml::{
    Column, Columns, Elements, Engine, Evaluate, Options, Shape, Source, Stepper, TestSplit, TrainOptions,
};

const STREAM: &str = "node main(x: num []) -> (y) y = 0.9 * (0.0 fby y) + x;";

const TRAINING: &str = "
node model(x: num [], end: bool []) -> (o: num [] when end)
  s = (0.0 fby s) * param(0.5) + x * param(0.1);
  o = s when end;
node train(x: num [], end: bool [], y: num [] when end) -> (loss: num [] when end)
  o, _ = diff_model(x, end, true, 0.001 * (y - o)) every end;
  loss = (y - o) * (y - o);
";

const CYCLES: usize = 5;

/// The resident bytes of the process, if the system reports them.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// Calls `run` for a tenth of `times` first to allocate everything that is kept, and then for `times`. During the
/// second call, memory must not grow by more than `SLACK`.
fn constant(
    what: &str,
    times: usize,
    mut run: impl FnMut(usize) -> Result<(), rml::Error>,
) -> Result<(), rml::Error> {
    const SLACK: usize = 512 << 10;
    run(times / 10)?;
    let (before, begin) = (resident(), std::time::Instant::now());
    run(times)?;
    let (after, seconds) = (resident(), begin.elapsed().as_secs_f64());
    let kib = |bytes: Option<usize>| bytes.map_or("null".to_owned(), |n| (n / 1024).to_string());
    println!(
        "{{\"job\": {what:?}, \"times\": {times}, \"seconds\": {seconds:.1}, \"kib_before\": {}, \"kib_after\": {}}}",
        kib(before),
        kib(after)
    );
    if after.zip(before).is_some_and(|(after, before)| after > before + SLACK) {
        eprintln!("{what}: the memory grows");
        std::process::exit(1);
    }
    Ok(())
}

pub(crate) fn run(steps: usize, windows: usize) -> Result<(), rml::Error> {
    let program = rml::compile(&Source::text("stream", STREAM), &Options::default())?;
    let mut stepper = Stepper::stream(&program)?;
    let (x, y) = (stepper.input::<f32>("x")?, stepper.output::<f32>("y")?);
    constant("stream by slices", steps, |times| {
        for i in 0..times {
            stepper.write(x, &[(i % 7) as f32]);
            stepper.step()?;
        }
        assert!(stepper.read(y).is_some_and(|y| y[0].is_finite()));
        Ok(())
    })?;

    let source = Source::text("training", TRAINING);
    let options = Options { node: Some("train".to_owned()), ..Options::default() };
    let mut stepper = Stepper::windows(&rml::compile(&source, &options)?)?;
    let (x, y) = (stepper.input::<f32>("x")?, stepper.input::<f32>("y")?);
    constant("training by slices", windows, |times| {
        for i in 0..times {
            stepper.window(CYCLES)?;
            stepper.write(x, &[(i % 5) as f32; CYCLES]);
            stepper.write_at(y, CYCLES - 1, &[(i % 3) as f32]);
            stepper.step()?;
        }
        Ok(())
    })?;

    let data = data();
    constant("training from data", windows, |times| {
        let options = TrainOptions {
            epochs: (times / WINDOWS).max(1) as u64,
            evaluate: Evaluate::Nothing,
            test: Some(TestSplit::Count(0)),
            engine: Engine::plan(),
            ..TrainOptions::default()
        };
        rml::train(&source, &data, &options, &mut ()).map(|_| ())
    })
}

/// The number of windows of data, which are one epoch.
const WINDOWS: usize = 1000;

fn data() -> Columns {
    let column = |shape: &[usize], n: usize, of: fn(usize) -> f64| Column {
        shape: Shape::new(shape),
        elements: Elements::F64((0..n).map(of).collect()),
        present: None,
    };
    let mut data = Columns::default();
    let x = column(&[WINDOWS, CYCLES], WINDOWS * CYCLES, |i| (i % 5) as f64 / 5.0);
    data.columns.insert("x".to_owned(), x);
    data.columns.insert("y".to_owned(), column(&[WINDOWS], WINDOWS, |i| (i % 3) as f64 / 3.0));
    data
}
