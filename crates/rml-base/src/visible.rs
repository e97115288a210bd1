//! Makes external text safe to print: names in data, weights and checkpoints, file names, lines of source texts. A
//! terminal would execute control characters in them, and very long names are unreadable.

use std::borrow::Cow;

/// A name, or any word of a text for people, is shown with at most this number of characters.
pub const LONGEST_WORD: usize = 160;

/// Replaces the omitted characters of a long word.
const ELLIPSIS: char = '…';

/// The text with every character that a terminal would interpret replaced by a visible one: a control character by its
/// picture (the escape character by `␛`), and marks such as those that change the direction of writing by `�`. Line
/// ends and tabs are kept, and so is the number of characters.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| c == '\n' || c == '\t' || shown(c) == c) {
        return Cow::Borrowed(text);
    }
    let mut chars = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        let stays = matches!(c, '\n' | '\t') || (c == '\r' && chars.peek() == Some(&'\n'));
        out.push(if stays { c } else { shown(c) });
    }
    Cow::Owned(out)
}

/// A name as it is shown within a line: as by [`visible`], with line ends and tabs replaced too; of a long name only
/// the beginning and the end are shown.
pub fn visible_name(name: &str) -> Cow<'_, str> {
    let name = clipped(name);
    if name.chars().all(|c| shown(c) == c) { name } else { name.chars().map(shown).collect() }
}

/// The [`visible`] text, with long words (runs of characters without a blank) cut in the middle.
pub fn visible_words(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    if text.split_whitespace().all(|word| matches!(clipped(word), Cow::Borrowed(_))) {
        return text;
    }
    let words = text.split_inclusive(char::is_whitespace).map(|piece| {
        let word = piece.trim_end_matches(char::is_whitespace);
        clipped(word) + &piece[word.len()..]
    });
    Cow::Owned(words.collect())
}

/// A JSON document with the same meaning that has no characters for [`visible`] to replace.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    // In a valid JSON document, control characters below U+0020 are either escaped or blanks between its parts.
    let hidden = |c: char| c >= '\u{7f}' && shown(c) != c;
    if !json.contains(hidden) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if hidden(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// One character as it is shown.
fn shown(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '\u{2421}',
        // Further control characters, and marks that end lines or change the direction of writing.
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// The beginning and the end of a word that is too long; a shorter word is unchanged.
fn clipped(word: &str) -> Cow<'_, str> {
    let tail = LONGEST_WORD / 3;
    let head = LONGEST_WORD - tail - 1;
    // A text of at most this number of bytes has no more characters than that.
    if word.len() <= LONGEST_WORD || word.chars().nth(LONGEST_WORD).is_none() {
        return Cow::Borrowed(word);
    }
    let first = word.char_indices().nth(head).map_or(word.len(), |(at, _)| at);
    let last = word.char_indices().rev().nth(tail - 1).map_or(0, |(at, _)| at);
    Cow::Owned(format!("{}{ELLIPSIS}{}", &word[..first], &word[last..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        for c in '\0'..='\u{ffff}' {
            let text = format!("a{c}b");
            for seen in [visible(&text), visible_name(&text), visible_words(&text)] {
                assert_eq!(seen.chars().count(), 3, "{c:?}");
                let seen = seen.chars().nth(1).unwrap();
                assert!(!seen.is_control() || matches!(seen, '\n' | '\t'), "{c:?} gives {seen:?}");
            }
            assert!(!visible_name(&text).contains(char::is_control), "{c:?}");
        }
        assert_eq!(visible("\u{1b}[2J\u{9b}31m\u{7f}\r"), "␛[2J�31m␡␍");
        assert_eq!(visible("a\r\n\tb\n"), "a\r\n\tb\n");
        assert_eq!(visible_name("a\r\n\tb\u{202e}c"), "a␍␊␉b�c");
    }

    #[test]
    fn long_words_are_cut_in_their_middle() {
        let exact = "x".repeat(LONGEST_WORD);
        assert_eq!(visible_name(&exact), exact);
        for name in ["x".repeat(100_000), "é\u{1b}".repeat(100_000)] {
            let seen = visible_name(&name);
            assert_eq!(seen.chars().count(), LONGEST_WORD);
            assert!(seen.contains(ELLIPSIS));
            let text = format!("the name\n  {name} is\tlong ");
            assert_eq!(visible_words(&text), format!("the name\n  {seen} is\tlong "));
        }
        let path = format!("{}/net.rml:3:7", "d".repeat(1000));
        assert!(visible_name(&path).ends_with("d/net.rml:3:7"));
    }

    #[test]
    fn json_keeps_its_meaning() {
        let json = "{\"a\u{9b}\u{7f}\u{202e}é\": \"\\u001b\"}\n";
        assert_eq!(visible_json(json), "{\"a\\u009b\\u007f\\u202eé\": \"\\u001b\"}\n");
        assert_eq!(visible(&visible_json(json)), visible_json(json));
    }
}
