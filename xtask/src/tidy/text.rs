//! Separates code and prose in a file. Both results keep the lines and columns of the file.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::workspace::{File, regex};

/// The character that ends a phrase.
const BREAK: &str = "\u{1}";

/// Comments, strings and characters of Rust.
static RUST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r####"(?xs) //[^\n]* | /\*.*?\*/ | \bb?r\#\#".*?"\#\# | \bb?r\#".*?"\# | \bb?r"[^"]*"
            | b?"(?:[^"\\]|\\.)*" | b?'(?:[^'\\\n]|\\[^\n][^'\n]*)'"####,
    )
});
/// Comments of programs.
static PROGRAM: LazyLock<Regex> = LazyLock::new(|| regex(r"(?s)\(\*.*?\*\)|--[^\n]*"));
/// Code in backticks within a paragraph.
static MARKED: LazyLock<Regex> = LazyLock::new(|| regex(r"`(?:[^`\n]|\n[ \t]*[^`\s])*`"));
/// The parts of a literal that are not prose.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| regex(r#"\\[^\n]|["'#]|```"#));

/// Blanks in place of all characters except line ends.
fn blanks(text: &str) -> String {
    text.split('\n').map(|line| " ".repeat(line.chars().count())).collect::<Vec<_>>().join("\n")
}

/// A Rust file with blanks in place of comments and literals.
pub(super) fn code(file: &File) -> String {
    RUST.replace_all(&file.text, |found: &Captures<'_>| blanks(&found[0])).into_owned()
}

/// The code of a Rust file outside of tests.
pub(super) fn product(file: &File) -> String {
    let is_test = ["/tests/", "/benches/"].iter().any(|part| file.path.contains(part));
    let code = if is_test || file.path.ends_with("tests.rs") { String::new() } else { code(file) };
    code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

/// Paragraphs of Markdown, comments, and optionally literals of Rust, with blanks in place of code in backticks and in
/// fences.
pub(super) fn prose(file: &File, literals: bool) -> String {
    let text = match file.path.rsplit('.').next() {
        Some("rs") => only(&RUST, &file.text, literals),
        Some("rml") => only(&PROGRAM, &file.text, literals),
        _ => file.text.clone(),
    };
    let lines = fenced_apart(&text).map(|(line, is_text)| if is_text { line } else { "" });
    let text = lines.collect::<Vec<_>>().join("\n");
    let marked = |found: &Captures<'_>| blanks(&found[0]).replacen(' ', BREAK, 1);
    MARKED.replace_all(&text, marked).into_owned()
}

/// The text with blanks in place of everything except these tokens, and in place of their delimiters.
fn only(tokens: &Regex, text: &str, literals: bool) -> String {
    let (mut out, mut end) = (String::new(), 0);
    for token in tokens.find_iter(text) {
        out += &blanks(&text[end..token.start()]);
        end = token.end();
        let token = token.as_str();
        out += &match token.as_bytes() {
            [b'/' | b'-' | b'(', ..] => {
                let text = token.trim_start_matches(['/', '!', '-', '*', '(']);
                blanks(&token[..token.len() - text.len()]) + &text.replace("*)", "\u{1} ")
            }
            _ if literals => ESCAPE.replace_all(token, BREAK).replace('\\', " "),
            _ => blanks(token),
        };
    }
    out + &blanks(&text[end..])
}

/// All lines, and whether they are outside of fenced blocks.
pub(crate) fn fenced_apart(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut fenced = false;
    text.lines().map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (line, !fenced && !is_fence)
    })
}
