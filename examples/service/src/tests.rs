//! The service as seen by clients, over the loopback of this machine.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hyper::Method;
use rml::{InferOptions, Source};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{Client, Reply};
use crate::{Limits, Service, serve};

/// A running sum, and the next value, which waits for the next cycle.
const PROGRAM: &str = "
node infer(x: num [2]) -> (total)
  total = (0.0 fby total) + sum(x);

node ahead(x) -> (next)
  next = post x;
";

/// A running service.
struct Running {
    address: SocketAddr,
    service: Service,
    stop: oneshot::Sender<()>,
    served: JoinHandle<io::Result<()>>,
}

impl Running {
    async fn new(limits: Limits) -> Self {
        Self::of("infer", limits).await
    }

    async fn of(node: &str, limits: Limits) -> Self {
        let options = InferOptions { node: node.into(), look_ahead: 3, ..InferOptions::default() };
        let service = Service::new(&Source::text("s.rml", PROGRAM), &options, limits).expect("it compiles");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(serve(listener, service.clone(), async { drop(stopped.await) }));
        Self { address, service, stop, served }
    }

    async fn client(&self) -> Client {
        Client::connect(self.address).await.expect("it listens")
    }

    /// Ends it.
    async fn end(self) {
        drop(self.stop);
        self.served.await.expect("no panic").expect("all requests were answered");
    }
}

async fn post(client: &mut Client, rows: &str, body: &str) -> Reply {
    client.send(Method::POST, rows, body.to_owned()).await.expect("an answer")
}

#[tokio::test]
async fn each_session_has_states_of_its_own() {
    let running = Running::new(Limits::default()).await;
    let (mut one, mut two) = (running.client().await, running.client().await);
    let (first, second) = (one.begin().await.expect("a session"), two.begin().await.expect("a session"));
    let reply = post(&mut one, &first, "{\"x\": [1, 2]}\n{\"x\": [3, 4]}").await;
    assert_eq!(reply.body, json!({"outputs": [{"cycle": 0, "total": 3.0}, {"cycle": 1, "total": 10.0}]}));
    let reply = post(&mut two, &second, "{\"x\": [5, 6]}").await;
    assert_eq!(reply.body, json!({"outputs": [{"cycle": 0, "total": 11.0}]}));
    // Every connection may feed every session.
    let reply = post(&mut two, &first, "{\"x\": [0, 0]}").await;
    assert_eq!(reply.body, json!({"outputs": [{"cycle": 2, "total": 10.0}]}));
    let health = one.send(Method::GET, "/health", "").await.expect("an answer");
    assert_eq!(health.body["sessions"], 2);
    let ended = one.send(Method::DELETE, first.trim_end_matches("/rows"), "").await.expect("an answer");
    assert_eq!((ended.status, ended.body), (200, json!({"outputs": []})));
    let gone = post(&mut one, &first, "{\"x\": [0, 0]}").await;
    assert_eq!((gone.status, &gone.body["error"]["code"]), (404, &json!("no-session")));
    running.end().await;
}

#[tokio::test]
async fn outputs_that_wait_come_later_or_at_the_end() {
    let running = Running::of("ahead", Limits::default()).await;
    let mut client = running.client().await;
    let rows = client.begin().await.expect("a session");
    assert_eq!(post(&mut client, &rows, "{\"x\": 1}").await.body, json!({"outputs": []}));
    assert_eq!(
        post(&mut client, &rows, "{\"x\": 2}").await.body,
        json!({"outputs": [{"cycle": 0, "next": 2.0}]})
    );
    let ended = client.send(Method::DELETE, rows.trim_end_matches("/rows"), "").await.expect("an answer");
    assert_eq!(ended.body["outputs"].as_array().map(Vec::len), Some(1), "{:?}", ended.body);
    running.end().await;
}

