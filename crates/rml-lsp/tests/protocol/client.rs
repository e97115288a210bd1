//! An editor at the other end of a connection.

use std::io::{BufReader, PipeWriter, pipe};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use lsp_server::{Message, Notification, Request, RequestId};
use rml_lsp::Ended;
use serde_json::{Value, json};

/// A session with a folder of programs.
pub(crate) struct Client {
    to_server: PipeWriter,
    from_server: Receiver<Message>,
    server: Option<JoinHandle<Result<(), Ended>>>,
    pub(crate) folder: tempfile::TempDir,
    requests: i32,
    /// Notifications from the server that no test has waited for yet.
    pub(crate) said: Vec<Notification>,
    /// Requests from the server.
    pub(crate) asked: Vec<Request>,
}

impl Client {
    /// Starts a session with these files in a folder that the editor has open.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, json!({"window": {"showDocument": {"support": true}}}))
    }

    pub(crate) fn with(files: &[(&str, &str)], capabilities: Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        let (input, to_server) = pipe().expect("a pipe");
        let (output, to_us) = pipe().expect("a pipe");
        let library = folder.path().join("cache");
        let server = std::thread::spawn(move || rml_lsp::serve(BufReader::new(input), to_us, Some(library)));
        let (said, from_server) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Ok(Some(message)) = Message::read(&mut output) {
                if said.send(message).is_err() {
                    break;
                }
            }
        });
        let root = address(folder.path());
        let mut client = Self {
            to_server,
            from_server,
            server: Some(server),
            folder,
            requests: 0,
            said: Vec::new(),
            asked: Vec::new(),
        };
        client.ask("initialize", json!({"capabilities": capabilities, "rootUri": root})).expect("a session");
        client.say("initialized", json!({}));
        client
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn uri(&self, name: &str) -> String {
        address(&self.path(name))
    }

    pub(crate) fn say(&self, method: &str, params: Value) {
        let note = Notification { method: method.to_owned(), params };
        self.send(&note.into());
    }

    /// The answer to a request, or the server's error.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        let request = Request::new(id.clone(), method.to_owned(), params);
        self.send(&request.into());
        loop {
            match self.receive() {
                Message::Response(response) => {
                    assert_eq!(response.id, id);
                    return match response_parts(response) {
                        (Some(result), None) => Ok(result),
                        (_, Some(why)) => Err(why),
                        (None, None) => Ok(Value::Null),
                    };
                }
                Message::Notification(note) => self.said.push(note),
                Message::Request(request) => self.asked.push(request),
            }
        }
    }

    fn send(&self, message: &Message) {
        message.write(&mut &self.to_server).expect("the server exists");
    }

    fn receive(&self) -> Message {
        self.from_server.recv_timeout(Duration::from_secs(60)).expect("the server says something")
    }

    /// Opens a text; it may differ from the file with this name.
    pub(crate) fn open(&self, name: &str, text: &str) {
        let document = json!({"uri": self.uri(name), "languageId": "rml", "version": 1, "text": text});
        self.say("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Replaces a whole text.
    pub(crate) fn change(&self, name: &str, version: i32, text: &str) {
        self.edit(name, version, json!([{"text": text}]));
    }

    pub(crate) fn edit(&self, name: &str, version: i32, changes: Value) {
        let document = json!({"uri": self.uri(name), "version": version});
        self.say("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }

    /// The findings about a version of a text: the first ones, or those of the whole check.
    pub(crate) fn findings(&mut self, name: &str, version: i32, whole: bool) -> Vec<Value> {
        let uri = self.uri(name);
        let mut left = if whole { 2 } else { 1 };
        let mut at = 0;
        loop {
            while at < self.said.len() {
                let params = &self.said[at].params;
                at += 1;
                if params["uri"] != *uri || params["version"] != version {
                    continue;
                }
                left -= 1;
                if left == 0 {
                    let found = params["diagnostics"].as_array().expect("a list").clone();
                    self.said.drain(..at);
                    return found;
                }
            }
            match self.receive() {
                Message::Notification(note) => self.said.push(note),
                Message::Request(request) => self.asked.push(request),
                Message::Response(response) => panic!("an answer to nothing: {response:?}"),
            }
        }
    }

    /// Waits until the findings about a text satisfy `expected`.
    pub(crate) fn await_findings(&mut self, name: &str, expected: impl Fn(&[Value]) -> bool) {
        let uri = self.uri(name);
        let fits = |note: &Notification| {
            let found = note.params["diagnostics"].as_array();
            note.params["uri"] == *uri && found.is_some_and(|found| expected(found))
        };
        while !self.said.drain(..).any(|note| fits(&note)) {
            match self.receive() {
                Message::Notification(note) => self.said.push(note),
                Message::Request(request) => self.asked.push(request),
                Message::Response(response) => panic!("an answer to nothing: {response:?}"),
            }
        }
    }

    /// The position of the `n`th (from 0) occurrence of a word in a text, in the form of the protocol.
    pub(crate) fn at(&self, name: &str, text: &str, word: &str, n: usize) -> Value {
        let (offset, _) = text.match_indices(word).nth(n).expect("the word exists");
        let before = &text[..offset];
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().expect("a line").encode_utf16().count();
        json!({"textDocument": {"uri": self.uri(name)}, "position": {"line": line, "character": column}})
    }

    /// Ends the session, and returns how the server ended.
    pub(crate) fn end(mut self) -> Result<(), Ended> {
        self.ask("shutdown", Value::Null).expect("an answer");
        self.say("exit", Value::Null);
        self.server.take().expect("running").join().expect("no panic")
    }

    /// Disconnects without ending the session, and returns how the server ended.
    pub(crate) fn vanish(mut self) -> Result<(), Ended> {
        let server = self.server.take().expect("running");
        drop(self.to_server);
        server.join().expect("no panic")
    }
}

fn response_parts(response: lsp_server::Response) -> (Option<Value>, Option<String>) {
    let text = serde_json::to_value(&response).expect("JSON");
    let error = text.get("error").map(|e| e["message"].as_str().unwrap_or_default().to_owned());
    (text.get("result").cloned(), error)
}

/// Applies the edits of one text, like an editor.
pub(crate) fn apply(text: &str, edits: &Value) -> String {
    let offset = |at: &Value| {
        let line = at["line"].as_u64().expect("a line") as usize;
        let start = text.match_indices('\n').nth(line.wrapping_sub(1)).map_or(0, |(at, _)| at + 1);
        let column = at["character"].as_u64().expect("a column") as usize;
        let mut units = 0;
        let rest = text[start..].char_indices();
        let at = rest.take_while(|(_, c)| {
            units += c.len_utf16();
            units <= column
        });
        start + at.map(|(_, c)| c.len_utf8()).sum::<usize>()
    };
    let edits = edits.as_array().expect("a list");
    let range = |e: &Value| (offset(&e["range"]["start"]), offset(&e["range"]["end"]));
    let mut all: Vec<_> = edits.iter().map(|e| (range(e), e["newText"].as_str().expect("text"))).collect();
    all.sort();
    let mut text = text.to_owned();
    for ((start, end), new) in all.into_iter().rev() {
        text.replace_range(start..end, new);
    }
    text
}

/// The URI of a path of plain letters.
fn address(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// The file of a URI.
pub(crate) fn file_at(address: &Value) -> PathBuf {
    let address = address.as_str().expect("an address");
    PathBuf::from(address.strip_prefix("file://").expect("a file's"))
}
