//! Both engines compute the cells of the chronograms in `docs/semantics`, and the outputs are the same after all passes
//! (FIX-5, FIX-6).
//!
//! A block fenced as `rml` contains a program. Each block fenced as `chronogram` after it is a trace of that program's
//! node `main`, or of its only root. The header counts the cycles. The rows of inputs are the values that the
//! environment gives, and every other cell is compared: `□` = absent, `?` = present with an unknown value, `⊥` =
//! nothing is known, `error`, or a value. A row `x offers` contains the answers of the environment if it is asked for
//! the input `x`. Words after `chronogram` are `open` (otherwise the trace is closed), `stops=N` (a run that stops at
//! the first error stops in cycle N; without this word there is no error) and the rules that the example shows.
//!
//! `RML_BLESS=1` writes the computed cells into the pages.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rml::{DType, Options, Precision, Program, Source, Type, Value};
use rml_ir::flat::{Drawn, Flat, Var};
use rml_sim::oracle::{self, OracleOptions};
use rml_sim::{InputCell, Simulator, Status};

/// The suffix of a row with the answers of an input on demand.
const OFFERS: &str = " offers";

/// One chronogram of a page.
struct Example {
    open: bool,
    stops: Option<u64>,
    cycles: usize,
    rows: Vec<(String, Vec<String>)>,
}

impl Example {
    /// Reads the words after `chronogram` and the lines of the block.
    fn parse(words: &str, body: &[&str]) -> Example {
        let cells = |line: &&str| -> Vec<String> {
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
        };
        let mut lines = body.iter().map(cells);
        let cycles = lines.next().expect("a header").len() - 1;
        let row = |mut cells: Vec<String>| {
            let name = cells.remove(0);
            assert_eq!(cells.len(), cycles, "the row of `{name}` has another length than the header");
            (name, cells)
        };
        let stops = words.split_whitespace().find_map(|w| w.strip_prefix("stops="));
        Example {
            open: words.split_whitespace().any(|w| w == "open"),
            stops: stops.map(|n| n.parse().expect("a cycle")),
            cycles,
            rows: lines.map(row).collect(),
        }
    }

    /// The input's entries, cycle by cycle.
    fn input(&self, name: &str, ty: &Type) -> Vec<InputCell> {
        let row = |name: &str| self.rows.iter().find(|(n, _)| n == name).map(|(_, cells)| cells);
        let value = |cell: &String| (cell != "□").then(|| parse(cell, ty));
        match row(&format!("{name}{OFFERS}")) {
            Some(offers) => offers.iter().map(|cell| InputCell::OnDemand(value(cell))).collect(),
            None => {
                let cells = row(name).unwrap_or_else(|| panic!("no row for the input `{name}`"));
                cells.iter().map(|cell| value(cell).map_or(InputCell::Absent, InputCell::Given)).collect()
            }
        }
    }

    /// The rows of the block, in which `status` provides all cells that the environment does not give.
    fn text(&self, inputs: &[&str], status: &dyn Fn(&str, usize) -> Status) -> Vec<String> {
        let is_offered = |name: &str| self.rows.iter().any(|(n, _)| n.strip_suffix(OFFERS) == Some(name));
        let is_given = |name: &str| name.ends_with(OFFERS) || (inputs.contains(&name) && !is_offered(name));
        let shown = |name: &str, cells: &[String]| -> Vec<String> {
            if is_given(name) {
                return cells.to_vec();
            }
            (0..self.cycles).map(|n| show(&status(name, n))).collect()
        };
        let mut rows = vec![("cycle".to_owned(), (0..self.cycles).map(|n| n.to_string()).collect())];
        rows.extend(self.rows.iter().map(|(name, cells)| (name.clone(), shown(name, cells))));
        aligned(&rows)
    }
}

