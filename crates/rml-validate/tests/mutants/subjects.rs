//! Programs with plans, and what these give over some windows.

use std::path::Path;
use std::sync::Arc;

use rml::{Options as Compile, Source};
use rml_analysis::{Clocks, Facts};
use rml_ir::flat::{Drawn, Flat, Var};
use rml_ir::{DType, Data, Type, Value};
use rml_plan::reference::{Cells, Machine};
use rml_plan::{Ends, Lifetime, Plan};
use rml_schedule::{Fed, Proved, proved};
use rml_sim::{InputCell, Options, Simulator};
use rml_testkit::Lcg;
use rml_testkit::conformance::{ConformanceVector, files, program};
use rml_testkit::verdicts::overflowing;
use rml_validate::Witness;

/// How long windows are, in turn.
const LENGTHS: [usize; 8] = [2, 1, 3, 5, 1, 2, 4, 3];

/// How many numbers the tapes of a plan may have at a tick, so that the reference runs it fast.
const NUMBERS: usize = 20_000;

/// How many recurrences over concatenations there are.
const JOINED: u64 = 40;

pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) flat: Arc<Drawn>,
    pub(crate) clocks: Clocks,
    pub(crate) facts: Facts,
    pub(crate) plan: Arc<Plan>,
    pub(crate) witness: Witness,
    windows: Windows,
    given: Vec<Given>,
    /// The same of ints that do not fit when they are added, up to a window that fails.
    large: Windows,
    failed: Vec<Given>,
}

/// For each window, its length and the inputs from its start on.
type Windows = Vec<(usize, Vec<Cells>)>;

/// What a window gives: outputs, and states by their keys. Nothing if it fails.
type Given = Option<(Vec<Cells>, Vec<(Arc<str>, Option<Value>)>)>;

