//! Reading from an address, from a position on.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::{cache, pip};

/// A server that says nothing for so long is given up, and asked again.
const SILENCE: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection or the server: asking again may help.
    Passing(String),
    /// The answer is no.
    Final(String),
    /// The server has not the range that was asked for.
    NoSuchRange,
    /// Nothing is wrong with the connection, but with a file on this machine.
    Disk(String),
}

/// The bytes of an address.
pub(super) struct Answer {
    /// The position of the first byte; 0 where the server gives no ranges.
    pub(super) start: u64,
    /// The bytes from there.
    pub(super) body: Box<dyn Read>,
}

/// Connections to servers.
pub(super) struct Client {
    agent: ureq::Agent,
}

impl Client {
    /// A client with the certificate authorities and the proxy that are configured.
    pub(super) fn new(pip: &pip::Config) -> Result<Client, String> {
        let certificates = match (&pip.cert, cache::environment("REQUESTS_CA_BUNDLE")) {
            (Some(path), _) => bundle(path)?,
            (None, Some(path)) => bundle(Path::new(&path))?,
            (None, None) => system(),
        };
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::new_with_certs(&certificates))
            .build();
        let mut config = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .user_agent(concat!("rml-xtask/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(SILENCE))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE));
        if let Some(proxy) = &pip.proxy {
            let proxy = ureq::Proxy::new(proxy)
                .map_err(|e| format!("the proxy `{proxy}` of pip's configuration: {e}"))?;
            config = config.proxy(Some(proxy));
        }
        Ok(Client { agent: config.build().new_agent() })
    }

    /// Asks for the bytes of an address from `from` on; `accept` says which forms of a document are understood.
    pub(super) fn open(&self, url: &str, from: u64, accept: &str) -> Result<Answer, Failure> {
        let (address, credentials) = split_credentials(url);
        let mut request = self.agent.get(&address).header("Accept", accept);
        if is_loopback(&address) {
            request = request.config().proxy(None).build();
        }
        if let Some(credentials) = credentials {
            request =
                request.header("Authorization", format!("Basic {}", BASE64_STANDARD.encode(credentials)));
        }
        if from > 0 {
            request = request.header("Range", format!("bytes={from}-"));
        }
        let response = request.call().map_err(|e| passing_or_final(&address, &e))?;
        let status = response.status();
        let told = response.headers().get("Content-Range").and_then(|v| v.to_str().ok());
        let start = match (status.as_u16(), told.map(first_byte)) {
            (200, _) => 0,
            (206, Some(Some(start))) if start == from => start,
            (206, _) | (416, _) => return Err(Failure::NoSuchRange),
            (408 | 429 | 500..=599, _) => {
                return Err(Failure::Passing(format!("{address}: the server answers {status}")));
            }
            _ => return Err(Failure::Final(format!("{address}: the server answers {status}"))),
        };
        Ok(Answer { start, body: Box::new(response.into_body().into_reader()) })
    }

    /// The text of a document.
    pub(super) fn text(&self, url: &str, accept: &str) -> Result<String, Failure> {
        let mut text = String::new();
        let read = self.open(url, 0, accept)?.body.read_to_string(&mut text);
        read.map_err(|e| Failure::Passing(format!("{url}: {e}")))?;
        Ok(text)
    }
}

/// Whether the address is on this machine, to which no proxy leads.
fn is_loopback(address: &str) -> bool {
    let host = address.split_once("://").map_or("", |(_, rest)| rest);
    ["127.0.0.1", "localhost", "[::1]"]
        .iter()
        .any(|own| host.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/'])))
}

/// An address without the `user:password@` in it, and these.
fn split_credentials(url: &str) -> (String, Option<String>) {
    let parts = || {
        let (scheme, rest) = url.split_once("://")?;
        let host_end = rest.find('/').unwrap_or(rest.len());
        let (credentials, _) = rest[..host_end].rsplit_once('@')?;
        Some((format!("{scheme}://{}", &rest[credentials.len() + 1..]), credentials.to_owned()))
    };
    match parts() {
        Some((address, credentials)) => (address, Some(credentials)),
        None => (url.to_owned(), None),
    }
}

/// The first position in `bytes 100-199/200`.
fn first_byte(range: &str) -> Option<u64> {
    range.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

fn passing_or_final(address: &str, error: &ureq::Error) -> Failure {
    let text = format!("{address}: {error}");
    match error {
        ureq::Error::BadUri(_) | ureq::Error::InvalidProxyUrl | ureq::Error::TooManyRedirects => {
            Failure::Final(text)
        }
        ureq::Error::Rustls(rustls::Error::InvalidCertificate(_)) | ureq::Error::Tls(_) => {
            Failure::Final(format!(
                "{text}; name the certificate authorities of this network in PIP_CERT or SSL_CERT_FILE (Debian: `apt install ca-certificates`)"
            ))
        }
        _ => Failure::Passing(text),
    }
}

/// The certificate authorities of the system; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
fn system() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs().certs;
    found.iter().map(|c| Certificate::from_der(c.as_ref()).to_owned()).collect()
}

/// The certificate authorities in a file.
fn bundle(path: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let pem =
        std::fs::read(path).map_err(|e| format!("cannot read the certificates {}: {e}", path.display()))?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    Ok(parse_pem(&pem).filter_map(certificate).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_leave_the_address() {
        let split = split_credentials("https://user:p@ss@host:1/simple/@x/");
        assert_eq!(split, ("https://host:1/simple/@x/".to_owned(), Some("user:p@ss".to_owned())));
        assert_eq!(split_credentials("https://host/a@b").1, None);
    }

    #[test]
    fn addresses_of_this_machine_are_known() {
        assert!(is_loopback("http://127.0.0.1:8080/simple") && is_loopback("https://localhost/x"));
        assert!(!is_loopback("http://localhost.example.org/") && !is_loopback("https://pypi.org/localhost"));
    }

    #[test]
    fn ranges_are_read() {
        assert_eq!(first_byte("bytes 100-199/200"), Some(100));
        assert_eq!(first_byte("bytes */200"), None);
    }
}
