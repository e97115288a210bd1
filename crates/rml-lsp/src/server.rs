//! The state of a session with an editor: the open texts, and the facts about them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::Sender;
use lsp_server::{Message, Request, RequestId};
use lsp_types::request as asked;
use rml::{Diagnostics, Inspection, Survey};

use crate::checker::Job;
use crate::ended::Ended;
use crate::frames;
use crate::lines::{Encoding, Lines};
use crate::texts::{self, Texts};

/// The facts about a text.
#[derive(Default)]
pub(crate) struct Known {
    /// The version whose names are known, and these names.
    pub(crate) names: Option<(i32, Arc<Survey>)>,
    /// The facts about variables, which may be of an older version.
    pub(crate) inspection: Option<Arc<Inspection>>,
    /// The findings that the editor shows.
    pub(crate) findings: Option<(i32, Diagnostics)>,
}

/// The state of a session.
pub(crate) struct Server {
    /// Sends serialised messages to the editor.
    pub(crate) sender: Sender<String>,
    pub(crate) jobs: Sender<Job>,
    pub(crate) encoding: Encoding,
    pub(crate) texts: Texts,
    pub(crate) known: BTreeMap<PathBuf, Known>,
    /// The folders that the editor has open.
    pub(crate) folders: Vec<PathBuf>,
    /// The folder to which texts of the library are written for the editor.
    pub(crate) library: Option<PathBuf>,
    /// Whether the editor supports requests to show a document.
    pub(crate) shows_documents: bool,
    pub(crate) last_request: i32,
}

/// The answer to a request: `Ok(None)` if there is no information.
pub(crate) type Answer<T> = Result<Option<T>, String>;

impl Server {
    pub(crate) fn send(&self, message: impl Into<Message>) -> Result<(), Ended> {
        self.say(frames::content(&message.into()).map_err(Ended)?)
    }

    /// As [`send`](Self::send), for a serialised message.
    pub(crate) fn say(&self, content: String) -> Result<(), Ended> {
        self.sender.send(content).map_err(|_| Ended("the editor went away".to_owned()))
    }

    pub(crate) fn request<R: asked::Request>(&mut self, params: R::Params) -> Result<(), Ended> {
        self.last_request += 1;
        self.send(Request::new(RequestId::from(self.last_request), R::METHOD.to_owned(), params))
    }

    /// The names in the current text.
    pub(crate) fn survey(&mut self, path: &Path) -> Option<Arc<Survey>> {
        let version = self.texts.version(path);
        let known = self.known.get(path).and_then(|known| known.names.as_ref());
        if let Some((_, survey)) = known.filter(|(of, _)| Some(*of) == version) {
            return Some(Arc::clone(survey));
        }
        let survey = Arc::new(rml::survey(&self.texts.source(path)).ok()?);
        if let Some(version) = version {
            self.known.entry(path.to_owned()).or_default().names = Some((version, Arc::clone(&survey)));
        }
        Some(survey)
    }

    /// The facts about an open text.
    pub(crate) fn known(&self, path: &Path) -> Option<&Known> {
        self.known.get(path)
    }

    /// The findings about the current version of an open text.
    pub(crate) fn findings(&self, path: &Path) -> Option<&Diagnostics> {
        let (version, findings) = self.known.get(path)?.findings.as_ref()?;
        (Some(*version) == self.texts.version(path)).then_some(findings)
    }

    /// The path at which an editor can open a text of a program; a text of the library is written to this path first.
    pub(crate) fn path_for_editor(&self, name: &str) -> Option<PathBuf> {
        let library = name.strip_prefix("std/").and_then(|file| file.strip_suffix(".rml"));
        let Some(module) = library else { return Some(PathBuf::from(name)) };
        let text = match module {
            "prelude" => rml::PRELUDE,
            _ => rml::LIBRARY.iter().find(|(n, _)| n.strip_prefix("std.") == Some(module))?.1,
        };
        let path = self.library.as_ref()?.join(name);
        if rml::Source::file(&path).read().is_ok_and(|there| there == text) {
            return Some(path);
        }
        rml::create_folder(path.parent()?).ok()?;
        rml::write_output(&path, text.as_bytes()).ok()?;
        Some(path)
    }

    /// Asks the editor to show a file; returns `false` if it cannot.
    pub(crate) fn show(&mut self, path: &Path) -> Result<bool, String> {
        let Some(uri) = texts::uri(path).filter(|_| self.shows_documents) else { return Ok(false) };
        let params = lsp_types::ShowDocumentParams {
            uri,
            external: Some(false),
            take_focus: Some(true),
            selection: None,
        };
        self.request::<asked::ShowDocument>(params).map_err(|ended| ended.0)?;
        Ok(true)
    }

    /// The folder to which texts for the editor are written.
    pub(crate) fn library(&self) -> Option<&Path> {
        self.library.as_deref()
    }

    /// The open texts, and the programs in the folders that the editor has open.
    pub(crate) fn programs(&self) -> BTreeSet<PathBuf> {
        const MOST: usize = 1000;
        let open = self.texts.paths().cloned();
        open.chain(rml::files_below(&self.folders, "rml", MOST)).collect()
    }
}

/// A position in a text: the survey, the id of the text in it, and the name at the position.
pub(crate) struct Place {
    pub(crate) survey: Arc<Survey>,
    pub(crate) path: PathBuf,
    /// The byte.
    pub(crate) offset: usize,
}

impl Place {
    pub(crate) fn of(server: &mut Server, at: &lsp_types::TextDocumentPositionParams) -> Option<Self> {
        let path = texts::path(&at.text_document.uri);
        let survey = server.survey(&path)?;
        let offset = Lines::new(survey.sources.text(survey.main), server.encoding).offset(at.position);
        Some(Self { survey, path, offset })
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        self.survey.sources.text(self.survey.main)
    }

    /// The name that contains the position or ends at it.
    pub(crate) fn name(&self) -> Option<rml::NamePlace> {
        let own = self.survey.index.names.iter().filter(|name| name.word.file == self.survey.main);
        let at = |span: rml::Span| span.range().start <= self.offset && self.offset <= span.range().end;
        own.copied().filter(|name| at(name.word)).min_by_key(|name| name.word.range().len())
    }
}
