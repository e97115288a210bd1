//! The store of `torchrun`: a server of keys and values, which the agent of a launch runs at the address where ranks
//! meet. Rank 0 writes there where it can be reached, and the others read it.
//!
//! This is the part of the protocol of PyTorch's `TCPStore` that is needed for that: a client says that it is one, sets
//! a key, waits for one, and gets one. Numbers are in the byte order of the machine, texts are a length and bytes.

use std::io::{self, Read, Write};
use std::net::TcpStream;

const VALIDATE: u8 = 0;
const SET: u8 = 1;
const GET: u8 = 3;
const WAIT: u8 = 6;
/// What a client of the store begins with.
const MAGIC: u32 = 0x3C85_F7CE;
/// The answer to `WAIT` once the key is there.
const STOP_WAITING: u8 = 0;
/// No value that is written here is longer.
const LONGEST: usize = 4096;

/// A connection to the store.
pub(super) struct Store(TcpStream);

impl Store {
    /// Says that a client comes.
    pub(super) fn new(mut stream: TcpStream) -> io::Result<Self> {
        let mut hello = vec![VALIDATE];
        hello.extend(MAGIC.to_ne_bytes());
        stream.write_all(&hello)?;
        Ok(Self(stream))
    }

    /// Sets the value of a key.
    pub(super) fn set(&mut self, key: &str, value: &str) -> io::Result<()> {
        let mut bytes = vec![SET];
        push(&mut bytes, key);
        push(&mut bytes, value);
        self.0.write_all(&bytes)
    }

    /// The value of a key, as soon as it has one.
    pub(super) fn get(&mut self, key: &str) -> io::Result<String> {
        let mut bytes = vec![WAIT];
        bytes.extend(1_u64.to_ne_bytes());
        push(&mut bytes, key);
        self.0.write_all(&bytes)?;
        let mut answer = [0];
        self.0.read_exact(&mut answer)?;
        if answer[0] != STOP_WAITING {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![GET];
        push(&mut bytes, key);
        self.0.write_all(&bytes)?;
        let mut len = [0; 8];
        self.0.read_exact(&mut len)?;
        let len = usize::try_from(u64::from_ne_bytes(len)).ok().filter(|len| *len <= LONGEST);
        let mut value = vec![0; len.ok_or(io::ErrorKind::InvalidData)?];
        self.0.read_exact(&mut value)?;
        String::from_utf8(value).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

fn push(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_ne_bytes());
    bytes.extend(text.as_bytes());
}
