//! Pages that this process serves only to browsers on this machine.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rml::Diagnostic;
use rml::codes::run::BAD_OPTION;

use crate::output::Stop;
use http::{Answer, Request};

pub(super) mod http;

/// The address of a page.
pub(super) struct Address {
    host: String,
    folder: String,
}

impl Address {
    /// Opens a server at an address that cannot be guessed.
    pub(super) fn open() -> Result<(TcpListener, Self), Stop> {
        let refused = |e: std::io::Error| {
            Diagnostic::error(BAD_OPTION, "no server can be opened on this machine").note(rml::refusal(&e))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
        let host = listener.local_addr().map_err(refused)?.to_string();
        Ok((listener, Self { host, folder: format!("/{}/", token()) }))
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.host, self.folder)
    }

    /// Whether a request asks for the page, or for its state. Requests from a page of another site, whose name resolves
    /// to this machine, are refused: they carry another host.
    pub(super) fn asked(&self, request: &Request) -> Option<Asked> {
        let path = request.path.strip_prefix(&self.folder).filter(|_| request.host == self.host);
        match path? {
            "" => Some(Asked::Page),
            "state" => Some(Asked::State),
            _ => None, // another path
        }
    }
}

/// The resource that a request asks for.
pub(super) enum Asked {
    Page,
    State,
}

/// The answer to a request: the page, or its version number.
fn answer(asked: Option<Asked>, count: u64, html: &str) -> Answer {
    match asked {
        Some(Asked::Page) => Answer { status: "200 OK", kind: "text/html", text: html.to_owned() },
        Some(Asked::State) => Answer { status: "200 OK", kind: "text/plain", text: count.to_string() },
        None => {
            let text = "there is nothing at this address\n".to_owned();
            Answer { status: "404 Not Found", kind: "text/plain", text }
        }
    }
}

/// Answers requests with the current page, or its version number, until the listener fails.
pub(super) fn serve(listener: TcpListener, address: &Address, mut page: impl FnMut() -> (u64, String)) {
    for (request, reply) in http::requests(listener) {
        let asked = address.asked(&request);
        let (count, html) = if asked.is_some() { page() } else { Default::default() };
        // The client may have disconnected.
        let _ = reply.send(answer(asked, count, &html));
    }
}

/// A page that is served while this process does other work.
pub(super) struct Beside {
    /// The version number of the page, and its text.
    page: Arc<Mutex<(u64, String)>>,
}

impl Beside {
    /// Begins to serve a page, and returns its address.
    pub(super) fn begin(html: String) -> Result<(Self, String), Stop> {
        let (listener, address) = Address::open()?;
        let (url, page) = (address.url(), Arc::new(Mutex::new((0, html))));
        let sent = Arc::clone(&page);
        let page_now = move || sent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        thread::spawn(move || serve(listener, &address, page_now));
        Ok((Self { page }, url))
    }

    /// Replaces the page that is served.
    pub(super) fn show(&self, html: String) {
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        *page = (page.0 + 1, html);
    }
}

/// A name that cannot be guessed.
fn token() -> String {
    let part = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", part(), part())
}
