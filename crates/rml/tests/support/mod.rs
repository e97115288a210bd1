//! A small classifier with its data, and ways to run it.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rml::{Column, Columns, Elements, Observer, Progress, Shape, Source, TrainOptions, TrainReport};

/// Reads windows of three rows of two numbers, and classifies them into three classes.
pub const CLASSIFIER: &str = "
import std.layers;
import std.losses;

node classify(x: num [batch, 2], end: bool []) -> (logits: num [batch, 3] when end)
  h = lstm(4, x) every end;
  logits = dense(3, h when end);

node train(x: num [batch, 2], end: bool [], y: int [batch] when end) -> (loss: num [] when end, accuracy: num [] when end)
  logits, _ = diff_classify(x, end, true, dlogits);
  loss, dlogits = diff_cross_entropy(logits, y, true, -0.5);
  accuracy = accuracy(logits, y);

node infer(x: num [batch, 2], end: bool [], y: int [batch] when end)
    -> (logits: num [batch, 3] when end, loss: num [] when end, accuracy: num [] when end)
  logits = classify(x, end);
  loss = cross_entropy(logits, y);
  accuracy = accuracy(logits, y);
";

/// An optimiser with a state.
pub const MOMENTUM: &str = "
import std.optimisers;
node diff_param(init, bp, do) -> (o)
  o = momentum(0.9, init, bp, do);
";

pub fn source(text: &str) -> Source {
    Source::text("test.rml", text)
}

pub fn column(shape: &[usize], elements: Elements) -> Column {
    Column { shape: Shape::new(shape), elements, present: None }
}

/// Windows whose class is the position of the largest of three sums.
pub fn data(windows: usize) -> Columns {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 22) as f32 - 2.0
    };
    let x: Vec<f32> = (0..windows * 6).map(|_| next()).collect();
    let class = |w: &[f32]| {
        let sums = [w[0] + w[1], w[2] + w[3], w[4] + w[5]];
        (0..3).max_by(|a, b| sums[*a].total_cmp(&sums[*b])).unwrap() as i64
    };
    let y = x.chunks(6).map(class).collect();
    let mut columns = Columns::default();
    columns.columns.insert("x".into(), column(&[windows, 3, 2], Elements::F32(x)));
    columns.columns.insert("y".into(), column(&[windows], Elements::Int(y)));
    columns
}

/// An observer that interrupts after some batches, and keeps the warnings.
pub struct Interrupter {
    pub after: usize,
    pub flag: Arc<AtomicBool>,
    pub warnings: Vec<String>,
}

impl Interrupter {
    pub fn new(after: usize) -> Self {
        Self { after, flag: Arc::new(AtomicBool::new(false)), warnings: Vec::new() }
    }
}

impl Observer for Interrupter {
    fn batch(&mut self, _: &Progress<'_>) {
        self.after = self.after.saturating_sub(1);
        if self.after == 0 {
            self.flag.store(true, Ordering::SeqCst);
        }
    }

    fn warning(&mut self, d: &rml::Diagnostic, _: &rml::Sources) {
        self.warnings.push(d.code.name.to_owned());
    }
}

pub fn options(save: &Path, epochs: u64) -> TrainOptions {
    TrainOptions { epochs, batch: Some(4), save: Some(save.to_path_buf()), ..TrainOptions::default() }
}

pub fn train(text: &str, data: &Columns, options: &TrainOptions) -> TrainReport {
    rml::train(&source(text), data, options, &mut ()).unwrap_or_else(|e| panic!("{e}"))
}

/// The code of the error.
pub fn code<T>(result: Result<T, rml::Error>) -> &'static str {
    match result {
        Ok(_) => panic!("accepted"),
        Err(e) => e.code().unwrap().name,
    }
}
