//! The part of HTTP that one local page needs: one request per connection, without a body. A slow or malformed client
//! costs a thread for some seconds.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The most connections open at once; a further one is closed.
const MOST: usize = 64;
/// How many bytes are written at once.
const PART: usize = 64 << 10;
/// The most bytes of a request.
const LONGEST: usize = 16 << 10;
/// The time limit for receiving a whole request, and for sending a whole answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A `GET` request.
pub(crate) struct Request {
    /// The path, without the query after `?`.
    pub(crate) path: String,
    /// The host name that the browser used.
    pub(crate) host: String,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

/// The requests as they arrive, each with a sender for its answer, until the listener fails.
pub(crate) fn requests(listener: TcpListener) -> Receiver<(Request, Sender<Answer>)> {
    let (sends, receives) = channel();
    let busy = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if busy.fetch_add(1, Ordering::SeqCst) >= MOST {
                busy.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (sends, done) = (sends.clone(), Arc::clone(&busy));
            let serve = move || {
                // The client may have disconnected.
                let _ = connection(stream, &sends);
                done.fetch_sub(1, Ordering::SeqCst);
            };
            if thread::Builder::new().spawn(serve).is_err() {
                busy.fetch_sub(1, Ordering::SeqCst);
            }
        }
    });
    receives
}

fn connection(mut stream: TcpStream, sends: &Sender<(Request, Sender<Answer>)>) -> io::Result<()> {
    let (reply, answers) = channel();
    let asked = request(&mut stream, Instant::now() + PATIENCE)?
        .and_then(|request| sends.send((request, reply)).ok());
    let answer = asked.and_then(|()| answers.recv().ok());
    let answer =
        answer.unwrap_or(Answer { status: "400 Bad Request", kind: "text/plain", text: String::new() });
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.kind,
        answer.text.len()
    );
    let deadline = Instant::now() + PATIENCE;
    for part in head.as_bytes().chunks(PART).chain(answer.text.as_bytes().chunks(PART)) {
        stream.set_write_timeout(Some(left(deadline)?))?;
        stream.write_all(part)?;
    }
    stream.shutdown(Shutdown::Write)
}

/// The time until a deadline; an error if the deadline has passed.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Reads a request from a connection before the deadline; none if the bytes are not a `GET` request.
fn request(stream: &mut TcpStream, deadline: Instant) -> io::Result<Option<Request>> {
    let mut head = Vec::new();
    let mut part = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        stream.set_read_timeout(Some(left(deadline)?))?;
        let read = stream.read(&mut part)?;
        if read == 0 || head.len() + read > LONGEST {
            return Ok(None);
        }
        head.extend_from_slice(&part[..read]);
    }
    Ok(String::from_utf8(head).ok().as_deref().and_then(parsed))
}

fn parsed(head: &str) -> Option<Request> {
    let mut lines = head.split("\r\n");
    let (path, version) = lines.next()?.strip_prefix("GET ")?.split_once(' ')?;
    if !version.starts_with("HTTP/1.") {
        return None;
    }
    let mut fields = lines.filter_map(|line| line.split_once(':'));
    let (_, host) = fields.find(|(name, _)| name.eq_ignore_ascii_case("host"))?;
    let path = path.split('?').next().unwrap_or(path);
    Some(Request { path: path.to_owned(), host: host.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sending a byte now and then does not extend the time limit of a request.
    #[test]
    fn a_request_that_comes_slowly_ends_at_its_deadline() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let mut slow = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        let (mut stream, _) = listener.accept().expect("a connection");
        let sender = thread::spawn(move || {
            while slow.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        });
        let ended = request(&mut stream, Instant::now() + Duration::from_millis(50));
        assert!(ended.is_err(), "neither a request, nor more bytes than one may have");
        drop(stream);
        sender.join().expect("it ends with the connection");
    }

    #[test]
    fn requests_are_told_from_anything_else() {
        let good = parsed("GET /a/state?x=1 HTTP/1.1\r\nAccept: */*\r\nHOST: 127.0.0.1:1\r\n\r\n");
        assert!(good.is_some_and(|r| r.path == "/a/state" && r.host == "127.0.0.1:1"));
        for bad in [
            "",
            "\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/2\r\nHost: x\r\n\r\n",
        ] {
            assert!(parsed(bad).is_none(), "{bad:?}");
        }
    }
}
