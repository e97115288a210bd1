//! Messages over pipes: each message is JSON with a header for its length.

use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::{ErrorCode, Message, RequestId};
use serde::Serialize;
use serde_json::{Value, json};

use crate::ended::Ended;

/// The most bytes of a message, which contains the whole text when a text is opened or changed.
const LONGEST: u64 = 1 << 28;
/// The most bytes of a header line.
const LONGEST_LINE: u64 = 1 << 12;

/// An editor at the other end of two streams. Messages to it are serialised already, so a large answer is written
/// without building a tree of JSON.
pub(crate) struct Pipes {
    /// Messages, and error answers to malformed messages.
    pub(crate) from_editor: Receiver<Result<Message, String>>,
    pub(crate) to_editor: Sender<String>,
    writer: JoinHandle<()>,
    /// Why reading stopped.
    broken: Arc<Mutex<Option<Ended>>>,
}

impl Pipes {
    /// Reads and writes in separate threads.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(crate) fn open(
        mut input: impl BufRead + Send + 'static,
        mut output: impl Write + Send + 'static,
    ) -> Result<Self, Ended> {
        let (to_server, from_editor) = unbounded();
        let (to_editor, from_server) = unbounded::<String>();
        let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let writer = named("writer").spawn(move || {
            // If the editor has disconnected, its messages are dropped.
            let _ = from_server.into_iter().try_for_each(|content| write_frame(&mut output, &content));
        });
        let broken: Arc<Mutex<Option<Ended>>> = Arc::default();
        let why = Arc::clone(&broken);
        let reader = named("reader").spawn(move || {
            if let Err(error) = read_all(&mut input, &to_server) {
                *why.lock().unwrap_or_else(PoisonError::into_inner) = Some(Ended(error.to_string()));
            }
        });
        let started = |error: io::Error| Ended(error.to_string());
        reader.map_err(started)?;
        Ok(Self { from_editor, to_editor, writer: writer.map_err(started)?, broken })
    }

    /// The next message; malformed messages before it are answered. None if the editor disconnected.
    pub(crate) fn next(&self) -> Option<Message> {
        loop {
            match self.from_editor.recv().ok()? {
                Ok(message) => return Some(message),
                Err(answer) => self.to_editor.send(answer).ok()?,
            }
        }
    }

    /// Ends a session after everything has been written. Returns how it ended, or the error in a frame.
    pub(crate) fn close(self, served: Result<(), Ended>) -> Result<(), Ended> {
        drop(self.to_editor);
        let _ = self.writer.join();
        let broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner).take();
        broken.map_or(served, Err)
    }
}

/// A message as JSON.
pub(crate) fn content(message: &Message) -> Result<String, String> {
    #[derive(Serialize)]
    struct Said<'a> {
        jsonrpc: &'static str,
        #[serde(flatten)]
        message: &'a Message,
    }
    serde_json::to_string(&Said { jsonrpc: "2.0", message }).map_err(|e| e.to_string())
}

/// An answer as JSON.
pub(crate) fn answer(id: &RequestId, result: &impl Serialize) -> Result<String, String> {
    #[derive(Serialize)]
    struct Said<'a, T> {
        jsonrpc: &'static str,
        id: &'a RequestId,
        result: &'a T,
    }
    serde_json::to_string(&Said { jsonrpc: "2.0", id, result }).map_err(|e| e.to_string())
}

fn write_frame(output: &mut impl Write, content: &str) -> io::Result<()> {
    write!(output, "Content-Length: {}\r\n\r\n{content}", content.len())?;
    output.flush()
}

/// Reads messages up to the one that ends the session. For a malformed message, its error answer is passed on.
fn read_all(input: &mut impl BufRead, server: &Sender<Result<Message, String>>) -> io::Result<()> {
    while let Some(content) = frame(input)? {
        let heard = match message(&content) {
            Ok(message) => Ok(message),
            Err(Some(answer)) => Err(answer.to_string()),
            Err(None) => continue,
        };
        let ends = matches!(&heard, Ok(Message::Notification(note)) if note.method == "exit");
        if server.send(heard).is_err() || ends {
            break;
        }
    }
    Ok(())
}

