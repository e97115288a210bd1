//! Inference over HTTP: each session is a run of one program with its own states, fed row by row.
//!
//! | request | answer |
//! |---|---|
//! | `POST /sessions` | 201 `{"session": "4f..."}`: a session in the initial state |
//! | `POST /sessions/ID/rows`, JSON objects, one a cycle | 200 `{"outputs": [{"cycle": 0, ..}]}`: of the cycles that became known |
//! | `DELETE /sessions/ID` | 200 `{"outputs": [..]}`: of the cycles that still waited; the session is gone |
//! | `GET /health` | 200 `{"sessions": 3, "limit": 1024}` |
//!
//! A refused request is answered with `{"error": {"code", "message", "notes", "help"}}`. A refused row has no effect;
//! the answer has the outputs of the rows before it.
//!
//! Everything is bounded: sessions, connections, waiting requests, requests of one session, rows, bytes, and the time
//! that a connection may take to send or to read.

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

/// The limits of the service.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most sessions at once.
    pub sessions: usize,
    /// How long an idle session is kept.
    pub idle: Duration,
    /// The most connections at once; others wait in the queue of the system.
    pub connections: usize,
    /// The most requests that are computed at once.
    pub workers: usize,
    /// The most requests that wait for a worker.
    pub queue: usize,
    /// The most requests of one session that wait, including the one that is computed.
    pub per_session: usize,
    /// The most bytes of a request.
    pub body: usize,
    /// The most rows of a request.
    pub rows: usize,
    /// How long a client may take to send a request, or to read a piece of an answer.
    pub patience: Duration,
    /// How long to wait for requests when the service ends.
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
