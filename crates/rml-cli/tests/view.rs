//! `rml view` and `rml train --view`: the answers to a browser and to other clients, and that the page follows the
//! files or the training.

mod support;

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Stdio};

use support::Folder;

const PROGRAM: &str =
    "node f(x: num [], end: bool []) -> (y)\n  y = merge end (x when end) ((post y) when not end);\n";

/// A server, and the address of its page.
struct Viewed {
    child: Child,
    host: String,
    path: String,
}

impl Viewed {
    fn new(folder: &Folder) -> Self {
        let mut command = folder.command("view f.rml --inputs i.json");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("rml starts");
        let told = BufReader::new(child.stdout.take().expect("a pipe"));
        Self::at(told, child)
    }

    /// The page of a folder of runs.
    fn runs(folder: &Folder) -> Self {
        let mut command = folder.command("view logs");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("rml starts");
        let told = BufReader::new(child.stdout.take().expect("a pipe"));
        Self::at(told, child)
    }

    /// Starts a training with a live page.
    fn training(folder: &Folder, flags: &str) -> Self {
        let mut command =
            folder.command(&format!("train l.rml --data d.json --epochs 10000000 --view {flags}"));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("rml starts");
        let mut told = BufReader::new(child.stderr.take().expect("a pipe"));
        let served = Self::at(&mut told, child);
        // Reads the pipe, so that the training does not block on it.
        std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
        served
    }

    fn at(mut told: impl BufRead, child: Child) -> Self {
        let mut line = String::new();
        told.read_line(&mut line).expect("an address");
        let (host, path) =
            line.trim().strip_prefix("http://").and_then(|a| a.split_once('/')).expect("an address");
        assert!(host.starts_with("127.0.0.1:") && path.len() > 30, "{line}");
        Self { host: host.to_owned(), path: format!("/{path}"), child }
    }

    /// The answer to a request: its head and its body.
    fn ask(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.host).expect("it serves");
        stream.write_all(request.as_bytes()).expect("it reads");
        stream.shutdown(Shutdown::Write).expect("it is open");
        let mut answer = Vec::new();
        // The server may close the connection of a malformed request.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str, host: &str) -> (String, String) {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    }

    fn page(&self) -> String {
        let (head, body) = self.get(&self.path, &self.host);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        body
    }
}

impl Drop for Viewed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder() -> Folder {
    Folder::new().file("f.rml", PROGRAM).file("i.json", r#"{"x": [1, 2, 3], "end": [false, true, true]}"#)
}

#[test]
fn the_page_follows_the_files() {
    let folder = folder();
    let viewed = Viewed::new(&folder);
    let state = || viewed.get(&format!("{}state", viewed.path), &viewed.host).1;
    let (page, first) = (viewed.page(), state());
    assert!(
        page.contains("windowed by `end`") && page.contains("Normal form") && page.contains("\"live\":true"),
        "{page}"
    );
    assert!(page.contains("connect-src 'self'"));
    assert_eq!(state(), first);
    std::fs::write(folder.path("f.rml"), PROGRAM.replace("x when end", "z when end")).expect("a file");
    let second = state();
    assert_ne!(second, first);
    let page = viewed.page();
    assert!(page.contains("unknown-name") && page.contains("z when end"), "{page}");
    std::fs::write(folder.path("i.json"), r#"{"x": [1], "end": [true]}"#).expect("a file");
    std::fs::write(folder.path("f.rml"), PROGRAM).expect("a file");
    assert_ne!(state(), second);
    assert!(viewed.page().contains("\"cycles\":1,"));
    std::fs::remove_file(folder.path("i.json")).expect("it exists");
    assert!(viewed.page().contains("unreadable-file"));
}

#[test]
fn others_get_nothing() {
    let folder = folder();
    let viewed = Viewed::new(&folder);
    let (path, host) = (&viewed.path, &viewed.host);
    let guesses =
        [("/", host.as_str()), ("/state", host), ("/../f.rml", host), (path, "evil.example"), (path, "")];
    for (path, host) in guesses {
        let (head, body) = viewed.get(path, host);
        assert!(!head.starts_with("HTTP/1.1 200") && !body.contains("node f"), "{path} {host}: {head}");
    }
    let (head, _) = viewed.ask(&format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ));
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    // Malformed requests, and browsers that send a request but do not read the answer.
    for nonsense in ["\r\n\r\n", "nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET\r\n\r\n"] {
        let (head, body) = viewed.ask(nonsense);
        assert!(!head.starts_with("HTTP/1.1 200") && !body.contains("node f"), "{nonsense:?}");
    }
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let silent: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(host).expect("it serves");
            stream.write_all(request.as_bytes()).expect("it reads");
            stream
        })
        .collect();
    assert!(viewed.page().contains("node f"));
    drop(silent);
}

#[test]
fn a_training_shows_its_page_while_it_runs() {
    let data = serde_json::json!({"x": [0.1, 0.4, -0.3, 0.9, 0.6], "y": [0.3, 1.0, -1.0, 2.5, 2.0]});
    let folder = Folder::new().file("l.rml", support::LINE).file("d.json", data.to_string());
    let served = Viewed::training(&folder, "--report r.html");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let page = loop {
        let page = served.page();
        if page.contains("Learning curves") {
            break page;
        }
        assert!(std::time::Instant::now() < deadline, "{page}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert!(page.contains("It is running, after ") && page.contains("connect-src 'self'"), "{page}");
    assert!(served.get("/", &served.host).0.starts_with("HTTP/1.1 404"));
}

#[test]
fn the_page_of_a_folder_follows_its_runs() {
    let data = serde_json::json!({"x": [0.1, 0.4, -0.3, 0.9, 0.6], "y": [0.3, 1.0, -1.0, 2.5, 2.0]});
    let folder = Folder::new().file("l.rml", support::LINE).file("d.json", data.to_string());
    let train = |log: &str| folder.rml(&format!("train l.rml --data d.json --epochs 2 --log {log}")).ok();
    std::fs::create_dir(folder.path("logs")).expect("a folder");
    folder.rml("view logs").fails(1, &["bad-option", "logs has no log of a training", "--log DIR/NAME"]);
    train("logs/first");
    folder.rml("view logs --cycles 3 --vars all").fails(1, &["`--cycles`, `--vars` can have no effect"]);
    let viewed = Viewed::runs(&folder);
    let page = viewed.page();
    assert!(page.contains("Runs in logs") && page.contains(">first</span>"), "{page}");
    let state = viewed.get(&format!("{}state", viewed.path), &viewed.host).1;
    train("logs/second");
    assert_ne!(viewed.get(&format!("{}state", viewed.path), &viewed.host).1, state);
    assert!(viewed.page().contains(">second</span>"));
}

#[test]
fn several_trainings_show_their_page_while_they_run() {
    let data = serde_json::json!({"x": [0.1, 0.4, -0.3, 0.9, 0.6], "y": [0.3, 1.0, -1.0, 2.5, 2.0]});
    let folder = Folder::new().file("l.rml", support::LINE).file("d.json", data.to_string());
    let served = Viewed::training(&folder, "--report r.html --runs out --seeds 0..2 --jobs 1");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let page = served.page();
        if page.contains("Runs of l.rml") && page.contains(">seed=0</span>") {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{page}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn a_program_that_does_not_exist_is_not_served() {
    Folder::new().rml("view missing.rml").fails(1, &["unreadable-file", "missing.rml"]);
}
