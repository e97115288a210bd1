//! Diagnostics for people: each finding with its source lines, marked and labelled. All texts, including the source,
//! are escaped by [`rml::visible`].

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use ariadne::{Cache, Color, Config, IndexType, Label, Report, ReportKind};
use rml::{Diagnostic, Diagnostics, FileId, Sources, Span, visible, visible_name, visible_words};

/// A part of a text, with the name of its file.
type Excerpt = (String, Range<usize>);

/// The most bytes of a source line that is drawn.
const MAX_LINE: usize = 500;

/// All findings, followed by their number if there are several.
pub fn human(diagnostics: &Diagnostics, sources: &Sources, colour: bool) -> String {
    let files: BTreeSet<_> = diagnostics.iter().flat_map(|d| &d.labels).map(|l| l.span.file).collect();
    let texts = files.iter().map(|&f| (name(sources, f), visible(sources.text(f)).into_owned()));
    let mut lines = ariadne::sources(texts);
    let shown = diagnostics.iter().map(|d| finding(&shown(d), sources, &mut lines, colour));
    let mut text: String = shown.collect();
    let errors = diagnostics.iter().filter(|d| d.is_error()).count();
    if errors > 1 {
        let _ = writeln!(text, "{errors} errors");
    }
    text
}

fn name(sources: &Sources, file: FileId) -> String {
    visible_name(sources.name(file)).into_owned()
}

/// The finding with texts that can be drawn: a message and a label are one line, notes and help may have several lines.
fn shown(diagnostic: &Diagnostic) -> Diagnostic {
    let line = |text: &str| visible_words(&text.replace(['\r', '\n', '\t'], " ")).into_owned();
    let lines = |texts: &[String]| texts.iter().map(|t| visible_words(t).into_owned()).collect();
    let label = |label: &rml::Label| rml::Label { span: label.span, message: line(&label.message) };
    Diagnostic {
        message: line(&diagnostic.message),
        labels: diagnostic.labels.iter().map(label).collect(),
        notes: lines(&diagnostic.notes),
        help: lines(&diagnostic.help),
        fixes: Vec::new(),
        ..*diagnostic
    }
}

fn finding(
    diagnostic: &Diagnostic,
    sources: &Sources,
    lines: &mut impl Cache<String>,
    colour: bool,
) -> String {
    let drawable =
        !diagnostic.labels.is_empty() && diagnostic.labels.iter().all(|l| is_drawable(l.span, sources));
    let drawn = if drawable { draw(diagnostic, sources, lines, colour) } else { None };
    drawn.unwrap_or_else(|| plain(diagnostic, sources, colour))
}

/// Whether the lines of a span are short enough to be shown.
fn is_drawable(span: Span, sources: &Sources) -> bool {
    let text = sources.text(span.file);
    let (start, end) = super::clamped(span, sources);
    let from = text.get(..start).and_then(|t| t.rfind('\n')).map_or(0, |at| at + 1);
    let to = text.get(end..).and_then(|t| t.find('\n')).map_or(text.len(), |at| end + at);
    text.get(from..to).is_some_and(|t| t.lines().all(|l| l.len() <= MAX_LINE))
}

