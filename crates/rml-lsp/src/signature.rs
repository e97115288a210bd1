//! The interface of the called node or function.

use lsp_types::{
    Documentation, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp,
    SignatureHelpParams, SignatureInformation,
};
use rml::ir::op;

use crate::docs::Docs;
use crate::lines::number;
use crate::server::{Answer, Place, Server};

/// The interface of the call that contains the position.
pub(crate) fn help(server: &mut Server, params: SignatureHelpParams) -> Answer<SignatureHelp> {
    let Some(place) = Place::of(server, &params.text_document_position_params) else { return Ok(None) };
    let Some((callee, argument)) = call(&place.text()[..place.offset]) else { return Ok(None) };
    let signature = node(&place, callee).or_else(|| function(callee));
    Ok(signature.map(|signature| SignatureHelp {
        signatures: vec![signature],
        active_signature: Some(0),
        active_parameter: Some(number(argument)),
    }))
}

/// The name before the parenthesis that is open at the end of a text, and the number of complete arguments after it.
fn call(text: &str) -> Option<(&str, usize)> {
    let mut depth = 0_usize;
    let mut commas = 0;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '[' => depth = depth.checked_sub(1)?,
            '(' if depth > 0 => depth -= 1,
            '(' => {
                let before = text[..at].trim_end();
                let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
                let name = &before[before.trim_end_matches(letter).len()..];
                return (!name.is_empty()).then_some((name, commas));
            }
            ',' if depth == 0 => commas += 1,
            ';' | '=' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn node(place: &Place, callee: &str) -> Option<SignatureInformation> {
    let survey = &place.survey;
    let index = &survey.index;
    let of = |name: &str| index.callable.iter().find(|(known, _)| known == name).map(|(_, node)| *node);
    let mut docs = Docs::new(survey);
    let (inputs, header, comment) = match of(callee) {
        Some(node) => {
            let (header, comment) = docs.of(&index.nodes[node]);
            (index.nodes[node].inputs.clone(), header, comment)
        }
        None => {
            let inner = callee.strip_prefix("diff_").or_else(|| callee.strip_prefix("grad_"))?;
            let node = docs.node(&index.nodes[of(inner)?])?;
            let header = node.adjoint.replacen("node diff_", &format!("node {}", &callee[..5]), 1);
            (node.adjoint_inputs.clone(), header, node.comment.clone())
        }
    };
    let label = header.strip_prefix("private ").unwrap_or(&header).to_owned();
    let mut from = label.find('(').map_or(0, |at| at + 1);
    let parameter = |name: &String| {
        let at = label[from..].find(name.as_str()).map(|at| from + at)?;
        from = at + name.len();
        Some(ParameterInformation {
            label: ParameterLabel::LabelOffsets([number(at), number(at + name.len())]),
            documentation: None,
        })
    };
    let parameters: Vec<_> = inputs.iter().filter_map(parameter).collect();
    Some(information(label, comment, Some(parameters)))
}

fn function(callee: &str) -> Option<SignatureInformation> {
    let info = op::info(callee)?;
    Some(information(info.signature.to_owned(), format!("{}.", info.meaning), None))
}

fn information(
    label: String,
    text: String,
    parameters: Option<Vec<ParameterInformation>>,
) -> SignatureInformation {
    let documentation =
        Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: text });
    SignatureInformation { label, documentation: Some(documentation), parameters, active_parameter: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_open_call_is_found() {
        assert_eq!(call("o = f(a, g(b, c), "), Some(("f", 2)));
        assert_eq!(call("o = f(a, g(b"), Some(("g", 0)));
        assert_eq!(call("o = m.f (x[0, "), None, "an index");
        assert_eq!(call("o = m.f (x[0, 1], "), Some(("m.f", 1)));
        assert_eq!(call("o = f(a);\n  p"), None);
        assert_eq!(call("o = (a, "), None);
        assert_eq!(call("-- größe\n  o = ü(a, "), None);
        assert_eq!(call("-- größe\n  o = üf(a, "), Some(("f", 1)));
    }
}
