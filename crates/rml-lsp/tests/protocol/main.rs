//! Sessions of an editor with the server: the published findings, the answers, and that no message from an editor can
//! crash the session.

mod client;

use client::{Client, apply};
use serde_json::{Value, json};

const CELLS: &str = "(* A cell. *)\nnode step(n, x: num [batch, d]) -> (h: num [batch, n])\n  hp = zeros([batch, n]) fby h;\n  h = tanh(dense(n, concat(x, hp, 1)));\n";
const CELLS_FILE: &str = "import std.layers;\n\n(* A cell. *)\nnode step(n, x: num [batch, d]) -> (h: num [batch, n])\n  hp = zeros([batch, n]) fby h;\n  h = tanh(dense(n, concat(x, hp, 1)));\n";
const NET: &str = "\
import std.layers;
import std.losses;
import \"cells.rml\" (step as cell);

-- What it is for: numbers.
node net(x: num [batch, 8], end: bool []) -> (y: num [batch, 3] when end)
  h = cell(16, x) every end;
  y = dense(3, h when end);

node train(x: num [batch, 8], end: bool [], t: num [batch, 3] when end) -> (loss)
  o, _ = diff_net(x, end, true, do);
  loss, do, _ = diff_mse(o, t, true, -0.1);
";

fn session() -> Client {
    let mut client = Client::new(&[("cells.rml", CELLS_FILE), ("net.rml", NET)]);
    client.open("net.rml", NET);
    assert_eq!(client.findings("net.rml", 1, true), Vec::<Value>::new());
    client
}

