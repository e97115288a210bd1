//! A step of a stream: an LSTM and a dense layer of 4 on one vector, by a [`Stepper`].

use std::hint::black_box;
use std::time::Instant;

use rml::{Checkpoint, Columns, Data, Evaluate, Options, Source, Stepper, TrainOptions};

use crate::share::Share;
use crate::training::{column, numbers};
use crate::turns::Turns;

const TEXT: &str = "
import std.layers;
node net(x: num [D]) -> (y: num [4]) y = dense(4, lstm(H, x));
node train(x: num [D], end: bool [], y: num [4]) -> (loss: num [])
  o, _ = diff_net(x, true, y - o) every end;
  loss = sum((o - y) * (o - y));
node main(x: num [D]) -> (y: num [4]) y = net(x);
";

/// The number of vectors; the stream uses them repeatedly.
const VECTORS: usize = 4096;

pub(crate) fn stream(d: usize, h: usize, mut turns: Turns, share: Option<&Share>) -> Result<(), rml::Error> {
    let source = Source::text("stream.rml", TEXT.replace('D', &d.to_string()).replace('H', &h.to_string()));
    let program = rml::compile(&source, &Options::default())?;
    let mut stepper = Stepper::stream(&program)?;
    let (x, y) = (stepper.input::<f32>("x")?, stepper.output::<f32>("y")?);
    let data = numbers(VECTORS * d);
    if let Some(share) = share {
        save(&source, d, share)?;
        stepper.load(share.path("safetensors"))?;
        share.numbers("x", &data);
        let mut outputs = Vec::new();
        for vector in data.chunks(d) {
            stepper.write(x, vector);
            stepper.step()?;
            outputs.extend_from_slice(stepper.read(y).unwrap_or_default());
        }
        share.numbers("y", &outputs);
    }
    let mut vectors = data.chunks(d).cycle();
    turns.all(None, || {
        let vector = vectors.next().unwrap_or_default();
        let start = Instant::now();
        stepper.write(x, vector);
        stepper.step().unwrap_or_else(|why| crate::fail(&why));
        black_box(stepper.read(y));
        start.elapsed()
    });
    Ok(())
}

/// Writes the initial parameters as a checkpoint, and also as a plain sequence of numbers for a program that can read
/// only this form.
fn save(source: &Source, d: usize, share: &Share) -> Result<(), rml::Error> {
    let mut data = Columns::default();
    data.columns.insert("x".into(), column(&[1, 1, d], rml::Elements::F32(vec![0.0; d])));
    data.columns.insert("y".into(), column(&[1, 1, 4], rml::Elements::F32(vec![0.0; 4])));
    let path = share.path("safetensors");
    let options = TrainOptions {
        epochs: 0,
        evaluate: Evaluate::Nothing,
        save: Some(path.clone()),
        test: Some(rml::TestSplit::Count(0)),
        ..TrainOptions::default()
    };
    rml::train(source, &data, &options, &mut ())?;
    let checkpoint = Checkpoint::read(&path)?;
    let mut all = Vec::new();
    for name in
        ["lstm_cell_0.kernel", "lstm_cell_0.recurrent", "lstm_cell_0.bias", "dense_0.kernel", "dense_0.bias"]
    {
        let state = checkpoint.states.iter().find(|(key, _)| key.ends_with(name));
        let Some(Data::F32(numbers)) = state.map(|(_, value)| value.to_data()) else {
            crate::fail(&format!("the checkpoint has no {name}"))
        };
        all.extend_from_slice(&numbers);
    }
    share.numbers("net", &all);
    Ok(())
}
