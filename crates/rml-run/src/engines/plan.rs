//! The engine that runs plans on the embedded backend: whole windows at once, or a stream cycle by cycle.

use std::sync::Arc;

use rml_backend::Held;
use rml_backend_cpu::plan::Machine;
use rml_base::memory::{self, bytes_of};
use rml_base::{Diagnostic, codes};
use rml_engine::{
    Block, Column, Declined, Engine, Exact, Fast, Feeding, Input, Inputs, Outputs, Present, Reason, Run,
    States, Usage, Use, Verdict,
};
use rml_ir::flat::Drawn;
use rml_ir::op::Number;
use rml_ir::{Data, Precision, Value};
use rml_plan::{Atom, Ends, Kind, Plan, Reg, Rule};
use rml_schedule::Fed;
use rml_sim::SimulatorEngine;

/// Runs what has a plan; what is suspect runs again in the simulator.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanEngine;

impl Engine for PlanEngine {
    fn name(&self) -> &'static str {
        "plan"
    }

    fn open(&self, program: &Arc<Drawn>, wish: &Use) -> Result<Box<dyn Run>, Declined> {
        if wish.record {
            return Err(Declined::new(Reason::Use, "a plan keeps no record of every variable"));
        }
        let fed = if matches!(wish.feeding, Feeding::Windows { .. }) { Fed::Windows } else { Fed::Blocks };
        let plan = rml_schedule::schedule(program, fed).map_err(|why| {
            let declined = Declined::new(Reason::Schedule, why.why);
            if let Some(span) = why.span { declined.at(span) } else { declined }
        })?;
        let ends = ends(&plan, wish)?;
        let clocks = input_clocks(program, &rml_analysis::clocks(program).clocks)?;
        let (plan, reference) = (Arc::new(plan), Arc::new(SimulatorEngine::new()));
        let program = Arc::clone(program);
        Ok(match program.precision {
            Precision::F32 => {
                Box::new(Exact::new(Windows::<f32>::new(plan, ends, clocks), reference, program, *wish))
            }
            Precision::F64 => {
                Box::new(Exact::new(Windows::<f64>::new(plan, ends, clocks), reference, program, *wish))
            }
        })
    }
}

/// The inputs that end a window.
fn ends(plan: &Plan, wish: &Use) -> Result<Vec<(usize, bool)>, Declined> {
    let hidden = plan.registers.iter().any(|r| r.kind == Kind::Hidden);
    if matches!(wish.feeding, Feeding::Stream { .. }) && (hidden || plan.ends != Ends::Nothing) {
        return Err(Declined::new(Reason::Use, "its windows are not fed as a whole"));
    }
    match &plan.ends {
        Ends::Nothing => Ok(Vec::new()),
        Ends::Given(ends) => Ok(ends.iter().map(|(input, value)| (*input as usize, *value)).collect()),
        Ends::Found { .. } => {
            Err(Declined::new(Reason::Schedule, "a condition that is no input ends its windows"))
        }
    }
}

/// For each input, the input whose value says where it is present, if it is not present in every cycle.
fn input_clocks(
    program: &Drawn,
    clocks: &rml_analysis::Clocks,
) -> Result<Vec<Option<(usize, bool)>>, Declined> {
    let of = |input: &rml_ir::flat::Input| match input.clock {
        None if clocks.of[input.var] == rml_analysis::Clocks::BASE => Ok(None),
        Some((cond, flag)) => match program.inputs.iter().position(|i| i.var == cond && i.clock.is_none()) {
            Some(at) => Ok(Some((at, flag))),
            None => Err(input.var),
        },
        None => Err(input.var),
    };
    let declined = |v| {
        let data = &program.vars[v];
        let name = data.name.clone().unwrap_or_default();
        Declined::new(Reason::Schedule, format!("the program says where the input `{name}` is present"))
            .at(data.span)
    };
    program.inputs.iter().map(|input| of(input).map_err(declined)).collect()
}

/// A plan that runs over the windows of blocks.
#[derive(Debug)]
struct Windows<N> {
    plan: Arc<Plan>,
    machine: Machine<N>,
    ends: Vec<(usize, bool)>,
    clocks: Vec<Option<(usize, bool)>>,
    /// What each register starts with, where that is a constant.
    starts: Vec<Option<Value>>,
    windows: u64,
}

/// An input over the cycles of a block.
struct Given {
    present: Present,
    data: Data,
}

