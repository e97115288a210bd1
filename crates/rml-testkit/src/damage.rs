//! Damage to the texts of programs: tokens are deleted, repeated, swapped and replaced.

use crate::Lcg;

/// Numbers that are likely to cause errors.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "3",
    "17",
    "255",
    "65536",
    "2147483647",
    "2147483648",
    "4294967296",
    "1000000000",
    "9223372036854775807",
    "9223372036854775808",
    "0.0",
    "-0.0",
    "0.5",
    "1e308",
    "1e309",
    "5e-324",
    "1e-5",
];

/// Words of the language, which single-token changes rarely combine.
const WORDS: &[&str] = &[
    "node",
    "extern",
    "private",
    "import",
    "as",
    "if",
    "then",
    "else",
    "fby",
    "back",
    "post",
    "when",
    "not",
    "merge",
    "every",
    "restart",
    "along",
    "by",
    "for",
    "const",
    "enum",
    "record",
    "columns",
    "match",
    "assert",
    "and",
    "or",
    "true",
    "false",
    "num",
    "int",
    "bool",
    "param",
    "shape",
    "_",
    "..",
    "->",
    "=",
    ";",
    ",",
    "(",
    ")",
    "[",
    "]",
    "[]",
    ":",
    "+",
    "-",
    "*",
    "/",
    "%",
    "==",
    "<",
    "\"a\"",
    "--",
    "(*",
    "*)",
    "é",
    "zeros",
    "zeros_like",
    "diff_main",
    "grad_main",
];

/// The words and numbers, runs of blanks, and other characters one by one. Comment lines are omitted.
pub fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut last = ' ';
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let lines = text.lines().filter(|l| !l.trim_start().starts_with("--"));
    for c in lines.flat_map(|l| l.chars().chain(['\n'])) {
        match tokens.last_mut() {
            Some(token) if is_word(c) && is_word(last) || c == ' ' && last == ' ' => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = c;
    }
    tokens
}

/// The text with one to four of its tokens changed; `donor` contributes tokens and lines of another program.
pub fn damaged(text: &str, donor: &str, r: &mut Lcg) -> String {
    let (mut all, others) = (tokens(text), tokens(donor));
    for _ in 0..=r.below(4) {
        change(&mut all, &others, r);
    }
    all.concat()
}

fn change(tokens: &mut Vec<String>, others: &[String], r: &mut Lcg) {
    if tokens.is_empty() || others.is_empty() {
        return;
    }
    let (at, from) = (r.below(tokens.len()), r.below(tokens.len()));
    match r.below(11) {
        0 => drop(tokens.remove(at)),
        1 => tokens.insert(at, tokens[from].clone()),
        2 => tokens.swap(at, from),
        3 => tokens[at] = r.pick(others).clone(),
        // Replacing a name by a name and a number by a number keeps the program in the grammar.
        4 | 5 => exchange(tokens, |t| t.starts_with(|c: char| c.is_alphabetic() || c == '_'), None, r),
        6 => exchange(tokens, |t| t.starts_with(|c: char| c.is_ascii_digit()), Some(NUMBERS), r),
        7 => tokens[at] = (*r.pick(WORDS)).to_owned(),
        8 => drop(line(tokens, at).map(|range| tokens.drain(range))),
        9 => {
            let copied =
                line(others, r.below(others.len())).map_or(Vec::new(), |range| others[range].to_vec());
            let after = line(tokens, at).map_or(at, |range| range.end);
            tokens.splice(after..after, copied);
        }
        _ => {
            // An expression in nested parentheses.
            let inner = format!("{}{}{}", "(".repeat(1 + at % 40), tokens[at], ")".repeat(1 + at % 40));
            tokens[at] = inner;
        }
    }
}

/// Replaces a token of the given kind by another token of this kind, or by one of `values`.
fn exchange(tokens: &mut [String], kind: impl Fn(&str) -> bool, values: Option<&[&str]>, r: &mut Lcg) {
    let fit: Vec<usize> = (0..tokens.len()).filter(|i| kind(&tokens[*i])).collect();
    if fit.is_empty() {
        return;
    }
    let (to, from) = (*r.pick(&fit), *r.pick(&fit));
    tokens[to] = match values {
        Some(values) if r.chance(0.7) => (*r.pick(values)).to_owned(),
        _ => tokens[from].clone(),
    };
}

/// The range of the tokens in the same line as a token.
fn line(tokens: &[String], at: usize) -> Option<std::ops::Range<usize>> {
    let start = tokens[..at].iter().rposition(|t| t == "\n").map_or(0, |i| i + 1);
    let end = tokens[at..].iter().position(|t| t == "\n").map_or(tokens.len(), |i| at + i + 1);
    (start < end).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_make_up_the_text() {
        let text = "node main(x: num [2..]) -> (o)\n  o = x.y + 1.5;\n";
        assert_eq!(tokens(text).concat(), text);
        assert!(tokens(text).contains(&"1.5".to_owned()));
        assert_eq!(tokens("  -- a\nb").concat(), "b\n");
    }

    #[test]
    fn every_seed_damages_in_its_own_way() {
        let text = "node main(x) -> (o)\n  o = x + 1.0;\n";
        let made: Vec<String> = (0..50).map(|seed| damaged(text, text, &mut Lcg(seed))).collect();
        assert_eq!(made, (0..50).map(|seed| damaged(text, text, &mut Lcg(seed))).collect::<Vec<_>>());
        let distinct: std::collections::BTreeSet<_> = made.iter().collect();
        assert!(distinct.len() > 30, "{distinct:?}");
    }
}
