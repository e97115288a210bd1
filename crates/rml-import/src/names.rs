//! Names of the language made of those of a model.

use std::collections::BTreeMap;

/// The longest name that is kept as a whole.
const LONG: usize = 40;

/// Words that are no names of the language, or that have a meaning where a variable may stand.
const RESERVED: &[&str] = &[
    "node",
    "when",
    "merge",
    "fby",
    "post",
    "if",
    "then",
    "else",
    "not",
    "and",
    "or",
    "true",
    "false",
    "assert",
    "share",
    "automaton",
    "match",
    "for",
    "state",
    "import",
    "private",
    "const",
    "enum",
    "record",
    "columns",
    "every",
    "restart",
    "by",
    "along",
    "back",
    "until",
    "unless",
    "end",
];

/// The words of a name of a model, joined by `_`: `/encoder/layers.0/MatMul_output_0` becomes
/// `encoder_layers_0_mat_mul`. `None` for one that says nothing, such as a number.
pub(crate) fn words(name: &str) -> Option<String> {
    let name = name.trim_start_matches("onnx::").trim_end_matches(":0");
    let name = name.strip_suffix("_output_0").unwrap_or(name);
    let parts: Vec<String> = name.split(['/', ':']).map(plain).filter(|p| !p.is_empty()).collect();
    Some(parts.join("_")).filter(|text| text.chars().any(|c| c.is_ascii_alphabetic()))
}

/// A name of the language of those words: long ones lose their first words.
pub(crate) fn short(words: &str) -> String {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let mut text = words;
    while let Some((_, rest)) = text.split_once('_')
        && (text.len() > LONG || (text.len() < words.len() && is_number(text)))
    {
        text = rest;
    }
    let mut text = text[text.len().saturating_sub(LONG)..].to_owned();
    if is_number(&text) {
        text.insert(0, 'v');
    }
    if RESERVED.contains(&text.as_str()) {
        text.push('_');
    }
    text
}

/// A name of the language that resembles one of a model.
pub(crate) fn identifier(name: &str) -> Option<String> {
    words(name).as_deref().map(short)
}

/// A part of a name in small letters, with one `_` in place of whatever else it has; names that are written in two
/// cases are kept apart by `_`.
fn plain(part: &str) -> String {
    let upper = part.chars().filter(char::is_ascii_uppercase).count();
    let mut text = String::new();
    let mut before = '_';
    for c in part.chars() {
        match c {
            'A'..='Z' if upper == part.len() || part.len() == 1 => text.push(c.to_ascii_lowercase()),
            'A'..='Z' => {
                if before.is_ascii_lowercase() {
                    text.push('_');
                }
                text.push(c.to_ascii_lowercase());
            }
            c if c.is_ascii_alphanumeric() => text.push(c),
            _ if text.ends_with('_') || text.is_empty() => {}
            _ => text.push('_'),
        }
        before = c;
    }
    text.trim_end_matches('_').to_owned()
}

/// Names that are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken(BTreeMap<String, u64>);

impl Taken {
    /// That name, or the same with a number if it is taken.
    pub(crate) fn fresh(&mut self, name: &str) -> String {
        let mut text = name.to_owned();
        while self.0.contains_key(&text) {
            let count = self.0.entry(name.to_owned()).or_default();
            *count += 1;
            text = format!("{name}_{count}");
        }
        self.0.insert(text.clone(), 0);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_exporters_become_words() {
        let names = [
            ("/encoder/layers.0/MatMul_output_0", "encoder_layers_0_mat_mul"),
            ("onnx::Gemm_123", "gemm_123"),
            ("fc1.weight", "fc1_weight"),
            ("model/dense/BiasAdd:0", "model_dense_bias_add"),
            ("X", "x"),
            ("stateN", "state_n"),
            ("if", "if_"),
            ("2x", "v2x"),
        ];
        for (name, word) in names {
            assert_eq!(identifier(name).as_deref(), Some(word), "{name}");
        }
        assert_eq!(identifier("123"), None);
        assert_eq!(identifier("日本"), None);
    }

    #[test]
    fn long_names_lose_their_outermost_scopes() {
        let name = "/model/encoder/layers.11/attention/self/query/MatMul_output_0";
        assert_eq!(identifier(name).as_deref(), Some("layers_11_attention_self_query_mat_mul"));
    }

    #[test]
    fn a_name_is_given_once() {
        let mut taken = Taken::default();
        assert_eq!(["x", "x", "x_1"].map(|n| taken.fresh(n)), ["x", "x_1", "x_1_1"]);
    }
}