impl<N: Number> Windows<N> {
    fn new(plan: Arc<Plan>, ends: Vec<(usize, bool)>, clocks: Vec<Option<(usize, bool)>>) -> Self {
        let mut starts = vec![None; plan.registers.len()];
        for case in plan.tapes.iter().flat_map(|t| &t.cases) {
            if let Rule::Read { register, init: Some(Atom::Const(k)) } = &case.rule {
                starts[register.0 as usize] = Some(plan.consts[*k].clone());
            }
        }
        Self { machine: Machine::new(Arc::clone(&plan)), plan, ends, clocks, starts, windows: 0 }
    }

    /// The inputs on the host.
    fn given(&self, inputs: Inputs<'_>) -> Result<Vec<Given>, Diagnostic> {
        let given = |present: Present, value: Option<Value>| Given {
            present,
            data: value.map_or(Data::Bool(Vec::new()), |v| v.to_precision(self.plan.precision).to_data()),
        };
        match inputs {
            Inputs::Cycle(row) => Ok(row
                .iter()
                .map(|input| match input {
                    Input::Given(value) => given(Present::Always, Some(value.clone())),
                    _ => given(Present::Never, None),
                })
                .collect()),
            Inputs::Block(block) => {
                let column = |c: &Column| {
                    let value = c.values().map(Held::to_host).transpose()?;
                    Ok(given(c.present().clone(), value))
                };
                block.columns().iter().map(column).collect()
            }
        }
    }

    /// Whether inputs are present where their clocks say so in the cycles `from..to` of a block.
    fn fits(&self, given: &[Given], from: usize, to: usize) -> bool {
        let holds = |(cond, flag): (usize, bool), t: usize| truth(&given[cond], t) == Some(flag);
        given.iter().zip(&self.clocks).all(|(input, clock)| match clock {
            None => (from..to).all(|t| input.present.at(t)),
            Some(clock) => (from..to).all(|t| input.present.at(t) == holds(*clock, t)),
        })
    }

    /// The first cycle of each whole window of a block and the one behind it.
    fn bounds(&self, given: &[Given], cycles: usize) -> Vec<(usize, usize)> {
        if self.ends.is_empty() {
            return if cycles == 0 { Vec::new() } else { vec![(0, cycles)] };
        }
        let ended =
            |t: usize| self.ends.iter().any(|(input, value)| truth(&given[*input], t) == Some(*value));
        let (mut bounds, mut from) = (Vec::new(), 0);
        for t in (0..cycles).filter(|t| ended(*t)) {
            bounds.push((from, t + 1));
            from = t + 1;
        }
        bounds
    }

    /// Asks for the memory of the tapes of a window.
    fn has_memory(&self, ticks: usize) -> bool {
        let elements = self.plan.tapes.iter().fold(0_usize, |n, t| n.saturating_add(t.ty.shape.len()));
        memory::ask(bytes_of(elements.saturating_mul(ticks), size_of::<N>())).is_ok()
    }
}

/// The condition that an input is in a cycle, where it is present in every one.
fn truth(input: &Given, t: usize) -> Option<bool> {
    match (&input.present, &input.data) {
        (Present::Always, Data::Bool(v)) => v.get(t).copied(),
        _ => None,
    }
}

impl<N: Number> Fast for Windows<N> {
    fn run(&mut self, first: u64, inputs: Inputs<'_>) -> Result<Verdict, Diagnostic> {
        let cycles = inputs.cycles();
        let given = self.given(inputs)?;
        let mut rows = vec![0; given.len()];
        let mut outputs: Vec<(Vec<bool>, Vec<Value>)> = vec![Default::default(); self.plan.outputs.len()];
        let mut done = 0;
        for (from, to) in self.bounds(&given, cycles) {
            let ticks = to - from;
            if !self.fits(&given, from, to) || !self.has_memory(ticks) {
                break;
            }
            for (i, input) in given.iter().enumerate() {
                rows[i] =
                    self.machine.set_rows(i, ticks, &|t| input.present.at(from + t), &input.data, rows[i]);
            }
            if self.machine.window(ticks).is_err() {
                break;
            }
            for (i, (marks, values)) in outputs.iter_mut().enumerate() {
                for t in 0..ticks {
                    let value = self.machine.output(i, t);
                    marks.push(value.is_some());
                    values.extend(value);
                }
            }
            self.windows += 1;
            done = to;
        }
        let columns = outputs.into_iter().map(|(marks, values)| column(marks, &values));
        let outputs = Outputs::Block { first, block: Block::new(done, columns.collect()) };
        Ok(if done == cycles { Verdict::Done(outputs) } else { Verdict::Suspect(Some(outputs)) })
    }

