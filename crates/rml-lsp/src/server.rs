//! The state of a session with an editor: what is open, and what is known about it.

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

/// What is known about a text.
#[derive(Default)]
pub(crate) struct Known {
    /// The version of it whose names are known, and those.
    pub(crate) names: Option<(i32, Arc<Survey>)>,
    /// What is known about variables, perhaps of an older version.
    pub(crate) inspection: Option<Arc<Inspection>>,
    /// The findings that the editor shows.
    pub(crate) findings: Option<(i32, Diagnostics)>,
}

/// The state of a session.
pub(crate) struct Server {
    /// For what the editor is told, as JSON.
    pub(crate) sender: Sender<String>,
    pub(crate) jobs: Sender<Job>,
    pub(crate) encoding: Encoding,
    pub(crate) texts: Texts,
    pub(crate) known: BTreeMap<PathBuf, Known>,
    /// The folders that the editor has open.
    pub(crate) folders: Vec<PathBuf>,
    /// Where texts of the library are put for the editor.
    pub(crate) library: Option<PathBuf>,
    /// Whether the editor shows a document that it is told to.
    pub(crate) shows_documents: bool,
    pub(crate) last_request: i32,
}

/// What a request is answered with: `Ok(None)` if there is nothing to say.
pub(crate) type Answer<T> = Result<Option<T>, String>;

impl Server {
    pub(crate) fn send(&self, message: impl Into<Message>) -> Result<(), Ended> {
        self.say(frames::content(&message.into()).map_err(Ended)?)
    }

    /// As [`send`](Self::send), of what is JSON already.
    pub(crate) fn say(&self, content: String) -> Result<(), Ended> {
        self.sender.send(content).map_err(|_| Ended("the editor went away".to_owned()))
    }

    pub(crate) fn request<R: asked::Request>(&mut self, params: R::Params) -> Result<(), Ended> {
        self.last_request += 1;
        self.send(Request::new(RequestId::from(self.last_request), R::METHOD.to_owned(), params))
    }

    /// The names of a text as it is now.
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

    /// What is known about an open text.
    pub(crate) fn known(&self, path: &Path) -> Option<&Known> {
        self.known.get(path)
    }

    /// The findings about an open text as it is now.
    pub(crate) fn findings(&self, path: &Path) -> Option<&Diagnostics> {
        let (version, findings) = self.known.get(path)?.findings.as_ref()?;
        (Some(*version) == self.texts.version(path)).then_some(findings)
    }

    /// The path by which an editor opens a text of a program; a text of the library is put there first.
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

    /// Has the editor show a file; `false` if it cannot.
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

    /// Where texts are put that are made for the editor.
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

/// The name at a place of a text: the survey, the text's id there, and what stands there.
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

    /// The name that the place is in or at the end of.
    pub(crate) fn name(&self) -> Option<rml::NamePlace> {
        let own = self.survey.index.names.iter().filter(|name| name.word.file == self.survey.main);
        let at = |span: rml::Span| span.range().start <= self.offset && self.offset <= span.range().end;
        own.copied().filter(|name| at(name.word)).min_by_key(|name| name.word.range().len())
    }
}
