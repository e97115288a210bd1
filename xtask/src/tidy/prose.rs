//! Plain English in Markdown, comments and string literals: no phrase that has a usual word in its place.
//!
//! A phrase that is plain in most places, such as `behind`, is listed only together with the words that make it odd.

use super::PENDING;
use super::passages::{self, Word};
use crate::workspace::File;

/// This file has to name the phrases.
const TABLE: &str = "xtask/src/tidy/prose.rs";

/// A phrase, and what to write in its place.
const PHRASES: &[(&str, &str)] = &[
    ("all is there", "everything is available"),
    ("all that is", "everything that is"),
    ("anew", "again (`starts anew`: `restarts`)"),
    ("are there already", "exist already"),
    ("at will", "arbitrary"),
    ("before and behind", "before and after"),
    ("before or behind", "before or after"),
    ("behind each", "after each"),
    ("behind the first", "after the first"),
    ("behind the last", "after the last"),
    ("cycle behind", "cycle after"),
    ("cycles behind", "cycles after"),
    ("does no harm", "is harmless"),
    ("go on", "continue"),
    ("goes behind", "goes past"),
    ("goes on", "continues"),
    ("going on", "continuing"),
    ("gone on", "continued"),
    ("hang on", "depend on"),
    ("hangs on", "depends on"),
    ("holds for", "applies to"),
    ("is not so", "does not hold"),
    ("is there already", "exists already"),
    ("it is so", "it holds"),
    ("it is there", "it exists, or is present"),
    ("know of", "know about"),
    ("known of", "known about"),
    ("knows of", "knows about"),
    ("lie", "be, or be stored"),
    ("lies", "is, or is stored"),
    ("listen to", "handle"),
    ("listened to", "handled"),
    ("listens to", "handles"),
    ("look for", "search for"),
    ("looked for", "searched for"),
    ("looking for", "searching for"),
    ("looks for", "searches for"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mending", "fixing"),
    ("mends", "fixes"),
    ("nothing but", "only"),
    ("of one's own", "of your own"),
    ("one behind the other", "one after the other"),
    ("otherwise than", "differently from"),
    ("right behind", "right after"),
    ("said of", "said about"),
    ("say of", "say about, or say for"),
    ("says of", "says about, or says for"),
    ("so many", "that many, or the number"),
    ("so much", "that much, or the amount"),
    ("stand behind", "follow"),
    ("stands behind", "follows"),
    ("takes the one", "uses the one"),
    ("tell of", "report"),
    ("tells of", "reports"),
    ("that are there", "that exist, or are available or present"),
    ("that is there", "that exists, or is available or present"),
    ("tick behind", "tick after"),
    ("told of", "reported"),
    ("turned round", "transposed"),
    ("went on", "continued"),
    ("what is there", "what exists, or is available or present"),
    ("with all that", "with everything that"),
];

/// The phrases that files of the project should not have, with their places.
pub(crate) fn check(files: &[File]) -> Vec<String> {
    let is_checked =
        |file: &&File| file.path != TABLE && !PENDING.iter().any(|path| file.path.starts_with(path));
    files.iter().filter(is_checked).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let words = passages::words(file);
    let found = (0..words.len()).filter_map(|at| words.get(at..).and_then(phrase));
    found
        .map(|(line, phrase, instead)| format!("{}:{line}: `{phrase}`; write: {instead}", file.path))
        .collect()
}

/// The phrase that the words begin with, its line, and what to write in its place.
fn phrase(words: &[Word]) -> Option<(usize, &'static str, &'static str)> {
    let begins = |phrase: &str| {
        let mut rest = words.iter();
        phrase.split(' ').all(|part| rest.next().is_some_and(|word| word.text == part))
    };
    let line = words.first()?.line;
    PHRASES.iter().find(|(phrase, _)| begins(phrase)).map(|(phrase, instead)| (line, *phrase, *instead))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check_file(&File { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn phrases_are_found_across_lines_with_their_place() {
        assert_eq!(findings("a.md", "# A\n\nIt Goes\non."), ["a.md:3: `goes on`; write: continues"]);
        assert_eq!(
            findings("a.rs", "fn f() {\n    // it goes\n    // on\n}"),
            ["a.rs:2: `goes on`; write: continues"]
        );
        assert_eq!(
            findings("a.rs", "\nlet s = \"it goes \\\n    on\";"),
            ["a.rs:2: `goes on`; write: continues"]
        );
        assert_eq!(findings("a.rml", "o = 1; (* it\n  goes on *)"), ["a.rml:2: `goes on`; write: continues"]);
    }

    #[test]
    fn words_that_only_look_alike_are_fine() {
        for text in
            ["It goes. On it", "it goes `x` on", "`it goes on`", "It undergoes one", "```\ngoes on\n```"]
        {
            assert_eq!(findings("a.md", text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(findings("a.rs", "let goes = on; fn anew() {}"), Vec::<String>::new());
    }

    #[test]
    fn the_table_is_sorted_and_has_each_phrase_once() {
        assert!(PHRASES.is_sorted_by(|a, b| a.0 < b.0));
    }
}
