//! The information about the name under the pointer.

use std::fmt::Write as _;
use std::path::Path;

use indexmap::IndexSet;
use lsp_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};
use rml::analysis::{WaitKind, bound};
use rml::ir::op;
use rml::{Inspection, Meaning, Span, Survey, VariableKind, VariableName};

use crate::docs::Docs;
use crate::lines::Lines;
use crate::server::{Answer, Place, Server};

/// The information about a name.
pub(crate) fn hover(server: &mut Server, params: HoverParams) -> Answer<Hover> {
    let Some(place) = Place::of(server, &params.text_document_position_params) else { return Ok(None) };
    let lines = Lines::new(place.text(), server.encoding);
    let (span, value) = match place.name() {
        Some(name) => {
            let text = match name.meaning {
                Meaning::Variable(definition) => variable(server, &place, definition),
                Meaning::Node(definition, order) => {
                    let held = place.text()[name.word.range()].starts_with("grad_");
                    node(server, &place, definition, (order, held))
                }
                Meaning::Function(name) => function(name),
                Meaning::Module(_) => None,
            };
            (name.word.range(), text)
        }
        None => {
            let word = word(place.text(), place.offset);
            let text = primitive(&place.text()[word.clone()]);
            (word, text)
        }
    };
    let contents = |value| HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Ok(value.map(|value| Hover { contents: contents(value), range: Some(lines.range(span)) }))
}

/// The words of the language that compute something: the syntax and meaning of each.
const PRIMITIVES: &[(&str, &str, &str)] = &[
    ("fby", "init fby x", "`init` in the first cycle in which `x` is present, then `x` of the one before"),
    (
        "fby back",
        "init fby back x",
        "`x` of the next cycle in which it is present; `init` in the last one of a window or closed trace",
    ),
    ("post", "post x", "`x` of the next cycle in which it is present; never known in the last one"),
    ("when", "x when c", "`x` where `c` is true, and absent elsewhere; `when not c` where it is false"),
    ("merge", "merge c x y", "`x` where `c` is true, `y` where it is false; each is present there only"),
    (
        "every",
        "f(x) every end",
        "a call in windows: delays in it restart after each cycle in which `end` is true",
    ),
    (
        "restart",
        "f(x) restart r",
        "a call whose delays take their first values in each cycle in which `r` is true",
    ),
    ("by", "f(x) by g", "a call whose parameters `g` updates, in place of `diff_param`"),
    (
        "along",
        "f(x) along 0",
        "a call over the entries of an axis within one cycle: delays have the values of the entry before",
    ),
    (
        "assert",
        "assert \"name\" c;",
        "an equation: a cycle in which `c` is present and false is an error that shows what decides it",
    ),
    ("if", "if c then x else y", "`x` where `c` is true, else `y`; both are present wherever `c` is"),
];

fn primitive(word: &str) -> Option<String> {
    let found = PRIMITIVES.iter().find(|(name, ..)| *name == word);
    found.map(|(_, form, meaning)| format!("{}{meaning}\n", block(form)))
}

/// The word around a byte; `fby back` counts as one word.
fn word(text: &str, at: usize) -> std::ops::Range<usize> {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let start = text[..at].trim_end_matches(letter).len();
    let end = text.len() - text[at..].trim_start_matches(letter).len();
    if &text[start..end] == "fby" && text[end..].starts_with(" back") {
        start..end + " back".len()
    } else {
        start..end
    }
}

fn block(text: &str) -> String {
    format!("```rml\n{text}\n```\n")
}

/// The name by which an inspection identifies a variable, independently of its position.
pub(crate) fn variable_name(survey: &Survey, definition: Span) -> Option<VariableName> {
    Some(VariableName {
        text: survey.sources.name(definition.file).into(),
        node: (*survey.node_at(definition)?.name).into(),
        variable: survey.sources.snippet(definition).into(),
    })
}

/// Types with clocks of a variable, `num [batch, 64] when end`: one for each way in which its node is used.
pub(crate) fn types(inspection: &Inspection, name: &VariableName) -> Vec<String> {
    let all = inspection.instances.get(name).into_iter().flatten();
    let text = |at: &(usize, rml::ir::flat::Var)| {
        let clock = inspection.report.analyses[at.0].clock(at.1);
        format!("{}{clock}", inspection.type_of(*at))
    };
    all.map(text).collect::<IndexSet<_>>().into_iter().collect()
}

