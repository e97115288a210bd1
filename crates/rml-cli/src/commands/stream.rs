//! `rml infer --stream`: JSON lines in, JSON lines out.

use std::io::{self, BufRead, Read as _};

use rml::{Diagnostic, Diagnostics, End, Error, Stream, codes};

use crate::output::{Output, Stop, unreadable};
use crate::progress::continued;

/// The most bytes of a line; a longer line is refused.
const MAX_LINE: u64 = 64 << 20;

/// Answers each line of standard input as soon as its answer is known. A refused line is answered with an error; with
/// `strict`, the first refused line ends the stream.
pub(super) fn stream(stream: Stream, strict: bool, output: &mut Output) -> Result<(), Stop> {
    let mut stream = if strict { stream.strict() } else { stream };
    output.report(stream.warnings(), stream.sources());
    if !output.json() {
        output.note(&continued(&stream.continued()));
    }
    let mut lines = Lines::new(io::stdin().lock());
    let mut refused = 0_u64;
    loop {
        let answers = match lines.next() {
            Ok(None) => break,
            Ok(Some(line)) => line.map_err(Error::from).and_then(|line| stream.line(line)),
            Err(unreadable) => return broken_off(stream, unreadable.into(), output),
        };
        if let Some(warning) = stream.ignored() {
            output.report(&at_line(warning, lines.number).into(), stream.sources());
        }
        match answers {
            Ok(answers) => print(&answers, output)?,
            Err(error) if strict || stream.is_stuck() => {
                return broken_off(stream, within(error, lines.number), output);
            }
            Err(error) => {
                refused += 1;
                print(&[refusal(&error, lines.number)], output)?;
            }
        }
    }
    let sources = stream.sources().clone();
    let ending = stream.finish(End::Closed);
    print(&ending.lines, output)?;
    output.report(&ending.warnings, &sources);
    if let Some(error) = ending.error {
        return Err(error.into());
    }
    ended(refused, output)
}

/// Ends a stream, of which this many lines were refused.
pub(super) fn ended(refused: u64, output: &mut Output) -> Result<(), Stop> {
    if refused == 0 {
        return Ok(());
    }
    if !output.json() {
        let (lines, were) = if refused == 1 { ("line", "was") } else { ("lines", "were") };
        output.note(&format!("{refused} {lines} of standard input {were} answered with an error\n"));
    }
    Err(Stop::Reported)
}

/// Ends a stream after an error: prints what is known about the cycles without an answer, and then reports the error.
fn broken_off(stream: Stream, error: Error, output: &mut Output) -> Result<(), Stop> {
    print(&stream.finish(End::Open).lines, output)?;
    Err(error.into())
}

/// The answer to a refused line: `{"line": 3, "error": {"code": ..}}`.
pub(super) fn refusal(error: &Error, line: u64) -> String {
    let findings = error.diagnostics();
    let first = findings.iter().find(|d| d.is_error()).or(findings.iter().next());
    let error = first.map_or(serde_json::Value::Null, |d| rml_render::json_object(d, error.sources()));
    format!("{{\"line\": {line}, \"error\": {error}}}")
}

/// The error, with the number of the line that caused it.
pub(super) fn within(error: Error, line: u64) -> Error {
    let (sources, findings) = error.into_parts();
    let findings = findings.into_iter().map(|d| at_line(d, line)).collect();
    Error::new(Diagnostics(findings), sources)
}

/// A finding, with the number of the line that it is about.
pub(super) fn at_line(d: Diagnostic, line: u64) -> Diagnostic {
    Diagnostic { message: format!("line {line} of standard input: {}", d.message), ..d }
}

pub(super) fn print(lines: &[String], output: &mut Output) -> Result<(), Stop> {
    if lines.is_empty() { Ok(()) } else { output.print_json(&lines.join("\n")) }
}

/// The lines of an input.
pub(super) struct Lines<R> {
    input: R,
    /// The number of the last line read, from 1.
    pub(super) number: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, number: 0, bytes: Vec::new() }
    }

    /// Reads the next line; `None` at the end. The inner error is about only this line, the outer one about the whole
    /// input.
    pub(super) fn next(&mut self) -> Result<Option<Result<&str, Diagnostic>>, Diagnostic> {
        let broken = |e: io::Error| unreadable("standard input", &e);
        self.bytes.clear();
        self.number += 1;
        let read = self.input.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut self.bytes);
        if read.map_err(broken)? == 0 {
            return Ok(None);
        }
        if self.bytes.len() as u64 > MAX_LINE && self.bytes.last() != Some(&b'\n') {
            self.skip().map_err(broken)?;
            let note = format!("at most {MAX_LINE} bytes are read");
            return Ok(Some(Err(malformed("the line is too long").note(note))));
        }
        Ok(Some(std::str::from_utf8(&self.bytes).map_err(|_| malformed("the line is not UTF-8"))))
    }

    /// Skips the rest of the line.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let (line, found) = match buffer.iter().position(|b| *b == b'\n') {
                Some(end) => (end + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(line);
            if found {
                return Ok(());
            }
        }
    }
}

fn malformed(what: &str) -> Diagnostic {
    Diagnostic::error(codes::run::MALFORMED_DATA, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_cannot_be_read_are_passed_over() {
        let mut text = b"{}\n\xff\n".to_vec();
        text.resize(text.len() + (64 << 20) + 5, b' ');
        text.extend(b"\nlast");
        let mut lines = Lines::new(&text[..]);
        let mut all = Vec::new();
        while let Some(line) = lines.next().expect("memory can be read") {
            let line = line.map(str::to_owned).map_err(|d| d.message);
            all.push((line, lines.number));
        }
        let error = |what: &str| Err(what.to_owned());
        assert_eq!(
            all,
            [
                (Ok("{}\n".to_owned()), 1),
                (error("the line is not UTF-8"), 2),
                (error("the line is too long"), 3),
                (Ok("last".to_owned()), 4)
            ]
        );
    }
}
