//! The session with an editor: answers its messages one after the other, and publishes the results of the checker.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{Receiver, select, unbounded};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self as said, Notification as _};
use lsp_types::request::{self as asked, Request as _};
use lsp_types::{InitializeParams, PublishDiagnosticsParams, Uri};
use serde::Serialize;
use serde_json::Value;

use crate::checker::{self, Found, Job, What};
use crate::ended::Ended;
use crate::frames::{self, Pipes};
use crate::lines::Encoding;
use crate::server::{Known, Server};
use crate::texts::{self, Texts};
use crate::{
    actions, capabilities, completion, findings, hints, hover, lenses, navigate, outline, rename, signature,
    tokens,
};

/// Serves an editor.
pub(crate) fn run(editor: &Pipes, library: Option<PathBuf>) -> Result<(), Ended> {
    let ended = |error: &dyn std::fmt::Display| Ended(error.to_string());
    let (params, encoding) = begin(editor)?;
    let (jobs, to_do) = unbounded();
    let (done, found) = unbounded();
    let checker = std::thread::Builder::new().name("checker".to_owned());
    let checker = checker.spawn(move || checker::run(&to_do, &done)).map_err(|e| ended(&e))?;
    let mut server = Server {
        sender: editor.to_editor.clone(),
        jobs,
        encoding,
        texts: Texts::default(),
        known: BTreeMap::new(),
        folders: capabilities::folders(&params),
        library,
        shows_documents: capabilities::shows_documents(&params),
        last_request: 0,
    };
    if capabilities::watches_files(&params) {
        server.request::<asked::RegisterCapability>(capabilities::watch())?;
    }
    let served = server.serve(editor, &found);
    drop(server);
    // The result of a running check is no longer needed, and would take a moment.
    drop(found);
    let _ = checker.join();
    served
}

/// Answers the request that begins a session, and refuses other requests before it.
fn begin(editor: &Pipes) -> Result<(InitializeParams, Encoding), Ended> {
    let say = |content| editor.to_editor.send(content).map_err(|_| gone());
    loop {
        match editor.next().ok_or_else(gone)? {
            Message::Request(Request { id, method, params, .. }) if method == asked::Initialize::METHOD => {
                let params = serde_json::from_value(params).map_err(|e| Ended(e.to_string()))?;
                let (result, encoding) = capabilities::answer(&params);
                say(frames::answer(&id, &result).map_err(Ended)?)?;
                return Ok((params, encoding));
            }
            Message::Request(Request { id, method, .. }) => {
                let why = format!("`{method}` came before `{}`", asked::Initialize::METHOD);
                let refused = Response::new_err(id, ErrorCode::ServerNotInitialized as i32, why);
                say(frames::content(&refused.into()).map_err(Ended)?)?;
            }
            Message::Notification(note) if note.method == said::Exit::METHOD => return Err(gone()),
            Message::Notification(_) | Message::Response(_) => {}
        }
    }
}

fn gone() -> Ended {
    Ended("the editor went away without ending the session".to_owned())
}

impl Server {
    fn serve(&mut self, editor: &Pipes, found: &Receiver<Found>) -> Result<(), Ended> {
        loop {
            select! {
                recv(editor.from_editor) -> heard => match heard.map_err(|_| gone())? {
                    Ok(Message::Request(request)) if request.method == asked::Shutdown::METHOD => {
                        return self.shut_down(request.id, editor);
                    }
                    Ok(Message::Request(request)) => self.answer(request)?,
                    Ok(Message::Notification(note)) if note.method == said::Exit::METHOD => {
                        return Err(gone());
                    }
                    Ok(Message::Notification(note)) => self.note(note)?,
                    Ok(Message::Response(_)) => {}
                    Err(answer) => self.say(answer)?,
                },
                recv(found) -> found => match found {
                    Ok(found) => self.found(found)?,
                    Err(_) => return Err(Ended("the thread that checks texts ended".to_owned())),
                },
            }
        }
    }

