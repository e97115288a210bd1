//! Compiles a program from a string, trains it window by window, saves the learned parameters, and runs it cycle by
//! cycle with them.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use rml::{Error, Options, Session, Source, compile};

/// The sum of the three numbers of a window.
const PROGRAM: &str = "
import std.layers;
import std.losses;

node predict(x: num [1], end: bool []) -> (o: num [1] when end)
  h = lstm(8, x) every end;
  o = dense(1, h when end);

node train(x: num [1], end: bool [], y: num [1] when end) -> (loss: num [] when end)
  o, _ = diff_predict(x, end, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.2);

node infer(x: num [1], end: bool []) -> (o: num [1] when end)
  o = predict(x, end);
";

fn session(node: &str) -> Result<Session, Error> {
    let options = Options { node: Some(node.into()), ..Options::default() };
    Ok(Session::new(&compile(&Source::text("sum.rml", PROGRAM), &options)?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("sum.safetensors");

    let mut train = session("train")?;
    for n in 1..=2000_u32 {
        let window = [1.1, 2.3, 3.7].map(|k: f32| (f64::from(n) * f64::from(k)).sin() as f32 * 0.5);
        for (t, x) in window.iter().enumerate() {
            let end = t == 2;
            let sum = end.then(|| [window.iter().sum::<f32>()]);
            let outputs = train.step([("x", [*x].into()), ("end", end.into()), ("y", sum.into())])?;
            if let (0, Some(loss)) = (n % 400, outputs[0].num("loss")) {
                println!("window {n}: loss {loss:.4}");
            }
        }
    }
    train.save(&file)?;

    let mut infer = session("infer")?;
    infer.load(&file)?;
    for (x, end) in [(0.2, false), (-0.1, false), (0.3, true)] {
        for outputs in infer.step([("x", [x].into()), ("end", end.into())])? {
            println!("cycle {}: {:?}", outputs.cycle, outputs.nums("o"));
        }
    }
    Ok(())
}
