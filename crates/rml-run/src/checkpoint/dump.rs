//! Stages of a program that begins with the states of a checkpoint, as text.

use rml_base::Error;
use rml_driver::{Options, Source, Stage};

use super::{Checkpoint, Policy};

impl Checkpoint {
    /// The text of a stage of the program that [`compile`](Self::compile) gives, whose states begin with the values of
    /// this checkpoint: all parameters, and other states that fit. The stages have them from [`Stage::Inline`] on.
    ///
    /// # Errors
    /// As [`dump`](rml_driver::dump); a checkpoint of another program.
    ///
    /// ```
    /// # fn main() -> Result<(), rml::Error> {
    /// # let text = "node f(x: num []) -> (o)  k = param(2.0);  o = k * x;";
    /// # let source = rml::Source::text("f.rml", text);
    /// # let options = rml::Options::default();
    /// use rml::{Checkpoint, Stage};
    ///
    /// let k = rml::tensor(&[], vec![3.5_f32])?;
    /// let checkpoint = Checkpoint::of_states([("k".into(), k)].into_iter().collect());
    /// assert!(checkpoint.dump(&source, &options, Stage::Draw)?.contains("num [] = 3.5"));
    /// # Ok(()) }
    /// ```
    pub fn dump(&self, source: &Source, options: &Options, stage: Stage) -> Result<String, Error> {
        let program = self.compile(source, options)?;
        let states = self.select(&program, Policy::Available).map_err(|d| program.error(d))?;
        let options = self.settings(options.clone());
        rml_driver::dump_with(source, &options, stage, &states.into_iter().collect())
    }
}