/// Lines with the names on the left and the cells in columns.
fn aligned(rows: &[(String, Vec<String>)]) -> Vec<String> {
    let width =
        |cells: &mut dyn Iterator<Item = &String>| cells.map(|c| c.chars().count()).max().unwrap_or(0);
    let names = width(&mut rows.iter().map(|(name, _)| name));
    let cycles = rows.first().map_or(0, |(_, cells)| cells.len());
    let columns: Vec<usize> =
        (0..cycles).map(|n| width(&mut rows.iter().map(|(_, cells)| &cells[n]))).collect();
    let line = |(name, cells): &(String, Vec<String>)| {
        let cells: String =
            cells.iter().zip(&columns).map(|(cell, width)| format!("  {cell:>width$}")).collect();
        format!("{name:<names$}{cells}")
    };
    rows.iter().map(line).collect()
}

/// A cell of an input as a value of its type.
fn parse(cell: &str, ty: &Type) -> Value {
    assert!(ty.shape.is_scalar(), "the inputs of examples are scalars");
    match ty.dtype {
        DType::Bool => Value::Bool(cell == "T"),
        DType::Int => Value::Int(cell.parse().expect("an integer")),
        DType::Num => Value::F64(cell.parse().expect("a number")),
    }
}

fn show(status: &Status) -> String {
    match status {
        Status::Absent => "□".to_owned(),
        Status::Unknown => "?".to_owned(),
        Status::Bottom => "⊥".to_owned(),
        Status::Error => "error".to_owned(),
        Status::Value(Value::Bool(b)) => if *b { "T" } else { "F" }.to_owned(),
        Status::Value(Value::Int(i)) => i.to_string(),
        Status::Value(value) => match value.as_num() {
            Some(x) => format!("{x:?}"),
            None => {
                let data = value.to_data();
                let items = (0..data.len()).map(|i| show(&Status::Value(data.get(i))));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
        },
    }
}

/// The program of one or several examples.
struct Runnable {
    /// The program with all its variables, as written.
    whole: Program,
    /// The program as it runs, after all passes.
    reduced: Program,
}

/// The results of the engines for an example.
struct Outcome {
    /// The block with the cells of the fixpoint.
    oracle: Vec<String>,
    /// The block with the cells of the simulator.
    simulator: Vec<String>,
    /// The rows of the outputs: from the fixpoint, and from the simulator after all passes.
    outputs: [Vec<String>; 2],
    /// The cycle in which a run stops.
    stops: Option<u64>,
}

impl Runnable {
    fn new(text: &str) -> Runnable {
        let compile = |all_vars| {
            let options = Options { precision: Precision::F64, all_vars, ..Options::default() };
            let program = rml::compile(&Source::text("example", text), &options);
            program.unwrap_or_else(|e| panic!("{e}\n{text}"))
        };
        Runnable { whole: compile(true), reduced: compile(false) }
    }

    fn run(&self, example: &Example) -> Outcome {
        let columns: Vec<Vec<InputCell>> =
            self.whole.inputs().iter().map(|input| example.input(&input.name, &input.ty)).collect();
        let cycle = |n: usize| columns.iter().map(|column| column[n].clone()).collect::<Vec<InputCell>>();
        let inputs: Vec<Vec<InputCell>> = (0..example.cycles).map(cycle).collect();
        let options = OracleOptions { closed: !example.open, ..OracleOptions::default() };
        let flat = self.whole.flat();
        let fixpoint = oracle::run(flat, &inputs, &options);
        let simulated = simulate(flat, &inputs, example, true);
        let reduced = simulate(self.reduced.flat(), &inputs, example, true);
        let names: Vec<&str> = self.whole.inputs().iter().map(|input| &*input.name).collect();
        let by_oracle = |name: &str, n: usize| fixpoint.cycles[n][var(flat, name)].clone();
        let row = |status: &dyn Fn(&str, usize) -> Status, name: &str| {
            let cells: Vec<String> = (0..example.cycles).map(|n| show(&status(name, n))).collect();
            format!("{name}  {}", cells.join("  "))
        };
        let rows = |status: &dyn Fn(&str, usize) -> Status| -> Vec<String> {
            self.reduced.outputs().iter().map(|output| row(status, &output.name)).collect()
        };
        Outcome {
            oracle: example.text(&names, &by_oracle),
            simulator: example.text(&names, &|name, n| status(&simulated, name, n)),
            outputs: [rows(&by_oracle), rows(&|name, n| status(&reduced, name, n))],
            stops: simulate(flat, &inputs, example, false).failure().map(|failure| failure.cycle),
        }
    }
}

fn var(flat: &Flat, name: &str) -> Var {
    let vars = flat.vars.iter_enumerated();
    let mut named = vars.filter(|(_, data)| data.name.as_deref() == Some(name)).map(|(v, _)| v);
    named.next().unwrap_or_else(|| panic!("the program has no variable `{name}`"))
}

fn status(simulator: &Simulator, name: &str, cycle: usize) -> Status {
    simulator.status(cycle as u64, var(simulator.flat(), name)).unwrap().unwrap_or_default()
}

fn simulate(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], example: &Example, keep_going: bool) -> Simulator {
    let options = rml_sim::Options { record: true, keep_going, ..rml_sim::Options::default() };
    let mut simulator = Simulator::new(Arc::clone(flat), options);
    // The error that stops a run is read from the simulator.
    let _ =
        inputs.iter().try_for_each(|row| simulator.feed(row)).and_then(|()| simulator.finish(!example.open));
    simulator
}

