//! The command: prints its address, serves, and ends without an error on a signal.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

const PROGRAM: &str = "node infer(x) -> (y)\n  y = (0.0 fby y) + x;\n";

/// A service that is ended together with the test, however the test ends.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn service(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_service"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_signal_ends_it_once_what_has_come_is_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sum.rml");
    std::fs::write(&file, PROGRAM).expect("a file");
    for signal in ["TERM", "INT"] {
        let mut command = service(&[&file.display().to_string(), "--address", "127.0.0.1:0"]);
        let mut served = Served(command.spawn().expect("it starts"));
        let mut line = String::new();
        BufReader::new(served.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(&address).expect("it listens");
            stream.write_all(request.as_bytes()).expect("it is sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer");
            answer
        };
        let begun =
            ask("POST /sessions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        let rows = begun.split('"').find(|part| part.ends_with("/rows")).expect("a path").to_owned();
        let row = format!(
            "POST {rows} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 10\r\n\r\n{{\"x\": 1.5}}"
        );
        assert!(ask(&row).contains("{\"cycle\": 0, \"y\": 1.5}"));
        let sent = Command::new("kill").args([&format!("-{signal}"), &served.0.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        assert!(served.0.wait().expect("it ends").success(), "{signal}");
        assert!(TcpStream::connect(&address).is_err());
    }
}

#[test]
fn a_program_that_does_not_compile_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.rml");
    std::fs::write(&file, "node infer(x) -> (y)\n  y = z;\n").expect("a file");
    let output = service(&[&file.display().to_string()]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("error[unknown-name]"), "{said}");
}
