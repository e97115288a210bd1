//! Compares calls of operators on random operands with their definitions, element by element.

use std::sync::Arc;

use rml::{Options, Precision, Source};
use rml_base::EntityId;
use rml_ir::flat::{Drawn, Flat, Rhs, Var};
use rml_ir::{Value, pass};
use rml_sim::oracle::{self, FixedPoint, OracleOptions};
use rml_sim::{InputCell, Status};
use rml_testkit::Lcg;

use super::naive::{self, Array};
use super::{Target, calls, cells, nothing_smaller};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "operators",
    about: "calls of operators: the value of each is that of its definition, also when folded; wrong calls are refused",
    chunk: 1500,
    generate,
    check,
    smaller: nothing_smaller,
};

/// The maximum number of elements of the variables of a call.
const ELEMENTS: usize = 200_000;

fn generate(r: &mut Lcg, _: &Corpus) -> FuzzInput {
    let text = calls::program(r);
    FuzzInput::with_settings("rml", "--", &[("seed", r.below(1000).to_string())], &text)
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let (settings, _) = case.settings("--");
    let mut r = Lcg(settings.get("seed").and_then(|s| s.parse().ok()).unwrap_or(1));
    for precision in [Precision::F64, Precision::F32] {
        let options = Options { precision, all_vars: true, ..Options::default() };
        let Ok(program) = rml::compile(&Source::text("call", case.as_text()), &options) else {
            return Ok(());
        };
        let flat = program.flat();
        let elements = flat.vars.iter().map(|v| v.ty.shape.len()).fold(0, usize::saturating_add);
        if elements > ELEMENTS {
            return Ok(());
        }
        let inputs = cells::inputs(flat, &mut r, 2);
        let trace = oracle::run(flat, &inputs, &OracleOptions { closed: true, ..OracleOptions::default() });
        definitions(flat, &trace)?;
        folded(flat, &inputs[0], &trace)?;
        rml_testkit::flat::run(flat, &inputs, true);
    }
    Ok(())
}

/// Compares all results of operators with their definitions.
pub(super) fn definitions(flat: &Flat, trace: &FixedPoint) -> Result<(), String> {
    for eq in flat.equations.iter() {
        let Rhs::Apply { op, args } = &eq.rhs else { continue };
        for (n, cells) in trace.cycles.iter().enumerate() {
            let Status::Value(found) = &cells[eq.lhs] else { continue };
            let operands = args.iter().map(|v| cells[*v].value().and_then(Array::of));
            let Some(operands) = operands.collect::<Option<Vec<_>>>() else { continue };
            let (Some(expected), Some(found)) = (naive::apply(op, &operands), Array::of(found)) else {
                continue;
            };
            let single = flat.precision == Precision::F32;
            if let Some(what) = differ(&found, &expected, &operands, single) {
                return Err(format!(
                    "{}: {what} in cycle {n}\n{operands:?}\n{found:?}\n{expected:?}",
                    op.name()
                ));
            }
        }
    }
    Ok(())
}

fn differ(found: &Array, expected: &Array, operands: &[Array], single: bool) -> Option<String> {
    if found.dims != expected.dims || found.dtype != expected.dtype {
        return Some(format!(
            "{:?} {:?}, not {:?} {:?}",
            found.dtype, found.dims, expected.dtype, expected.dims
        ));
    }
    // The rounding error of a sum depends on its largest terms.
    let largest =
        operands.iter().flat_map(|o| &o.data).filter(|x| x.is_finite()).fold(1.0, |m, x| x.abs().max(m));
    let tolerance = if single { 1e-4 } else { 1e-9 };
    let near = |a: f64, b: f64| {
        a == b
            || a.is_nan() && b.is_nan()
            || (a - b).abs() <= tolerance * (largest * largest + a.abs().min(b.abs()))
            || single && b.abs() > f64::from(f32::MAX) / 2.0
    };
    let wrong = found.data.iter().zip(&expected.data).position(|(a, b)| !near(*a, *b))?;
    Some(format!("element {wrong} is {:e}, not {:e}", found.data[wrong], expected.data[wrong]))
}

/// Checks that folding, with constants instead of inputs, gives the same bits as the first cycle of the run.
fn folded(flat: &Arc<Drawn>, inputs: &[InputCell], trace: &FixedPoint) -> Result<(), String> {
    if !trace.failures.is_empty() || !trace.error_cycles().is_empty() {
        return Ok(());
    }
    let mut constant = Flat::clone(flat);
    for (formal, input) in std::mem::take(&mut constant.inputs).into_iter().zip(inputs) {
        let InputCell::Given(value) = input else { return Ok(()) };
        let (rhs, span) =
            (Rhs::Const(constant.consts.push(value.clone().into())), constant.vars[formal.var].span);
        constant.equations.push(rml_ir::flat::Equation { lhs: formal.var, rhs, span });
    }
    let folded = pass::draw(pass::fold(constant), 0).map_err(|d| d.message)?;
    let value = |v: Var| -> Option<Value> {
        let eq = folded.equations.iter().find(|eq| eq.lhs == v)?;
        let Rhs::Const(k) = eq.rhs else { return None };
        folded.consts[k].value().cloned()
    };
    for v in flat.vars.ids() {
        if let (Some(folded), Status::Value(run)) = (value(v), &trace.cycles[0][v])
            && !folded.same(run)
        {
            return Err(format!("variable {} is {run:?}, but {folded:?} when folded", v.index()));
        }
    }
    Ok(())
}
