//! Answers: JSON with a status.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use rml::Error;
use serde_json::{Value, json};

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// The body, in JSON.
    text: String,
    /// Whether the same request may soon succeed.
    retry: bool,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, value: &Value) -> Self {
        Self { status, text: value.to_string(), retry: false }
    }

    /// Outputs, each of which is JSON.
    pub(crate) fn outputs(outputs: &[String]) -> Self {
        Self {
            status: StatusCode::OK,
            text: format!("{{\"outputs\": [{}]}}", outputs.join(", ")),
            retry: false,
        }
    }

    /// A refusal by the service itself.
    pub(crate) fn refused(status: StatusCode, code: &str, message: &str) -> Self {
        let text = json!({"error": {"code": code, "message": message, "notes": [], "help": []}}).to_string();
        let retry = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        Self { status, text, retry }
    }

    /// A refusal by the program, with the outputs of the rows before.
    pub(crate) fn failed(error: &Error, row: usize, outputs: &[String]) -> Self {
        let first = error.diagnostics().iter().find(|d| d.is_error());
        let object = first.map(|d| rml_render::json_object(d, error.sources()));
        let object = object.unwrap_or_else(|| json!({"code": "internal", "message": "no reason is known"}));
        let text = format!("{{\"error\": {object}, \"row\": {row}, \"outputs\": [{}]}}", outputs.join(", "));
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, text, retry: false }
    }

    pub(crate) fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.text + "\n")));
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.retry {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
