//! The memory of a session with a large text, measured by an allocator that counts in the answering thread.

#[path = "../../rml-ir/tests/memory/ffi.rs"]
mod ffi;

use std::fmt::Write as _;
use std::io::{Cursor, sink};

use ffi::peak_of;
use lsp_server::{Message, Notification, Request};
use serde_json::{Value, json};

const URI: &str = "file:///nodes.rml";

/// The peak memory of a session that opens a text with this many nodes and sends these requests.
fn peak(count: usize, asked: &[(&str, Value)]) -> u64 {
    let text = (0..count).fold(String::new(), |mut text, i| {
        let _ = writeln!(text, "-- Node {i}.\nnode n{i}(x: num []) -> (y)  y = x * {i}.0 + (0.0 fby y);");
        text
    });
    let document = json!({"uri": URI, "languageId": "rml", "version": 1, "text": text});
    let mut input = Vec::new();
    let mut send = |message: Message| message.write(&mut input).expect("a message");
    let say = |method: &str, params| Notification { method: method.to_owned(), params }.into();
    let ask = |id: i32, method: &str, params| Request::new(id.into(), method.to_owned(), params).into();
    send(ask(0, "initialize", json!({"capabilities": {}})));
    send(say("initialized", json!({})));
    send(say("textDocument/didOpen", json!({"textDocument": document})));
    for (id, (method, params)) in (1..).zip(asked) {
        let mut params = params.clone();
        params["textDocument"] = json!({"uri": URI});
        send(ask(id, &format!("textDocument/{method}"), params));
    }
    send(ask(-1, "shutdown", Value::Null));
    send(say("exit", json!({})));
    let (ended, peak) = peak_of(|| rml_lsp::serve(Cursor::new(input), sink(), None));
    assert_eq!(ended, Ok(()));
    peak
}

/// The memory per node for these requests.
fn each(asked: &[(&str, Value)]) -> u64 {
    (peak(1000, asked) - peak(200, asked)) / 800
}

#[test]
fn an_answer_takes_about_the_bytes_that_are_sent() {
    let asked = ["documentSymbol", "codeLens", "foldingRange", "semanticTokens/full"];
    let none = each(&[("foldingRange", json!({}))]);
    let all = each(&asked.map(|method| (method, json!({}))));
    assert!(all < none + 6_000, "{none} bytes a node for its names, {all} with all answers");
}

#[test]
fn a_hover_reads_the_node_that_it_is_about() {
    let hover = |line: u32| ("hover", json!({"position": {"line": line, "character": 6}}));
    let none = peak(1000, &[("foldingRange", json!({}))]);
    let some = peak(1000, &[("foldingRange", json!({})), hover(1), hover(1001), hover(1999)]);
    assert!(some < none + 100_000, "{none} bytes without, {some} with hovers");
}