fn variable(server: &Server, place: &Place, definition: Span) -> Option<String> {
    let survey = &place.survey;
    let node = survey.node_at(definition)?;
    let of = node.variables.iter().find(|v| v.span == definition)?;
    let kind = match of.kind {
        VariableKind::Input => "input",
        VariableKind::Output => "output",
        VariableKind::Inner => "variable",
        VariableKind::Dimension => "named dimension",
    };
    let name = variable_name(survey, definition)?;
    let known = server.known(&place.path).and_then(|known| known.inspection.as_deref());
    let types = known.map(|known| types(known, &name)).unwrap_or_default();
    let mut text = String::new();
    const SHOWN: usize = 4;
    for ty in types.iter().take(SHOWN) {
        text += &block(&format!("{}: {ty}", of.name));
    }
    if types.is_empty() {
        // The types of some variables are in the text, regardless of errors elsewhere.
        let mut docs = Docs::new(survey);
        let declared =
            docs.node(node).and_then(|node| node.declarations.iter().find(|(name, _)| *name == of.name));
        text += &block(declared.map_or(&*of.name, |(_, declaration)| declaration));
    }
    let _ = writeln!(text, "{kind} of node `{}`", node.name);
    if of.kind == VariableKind::Input {
        for list in columns(survey, &of.name, definition) {
            let _ = write!(text, "\n{}", block(list));
        }
    }
    if types.len() > SHOWN {
        let _ = writeln!(text, ", with {} more types in other calls", types.len() - SHOWN);
    }
    if let Some(wait) = known.and_then(|known| wait(known, &name)) {
        let _ = writeln!(text, "\n{wait}");
    }
    Some(text)
}

/// The lists of columns in the text of an input that feed it, or fields of it.
fn columns<'s>(survey: &'s Survey, input: &str, definition: Span) -> Vec<&'s str> {
    let is_fed =
        |fed: &str| fed.strip_prefix(input).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let lists = survey.index.columns.iter().filter(|(fed, span)| span.file == definition.file && is_fed(fed));
    lists.map(|(_, span)| survey.sources.snippet(*span)).collect()
}

/// How long a variable waits.
fn wait(inspection: &Inspection, name: &VariableName) -> Option<String> {
    let (analysis, var) = *inspection.instances.get(name)?.first()?;
    let analysis = &inspection.report.analyses[analysis];
    let run = analysis.run.as_ref()?;
    let path = analysis.flat.vars[var].name.as_ref()?;
    let (var, _) = run.flat.vars.iter_enumerated().find(|(_, data)| data.name.as_ref() == Some(path))?;
    let bound = bound(&run.causality, &run.causality.latency[var]);
    Some(match bound.kind {
        WaitKind::Bounded => match bound.look_ahead {
            Some(0) | None => "known in its own cycle".to_owned(),
            Some(1) => "known 1 cycle later".to_owned(),
            Some(n) => format!("known {n} cycles later"),
        },
        WaitKind::Windowed => format!("known when `{}` holds", bound.window.unwrap_or_default()),
        WaitKind::ClosedOnly => "known at the end of a closed trace; in an endless stream never".to_owned(),
        WaitKind::Dynamic => "only the run can tell when it is known".to_owned(),
        WaitKind::Rejected => "never known".to_owned(),
    })
}

fn node(server: &Server, place: &Place, definition: Span, (order, held): (u8, bool)) -> Option<String> {
    let survey = &place.survey;
    let node = survey.index.nodes.iter().find(|node| node.name_span == definition)?;
    let mut docs = Docs::new(survey);
    let (header, comment) = docs.of(node);
    let adjoint = docs.node(node).filter(|_| order == 1).map(|node| node.adjoint.clone());
    let adjoint = adjoint.map(|text| if held { text.replacen("node diff_", "node grad_", 1) } else { text });
    let mut text = block(&adjoint.unwrap_or(header));
    if order > 0 {
        let times = if order == 1 { String::new() } else { format!(" of order {order}") };
        let held = if held { "; its parameters are read and not updated" } else { "" };
        let _ = writeln!(text, "adjoint{times} of this node, derived from its equations{held}\n");
    }
    if !comment.is_empty() {
        let _ = writeln!(text, "{comment}\n");
    }
    let name = survey.sources.name(definition.file);
    if node.library {
        let _ = writeln!(text, "from `{}`", name.trim_end_matches(".rml").replace('/', "."));
    } else if definition.file != survey.main {
        let file = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(text, "from `{file}`");
    }
    let known = server.known(&place.path).and_then(|known| known.inspection.as_deref());
    let mut analyses = known.into_iter().flat_map(|known| &known.report.analyses);
    if let Some(analysis) = analyses.find(|a| a.node() == node.name && !node.library) {
        let _ = writeln!(text, "\n{}", rml_render::verdict::line(analysis));
    }
    Some(text)
}

fn function(name: &str) -> Option<String> {
    op::info(name).map(operator)
}

/// The description of an operator from the table of operators.
pub(crate) fn operator(info: &op::OpInfo) -> String {
    let gradient = if info.is_differentiable() { format!("`{}`", info.adjoint) } else { "none".to_owned() };
    format!(
        "{}{}.\n\nShapes: {}.\n\nGradient: {gradient}.\n\nExample: `{}` gives `{}`.\n",
        block(info.signature),
        info.meaning,
        info.shapes,
        info.example,
        info.value
    )
}
