//! `rml lsp` as an editor starts it: over standard input and output.

mod support;

use std::fmt::Write as _;

use serde_json::{Value, json};
use support::Folder;

/// Messages with the headers that the protocol requires.
fn framed(messages: &[Value]) -> String {
    messages.iter().fold(String::new(), |mut all, message| {
        let text = message.to_string();
        let _ = write!(all, "Content-Length: {}\r\n\r\n{text}", text.len());
        all
    })
}

/// Parses the messages that a server wrote.
fn messages(mut out: &str) -> Vec<Value> {
    let mut all = Vec::new();
    while let Some((header, rest)) = out.split_once("\r\n\r\n") {
        let length: usize = header.trim_start_matches("Content-Length: ").parse().expect("a length");
        let (message, behind) = rest.split_at(length);
        all.push(serde_json::from_str(message).expect("JSON"));
        out = behind;
    }
    all
}

#[test]
fn a_session_over_pipes_ends_as_the_editor_says() {
    let open = json!({"uri": "file:///f.rml", "languageId": "rml", "version": 1, "text": "node f(x) -> (y)\n  y = z;\n"});
    let at = json!({"textDocument": {"uri": "file:///f.rml"}, "position": {"line": 0, "character": 7}});
    let input = framed(&[
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}),
        json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}),
        json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": open}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "textDocument/hover", "params": at}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "shutdown"}),
        json!({"jsonrpc": "2.0", "method": "exit"}),
    ]);
    let run = Folder::new().run("lsp --stdio", &[], &input);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let said = messages(&run.out);
    let answer = |id: u64| said.iter().find(|m| m["id"] == id).unwrap_or_else(|| panic!("no answer {id}"));
    assert_eq!(answer(1)["result"]["serverInfo"]["name"], "rml");
    let hover = answer(2)["result"]["contents"]["value"].as_str().expect("text");
    assert!(hover.contains("input of node `f`") || hover.contains("node f(x) -> (y)"), "{hover}");
    assert_eq!(answer(3)["result"], Value::Null);
}

/// Each malformed message is answered with an error, and the session continues.
#[test]
fn what_is_no_message_is_answered_with_an_error() {
    let first = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}});
    let mut input = framed(&[first]);
    for wrong in ["{}", "[]", "null", "{\"x\": ", "{\"id\": 9}"] {
        let _ = write!(input, "Content-Length: {}\r\n\r\n{wrong}", wrong.len());
    }
    input += &framed(&[
        json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "shutdown"}),
        json!({"jsonrpc": "2.0", "method": "exit"}),
    ]);
    let run = Folder::new().run("lsp --stdio", &[], &input);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let said = messages(&run.out);
    let mut errors: Vec<String> = said
        .iter()
        .filter(|m| m.get("error").is_some())
        .map(|m| format!("{} {}", m["id"], m["error"]["code"]))
        .collect();
    errors.sort();
    assert_eq!(errors, ["9 -32600", "null -32600", "null -32600", "null -32600", "null -32700"]);
    assert!(said.iter().any(|m| m["id"] == 3), "{said:?}");
}

#[test]
fn what_is_no_session_is_refused() {
    for input in [
        "",
        "GET / HTTP/1.1\r\n\r\n",
        "Content-Length: 7\r\n\r\n{\"x\": 1",
        "Content-Length: 2\r\n\r\n{}",
        "Content-Length: 18446744073709551615\r\n\r\n{}",
        "Content-Length: 1000000000000\r\n\r\n{}",
    ] {
        let run = Folder::new().run("lsp", &[], input);
        assert_eq!(run.code, Some(1), "{input:?}: {}", run.err);
        assert!(run.err.contains("editor-lost") && !run.err.contains("panicked"), "{input:?}: {}", run.err);
    }
}