#[tokio::test]
async fn what_is_refused_says_why_and_does_not_happen() {
    let limits = Limits { body: 200, rows: 3, ..Limits::default() };
    let running = Running::new(limits).await;
    let mut client = running.client().await;
    let rows = client.begin().await.expect("a session");
    let wrong = post(&mut client, &rows, "{\"x\": [1, 1]} {\"x\": [1]} {\"x\": [1, 1]}").await;
    assert_eq!((wrong.status, &wrong.body["row"]), (422, &json!(1)));
    assert_eq!(wrong.body["outputs"], json!([{"cycle": 0, "total": 2.0}]));
    assert!(wrong.body["error"]["code"].is_string() && wrong.body["error"]["message"].is_string());
    let unknown = post(&mut client, &rows, "{\"y\": 1}").await;
    assert_eq!((unknown.status, &unknown.body["error"]["code"]), (422, &json!("unknown-input")));
    for (body, status, code) in [
        ("{\"x\": [1, ", 400, "malformed-data"),
        ("nonsense", 400, "malformed-data"),
        ("{} {} {} {}", 413, "too-large"),
        (&"[".repeat(201), 413, "too-large"),
    ] {
        let reply = post(&mut client, &rows, body).await;
        assert_eq!((reply.status, &reply.body["error"]["code"]), (status, &json!(code)), "{body}");
        // A client whose request was not read to its end has to open another connection.
        client = running.client().await;
    }
    let after = post(&mut client, &rows, "{\"x\": [0, 1]}").await;
    assert_eq!(after.body, json!({"outputs": [{"cycle": 1, "total": 3.0}]}), "nothing of it happened");
    for (method, path, status) in [
        (Method::GET, "/", 404),
        (Method::GET, "/sessions", 405),
        (Method::POST, "/sessions/none/rows", 404),
        (Method::DELETE, "/sessions/none", 404),
    ] {
        assert_eq!(client.send(method, path, "").await.expect("an answer").status, status, "{path}");
    }
    running.end().await;
}

#[tokio::test]
async fn sessions_are_limited() {
    let running = Running::new(Limits { sessions: 2, ..Limits::default() }).await;
    let mut client = running.client().await;
    let first = client.begin().await.expect("a session");
    client.begin().await.expect("another one");
    let refused = client.send(Method::POST, "/sessions", "").await.expect("an answer");
    assert_eq!((refused.status, refused.retry_after.as_deref()), (503, Some("1")));
    assert_eq!(refused.body["error"]["code"], "too-many-sessions");
    client.send(Method::DELETE, first.trim_end_matches("/rows"), "").await.expect("an answer");
    client.begin().await.expect("there is room again");
    running.end().await;
}

