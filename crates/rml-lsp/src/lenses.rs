//! Code lenses above a node: run, trace and train it in a terminal of the editor; show its adjoint.

use lsp_types::{CodeLens, CodeLensParams, Command, ExecuteCommandParams};
use rml::{Meaning, Options};
use serde_json::{Value, json};

use crate::lines::Lines;
use crate::server::{Answer, Server};
use crate::texts;

/// The command that the server carries out.
pub(crate) const ADJOINT: &str = "rml.adjoint";

/// The lenses of a text.
pub(crate) fn lenses(server: &mut Server, params: CodeLensParams) -> Answer<Vec<CodeLens>> {
    let path = texts::path(&params.text_document.uri);
    let Some(survey) = server.survey(&path) else { return Ok(None) };
    let lines = Lines::new(survey.sources.text(survey.main), server.encoding);
    let mut all = Vec::new();
    let adjoints = survey.index.names.iter();
    let adjoints = adjoints.filter(|name| matches!(name.meaning, Meaning::Node(_, order) if order > 0));
    let adjoints = adjoints.filter(|name| name.span.file == survey.main);
    let mut adjoints: Vec<usize> = adjoints.map(|name| name.span.range().start).collect();
    adjoints.sort_unstable();
    for node in survey.index.nodes.iter().filter(|node| node.name_span.file == survey.main) {
        let first = adjoints.partition_point(|at| *at < node.span.range().start);
        let trains = adjoints.get(first).is_some_and(|at| *at < node.span.range().end);
        // What serves differentiation runs where parameters are trained, and not by itself.
        let mut commands = match node.overrides {
            true => Vec::new(),
            false => vec![("run", "rml.run"), ("trace", "rml.trace")],
        };
        commands.extend(trains.then_some(("train", "rml.train")));
        commands.push(("adjoint", ADJOINT));
        let range = lines.range(node.name_span.range());
        for (title, command) in commands {
            let arguments = json!({"file": path.display().to_string(), "node": node.name});
            let command = Command::new(title.to_owned(), command.to_owned(), Some(vec![arguments]));
            all.push(CodeLens { range, command: Some(command), data: None });
        }
    }
    Ok(Some(all))
}

/// Makes the adjoint of a node, and has the editor show it; the answer is its text.
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