    /// Ends the session: after this, only `exit` is allowed.
    fn shut_down(&self, id: RequestId, editor: &Pipes) -> Result<(), Ended> {
        self.send(Response::new_ok(id, ()))?;
        loop {
            match editor.next().ok_or_else(gone)? {
                Message::Notification(note) if note.method == said::Exit::METHOD => return Ok(()),
                Message::Request(Request { id, .. }) => {
                    let why = "the session is shut down".to_owned();
                    self.send(Response::new_err(id, ErrorCode::InvalidRequest as i32, why))?;
                }
                Message::Notification(_) | Message::Response(_) => {}
            }
        }
    }

    // Notifications from the editor.

    fn note(&mut self, note: Notification) -> Result<(), Ended> {
        let params = note.params;
        match note.method.as_str() {
            said::DidOpenTextDocument::METHOD => {
                let Some(p) = read::<said::DidOpenTextDocument>(params) else { return Ok(()) };
                let path = texts::path(&p.text_document.uri);
                self.texts.open(path.clone(), p.text_document.version, p.text_document.text);
                self.check(&path)
            }
            said::DidChangeTextDocument::METHOD => {
                let Some(p) = read::<said::DidChangeTextDocument>(params) else { return Ok(()) };
                let path = texts::path(&p.text_document.uri);
                self.texts.change(&path, p.text_document.version, p.content_changes, self.encoding);
                self.check(&path)?;
                self.check_importing(&path)
            }
            said::DidCloseTextDocument::METHOD => {
                let Some(p) = read::<said::DidCloseTextDocument>(params) else { return Ok(()) };
                let path = texts::path(&p.text_document.uri);
                self.texts.close(&path);
                self.known.remove(&path);
                self.publish(p.text_document.uri, None, Vec::new())?;
                self.check_importing(&path)
            }
            said::DidSaveTextDocument::METHOD | said::DidChangeWatchedFiles::METHOD => {
                let open: Vec<PathBuf> = self.texts.paths().cloned().collect();
                open.iter().try_for_each(|path| self.check(path))
            }
            _ => Ok(()),
        }
    }

    /// Requests a check of an open text.
    fn check(&self, path: &Path) -> Result<(), Ended> {
        let Some(version) = self.texts.version(path) else { return Ok(()) };
        let job = Job { path: path.to_owned(), version, source: self.texts.source(path) };
        self.jobs.send(job).map_err(|_| Ended("the thread that checks texts ended".to_owned()))
    }

    /// Requests a check of the open texts that import a text.
    fn check_importing(&self, path: &Path) -> Result<(), Ended> {
        let name = path.display().to_string();
        let imports = |known: &Known| {
            let names = known.names.iter().map(|(_, survey)| survey);
            names.into_iter().any(|s| s.sources.ids().any(|id| id != s.main && s.sources.name(id) == name))
        };
        let importing = self.known.iter().filter(|(other, known)| *other != path && imports(known));
        importing.map(|(other, _)| other).try_for_each(|other| self.check(other))
    }

    // Results of the checker.

    fn found(&mut self, found: Found) -> Result<(), Ended> {
        let Some(version) = self.texts.version(&found.path) else { return Ok(()) };
        let known = self.known.entry(found.path.clone()).or_default();
        let (findings, shown) = match found.what {
            What::Forms(survey) => {
                let findings = survey.findings.clone();
                let shown = findings::published(&findings, &survey.sources, survey.main, self.encoding);
                known.names = Some((found.version, Arc::new(*survey)));
                (findings, shown)
            }
            What::All(inspection) => {
                let report = &inspection.report;
                let findings = report.findings.clone();
                let shown = findings::published(&findings, &report.sources, inspection.main, self.encoding);
                known.inspection = Some(Arc::new(*inspection));
                (findings, shown)
            }
            What::Unread(findings) => {
                let none = rml::Sources::new();
                let shown = findings::published(&findings, &none, rml::FileId(0), self.encoding);
                (findings, shown)
            }
        };
        known.findings = Some((found.version, findings));
        if found.version != version {
            return Ok(());
        }
        match texts::uri(&found.path) {
            Some(uri) => self.publish(uri, Some(version), shown),
            None => Ok(()),
        }
    }

