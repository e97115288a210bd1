//! Values that the host computes before a call: normal random numbers, whose bits come from portable functions that
//! devices lack, and the keys and ticks on which they depend.

use rml_backend::{DefKind, Function, Val};
use rml_base::IndexVec;
use rml_ir::Value;
use rml_ir::op::{EvalError, Op, eval};

/// The normal draws of a function that have at least one number.
#[derive(Clone, Debug, Default)]
pub struct NormalDraws {
    /// The draws.
    values: Vec<Val>,
    /// The values to compute for the draws, in order. They include the draws, but no inputs.
    steps: Vec<Val>,
    /// The inputs on which the draws depend.
    inputs: Vec<Val>,
}

impl NormalDraws {
    /// The draws of a function.
    pub(super) fn of(function: &Function) -> Self {
        let drawn = |x: &Val| {
            let def = &function.values[*x];
            matches!(&def.kind, DefKind::Apply { op: Op::RandomNormal { .. }, .. })
                && !def.ty.shape.is_empty()
        };
        let values: Vec<Val> = function.values.ids().filter(drawn).collect();
        let mut needed = IndexVec::filled(false, function.values.len());
        values.iter().for_each(|&x| needed[x] = true);
        for x in function.values.ids().collect::<Vec<_>>().into_iter().rev() {
            if let (true, DefKind::Apply { args, .. }) = (needed[x], &function.values[x].kind) {
                args.iter().for_each(|&a| needed[a] = true);
            }
        }
        let (inputs, steps) = needed
            .ids()
            .filter(|&x| needed[x])
            .partition(|&x: &Val| matches!(function.values[x].kind, DefKind::Input));
        Self { values, steps, inputs }
    }

    /// The draws.
    pub fn values(&self) -> &[Val] {
        &self.values
    }

    /// The inputs on which they depend.
    pub fn inputs(&self) -> &[Val] {
        &self.inputs
    }

    /// Computes the draws from the values of [`inputs`](Self::inputs).
    ///
    /// # Errors
    /// An operator on which a key or tick depends fails.
    pub fn compute(&self, function: &Function, inputs: Vec<Value>) -> Result<Vec<Value>, EvalError> {
        let mut found: IndexVec<Val, Option<Value>> = IndexVec::filled(None, function.values.len());
        self.inputs.iter().zip(inputs).for_each(|(&x, value)| found[x] = Some(value));
        for &x in &self.steps {
            let value = match &function.values[x].kind {
                DefKind::Input => continue,
                DefKind::Const(value) => value.clone(),
                DefKind::Apply { op, args } => {
                    let args: Vec<&Value> = args.iter().filter_map(|&a| found[a].as_ref()).collect();
                    eval(op, &args, function.precision)?
                }
            };
            found[x] = Some(value);
        }
        Ok(self.values.iter().filter_map(|&x| found[x].clone()).collect())
    }
}
