//! Loops: a node of the program for the body, called along the axis of iterations.

use rml_ir::op::Op;

use super::Table;
use super::layout::unsigned;
use super::statics::truth;
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::model::Graph;
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[("Scan", scan), ("Loop", repeated)];

/// The most iterations: `along` has as many.
const ITERATIONS: usize = 4096;

/// The body of a loop, with what it is called with.
struct Body<'g> {
    graph: &'g Graph,
    /// Its inputs before the states, each with the axis that it goes along: parts of one call.
    lead: Vec<Val>,
    states: Vec<Val>,
    /// The inputs after the states. Axis 0 is the axis of iterations.
    scanned: Vec<Val>,
    /// Whether the first output is a condition.
    condition: bool,
    length: usize,
    back: bool,
}

/// Runs a body: the final states, and the stacked other outputs.
fn run(b: &mut Builder<'_>, body: &Body<'_>) -> Res<(Vec<Val>, Vec<Val>)> {
    b.open("body");
    let made = inside(b, body);
    let outputs = match made {
        Ok(outputs) => outputs,
        Err(refusal) => {
            b.abandon();
            return Err(refusal);
        }
    };
    let elems: Vec<Elem> = outputs.iter().map(|v| v.elem).collect();
    let node = b.close(&outputs)?;
    let args: Vec<Val> = body.lead.iter().chain(&body.states).chain(&body.scanned).cloned().collect();
    let axes = body
        .lead
        .iter()
        .map(|_| Some(0))
        .chain(body.states.iter().map(|_| None))
        .chain(body.scanned.iter().map(|_| Some(0)));
    let mut results = b.call(node, &args, Some((axes.collect(), body.back)), &elems)?;
    let stacked = results.split_off(body.states.len());
    let last = if body.back { 0 } else { body.length - 1 };
    let finals = results.iter().map(|r| b.at(r, 0, last)).collect::<Res<_>>()?;
    Ok((finals, stacked))
}

/// The equations of the node: its states after an iteration, and its other outputs.
fn inside(b: &mut Builder<'_>, body: &Body<'_>) -> Res<Vec<Val>> {
    let names: Vec<&str> = body.graph.inputs.iter().map(|i| i.name.as_str()).collect();
    let name = |i: usize| names.get(i).copied().unwrap_or("x");
    let mut inputs = Vec::new();
    for (i, val) in body.lead.iter().enumerate() {
        inputs.push(b.input(val, &val.dims()[1..], name(i)));
    }
    let mut first = Vec::new();
    for (i, val) in body.states.iter().enumerate() {
        let first_name = format!("{}_0", name(body.lead.len() + i));
        first.push(b.input(val, &val.dims(), &first_name));
    }
    let before: Vec<Val> = first
        .iter()
        .enumerate()
        .map(|(i, v)| {
            let word = crate::names::words(name(body.lead.len() + i)).unwrap_or_else(|| "state".into());
            b.declared(v, &word)
        })
        .collect();
    let states = body.lead.len() + body.states.len();
    let mut scanned = Vec::new();
    for (i, val) in body.scanned.iter().enumerate() {
        scanned.push(b.input(val, &val.dims()[1..], name(states + i)));
    }
    // A loop tells its body the condition too, which is true whenever it runs.
    if body.condition {
        inputs.push(Val::constant(Elem::Bool, rml_ir::Value::Bool(true)));
    }
    let args: Vec<Val> = inputs.into_iter().chain(before.iter().cloned()).chain(scanned).collect();
    let mut outputs = b.inner(body.graph, &args)?;
    if body.condition {
        let condition = if outputs.is_empty() { None } else { Some(outputs.remove(0)) };
        if condition.as_ref().and_then(truth) != Some(true) {
            return refuse("how often it runs depends on the values of inputs")
                .map_err(|r: Refusal| r.help("export the loop with a number of iterations that is known"));
        }
    }
    if outputs.len() < before.len() {
        return Err(Refusal::malformed("its body has fewer outputs than states"));
    }
    for (i, (declared, init)) in before.iter().zip(&first).enumerate() {
        if outputs[i].ty() != declared.ty() {
            return refuse(format!("a state is {} and then {}", declared.ty(), outputs[i].ty()));
        }
        let next = outputs[i].clone();
        let next = if next.known().is_some() { b.apply_copy(&next)? } else { next };
        b.delayed(declared, init, &next)?;
        outputs[i] = next;
    }
    Ok(outputs)
}

