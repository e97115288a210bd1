//! The outputs and states of a program whose shape depends on the number of stacked windows.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::Error;
use rml_ir::flat::{Flat, Var};
use rml_ir::{Shape, Type};

use crate::front::Front;
use crate::lower;
use crate::options::Options;
use crate::source::Source;

/// Which outputs and states follow the number of stacked windows.
#[derive(Clone, Debug, Default)]
pub struct Stacked {
    /// Outputs with a row for each window: their first dimension is the number of windows.
    pub outputs: IndexSet<Arc<str>>,
    /// Keys of the states with a dimension that depends on the number of windows.
    pub states: IndexSet<Arc<str>>,
}

/// What follows `batch` in the node that `options` name, which has to have such a dimension.
///
/// Shapes are numbers in every stage, so one program cannot tell 32 windows from 32 units. The shapes for `size`
/// windows are compared with those for twice as many, as far as the front end and inlining find them; nothing is
/// prepared to run.
///
/// # Errors
/// As [`compile`](crate::compile), for either number of windows.
pub fn stacked(source: &Source, options: &Options, size: usize) -> Result<Stacked, Error> {
    let front = Front::new(source)?;
    let shapes = |size| -> Result<Shapes, Error> {
        let options = Options { batch: Some(size), ..options.clone() };
        Ok(Shapes::of(&lower::inlined(&front, &options)?))
    };
    let (one, other) = (size, size.saturating_mul(2));
    let (here, there) = (shapes(one)?, shapes(other)?);
    let rows = |shape: &Shape, n: usize| shape.dims().first() == Some(&n);
    let outputs = here.outputs.iter().filter(|(name, shape)| {
        rows(shape, one) && there.outputs.get(*name).is_some_and(|shape| rows(shape, other))
    });
    let states = here.states.iter().filter(|(key, shape)| there.states.get(*key) != Some(shape));
    let names = |(name, _): (&Arc<str>, &Shape)| Arc::clone(name);
    Ok(Stacked { outputs: outputs.map(names).collect(), states: states.map(names).collect() })
}

/// The shapes of what a program gives and keeps, by name and key.
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

    #[test]
    fn windows_and_units_of_one_number_are_told_apart() {
        // The number of windows has to be even: shapes for one window more would not fit.
        let text = "node f(x: num [batch, 4]) -> (y: num [batch, 4], w: num [4], pairs: num [batch / 2, 8])\n  \
                    y = x + (zeros(shape(x)) fby y); w = sum(x, 0) + (zeros([4]) fby w); pairs = reshape([batch / 2, 8], x);\n";
        let source = Source::Text { name: "f.rml".into(), text: text.into() };
        let options = Options { node: Some("f".into()), ..Options::default() };
        let found = stacked(&source, &options, 4).unwrap();
        assert_eq!(found.outputs, IndexSet::from(["y".into()]));
        assert_eq!(found.states.len(), 1, "{:?}", found.states);
    }
}
