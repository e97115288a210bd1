//! Random streams are the same for the same seed, path and tick, for any windows, and on the backward path as on the
//! forward path (DRAW-2 to DRAW-4).

use rml::{End, Feed, Options, Outputs, Program, Session, Source};

const DROPOUT: &str = "
import std.layers;

node net(x: num [32], on: bool []) -> (y)
  y = dropout(0.5, x, on);

node main(x: num [32], end: bool [], on: bool []) -> (y, dx)
  y, dx = diff_net(x, on, true, ones([32])) every end;
";

fn compile(text: &str, seed: u64) -> Program {
    rml::compile(&Source::text("random", text), &Options { seed, ..Options::default() })
        .unwrap_or_else(|e| panic!("{e}"))
}

fn feed(session: &mut Session, cycles: std::ops::Range<usize>, window: usize, on: bool) -> Vec<Outputs> {
    let mut rows = Vec::new();
    for n in cycles {
        let x: Feed = [1.0_f32; 32].into();
        rows.extend(
            session.step([("x", x), ("end", (n % window == window - 1).into()), ("on", on.into())]).unwrap(),
        );
    }
    rows
}

fn column(rows: &[Outputs], name: &str) -> Vec<Vec<f64>> {
    rows.iter().map(|row| row.nums(name).unwrap()).collect()
}

fn masks(seed: u64, window: usize) -> Vec<Vec<f64>> {
    let mut session = Session::new(&compile(DROPOUT, seed));
    let mut rows = feed(&mut session, 0..12, window, true);
    rows.extend(session.finish(End::Closed).unwrap());
    column(&rows, "y")
}

#[test]
fn every_cycle_has_a_draw_of_its_own_whatever_the_windows() {
    let by_three = masks(1, 3);
    assert_eq!(by_three.len(), 12);
    for (i, mask) in by_three.iter().enumerate() {
        assert!(mask.iter().all(|&y| y == 0.0 || y == 2.0), "{mask:?}");
        assert!(by_three[..i].iter().all(|other| other != mask), "cycle {i} repeats a mask: {by_three:?}");
    }
    assert_eq!(masks(1, 4), by_three, "the windows decide nothing");
    assert_eq!(masks(1, 3), by_three, "a run is reproducible");
    assert_ne!(masks(2, 3), by_three, "the seed decides");
}

#[test]
fn the_backward_path_meets_the_same_elements() {
    let mut session = Session::new(&compile(DROPOUT, 5));
    let mut rows = feed(&mut session, 0..6, 3, true);
    rows.extend(session.finish(End::Closed).unwrap());
    assert_eq!(column(&rows, "y"), column(&rows, "dx"));
}

#[test]
fn dropout_keeps_the_mean() {
    let text = "import std.layers;\nnode main(x: num [4096]) -> (o) o = dropout(0.2, x, true);\n";
    let mut session = Session::new(&compile(text, 1));
    let ones = rml::Value::new(rml::Shape::new(&[4096]), rml::Data::F32(vec![1.0; 4096]));
    let row = session.step([("x", Feed::Value(ones))]).unwrap()[0].nums("o").unwrap();
    let dropped = row.iter().filter(|y| **y == 0.0).count() as f64 / 4096.0;
    // The tolerance is four standard deviations of a share of 4096 draws.
    assert!((dropped - 0.2).abs() < 4.0 * (0.2_f64 * 0.8 / 4096.0).sqrt(), "{dropped}");
    assert!(row.iter().all(|y| *y == 0.0 || (*y - 1.25).abs() < 1e-6));
    let mean = row.iter().sum::<f64>() / 4096.0;
    assert!((mean - 1.0).abs() < 0.04, "{mean}");
}

#[test]
fn without_training_nothing_is_dropped() {
    let mut session = Session::new(&compile(DROPOUT, 5));
    let rows = feed(&mut session, 0..3, 3, false);
    assert_eq!(column(&rows, "y"), vec![vec![1.0; 32]; 3]);
}

#[test]
fn a_resumed_run_goes_on_with_the_draws_of_an_unbroken_one() {
    let program = compile(DROPOUT, 9);
    let mut whole = Session::new(&program);
    let unbroken = column(&feed(&mut whole, 0..12, 3, true), "y");
    let mut first = Session::new(&program);
    feed(&mut first, 0..6, 3, true);
    let states = first.states().unwrap();
    assert!(states.keys().any(|key| key.ends_with(".tick")), "{states:?}");
    let mut second = Session::new(&program);
    for (key, value) in &states {
        second.set_state(key, value).unwrap();
    }
    assert_eq!(column(&feed(&mut second, 6..12, 3, true), "y"), unbroken[6..]);
}

#[test]
fn a_tick_is_a_cycle_of_the_streams_own_clock() {
    let text =
        "node main(c: bool [], x: num [4]) -> (o)\n  o = merge c ((x when c) * random_uniform([4])) 0.0;\n";
    let run = |pattern: &[bool]| -> Vec<Vec<f64>> {
        let mut session = Session::new(&compile(text, 3));
        let mut rows = Vec::new();
        for &c in pattern {
            let x: Feed = [1.0_f32; 4].into();
            rows.extend(session.step([("c", c.into()), ("x", x)]).unwrap());
        }
        rows.extend(session.finish(End::Closed).unwrap());
        column(&rows, "o").into_iter().filter(|o| o[0] != 0.0).collect()
    };
    let dense = run(&[true; 4]);
    assert_eq!(run(&[false, true, true, false, false, true, true]), dense);
    assert_eq!(dense.len(), 4);
}

#[test]
fn instances_draw_independently() {
    let text = "node noise(x: num [4]) -> (o)\n  o = x + random_normal([4]);\n\
                node main(x: num [4]) -> (a, b)\n  a = noise(x);\n  b = noise(x);\n";
    let mut session = Session::new(&compile(text, 3));
    let rows = session.step([("x", Feed::from([0.0_f32; 4]))]).unwrap();
    assert_ne!(rows[0].nums("a"), rows[0].nums("b"));
}
