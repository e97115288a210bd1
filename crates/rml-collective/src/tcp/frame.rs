//! Messages on a connection: a byte for the kind, the number of bytes, and the bytes.

use std::io::{self, ErrorKind, IoSlice, Read, Write};

/// The length of what precedes the bytes of a message.
const HEAD: usize = 9;
/// How many bytes are awaited at a time. So a false length takes no memory.
const PIECE: usize = 1 << 20;

/// The kind of a message for an exchange.
const MESSAGE: u8 = 0;
/// The kind of the last message: why a rank leaves.
const REASON: u8 = 1;

/// A message on its way out.
#[derive(Debug)]
pub(super) struct Outgoing {
    head: [u8; HEAD],
    body: Vec<u8>,
    /// How many bytes of head and body are written.
    written: usize,
}

impl Outgoing {
    /// No message.
    pub(super) fn nothing() -> Self {
        Self { head: [0; HEAD], body: Vec::new(), written: HEAD }
    }

    /// A message for an exchange.
    pub(super) fn message(body: Vec<u8>) -> Self {
        Self::new(MESSAGE, body)
    }

    /// The last message.
    pub(super) fn reason(why: &str) -> Self {
        Self::new(REASON, why.as_bytes().to_vec())
    }

    fn new(kind: u8, body: Vec<u8>) -> Self {
        let mut head = [kind; HEAD];
        head[1..].copy_from_slice(&(body.len() as u64).to_le_bytes());
        Self { head, body, written: 0 }
    }

    /// Writes as much as is possible at once. Returns whether that was anything.
    pub(super) fn write(&mut self, to: &mut impl Write) -> io::Result<bool> {
        let mut moved = false;
        while !self.is_done() {
            let (head, body) = (self.written.min(HEAD), self.written.saturating_sub(HEAD));
            let rest = [IoSlice::new(&self.head[head..]), IoSlice::new(&self.body[body..])];
            match to.write_vectored(&rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => (moved, self.written) = (true, self.written + n),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(moved)
    }

    /// Whether all is written.
    pub(super) fn is_done(&self) -> bool {
        self.written == HEAD + self.body.len()
    }

    /// Whether nothing, or all, is written.
    pub(super) fn is_whole(&self) -> bool {
        self.written == 0 || self.is_done()
    }
}

/// A message on its way in.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    head: [u8; HEAD],
    body: Vec<u8>,
    /// How many bytes of head and body are read.
    read: usize,
}

impl Incoming {
    /// Reads as much as is possible at once, and nothing after the message. Returns whether that was anything.
    pub(super) fn read(&mut self, from: &mut impl Read) -> io::Result<bool> {
        let mut moved = false;
        while !self.is_done() {
            let place = if self.read < HEAD {
                &mut self.head[self.read..]
            } else {
                let read = self.read - HEAD;
                if read == self.body.len() {
                    self.body.resize(self.len().min(read + PIECE), 0);
                }
                &mut self.body[read..]
            };
            match from.read(place) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => (moved, self.read) = (true, self.read + n),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(moved)
    }

    /// The length of the message; its head is read.
    fn len(&self) -> usize {
        let [_, len @ ..] = self.head;
        usize::try_from(u64::from_le_bytes(len)).unwrap_or(usize::MAX)
    }

    /// Whether all is read.
    pub(super) fn is_done(&self) -> bool {
        self.read >= HEAD && self.read - HEAD == self.len()
    }

    /// The bytes of a message that is read.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.body)
    }

    /// Why the other rank leaves, if it does.
    pub(super) fn reason(&self) -> Option<String> {
        let is_last = self.is_done() && self.head[0] == REASON;
        is_last.then(|| String::from_utf8_lossy(&self.body).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes a few bytes at a time.
    struct Slow(Vec<u8>, usize);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1.is_multiple_of(2) {
                return Err(ErrorKind::WouldBlock.into());
            }
            let n = bytes.len().min(3);
            self.0.extend(&bytes[..n]);
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Read for Slow {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.0.len()).min(4);
            bytes[..n].copy_from_slice(&self.0.drain(..n).collect::<Vec<u8>>());
            Ok(n)
        }
    }

    #[test]
    fn messages_pass_in_pieces() {
        for len in [0, 1, 5, 1000] {
            let body: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let (mut pipe, mut out) = (Slow(Vec::new(), 0), Outgoing::message(body.clone()));
            assert!(out.is_whole());
            while !out.is_done() {
                out.write(&mut pipe).unwrap();
            }
            pipe.0.push(7);
            let mut incoming = Incoming::default();
            incoming.read(&mut pipe).unwrap();
            assert!(incoming.is_done() && incoming.reason().is_none());
            assert_eq!((incoming.take(), pipe.0), (body, vec![7]), "what follows is not read");
        }
    }

    #[test]
    fn a_false_length_takes_no_memory() {
        let mut hostile = vec![MESSAGE];
        hostile.extend(u64::MAX.to_le_bytes());
        let mut incoming = Incoming::default();
        let read = incoming.read(&mut Slow(hostile, 0));
        assert_eq!(read.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert!(incoming.body.len() <= PIECE);
    }
}
