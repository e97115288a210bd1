//! Programs in two parts against programs in one, and shards in other orders.

use std::path::Path;

use rml_collective::Threads;
use rml_data::{Column as Given, Columns, Elements, Windows};
use rml_driver::{Options, Source};
use rml_ir::{Data, Precision, Shape};
use rml_testkit::Lcg;

use super::*;
use crate::runner::{Family, Metrics, Runner};

mod environments;
#[path = "../../../../rml/tests/support/networks.rs"]
mod networks;

/// A training of some batches.
struct Training<'a> {
    source: Source,
    node: &'a str,
    data: Columns,
    batch: usize,
    engine: Engine,
}

#[track_caller]
fn ok<T>(result: Result<T, Error>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}

/// What came out: states by key, metrics, norms.
type Outcome = (IndexMap<Arc<str>, Value>, Metrics, IndexMap<String, f64>);

impl<'a> Training<'a> {
    fn new(source: Source, node: &'a str, data: Columns, batch: usize) -> Self {
        Self { source, node, data, batch, engine: Engine::auto() }
    }

    fn family(&self) -> Family {
        let options = Options {
            node: Some(self.node.to_owned()),
            trained: true,
            gradients: true,
            seed: 3,
            ..Options::default()
        };
        ok(Family::new(&self.source, options, self.engine.clone()))
    }

    /// Windows, and the batches of two epochs.
    fn batches(&self, program: &Program) -> (Windows, Vec<(Vec<usize>, bool)>) {
        let windows = Windows::bind(&self.data, program.inputs(), Precision::F32, false).expect("data fits");
        let order: Vec<usize> = (0..windows.count).collect();
        let batches: Vec<Vec<usize>> =
            windows.batches(&order, self.batch).iter().map(<[usize]>::to_vec).collect();
        let last = batches.len() - 1;
        let epoch = batches.into_iter().enumerate().map(|(i, batch)| (batch, i == last));
        let epoch: Vec<_> = epoch.collect();
        (windows, [epoch.clone(), epoch].concat())
    }

    /// The program in one piece.
    fn whole(&self) -> Outcome {
        let mut family = self.family();
        let program = ok(family.program(self.batch)).clone();
        let (windows, batches) = self.batches(&program);
        let mut averages = Averages::new(&program);
        let mut runner = ok(Runner::new(&mut family, self.batch, windows.same_length()));
        for (batch, is_last) in batches {
            let outputs = ok(runner.run(&windows, &batch, is_last));
            averages.add(&outputs, batch.len()).expect("on the host");
        }
        (ok(runner.session().states()), averages.metrics(), averages.gradients())
    }

    /// With shards, computed in an order that begins at `turn` and has this step.
    fn sharded(&self, shards: usize, (turn, step): (usize, usize)) -> Outcome {
        let (mut family, setup) = (self.family(), self.setup(shards));
        let program = ok(family.program(setup.shard())).clone();
        let (windows, batches) = self.batches(&program);
        let mut averages = Averages::new(&program);
        let mut run =
            ok(Shards::on_data(&mut family, &setup, windows.same_length(), &TrainOptions::default()));
        for (batch, is_last) in batches {
            let order = (0..shards).map(|i| (turn + i * step) % shards);
            ok(run.step_in(order, (&windows, &batch, is_last), &mut averages));
        }
        (ok(run.states()), averages.metrics(), averages.gradients())
    }

    /// With shards, divided among ranks that are threads. Returns what each rank found.
    fn distributed(&self, shards: usize, ranks: usize) -> Vec<Outcome> {
        let run = |group| {
            let (mut family, setup) = (self.family(), self.setup(shards));
            let program = ok(family.program(setup.shard())).clone();
            let (windows, batches) = self.batches(&program);
            let mut averages = Averages::new(&program);
            let options = TrainOptions { ranks: Some(Ranks::new(group)), ..TrainOptions::default() };
            let mut run = ok(Shards::on_data(&mut family, &setup, windows.same_length(), &options));
            for (batch, is_last) in batches {
                ok(run.step(&windows, &batch, is_last, &mut averages));
            }
            (ok(run.states()), averages.metrics(), averages.gradients())
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = Threads::group(ranks).into_iter().map(|g| scope.spawn(|| run(g))).collect();
            all.into_iter().map(|rank| rank.join().expect("no panic")).collect()
        })
    }

    fn setup(&self, shards: usize) -> Setup {
        let position = crate::checkpoint::tests::position();
        Setup { batch: self.batch, shards, node: self.node.to_owned(), ..position.setup }
    }
}

