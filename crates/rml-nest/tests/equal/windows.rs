//! Windows of random data, by plan and by nests.

use std::sync::Arc;

use rml_ir::{DType, Data, Precision, Type, Value};
use rml_nest::NestProgram;
use rml_nest::evaluate::{Cells, Fault, Machine};
use rml_plan::reference::{Fault as Wanted, Machine as Reference};
use rml_plan::{Ends, Plan, Reg};
use rml_testkit::Lcg;

/// How long windows are, in turn.
const LENGTHS: [usize; 6] = [2, 1, 3, 5, 1, 2];

/// How many elements of tapes a tick may have for each of these windows to run; of larger programs, the first ones do.
pub(crate) const ELEMENTS: usize = 10_000;

/// How many cycles there are for a window that the program ends, and for a block that waits.
const CYCLES: usize = 7;

/// How many cycles there are for the first window that the program ends.
const LATE: usize = 64;

/// How many windows ran, and how many of these failed.
pub(crate) struct Ran {
    pub(crate) windows: usize,
    pub(crate) failed: usize,
}

/// How many elements the tapes of a plan have at a tick.
pub(crate) fn elements(plan: &Plan) -> usize {
    plan.tapes.iter().map(|tape| tape.ty.shape.len()).sum()
}

/// Runs a plan and its nests.
pub(crate) fn run(plan: &Arc<Plan>, program: &Arc<NestProgram>, r: &mut Lcg) -> Result<Ran, String> {
    let (mut reference, mut machine) = (Reference::new(Arc::clone(plan)), Machine::new(Arc::clone(program)));
    let mut ran = Ran { windows: 0, failed: 0 };
    let windows = (LENGTHS.len() * ELEMENTS / elements(plan).max(1)).clamp(1, LENGTHS.len());
    for length in &LENGTHS[..windows] {
        let length = *length;
        let cycles = match plan.ends {
            Ends::Nothing if plan.waits => CYCLES,
            Ends::Nothing => length + plan.ahead() as usize,
            Ends::Given(_) => length,
            Ends::Found { .. } => CYCLES,
        };
        // Some programs end their windows late.
        let late = matches!(plan.ends, Ends::Found { .. }) && ran.windows == 0;
        let cycles = if late { LATE } else { cycles };
        let inputs = columns(plan, cycles, r);
        let (wanted, found) = (reference.length(cycles, &inputs), machine.length(cycles, &inputs));
        let ticks = match (wanted, found) {
            (Ok(wanted), Ok(found)) if wanted == found => wanted,
            (Err(wanted), Err(found)) if same(&wanted, &found) => {
                ran.windows += 1;
                ran.failed += 1;
                continue;
            }
            (wanted, found) => {
                return Err(format!("of {cycles} cycles {found:?} are a window, not {wanted:?}"));
            }
        };
        let Some(ticks) = ticks else { continue };
        ran.windows += 1;
        match (reference.window(ticks, &inputs), machine.window(ticks, &inputs)) {
            (Ok((wanted, done)), Ok((found, reached))) => {
                if done != reached {
                    return Err(format!("{reached} of {ticks} ticks are done, not {done}"));
                }
                for (i, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
                    if bits(wanted) != bits(found) {
                        let name = &plan.outputs[i].name;
                        return Err(format!("of {ticks} ticks {name} is {found:?}, not {wanted:?}"));
                    }
                }
            }
            (Err(wanted), Err(found)) if same(&wanted, &found) => ran.failed += 1,
            (wanted, found) => return Err(format!("{ticks} ticks give {found:?}, not {wanted:?}")),
        }
        for register in 0..plan.registers.len() {
            let wanted = [reference.register(Reg(register as u32)).cloned()];
            let found = [machine.register(register)];
            if bits(&wanted) != bits(&found) {
                return Err(format!("after {ticks} ticks r{register} is {found:?}, not {wanted:?}"));
            }
        }
    }
    Ok(ran)
}

fn same(wanted: &Wanted, found: &Fault) -> bool {
    match (wanted, found) {
        (Wanted::Operator { span, error }, Fault::Operator { span: at, error: why }) => {
            (span, error) == (at, why)
        }
        (Wanted::Missing { .. }, Fault::Missing { .. }) => true,
        _ => false,
    }
}

/// The cells as types and bits; which NaN it is does not count.
fn bits(column: &[Option<Value>]) -> Vec<Option<(Type, Vec<u64>)>> {
    let of = |value: &Value| {
        let bits = match value.to_data() {
            Data::F32(x) => {
                x.iter().map(|x| if x.is_nan() { u64::MAX } else { u64::from(x.to_bits()) }).collect()
            }
            Data::F64(x) => x.iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect(),
            Data::Int(x) => x.iter().map(|x| x.cast_unsigned()).collect(),
            Data::Bool(x) => x.iter().map(|x| u64::from(*x)).collect(),
        };
        (value.ty(), bits)
    };
    column.iter().map(|cell| cell.as_ref().map(of)).collect()
}

/// Random inputs, of which the last tick ends the window, if inputs end it.
fn columns(plan: &Plan, cycles: usize, r: &mut Lcg) -> Vec<Cells> {
    let large = r.chance(0.3);
    let mut all: Vec<Cells> = Vec::new();
    for (_, ty) in &plan.inputs {
        all.push((0..cycles).map(|_| Some(value(ty, plan.precision, large, r))).collect());
    }
    if let Ends::Given(ends) = &plan.ends {
        for (n, (input, value)) in ends.iter().enumerate() {
            let ends = |t: usize| n == 0 && t + 1 == cycles;
            all[*input as usize] = (0..cycles).map(|t| Some(Value::Bool(ends(t) == *value))).collect();
        }
    }
    all
}

/// Numbers with zeros of both signs, and now and then some that are none.
fn value(ty: &Type, precision: Precision, large: bool, r: &mut Lcg) -> Value {
    const SPECIAL: [f64; 6] = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-40];
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.4)).collect()),
        DType::Int if large && r.chance(0.2) => {
            Data::Int((0..n).map(|_| i64::MAX - r.below(3) as i64).collect())
        }
        DType::Int => Data::Int((0..n).map(|_| r.below(4) as i64).collect()),
        DType::Num if r.chance(0.1) => Data::F64((0..n).map(|_| *r.pick(&SPECIAL)).collect()),
        DType::Num => Data::F64((0..n).map(|_| r.range(-2.0, 2.0)).collect()),
    };
    Value::new(ty.shape.clone(), data).to_precision(precision)
}
