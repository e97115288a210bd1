//! `--profile`: where the time of a command goes.

use std::path::{Path, PathBuf};

use rml::{Engine, Phase, Profile, ProfileReport, Source};
use serde_json::json;

use crate::args::Profiling;
use crate::output::{Output, Stop};
use crate::signals;

/// What `--profile` asks for.
#[derive(Clone, Default)]
pub(super) struct Measuring {
    profile: Option<Profile>,
    file: Option<PathBuf>,
    /// Whether it is for a page alone, and nothing is printed.
    is_quiet: bool,
}

impl Measuring {
    /// Begins to measure, if that is asked for and the file can be written.
    pub(super) fn begin<'p>(
        args: &Profiling,
        source: &Source,
        inputs: impl IntoIterator<Item = Option<&'p PathBuf>>,
    ) -> Result<Self, Stop> {
        let file = args.profile.clone().flatten();
        if let Some(file) = file.as_ref().filter(|file| !super::is_stream(file)) {
            super::check_output(file, source, inputs)?;
        }
        let profile = args.profile.is_some().then(|| Profile::new(file.is_some()));
        Ok(Self { profile, file, is_quiet: false })
    }

    /// Measures for a page, too.
    pub(super) fn for_page(mut self) -> Self {
        self.is_quiet = self.profile.is_none();
        self.profile.get_or_insert_with(|| Profile::new(false));
        self
    }

    /// What was measured so far.
    pub(super) fn report(&self) -> Option<ProfileReport> {
        self.profile.as_ref().map(ProfileReport::new)
    }

    /// That engine, measured.
    pub(super) fn engine(&self, engine: Engine) -> Engine {
        self.profile.as_ref().map_or(engine.clone(), |profile| engine.measured_by(profile))
    }

    /// Does something that belongs to a phase.
    pub(super) fn time<T>(&self, phase: Phase, what: impl FnOnce() -> T) -> T {
        match &self.profile {
            Some(profile) => profile.time(phase, what),
            None => what(),
        }
    }

    /// Has a signal that ends the command write the profile first. Commands that save when a signal comes need not call
    /// it.
    pub(super) fn survive_signals(&self, output: &Output) -> Result<(), Stop> {
        if self.profile.is_none() {
            return Ok(());
        }
        let (measuring, mut output) = (self.clone(), output.clone());
        let write = move || {
            if let Err(Stop::Errors(error)) = measuring.write(&mut output) {
                output.report(error.diagnostics(), error.sources());
            }
        };
        signals::before_the_end(write).map_err(|e| super::deaf(&e).into())
    }

    /// Writes the profile of a command that ended so, whether well or not.
    pub(super) fn end(&self, outcome: Result<(), Stop>, output: &mut Output) -> Result<(), Stop> {
        match (outcome, self.write(output)) {
            (Err(outcome), Err(Stop::Errors(error))) => {
                output.report(error.diagnostics(), error.sources());
                Err(outcome)
            }
            (outcome, written) => outcome.and(written),
        }
    }

    fn write(&self, output: &mut Output) -> Result<(), Stop> {
        let Some(profile) = self.profile.as_ref().filter(|_| !self.is_quiet) else { return Ok(()) };
        let report = ProfileReport::new(profile);
        if output.json() {
            output.note_json(&json!({"profile": report.to_json()}).to_string());
        } else {
            output.note(&report.to_table());
        }
        let Some(file) = &self.file else { return Ok(()) };
        super::write(file, report.to_trace().as_bytes())?;
        if !output.json() {
            output.note(&remark(file, report.left_out()));
        }
        Ok(())
    }
}

/// What has to be said about the trace file.
fn remark(file: &Path, left_out: u64) -> String {
    let file = file.display();
    let all = format!("{file}: a trace for https://ui.perfetto.dev");
    if left_out == 0 {
        return format!("{all}\n");
    }
    format!(
        "{all}; it has the first events of each kind, and lacks {left_out} later ones, which the table counts\n"
    )
}
