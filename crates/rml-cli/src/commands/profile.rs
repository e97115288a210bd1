//! `--profile`: the time that a command spends, by source line.

use std::path::{Path, PathBuf};

use rml::{Engine, Phase, Profile, ProfileReport, Source};
use serde_json::json;

use crate::args::Profiling;
use crate::output::{Output, Stop};
use crate::signals;

/// The measurements that `--profile` asks for.
#[derive(Clone, Default)]
pub(super) struct Measuring {
    profile: Option<Profile>,
    file: Option<PathBuf>,
    /// Whether the profile is only for a page, and nothing is printed.
    is_quiet: bool,
}

impl Measuring {
    /// Begins to measure if `--profile` is given; fails if its file cannot be written.
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

    /// The measurements so far, if there are any.
    pub(super) fn report(&self) -> Option<ProfileReport> {
        self.profile.as_ref().map(ProfileReport::new)
    }

    /// The engine, with measuring if it is asked for.
    pub(super) fn engine(&self, engine: Engine) -> Engine {
        self.profile.as_ref().map_or(engine.clone(), |profile| engine.measured_by(profile))
    }

    /// Measures an action as part of a phase.
    pub(super) fn time<T>(&self, phase: Phase, what: impl FnOnce() -> T) -> T {
        match &self.profile {
            Some(profile) => profile.time(phase, what),
            None => what(),
        }
    }

    /// Writes the profile before a signal ends the command. Commands that save on a signal need not call this function.
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

    /// Writes the profile of a command with this outcome, a success or a failure.
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

/// The remark about the trace file.
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
