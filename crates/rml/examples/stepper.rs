//! Runs a network in a loop that must not allocate: an audio callback, a controller, firmware.
//!
//! The program finds its ports once. Each step then writes samples, runs one cycle, and reads the result.
#![allow(clippy::print_stdout, reason = "the example shows its result")]

use rml::{Error, Options, Source, Stepper};

/// A recurrent filter of four samples with one output.
const FILTER: &str = "
import std.layers;
node main(x: num [4]) -> (gain: num [1])
  gain = dense(1, lstm(8, x));
";

fn main() -> Result<(), Error> {
    let program = rml::compile(&Source::text("filter.rml", FILTER), &Options::default())?;
    let mut filter = Stepper::stream(&program)?;
    let (x, gain) = (filter.input::<f32>("x")?, filter.output::<f32>("gain")?);
    // A program would read trained parameters here: `filter.load("filter.safetensors")?`.

    let mut samples = [0.0_f32; 4];
    for block in 0..8_u8 {
        // The samples that a driver would deliver.
        for (i, sample) in (0_u8..).zip(&mut samples) {
            *sample = f32::from(4 * block + i).sin();
        }
        filter.write(x, &samples);
        filter.step()?;
        if let Some(gain) = filter.read(gain) {
            println!("block {block}: gain {:.4}", gain[0]);
        }
    }
    Ok(())
}
