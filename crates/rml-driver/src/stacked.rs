//! The outputs and states of a program whose shape depends on the number of stacked windows.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::Error;
use rml_ir::flat::{Flat, Var};
use rml_ir::{Shape, Type};

use crate::unit::Unit;

/// The outputs and states that depend on the number of stacked windows.
#[derive(Clone, Debug, Default)]
pub struct Stacked {
    /// Outputs with a row for each window: their first dimension is the number of windows.
    pub outputs: IndexSet<Arc<str>>,
    /// Keys of the states with a dimension that depends on the number of windows.
    pub states: IndexSet<Arc<str>>,
}

impl Stacked {
    /// Finds the outputs and states that depend on `batch` in a node with this dimension: `one` is the node with `size`
    /// as its value, `other` with twice the value.
    ///
    /// Shapes are numbers in every stage, so a single program cannot tell 32 windows from 32 units. The shapes for
    /// `size` windows are compared with those for twice as many, after inlining; nothing is prepared to run.
    ///
    /// # Errors
    /// A program that is too large when inlined, for either number of windows.
    pub fn new(size: usize, one: &Unit, other: &Unit) -> Result<Self, Error> {
        let (here, there) = (Shapes::of(&one.inlined()?), Shapes::of(&other.inlined()?));
        let rows = |shape: &Shape, n: usize| shape.dims().first() == Some(&n);
        let outputs = here.outputs.iter().filter(|(name, shape)| {
            let other = there.outputs.get(*name);
            rows(shape, size) && other.is_some_and(|shape| rows(shape, size.saturating_mul(2)))
        });
        let states = here.states.iter().filter(|(key, shape)| there.states.get(*key) != Some(shape));
        let names = |(name, _): (&Arc<str>, &Shape)| Arc::clone(name);
        Ok(Self { outputs: outputs.map(names).collect(), states: states.map(names).collect() })
    }
}

/// The shapes of a program's outputs by name, and of its states by key.
struct Shapes {
    outputs: IndexMap<Arc<str>, Shape>,
    states: IndexMap<Arc<str>, Shape>,
}

impl Shapes {
    fn of(flat: &Flat) -> Self {
        let ty = |v: Var| -> &Type { &flat.vars[v].ty };
        let outputs =
            flat.outputs.iter().filter_map(|&v| Some((flat.vars[v].name.clone()?, ty(v).shape.clone())));
        let states = flat
            .states
            .iter()
            .map(|(key, state)| (Arc::clone(key), ty(flat.equations[state.equation].lhs).shape.clone()));
        Self { outputs: outputs.collect(), states: states.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::source::Source;

    #[test]
    fn windows_and_units_of_one_number_are_told_apart() {
        // The number of windows has to be even: shapes for one window more would not fit.
        let text = "node f(x: num [batch, 4]) -> (y: num [batch, 4], w: num [4], pairs: num [batch / 2, 8])\n  \
                    y = x + (zeros(shape(x)) fby y); w = sum(x, 0) + (zeros([4]) fby w); pairs = reshape([batch / 2, 8], x);\n";
        let source = Source::text("f.rml", text);
        let unit = |batch| Unit::new(&source, &Options { batch: Some(batch), ..Options::default() }).unwrap();
        let found = Stacked::new(4, &unit(4), &unit(8)).unwrap();
        assert_eq!(found.outputs, IndexSet::from(["y".into()]));
        assert_eq!(found.states.len(), 1, "{:?}", found.states);
    }
}
