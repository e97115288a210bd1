//! The page of a training, and the picture of its curves.

use std::path::PathBuf;

use pyo3::prelude::*;
use rml::{
    Classes, EpochSummary, Error, Options, Profile, ProfileReport, Source, TrainOptions, TrainPage,
    TrainRecord, TrainReport, Written,
};
use rml_render::training::{self, Begun};

use crate::options::Computing;

/// How many windows of an evaluation a page shows.
const SAMPLES: usize = 12;

/// The files for people that a training writes.
#[derive(FromPyObject, Clone)]
pub(crate) struct Shown {
    pub(crate) page: Option<PathBuf>,
    pub(crate) plot: Option<PathBuf>,
    /// The files of data.
    pub(crate) files: Vec<PathBuf>,
    /// The text of the call in Python, for the page.
    pub(crate) call: String,
}

/// What was seen of a training, as far as a page or a picture shows it.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) record: Option<TrainRecord>,
    pub(crate) epochs: Option<Vec<EpochSummary>>,
}

/// What is written at the end of a training.
pub(crate) struct Showing {
    shown: Shown,
    begun: TrainPage,
    profile: Option<Profile>,
}

impl Shown {
    /// The options of a training that is shown: a page has samples, and a confusion matrix if it is clear of what.
    pub(crate) fn options(&self, options: TrainOptions) -> TrainOptions {
        let classes = match options.classes {
            Classes::Nothing if self.page.is_some() => Classes::Usual,
            asked => asked,
        };
        TrainOptions { classes, samples: if self.page.is_some() { SAMPLES } else { 0 }, ..options }
    }

    /// Refuses files that replace each other, or that replace the program or the data.
    pub(crate) fn check(&self, source: &Source, options: &TrainOptions) -> Result<(), Error> {
        let files =
            [("save", &options.save), ("best", &options.best), ("plot", &self.plot), ("report", &self.page)];
        let written = files.iter().filter_map(|(name, path)| Some(Written::file(name, path.as_ref()?)));
        let log = options.log.as_ref().map(|log| Written::folder("log", log, &rml::LOG_FILES));
        rml::check_distinct(&written.chain(log).collect::<Vec<_>>())?;
        if options.ranks.as_ref().is_some_and(|ranks| !ranks.is_first()) {
            return Ok(());
        }
        let inputs: Vec<PathBuf> = source.files().into_iter().chain(self.files.clone()).collect();
        files
            .iter()
            .filter_map(|(_, path)| path.as_ref())
            .try_for_each(|path| rml::check_output(path, &inputs))
    }

    /// Begins to record what is shown later.
    pub(crate) fn begin(
        self,
        source: &Source,
        options: &TrainOptions,
        computing: &Computing,
    ) -> (Showing, Seen) {
        let begun = self.page.as_ref().map(|_| {
            let begun = Begun {
                source,
                options: Options {
                    node: options.node.clone(),
                    set: options.set.clone(),
                    batch: options.batch,
                    precision: options.precision,
                    ..Options::default()
                },
                computing: computing.names(),
                files: self.files.iter().chain(&options.resume).cloned().collect(),
                command: self.call.clone(),
                of_best: options.best.is_some(),
            };
            begun.page()
        });
        let seen = Seen {
            record: self.page.as_ref().map(|_| TrainRecord::default()),
            epochs: self.plot.as_ref().map(|_| Vec::new()),
        };
        let profile = self.page.as_ref().map(|_| Profile::new(false));
        (Showing { shown: self, begun: begun.unwrap_or_default(), profile }, seen)
    }
}

impl Seen {
    /// Keeps an epoch or report.
    pub(crate) fn epoch(&mut self, summary: &EpochSummary) {
        if let Some(epochs) = &mut self.epochs {
            epochs.push(EpochSummary { samples: None, ..summary.clone() });
        }
    }
}

impl Showing {
    /// The measurements for the page.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Writes the files, however the training ended. A failure to write them does not hide why the training failed.
    pub(crate) fn end(&self, seen: &Seen, outcome: Result<TrainReport, Error>) -> Result<TrainReport, Error> {
        let written = self.write(seen, outcome.as_ref());
        outcome.and_then(|report| written.map(|()| report))
    }

    fn write(&self, seen: &Seen, outcome: Result<&TrainReport, &Error>) -> Result<(), Error> {
        if let (Some(file), Some(record)) = (&self.shown.page, &seen.record)
            && record.has_begun()
        {
            let profile = self.profile.as_ref().map(ProfileReport::new);
            let page = training::ended(&self.begun, record, outcome, profile);
            rml::write_output(file, record.page(&page).as_bytes())?;
        }
        match (&self.shown.plot, &seen.epochs) {
            (Some(file), Some(epochs)) if !epochs.is_empty() => {
                rml::write_output(file, rml::learning_curves(epochs).as_bytes())
            }
            _ => Ok(()),
        }
    }
}
