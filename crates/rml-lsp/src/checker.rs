//! The thread that checks texts: names, types and shapes at once; clocks, causality and everything else when no newer
//! text waits.

use std::path::{Path, PathBuf};

use crossbeam_channel::{Receiver, Sender};
use rml::{Diagnostics, Inspection, Inspector, Source, Survey};

/// A text to check.
pub(crate) struct Job {
    pub(crate) path: PathBuf,
    pub(crate) version: i32,
    pub(crate) source: Source,
}

/// The result of checking a text.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) version: i32,
    pub(crate) what: What,
}

/// The result of one of the two steps.
pub(crate) enum What {
    /// Names, types and shapes.
    Forms(Box<Survey>),
    /// All findings and analyses.
    All(Box<Inspection>),
    /// The text cannot be read.
    Unread(Diagnostics),
}

/// Checks texts until the channel is closed. If several texts with one path wait, only the last one is checked.
pub(crate) fn run(jobs: &Receiver<Job>, found: &Sender<Found>) {
    let mut slow: Vec<(PathBuf, i32)> = Vec::new();
    let mut inspectors = Inspectors::default();
    loop {
        // New texts are more urgent than the remaining work.
        let mut quick: Vec<Job> = Vec::new();
        if slow.is_empty() {
            match jobs.recv() {
                Ok(job) => quick.push(job),
                Err(_) => return,
            }
        }
        for job in jobs.try_iter() {
            quick.retain(|older| older.path != job.path);
            quick.push(job);
        }
        slow.retain(|(older, _)| quick.iter().all(|job| job.path != *older));
        for Job { path, version, source } in quick {
            let what = match inspectors.of(&path).survey(&source) {
                Ok(survey) => What::Forms(Box::new(survey)),
                Err(error) => What::Unread(error.diagnostics().clone()),
            };
            if found.send(Found { path: path.clone(), version, what }).is_err() {
                return;
            }
            slow.push((path, version));
        }
        if jobs.is_empty() && !slow.is_empty() {
            let (path, version) = slow.remove(0);
            let Some(inspection) = inspectors.of(&path).inspect() else { continue };
            let what = What::All(Box::new(inspection));
            if found.send(Found { path, version, what }).is_err() {
                return;
            }
        }
    }
}

/// The inspectors of the texts that were checked last, the most recent one at the end.
#[derive(Default)]
struct Inspectors(Vec<(PathBuf, Inspector)>);

impl Inspectors {
    /// The number of texts whose inspectors are kept.
    const KEPT: usize = 8;

    fn of(&mut self, path: &Path) -> &mut Inspector {
        match self.0.iter().position(|(other, _)| other == path) {
            Some(known) => self.0[known..].rotate_left(1),
            None => {
                if self.0.len() == Self::KEPT {
                    self.0.remove(0);
                }
                self.0.push((path.to_owned(), Inspector::default()));
            }
        }
        let last = self.0.len() - 1;
        &mut self.0[last].1
    }
}
