//! `rml infer --stream`: JSON lines in, JSON lines out, or Arrow in, Arrow out.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read as _};
use std::sync::Arc;

use rml::{
    ArrowAnswers, ArrowRow, ArrowRows, Diagnostic, Diagnostics, End, Error, Preparation, Stream, codes,
};

use crate::output::{Output, Stop, unreadable};
use crate::progress::continued;

/// The most bytes of a line; a longer line is refused.
const MAX_LINE: u64 = 64 << 20;

/// Answers each line of standard input, or each row of Arrow, as soon as its answer is known. A refused line is
/// answered with an error; with `strict`, the first refused line ends the stream.
pub(super) fn stream(stream: Stream, strict: bool, output: &mut Output) -> Result<(), Stop> {
    let mut stream = if strict { stream.strict() } else { stream };
    output.report(stream.warnings(), stream.sources());
    if !output.json() {
        output.note(&continued(&stream.continued()));
    }
    let mut records = Records::new(io::stdin().lock(), stream.preparation())?;
    if let Some(columns) = records.columns() {
        output.bytes(&stream.begin(columns.iter().map(String::as_str))?)?;
    }
    let mut refused = 0_u64;
    loop {
        let answers = match records.next() {
            Ok(None) => break,
            Ok(Some(record)) => record.map_err(Error::from).and_then(|record| match &record {
                Record::Line(line) => Ok(Answers::Lines(stream.line(line)?)),
                Record::Row(row) => Ok(Answers::Bytes(stream.row(row)?)),
            }),
            Err(unreadable) => return broken_off(stream, unreadable.into(), output),
        };
        if let Some(warning) = stream.ignored() {
            output.report(&at_line(warning, records.number()).into(), stream.sources());
        }
        match answers {
            Ok(answers) => answers.print(output)?,
            Err(error) if strict || stream.is_stuck() => {
                return broken_off(stream, within(error, records.number()), output);
            }
            Err(error) => {
                refused += 1;
                let number = records.number();
                let bytes = |why: &str| stream.refusal(number, why);
                refusal(&error, number, records.is_arrow().then_some(&bytes)).print(output)?;
            }
        }
    }
    let sources = stream.sources().clone();
    let ending = stream.finish(End::Closed);
    Answers::Lines(ending.lines).print(output)?;
    Answers::Bytes(ending.bytes).print(output)?;
    if records.is_arrow() {
        output.bytes(&ArrowAnswers::end())?;
    }
    output.report(&ending.warnings, &sources);
    if let Some(error) = ending.error {
        return Err(error.into());
    }
    ended(refused, output)
}

/// Answers as lines of JSON, or as bytes of Arrow.
pub(super) enum Answers {
    Lines(Vec<String>),
    Bytes(Vec<u8>),
}

impl Answers {
    pub(super) fn print(&self, output: &mut Output) -> Result<(), Stop> {
        match self {
            Self::Lines(lines) if lines.is_empty() => Ok(()),
            Self::Lines(lines) => output.print_json(&lines.join("\n")),
            Self::Bytes(bytes) if bytes.is_empty() => Ok(()),
            Self::Bytes(bytes) => output.bytes(bytes),
        }
    }
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
    let ending = stream.finish(End::Open);
    Answers::Lines(ending.lines).print(output)?;
    Answers::Bytes(ending.bytes).print(output)?;
    Err(error.into())
}

/// Writes the error of a refused row of Arrow.
pub(super) type Refuses<'w> = &'w dyn Fn(&str) -> Vec<u8>;

/// The answer to a refused line, `{"line": 3, "error": {"code": ..}}`, or to a refused row of Arrow, which `bytes`
/// writes.
pub(super) fn refusal(error: &Error, line: u64, bytes: Option<Refuses<'_>>) -> Answers {
    let findings = error.diagnostics();
    let first = findings.iter().find(|d| d.is_error()).or(findings.iter().next());
    let error = first.map_or(serde_json::Value::Null, |d| rml_render::json_object(d, error.sources()));
    match bytes {
        Some(bytes) => Answers::Bytes(bytes(&error.to_string())),
        None => Answers::Lines(vec![format!("{{\"line\": {line}, \"error\": {error}}}")]),
    }
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

/// What a stream reads: a line of JSON, or a row of Arrow.
pub(super) enum Record {
    Line(String),
    Row(ArrowRow),
}

/// The records of an input. Its first bytes determine their kind.
pub(super) enum Records<R> {
    Lines(Lines<R>),
    Rows(Rows<R>),
}

/// Rows of Arrow, batch by batch.
pub(super) struct Rows<R> {
    rows: ArrowRows<R>,
    batch: VecDeque<ArrowRow>,
    preparation: Arc<Preparation>,
    number: u64,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(mut input: R, preparation: Arc<Preparation>) -> Result<Self, Diagnostic> {
        let begin = input.fill_buf().map_err(|e| unreadable("standard input", &e))?;
        if !ArrowRows::<R>::is_begun_by(begin) {
            return Ok(Self::Lines(Lines::new(input)));
        }
        let rows = ArrowRows::new(input)?;
        Ok(Self::Rows(Rows { rows, batch: VecDeque::new(), preparation, number: 0 }))
    }

    /// The columns of Arrow.
    pub(super) fn columns(&self) -> Option<Vec<String>> {
        match self {
            Self::Lines(_) => None,
            Self::Rows(rows) => Some(rows.rows.names().map(str::to_owned).collect()),
        }
    }

    pub(super) fn is_arrow(&self) -> bool {
        matches!(self, Self::Rows(_))
    }

    /// The number of the last record, from 1.
    pub(super) fn number(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.number,
            Self::Rows(rows) => rows.number,
        }
    }

    /// Reads the next record; `None` at the end. The inner error is about only this record, the outer one about the
    /// whole input.
    pub(super) fn next(&mut self) -> Result<Option<Result<Record, Diagnostic>>, Diagnostic> {
        match self {
            Self::Lines(lines) => {
                Ok(lines.next()?.map(|line| line.map(|line| Record::Line(line.to_owned()))))
            }
            Self::Rows(rows) => loop {
                if let Some(row) = rows.batch.pop_front() {
                    rows.number += 1;
                    return Ok(Some(Ok(Record::Row(row))));
                }
                match rows.rows.next(&rows.preparation)? {
                    None => return Ok(None),
                    Some(batch) => rows.batch = batch.into(),
                }
            },
        }
    }
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
