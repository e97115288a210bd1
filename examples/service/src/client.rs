//! A client of the service: one connection, with one request after the other. Used by tests and the load benchmark.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, RETRY_AFTER};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// A connection.
#[derive(Debug)]
pub struct Client {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

/// An answer of the service.
#[derive(Clone, PartialEq, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// After how many seconds to try again, if given.
    pub retry_after: Option<String>,
    /// The answer.
    pub body: Value,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// The connection is refused.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(Self { sender, host: address.to_string() })
    }

    /// Sends a request, and waits for its answer.
    ///
    /// # Errors
    /// The connection ends before the answer, or the answer is not JSON.
    pub async fn send(&mut self, method: Method, path: &str, body: impl Into<Bytes>) -> io::Result<Reply> {
        let request = Request::builder().method(method).uri(path).header(HOST, &self.host);
        let request = request.body(Full::new(body.into())).map_err(io::Error::other)?;
        self.sender.ready().await.map_err(io::Error::other)?;
        let response = self.sender.send_request(request).await.map_err(io::Error::other)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let retry_after = headers.get(RETRY_AFTER).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let body = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
        Ok(Reply { status, retry_after, body: serde_json::from_slice(&body)? })
    }

    /// Begins a session, and returns the path for its rows.
    ///
    /// # Errors
    /// Errors of [`send`](Self::send); a session that is refused.
    pub async fn begin(&mut self) -> io::Result<String> {
        let reply = self.send(Method::POST, "/sessions", "").await?;
        let rows = reply.body["rows"].as_str().map(str::to_owned);
        rows.ok_or_else(|| io::Error::other(reply.body.to_string()))
    }
}
