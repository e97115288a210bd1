//! The thread that checks texts: names, types and shapes at once; clocks, causality and the rest when no newer text waits.

use std::path::PathBuf;

use crossbeam_channel::{Receiver, Sender};
use rml::{Diagnostics, Inspection, Source, Survey};

/// A text to be checked.
pub(crate) struct Job {
    pub(crate) path: PathBuf,
    pub(crate) version: i32,
    pub(crate) source: Source,
}

/// What was found out of a text.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) version: i32,
    pub(crate) what: What,
}

/// One of the two steps.
pub(crate) enum What {
    /// Names, types and shapes.
    Forms(Box<Survey>),
    /// Everything.
    All(Box<Inspection>),
    /// The text cannot be read.
    Unread(Diagnostics),
}

/// Checks what comes until nothing can come any more. Of several texts of one path the last one counts.
pub(crate) fn run(jobs: &Receiver<Job>, found: &Sender<Found>) {
    let mut slow: Vec<Job> = Vec::new();
    loop {
        // What came meanwhile is more urgent than what is left to be done.
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
        slow.retain(|older| quick.iter().all(|job| job.path != older.path));
        for job in quick {
            let checked = rml::survey_checked(&job.source);
            let what = match checked {
                Ok(survey) => What::Forms(Box::new(survey)),
                Err(error) => What::Unread(error.diagnostics().clone()),
            };
            if found.send(Found { path: job.path.clone(), version: job.version, what }).is_err() {
                return;
            }
            slow.push(job);
        }
        if jobs.is_empty() && !slow.is_empty() {
            let Job { path, version, source } = slow.remove(0);
            let what = What::All(Box::new(rml::inspect(&source)));
            if found.send(Found { path, version, what }).is_err() {
                return;
            }
        }
    }
}
