//! Code lenses above a node: run, trace and train it in a terminal of the editor; show its adjoint.

use std::sync::Arc;

use lsp_types::{CodeLensParams, ExecuteCommandParams, Range};
use rml::{Meaning, Options};
use serde::Serialize;
use serde_json::{Value, json};

use crate::lines::Lines;
use crate::server::{Answer, Server};
use crate::texts;

/// The command that the server executes.
pub(crate) const ADJOINT: &str = "rml.adjoint";

/// A lens in the form of the protocol's `CodeLens`, without a tree of JSON for each argument.
#[derive(Serialize)]
pub(crate) struct Lens {
    range: Range,
    command: Command,
}

#[derive(Serialize)]
struct Command {
    title: &'static str,
    command: &'static str,
    arguments: [Argument; 1],
}

/// The node of a command.
#[derive(Serialize)]
struct Argument {
    #[serde(serialize_with = "shared")]
    file: Arc<str>,
    #[serde(serialize_with = "shared")]
    node: Arc<str>,
}

fn shared<S: serde::Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

/// The lenses of a text.
pub(crate) fn lenses(server: &mut Server, params: CodeLensParams) -> Answer<Vec<Lens>> {
    let path = texts::path(&params.text_document.uri);
    let Some(survey) = server.survey(&path) else { return Ok(None) };
    let lines = Lines::new(survey.sources.text(survey.main), server.encoding);
    let file: Arc<str> = path.display().to_string().into();
    let mut all = Vec::new();
    let adjoints = survey.index.names.iter();
    let adjoints = adjoints.filter(|name| matches!(name.meaning, Meaning::Node(_, order) if order > 0));
    let adjoints = adjoints.filter(|name| name.span.file == survey.main);
    let mut adjoints: Vec<usize> = adjoints.map(|name| name.span.range().start).collect();
    adjoints.sort_unstable();
    for node in survey.index.nodes.iter().filter(|node| node.name_span.file == survey.main) {
        let first = adjoints.partition_point(|at| *at < node.span.range().start);
        let trains = adjoints.get(first).is_some_and(|at| *at < node.span.range().end);
        // Nodes for differentiation run as part of a training, not on their own.
        let mut commands = match node.overrides {
            true => Vec::new(),
            false => vec![("run", "rml.run"), ("trace", "rml.trace")],
        };
        commands.extend(trains.then_some(("train", "rml.train")));
        commands.push(("adjoint", ADJOINT));
        let (range, name) = (lines.range(node.name_span.range()), Arc::from(&*node.name));
        for (title, command) in commands {
            let arguments = [Argument { file: Arc::clone(&file), node: Arc::clone(&name) }];
            all.push(Lens { range, command: Command { title, command, arguments } });
        }
    }
    Ok(Some(all))
}

/// Computes the adjoint of a node, and asks the editor to show it; the answer is its text.
pub(crate) fn execute(server: &mut Server, params: ExecuteCommandParams) -> Answer<Value> {
    if params.command != ADJOINT {
        return Err(format!("the server does not carry out `{}`", params.command));
    }
    let word = |name: &str| params.arguments.first().and_then(|a| a.get(name)).and_then(Value::as_str);
    let (Some(file), Some(node)) = (word("file"), word("node")) else {
        return Err("expected an argument {\"file\": .., \"node\": ..}".to_owned());
    };
    let source = server.texts.source(file.as_ref());
    let text = rml::differentiate(&source, &Options::default(), node).map_err(|error| {
        error.diagnostics().iter().next().map_or_else(String::new, |first| first.message.clone())
    })?;
    let folder = server.library().map(|library| library.join("adjoints"));
    if let Some(folder) = folder.filter(|folder| rml::create_folder(folder).is_ok()) {
        let shown = folder.join(format!("diff_{node}.rml"));
        if rml::write_output(&shown, text.as_bytes()).is_ok() {
            server.show(&shown)?;
        }
    }
    Ok(Some(json!(text)))
}
