//! A group of threads of one process, for tests and for groups on one machine.

use std::sync::mpsc::{Receiver, Sender, channel};

use rml_base::Diagnostic;

use crate::{Cause, Group};

/// A rank that is a thread of this process.
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    /// For each rank, where to send to; none to itself.
    to: Vec<Option<Sender<Message>>>,
    /// For each rank, where its messages arrive.
    from: Vec<Option<Receiver<Message>>>,
    /// Why the group ended.
    ended: Option<Cause>,
}

/// Bytes, or why their sender left.
type Message = Result<Vec<u8>, String>;

impl Threads {
    /// A group of that many ranks, to be moved to as many threads.
    pub fn group(size: usize) -> Vec<Self> {
        let empty = |rank| Self {
            rank,
            to: (0..size).map(|_| None).collect(),
            from: (0..size).map(|_| None).collect(),
            ended: None,
        };
        let mut group: Vec<Self> = (0..size).map(empty).collect();
        for sender in 0..size {
            for receiver in (0..size).filter(|receiver| *receiver != sender) {
                let (to, from) = channel();
                group[sender].to[receiver] = Some(to);
                group[receiver].from[sender] = Some(from);
            }
        }
        group
    }
}

impl Group for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn exchange(&mut self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Diagnostic> {
        let mut all = Vec::with_capacity(to.len());
        for (own, peer) in to.into_iter().zip(&self.to) {
            match peer {
                // A receiver that left has said why, or is found to be gone below.
                Some(peer) => drop(peer.send(Ok(own))),
                None => all.push(own),
            }
        }
        let own = all.pop().unwrap_or_default();
        for (rank, peer) in self.from.iter().enumerate() {
            let Some(peer) = peer else {
                all.push(own.clone());
                continue;
            };
            let name = format!("rank {rank}");
            let message = peer.recv().map_err(|_| Cause::gone(&name, "its thread ended"));
            let cause = match message {
                Ok(Ok(bytes)) => {
                    all.push(bytes);
                    continue;
                }
                Ok(Err(text)) => Cause::from(&name, &text),
                Err(cause) => cause,
            };
            return Err(self.ended.insert(cause).diagnostic());
        }
        Ok(all)
    }

    fn fail(&mut self, why: &str) {
        let text = self.ended.as_ref().map_or_else(|| Cause::own(why), Cause::told);
        for peer in self.to.iter().flatten() {
            // A rank that left needs no reason.
            drop(peer.send(Err(text.clone())));
        }
    }
}