fn draw(
    diagnostic: &Diagnostic,
    sources: &Sources,
    lines: &mut impl Cache<String>,
    colour: bool,
) -> Option<String> {
    // Count in characters: escaped text has as many characters as the source text, but not as many bytes.
    let excerpt = |span: Span| -> Excerpt {
        let (start, end) = super::clamped(span, sources);
        let characters = |to: usize| sources.text(span.file)[..to].chars().count();
        (name(sources, span.file), characters(start)..characters(end))
    };
    let (kind, accent) = head(diagnostic);
    let kind = format!("{kind}[{}]", diagnostic.code);
    // The head of a block gives the place of its first label if the report itself has no file.
    let nowhere: Excerpt = (String::new(), 0..0);
    let mut report = Report::build(ReportKind::Custom(&kind, accent), nowhere)
        .with_config(Config::default().with_color(colour).with_index_type(IndexType::Char).with_tab_width(2))
        .with_message(&diagnostic.message);
    // labels of one file are adjacent, those of the primary label's file first
    let primary = diagnostic.span()?.file;
    let mut labels: Vec<_> = diagnostic.labels.iter().collect();
    labels.sort_by_key(|l| (l.span.file != primary, l.span.file));
    for (i, label) in labels.into_iter().enumerate() {
        let colour = if i == 0 { accent } else { Color::Cyan };
        let mark = Label::new(excerpt(label.span))
            .with_color(colour)
            .with_order(i32::try_from(i).unwrap_or(i32::MAX));
        // a mark without a message is not drawn
        let message = if label.message.is_empty() { "here" } else { label.message.as_str() };
        report = report.with_label(mark.with_message(message));
    }
    let mut bytes = Vec::new();
    report.finish().write(lines, &mut bytes).ok()?;
    let text = with_remarks(&String::from_utf8(bytes).ok()?, diagnostic);
    // The word for the severity is always coloured, regardless of the configuration.
    Some(if colour { text } else { console::strip_ansi_codes(&text).into_owned() })
}

/// A drawn report with notes and help lines, each help line below the notes that it answers.
fn with_remarks(drawn: &str, diagnostic: &Diagnostic) -> String {
    let body = drawn.trim_end_matches('\n');
    let (body, tail) = body.rsplit_once('\n').unwrap_or(("", body));
    let margin = format!("{}\u{1b}[38;5;246m│\u{1b}[0m ", " ".repeat(tail.matches('─').count()));
    let mut text = format!("{body}\n");
    for (what, remarks) in [("Note", &diagnostic.notes), ("Help", &diagnostic.help)] {
        for (i, remark) in remarks.iter().enumerate() {
            let head = if remarks.len() > 1 { format!("{what} {}", i + 1) } else { what.to_owned() };
            let indent = format!("\n{margin}{}", " ".repeat(head.len() + 2));
            let _ = write!(text, "{margin}\n{margin}\u{1b}[38;5;115m{head}\u{1b}[0m: ");
            let _ = writeln!(text, "{}", remark.lines().collect::<Vec<_>>().join(&indent));
        }
    }
    format!("{text}{tail}\n")
}

/// A finding without source lines: for findings about flags and files, and for lines that are too long.
fn plain(diagnostic: &Diagnostic, sources: &Sources, colour: bool) -> String {
    let (kind, accent) = head(diagnostic);
    let code = if accent == Color::Yellow { 33 } else { 31 };
    let head = format!("{kind}[{}]:", diagnostic.code);
    let head = if colour { format!("\u{1b}[{code}m{head}\u{1b}[0m") } else { head };
    let mut text = format!("{head} {}\n", diagnostic.message);
    for label in &diagnostic.labels {
        let (line, column) = sources.line_column(label.span.file, label.span.start);
        let _ = write!(text, "  at {}:{line}:{column}", name(sources, label.span.file));
        let _ = writeln!(text, "{}{}", if label.message.is_empty() { "" } else { ": " }, label.message);
    }
    for (what, remarks) in [("note", &diagnostic.notes), ("help", &diagnostic.help)] {
        for remark in remarks {
            let _ = writeln!(text, "  {what}: {}", remark.replace('\n', "\n        "));
        }
    }
    text
}

fn head(diagnostic: &Diagnostic) -> (&'static str, Color) {
    if diagnostic.is_error() { ("error", Color::Red) } else { ("warning", Color::Yellow) }
}

#[cfg(test)]
mod tests {
    use rml::codes::run::BAD_OPTION;

    use super::*;

    fn drawn(text: &str, spans: &[(usize, usize)]) -> String {
        let mut sources = Sources::new();
        let file = sources.add("net.rml", text);
        let mut diagnostic = Diagnostic::error(BAD_OPTION, "these do not fit").note("a fact").help("fix it");
        for (i, &(start, end)) in spans.iter().enumerate() {
            diagnostic = diagnostic.label(Span::new(file, start, end), format!("label {i}"));
        }
        human(&diagnostic.into(), &sources, false)
    }

