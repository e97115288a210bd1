//! A cycle of a replay memory: one row of D numbers is added, and K of the last N rows are drawn, by a [`Stepper`].

use std::hint::black_box;
use std::time::Instant;

use rml::{Options, Source, Stepper};

use crate::training::numbers;
use crate::turns::Turns;

const TEXT: &str = "
import std.learning;
node main(x: num [1, D]) -> (y: num [K, D]) y = replayed(N, K, x);
";

/// The number of rows to add; the job uses them repeatedly.
const ROWS: usize = 4096;

pub(crate) fn replay([n, d, k]: [usize; 3], mut turns: Turns) -> Result<(), rml::Error> {
    let sizes = [("D", d), ("K", k), ("N", n)];
    let text = sizes.iter().fold(TEXT.to_owned(), |text, (name, n)| text.replace(name, &n.to_string()));
    let program = rml::compile(&Source::text("replay.rml", text), &Options::default())?;
    let mut stepper = Stepper::stream(&program)?;
    let (x, y) = (stepper.input::<f32>("x")?, stepper.output::<f32>("y")?);
    let data = numbers(ROWS * d);
    let mut rows = data.chunks(d).cycle();
    turns.all(None, || {
        let row = rows.next().unwrap_or_default();
        let start = Instant::now();
        stepper.write(x, row);
        stepper.step().unwrap_or_else(|why| crate::fail(&why));
        black_box(stepper.read(y));
        start.elapsed()
    });
    Ok(())
}
