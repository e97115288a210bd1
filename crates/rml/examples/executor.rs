//! An executor that computes the tapes of a plan one by one. It passes the suite, and it trains a network.

use std::sync::Arc;

use rml::executor::{
    About, Accuracy, Executor, Fault, Footprint, Held, PrepareOptions, Prepared, Refused, Running, Scope,
    TooLong, append, suite,
};
use rml::ir::op::{Binary, Op, eval};
use rml::ir::{Data, Position, Value};
use rml::memory::{self, Shortage};
use rml::plan::{Atom, Guard, Outline, Part, Plan, Region, Rule, Term, Tick};
use rml::{Diagnostic, Engine};

/// Computes the tapes of a plan one by one.
#[derive(Debug)]
struct Walk;

impl Executor for Walk {
    fn about(&self) -> About {
        About {
            name: "walk".to_owned(),
            device: "cpu".to_owned(),
            devices: vec!["cpu".to_owned()],
            accuracy: Accuracy::Near(1e-5),
            waits: false,
            guesses: false,
            compiles: false,
        }
    }

    fn prepare(&self, plan: &Arc<Plan>, _: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused> {
        let ends_later = plan.waits || plan.ahead() > 0 || !plan.ends.found().is_empty();
        if ends_later || plan.regions.iter().any(|region| !region.writes().is_empty()) {
            return Err(Refused::new("it knows loops that write no register, and ends that are given"));
        }
        Ok(Arc::new(Ready(Arc::clone(plan))))
    }
}

#[derive(Debug)]
struct Ready(Arc<Plan>);

impl Prepared for Ready {
    fn footprint(&self) -> Footprint {
        let outline = Outline::of(&self.0);
        Footprint { fixed: outline.bytes, per_tick: outline.bytes_per_tick }
    }

    fn start(&self, _: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        memory::ask(self.footprint().at(1))?;
        Ok(Box::new(Run {
            plan: Arc::clone(&self.0),
            footprint: self.footprint(),
            registers: vec![None; self.0.registers.len()],
            inputs: vec![Vec::new(); self.0.inputs.len()],
            tapes: Vec::new(),
            ticks: 0,
        }))
    }
}

/// The value at each tick, if there is one.
type Column = Vec<Option<Value>>;

#[derive(Debug)]
struct Run {
    plan: Arc<Plan>,
    footprint: Footprint,
    registers: Vec<Option<Value>>,
    inputs: Vec<Column>,
    tapes: Vec<Column>,
    ticks: usize,
}

impl Run {
    fn atom(&self, atom: Atom, t: usize) -> Option<Value> {
        let (tape, at) = match atom {
            Atom::Const(k) => return Some(self.plan.consts[k].clone()),
            Atom::Tape(tape, Tick::Now) => (tape, t),
            Atom::Tape(tape, Tick::Before) => (tape, t.checked_sub(1)?),
            Atom::Tape(tape, Tick::After) => (tape, t + 1),
            Atom::Tape(tape, Tick::First) => (tape, 0),
            Atom::Tape(tape, Tick::Last) => (tape, self.ticks - 1),
        };
        self.tapes[tape.0 as usize].get(at)?.clone()
    }

    fn is_true(&self, cond: Atom, t: usize) -> bool {
        self.atom(cond, t).and_then(|value| value.as_bool()) == Some(true)
    }

    fn holds(&self, when: &[Guard], t: usize) -> bool {
        when.iter().all(|guard| self.is_true(guard.cond, t) == guard.value)
    }

    fn fill(&mut self, part: &Part, t: usize) -> Result<(), Fault> {
        let (plan, p) = (Arc::clone(&self.plan), Position::of(t, self.ticks));
        let case = plan.tapes[part.tape].case(p).filter(|_| part.at.contains(p));
        if let Some(case) = case.filter(|case| self.holds(&case.when, t)) {
            self.tapes[part.tape.0 as usize][t] = self.value(&case.rule, t)?;
        }
        Ok(())
    }

    fn value(&self, rule: &Rule, t: usize) -> Result<Option<Value>, Fault> {
        Ok(match rule {
            Rule::Apply { op, args } => Some(self.apply(op, args, t)?),
            Rule::Product { start, args } => {
                let product = self.apply(&Op::MatMul, args, t)?;
                Some(self.add(&self.atom(*start, t).ok_or(Fault::Suspect)?, &product)?)
            }
            Rule::Copy(atom) => self.atom(*atom, t),
            Rule::Select { cond, then, other } => {
                self.atom(if self.is_true(*cond, t) { *then } else { *other }, t)
            }
            Rule::Restart { ends, init, next } => {
                let restarts = ends.iter().any(|end| self.is_true(*end, t));
                self.atom(if restarts { *init } else { *next }, t)
            }
            Rule::Sum { init, backward, terms } => self.sum(*init, *backward, terms)?,
            Rule::Input(input) => self.inputs[*input as usize][t].clone(),
            Rule::Read { register, init } => {
                let kept = self.registers[register.0 as usize].clone();
                kept.or_else(|| self.atom((*init)?, t))
            }
        })
    }

