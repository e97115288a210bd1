//! The capabilities of the server and of the editor.

use std::path::PathBuf;

use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions, CompletionOptions,
    DidChangeWatchedFilesRegistrationOptions, ExecuteCommandOptions, FileSystemWatcher,
    FoldingRangeProviderCapability, GlobPattern, HoverProviderCapability, InitializeParams, OneOf,
    Registration, RegistrationParams, RenameOptions, SaveOptions, SemanticTokensFullOptions,
    SemanticTokensOptions, ServerCapabilities, SignatureHelpOptions, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkDoneProgressOptions,
};
use serde_json::{Value, json};

use crate::lines::Encoding;
use crate::{lenses, texts, tokens};

/// The answer to the `initialize` request, and the unit in which columns are counted.
pub(crate) fn answer(params: &InitializeParams) -> (Value, Encoding) {
    let offered = params.capabilities.general.as_ref().and_then(|g| g.position_encodings.as_deref());
    let encoding = Encoding::of(offered);
    let info = json!({"name": "rml", "version": env!("CARGO_PKG_VERSION")});
    (json!({"capabilities": capabilities(encoding), "serverInfo": info}), encoding)
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
        ..TextDocumentSyncOptions::default()
    };
    let letters = |all: &[&str]| Some(all.iter().map(|c| (*c).to_owned()).collect());
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: letters(&["."]),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: letters(&["(", ","]),
            ..SignatureHelpOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: tokens::legend(),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![lenses::ADJOINT.to_owned()],
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// The folders that the editor has open.
pub(crate) fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    #[allow(deprecated, reason = "what older editors say")]
    let root = params.root_uri.iter().map(texts::path);
    match &params.workspace_folders {
        Some(folders) if !folders.is_empty() => folders.iter().map(|f| texts::path(&f.uri)).collect(),
        _ => root.collect(),
    }
}

/// Whether the editor supports requests to show a document.
pub(crate) fn shows_documents(params: &InitializeParams) -> bool {
    let window = params.capabilities.window.as_ref();
    window.and_then(|w| w.show_document.as_ref()).is_some_and(|show| show.support)
}

/// Whether the editor can report changes of files.
pub(crate) fn watches_files(params: &InitializeParams) -> bool {
    let workspace = params.capabilities.workspace.as_ref();
    let watch = workspace.and_then(|w| w.did_change_watched_files);
    watch.is_some_and(|watch| watch.dynamic_registration == Some(true))
}

/// The request for notifications about changes of programs that are not open.
pub(crate) fn watch() -> RegistrationParams {
    let watchers =
        vec![FileSystemWatcher { glob_pattern: GlobPattern::String("**/*.rml".to_owned()), kind: None }];
    let options = DidChangeWatchedFilesRegistrationOptions { watchers };
    RegistrationParams {
        registrations: vec![Registration {
            id: "programs".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            register_options: serde_json::to_value(options).ok(),
        }],
    }
}