impl Subject {
    /// The plan of a program; nothing if there is none.
    pub(crate) fn new(name: String, flat: Arc<Drawn>, fed: Fed, r: &mut Lcg) -> Option<Subject> {
        let Proved { plan, witness, program } = proved(&flat, fed).ok()?;
        let flat = program.map_or(flat, Arc::new);
        let clocks = rml_analysis::clocks(&flat).clocks;
        let causality = rml_analysis::causality(&flat, &clocks);
        let facts = rml_analysis::facts(&flat, &clocks, &causality);
        let plan = Arc::new(plan);
        let (windows, given, large, failed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut subject = Subject { name, flat, clocks, facts, plan, witness, windows, given, large, failed };
        subject.windows = subject.windows(r).unwrap_or_default();
        subject.given = subject.run(&subject.plan, &subject.windows);
        subject.large = subject.large(r);
        subject.failed = subject.run(&subject.plan, &subject.large);
        Some(subject)
    }

    /// Whether the reference runs it fast.
    pub(crate) fn is_small(&self) -> bool {
        self.plan.tapes.iter().map(|t| t.ty.shape.len()).sum::<usize>() <= NUMBERS
    }

    /// Whether a plan gives something else.
    pub(crate) fn differs(&self, plan: Plan) -> bool {
        let plan = Arc::new(plan);
        self.differ(&self.given, self.run(&plan, &self.windows))
            || self.differ(&self.failed, self.run(&plan, &self.large))
    }

    fn differ(&self, wanted: &[Given], given: Vec<Given>) -> bool {
        let same = |a: &Option<Value>, b: &Option<Value>| match (a, b) {
            (Some(a), Some(b)) => a.same(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let equal = |a: &Given, b: &Given| {
            let (Some((outputs, states)), Some((others, after))) = (a, b) else {
                return a.is_none() && b.is_none();
            };
            let cells = outputs.iter().flatten().zip(others.iter().flatten()).all(|(a, b)| same(a, b));
            // What waits longer is right as far as it goes.
            if self.plan.waits && !lengths(outputs).eq(lengths(others)) {
                return cells;
            }
            cells
                && lengths(outputs).eq(lengths(others))
                && states.len() == after.len()
                && states.iter().zip(after).all(|(a, b)| a.0 == b.0 && same(&a.1, &b.1))
        };
        let longer = |a: &Given, b: &Given| match (a, b) {
            (Some((a, _)), Some((b, _))) => self.plan.waits && !lengths(a).eq(lengths(b)),
            _ => false,
        };
        let both = || given.iter().zip(wanted);
        // After a block that waits longer, the next one begins elsewhere.
        let end = both().position(|(a, b)| longer(a, b)).map(|at| at + 1);
        end.is_none() && given.len() != wanted.len()
            || !both().take(end.unwrap_or(usize::MAX)).all(|(a, b)| equal(a, b))
    }

    /// Runs a plan, up to the first window that fails.
    fn run(&self, plan: &Arc<Plan>, windows: &Windows) -> Vec<Given> {
        let mut machine = Machine::new(Arc::clone(plan));
        let mut given = Vec::new();
        for (ticks, columns) in windows {
            let rest =
                if plan.ends == Ends::Nothing { *ticks } else { columns.first().map_or(*ticks, Vec::len) };
            let found = (machine.length(rest, columns) == Ok(Some(*ticks)))
                .then(|| machine.window(*ticks, columns).ok())
                .flatten();
            given.push(found.map(|(outputs, _)| {
                let states = plan.registers.iter_enumerated().filter_map(|(id, data)| match &data.kind {
                    Lifetime::State { key, .. } => Some((Arc::clone(key), machine.register(id).cloned())),
                    _ => None,
                });
                let mut states: Vec<_> = states.collect();
                states.sort_by(|a, b| a.0.cmp(&b.0));
                (outputs, states)
            }));
            if matches!(given.last(), Some(None)) {
                break;
            }
        }
        given
    }

    /// Windows of random data.
    fn windows(&self, r: &mut Lcg) -> Option<Windows> {
        let rows = rows(&self.flat, &self.clocks, &self.plan.ends, r);
        let mut sim = Simulator::new(Arc::clone(&self.flat), Options { record: true, ..Options::default() });
        rows.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(false)).ok()?;
        let cell = |n: usize, v: Var| sim.status(n as u64, v).ok().flatten()?.value().cloned();
        let columns = |from: usize, to: usize| -> Vec<Cells> {
            self.flat.inputs.iter().map(|i| (from..to).map(|n| cell(n, i.var)).collect()).collect()
        };
        Some(self.cut(rows.len(), &columns))
    }

    /// Windows of ints of which some are large, up to the first one that fails; none if it is not said where inputs are
    /// present.
    fn large(&self, r: &mut Lcg) -> Windows {
        let rows = overflowing(rows(&self.flat, &self.clocks, &self.plan.ends, r), r);
        if rows.iter().flatten().any(|input| matches!(input, InputCell::OnDemand(_))) {
            return Windows::new();
        }
        let cell =
            |input: &InputCell| if let InputCell::Given(value) = input { Some(value.clone()) } else { None };
        let column = |i: usize, from, to| rows[from..to].iter().map(|row| cell(&row[i])).collect();
        let columns = |from, to| (0..self.flat.inputs.len()).map(|i| column(i, from, to)).collect();
        self.cut(rows.len(), &columns)
    }

    /// Windows of that many cycles, up to the first one that fails.
    fn cut(&self, cycles: usize, columns: &dyn Fn(usize, usize) -> Vec<Cells>) -> Windows {
        let mut machine = Machine::new(Arc::clone(&self.plan));
        let (mut windows, mut from) = (Vec::new(), 0);
        for length in LENGTHS.iter().cycle() {
            let ahead = self.plan.ahead() as usize;
            let to = match self.plan.ends {
                // What waits has to see some ticks.
                Ends::Nothing if self.plan.waits => (from + cycles / 2).min(cycles),
                Ends::Nothing => from + length + ahead,
                Ends::Given(_) | Ends::Found { .. } => cycles,
            };
            if to > cycles || from == to || windows.len() == LENGTHS.len() {
                break;
            }
            let columns = columns(from, to);
            let Ok(Some(ticks)) = machine.length(to - from, &columns) else { break };
            let done = machine.window(ticks, &columns).map(|(_, done)| done);
            windows.push((ticks, columns));
            let Ok(done) = done else { break };
            from += done;
        }
        windows
    }
}

fn lengths(columns: &[Cells]) -> impl Iterator<Item = usize> + '_ {
    columns.iter().map(Vec::len)
}

fn rows(flat: &Flat, clocks: &Clocks, ends: &Ends, r: &mut Lcg) -> Vec<Vec<InputCell>> {
    let mut all = Vec::new();
    for length in LENGTHS {
        for t in 0..length {
            let mut values: Vec<Value> =
                flat.inputs.iter().map(|i| random(&flat.vars[i.var].ty, flat.precision, r)).collect();
            if let Ends::Given(ends) = ends {
                for (n, (input, value)) in ends.iter().enumerate() {
                    values[*input as usize] = Value::Bool((n == 0 && t + 1 == length) == *value);
                }
            }
            let input = |(i, input): (usize, &rml_ir::flat::Input)| match input.clock {
                Some((cond, flag)) => {
                    let at = flat.inputs.iter().position(|c| c.var == cond);
                    let holds = at.and_then(|at| values[at].as_bool()) == Some(flag);
                    if holds { InputCell::Given(values[i].clone()) } else { InputCell::Absent }
                }
                None if clocks.of[input.var] == Clocks::BASE => InputCell::Given(values[i].clone()),
                None => InputCell::OnDemand(Some(values[i].clone())),
            };
            all.push(flat.inputs.iter().enumerate().map(input).collect());
        }
    }
    all
}

fn random(ty: &Type, precision: rml_ir::Precision, r: &mut Lcg) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.4)).collect()),
        DType::Int => Data::Int((0..n).map(|_| r.below(4) as i64).collect()),
        DType::Num => Data::F32((0..n).map(|_| r.range(-1.0, 1.0) as f32).collect()),
    };
    Value::new(ty.shape.clone(), data).to_precision(precision)
}

