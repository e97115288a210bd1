//! A small layout language and its printer: a group is printed on one line if it fits; otherwise all its lines break.
//! The printer treats comments separately, because a comment up to the end of the line forces a break after it.
//!
//! No line is wider than [`WIDTH`], except for comments and tokens that are wider by themselves: indentation has a
//! limit, and if no group breaks in time, the line breaks before the token that would not fit.

/// The width beyond which lines are broken.
const WIDTH: usize = 100;
/// The maximum indentation; deeper nesting adds no more.
const MAX_INDENT: usize = 50;

/// A text with alternative layouts.
pub(super) enum Doc {
    /// Text without a line break.
    Text(String),
    /// A space, or a line break if the group around it breaks.
    Line,
    /// Nothing, or a line break if the group around it breaks.
    Soft,
    /// A comment of the source.
    Comment(Comment),
    /// The parts, one after the other.
    Concat(Vec<Doc>),
    /// A part that is printed on one line if it fits.
    Group(Box<Doc>),
    /// A part whose line breaks are indented further.
    Nest(usize, Box<Doc>),
}

/// A comment as written in the source.
pub(super) struct Comment {
    /// The text with its delimiters.
    pub(super) text: String,
    /// Whether the comment is on a separate line, in the source and in the output.
    pub(super) alone: bool,
}

impl Comment {
    /// Whether the comment extends to the end of the line.
    fn to_line_end(&self) -> bool {
        self.text.starts_with("--")
    }
}

pub(super) fn text(text: impl Into<String>) -> Doc {
    Doc::Text(text.into())
}

pub(super) fn group(parts: Vec<Doc>) -> Doc {
    Doc::Group(Box::new(Doc::Concat(parts)))
}

pub(super) fn nest(by: usize, doc: Doc) -> Doc {
    Doc::Nest(by, Box::new(doc))
}

/// Appends `doc` to `out`, which is empty or ends with a line break. The lines are indented by at least `indent`.
pub(super) fn render(doc: &Doc, indent: usize, out: &mut String) {
    let mut printer =
        Printer { out, column: indent, cursor: Cursor::Fresh(indent), held: None, tokens: false };
    let mut stack = vec![Command { indent, flat: false, doc }];
    while let Some(Command { indent, flat, doc }) = stack.pop() {
        match doc {
            Doc::Text(text) => printer.text(text, attached(text, &stack), indent),
            Doc::Comment(comment) => printer.comment(comment, indent),
            Doc::Line if flat => printer.space(indent),
            Doc::Soft if flat => {}
            Doc::Line | Doc::Soft => printer.line_break(indent),
            Doc::Concat(parts) => {
                stack.extend(parts.iter().rev().map(|doc| Command { indent, flat, doc }));
            }
            Doc::Nest(by, doc) => {
                stack.push(Command { indent: (indent + by).min(MAX_INDENT.max(indent)), flat, doc });
            }
            Doc::Group(doc) => {
                let flat = flat || fits(doc, &stack, WIDTH.saturating_sub(printer.column));
                stack.push(Command { indent, flat, doc });
            }
        }
    }
    printer.flush_held();
    printer.trim();
    out.push('\n');
}

struct Command<'d> {
    indent: usize,
    flat: bool,
    doc: &'d Doc,
}

/// Whether `doc` fits on one line within `room` columns, together with the text that must follow it on that line. A
/// comment up to the end of the line is allowed only before closing marks, because it is printed after them.
fn fits(doc: &Doc, rest: &[Command<'_>], room: usize) -> bool {
    let mut room = room;
    let mut stack = vec![doc];
    let mut rest = rest.iter().rev();
    let mut inside = true;
    let mut line_taken = false;
    loop {
        let next = match stack.pop() {
            Some(doc) => doc,
            None => match rest.next() {
                Some(command) => {
                    inside = false;
                    command.doc
                }
                None => return true,
            },
        };
        let width = match next {
            Doc::Text(text) if line_taken && !is_closing(text) => return !inside,
            Doc::Text(text) => text.chars().count(),
            Doc::Line | Doc::Soft if line_taken => return !inside,
            Doc::Line | Doc::Soft if !inside => return true,
            Doc::Line => 1,
            Doc::Soft => 0,
            Doc::Comment(comment) if line_taken || comment.alone || comment.text.contains('\n') => {
                return !inside;
            }
            Doc::Comment(comment) if comment.to_line_end() => {
                line_taken = true;
                0
            }
            Doc::Comment(comment) => comment.text.chars().count() + 2,
            Doc::Concat(parts) => {
                stack.extend(parts.iter().rev());
                0
            }
            Doc::Group(doc) | Doc::Nest(_, doc) => {
                stack.push(doc);
                0
            }
        };
        match room.checked_sub(width) {
            Some(left) => room = left,
            None => return false,
        }
    }
}

/// The number of columns that a line must have free after `text`: for separators, and for a bracket that opens right
/// after a name.
fn attached(text: &str, rest: &[Command<'_>]) -> usize {
    let mut before = text;
    let mut width = 0;
    let mut rest = rest.iter().rev();
    let mut stack = Vec::new();
    while let Some(doc) = stack.pop().or_else(|| rest.next().map(|command| command.doc)) {
        match doc {
            Doc::Text(text) if is_separator(text) || is_open(text) && ends_operand(before) => {
                width += text.chars().count();
                before = text;
            }
            Doc::Concat(parts) => stack.extend(parts.iter().rev()),
            Doc::Group(doc) | Doc::Nest(_, doc) => stack.push(doc),
            Doc::Text(_) | Doc::Line | Doc::Soft | Doc::Comment(_) => break,
        }
    }
    width
}

/// Whether `text` is a separator, which cannot begin a line.
fn is_separator(text: &str) -> bool {
    matches!(text, "," | ";")
}

fn is_open(text: &str) -> bool {
    matches!(text.trim_start(), "(" | "[")
}

/// Whether a bracket that opens after `text` begins a call or an index.
fn ends_operand(text: &str) -> bool {
    text.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '"'))
}

