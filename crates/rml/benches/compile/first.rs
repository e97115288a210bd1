//! Measures the time from the text of a training program to the end of its first window.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rml::{Column, Columns, Elements, Observer, Progress, Shape, Source, TrainInfo, TrainOptions, train};

const TEXT: &str = "
import std.layers;
import std.losses;

node layers(x: num [batch, 8]) -> (h: num [batch, 16])
  h = lstm(16, lstm(16, x));

node classify(x: num [batch, 8], end: bool []) -> (logits: num [batch, 10] when end)
  h = layers(x) every end;
  logits = dense(10, h when end);

node train(x: num [batch, 8], end: bool [], y: int [batch] when end) -> (loss: num [] when end)
  logits, _ = diff_classify(x, end, true, dlogits);
  loss, dlogits = diff_cross_entropy(logits, y, true, -0.05);
";

/// The times at which training begins, and at which its first and second windows are done.
struct Times {
    begin: Instant,
    ready: Duration,
    windows: Vec<Duration>,
    stop: Arc<AtomicBool>,
}

impl Observer for Times {
    fn start(&mut self, _: &TrainInfo) {
        self.ready = self.begin.elapsed();
    }

    fn batch(&mut self, _: &Progress<'_>) {
        self.windows.push(self.begin.elapsed());
        if self.windows.len() == 2 {
            self.stop.store(true, Ordering::SeqCst);
        }
    }
}

/// Prints a line for each window length.
pub(crate) fn first(lengths: &[usize]) {
    println!(
        "\n{:<28} {:>12} {:>14} {:>14}",
        "LSTM of two layers, cycles", "ms to plan", "first window", "second window"
    );
    for &t in lengths {
        let elements = |n: usize| Elements::F32((0..n).map(|i| (i % 17) as f32 / 17.0).collect());
        let column = |shape: &[usize], elements| Column { shape: Shape::new(shape), elements, present: None };
        let mut data = Columns::default();
        data.columns.insert("x".into(), column(&[4, t, 8], elements(4 * t * 8)));
        data.columns.insert("y".into(), column(&[4], Elements::Int(vec![1, 2, 3, 4])));
        let stop = Arc::new(AtomicBool::new(false));
        let options =
            TrainOptions { batch: Some(1), interrupt: Some(Arc::clone(&stop)), ..TrainOptions::default() };
        let mut times = Times { begin: Instant::now(), ready: Duration::ZERO, windows: Vec::new(), stop };
        if let Err(why) = train(&Source::text("bench.rml", TEXT), &data, &options, &mut times) {
            eprintln!("{why}");
        }
        let [first, second] = times.windows[..] else { continue };
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "{t:<28} {:>12.1} {:>14.1} {:>14.1}",
            ms(times.ready),
            ms(first - times.ready),
            ms(second - first)
        );
    }
}
