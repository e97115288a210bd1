//! Damaged programs: for any change to the tokens of the library and the examples, the facade returns a result or
//! diagnostics, and does not panic.

use std::path::Path;
use std::sync::LazyLock;

use rml::{Data, End, Feed, Options, Program, Session, Source, Stage, StaticValue, Value};
use rml_testkit::Lcg;
use rml_testkit::damage::damaged;

/// The largest programs that are run, by the total number of elements of their variables.
const ELEMENTS: usize = 200_000;

/// The texts of the library, of the examples and of the listings of the paper.
static PROGRAMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = ["std", "examples", "examples/paper"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("a folder"));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "rml"));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("readable")).collect()
});

/// A value of each input of a program.
fn row(program: &Program, cycle: usize) -> Vec<(String, Feed)> {
    let of = |info: &rml::InputInfo| {
        let n = info.ty.shape.len();
        let data = match info.ty.dtype {
            rml::DType::Bool => Data::Bool(vec![cycle % 2 == 1; n]),
            rml::DType::Int => Data::Int(vec![1; n]),
            rml::DType::Num => Data::F32(vec![0.5; n]),
        };
        let value = match (&data, info.ty.shape.is_scalar()) {
            (Data::Bool(v), true) => Value::Bool(v[0]),
            (Data::Int(v), true) => Value::Int(v[0]),
            (Data::F32(v), true) => Value::F32(v[0]),
            _ => Value::new(info.ty.shape.clone(), data),
        };
        (
            info.name.to_string(),
            if info.clock.is_some() { Feed::OnDemand(Some(value)) } else { Feed::Value(value) },
        )
    };
    program.inputs().iter().map(of).collect()
}

/// Runs a few cycles; returns whether they succeeded.
fn runs(program: &Program) -> bool {
    let mut session = Session::with_look_ahead(program, 64);
    for cycle in 0..4 {
        let row = row(program, cycle);
        if session.step(row.iter().map(|(name, feed)| (name.as_str(), feed.clone()))).is_err() {
            return false;
        }
    }
    session.finish(End::Closed).is_ok()
}

/// Calls all functions of the facade that accept a text; returns whether the text was a program that ran.
fn try_out(text: &str) -> bool {
    let source = Source::text("mutant", text);
    let sizes = ["n", "d", "units", "classes", "batch"];
    let defaults = sizes.into_iter().map(|name| (name.to_owned(), StaticValue::Int(3))).collect();
    let options = Options { defaults, ..Options::default() };
    let report = rml::check_report(&source, &options);
    for analysis in &report.analyses {
        let _ = (analysis.types(true), analysis.run.as_ref().map(rml::RunFacts::facts));
        let _ = rml::differentiate(&source, &options, analysis.node());
    }
    let options = Options { node: report.analyses.last().map(|a| a.node().to_owned()), ..options };
    for stage in
        [Stage::Parse, Stage::Elab, Stage::Normalize, Stage::Diff, Stage::Inline, Stage::Draw, Stage::Analyse]
    {
        let _ = rml::dump(&source, &options, stage);
    }
    let Ok(program) = rml::compile(&source, &options) else { return false };
    let elements: usize = program.flat().vars.iter().map(|v| v.ty.shape.len()).sum();
    elements <= ELEMENTS && runs(&program)
}

/// The number of damaged programs; `RML_MUTANTS=1000` sets it to 1000.
fn cases() -> usize {
    std::env::var("RML_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

#[test]
fn damaged_programs_never_panic() {
    let mut r = Lcg(1);
    for _ in 0..cases() {
        let (text, donor) = (r.pick(&PROGRAMS), r.pick(&PROGRAMS));
        try_out(&damaged(text, donor, &mut r));
    }
}

/// The test reaches more than the front end: without damage, many programs run.
#[test]
fn undamaged_programs_run() {
    let ran = PROGRAMS.iter().filter(|text| try_out(text)).count();
    assert!(ran > 10, "{ran} of {}", PROGRAMS.len());
}
