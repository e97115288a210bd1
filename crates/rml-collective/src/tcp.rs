//! A group of processes that are connected by TCP, each with each.

use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};
use rml_base::Diagnostic;

use crate::{Cause, Group};

mod frame;
mod hello;
mod meeting;
mod store;

use frame::{Incoming, Outgoing};

pub use meeting::{MeetingPoint, Rendezvous};

/// A rank that is a process, connected with all others.
///
/// An exchange reads and writes all connections as they become ready, so no message is too long for it, and a rank that
/// ends is noticed at once. One that does not answer is given up after the time of [`Rendezvous::patience`].
#[derive(Debug)]
pub struct Tcp {
    rank: usize,
    /// The other ranks; none at the number of this one.
    peers: Vec<Option<Peer>>,
    poll: Poll,
    events: Events,
    patience: Duration,
    /// Why the group ended.
    ended: Option<Cause>,
}

/// Another rank.
#[derive(Debug)]
struct Peer {
    /// Which one, for messages: `rank 3 on node7 (process 1234)`.
    name: String,
    stream: mio::net::TcpStream,
    sending: Outgoing,
    receiving: Incoming,
}

impl Tcp {
    /// Meets the other ranks.
    ///
    /// # Errors
    /// Ranks that do not come, or that are of another version or group (`no-peers`, `ranks-differ`).
    pub fn join(meeting: &Rendezvous) -> Result<Self, Diagnostic> {
        let met = meeting::meet(meeting)?;
        let broken = |e: io::Error| meeting::failed(meeting, &e.to_string());
        let (poll, events) = (Poll::new().map_err(broken)?, Events::with_capacity(64));
        let mut peers = Vec::new();
        for (rank, met) in met.into_iter().enumerate() {
            let Some((stream, name)) = met else {
                peers.push(None);
                continue;
            };
            stream.set_nonblocking(true).map_err(broken)?;
            let mut stream = mio::net::TcpStream::from_std(stream);
            let interest = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut stream, Token(rank), interest).map_err(broken)?;
            let (sending, receiving) = (Outgoing::nothing(), Incoming::default());
            peers.push(Some(Peer { name, stream, sending, receiving }));
        }
        Ok(Self { rank: meeting.rank, peers, poll, events, patience: meeting.patience, ended: None })
    }

    /// Reads and writes until every rank has given and got its message.
    fn carry(&mut self) -> Result<(), Cause> {
        let mut since = Instant::now();
        loop {
            let (mut moved, mut is_done, mut lost) = (false, true, None);
            for peer in self.peers.iter_mut().flatten() {
                match peer.advance() {
                    Ok(some) => moved |= some,
                    // Another rank may say why.
                    Err(cause) if cause.is_gone => lost = lost.or(Some(cause)),
                    Err(cause) => return Err(cause),
                }
                is_done &= peer.is_done();
            }
            if let Some(cause) = lost {
                return Err(cause);
            }
            if is_done {
                return Ok(());
            }
            if moved {
                since = Instant::now();
            }
            let left = self.patience.saturating_sub(since.elapsed());
            if left.is_zero() {
                return Err(self.silent());
            }
            match self.poll.poll(&mut self.events, Some(left)) {
                Err(e) if e.kind() != ErrorKind::Interrupted => {
                    return Err(Cause::gone("the group", format!("its connections cannot be read: {e}")));
                }
                Ok(()) | Err(_) => {}
            }
        }
    }

    /// Ranks that do not answer.
    fn silent(&self) -> Cause {
        let silent = self.peers.iter().flatten().filter(|peer| !peer.is_done());
        let names: Vec<&str> = silent.map(|peer| peer.name.as_str()).collect();
        let within = self.patience.as_secs_f64();
        let how = format!(
            "nothing came from there for {within} s; if a step takes longer, so can `--exchange-timeout`"
        );
        Cause::gone(&names.join(" and "), how)
    }
}

impl Group for Tcp {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.peers.len()
    }

    fn exchange(&mut self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Diagnostic> {
        let mut own = Vec::new();
        for (peer, message) in self.peers.iter_mut().zip(to) {
            match peer {
                Some(peer) => {
                    (peer.sending, peer.receiving) = (Outgoing::message(message), Incoming::default());
                }
                None => own = message,
            }
        }
        if let Err(cause) = self.carry() {
            return Err(self.ended.insert(cause).diagnostic());
        }
        let message = |peer: &mut Option<Peer>| match peer {
            Some(peer) => peer.receiving.take(),
            None => std::mem::take(&mut own),
        };
        Ok(self.peers.iter_mut().map(message).collect())
    }

    fn fail(&mut self, why: &str) {
        let text = self.ended.as_ref().map_or_else(|| Cause::own(why), Cause::told);
        for peer in self.peers.iter_mut().flatten() {
            // Whoever has got only a part of a message finds the connection closed instead.
            if peer.sending.is_whole() {
                peer.sending = Outgoing::reason(&text);
                // There is nobody to tell that this failed, too.
                drop(peer.sending.write(&mut peer.stream));
            }
            drop(peer.stream.shutdown(Shutdown::Write));
        }
    }
}

impl Peer {
    /// Writes and reads as much as is possible at once. Returns whether that was anything.
    fn advance(&mut self) -> Result<bool, Cause> {
        let written = self.sending.write(&mut self.stream);
        // A rank that left may have said why, so its message counts more than an error of writing.
        let read = self.receiving.read(&mut self.stream);
        if let Some(why) = self.receiving.reason() {
            return Err(Cause::from(&self.name, &why));
        }
        let lost = |e: io::Error| match e.kind() {
            ErrorKind::UnexpectedEof => Cause::gone(&self.name, "it closed the connection"),
            _ => Cause::gone(&self.name, format!("its connection: {e}")),
        };
        let read = read.map_err(lost)?;
        Ok(read | written.map_err(lost)?)
    }

    /// Whether both messages are complete.
    fn is_done(&self) -> bool {
        self.sending.is_done() && self.receiving.is_done()
    }
}

#[cfg(test)]
mod tests;