/// Whether `text` must follow the token before it, even if a comment is between them.
fn is_closing(text: &str) -> bool {
    text.chars().all(|c| matches!(c, ')' | ']' | ',' | ';'))
}

/// The state of the printer within a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cursor {
    /// At the beginning of a line, with this indentation still to be written.
    Fresh(usize),
    /// Within a line.
    Middle,
    /// After a block comment: a name or operator needs a space first.
    Spaced,
    /// After a comment that extends to the end of the line.
    LineTaken,
}

struct Printer<'o> {
    out: &'o mut String,
    column: usize,
    cursor: Cursor,
    /// A comment to be written at the end of this line, after closing marks.
    held: Option<String>,
    /// Whether the line contains anything other than comments.
    tokens: bool,
}

impl Printer<'_> {
    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn trim(&mut self) {
        let len = self.out.trim_end_matches(' ').len();
        self.out.truncate(len);
    }

    fn new_line(&mut self, indent: usize) {
        self.trim();
        self.out.push('\n');
        self.column = indent;
        self.cursor = Cursor::Fresh(indent);
        self.tokens = false;
    }

    /// Writes the indentation, or the space that must precede `text`.
    fn approach(&mut self, text: &str) {
        match self.cursor {
            Cursor::Fresh(indent) => {
                self.out.extend(std::iter::repeat_n(' ', indent));
                self.column = indent;
            }
            Cursor::Spaced if !text.starts_with([' ', ')', ']', ',', ';']) => self.write(" "),
            Cursor::Spaced | Cursor::Middle | Cursor::LineTaken => {}
        }
        self.cursor = Cursor::Middle;
    }

    fn flush_held(&mut self) {
        if let Some(comment) = self.held.take() {
            self.approach_comment();
            self.write(&comment);
            self.cursor = Cursor::LineTaken;
        }
    }

    /// Writes a text; `attached` more columns must be free after it on the line.
    fn text(&mut self, text: &str, attached: usize, indent: usize) {
        if self.held.is_some() && !is_closing(text) {
            self.flush_held();
        }
        if self.cursor == Cursor::LineTaken || self.is_too_wide(text, attached) {
            self.new_line(indent);
        }
        let fresh = matches!(self.cursor, Cursor::Fresh(_));
        let text = if fresh { text.trim_start() } else { text };
        if text.is_empty() {
            return;
        }
        if let Cursor::Fresh(indent) = &mut self.cursor {
            let width = text.trim_end().chars().count() + attached;
            *indent = (*indent).min(WIDTH.saturating_sub(width));
        }
        self.approach(text);
        self.write(text);
        self.tokens = true;
    }

    /// Whether a text must begin a new line because it does not fit on this one.
    fn is_too_wide(&self, text: &str, attached: usize) -> bool {
        let space = usize::from(self.cursor == Cursor::Spaced);
        let width = space + text.trim_end().chars().count() + attached;
        let stays = is_separator(text) || is_open(text) && ends_operand(self.out);
        self.tokens && self.held.is_none() && !stays && self.column + width > WIDTH
    }

    fn space(&mut self, indent: usize) {
        self.flush_held();
        match self.cursor {
            Cursor::LineTaken => self.new_line(indent),
            Cursor::Fresh(_) => {}
            Cursor::Middle | Cursor::Spaced => {
                self.write(" ");
                self.cursor = Cursor::Middle;
            }
        }
    }

    fn line_break(&mut self, indent: usize) {
        self.flush_held();
        if !matches!(self.cursor, Cursor::Fresh(_)) {
            self.new_line(indent);
        }
    }

    fn approach_comment(&mut self) {
        let spaced = self.out.ends_with([' ', '(', '[']) || matches!(self.cursor, Cursor::Fresh(_));
        self.approach(" ");
        if !spaced {
            self.write(" ");
        }
    }

    fn comment(&mut self, comment: &Comment, indent: usize) {
        self.flush_held();
        let fresh = matches!(self.cursor, Cursor::Fresh(_));
        if self.cursor == Cursor::LineTaken || comment.alone && !fresh {
            self.new_line(indent);
        }
        if comment.to_line_end() && !comment.alone {
            self.held = Some(comment.text.clone());
            return;
        }
        self.approach_comment();
        let mut lines = comment.text.split('\n');
        self.write(lines.next().unwrap_or(""));
        for line in lines {
            self.out.push('\n');
            self.column = 0;
            self.write(line);
        }
        self.cursor = if comment.alone { Cursor::LineTaken } else { Cursor::Spaced };
    }
}
