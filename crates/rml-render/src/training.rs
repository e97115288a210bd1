//! What the page of a training says about its program, its files and its end.

use std::path::PathBuf;

use rml::{Error, Options, ProfileReport, Source, TrainPage, TrainRecord, TrainReport};

use crate::{human, verdict};

/// A training that is to have a page.
pub struct Begun<'b> {
    /// The program.
    pub source: &'b Source,
    /// The node and its settings; by default the node `train`.
    pub options: Options,
    /// The engine, the backend and its device, by name.
    pub computing: (&'b str, &'b str, &'b str),
    /// The files of data, and the checkpoint to continue from.
    pub files: Vec<PathBuf>,
    /// The command that repeats the training.
    pub command: String,
    /// Whether the result is the best epoch or report instead of the last.
    pub of_best: bool,
}

impl Begun<'_> {
    /// The page before the training: the verdict on the program, and the digests of all files.
    pub fn page(&self) -> TrainPage {
        let (engine, backend, device) = self.computing;
        let mut facts = vec![
            ("version".to_owned(), format!("rml {}", env!("CARGO_PKG_VERSION"))),
            ("engine".to_owned(), format!("{engine}, backend {backend} on {device}")),
        ];
        for path in self.source.files().iter().chain(&self.files) {
            let digest = match rml::digest(path) {
                Ok((hash, length)) => format!("SHA-256 {hash}, {length} bytes"),
                Err(why) => rml::refusal(&why),
            };
            facts.push((path.display().to_string(), digest));
        }
        TrainPage {
            title: format!("Training of {}", self.source.name()),
            verdict: self.verdict(),
            command: self.command.clone(),
            facts,
            of_best: self.of_best,
            ..TrainPage::default()
        }
    }

    /// The facts about the program before it runs; none for a program with errors, since the training reports these.
    fn verdict(&self) -> Vec<String> {
        let node = self.options.node.clone().unwrap_or_else(|| "train".to_owned());
        let options = Options { node: Some(node), ..self.options.clone() };
        let Ok(analysis) = rml::analyse_any_batch(self.source, &options) else { return Vec::new() };
        std::iter::once(verdict::line(&analysis)).chain(verdict::engine_line(&analysis)).collect()
    }
}

/// The page of a training that had begun, with its outcome.
pub fn ended(
    page: &TrainPage,
    record: &TrainRecord,
    outcome: Result<&TrainReport, &Error>,
    profile: Option<ProfileReport>,
) -> TrainPage {
    let render = |e: &Error| human(e.diagnostics(), e.sources(), false);
    TrainPage {
        outcome: how(record, outcome),
        findings: outcome.err().map(render).unwrap_or_default(),
        profile,
        ..page.clone()
    }
}

/// How a training ended, in a sentence.
fn how(record: &TrainRecord, outcome: Result<&TrainReport, &Error>) -> String {
    let done = record.done();
    match outcome {
        Err(_) => format!("It failed after {done}."),
        Ok(report) if report.interrupted => format!("It was interrupted after {done}."),
        Ok(report) if report.out_of_patience => {
            format!("It ended after {done}, since none was better for long.")
        }
        Ok(TrainReport { is_met: Some(false), .. }) => {
            format!("It ended after {done}, before its `until` condition held.")
        }
        Ok(_) => format!("It ended after {done}."),
    }
}
