//! Pages that this process sends to a browser on this machine alone.

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

/// Where a page is.
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

    /// Whether a request asks for the page, or for its state. A page of another site, whose name leads here, has
    /// another host in its requests.
    pub(super) fn asked(&self, request: &Request) -> Option<Asked> {
        let path = request.path.strip_prefix(&self.folder).filter(|_| request.host == self.host);
        match path? {
            "" => Some(Asked::Page),
            "state" => Some(Asked::State),
            _ => None, // another path
        }
    }
}

/// What a request asks for.
pub(super) enum Asked {
    Page,
    State,
}

/// The answer to a request: the page, or how often it was made.
pub(super) fn answer(asked: Option<Asked>, count: u64, html: &str) -> Answer {
    match asked {
        Some(Asked::Page) => Answer { status: "200 OK", kind: "text/html", text: html.to_owned() },
        Some(Asked::State) => Answer { status: "200 OK", kind: "text/plain", text: count.to_string() },
        None => {
            let text = "there is nothing at this address\n".to_owned();
            Answer { status: "404 Not Found", kind: "text/plain", text }
        }
    }
}

/// A page that is sent while this process does something else.
pub(super) struct Beside {
    /// How often it was made, and its text.
    page: Arc<Mutex<(u64, String)>>,
}

impl Beside {
    /// Begins to send a page, and gives its address.
    pub(super) fn begin(html: String) -> Result<(Self, String), Stop> {
        let (listener, address) = Address::open()?;
        let (url, page) = (address.url(), Arc::new(Mutex::new((0, html))));
        let sent = Arc::clone(&page);
        thread::spawn(move || {
            for (request, reply) in http::requests(listener) {
                let page = sent.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // The client may be gone.
                let _ = reply.send(answer(address.asked(&request), page.0, &page.1));
            }
        });
        Ok((Self { page }, url))
    }

    /// Sends another page from now on.
    pub(super) fn show(&self, html: String) {
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        *page = (page.0 + 1, html);
    }
}

/// A name that nobody guesses.
fn token() -> String {
    let part = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", part(), part())
}