    fn publish(
        &self,
        uri: Uri,
        version: Option<i32>,
        diagnostics: Vec<lsp_types::Diagnostic>,
    ) -> Result<(), Ended> {
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        self.send(Notification::new(said::PublishDiagnostics::METHOD.to_owned(), params))
    }

    // Requests from the editor.

    fn answer(&mut self, request: Request) -> Result<(), Ended> {
        let Request { id, method, params, .. } = request;
        match self.dispatch(&id, &method, params) {
            Ok(content) => self.say(content),
            Err((code, why)) => self.send(Response::new_err(id, code as i32, why)),
        }
    }

    /// The answer to a request, as JSON.
    fn dispatch(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Value,
    ) -> Result<String, (ErrorCode, String)> {
        match method {
            asked::GotoDefinition::METHOD => {
                self.ask::<asked::GotoDefinition, _>(id, params, navigate::definition)
            }
            asked::References::METHOD => self.ask::<asked::References, _>(id, params, navigate::references),
            asked::DocumentHighlightRequest::METHOD => {
                self.ask::<asked::DocumentHighlightRequest, _>(id, params, navigate::highlights)
            }
            asked::PrepareRenameRequest::METHOD => {
                self.ask::<asked::PrepareRenameRequest, _>(id, params, rename::prepare)
            }
            asked::Rename::METHOD => self.ask::<asked::Rename, _>(id, params, rename::rename),
            asked::HoverRequest::METHOD => self.ask::<asked::HoverRequest, _>(id, params, hover::hover),
            asked::SignatureHelpRequest::METHOD => {
                self.ask::<asked::SignatureHelpRequest, _>(id, params, signature::help)
            }
            asked::Completion::METHOD => self.ask::<asked::Completion, _>(id, params, completion::complete),
            asked::InlayHintRequest::METHOD => {
                self.ask::<asked::InlayHintRequest, _>(id, params, hints::hints)
            }
            asked::CodeLensRequest::METHOD => {
                self.ask::<asked::CodeLensRequest, _>(id, params, lenses::lenses)
            }
            asked::ExecuteCommand::METHOD => {
                self.ask::<asked::ExecuteCommand, _>(id, params, lenses::execute)
            }
            asked::SemanticTokensFullRequest::METHOD => {
                self.ask::<asked::SemanticTokensFullRequest, _>(id, params, tokens::tokens)
            }
            asked::DocumentSymbolRequest::METHOD => {
                self.ask::<asked::DocumentSymbolRequest, _>(id, params, outline::symbols)
            }
            asked::FoldingRangeRequest::METHOD => {
                self.ask::<asked::FoldingRangeRequest, _>(id, params, outline::folds)
            }
            asked::CodeActionRequest::METHOD => {
                self.ask::<asked::CodeActionRequest, _>(id, params, actions::actions)
            }
            asked::Formatting::METHOD => self.ask::<asked::Formatting, _>(id, params, actions::format),
            _ => Err((ErrorCode::MethodNotFound, format!("`{method}` is not served"))),
        }
    }

    fn ask<R: asked::Request, T: Serialize>(
        &mut self,
        id: &RequestId,
        params: Value,
        answer: impl FnOnce(&mut Self, R::Params) -> Result<T, String>,
    ) -> Result<String, (ErrorCode, String)> {
        let params = serde_json::from_value(params).map_err(|e| (ErrorCode::InvalidParams, e.to_string()))?;
        let result = answer(self, params).map_err(|why| (ErrorCode::RequestFailed, why))?;
        frames::answer(id, &result).map_err(|why| (ErrorCode::InternalError, why))
    }
}

fn read<N: said::Notification>(params: Value) -> Option<N::Params> {
    serde_json::from_value(params).ok()
}