/// Waits until the service has accepted this many requests.
async fn taken(running: &Running, places: usize) {
    while running.service.work.places.available_permits() > places {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn requests_that_would_wait_too_long_are_refused_and_others_go_on() {
    let running = Running::new(Limits { workers: 1, queue: 1, per_session: 2, ..Limits::default() }).await;
    // The test occupies the only worker.
    let worker = running.service.work.workers.clone().acquire_owned().await.expect("it is free");
    let (mut one, mut two, mut three) =
        (running.client().await, running.client().await, running.client().await);
    let (first, second) = (one.begin().await.expect("a session"), two.begin().await.expect("a session"));
    let waiting: Vec<_> = [(one, first.clone()), (two, first.clone())]
        .into_iter()
        .map(|(mut client, rows)| {
            tokio::spawn(async move { post(&mut client, &rows, "{\"x\": [1, 1]}").await })
        })
        .collect();
    taken(&running, 0).await;
    let same = post(&mut three, &first, "{\"x\": [1, 1]}").await;
    assert_eq!((same.status, same.retry_after.as_deref()), (429, Some("1")), "two of the session wait");
    assert_eq!(same.body["error"]["code"], "session-busy");
    let other = post(&mut three, &second, "{\"x\": [1, 1]}").await;
    assert_eq!((other.status, other.retry_after.as_deref()), (503, Some("1")), "all places are taken");
    assert_eq!(other.body["error"]["code"], "busy");
    assert_eq!(three.send(Method::GET, "/health", "").await.expect("an answer").status, 200);
    drop(worker);
    let mut totals = Vec::new();
    for reply in waiting {
        totals.push(reply.await.expect("no panic").body["outputs"][0]["total"].as_f64());
    }
    totals.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    assert_eq!(totals, [Some(2.0), Some(4.0)], "both happened, one after the other");
    assert_eq!(post(&mut three, &second, "{\"x\": [1, 1]}").await.status, 200);
    running.end().await;
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_its_session_whole() {
    let running = Running::new(Limits { workers: 1, ..Limits::default() }).await;
    let worker = running.service.work.workers.clone().acquire_owned().await.expect("it is free");
    let all = running.service.work.places.available_permits();
    let (mut one, mut two) = (running.client().await, running.client().await);
    let rows = one.begin().await.expect("a session");
    let path = rows.clone();
    let asked = tokio::spawn(async move { post(&mut one, &path, "{\"x\": [1, 1]}").await });
    taken(&running, all - 1).await;
    asked.abort();
    // The request waited for its turn, and its place is free again once its connection is closed.
    while running.service.work.places.available_permits() < all {
        tokio::task::yield_now().await;
    }
    drop(worker);
    let reply = post(&mut two, &rows, "{\"x\": [2, 2]}").await;
    assert_eq!(reply.body, json!({"outputs": [{"cycle": 0, "total": 4.0}]}));
    running.end().await;
}

/// The bytes that the service sends on a connection until it closes it.
async fn said(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that is reset has ended, too.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn clients_that_send_nonsense_or_nothing_are_let_go() {
    let limits = Limits { patience: Duration::from_millis(100), ..Limits::default() };
    let running = Running::new(limits).await;
    let raw = async |bytes: &[u8]| {
        let mut stream = TcpStream::connect(running.address).await.expect("it listens");
        stream.write_all(bytes).await.expect("it is sent");
        said(stream).await
    };
    assert!(raw(b"\x16\x03\x01\x02\x00nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    assert_eq!(raw(b"POST /sess").await, "", "a request that never ends");
    assert_eq!(raw(b"").await, "", "no request");
    assert!(
        raw(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await.starts_with("HTTP/1.1 200"),
        "one, and no other"
    );
    let endless = [&b"GET / HTTP/1.1\r\nx: "[..], &[b'x'; 100_000]].concat();
    assert!(raw(&endless).await.starts_with("HTTP/1.1 431"), "a header that is too long");
    let rows = running.client().await.begin().await.expect("a session");
    let slow = format!("POST {rows} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{{\"x\":");
    assert!(raw(slow.as_bytes()).await.starts_with("HTTP/1.1 408"), "a body that never ends");
    assert!(running.client().await.begin().await.is_ok());
    running.end().await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_let_go() {
    let limits = Limits { patience: Duration::from_millis(100), connections: 2, ..Limits::default() };
    let running = Running::new(limits).await;
    let mut deaf = TcpStream::connect(running.address).await.expect("it listens");
    // Endless requests: the answers fill the system's buffers for the client, and then the service closes the
    // connection.
    let request = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1000);
    while deaf.write_all(&request).await.is_ok() {}
    assert!(running.client().await.begin().await.is_ok(), "others are served");
    running.end().await;
}

#[tokio::test]
async fn the_end_waits_for_what_has_come_and_takes_nothing_more() {
    let running = Running::new(Limits { workers: 1, ..Limits::default() }).await;
    let worker = running.service.work.workers.clone().acquire_owned().await.expect("it is free");
    let all = running.service.work.places.available_permits();
    let (mut client, mut idle) = (running.client().await, running.client().await);
    let rows = client.begin().await.expect("a session");
    idle.begin().await.expect("a session");
    let waiting = tokio::spawn(async move { post(&mut client, &rows, "{\"x\": [1, 1]}").await });
    taken(&running, all - 1).await;
    drop(running.stop);
    while Client::connect(running.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(idle.send(Method::POST, "/sessions", "").await.is_err(), "connections that rest are closed");
    assert!(!running.served.is_finished());
    drop(worker);
    assert_eq!(waiting.await.expect("no panic").body, json!({"outputs": [{"cycle": 0, "total": 2.0}]}));
    running.served.await.expect("no panic").expect("all was answered");
}

#[tokio::test]
async fn the_end_does_not_wait_for_ever() {
    let limits = Limits { workers: 1, grace: Duration::from_millis(1), ..Limits::default() };
    let running = Running::new(limits).await;
    let _worker = running.service.work.workers.clone().acquire_owned().await.expect("it is free");
    let all = running.service.work.places.available_permits();
    let mut client = running.client().await;
    let rows = client.begin().await.expect("a session");
    let _waiting = tokio::spawn(async move { client.send(Method::POST, &rows, "{\"x\": [1, 1]}").await });
    taken(&running, all - 1).await;
    drop(running.stop);
    let ended = running.served.await.expect("no panic");
    assert_eq!(ended.map_err(|e| e.kind()), Err(io::ErrorKind::TimedOut));
}