    fn sum(&self, init: Option<Atom>, backward: bool, terms: &[Term]) -> Result<Option<Value>, Fault> {
        let mut sum = init.and_then(|init| self.atom(init, 0));
        for i in 0..self.ticks {
            let t = if backward { self.ticks - 1 - i } else { i };
            let term = terms.iter().find(|term| term.at.contains(Position::of(t, self.ticks)));
            if let Some(term) = term.filter(|term| self.holds(&term.when, t)) {
                let value = self.apply(&term.op, &term.args, t)?;
                sum = Some(sum.map_or(Ok(value.clone()), |sum| self.add(&value, &sum))?);
            }
        }
        Ok(sum)
    }

    fn apply(&self, op: &Op, args: &[Atom], t: usize) -> Result<Value, Fault> {
        let args = args.iter().map(|atom| self.atom(*atom, t)).collect::<Option<Vec<_>>>();
        let args = args.ok_or(Fault::Suspect)?;
        eval(op, &args.iter().collect::<Vec<_>>(), self.plan.precision).map_err(|_| Fault::Suspect)
    }

    fn add(&self, a: &Value, b: &Value) -> Result<Value, Fault> {
        eval(&Op::Binary(Binary::Add), &[a, b], self.plan.precision).map_err(|_| Fault::Suspect)
    }
}

impl Running for Run {
    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        mut row: usize,
    ) -> usize {
        let shape = &self.plan.inputs[input].1.shape;
        let cell = |t| {
            present(t).then(|| {
                let (mut elements, from) = (Data::Bool(Vec::new()), row * shape.len());
                (from..from + shape.len()).for_each(|i| append(&mut elements, data.get(i).to_data()));
                row += 1;
                Value::new(shape.clone(), elements)
            })
        };
        self.inputs[input] = (0..ticks).map(cell).collect();
        row
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        let plan = Arc::clone(&self.plan);
        self.ticks = ticks;
        self.tapes = vec![vec![None; ticks]; plan.tapes.len()];
        for region in &plan.regions {
            match region {
                Region::Over(parts) => {
                    parts.iter().try_for_each(|part| (0..ticks).try_for_each(|t| self.fill(part, t)))?;
                }
                Region::Loop { backward, parts, .. } => {
                    for i in 0..ticks {
                        let t = if *backward { ticks - 1 - i } else { i };
                        parts.iter().try_for_each(|part| self.fill(part, t))?;
                    }
                }
            }
        }
        // Nothing may fail after this point.
        for t in 0..ticks {
            let p = Position::of(t, ticks);
            for write in plan.commits.iter().filter(|write| write.at.contains(p)) {
                let register = write.register.0 as usize;
                if write.unless.iter().any(|end| self.is_true(*end, t)) {
                    self.registers[register] = None;
                } else if self.holds(&write.when, t) {
                    self.registers[register] = self.atom(write.value, t);
                }
            }
        }
        Ok(ticks)
    }

    fn find(&mut self, _: usize) -> Result<Option<usize>, Fault> {
        Ok(None)
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        let p = Position::of(t, self.ticks);
        let case = self.plan.outputs[output].cases.iter().find(|(at, ..)| at.contains(p));
        let case = case.filter(|(_, when, _)| self.holds(when, t));
        let value = case.and_then(|(.., atom)| self.atom(*atom, t));
        if let Some(value) = &value {
            append(to, value.to_data());
        }
        Ok(value.is_some())
    }

    fn register(&self, register: usize) -> Option<Held> {
        self.registers[register].clone().map(Held::Host)
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        Ok(self.registers[register].is_some())
    }

    fn unset_register(&mut self, register: usize) {
        self.registers[register] = None;
    }

    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic> {
        self.registers[register] = Some(value.to_host()?.to_precision(self.plan.precision));
        Ok(())
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        let least = Err("it keeps all values of a window");
        memory::ask(self.footprint.at(ticks)).map_err(|short| TooLong { short, least })
    }
}

/// Two classes of points.
const NETWORK: &str = "
import std.layers;
import std.losses;
node classify(x: num [2]) -> (logits)  logits = dense(2, tanh(dense(8, x)));
node train(x: num [2], y: int []) -> (loss)
  logits, _ = diff_classify(x, true, dlogits);
  loss, dlogits = diff_cross_entropy(logits, y, true, -0.1);
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let report = suite::check(&Walk);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert_eq!(report.ran, 12, "it refuses {:?}", report.refused);

    let points = br#"{"x": [[0.1, 0.9], [0.8, 0.2], [0.3, 0.4], [0.9, 0.7]], "y": [1, 0, 1, 0]}"#;
    let data = rml::Columns::parse(points, rml::Format::Json, "points.json")?;
    let source = rml::Source::text("points.rml", NETWORK);
    let trained = |engine| {
        let options = rml::TrainOptions { engine, epochs: 20, ..rml::TrainOptions::default() };
        rml::train(&source, &data, &options, &mut ())
    };
    let (walked, usual) = (trained(Engine::plan_by(Arc::new(Walk)))?, trained(Engine::plan())?);
    let losses =
        |report: &rml::TrainReport| report.epochs.iter().map(|e| e.train["loss"]).collect::<Vec<f64>>();
    let (walked, usual) = (losses(&walked), losses(&usual));
    assert!(walked.iter().zip(&usual).all(|(a, b)| (a - b).abs() < 1e-5), "{walked:?}, not {usual:?}");
    assert!(walked[19] < walked[0]);
    Ok(())
}
