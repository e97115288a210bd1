//! Handles requests.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use rml::{End, Error, InferOptions, Source, Stream};
use serde::de::IgnoredAny;
use serde_json::json;

use crate::Limits;
use crate::answer::Answer;
use crate::sessions::Sessions;
use crate::work::{Unworked, Work};

/// A program that is served.
#[derive(Clone, Debug)]
pub struct Service {
    /// A run that is never fed; each session begins as a copy of it.
    begin: Arc<Mutex<Stream>>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) work: Work,
    pub(crate) limits: Limits,
}

impl Service {
    /// Compiles the program, and loads its parameters.
    ///
    /// # Errors
    /// As [`Stream::new`].
    pub fn new(source: &Source, options: &InferOptions, limits: Limits) -> Result<Self, Error> {
        let begin = Arc::new(Mutex::new(Stream::new(source, options)?));
        let sessions = Arc::new(Sessions::new(limits.sessions, limits.idle));
        Ok(Self { begin, sessions, work: Work::new(limits.workers, limits.queue), limits })
    }

    /// Ends idle sessions.
    pub(crate) fn sweep(&self) {
        self.sessions.sweep(Instant::now());
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let method = request.method().clone();
        match (&method, &parts[..]) {
            (&Method::GET, ["health"]) => {
                let health = json!({"sessions": self.sessions.count(), "limit": self.limits.sessions});
                Answer::new(StatusCode::OK, &health)
            }
            (&Method::POST, ["sessions"]) => self.create(),
            (&Method::POST, ["sessions", name, "rows"]) => match self.body(request).await {
                Ok(body) => self.rows(name, &body).await,
                Err(refusal) => refusal,
            },
            (&Method::DELETE, ["sessions", name]) => self.end(name).await,
            (_, ["health"] | ["sessions"] | ["sessions", _] | ["sessions", _, "rows"]) => Answer::refused(
                StatusCode::METHOD_NOT_ALLOWED,
                "method",
                &format!("{method} means nothing here"),
            ),
            _ => Answer::refused(StatusCode::NOT_FOUND, "not-found", "there is nothing at this address"),
        }
    }

    /// The bytes of a request, if they arrive in time and are not too many.
    async fn body(&self, request: Request<Incoming>) -> Result<Bytes, Answer> {
        let most = self.limits.body;
        let all = Limited::new(request.into_body(), most).collect();
        match tokio::time::timeout(self.limits.patience, all).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(why)) if why.is::<LengthLimitError>() => {
                let what = format!("a request has at most {most} bytes");
                Err(Answer::refused(StatusCode::PAYLOAD_TOO_LARGE, "too-large", &what))
            }
            Ok(Err(_)) => {
                Err(Answer::refused(StatusCode::BAD_REQUEST, "broken-off", "the request ends too early"))
            }
            Err(_) => Err(Answer::refused(
                StatusCode::REQUEST_TIMEOUT,
                "too-slow",
                "the request did not come in time",
            )),
        }
    }

    fn create(&self) -> Answer {
        let Some(place) = self.sessions.place(Instant::now()) else {
            let what = format!("there are {} sessions, which is the most there may be", self.limits.sessions);
            return Answer::refused(StatusCode::SERVICE_UNAVAILABLE, "too-many-sessions", &what);
        };
        let begin = self.begin.lock().unwrap_or_else(PoisonError::into_inner).anew();
        let name = place.fill(begin);
        Answer::new(
            StatusCode::CREATED,
            &json!({"session": name, "rows": format!("/sessions/{name}/rows"), "idle_seconds": self.limits.idle.as_secs()}),
        )
    }

    async fn rows(&self, name: &str, body: &[u8]) -> Answer {
        let rows = match split(body) {
            Ok(rows) if rows.len() > self.limits.rows => {
                let what = format!("a request has at most {} rows", self.limits.rows);
                return Answer::refused(StatusCode::PAYLOAD_TOO_LARGE, "too-large", &what);
            }
            Ok(rows) => rows,
            Err(what) => return Answer::refused(StatusCode::BAD_REQUEST, "malformed-data", &what),
        };
        self.with(name, move |run| {
            let Some(stream) = run else { return gone() };
            feed(stream, &rows)
        })
        .await
    }

    async fn end(&self, name: &str) -> Answer {
        let answer = self.with(name, |run| {
            let Some(stream) = run.take() else { return gone() };
            let ending = stream.finish(End::Closed);
            match ending.error {
                None => Answer::outputs(&ending.lines),
                Some(error) => Answer::failed(&error, 0, &ending.lines),
            }
        });
        let answer = answer.await;
        if answer.status == StatusCode::OK || answer.status == StatusCode::UNPROCESSABLE_ENTITY {
            self.sessions.remove(name);
        }
        answer
    }

    /// Uses the run of a session, when it is the request's turn and a worker is free.
    async fn with(
        &self,
        name: &str,
        what: impl FnOnce(&mut Option<Stream>) -> Answer + Send + 'static,
    ) -> Answer {
        let Some(slot) = self.sessions.get(name) else { return gone() };
        let Some(pending) = slot.begin(self.limits.per_session) else {
            let what = format!("{} requests of this session wait", self.limits.per_session);
            return Answer::refused(StatusCode::TOO_MANY_REQUESTS, "session-busy", &what);
        };
        let Ok(place) = self.work.enter() else { return busy() };
        let mut run = Arc::clone(&pending.0.run).lock_owned().await;
        let work = move || {
            // If the action panics, the run is gone.
            let mut taken = run.take();
            let answer = what(&mut taken);
            *run = taken;
            drop(pending);
            answer
        };
        match self.work.run(place, work).await {
            Ok(answer) => answer,
            Err(Unworked::Full) => busy(),
            Err(Unworked::Panicked) => {
                self.sessions.remove(name);
                let what = "this is an error of the service; the session is gone";
                Answer::refused(StatusCode::INTERNAL_SERVER_ERROR, "internal", what)
            }
        }
    }
}

fn gone() -> Answer {
    let what = "there is no such session; one that nobody feeds for long ends";
    Answer::refused(StatusCode::NOT_FOUND, "no-session", what)
}

fn busy() -> Answer {
    Answer::refused(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many requests wait")
}

/// Feeds rows up to the first one that is refused.
fn feed(stream: &mut Stream, rows: &[String]) -> Answer {
    let mut outputs = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        match stream.line(row) {
            Ok(lines) => outputs.extend(lines),
            Err(error) => return Answer::failed(&error, i, &outputs),
        }
    }
    Answer::outputs(&outputs)
}

/// The JSON values in a text, with arbitrary separators.
fn split(body: &[u8]) -> Result<Vec<String>, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the request is not UTF-8".to_owned())?;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let (mut rows, mut start) = (Vec::new(), 0);
    while let Some(value) = values.next() {
        value.map_err(|e| format!("expected JSON objects, one for each cycle: {e}"))?;
        rows.push(text[start..values.byte_offset()].trim().to_owned());
        start = values.byte_offset();
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_json_values_one_after_the_other() {
        assert_eq!(split(b"{\"x\": 1}\n {\n\"x\": [2]} ").unwrap(), ["{\"x\": 1}", "{\n\"x\": [2]}"]);
        assert_eq!(split(b" \n").unwrap(), Vec::<String>::new());
        for nonsense in [&b"{\"x\": "[..], b"\xff", b"x", b"{} ]"] {
            assert!(split(nonsense).is_err(), "{nonsense:?}");
        }
        assert!(split(&vec![b'['; 100_000]).is_err(), "deep nesting is refused");
    }
}