#[track_caller]
fn same_bits(what: &str, (a, b): (&Outcome, &Outcome)) {
    let only = |a: &Outcome, b: &Outcome| {
        a.0.keys().filter(|key| !b.0.contains_key(*key)).cloned().collect::<Vec<_>>()
    };
    assert_eq!((only(a, b), only(b, a)), (Vec::new(), Vec::new()), "{what}");
    for (key, value) in &a.0 {
        assert!(value.same_bits(&b.0[key]), "{what}: {key} is {value:?} and {:?}", b.0[key]);
    }
    assert_eq!(a.1, b.1, "{what}");
}

fn example(name: &str) -> Source {
    Source::file(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(format!("{name}.rml")))
}

/// The first windows of the data of an example.
fn first(file: &str, windows: usize) -> Columns {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data").join(file);
    let mut data = Columns::read(path).expect("the file exists");
    for column in data.columns.values_mut() {
        let [all, rest @ ..] = column.shape.dims() else { panic!("it has windows") };
        let (rows, one) = (windows.min(*all), rest.iter().product::<usize>());
        let dims: Vec<usize> = std::iter::once(rows).chain(rest.iter().copied()).collect();
        column.elements = match &column.elements {
            Elements::Bool(v) => Elements::Bool(v[..rows * one].to_vec()),
            Elements::Int(v) => Elements::Int(v[..rows * one].to_vec()),
            Elements::F32(v) => Elements::F32(v[..rows * one].to_vec()),
            Elements::F64(v) => Elements::F64(v[..rows * one].to_vec()),
        };
        column.shape = Shape::new(&dims);
    }
    data
}

/// SHARD-4: with one shard, gradients and updates apart are the program in one piece, bit by bit.
#[test]
fn both_parts_together_are_the_program() {
    for (name, file) in [
        ("digits", "digits.npz"),
        ("digits_gru", "digits.npz"),
        ("digits_attention", "digits.npz"),
        ("bidirectional", "same_ends.npz"),
        ("forecast", "forecast.npz"),
        ("batchnorm", "rings.npz"),
        ("experts", "pieces.npz"),
        ("nested", "sequences.npz"),
    ] {
        let interface = ok(rml_driver::interface(&example(name), "train")).expect("there is such a node");
        let batch = if interface.has_batch { 8 } else { 1 };
        let training = Training::new(example(name), "train", first(file, 5 * batch / 2 + 2), batch);
        let (whole, parts) = (training.whole(), training.sharded(1, (0, 1)));
        same_bits(name, (&whole, &parts));
        for (key, norm) in &whole.2 {
            let other = parts.2[key];
            assert!((norm - other).abs() <= 1e-6 * norm, "{name}: {key} has norm {norm} and {other}");
        }
    }
}

/// SHARD-3: the update of a parameter is present in all cycles of a window, and has a gradient in the last one.
#[test]
fn an_update_may_be_present_where_it_has_no_gradient() {
    let text = "import std.layers; import std.normalisation;
node net(x: num [2], end: bool []) -> (o: num [])  o = sum(dense(1, NORMALISED));
node train(x: num [2], y: num [], end: bool []) -> (loss: num [] when end)
  o, _ = diff_net(x, end, end, do when end);
  do = 0.1 * (y - o);  loss = ((y - o) * (y - o)) when end;";
    let source = Source::text("main.rml", text.replace("NORMALISED", "running_norm(0.9, x, end)"));
    let training = Training::new(source, "train", random(&mut Lcg(2), &[("x", &[2]), ("y", &[])], (5, 4)), 1);
    same_bits("one shard", (&training.whole(), &training.sharded(1, (0, 1))));
}

/// Random recurrent networks with several optimisers.
#[test]
fn both_parts_of_random_networks_together_are_the_network() {
    for seed in 0..12 {
        let mut r = Lcg(seed);
        let text = networks::network(&mut r);
        let source = Source::text("main.rml", &*text);
        let training = Training::new(source, "train", random(&mut r, &[("x", &[2]), ("y", &[])], (6, 4)), 1);
        let whole = training.whole();
        same_bits(&text, (&whole, &training.sharded(1, (0, 1))));
    }
}

