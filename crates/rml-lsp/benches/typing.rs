//! How long an editor waits after a key press in a text of 1,000 lines: for names, types and shapes, for all findings,
//! and for completions. `cargo bench -p rml-lsp`.

#![allow(clippy::print_stdout, reason = "a benchmark tells what it measured")]

use std::io::{BufRead, BufReader, pipe};
use std::time::{Duration, Instant};

use lsp_server::{Message, Notification, Request};
use serde_json::{Value, json};

/// Twenty-five lines: a network, its training, and a filter.
const BLOCK: &str = "
-- Network {n}: a recurrent layer in windows, and a layer after it.
node net_{n}(x: num [batch, 8], end: bool []) -> (y: num [batch, 3] when end)
  a = tanh(dense(12, x));
  h = lstm(16, a) every end;
  y = dense(3, h when end);

node train_{n}(x: num [batch, 8], end: bool [], t: num [batch, 3] when end) -> (loss, mean)
  o, _ = diff_net_{n}(x, end, true, do);
  loss, do, _ = diff_mse(o, t, true, -0.1);
  mean = smooth_{n}(loss);

(* An average that forgets.
   The first value counts fully. *)
node smooth_{n}(x) -> (y)
  last = x fby y;
  weight = if first then 1.0 else 0.1;
  first = true fby false;
  y = last + weight * (x - last);

node watch_{n}(x: num [4], limit: num []) -> (alarm, count)
  size = sqrt(sum(x * x));
  alarm = size > smooth_{n}(limit);
  count = (0 fby count) + (if alarm then 1 else 0);
";

const KEYS: usize = 21;

fn main() {
    let mut text = "import std.layers;\nimport std.losses;\n".to_owned();
    let mut n = 0;
    while text.lines().count() < 1000 {
        text += &BLOCK.replace("{n}", &n.to_string());
        n += 1;
    }
    let (input, to_server) = pipe().expect("a pipe");
    let (output, to_us) = pipe().expect("a pipe");
    let served = std::thread::spawn(move || rml_lsp::serve(BufReader::new(input), to_us, None));
    let editor = &mut BufReader::new(output);
    let send = |message: Message| message.write(&mut &to_server).expect("it serves");
    let say = |method: &str, params: Value| send(Notification { method: method.to_owned(), params }.into());
    let ask = |id: i32, method: &str, params: Value| {
        send(Request::new(id.into(), method.to_owned(), params).into());
    };
    ask(1, "initialize", json!({"capabilities": {}}));
    say("initialized", json!({}));
    let uri = "file:///typing.rml";
    say(
        "textDocument/didOpen",
        json!({"textDocument": {"uri": uri, "languageId": "rml", "version": 0, "text": text}}),
    );
    wait(editor, 0);
    wait(editor, 0);
    let (mut first, mut whole) = (Vec::new(), Vec::new());
    for key in 1..=KEYS {
        // Alternately adds and removes a letter in an equation in the middle.
        let line = text.lines().position(|l| l.contains("node smooth_20")).expect("there") + 4;
        let (start, end) =
            (json!({"line": line, "character": 2}), json!({"line": line, "character": 2 + (key + 1) % 2}));
        let change =
            json!([{"range": {"start": start, "end": end}, "text": if key % 2 == 1 { "x" } else { "" }}]);
        let begun = Instant::now();
        say(
            "textDocument/didChange",
            json!({"textDocument": {"uri": uri, "version": key}, "contentChanges": change}),
        );
        wait(editor, key);
        first.push(begun.elapsed());
        wait(editor, key);
        whole.push(begun.elapsed());
    }
    println!("{} lines, {} nodes, {KEYS} keys; median (largest) in ms", text.lines().count(), 4 * n);
    report("names, types and shapes", first);
    report("all findings", whole);
    let mut completions = Vec::new();
    for id in 10..10 + i32::try_from(KEYS).expect("few") {
        let at = json!({"textDocument": {"uri": uri}, "position": {"line": 500, "character": 2}});
        let begun = Instant::now();
        ask(id, "textDocument/completion", at);
        while !matches!(next(editor), Message::Response(r) if r.id == id.into()) {}
        completions.push(begun.elapsed());
    }
    report("completion", completions);
    ask(2, "shutdown", Value::Null);
    say("exit", Value::Null);
    served.join().expect("it ends").expect("as it should");
}

/// Waits until findings about this version are published.
fn wait(editor: &mut impl BufRead, version: usize) {
    loop {
        let Message::Notification(note) = next(editor) else { continue };
        if note.params["version"] == version {
            return;
        }
    }
}

fn next(editor: &mut impl BufRead) -> Message {
    Message::read(editor).expect("it serves").expect("it serves")
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{what:24} {:6.1} ({:.1})", ms(times[times.len() / 2]), ms(times[times.len() - 1]));
}
