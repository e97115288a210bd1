//! Markdown and comments of Rust files keep to 120 columns, as far as a line can be broken.
//!
//! Table rows, fenced blocks, headings, link definitions and lines of a single word, such as an address, cannot.

use super::PENDING;
use super::links::fenced_apart;
use crate::workspace::File;

/// The most characters of a line.
const COLUMNS: usize = 120;

/// Lines that are too long and could be broken.
pub(crate) fn check(files: &[File]) -> Vec<String> {
    let checked = files.iter().filter(|file| !PENDING.iter().any(|path| file.path.starts_with(path)));
    checked.flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let is_page = file.path.ends_with(".md");
    let prose = |line| if is_page { Some(line) } else { comment(line) };
    let bodies: Vec<&str> = file.text.lines().map(|line| prose(line).unwrap_or_default()).collect();
    let lines = file.text.lines().zip(bodies.iter().copied());
    let text = bodies.join("\n");
    let breakable = fenced_apart(&text).map(|(body, is_text)| is_text && can_break(body));
    let long = (1..).zip(lines).zip(breakable).filter_map(|((number, (line, _)), breakable)| {
        let columns = line.chars().count();
        (breakable && columns > COLUMNS).then_some((number, columns))
    });
    long.map(|(number, columns)| {
        format!("{}:{number}: {columns} columns, at most {COLUMNS}; break the line", file.path)
    })
    .collect()
}

/// The text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']))
}

/// Whether a line of Markdown can be broken between two words.
fn can_break(line: &str) -> bool {
    let line = line.trim();
    let is_definition = line.starts_with('[') && line.contains("]: ");
    !line.starts_with(['|', '#']) && !is_definition && line.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check_file(&File { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn long_lines_are_found_with_their_number() {
        let words = "word ".repeat(COLUMNS / 5 - 1) + "word!";
        assert_eq!(findings("a.md", &words), Vec::<String>::new());
        assert_eq!(
            findings("a.md", &format!("a\n{words}s")),
            ["a.md:2: 121 columns, at most 120; break the line"]
        );
        let comment = format!("fn f() {{}}\n    /// {words}");
        assert_eq!(findings("a.rs", &comment), ["a.rs:2: 128 columns, at most 120; break the line"]);
        assert_eq!(findings("a.rs", &format!("let s = \"{words}\";")), Vec::<String>::new());
    }

    #[test]
    fn lines_that_cannot_be_broken_are_fine() {
        let words = "word ".repeat(COLUMNS / 5);
        let unbroken = "w".repeat(COLUMNS);
        for line in [
            format!("| {words} |"),
            format!("```\n{words}\n```"),
            format!("## {words}"),
            format!("[`a`]: {unbroken}"),
            format!("https://{unbroken}"),
        ] {
            assert_eq!(findings("a.md", &line), Vec::<String>::new());
            let comment: Vec<String> = line.lines().map(|line| format!("/// {line}")).collect();
            assert_eq!(findings("a.rs", &comment.join("\n")), Vec::<String>::new());
        }
    }
}
