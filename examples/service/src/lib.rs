//! Inference over HTTP: each session is a run of one program with states of its own, fed row by row.
//!
//! | request | answer |
//! |---|---|
//! | `POST /sessions` | 201 `{"session": "4f..."}`: a session in the initial state |
//! | `POST /sessions/ID/rows`, JSON objects, one a cycle | 200 `{"outputs": [{"cycle": 0, ..}]}`: of the cycles that became known |
//! | `DELETE /sessions/ID` | 200 `{"outputs": [..]}`: of the cycles that still waited; the session is gone |
//! | `GET /health` | 200 `{"sessions": 3, "limit": 1024}` |
//!
//! What is refused is answered with `{"error": {"code", "message", "notes", "help"}}`. A row that is refused does not
//! happen; the answer has the outputs of the rows before it.
//!
//! Everything is bounded: sessions, connections, requests that wait, those of one session, rows, bytes, and how long a
//! connection may take to send or to read.

mod answer;
pub mod client;
mod connection;
mod http;
mod sessions;
#[cfg(test)]
mod tests;
mod work;

pub use connection::serve;
pub use http::Service;

use std::time::Duration;

/// What the service allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions at once.
    pub sessions: usize,
    /// How long a session stays that nobody feeds.
    pub idle: Duration,
    /// Connections at once; others wait in the queue of the system.
    pub connections: usize,
    /// Requests that are computed at once.
    pub workers: usize,
    /// Requests that wait for a worker.
    pub queue: usize,
    /// Requests of one session that wait, the one that is computed included.
    pub per_session: usize,
    /// Bytes of a request.
    pub body: usize,
    /// Rows of a request.
    pub rows: usize,
    /// How long a client may take to send a request, or to read a piece of an answer.
    pub patience: Duration,
    /// How long requests are waited for when the service ends.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 1024,
            idle: Duration::from_secs(600),
            connections: 1024,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            queue: 1024,
            per_session: 4,
            body: 1 << 20,
            rows: 1000,
            patience: Duration::from_secs(10),
            grace: Duration::from_secs(30),
        }
    }
}
