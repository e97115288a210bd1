//! Fetching from a server on this machine that behaves in all the ways a mirror may.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use super::*;

const CONTENT: &[u8] = b"0123456789abcdef";
const WHEEL: Wheel = Wheel {
    project: "p",
    file: "p-1.whl",
    size: 16,
    sha256: "9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f",
};

/// What the server does with requests for the file, one after the other; requests for the page are always answered.
#[derive(Clone, Copy)]
enum Turn {
    /// Gives the whole file, whatever is asked for.
    Whole,
    /// Gives the range that is asked for.
    Range,
    /// Says that it gives everything from the asked position on, and stops after that many bytes.
    Break(usize),
    /// Gives other bytes of the same length.
    Wrong,
    /// Gives more bytes than the file has.
    Long,
    /// Answers with that status.
    Status(&'static str),
}

/// A server that takes those turns; gives its address and the ranges it is asked for.
fn serve(turns: &'static [Turn]) -> (String, Receiver<Option<u64>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut turns = turns.iter();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (path, from) = request(&stream);
            if path == "/simple/p/" {
                answer(&mut stream, "200 OK", "", br#"<a href="../../f/p-1.whl#sha256=0">p-1.whl</a>"#, None);
                continue;
            }
            assert_eq!(path, "/f/p-1.whl");
            let Some(turn) = turns.next() else { break };
            sender.send(from).unwrap();
            take(*turn, &mut stream, from);
        }
    });
    (address, receiver)
}

fn take(turn: Turn, stream: &mut TcpStream, from: Option<u64>) {
    let start = from.unwrap_or(0) as usize;
    let range = format!("Content-Range: bytes {start}-15/16\r\n");
    let (status, head) =
        if from.is_some() { ("206 Partial Content", range.as_str()) } else { ("200 OK", "") };
    match turn {
        Turn::Whole => answer(stream, "200 OK", "", CONTENT, None),
        Turn::Range => answer(stream, status, head, &CONTENT[start..], None),
        Turn::Break(count) => answer(stream, status, head, &CONTENT[start..], Some(count)),
        Turn::Wrong => answer(stream, status, head, &b"fedcba9876543210"[start..], None),
        Turn::Long => answer(stream, "200 OK", "", b"0123456789abcdef!", None),
        Turn::Status(status) => answer(stream, status, "", b"", None),
    }
}

fn request(stream: &TcpStream) -> (String, Option<u64>) {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    let path = first.split(' ').nth(1).unwrap().to_owned();
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).map(|l| l.to_lowercase()).collect();
    let range = head.iter().find_map(|line| line.strip_prefix("range: bytes="));
    (path, range.map(|r| r.trim_end_matches('-').parse().unwrap()))
}

fn answer(stream: &mut TcpStream, status: &str, head: &str, body: &[u8], count: Option<usize>) {
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\n{head}Content-Length: {length}\r\nConnection: close\r\n\r\n")
        .unwrap();
    stream.write_all(&body[..count.unwrap_or(length)]).unwrap();
}

fn fetcher(downloads: &Path, address: &str, pauses: &'static [Duration]) -> Fetcher {
    let pip = pip::Config { indexes: vec![format!("{address}/simple")], ..pip::Config::default() };
    Fetcher { downloads: downloads.to_path_buf(), pip, pauses }
}

/// Fetches the file where `part` exists already; gives the outcome and what the server was asked for.
fn fetch(part: &[u8], turns: &'static [Turn]) -> (Result<Vec<u8>, String>, Vec<Option<u64>>) {
    let folder = tempfile::tempdir().unwrap();
    if !part.is_empty() {
        std::fs::write(folder.path().join("p-1.whl.part"), part).unwrap();
    }
    let (address, asked) = serve(turns);
    let outcome = fetcher(folder.path(), &address, &[Duration::ZERO, Duration::ZERO]).one(&WHEEL);
    let wrong_file = outcome.is_err() && folder.path().join(WHEEL.file).exists();
    assert!(!wrong_file, "a file that is not right has its name");
    (outcome.map(|path| std::fs::read(path).unwrap()), asked.try_iter().collect())
}

