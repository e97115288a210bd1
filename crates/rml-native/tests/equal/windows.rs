//! Runs windows of random data on two executors.

use std::sync::Arc;

use rml_executor::{Executor, Fault, Next, PrepareOptions, Reference, Running};
use rml_ir::{DType, Data, Precision, Type, Value};
use rml_plan::{Ends, Plan};
use rml_testkit::Lcg;

/// The lengths of windows, in turn.
const LENGTHS: [usize; 6] = [2, 1, 7, 3, 1, 2];

/// The most cycles in which a program finds the end of a window.
const LONGEST: usize = 12;

/// The most elements of tapes per tick with which all of these windows run; larger programs run only the first ones.
const ELEMENTS: usize = 40_000;

/// The number of windows, and how many of them failed.
pub(crate) struct Ran {
    pub(crate) windows: usize,
    pub(crate) failed: usize,
    pub(crate) ticks: usize,
}

/// Runs a plan on an executor with this many threads, and on the reference.
pub(crate) fn run(
    (executor, threads): (&dyn Executor, usize),
    plan: &Arc<Plan>,
    r: &mut Lcg,
) -> Result<Ran, String> {
    let start = |executor: &dyn Executor| {
        let prepared = executor.prepare(plan, &PrepareOptions { threads }).map_err(|refused| refused.why)?;
        prepared.start(None).map_err(|short| short.to_string())
    };
    let (mut reference, mut own) = (start(&Reference)?, start(executor)?);
    let mut ran = Ran { windows: 0, failed: 0, ticks: 0 };
    let elements: usize = plan.tapes.iter().map(|tape| tape.ty.shape.len()).sum();
    let windows = (LENGTHS.len() * ELEMENTS / elements.max(1)).clamp(2, LENGTHS.len());
    for ticks in LENGTHS[..windows].iter().copied() {
        let ticks = if finds(plan) { LONGEST } else { ticks + plan.ahead() as usize };
        let inputs = columns(plan, ticks, r);
        ran.windows += 1;
        let (wanted, found) =
            (window(&mut *reference, plan, ticks, &inputs), window(&mut *own, plan, ticks, &inputs));
        let done = match (wanted, found) {
            (Ok(wanted), Ok(found)) if wanted == found => wanted,
            (Ok(wanted), Ok(found)) => {
                return Err(format!("{found} of {ticks} ticks are done, not {wanted}"));
            }
            (Err(Fault::Suspect), Err(Fault::Suspect)) => {
                ran.failed += 1;
                continue;
            }
            (wanted, found) => return Err(format!("{ticks} ticks give {found:?}, not {wanted:?}")),
        };
        ran.ticks += done;
        for t in 0..done {
            for (i, output) in plan.outputs.iter().enumerate() {
                let (wanted, found) = (output_at(&mut *reference, i, t)?, output_at(&mut *own, i, t)?);
                if wanted.as_ref().map(bits) != found.as_ref().map(bits) {
                    return Err(format!(
                        "of {ticks} ticks {} is {found:?} at tick {t}, not {wanted:?}",
                        output.name
                    ));
                }
            }
        }
        for register in 0..plan.registers.len() {
            let value =
                |run: &dyn Running| run.register(register).map(|held| held.to_host().unwrap().to_data());
            let (wanted, found) = (value(&*reference), value(&*own));
            // A register that is not set may have its start value.
            if wanted.is_some() && wanted.as_ref().map(bits) != found.as_ref().map(bits) {
                return Err(format!("after {ticks} ticks r{register} is {found:?}, not {wanted:?}"));
            }
        }
    }
    Ok(ran)
}

fn finds(plan: &Plan) -> bool {
    matches!(plan.ends, Ends::Found { .. })
}

/// Runs a window. A window that ends in none of the cycles is given up, and has 0 ticks.
fn window(run: &mut dyn Running, plan: &Plan, ticks: usize, inputs: &[Data]) -> Result<usize, Fault> {
    let set = |run: &mut dyn Running, next: Next, ticks: usize| {
        run.ask(ticks).expect("there is memory");
        run.next(next);
        for (i, data) in inputs.iter().enumerate() {
            run.set_rows(i, ticks, &|_| true, data, 0);
        }
    };
    if !finds(plan) {
        set(run, Next::Window(ticks), ticks);
        return run.window(ticks);
    }
    for cycles in [1, 2, 3, 7, ticks] {
        set(run, Next::Search(cycles), cycles);
        if let Some(ticks) = run.find(cycles)? {
            set(run, Next::Window(ticks), ticks);
            return run.window(ticks);
        }
    }
    run.abandon();
    Ok(0)
}

fn output_at(run: &mut dyn Running, output: usize, t: usize) -> Result<Option<Data>, String> {
    let mut data = Data::Bool(Vec::new());
    let there = run.add_output(output, t, &mut data).map_err(|d| d.message)?;
    Ok(there.then_some(data))
}

/// The type and the bits; all NaN count as equal.
fn bits(data: &Data) -> Vec<u64> {
    match data {
        Data::F32(x) => {
            x.iter().map(|x| if x.is_nan() { u64::MAX } else { u64::from(x.to_bits()) }).collect()
        }
        Data::F64(x) => x.iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect(),
        Data::Int(x) => x.iter().map(|x| x.cast_unsigned()).collect(),
        Data::Bool(x) => x.iter().map(|x| u64::from(*x)).collect(),
    }
}

/// Random inputs whose last tick ends the window, if inputs determine its end.
fn columns(plan: &Plan, ticks: usize, r: &mut Lcg) -> Vec<Data> {
    let large = r.chance(0.3);
    let mut all: Vec<Data> =
        plan.inputs.iter().map(|(_, ty)| rows(ty, ticks, plan.precision, large, r)).collect();
    if let Ends::Given(ends) = &plan.ends {
        for (n, (input, value)) in ends.iter().enumerate() {
            let ends = |t: usize| n == 0 && t + 1 == ticks;
            all[*input as usize] = Data::Bool((0..ticks).map(|t| ends(t) == *value).collect());
        }
    }
    all
}

/// Random numbers with zeros of both signs, and sometimes NaN or infinities.
fn rows(ty: &Type, ticks: usize, precision: Precision, large: bool, r: &mut Lcg) -> Data {
    const SPECIAL: [f64; 6] = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-40];
    let n = ty.shape.len() * ticks;
    match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.4)).collect()),
        DType::Int if large && r.chance(0.2) => {
            Data::Int((0..n).map(|_| i64::MAX - r.below(3) as i64).collect())
        }
        DType::Int => Data::Int((0..n).map(|_| r.below(4) as i64).collect()),
        DType::Num => {
            let special = r.chance(0.1);
            let number = |r: &mut Lcg| if special { *r.pick(&SPECIAL) } else { r.range(-2.0, 2.0) };
            let all = Data::F64((0..n).map(|_| number(r)).collect());
            Value::new(rml_ir::Shape::new(&[n]), all).to_precision(precision).to_data()
        }
    }
}