/// Columns of random numbers: windows of that many cycles.
fn random(r: &mut Lcg, columns: &[(&str, &[usize])], (windows, cycles): (usize, usize)) -> Columns {
    let mut data = Columns::default();
    for (name, shape) in columns {
        let dims = [&[windows, cycles], *shape].concat();
        let n = dims.iter().product();
        let elements = Elements::F32((0..n).map(|_| r.range(-1.0, 1.0) as f32).collect());
        data.columns.insert((*name).into(), Given { shape: Shape::new(&dims), elements, present: None });
    }
    data
}

const ADAM: &str = "import std.layers; import std.losses; import std.normalisation; import std.optimisers;
node diff_param(init, bp, do) -> (o)  o = adam(0.01, 0.9, 0.999, 0.00000001, init, bp, clip_global(0.5, bp, do));
";

/// What differs from shard to shard: draws, a state beyond windows, statistics of the batch; and a last batch that
/// leaves shards without windows.
const RICH: &str = "
node net(x: num [batch, 3], end: bool []) -> (o: num [batch, 2] when end)
  h = gru(4, batch_norm(0.9, x, end));
  o = dense(2, dropout(0.3, h when end, true));

node train(x: num [batch, 3], y: num [batch, 2] when end, end: bool []) -> (loss: num [] when end, seen: num [])
  o, _ = diff_net(x, end, true, do) every end;
  loss, do, _ = diff_mse(o, y, true, -1.0);
  seen = 0.0 fby 0.5 * seen + mean(x);
";

fn rich(windows: usize, batch: usize) -> Training<'static> {
    let mut r = Lcg(5);
    let mut data = random(&mut r, &[("x", &[3])], (windows, 3));
    let y = Elements::F32((0..2 * windows).map(|_| r.range(-1.0, 1.0) as f32).collect());
    data.columns.insert("y".into(), Given { shape: Shape::new(&[windows, 2]), elements: y, present: None });
    Training::new(Source::text("main.rml", format!("{ADAM}{RICH}")), "train", data, batch)
}

/// SHARD-2, SHARD-4.
#[test]
fn the_order_in_which_shards_are_computed_does_not_matter() {
    for (shards, orders) in
        [(2, vec![(1, 1)]), (3, vec![(2, 2)]), (8, vec![(7, 7), (3, 5)]), (12, vec![(4, 7)])]
    {
        let training = rich(29, 12);
        let first = training.sharded(shards, (0, 1));
        assert!(first.0.contains_key(&*shard_key(shards - 1, "seen")), "{:?}", first.0.keys());
        for order in orders {
            same_bits(&format!("{shards} in order {order:?}"), (&first, &training.sharded(shards, order)));
        }
    }
}

/// SHARD-4, also with more shards than windows, and with ranks that have different numbers of shards.
#[test]
fn the_number_of_ranks_does_not_matter() {
    let training = rich(29, 12);
    for shards in [8, 12] {
        let alone = training.sharded(shards, (0, 1));
        for ranks in [1, 2, 3, 4, 8] {
            for (rank, found) in training.distributed(shards, ranks).iter().enumerate() {
                same_bits(&format!("{shards} shards, rank {rank} of {ranks}"), (&alone, found));
            }
        }
    }
}

/// PARAM-10: the norm of all gradients, also of parameters that are first used in different cycles of a window.
#[test]
fn a_sum_over_a_group_is_one_over_all_shards() {
    let training = rich(17, 12);
    near("one shard", (&training.whole(), &training.sharded(1, (0, 1))), 1e-5);
}

/// Two engines that share no code for sums and schedules.
#[test]
fn the_simulator_has_the_same_steps() {
    for shards in [1, 2, 3, 4, 8, 12] {
        let mut training = rich(17, 12);
        let plan = training.sharded(shards, (0, 1));
        training.engine = Engine::simulator();
        near(&format!("{shards} shards"), (&plan, &training.sharded(shards, (0, 1))), 1e-5);
    }
}

#[track_caller]
fn near(what: &str, (a, b): (&Outcome, &Outcome), most: f64) {
    let numbers = |value: &Value| match value.to_data() {
        Data::F32(v) => v.into_iter().map(f64::from).collect::<Vec<_>>(),
        Data::F64(v) => v,
        Data::Int(v) => v.into_iter().map(|x| x as f64).collect(),
        Data::Bool(_) => Vec::new(),
    };
    for (key, value) in &a.0 {
        let Some(other) = b.0.get(key) else { continue };
        for (x, y) in numbers(value).into_iter().zip(numbers(other)) {
            assert!((x - y).abs() <= most * (1.0 + x.abs()), "{what}: {key} has {x} and {y}");
        }
    }
    for (name, x) in &a.1 {
        assert!((x - b.1[name]).abs() <= most * (1.0 + x.abs()), "{what}: {name} is {x} and {}", b.1[name]);
    }
}