fn text(value: &Value) -> String {
    value["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn findings_come_and_go_with_the_text() {
    let mut client = session();
    let broken = NET.replace("y = dense(3, h when end)", "y = dense(4, h when end)");
    client.change("net.rml", 2, &broken);
    let found = client.findings("net.rml", 2, false);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&finding["code"], &finding["severity"]), (&json!("shape-mismatch"), &json!(1)));
    assert_eq!(finding["range"]["start"]["line"], 7);
    // A single change, within a line with characters of two units.
    client.change("net.rml", 3, &NET.replace("What it is for: numbers.", "𝄞𝄞 é"));
    assert_eq!(client.findings("net.rml", 3, false), Vec::<Value>::new());
    let edit = json!([{"range": {"start": {"line": 4, "character": 3}, "end": {"line": 4, "character": 7}}, "text": ""},
        {"range": {"start": {"line": 7, "character": 12}, "end": {"line": 7, "character": 13}}, "text": "5"}]);
    client.edit("net.rml", 4, edit);
    assert_eq!(client.findings("net.rml", 4, false)[0]["code"], "shape-mismatch");
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn what_only_the_analyses_find_comes_second() {
    let mut client = Client::new(&[]);
    let text = "node f(x: num []) -> (y)\n  y = x + z;\n  z = y * 2.0;\n";
    client.open("f.rml", text);
    assert_eq!(client.findings("f.rml", 1, false), Vec::<Value>::new());
    let found = client.findings("f.rml", 1, false);
    assert_eq!(found[0]["code"], "instantaneous-cycle");
    let related = found[0]["relatedInformation"].as_array().expect("other places");
    assert_eq!(related[0]["location"]["uri"], client.uri("f.rml"));
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn an_imported_text_counts_as_it_is_open() {
    let mut client = session();
    client.open("cells.rml", CELLS_FILE);
    client.change("cells.rml", 2, &CELLS_FILE.replace("(n, x: ", "(n, k, x: "));
    // Several sets of findings about this version may arrive, including those of a check that began earlier.
    client.await_findings("net.rml", |found| found.len() == 1 && found[0]["code"] == "arity");
    // After it is closed, its file counts again.
    client.say("textDocument/didClose", json!({"textDocument": {"uri": client.uri("cells.rml")}}));
    client.await_findings("net.rml", |found| found.is_empty());
    // A deleted file is noticed when the editor reports that files changed.
    std::fs::remove_file(client.path("cells.rml")).expect("it exists");
    client.say("workspace/didChangeWatchedFiles", json!({"changes": []}));
    client.await_findings("net.rml", |found| found.iter().any(|f| f["code"] == "import-not-found"));
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn inputs_show_the_columns_that_feed_them() {
    let text = "columns x = open, low .. high;\n\nnode f(x: num [3], y: num []) -> (o)\n  o = sum(x) + y;\n";
    let mut client = session();
    client.open("c.rml", text);
    let mut hover = |word: &str| {
        crate::text(&client.ask("textDocument/hover", client.at("c.rml", text, word, 0)).expect("an answer"))
    };
    let x = hover("x: num");
    assert!(x.contains("input of node `f`") && x.contains("columns x = open, low .. high;"), "{x}");
    assert!(!hover("y: num").contains("columns"));
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn names_tell_what_is_known_of_them() {
    let mut client = session();
    let mut hover = |word: &str, n| {
        text(&client.ask("textDocument/hover", client.at("net.rml", NET, word, n)).expect("an answer"))
    };
    let h = hover("h = cell", 0);
    assert!(h.contains("h: num [batch, 16]") && h.contains("variable of node `net`"), "{h}");
    let y = hover("y: num", 0);
    assert!(y.contains("when end"), "{y}");
    let cell = hover("cell(", 0);
    assert!(
        cell.contains("node step(n, x: num [batch, d]) -> (h: num [batch, n])") && cell.contains("A cell."),
        "{cell}"
    );
    assert!(cell.contains("from `cells.rml`"), "{cell}");
    let adjoint = hover("diff_net", 0);
    assert!(adjoint.contains("adjoint of this node") && adjoint.contains("What it is for"), "{adjoint}");
    assert!(
        adjoint.contains("dy: num [batch, 3] when bp") && adjoint.contains("-> (y, dx)"),
        "the derived interface: {adjoint}"
    );
    let dense = hover("dense", 0);
    assert!(dense.contains("from `std.layers`"), "{dense}");
    let every = hover("every", 0);
    assert!(every.contains("windows"), "{every}");
    let o = hover("o, _", 0);
    assert!(o.contains("o: num [batch, 3] when end"), "{o}");
    let loss = hover("loss)", 0);
    assert!(loss.contains("output of node `train`"), "{loss}");
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn definitions_are_found_in_this_text_in_others_and_in_the_library() {
    let mut client = session();
    let mut go = |word: &str, n| {
        client.ask("textDocument/definition", client.at("net.rml", NET, word, n)).expect("an answer")
    };
    assert_eq!(go("h when", 0)["range"]["start"], json!({"line": 6, "character": 2}));
    let step = go("cell(16", 0);
    assert_eq!(step["range"]["start"], json!({"line": 3, "character": 5}));
    assert!(step["uri"].as_str().is_some_and(|uri| uri.ends_with("/cells.rml")), "{step}");
    let net = go("diff_net", 0);
    assert_eq!(net["range"]["start"], json!({"line": 5, "character": 5}));
    let library = go("dense", 0);
    let path = client::file_at(&library["uri"]);
    let line = library["range"]["start"]["line"].as_u64().expect("a line") as usize;
    let there = std::fs::read_to_string(path).expect("the text of the library");
    assert!(there.lines().nth(line).is_some_and(|line| line.starts_with("node dense(")), "{library}");
    assert!(go("std.losses", 0)["uri"].as_str().is_some_and(|uri| uri.ends_with("std/losses.rml")));
    assert!(go("cells.rml", 0)["uri"].as_str().is_some_and(|uri| uri.ends_with("/cells.rml")));
    assert_eq!(go("true", 0), Value::Null);
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn references_and_renames_reach_all_texts() {
    let mut client = session();
    let asked = |client: &Client, name: &str, text: &str, word: &str, n, more: Value| {
        let mut params = client.at(name, text, word, n);
        for (key, value) in more.as_object().expect("an object") {
            params[key] = value.clone();
        }
        params
    };
    let all = json!({"context": {"includeDeclaration": true}});
    let params = asked(&client, "cells.rml", CELLS_FILE, "step", 0, all.clone());
    let found = client.ask("textDocument/references", params).expect("an answer");
    let places: Vec<&str> =
        found.as_array().expect("a list").iter().filter_map(|l| l["uri"].as_str()).collect();
    assert_eq!(
        places.iter().filter(|uri| uri.ends_with("net.rml")).count(),
        3,
        "import, alias, call: {found}"
    );
    let params = asked(&client, "net.rml", NET, "net(x", 0, all);
    assert_eq!(
        client.ask("textDocument/references", params).expect("an answer").as_array().map(Vec::len),
        Some(2)
    );

    let new = |name: &str| json!({"newName": name});
    let params = asked(&client, "cells.rml", CELLS_FILE, "step", 0, new("unit"));
    let edits = client.ask("textDocument/rename", params).expect("an answer");
    let net = apply(NET, &edits["changes"][client.uri("net.rml")]);
    assert_eq!(net, NET.replace("(step as", "(unit as"), "its other name stays");
    let params = asked(&client, "net.rml", NET, "cell(16", 0, new("memory"));
    let edits = client.ask("textDocument/rename", params).expect("an answer");
    assert_eq!(
        apply(NET, &edits["changes"][client.uri("net.rml")]),
        NET.replace("as cell", "as memory").replace("cell(16", "memory(16")
    );
    assert_eq!(edits["changes"].as_object().map(serde_json::Map::len), Some(1), "{edits}");
    let params = asked(&client, "net.rml", NET, "net(x", 0, new("network"));
    let edits = client.ask("textDocument/rename", params).expect("an answer");
    assert_eq!(apply(NET, &edits["changes"][client.uri("net.rml")]), NET.replace("net(x", "network(x"));
    let params = asked(&client, "net.rml", NET, "end: bool", 0, new("stop"));
    let edits = client.ask("textDocument/rename", params).expect("an answer");
    let (node, rest) = NET.split_at(NET.find("node train").expect("there"));
    assert_eq!(apply(NET, &edits["changes"][client.uri("net.rml")]), node.replace("end", "stop") + rest);

    let mut refused = |word: &str, n, name: &str| {
        let params = asked(&client, "net.rml", NET, word, n, new(name));
        client.ask("textDocument/rename", params).expect_err("refused")
    };
    assert!(refused("h = cell", 0, "y").contains("something else is called `y`"));
    assert!(refused("h = cell", 0, "when").contains("keyword of the language"));
    assert!(refused("h = cell", 0, "2h").contains("not a name"));
    assert!(refused("dense", 0, "d").contains("library"));
    assert!(refused("node net", 0, "d").contains("no name here"));
    let params = client.at("net.rml", NET, "h = cell", 0);
    let prepared = client.ask("textDocument/prepareRename", params).expect("an answer");
    assert_eq!(prepared["placeholder"], "h");
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn completions_bring_names_and_imports() {
    let mut client = Client::new(&[]);
    let half = "import std.losses;\n\nnode f(x: num [batch, 8]) -> (y: num [batch, 2])\n  h = lst\n  y = dense(2, h);\n\nnode g(k) -> (z)\n  z = k;\n";
    client.open("f.rml", half);
    let items = client
        .ask("textDocument/completion", client.at("f.rml", half, "\n  y = dense", 0))
        .expect("an answer");
    let items = items.as_array().expect("a list");
    let find =
        |label: &str| items.iter().find(|i| i["label"] == label).unwrap_or_else(|| panic!("no {label}"));
    assert_eq!(
        find("diff_mse")["detail"],
        "node diff_mse(o: num [s..], gt: num [s..], bp: bool [], dloss: num [] when bp) -> (loss, do, dgt)"
    );
    let edits = &find("lstm")["additionalTextEdits"];
    let with = apply(half, edits);
    assert!(with.starts_with("import std.losses;\nimport std.layers (lstm);\n"), "{with}");
    assert_eq!(find("lstm")["insertText"], "lstm($0)");
    assert_eq!(find("mse")["additionalTextEdits"], Value::Null);
    for name in ["x", "y", "batch", "fby", "matmul", "g", "every", "diff_g", "diff_mse"] {
        find(name);
    }
    assert!(items.iter().all(|i| i["label"] != "k" && i["label"] != "z"), "names of another node");
    client.change("f.rml", 2, "import std.");
    let items =
        client.ask("textDocument/completion", client.at("f.rml", "import std.", "", 11)).expect("an answer");
    assert!(items.as_array().expect("a list").iter().any(|i| i["label"] == "layers"), "{items}");
    let list = "import std.layers (ls";
    client.change("f.rml", 3, list);
    let items =
        client.ask("textDocument/completion", client.at("f.rml", list, "", list.len())).expect("an answer");
    assert!(items.as_array().expect("a list").iter().any(|i| i["label"] == "lstm"), "{items}");
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn a_call_shows_the_interface() {
    let mut client = session();
    let help = client
        .ask("textDocument/signatureHelp", client.at("net.rml", NET, ", x) every", 0))
        .expect("an answer");
    assert_eq!(
        (&help["activeParameter"], &help["signatures"][0]["label"]),
        (&json!(0), &json!("node step(n, x: num [batch, d]) -> (h: num [batch, n])"))
    );
    let help = client
        .ask("textDocument/signatureHelp", client.at("net.rml", NET, "x) every", 0))
        .expect("an answer");
    assert_eq!(help["activeParameter"], 1);
    let help = client
        .ask("textDocument/signatureHelp", client.at("net.rml", NET, "do);\n  loss", 0))
        .expect("an answer");
    let signature = &help["signatures"][0];
    let label = signature["label"].as_str().expect("text");
    assert!(label.starts_with("node diff_net(") && label.contains("bp: bool []"), "{label}");
    let parameters = signature["parameters"].as_array().expect("a list");
    let place: Vec<u64> = serde_json::from_value(parameters[3]["label"].clone()).expect("a place");
    assert_eq!((&help["activeParameter"], &label[place[0] as usize..place[1] as usize]), (&json!(3), "dy"));
    assert_eq!(client.end(), Ok(()));
}

/// Types that are declared in the text are shown although another line has an error.
#[test]
fn declared_types_are_shown_beside_errors() {
    const TEXT: &str = "node f(x: num [3], c: bool [], y: num [3] when c) -> (o)\n  o = x + nowhere;\n";
    let mut client = Client::new(&[]);
    client.open("f.rml", TEXT);
    let mut hover = |word: &str| {
        text(&client.ask("textDocument/hover", client.at("f.rml", TEXT, word, 0)).expect("an answer"))
    };
    assert!(hover("x: num").contains("x: num [3]") && hover("y: num").contains("y: num [3] when c"));
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn hints_lenses_tokens_and_outline_follow_the_text() {
    let mut client = session();
    let document = json!({"textDocument": {"uri": client.uri("net.rml")}});
    let mut all = document.clone();
    all["range"] = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
    let hints = client.ask("textDocument/inlayHint", all).expect("an answer");
    let label = |line: u64| {
        let of = hints.as_array().expect("a list").iter().find(|h| h["position"]["line"] == line);
        of.and_then(|h| h["label"].as_str()).unwrap_or_default().to_owned()
    };
    assert_eq!(label(6), ": num [batch, 16]");
    assert_eq!(label(7), ": num [batch, 3] when end");
    assert_eq!(label(5), "", "its type is written");
    let lenses = client.ask("textDocument/codeLens", document.clone()).expect("an answer");
    let titles = |node: &str| {
        let own = lenses
            .as_array()
            .expect("a list")
            .iter()
            .map(|l| &l["command"])
            .filter(|c| c["arguments"][0]["node"] == node);
        own.filter_map(|c| c["title"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(titles("net"), ["run", "trace", "adjoint"]);
    assert_eq!(titles("train"), ["run", "trace", "train", "adjoint"]);
    let tokens = client.ask("textDocument/semanticTokens/full", document.clone()).expect("an answer");
    let data: Vec<u64> =
        tokens["data"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
    assert_eq!(data.len() % 5, 0);
    assert_eq!(&data[..5], [2, 20, 4, 0, 0], "`step` in the third line, a node");
    let outline = client.ask("textDocument/documentSymbol", document).expect("an answer");
    let names: Vec<&str> =
        outline.as_array().expect("a list").iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["net", "train"]);
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn what_updates_parameters_is_not_to_be_run() {
    let text = "import std.schedules;\nnode diff_param(init, bp, do) -> (o)\n  n = ticks(bp);\n\
                \x20 o = init fby (o + merge bp (to_num(n) * do) 0.0);\n\
                node net(x: num []) -> (y)\n  w = param(1.0);\n  y = w * x;\n\
                node train(x: num []) -> (y)\n  y, _ = diff_net(x, true, -0.1 * y);\n";
    let mut client = session();
    client.open("p.rml", text);
    client.await_findings("p.rml", |found| found.is_empty());
    let document = json!({"textDocument": {"uri": client.uri("p.rml")}});
    let lenses = client.ask("textDocument/codeLens", document).expect("an answer");
    let own = lenses.as_array().expect("a list").iter().map(|l| &l["command"]);
    let own = own.filter(|c| c["arguments"][0]["node"] == "diff_param");
    assert_eq!(own.map(|c| text_of(&c["title"])).collect::<Vec<_>>(), ["adjoint"]);
    assert_eq!(client.end(), Ok(()));
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn quick_fixes_mend_what_they_say() {
    let wrong = [
        ("node f(value: num []) -> (y)\n  y = valeu + 1.0;\n", "= value + 1.0", "valeu"),
        ("node f(x: num []) -> (y)\n  y = tahn(x);\n", "tanh(x)", "tahn"),
        ("node f(x: num [batch, 2]) -> (y)\n  y = dense(3, x);\n", "import std.layers;", "dense"),
        (
            "import std.layers;\nnode f(x: num []) -> (y)\n  y = x;\n",
            "\nnode f(x: num []) -> (y)\n  y = x;\n",
            "import",
        ),
        (
            "import std.layers (lstm, dense);\nnode f(x: num [batch, 2]) -> (y)\n  y = dense(3, x);\n",
            "(dense)",
            "lstm",
        ),
        ("node f(x: bool [], z: bool []) -> (y)\n  y = x&&z;\n", "x and z", "&&"),
        (
            "node f(x: num []) -> (y)\n  y = x\nnode g(x: num []) -> (y)\n  y = x;\n",
            "y = x;\nnode",
            "x\nnode",
        ),
        (
            "import std.layrs;\nnode f(x: num [batch, 2]) -> (y)\n  y = dense(3, x);\n",
            "import std.layers;",
            "layrs",
        ),
    ];
    let mut client = Client::new(&[]);
    for (i, (text, mended, word)) in wrong.into_iter().enumerate() {
        let name = format!("f{i}.rml");
        client.open(&name, text);
        client.findings(&name, 1, true);
        let place = client.at(&name, text, word, 0);
        let range = json!({"start": place["position"], "end": place["position"]});
        let params =
            json!({"textDocument": place["textDocument"], "range": range, "context": {"diagnostics": []}});
        let actions = client.ask("textDocument/codeAction", params).expect("an answer");
        let edits = &actions[0]["edit"]["changes"][client.uri(&name)];
        assert!(edits.is_array(), "{text}: {actions}");
        let text = apply(text, edits);
        assert!(text.contains(mended), "{text}");
        client.change(&name, 2, &text);
        assert_eq!(client.findings(&name, 2, false), Vec::<Value>::new(), "{text}");
    }
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn a_text_is_laid_out_and_an_adjoint_shown() {
    let mut client = session();
    let loose = "node f(x:num[]) -> (y)  y=x*x;";
    client.open("f.rml", loose);
    let document = json!({"textDocument": {"uri": client.uri("f.rml")}, "options": {"tabSize": 2, "insertSpaces": true}});
    let edits = client.ask("textDocument/formatting", document.clone()).expect("an answer");
    assert_eq!(apply(loose, &edits), "node f(x: num []) -> (y)\n  y = x * x;\n");
    client.change("f.rml", 2, "node f(");
    assert!(client.ask("textDocument/formatting", document).expect_err("refused").contains("errors"));
    let arguments = json!([{"file": client.path("net.rml").display().to_string(), "node": "net"}]);
    let text = client
        .ask("workspace/executeCommand", json!({"command": "rml.adjoint", "arguments": arguments}))
        .expect("an answer");
    assert!(text.as_str().is_some_and(|text| text.contains("node diff_net(")), "{text}");
    let shown = client.asked.iter().find(|r| r.method == "window/showDocument").expect("it is shown");
    let path = client::file_at(&shown.params["uri"]);
    assert!(path.is_file());
    let arguments = json!([{"file": client.path("net.rml").display().to_string(), "node": "nowhere"}]);
    let why =
        client.ask("workspace/executeCommand", json!({"command": "rml.adjoint", "arguments": arguments}));
    assert!(why.expect_err("refused").contains("no node `nowhere`"));
    assert_eq!(client.end(), Ok(()));
}

/// All requests at every position, and beyond the ends of lines, in a program with characters of two, three and four
/// bytes.
#[test]
fn characters_of_several_bytes_are_answered() {
    const TEXT: &str =
        "-- größe (ü, \n(* 𝄞𝄞 *) import std.löß (\nnode f(x: num []) -> (y) -- ←\n  y = ü(x, äx) + x;→(é\n";
    for capabilities in [json!({}), json!({"general": {"positionEncodings": ["utf-8"]}})] {
        let mut client = Client::with(&[], capabilities);
        client.open("n.rml", TEXT);
        for asked in [
            "hover",
            "definition",
            "completion",
            "signatureHelp",
            "documentHighlight",
            "prepareRename",
            "references",
        ] {
            for (line, text) in TEXT.split('\n').enumerate() {
                for character in 0..text.len() + 2 {
                    let at = json!({"line": line, "character": character});
                    let params = json!({"textDocument": {"uri": client.uri("n.rml")}, "position": at,
                        "context": {"includeDeclaration": true}});
                    let _ = client.ask(&format!("textDocument/{asked}"), params);
                }
            }
        }
        assert_eq!(client.end(), Ok(()));
    }
}

/// All requests at every position, for every prefix of a program.
#[test]
fn half_typed_texts_are_answered() {
    let mut client = Client::new(&[("cells.rml", CELLS_FILE)]);
    client.open("n.rml", "");
    let requests =
        ["hover", "definition", "completion", "signatureHelp", "documentHighlight", "prepareRename"];
    let whole = ["documentSymbol", "codeLens", "semanticTokens/full", "foldingRange"];
    for (version, (end, _)) in (2..).zip(NET.char_indices().step_by(7)) {
        let text = &NET[..end];
        client.change("n.rml", version, text);
        for asked in requests {
            let _ = client.ask(&format!("textDocument/{asked}"), client.at("n.rml", text, "", text.len()));
        }
        for asked in whole {
            let document = json!({"textDocument": {"uri": client.uri("n.rml")}});
            client.ask(&format!("textDocument/{asked}"), document).expect("an answer");
        }
    }
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn nonsense_is_refused_and_the_session_goes_on() {
    let mut client = session();
    assert!(client.ask("textDocument/hover", json!({"nothing": 1})).is_err());
    assert!(client.ask("no/such", json!(null)).expect_err("refused").contains("no/such"));
    assert!(client.ask("workspace/executeCommand", json!({"command": "rm", "arguments": []})).is_err());
    client.say("textDocument/didChange", json!([1, 2]));
    let far = json!({"textDocument": {"uri": client.uri("net.rml")}, "position": {"line": 4_000_000_000_u32, "character": 7}});
    assert_eq!(client.ask("textDocument/hover", far), Ok(Value::Null));
    let gone =
        json!({"textDocument": {"uri": "file:///no/such/file.rml"}, "position": {"line": 0, "character": 0}});
    assert_eq!(client.ask("textDocument/hover", gone), Ok(Value::Null));
    let reverse = json!([{"range": {"start": {"line": 9, "character": 9}, "end": {"line": 0, "character": 0}}, "text": "x"}]);
    client.edit("net.rml", 5, reverse);
    client.findings("net.rml", 5, false);
    client.say("textDocument/didOpen", json!({"textDocument": {"uri": "untitled:Untitled-1", "languageId": "rml", "version": 1, "text": CELLS}}));
    let at = json!({"textDocument": {"uri": "untitled:Untitled-1"}, "position": {"line": 3, "character": 2}});
    assert!(
        text(&client.ask("textDocument/hover", at).expect("an answer")).contains("output of node `step`")
    );
    assert_eq!(client.end(), Ok(()));
}

#[test]
fn an_editor_that_goes_away_ends_the_session() {
    let ended = session().vanish().expect_err("not as it should");
    assert!(ended.0.contains("went away"), "{ended}");
}
