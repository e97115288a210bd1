//! All commands use the same program: `check` analyses the equations that run, and `train` and `infer --stream` refuse
//! exactly the programs that it rejects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rml::ir::flat::{Flat, print};
use rml::{Columns, Error, InferOptions, Options, Source, Stream, TrainOptions, codes};
use rml_testkit::Lcg;
use rml_testkit::conformance::{self, ConformanceVector};
use rml_testkit::gradients::LossProgram;

/// The text of a program without the values and numbers of its constants, which are replaced by their types.
fn form(flat: &Flat) -> Vec<String> {
    let constant = |word: &str| {
        let digits = word.trim_matches(['(', ')', ',']).strip_prefix('k')?;
        let k = flat.consts.ids().nth(digits.parse().ok()?)?;
        Some(format!("constant {}", flat.consts[k].ty))
    };
    let text = print(flat);
    let lines = text.lines().filter(|line| !line.starts_with("random ") && !line.starts_with("const "));
    lines
        .map(|line| {
            let words = line.split(' ').map(|word| constant(word).unwrap_or_else(|| word.to_owned()));
            words.collect::<Vec<_>>().join(" ")
        })
        .collect()
}

/// The codes of the analyses among the codes of the given errors.
fn judged<'a>(found: impl Iterator<Item = &'a rml::Diagnostic>) -> BTreeSet<&'static str> {
    let errors = found.filter(|d| d.is_error()).map(|d| d.code);
    errors.filter(|code| codes::analysis::ALL.contains(code)).map(|code| code.name).collect()
}

fn refused<T>(result: &Result<T, Error>) -> BTreeSet<&'static str> {
    result.as_ref().err().map(|e| judged(e.diagnostics().iter())).unwrap_or_default()
}

/// The number of compared programs, and the number of rejected ones.
#[derive(Default)]
struct Count {
    all: usize,
    rejected: usize,
}

impl Count {
    /// Compares the verdicts about a node, and its equations. All commands reject a program that does not compile.
    fn compare(&mut self, source: &Source, options: &Options) {
        let node = options.node.clone().expect("a node is chosen");
        let name = || format!("{} {node}", source.name());
        let report = rml::check_report(source, options);
        let Ok(program) = rml::compile(source, options) else {
            assert!(report.findings.has_errors(), "{}: what does not compile is right", name());
            return;
        };
        let found = judged(report.findings.iter());
        let analysis = rml::analyse(source, options).unwrap_or_else(|e| panic!("{}: {e}", name()));
        if let Some(run) = &analysis.run {
            assert_eq!(form(&run.flat), form(program.flat()), "{}: other equations run", name());
        }
        let (set, batch) = (options.defaults.clone(), options.batch.or(Some(1)));
        let train = TrainOptions { node: Some(node.clone()), set: set.clone(), batch, ..Default::default() };
        let trained = rml::train(source, &Columns::default(), &train, &mut ());
        assert_eq!(refused(&trained), found, "{}: train", name());
        let stream = Stream::new(source, &InferOptions { node: node.clone(), set, ..Default::default() });
        if stream.as_ref().err().is_none_or(|e| e.code() != Some(codes::run::NO_PARAMETERS)) {
            assert_eq!(refused(&stream), found, "{}: infer --stream", name());
        }
        self.all += 1;
        self.rejected += usize::from(!found.is_empty());
    }
}

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
fn examples_are_judged_as_they_run() {
    let mut count = Count::default();
    for place in ["examples", "examples/paper"] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder(place))
            .expect("the examples")
            .map(|f| f.expect("a file").path())
            .collect();
        files.sort();
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "rml")) {
            let source = Source::file(file);
            for analysis in rml::analyse_all(&source, &Options::default()) {
                let defaults = analysis.assumed.iter().cloned().collect();
                let options =
                    Options { node: Some(analysis.node().to_owned()), defaults, ..Options::default() };
                count.compare(&source, &options);
            }
        }
    }
    assert!(count.all > 40, "{}", count.all);
}

#[test]
fn conformance_programs_are_judged_as_they_run() {
    let mut count = Count::default();
    let places = ["vectors", "more", "random"].map(|place| folder("tests/conformance").join(place));
    for file in places.iter().flat_map(|place| conformance::files(place).expect("the vectors")) {
        let text = std::fs::read_to_string(&file).expect("a file");
        let Ok(vector) = ConformanceVector::parse(&text) else { continue };
        let source = Source::text(file.display().to_string(), vector.rml);
        count.compare(&source, &Options { node: Some(vector.main), ..Options::default() });
    }
    assert!(count.all > 200 && count.rejected > 3, "{} {}", count.all, count.rejected);
}

#[test]
fn random_programs_are_judged_as_they_run() {
    let mut count = Count::default();
    for seed in 0..40 {
        let mut text = LossProgram::random(&mut Lcg(seed)).text();
        text.push_str(
            "node learn(x: num [], y: num [2], w: num [2, 2], c: bool [], b: bool [], z: bool [], d: bool [])\n  \
             -> (loss, dw)\n  loss, dx, dy, dw = diff_main(x, y, w, c, b, z, d, true, 1.0);\n",
        );
        let source = Source::text(format!("program {seed}\n{text}"), text);
        for node in ["main", "learn"] {
            count.compare(&source, &Options { node: Some(node.into()), ..Options::default() });
        }
    }
    assert!(count.all > 50, "{}", count.all);
}
