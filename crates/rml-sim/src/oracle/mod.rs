//! The oracle: the least fixed point of `docs/semantics`, computed as directly as it is defined (FIX-1, FIX-2, FIX-3).
//! A table has a status for each cycle and variable, and the rules of the equations raise the statuses until nothing
//! changes. It is slow and runs only whole traces. It uses no code of the simulator, because its purpose is to check
//! the simulator.

use indexmap::IndexMap;
use rml_base::IndexVec;
use rml_ir::flat::{ClockClasses, Drawn, Eq, Rhs, Var};
use rml_ir::op::{EvalError, eval};

use rml_engine::{InputCell, Status};

mod step;

/// Options of the oracle.
#[derive(Clone, Debug, Default)]
pub struct OracleOptions {
    /// Whether the trace ends after the given cycles; otherwise it is a prefix of an endless trace.
    pub closed: bool,
    /// The cycles in which the environment asks for a variable. `None` means that it asks for one variable of each free
    /// class in every cycle.
    pub demand: Option<IndexMap<Var, Vec<bool>>>,
    /// The order in which equations are evaluated; `None` for their order in the program. The result does not depend on
    /// it.
    pub order: Option<Vec<Eq>>,
    /// Values that replace the initial value of a `fby` outside windows, or the value of a parameter.
    pub states: IndexMap<Eq, rml_ir::Value>,
}

/// An operator without a result.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct EvalFailure {
    /// The cycle.
    pub cycle: usize,
    /// The equation.
    pub equation: Eq,
    /// The reason.
    pub error: EvalError,
}

/// The least fixed point.
#[derive(Clone, Debug)]
pub struct FixedPoint {
    /// The statuses, by cycle and variable.
    pub cycles: Vec<IndexVec<Var, Status>>,
    /// Operators without a result although all operands have values. Their cells stay unknown.
    pub failures: Vec<EvalFailure>,
}

impl FixedPoint {
    /// The cycles that contain an error, in order.
    pub fn error_cycles(&self) -> Vec<usize> {
        let has_error = |row: &IndexVec<Var, Status>| row.iter().any(|s| matches!(s, Status::Error));
        (0..self.cycles.len()).filter(|&n| has_error(&self.cycles[n])).collect()
    }

    /// The row of one variable.
    pub fn row(&self, v: Var) -> Vec<Status> {
        self.cycles.iter().map(|c| c[v].clone()).collect()
    }
}

/// Computes the least fixed point of `flat` on `inputs`: one entry for each input of the program in each cycle. If an
/// entry is missing, nothing is known about the input.
pub fn run(flat: &Drawn, inputs: &[Vec<InputCell>], options: &OracleOptions) -> FixedPoint {
    let mut oracle = Oracle::new(flat, inputs, options);
    let mut changed = true;
    while changed {
        changed = false;
        for n in 0..inputs.len() {
            changed |= oracle.raise_all(n);
        }
        for n in (0..inputs.len()).rev() {
            changed |= oracle.raise_all(n);
        }
    }
    let failures = oracle.failures();
    FixedPoint { cycles: oracle.table, failures }
}

/// The program, its environment and the table so far.
struct Oracle<'a> {
    flat: &'a Drawn,
    inputs: &'a [Vec<InputCell>],
    options: &'a OracleOptions,
    order: Vec<Eq>,
    table: Vec<IndexVec<Var, Status>>,
}

impl<'a> Oracle<'a> {
    fn new(flat: &'a Drawn, inputs: &'a [Vec<InputCell>], options: &'a OracleOptions) -> Oracle<'a> {
        let order = options.order.clone().unwrap_or_else(|| flat.equations.ids().collect());
        let table = vec![IndexVec::filled(Status::Bottom, flat.vars.len()); inputs.len()];
        let mut oracle = Oracle { flat, inputs, options, order, table };
        for (n, row) in inputs.iter().enumerate() {
            for (formal, input) in flat.inputs.iter().zip(row) {
                match input {
                    InputCell::Given(v) => oracle.raise(n, formal.var, &Status::Value(v.clone())),
                    InputCell::Absent => oracle.raise(n, formal.var, &Status::Absent),
                    InputCell::OnDemand(_) => false,
                };
            }
        }
        oracle.demand();
        oracle
    }

    /// Enters the demands of the environment.
    fn demand(&mut self) {
        if let Some(demand) = &self.options.demand {
            for (&v, cycles) in demand {
                for n in (0..self.table.len()).filter(|&n| cycles.get(n) == Some(&true)) {
                    self.raise(n, v, &Status::Unknown);
                }
            }
        } else {
            for v in ClockClasses::new(self.flat).free_representatives() {
                for n in 0..self.table.len() {
                    self.raise(n, v, &Status::Unknown);
                }
            }
        }
    }

    /// Joins `status` into a cell; returns whether the cell changed.
    fn raise(&mut self, n: usize, v: Var, status: &Status) -> bool {
        let joined = self.table[n][v].join(status);
        let changed = !joined.same(&self.table[n][v]);
        self.table[n][v] = joined;
        changed
    }

    /// Applies all rules in cycle `n` until nothing changes in it; returns whether anything changed.
    fn raise_all(&mut self, n: usize) -> bool {
        let (mut any, mut again) = (false, true);
        while again {
            again = self.answer(n);
            for i in 0..self.order.len() {
                for (v, status) in self.step(self.order[i], n).into_cells() {
                    again |= self.raise(n, v, &status);
                }
            }
            any |= again;
        }
        any
    }

    /// Answers requests for inputs on demand, as the environment.
    fn answer(&mut self, n: usize) -> bool {
        let mut changed = false;
        for (formal, input) in self.flat.inputs.iter().zip(&self.inputs[n]) {
            if let InputCell::OnDemand(offer) = input
                && self.table[n][formal.var].is_present()
            {
                let answer = offer.clone().map_or(Status::Absent, Status::Value);
                changed |= self.raise(n, formal.var, &answer);
            }
        }
        changed
    }

    /// The operators without a result, once the fixed point is reached.
    fn failures(&self) -> Vec<EvalFailure> {
        let mut failures = Vec::new();
        for (cycle, row) in self.table.iter().enumerate() {
            for (equation, eq) in self.flat.equations.iter_enumerated() {
                let Rhs::Apply { op, args } = &eq.rhs else { continue };
                let values: Option<Vec<_>> = args.iter().map(|&x| row[x].value()).collect();
                if let (true, Some(values)) = (row[eq.lhs].is_present(), values)
                    && let Err(error) = eval(op, &values, self.flat.precision)
                {
                    failures.push(EvalFailure { cycle, equation, error });
                }
            }
        }
        failures
    }
}
