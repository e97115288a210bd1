//! A set of operators as a tensor function.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_backend::{Function, Prepared, Val};
use rml_base::Diagnostic;
use rml_ir::flat::{Rhs, Var};

use super::Functions;
use crate::simulator::program::{Operand, Program};

/// A set of steps of one class that are computed together.
#[derive(Debug)]
pub(super) struct Group {
    /// The steps, in order.
    pub(super) steps: Vec<u32>,
    /// The cells of the arguments.
    pub(super) inputs: Vec<usize>,
    /// The cells of the results.
    pub(super) results: Vec<u32>,
    /// The cells of values that do not leave the group.
    pub(super) inner: Vec<u32>,
    /// The way to compute the values.
    pub(super) work: Work,
}

/// The way to compute the values of a group.
#[derive(Debug)]
pub(super) enum Work {
    /// A call of a function computes the values.
    Call(Prepared),
    /// The values are not computed, because no step reads them.
    Nothing,
    /// The values are computed one by one: no step reads them, but an operator without a result is still an error.
    Watch,
}

impl Group {
    /// Prepares the members of a class that are given as bits.
    pub(super) fn new(
        functions: &Functions,
        program: &Program,
        class: u32,
        set: &[u64],
    ) -> Result<Group, Diagnostic> {
        let members = &functions.members[class as usize];
        let named = |i: &usize| set[i / 64] >> (i % 64) & 1 == 1;
        let steps: Vec<u32> = (0..members.len()).filter(named).map(|i| members[i]).collect();
        let (results, inner): (Vec<u32>, Vec<u32>) = steps
            .iter()
            .filter_map(|&id| program.steps[id as usize].result())
            .map(|(out, _)| out)
            .partition(|&out| leaves(functions, program, &steps, out));
        let mut group = Group { steps, inputs: Vec::new(), results, inner, work: Work::Nothing };
        let function = group.function(program, class);
        if !group.results.is_empty() {
            group.work = Work::Call(Prepared::new(&*functions.backend, Arc::new(function))?);
        } else if function.may_stop() {
            group.work = Work::Watch;
        }
        Ok(group)
    }

    /// Makes the function; adds the cells of its arguments to the group.
    fn function(&mut self, program: &Program, class: u32) -> Function {
        let name = format!("{}/{class}/{}", program.flat.name, self.steps.len());
        let mut f = Function::new(name, program.flat.precision);
        let mut vals: IndexMap<u32, Val> = IndexMap::new();
        let own: Vec<u32> =
            self.steps.iter().filter_map(|&id| program.steps[id as usize].result()).map(|(o, _)| o).collect();
        let own: IndexSet<u32> = own.into_iter().collect();
        for &id in &self.steps {
            program.steps[id as usize].for_each_operand(|x| {
                let Some(cell) = x.cell() else { return };
                let var = Var(u32::try_from(cell).unwrap_or(u32::MAX));
                if !own.contains(&var.0) && !vals.contains_key(&var.0) {
                    let data = &program.flat.vars[var];
                    vals.insert(var.0, f.input(data.ty.clone(), data.span));
                    self.inputs.push(cell);
                }
            });
        }
        for &id in &self.steps {
            let (eq, step) = (program.equation(id), &program.steps[id as usize]);
            let (Rhs::Apply { op, .. }, Some((out, _))) = (&eq.rhs, step.result()) else { continue };
            let mut args = Vec::new();
            step.for_each_operand(|x| args.push(operand(program, &mut f, &vals, x)));
            let val = f.apply(op.clone(), args, eq.span).expect("F2: equations are well-typed");
            vals.insert(out, val);
        }
        f.results = self.results.iter().map(|cell| vals[cell]).collect();
        f
    }
}

fn operand(program: &Program, f: &mut Function, vals: &IndexMap<u32, Val>, x: Operand) -> Val {
    match x.cell() {
        Some(cell) => vals[&u32::try_from(cell).unwrap_or(u32::MAX)],
        None => {
            let value = x.get(&[], &program.constants).value().expect("constants have values");
            f.constant(value, Function::nowhere())
        }
    }
}

/// Whether any step other than these reads a cell.
fn leaves(functions: &Functions, program: &Program, steps: &[u32], cell: u32) -> bool {
    let readers = program.on_value.of(cell as usize);
    functions.leaves[cell as usize] || readers.iter().any(|r| steps.binary_search(r).is_err())
}
