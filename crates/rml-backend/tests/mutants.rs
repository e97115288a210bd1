//! The suite finds defects: a backend with one fault fails the checks that cover this fault.

use std::sync::Arc;

use rml_backend::suite::{checks, table};
use rml_backend::{About, Backend, Buffer, DefKind, Executable, Failure, Function, Held, Options, Outcome};
use rml_backend_cpu::Cpu;
use rml_ir::op::{Op, Unary};
use rml_ir::{Data, Value};

/// The fault of a backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// The last element of every result is slightly wrong.
    Imprecise,
    /// Operators that should have no result have one.
    Careless,
    /// Every call is suspect, so the reference computes it.
    Lazy,
    /// The sign of zero is lost.
    Unsigned,
    /// The backend refuses every function.
    Refuses,
    /// The backend computes a sine for every hyperbolic tangent.
    Confused,
}

#[derive(Debug)]
struct Mutant(Cpu, Fault);

#[derive(Debug)]
struct Faulty(Box<dyn Executable>, Fault, Function);

impl Backend for Mutant {
    fn about(&self) -> About {
        self.0.about()
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        if self.1 == Fault::Refuses {
            return Err(Failure::call("no"));
        }
        let mut asked = function.clone();
        for def in asked.values.iter_mut() {
            if let DefKind::Apply { op, .. } = &mut def.kind
                && (self.1, &*op) == (Fault::Confused, &Op::Unary(Unary::Tanh))
            {
                *op = Op::Unary(Unary::Sin);
            }
        }
        Ok(Box::new(Faulty(self.0.prepare(&asked)?, self.1, function.clone())))
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        self.0.upload(value)
    }
}

impl Executable for Faulty {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let results = match (self.0.run(args)?, self.1) {
            (_, Fault::Lazy) => return Ok(Outcome::Suspect),
            (Outcome::Suspect, Fault::Careless) => {
                let zeros =
                    |x: &rml_backend::Val| Held::Host(Value::zeros(&self.2.values[*x].ty, self.2.precision));
                return Ok(Outcome::Done(self.2.results.iter().map(zeros).collect()));
            }
            (Outcome::Suspect, _) => return Ok(Outcome::Suspect),
            (Outcome::Done(results), _) => results,
        };
        let results = results.iter().map(|r| Ok(Held::Host(spoil(&r.to_host()?, self.1))));
        Ok(Outcome::Done(results.collect::<Result<_, Failure>>()?))
    }
}

/// Applies the fault to a value.
fn spoil(value: &Value, fault: Fault) -> Value {
    let mut data = value.to_data();
    match (&mut data, fault) {
        (Data::F32(v), Fault::Unsigned) => v.iter_mut().for_each(|x| *x += 0.0),
        (Data::F64(v), Fault::Unsigned) => v.iter_mut().for_each(|x| *x += 0.0),
        (Data::Bool(v), Fault::Imprecise) => v.iter_mut().rev().take(1).for_each(|x| *x = !*x),
        (Data::Int(v), Fault::Imprecise) => v.iter_mut().rev().take(1).for_each(|x| *x ^= 1),
        (Data::F32(v), Fault::Imprecise) => v.iter_mut().rev().take(1).for_each(|x| *x = *x * 1.002 + 1e-3),
        (Data::F64(v), Fault::Imprecise) => {
            v.iter_mut().rev().take(1).for_each(|x| *x = *x * (1.0 + 1e-11) + 1e-12)
        }
        _ => {}
    }
    Value::new(value.shape(), data)
}

/// The names of the checks of a topic that a backend with the given fault fails.
fn failed(fault: Fault, topic: &str) -> Vec<String> {
    let mutant = Mutant(Cpu::open(&Options::default()).expect("the embedded backend"), fault);
    let of_topic = checks().into_iter().filter(|c| c.name.starts_with(topic));
    of_topic.filter(|c| !c.run(&mutant).passed()).map(|c| c.name).collect()
}

fn all(topic: &str) -> Vec<String> {
    checks().into_iter().map(|c| c.name).filter(|name| name.starts_with(topic)).collect()
}

#[test]
fn every_check_of_values_finds_an_imprecise_result() {
    assert_eq!(failed(Fault::Imprecise, "values"), all("values"));
    assert_eq!(failed(Fault::Imprecise, "random"), all("random"));
}

#[test]
fn a_backend_that_computes_nothing_or_prepares_nothing_fails() {
    assert_eq!(failed(Fault::Lazy, "values"), all("values"));
    assert_eq!(failed(Fault::Refuses, ""), all(""));
}

#[test]
fn results_instead_of_errors_are_found() {
    let found = failed(Fault::Careless, "edges");
    for name in [
        "neg",
        "abs",
        "to_int",
        "add",
        "sub",
        "mul",
        "div",
        "sum",
        "sum_to",
        "cumsum",
        "gather",
        "pick",
        "scatter_add",
    ] {
        assert!(found.contains(&format!("edges::{name}")), "{name} is not among {found:?}");
    }
}

#[test]
fn a_lost_sign_of_zero_is_found_where_elements_are_only_moved() {
    let found = failed(Fault::Unsigned, "edges");
    for name in [
        "copy",
        "neg",
        "where",
        "transpose",
        "reshape",
        "broadcast",
        "concat",
        "stack",
        "index",
        "gather",
        "pick",
    ] {
        assert!(found.contains(&format!("edges::{name}")), "{name} is not among {found:?}");
    }
}

#[test]
fn a_random_function_that_fails_shrinks_to_the_operator_that_is_wrong() {
    let mutant = Mutant(Cpu::open(&Options::default()).expect("the embedded backend"), Fault::Confused);
    let mut shrunk = 0;
    for check in checks().into_iter().filter(|c| c.name.starts_with("functions::")) {
        for failure in check.run(&mutant).failures() {
            assert!(failure.contains("= tanh") && failure.matches('=').count() <= 3, "{failure}");
            shrunk += 1;
        }
    }
    assert!(shrunk > 5, "only {shrunk} functions fail");
}

/// The table of tolerances in `docs/numerics.md` is up to date.
#[test]
fn the_documentation_states_the_tolerances() {
    const MARKS: [&str; 2] = ["<!-- tolerances -->\n", "<!-- end of tolerances -->\n"];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/numerics.md");
    let text = std::fs::read_to_string(path).expect("docs/numerics.md");
    let [from, to] = MARKS.map(|mark| text.find(mark).expect("a mark"));
    let from = from + MARKS[0].len();
    let wanted = format!("{}\n{}\n{}", &text[..from], table(), &text[to..]);
    if std::env::var_os("RML_BLESS").is_some() {
        std::fs::write(path, &wanted).expect("docs/numerics.md");
    } else {
        assert!(text == wanted, "docs/numerics.md is not up to date: `cargo xtask bless`");
    }
}