/// A mean over the batch, so that shards are the batch, but for rounding. The last batch is short.
#[test]
fn shards_are_the_batch_in_parts() {
    let training = Training::new(example("digits"), "train", first("digits.npz", 60), 24);
    let whole = training.whole();
    for shards in [1, 2, 3, 4, 8, 12] {
        let parts = training.sharded(shards, (0, 1));
        near(&format!("{shards} shards"), (&whole, &parts), 2e-6);
        assert!(whole.0.keys().eq(parts.0.keys()), "{:?}", parts.0.keys());
    }
}

/// PARAM-5: windows in a window are its shards, one after the other.
#[test]
fn shards_are_windows_in_a_window() {
    let text =
        "node read(x: num [2], seq_end: bool []) -> (o: num [1])  o = dense(1, gru(3, x) every seq_end);
node train(rate, x: num [2], y: num [], seq_end: bool [], end: bool []) -> (loss: num [] when seq_end)
  o, _ = diff_read(x, seq_end, seq_end, [rate * d] when seq_end) every end;
  d = y - o[0];
  loss = (d * d) when seq_end;";
    let mut r = Lcg(8);
    let data = random(&mut r, &[("x", &[2]), ("y", &[])], (16, 3));
    let ends = |dims: &[usize]| {
        let marks = (0..48).map(|t| t % 3 == 2).collect();
        Given { shape: Shape::new(dims), elements: Elements::Bool(marks), present: None }
    };
    let (mut single, mut together) = (data.clone(), data);
    single.columns.insert("seq_end".into(), ends(&[16, 3]));
    for column in together.columns.values_mut() {
        let dims = [&[4, 12], &column.shape.dims()[2..]].concat();
        column.shape = Shape::new(&dims);
    }
    together.columns.insert("seq_end".into(), ends(&[4, 12]));
    let with = |rate: &str| {
        Source::text("main.rml", format!("{ADAM}{}", text.replace("(rate, ", "(").replace("rate *", rate)))
    };
    let shards = Training::new(with("0.5 *"), "train", single, 4).sharded(4, (0, 1));
    let nested = Training::new(with("0.125 *"), "train", together, 1).whole();
    near("four windows", (&nested, &shards), 1e-5);
}

fn refused(text: &str, data: Columns) -> String {
    let training = Training::new(Source::text("main.rml", text), "train", data, 2);
    let (mut family, setup) = (training.family(), training.setup(2));
    let program = ok(family.program(1)).clone();
    let (windows, batches) = training.batches(&program);
    let mut averages = Averages::new(&program);
    let cycles = windows.same_length();
    let outcome = Shards::on_data(&mut family, &setup, cycles, &TrainOptions::default())
        .and_then(|mut run| run.step(&windows, &batches[0].0, false, &mut averages));
    let error = outcome.expect_err("it has no shards");
    assert_eq!(error.code(), Some(codes::CANNOT_SHARD), "{error}");
    error.to_string()
}

/// SHARD-3.
#[test]
fn what_cannot_be_sharded_is_refused() {
    let line = "node line(x) -> (o)  k = param(0.5);  o = k * x;\n";
    let data = || random(&mut Lcg(1), &[("x", &[]), ("y", &[])], (4, 3));
    for (program, why) in [
        ("node train(x: num [], y: num []) -> (o)  o, _ = diff_line(x, true, y);", "is updated 3 times"),
        (
            "node train(x: num [], y: num []) -> (o)  o, _ = diff_line(x, first, y when first);
  first = mod(n, 3) == 0;  n = 0 fby n + 1;",
            "is read after its update",
        ),
        (
            "node diff_param(init, bp, do) -> (o)  o = init fby o1;  o1 = 0.9 * o + merge bp do 0.0;
node train(x: num [], y: num [], end: bool []) -> (o)  o, _ = diff_line(x, end, y when end);",
            "changes in cycles without a gradient",
        ),
    ] {
        let found = refused(&format!("{line}{program}"), data());
        assert!(found.contains(why), "{found}");
    }
}