/// The content of the next frame; nothing at the end of the input.
fn frame(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if line.is_empty() && length.is_none() {
            return Ok(None);
        }
        let Some(line) = line.strip_suffix(b"\r\n") else { return Err(no_frame(&line)) };
        if line.is_empty() {
            break;
        }
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once(": ") else { return Err(no_frame(line)) };
        if name.eq_ignore_ascii_case("Content-Length") {
            let bytes: u64 = value.trim().parse().map_err(|_| no_frame(line))?;
            if bytes > LONGEST {
                let text = format!("the editor sent a message of {bytes} bytes; at most {LONGEST} are read");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            length = Some(bytes);
        }
    }
    let Some(length) = length else { return Err(no_frame(b"")) };
    // Memory grows with the bytes that arrive, not with the declared length.
    let mut content = Vec::new();
    input.by_ref().take(length).read_to_end(&mut content)?;
    match content.len() as u64 == length {
        true => Ok(Some(content)),
        false => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the input ended within a message")),
    }
}

fn no_frame(line: &[u8]) -> io::Error {
    let line: String = String::from_utf8_lossy(line).trim_end().chars().take(80).collect();
    let text = format!("expected `Content-Length: ` and a number of bytes before a message, found `{line}`");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Parses the message in a frame; otherwise returns the error answer by JSON-RPC 2.0, section 5, or none if the frame
/// was an answer itself.
fn message(content: &[u8]) -> Result<Message, Option<Value>> {
    let wrong = |id: Value, code: ErrorCode, why: String| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code as i32, "message": why}});
    let value: Value = serde_json::from_slice(content)
        .map_err(|error| wrong(Value::Null, ErrorCode::ParseError, format!("not JSON: {error}")))?;
    let answer =
        value.get("method").is_none() && (value.get("result").is_some() || value.get("error").is_some());
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|_| {
        let why = "expected an object with `method`, and with `id` if it is to be answered".to_owned();
        (!answer).then(|| wrong(id, ErrorCode::InvalidRequest, why))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Vec<u8>>, String> {
        frame(&mut text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn frames_are_read_up_to_a_length() {
        assert_eq!(read("Content-Length: 2\r\n\r\n{}"), Ok(Some(b"{}".to_vec())));
        assert_eq!(read("content-length: 2\r\nContent-Type: x\r\n\r\n{}"), Ok(Some(b"{}".to_vec())));
        assert_eq!(read(""), Ok(None));
        for (text, why) in [
            ("Content-Length: 18446744073709551615\r\n\r\n", "18446744073709551615 bytes"),
            ("Content-Length: 1000000000000\r\n\r\n{}", "1000000000000 bytes"),
            ("Content-Length: 99999999999999999999\r\n\r\n", "a number of bytes"),
            ("Content-Length: -1\r\n\r\n", "a number of bytes"),
            ("Content-Length: 9\r\n\r\n{}", "within a message"),
            ("Content-Length: 9", "a number of bytes"),
            ("GET / HTTP/1.1\r\n\r\n", "`GET / HTTP/1.1`"),
            ("\r\n{}", "a number of bytes"),
        ] {
            assert!(read(text).expect_err("no frame").contains(why), "{text:?}: {:?}", read(text));
        }
        let endless = "x".repeat(100_000);
        assert!(read(&endless).expect_err("no frame").len() < 200);
    }

    #[test]
    fn what_is_no_message_is_answered() {
        let answer = |content: &str| {
            let answer = message(content.as_bytes()).expect_err("no message");
            answer.map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
        };
        for content in ["{\"x\": ", "", "\u{0}", "nul"] {
            assert_eq!(answer(content), Some((Value::Null, json!(-32700))), "{content}");
        }
        for content in ["{}", "[]", "null", "7", "{\"id\": 1.5}", "{\"method\": 3}"] {
            assert_eq!(answer(content).map(|(_, code)| code), Some(json!(-32600)), "{content}");
        }
        assert_eq!(answer("{\"id\": 4}"), Some((json!(4), json!(-32600))));
        assert_eq!(answer("{\"id\": null, \"error\": {\"code\": 1, \"message\": \"\"}}"), None);
        assert!(matches!(message(b"{\"method\": \"exit\"}"), Ok(Message::Notification(_))));
    }
}