impl Builder<'_> {
    /// A variable of its own for a constant.
    fn apply_copy(&mut self, val: &Val) -> Res<Val> {
        let var = self.var(val)?;
        self.defined(val.elem, val.ty(), crate::program::Rhs::Apply(Op::Copy, vec![var]))
    }
}

fn scan(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    if call.opset < 9 {
        return refuse("versions before 9 are another operator");
    }
    let graph = call.graph("body")?;
    let vals: Vec<Val> = call.all()?.into_iter().cloned().collect();
    let many = unsigned(call.int("num_scan_inputs", 0))?;
    let states = vals.len().checked_sub(many).ok_or_else(|| Refusal::malformed("it has too few operands"))?;
    let axes = call.ints("scan_input_axes").unwrap_or_else(|| vec![0; many]);
    let back = call.ints("scan_input_directions").unwrap_or_else(|| vec![0; many]);
    let mut scanned = Vec::new();
    for (i, val) in vals[states..].iter().enumerate() {
        let axis = call.axis(axes.get(i).copied().unwrap_or(0), val.rank())?;
        let perm: Vec<usize> = [axis].into_iter().chain((0..val.rank()).filter(|k| *k != axis)).collect();
        let front = b.transpose(val, &perm)?;
        scanned.push(if back.get(i) == Some(&1) { b.backward(&front, 0)? } else { front });
    }
    let length = scanned.first().map_or(0, |v| v.dims()[0]);
    bounded(length)?;
    let body = Body {
        graph,
        lead: Vec::new(),
        states: vals[..states].to_vec(),
        scanned,
        condition: false,
        length,
        back: false,
    };
    let (mut results, stacked) = run(b, &body)?;
    let axes = call.ints("scan_output_axes").unwrap_or_else(|| vec![0; stacked.len()]);
    let back = call.ints("scan_output_directions").unwrap_or_else(|| vec![0; stacked.len()]);
    for (i, val) in stacked.into_iter().enumerate() {
        let val = if back.get(i) == Some(&1) { b.backward(&val, 0)? } else { val };
        let axis = call.axis(axes.get(i).copied().unwrap_or(0), val.rank())?;
        let mut perm: Vec<usize> = (1..val.rank()).collect();
        perm.insert(axis, 0);
        results.push(b.transpose(&val, &perm)?);
    }
    Ok(results)
}

fn bounded(length: usize) -> Res<()> {
    if (1..=ITERATIONS).contains(&length) {
        return Ok(());
    }
    refuse(format!("it runs {length} times; 1 to {ITERATIONS} times can be imported"))
}

/// A loop whose number of iterations is known.
fn repeated(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let graph = call.graph("body")?;
    let states: Vec<Val> = (2..call.args.len()).map(|i| call.arg(i).cloned()).collect::<Res<_>>()?;
    let starts = call.opt(1).map_or(Some(true), truth);
    if starts == Some(false) {
        return refuse("it never runs");
    }
    let trips = call.known_ints(0, "number of iterations")?.and_then(|v| v.first().copied());
    let Some(trips) = trips.filter(|_| starts.is_some()) else {
        return refuse("how often it runs depends on the values of inputs");
    };
    let length = unsigned(trips.min(1 << 40))?;
    bounded(length)?;
    let ticks = b.ticks(length)?;
    let body =
        Body { graph, lead: vec![ticks], states, scanned: Vec::new(), condition: true, length, back: false };
    let (mut results, stacked) = run(b, &body)?;
    results.extend(stacked);
    Ok(results)
}
