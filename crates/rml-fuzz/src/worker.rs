//! The child processes of a campaign: they run cases, and write results to standard output.
//!
//! A worker writes the number of each case before it runs it, so the parent knows which case ended the process.

use std::io::Write;

use rml_ir::random::path_hash;
use rml_testkit::Lcg;

use crate::{Corpus, FuzzInput, Target, checked};

/// A line of a worker's output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// The case with this number begins.
    Case(u64),
    /// The current case failed; the finding as JSON.
    Found(String),
    /// All cases are done.
    Done,
}

impl Line {
    fn write(&self) {
        let text = match self {
            Line::Case(i) => format!("case {i}\n"),
            Line::Found(json) => format!("found {json}\n"),
            Line::Done => "done\n".to_owned(),
        };
        // A write fails if the parent has ended; this process then ends too.
        let mut out = std::io::stdout().lock();
        if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
            std::process::exit(0);
        }
    }

    pub(crate) fn read(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            Some(("case", i)) => Some(Line::Case(i.parse().ok()?)),
            Some(("found", json)) => Some(Line::Found(json.to_owned())),
            None if line == "done" => Some(Line::Done),
            _ => None,
        }
    }
}

/// The case of a target with the given number.
pub fn case(target: &Target, corpus: &Corpus, seed: u64, number: u64) -> FuzzInput {
    let mut r = Lcg(path_hash(&format!("{} {seed} {number}", target.name)));
    r.bits();
    (target.generate)(&mut r, corpus)
}

/// Runs the cases from one number to another (exclusive).
///
/// # Errors
/// The corpus cannot be read.
pub fn run(target: &Target, seed: u64, numbers: std::ops::Range<u64>) -> Result<(), String> {
    let corpus = Corpus::load()?;
    for number in numbers {
        Line::Case(number).write();
        if let Some(found) = checked(target, &case(target, &corpus, seed, number)) {
            Line::Found(found.to_json()).write();
        }
    }
    Line::Done.write();
    Ok(())
}

/// Runs one case.
pub fn run_one(target: &Target, case: &FuzzInput) {
    Line::Case(0).write();
    if let Some(found) = checked(target, case) {
        Line::Found(found.to_json()).write();
    }
    Line::Done.write();
}
