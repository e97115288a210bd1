//! The page that compares the runs of a folder, while they are trained and afterwards.

use std::path::{Path, PathBuf};
use std::thread;

use rml::{Error, RunsPage};

use super::page;
use super::served::{self, Address};
use super::watched::{self, State};
use crate::output::{Output, Stop};

/// The page of a folder as it was made last.
struct Shown {
    folder: PathBuf,
    page: RunsPage,
    state: State,
    /// How often it was made.
    count: u64,
    html: String,
}

impl Shown {
    /// The page that there is now.
    fn now(&mut self) -> (u64, String) {
        let state = watched::state(&[], &rml::run_files(&self.folder));
        if self.count == 0 || state != self.state {
            self.html = rml::runs_page(&self.folder, &self.page).unwrap_or_else(|e| page::of_error(&e, true));
            (self.state, self.count) = (state, self.count + 1);
        }
        (self.count, self.html.clone())
    }
}

fn shown(folder: &Path, page: RunsPage) -> Shown {
    let page = RunsPage { live: true, ..page };
    Shown { folder: folder.to_owned(), page, state: State::new(), count: 0, html: String::new() }
}

/// Serves the page of a folder until Ctrl-C.
pub(super) fn view(folder: &Path, output: &mut Output) -> Result<(), Stop> {
    // What is wrong with it is told here first.
    rml::runs_page(folder, &RunsPage::default())?;
    let (listener, address) = Address::open()?;
    output.print(&format!("{}\n", address.url()))?;
    output.note("Ctrl-C ends this\n");
    let mut shown = shown(folder, RunsPage::default());
    served::serve(listener, &address, || shown.now());
    Ok(())
}

/// Serves the page of a folder while this process trains its runs.
pub(super) fn view_beside(folder: &Path, page: RunsPage, output: &mut Output) -> Result<(), Stop> {
    let (listener, address) = Address::open()?;
    output.note(&format!("{}\n", address.url()));
    let mut shown = shown(folder, page);
    thread::spawn(move || served::serve(listener, &address, || shown.now()));
    Ok(())
}

/// Writes the page of a folder.
pub(super) fn write(file: &Path, folder: &Path, page: &RunsPage) -> Result<(), Stop> {
    let html =
        rml::runs_page(folder, page).map_err(|e: Error| e.note("the page compares the logs of all runs"))?;
    super::write(file, html.as_bytes())
}
