//! The prose of a file as words: paragraphs of Markdown, comments of programs, comments and string literals of Rust.
//! Code in backticks and in fences is left out.

use super::links::fenced_apart;
use crate::workspace::File;

/// A word in lower case, or a mark that ends a phrase, and the line that it is on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// What ends a phrase: punctuation, code, and the end of a passage.
const BREAK: &str = "";

/// The words of a file, in order, with breaks between its passages.
pub(crate) fn words(file: &File) -> Vec<Word> {
    let lines = match file.path.rsplit('.').next() {
        Some("md") => markdown(&file.text),
        Some("rml") => program(&file.text),
        _ => rust(&file.text),
    };
    let mut words = Vec::new();
    for passage in lines.split(|(_, text)| text.is_empty()) {
        add_passage(&mut words, passage);
        words.push(Word { text: BREAK.to_owned(), line: passage.last().map_or(0, |(line, _)| *line) });
    }
    words
}

/// Lines of prose with their numbers; an empty one stands between two passages.
type Lines = Vec<(usize, String)>;

fn markdown(text: &str) -> Lines {
    let lines = (1..).zip(fenced_apart(text));
    lines
        .map(|(number, (line, is_text))| (number, if is_text { line.trim() } else { "" }.to_owned()))
        .collect()
}

/// The comments of a program. A comment in brackets is one passage, and so are comments to the ends of lines.
fn program(text: &str) -> Lines {
    let mut found = Lines::new();
    let mut is_comment = false;
    for (number, line) in (1..).zip(text.lines()) {
        let mut rest = line;
        loop {
            let mark = if is_comment { "*)" } else { "(*" };
            let (part, behind) = rest.split_once(mark).unwrap_or((rest, ""));
            let text = if is_comment { part } else { part.split_once("--").map_or("", |(_, text)| text) };
            if !text.trim().is_empty() || !is_comment {
                found.push((number, text.trim().to_owned()));
            }
            if part.len() == rest.len() {
                break;
            }
            found.push((number, String::new()));
            is_comment = !is_comment;
            rest = behind;
        }
    }
    found
}

/// Adds the words of a passage. An odd backtick hides nothing.
fn add_passage(words: &mut Vec<Word>, passage: &[(usize, String)]) {
    let ticks: usize = passage.iter().map(|(_, text)| text.matches('`').count()).sum();
    let mut seen = 0;
    for (line, text) in passage {
        for (i, part) in text.split('`').enumerate() {
            if i > 0 {
                seen += 1;
                words.push(Word { text: BREAK.to_owned(), line: *line });
            }
            let is_code = seen % 2 == 1 && seen < ticks;
            if !is_code {
                add_words(words, *line, part);
            }
        }
    }
}

fn add_words(words: &mut Vec<Word>, line: usize, text: &str) {
    for piece in text.split_whitespace() {
        let is_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '-';
        let mut rest = piece;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            if word.contains(char::is_alphanumeric) {
                words.push(Word { text: word.to_lowercase(), line });
            } else if !word.is_empty() {
                words.push(Word { text: BREAK.to_owned(), line });
            }
            let mut marks = behind.chars();
            if marks.next().is_some() {
                words.push(Word { text: BREAK.to_owned(), line });
            }
            rest = marks.as_str();
        }
    }
}

/// The comments and string literals of a Rust file. Comments on lines that follow each other are one passage.
fn rust(text: &str) -> Lines {
    let mut found = Lines::new();
    let mut comments: Lines = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(next) = rest.chars().next() {
        let length = token(rest);
        let (token, behind) = rest.split_at(length.max(next.len_utf8()));
        if let Some(comment) = token.strip_prefix("//") {
            if comments.last().is_some_and(|(last, _)| last + 1 != line) {
                add_comments(&mut found, &mut comments);
            }
            comments.push((line, comment.trim_start_matches(['/', '!']).trim().to_owned()));
        } else if token.len() > 1 && token.ends_with(['"', '#']) {
            let literal =
                token.trim_start_matches(['r', 'b', '#']).trim_matches(['"', '#']).replace("\\n", " . ");
            let pieces = literal.lines().map(|piece| piece.trim_end_matches('\\').trim().to_owned());
            found.extend((line..).zip(pieces).filter(|(_, piece)| !piece.is_empty()));
            found.push((line, String::new()));
        }
        line += token.matches('\n').count();
        rest = behind;
    }
    add_comments(&mut found, &mut comments);
    found
}