#[test]
fn a_file_is_fetched_from_where_the_index_says() {
    assert_eq!(fetch(b"", &[Turn::Whole]), (Ok(CONTENT.to_vec()), vec![None]));
}

#[test]
fn half_a_file_goes_on() {
    assert_eq!(fetch(b"01234", &[Turn::Range]), (Ok(CONTENT.to_vec()), vec![Some(5)]));
}

#[test]
fn half_a_file_is_begun_anew_where_ranges_are_refused() {
    assert_eq!(fetch(b"01234", &[Turn::Whole]), (Ok(CONTENT.to_vec()), vec![Some(5)]));
    let refused = fetch(b"01234", &[Turn::Status("416 Range Not Satisfiable"), Turn::Range]);
    assert_eq!(refused, (Ok(CONTENT.to_vec()), vec![Some(5), None]));
}

#[test]
fn a_broken_connection_is_taken_up_where_it_broke() {
    let broken = fetch(b"", &[Turn::Break(3), Turn::Break(4), Turn::Break(1), Turn::Range]);
    assert_eq!(broken, (Ok(CONTENT.to_vec()), vec![None, Some(3), Some(7), Some(8)]));
}

#[test]
fn half_of_another_file_is_found_out_and_fetched_anew() {
    assert_eq!(fetch(b"xxxxx", &[Turn::Range, Turn::Range]), (Ok(CONTENT.to_vec()), vec![Some(5), None]));
    assert_eq!(fetch(&[b'x'; 17], &[Turn::Range]), (Ok(CONTENT.to_vec()), vec![None]));
}

#[test]
fn a_whole_part_needs_no_connection() {
    assert_eq!(fetch(CONTENT, &[]), (Ok(CONTENT.to_vec()), vec![]));
}

#[test]
fn a_wrong_file_is_an_error_that_names_both_hashes() {
    let (outcome, asked) = fetch(b"", &[Turn::Wrong]);
    let told = outcome.unwrap_err();
    assert!(told.contains(WHEEL.sha256) && told.contains("another file"), "{told}");
    assert_eq!(asked, [None]);
    assert!(fetch(b"", &[Turn::Long]).0.unwrap_err().contains("longer than the 16 bytes"));
}

#[test]
fn failures_name_the_mend() {
    let (outcome, asked) =
        fetch(b"", &[Turn::Status("503 Busy"), Turn::Status("503 Busy"), Turn::Status("503 Busy")]);
    let told = outcome.unwrap_err();
    assert!(told.contains("503") && told.contains("PIP_INDEX_URL") && told.contains("by hand"), "{told}");
    assert_eq!(asked.len(), 3);
    assert!(fetch(b"", &[Turn::Status("404 Not Found")]).0.unwrap_err().contains("404"));
}

#[test]
fn nobody_at_the_address() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let told = fetcher(folder.path(), &format!("http://{free}"), &[Duration::ZERO]).one(&WHEEL).unwrap_err();
    assert!(told.contains("cannot fetch p-1.whl") && told.contains("check the network"), "{told}");
}

#[test]
fn files_that_are_there_are_checked_and_local_ones_are_copied() {
    let (folder, local) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(local.path().join(WHEEL.file), CONTENT).unwrap();
    std::fs::write(folder.path().join(WHEEL.file), b"0123456789abcdeX").unwrap();
    let pip = pip::Config { links: vec![local.path().to_path_buf()], ..pip::Config::default() };
    let fetcher = Fetcher { downloads: folder.path().to_path_buf(), pip, pauses: &[] };
    let path = fetcher.one(&WHEEL).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), CONTENT);
    std::fs::remove_file(local.path().join(WHEEL.file)).unwrap();
    assert_eq!(fetcher.all(&[WHEEL]).unwrap(), [path]);
}