/// Checks the examples of a page; returns the page with the computed cells, and the number of examples.
fn check(page: &str, problems: &mut Vec<String>) -> (String, usize) {
    let (mut result, mut runnable, mut count) = (String::new(), None, 0);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        result.push_str(line);
        result.push('\n');
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
        let mut shown: Vec<String> = body.iter().map(|&l| l.to_owned()).collect();
        if info == "rml" {
            runnable = Some(Runnable::new(&body.join("\n")));
        } else if let Some(words) = info.strip_prefix("chronogram") {
            let example = Example::parse(words, &body);
            let program = runnable.as_ref().expect("a program stands before the chronogram");
            let Outcome { oracle, simulator, outputs: [wanted, found], stops } = program.run(&example);
            let mut compare = |what: &str, wanted: &[String], found: &[String]| {
                if wanted != found {
                    problems.push(format!("{what}:\n{}\nwanted:\n{}", found.join("\n"), wanted.join("\n")));
                }
            };
            compare("the page", &oracle, &shown);
            compare("the simulator", &oracle, &simulator);
            // Passes may drop equations with errors (ERROR-6).
            if stops.is_none() {
                compare("the simulator after all passes", &wanted, &found);
            }
            if stops != example.stops {
                problems.push(format!("a run stops in cycle {stops:?}:\n{}", shown.join("\n")));
            }
            shown = oracle;
            count += 1;
        }
        shown.iter().chain([&"```".to_owned()]).for_each(|l| {
            result.push_str(l);
            result.push('\n');
        });
    }
    (result, count)
}

fn pages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/semantics");
    let entries = std::fs::read_dir(folder).expect("the pages");
    let mut pages: Vec<PathBuf> = entries.map(|e| e.expect("readable").path()).collect();
    pages.sort();
    pages
}

#[test]
fn chronograms_are_what_the_engines_compute() {
    let mut count = 0;
    let mut problems = Vec::new();
    for path in pages() {
        let page = std::fs::read_to_string(&path).expect("readable");
        let mut found = Vec::new();
        let (computed, examples) = check(&page, &mut found);
        count += examples;
        if std::env::var_os("RML_BLESS").is_some() && computed != page {
            std::fs::write(&path, computed).expect("writable");
        } else {
            problems.extend(found.into_iter().map(|problem| format!("{}: {problem}", path.display())));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    assert!(count >= 30, "only {count} examples");
}

/// A wrong cell is found.
#[test]
fn a_wrong_cell_is_a_problem() {
    let page = "```rml\nnode main(x: int []) -> (o)\n  o = 0 fby x;\n```\n```chronogram\ncycle  0  1\nx      1  2\no      0  2\n```\n";
    let mut problems = Vec::new();
    let (computed, _) = check(page, &mut problems);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(computed, page.replace("o      0  2", "o      0  1"));
    problems.clear();
    check(&computed, &mut problems);
    assert_eq!(problems, Vec::<String>::new());
}