    #[test]
    fn labels_notes_and_help_are_shown_without_colours() {
        let text = drawn("node f(x) -> (o)\n  o = x + y;\n", &[(23, 24), (7, 8)]);
        for part in [
            "error[bad-option]",
            "these do not fit",
            "net.rml:2:7",
            "o = x + y;",
            "label 0",
            "label 1",
            "a fact",
            "fix it",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn colours_where_asked_for() {
        let mut sources = Sources::new();
        let file = sources.add("net.rml", "o = x;");
        let one = Diagnostic::error(BAD_OPTION, "m").label(Span::new(file, 0, 1), "");
        assert!(human(&one.into(), &sources, true).contains("\u{1b}["));
        assert!(
            human(&Diagnostic::warning(BAD_OPTION, "m").into(), &sources, true)
                .starts_with("\u{1b}[33mwarning")
        );
    }

    #[test]
    fn any_span_in_any_text_is_drawn() {
        let texts = ["", "\n", "é", "a\tb\r\nc", "日本\n語", "\u{200d}\u{0}x", "o = [\n1,\n2\n];\n"];
        for text in texts {
            for start in 0..text.len() + 2 {
                for end in start.saturating_sub(1)..text.len() + 3 {
                    assert!(
                        drawn(text, &[(start, end), (end, start), (0, end)]).contains("these do not fit")
                    );
                }
            }
        }
    }

    #[test]
    fn a_terminal_obeys_nothing_of_it() {
        let hostile = "\u{1b}[2J\u{9b}31m\u{202e}\n";
        let mut sources = Sources::new();
        let file = sources.add(hostile, format!("a {hostile}b\r\nc\u{1b}d"));
        for (start, end) in [(0, 1), (2, 5), (17, 20)] {
            let finding = Diagnostic::error(BAD_OPTION, hostile).note(hostile).help(hostile);
            let finding = finding.label(Span::new(file, start, end), hostile);
            let text = human(&finding.into(), &sources, false);
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
            assert!(!text.contains('\u{202e}') && text.contains("␛[2J�31m�"), "{text}");
        }
    }

    #[test]
    fn marks_stand_below_what_they_mark() {
        let text = drawn("é\u{1b}ü = x;\n", &[(8, 9)]);
        let (line, mark) = text.split_once("x;").unwrap();
        let column = |text: &str| text.lines().last().unwrap().chars().count();
        assert_eq!(column(line), column(mark.split_once('┬').unwrap().0), "{text}");
    }

    #[test]
    fn each_block_states_its_own_place() {
        let text = drawn("a = b;\nc = d;\ne = f;\n", &[(18, 19), (4, 5)]);
        let places = text.lines().filter(|line| line.contains("─[ "));
        let places: Vec<&str> = places.filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(places, ["net.rml:3:5", "net.rml:1:5"], "{text}");
    }

    #[test]
    fn help_stands_below_the_note_that_it_answers() {
        let mut sources = Sources::new();
        let file = sources.add("net.rml", "o = x;");
        let finding = Diagnostic::error(BAD_OPTION, "m").label(Span::new(file, 0, 1), "");
        let finding = finding.help("fix\nit").note("a fact").note("another");
        let text = human(&finding.into(), &sources, false);
        let tail = [
            "   │ ",
            "   │ Note 1: a fact",
            "   │ ",
            "   │ Note 2: another",
            "   │ ",
            "   │ Help: fix",
            "   │       it",
            "───╯\n",
        ];
        assert!(text.ends_with(&tail.join("\n")), "{text}");
    }

    #[test]
    fn very_long_lines_are_left_out() {
        let text = drawn(&"x".repeat(100_000), &[(50_000, 50_001)]);
        assert!(text.len() < 1000 && text.contains("net.rml:1:50001: label 0"), "{text}");
    }

    #[test]
    fn several_errors_are_counted() {
        let errors =
            Diagnostics(vec![Diagnostic::error(BAD_OPTION, "a"), Diagnostic::error(BAD_OPTION, "b")]);
        assert!(human(&errors, &Sources::new(), false).ends_with("error[bad-option]: b\n2 errors\n"));
    }
}
