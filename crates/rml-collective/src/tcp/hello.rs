//! What ranks say when they meet.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

/// Begins every connection, with the version of the messages.
const MAGIC: &[u8; 8] = b"rmlrank1";
/// No text of a greeting is longer.
const LONGEST: usize = 4096;

/// The greeting of a rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hello {
    pub(super) rank: usize,
    /// The number of ranks that it was told.
    pub(super) size: usize,
    /// The version of the program.
    pub(super) version: String,
    /// The name of its machine.
    pub(super) host: String,
    pub(super) process: u32,
    /// Where it can be reached. A rank says only the port; the address is where its connection came from.
    pub(super) address: SocketAddr,
}

impl Hello {
    /// Which rank it is, for messages.
    pub(super) fn name(&self) -> String {
        format!("rank {} on {} (process {})", self.rank, self.host, self.process)
    }

    pub(super) fn write(&self, to: &mut TcpStream) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        self.push(&mut bytes);
        to.write_all(&bytes)
    }

    /// Reads a greeting; `None` is something else.
    pub(super) fn read(from: &mut TcpStream) -> io::Result<Option<Self>> {
        let mut magic = [0; 8];
        from.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Ok(None);
        }
        let mut hello = Self::pull(from)?;
        hello.address.set_ip(from.peer_addr()?.ip());
        Ok(Some(hello))
    }

    /// Writes the greetings of all ranks.
    pub(super) fn write_all(all: &[Self], to: &mut TcpStream) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        all.iter().for_each(|hello| hello.push(&mut bytes));
        to.write_all(&bytes)
    }

    /// Reads the greetings of that many ranks.
    pub(super) fn read_all(size: usize, from: &mut TcpStream) -> io::Result<Option<Vec<Self>>> {
        let mut magic = [0; 8];
        from.read_exact(&mut magic)?;
        let all = (0..size).map(|_| Self::pull(from));
        if magic == *MAGIC { all.collect::<io::Result<_>>().map(Some) } else { Ok(None) }
    }

    fn push(&self, bytes: &mut Vec<u8>) {
        let Self { rank, size, version, host, process, address } = self;
        let numbers = [*rank as u64, *size as u64, u64::from(*process), u64::from(address.port())];
        numbers.iter().for_each(|n| bytes.extend(n.to_le_bytes()));
        for text in [version, host, &address.ip().to_string()] {
            let text = &text.as_bytes()[..text.len().min(LONGEST)];
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text);
        }
    }

    fn pull(from: &mut TcpStream) -> io::Result<Self> {
        let broken = || io::Error::from(io::ErrorKind::InvalidData);
        let [rank, size, process, port] = [number(from)?, number(from)?, number(from)?, number(from)?];
        let [version, host, ip] = [text(from)?, text(from)?, text(from)?];
        let ip: IpAddr = ip.parse().map_err(|_| broken())?;
        Ok(Self {
            rank: usize::try_from(rank).map_err(|_| broken())?,
            size: usize::try_from(size).map_err(|_| broken())?,
            version,
            host,
            process: u32::try_from(process).map_err(|_| broken())?,
            address: SocketAddr::new(ip, u16::try_from(port).map_err(|_| broken())?),
        })
    }
}

fn number(from: &mut TcpStream) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn text(from: &mut TcpStream) -> io::Result<String> {
    let len = usize::try_from(number(from)?).ok().filter(|len| *len <= LONGEST);
    let mut bytes = vec![0; len.ok_or(io::ErrorKind::InvalidData)?];
    from.read_exact(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