/// The nodes of all examples and listings, all vectors, recurrences over concatenations, and random programs.
pub(crate) fn subjects(programs: u64, r: &mut Lcg) -> Vec<Subject> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    for folder in ["examples", "examples/paper"] {
        for file in std::fs::read_dir(root.join(folder)).unwrap().map(|e| e.unwrap().path()) {
            if file.extension().is_none_or(|e| e != "rml") {
                continue;
            }
            for analysis in rml::analyse_all(&Source::file(&file), &Compile::default()) {
                let node = analysis.node().to_owned();
                let defaults = analysis.assumed.iter().cloned().collect();
                let options = Compile { node: Some(node.clone()), defaults, ..Compile::default() };
                let Ok(program) = rml::compile(&Source::file(&file), &options) else { continue };
                let name = format!("{} {node}", file.file_stem().unwrap().to_string_lossy());
                all.extend(Subject::new(name, Arc::clone(program.flat()), Fed::Windows, r));
            }
        }
    }
    for part in ["vectors", "more", "random"] {
        for file in files(&root.join("tests/conformance").join(part)).unwrap() {
            let vector = ConformanceVector::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let Ok((flat, _)) = program(&vector) else { continue };
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            all.extend(Subject::new(name, flat, Fed::Windows, r));
        }
    }
    for seed in 0..JOINED {
        let text = rml_testkit::joined::network(&mut Lcg(seed));
        let options = Compile { node: Some("main".to_owned()), ..Compile::default() };
        let program = rml::compile(&Source::text("main", text), &options).unwrap();
        all.extend(Subject::new(
            format!("over concatenations {seed}"),
            Arc::clone(program.flat()),
            Fed::Windows,
            r,
        ));
    }
    for seed in 0..programs {
        let numbers = Lcg(seed).take(220);
        let (flat, _) = rml_testkit::flat::random::program(&numbers, 24, false);
        let fed = if seed % 2 == 0 { Fed::Windows } else { Fed::Blocks };
        all.extend(Subject::new(format!("random program {seed}"), flat, fed, r));
    }
    all
}
