//! Damaged programs: whatever becomes of the tokens of the library and the examples, the facade answers with a result or with
//! diagnostics, and does not panic.

use std::path::Path;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use rml::{Data, End, Feed, Options, Program, Session, Source, Stage, StaticValue, Value};

/// The largest programs that are run, by the elements of all their variables.
const ELEMENTS: usize = 200_000;

/// What is done to the tokens; positions count round the end.
#[derive(Clone, Debug)]
enum Edit {
    Delete(usize),
    Repeat(usize),
    Swap(usize, usize),
    /// One token in place of another.
    Copy(usize, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = || 0_usize..10_000;
    let edit = prop_oneof![
        at().prop_map(Edit::Delete),
        at().prop_map(Edit::Repeat),
        (at(), at()).prop_map(|(a, b)| Edit::Swap(a, b)),
        (at(), at()).prop_map(|(a, b)| Edit::Copy(a, b)),
    ];
    vec(edit, 1..4)
}

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

/// Words, numbers, runs of spaces, and other characters one by one.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut last = ' ';
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    for c in text.chars() {
        match tokens.last_mut() {
            Some(token) if is_word(c) && is_word(last) || c == ' ' && last == ' ' => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = c;
    }
    tokens
}

fn damaged(text: &str, edits: &[Edit]) -> String {
    let mut tokens = tokens(text);
    for edit in edits {
        let n = tokens.len();
        match *edit {
            Edit::Delete(at) => {
                tokens.remove(at % n);
            }
            Edit::Repeat(at) => tokens.insert(at % n, tokens[at % n].clone()),
            Edit::Swap(a, b) => tokens.swap(a % n, b % n),
            Edit::Copy(from, to) => tokens[to % n] = tokens[from % n].clone(),
        }
    }
    tokens.concat()
}

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

/// Runs a few cycles, whatever comes of it; whether they ended well.
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

/// Takes a text through all that the facade does with one; whether it was a program that ran.
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
        [Stage::Parse, Stage::Elab, Stage::Normalize, Stage::Diff, Stage::Inline, Stage::Fold, Stage::Analyse]
    {
        let _ = rml::dump(&source, &options, stage);
    }
    let Ok(program) = rml::compile(&source, &options) else { return false };
    let elements: usize = program.flat().vars.iter().map(|v| v.ty.shape.len()).sum();
    elements <= ELEMENTS && runs(&program)
}

/// `RML_MUTANTS=1000` tries more.
fn cases() -> u32 {
    std::env::var("RML_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_programs_never_panic(which in 0_usize..1000, edits in edits()) {
        let text = &PROGRAMS[which % PROGRAMS.len()];
        try_out(&damaged(text, &edits));
    }
}

/// What is tried out is more than the front end: without damage many programs run.
#[test]
fn undamaged_programs_run() {
    let ran = PROGRAMS.iter().filter(|text| try_out(text)).count();
    assert!(ran > 10, "{ran} of {}", PROGRAMS.len());
}