/// Moves the comments of one passage, without what is fenced in them.
fn add_comments(found: &mut Lines, comments: &mut Lines) {
    let text: Vec<&str> = comments.iter().map(|(_, text)| text.as_str()).collect();
    let text = text.join("\n");
    let lines = comments.iter().zip(fenced_apart(&text));
    found.extend(
        lines.map(|((line, _), (text, is_text))| (*line, if is_text { text } else { "" }.to_owned())),
    );
    found.push((0, String::new()));
    comments.clear();
}

/// The length of the comment, literal or name that a text begins with; 0 if it begins with none.
fn token(text: &str) -> usize {
    let until = |end: &str, from: usize| {
        let behind = text.get(from..).unwrap_or_default();
        behind.find(end).map_or(text.len(), |at| from + at)
    };
    let name = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let prefix = text.get(..name).unwrap_or_default();
    let behind = text.get(name..).unwrap_or_default();
    if matches!(prefix, "r" | "br") {
        let hashes = behind.len() - behind.trim_start_matches('#').len();
        if behind.get(hashes..).is_some_and(|rest| rest.starts_with('"')) {
            let end = format!("\"{}", "#".repeat(hashes));
            return (until(&end, name + hashes + 1) + end.len()).min(text.len());
        }
    }
    match behind.chars().next() {
        Some('"') if matches!(prefix, "" | "b") => name + quoted(behind),
        _ if name > 0 => name,
        Some('/') if behind.starts_with("//") => until("\n", 0),
        Some('/') if behind.starts_with("/*") => (until("*/", 2) + 2).min(text.len()),
        Some('\'') => character(behind),
        _ => 0,
    }
}

/// The length of a string literal.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// The length of a character literal; 1 for the quote of a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text.char_indices().skip(1);
    match inside.next() {
        Some((_, '\\')) => text.get(3..).and_then(|rest| rest.find('\'')).map_or(1, |at| 3 + at + 1),
        Some((at, c)) if text.get(at + c.len_utf8()..).is_some_and(|rest| rest.starts_with('\'')) => {
            at + c.len_utf8() + 1
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The passages of a text: words with spaces between them, and the lines of their first words.
    fn passages(path: &str, text: &str) -> Vec<(usize, String)> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        let words = words(&file);
        let parts = words.split(|word| word.text == BREAK).filter(|part| !part.is_empty());
        parts
            .map(|part| {
                let texts: Vec<&str> = part.iter().map(|word| word.text.as_str()).collect();
                (part[0].line, texts.join(" "))
            })
            .collect()
    }

    fn expected(parts: &[(usize, &str)]) -> Vec<(usize, String)> {
        parts.iter().map(|(line, text)| (*line, (*text).to_owned())).collect()
    }

    #[test]
    fn pages_are_paragraphs_without_code() {
        let text = "A line\nand `x of` the next, ok.\n\n```\ncode\n```\n- an odd ` tick";
        let parts = [(1, "a line and"), (2, "the next"), (2, "ok"), (7, "an odd"), (7, "tick")];
        assert_eq!(passages("a.md", text), expected(&parts));
    }

    #[test]
    fn comments_of_lines_that_follow_each_other_are_one_passage() {
        let text =
            "/// One\n/// two.\n///\n/// ```\n/// code\n/// ```\nfn f<'a>(c: char) {} // three\n\n// four";
        let parts = [(1, "one two"), (7, "three"), (9, "four")];
        assert_eq!(passages("a.rs", text), expected(&parts));
    }

    #[test]
    fn comments_of_programs_are_passages() {
        let text = "(* One\n\n  two. *) node f(x) -> (o) (* three *)\n  o = x; -- four\n(* -- five *)";
        let parts = [(1, "one two"), (3, "three"), (4, "four"), (5, "five")];
        assert_eq!(passages("a.rml", text), expected(&parts));
    }

    #[test]
    fn string_literals_are_passages() {
        let text = "f(\"a \\\"b\\\" c\", r#\"d \"e\"#, '\"', b\"g\", '\\'', r\"h\");\nlet x = \"i \\\n    j\"; \"k\\nl\"";
        let parts = passages("a.rs", text);
        let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c", "d", "e", "g", "h", "i j", "k", "l"]);
        assert_eq!(parts[7].0, 2);
    }
}