    fn states(&self) -> Result<States, Diagnostic> {
        let registers =
            self.plan.registers.iter().enumerate().filter_map(|(i, register)| match &register.kind {
                Kind::State { key, .. } => Some((i, Arc::clone(key))),
                Kind::Local | Kind::Hidden => None,
            });
        Ok(registers
            .filter_map(|(i, key)| Some((key, self.machine.register(i).or_else(|| self.starts[i].clone())?)))
            .collect())
    }

    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic> {
        let plan = Arc::clone(&self.plan);
        let of = |key: &str| {
            plan.registers
                .iter_enumerated()
                .find(|(_, r)| matches!(&r.kind, Kind::State { key: k, .. } if **k == *key))
        };
        for (key, value) in states.iter() {
            let fail = |what: &str| Diagnostic::error(codes::sim::STATE_VALUE, what.replace("{}", key));
            let Some((Reg(at), register)) = of(key) else {
                return Err(fail("the program has no state `{}`"));
            };
            if value.ty() != register.ty {
                return Err(fail("state `{}` has another type").note(format!(
                    "expected {}, found {}",
                    register.ty,
                    value.ty()
                )));
            }
            self.machine.set_register(at as usize, &value.to_host()?.to_precision(plan.precision));
        }
        Ok(())
    }

    fn usage(&self) -> Usage {
        Usage { activations: self.windows, bytes: 0 }
    }
}

/// A column of values of one type.
fn column(marks: Vec<bool>, values: &[Value]) -> Column {
    let Some(first) = values.first() else { return Column::absent() };
    let dims: Vec<usize> =
        std::iter::once(values.len()).chain(first.ty().shape.dims().iter().copied()).collect();
    let shape = rml_ir::Shape::new(&dims);
    let mut data = first.to_data();
    for value in &values[1..] {
        match (&mut data, value.to_data()) {
            (Data::Bool(all), Data::Bool(more)) => all.extend(more),
            (Data::Int(all), Data::Int(more)) => all.extend(more),
            (Data::F32(all), Data::F32(more)) => all.extend(more),
            (Data::F64(all), Data::F64(more)) => all.extend(more),
            _ => {}
        }
    }
    Column::new(marks.into_iter().collect(), Value::new(shape, data))
}

#[cfg(test)]
mod tests {
    use rml_driver::{Options, Source, compile};
    use rml_engine::End;

    use super::*;

    fn run(text: &str, feeding: Feeding) -> Box<dyn Run> {
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        PlanEngine.open(program.flat(), &Use::new(feeding)).expect("it has a plan")
    }

    fn bools(values: &[bool]) -> Column {
        Column::new(
            Present::Always,
            Value::new(rml_ir::Shape::new(&[values.len()]), Data::Bool(values.to_vec())),
        )
    }

    /// What the simulator runs again counts many activations, what is run by plan one a window.
    #[test]
    fn a_block_is_run_window_by_window_and_not_again() {
        let text = "node count(x: bool []) -> (n) n = (0 fby n) + (if x then 1 else 0);
node main(x: bool [], end: bool []) -> (n when end) n = (count(x) every end) when end;";
        let mut run = run(text, Feeding::Windows { cycles: None });
        let (x, end) = ([true, true, false, true, false], [false, true, false, false, true]);
        run.feed(Inputs::Block(&Block::new(5, vec![bools(&x), bools(&end)]))).expect("it runs");
        assert_eq!(run.usage().activations, 2);
        let mut seen = Vec::new();
        let outputs = run.next_outputs().expect("all is known");
        outputs.for_each_value(0, |t, value| seen.push((t, value.as_int()))).expect("on the host");
        assert_eq!(seen, [(1, Some(2)), (4, Some(1))]);
        // A block that ends inside a window goes to the simulator, and the windows behind it come back.
        run.feed(Inputs::Block(&Block::new(1, vec![bools(&[true]), bools(&[false])]))).expect("it runs");
        assert!(run.usage().activations > 2);
        run.finish(End::Open).expect("it ends");
    }

    #[test]
    fn a_stream_is_run_cycle_by_cycle() {
        let mut run =
            run("node main(x: bool []) -> (y) y = false fby x;", Feeding::Stream { look_ahead: None });
        for x in [true, false] {
            run.feed(Inputs::Cycle(&[Input::Given(Value::Bool(x))])).expect("it runs");
        }
        assert_eq!(run.usage().activations, 2);
        run.feed(Inputs::Block(&Block::new(0, vec![Column::absent()]))).expect("nothing is run");
        assert_eq!((run.usage().activations, run.cycles()), (2, 2));
    }
}
