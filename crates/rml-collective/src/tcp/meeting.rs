//! How the ranks of a group find each other.
//!
//! All ranks know where rank 0 is. They connect to it and say where they listen; when all have come, rank 0 tells each
//! of them where the others are, and each connects to those before it. So a launcher has to give one address only.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rml_base::Diagnostic;
use rml_base::codes::run as codes;

use super::hello::Hello;
use super::store::Store;

/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_millis(5);
/// How long somebody may take who has connected and says nothing.
const GREETING: Duration = Duration::from_secs(5);

/// The connections to the other ranks and their names, by rank; none to itself.
type Met = Vec<Option<(TcpStream, String)>>;

/// Where and how a rank meets the others.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    /// The number of this rank, from 0.
    pub rank: usize,
    /// How many ranks there are.
    pub size: usize,
    /// The name of this machine, for messages.
    pub host: String,
    /// The version of the program; all ranks have to have the same one.
    pub version: String,
    /// Where rank 0 is found.
    pub place: MeetingPoint,
    /// How long to wait for the others, here and in each exchange.
    pub patience: Duration,
}

/// Where rank 0 is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MeetingPoint {
    /// It listens at this address.
    Address {
        /// A name or an IP address.
        host: String,
        /// The port.
        port: u16,
    },
    /// It listens at a port of its own, and writes its address to a store of `torchrun`.
    Store {
        /// A name or an IP address.
        host: String,
        /// The port of the store.
        port: u16,
        /// The key, which is another one in each start of the group.
        key: String,
    },
}

impl MeetingPoint {
    fn host(&self) -> (&str, u16) {
        match self {
            Self::Address { host, port } | Self::Store { host, port, .. } => (host, *port),
        }
    }
}

/// Connects with the other ranks.
///
/// # Errors
/// Ranks that do not come in time (`no-peers`), or that do not belong together (`ranks-differ`).
pub(super) fn meet(meeting: &Rendezvous) -> Result<Met, Diagnostic> {
    let begun = Begun { meeting, deadline: Instant::now() + meeting.patience };
    match (meeting.size, meeting.rank) {
        (1, _) => Ok(vec![None]),
        (_, 0) => begun.receive(),
        _ => begun.come(),
    }
}

/// The error that ranks cannot meet.
pub(super) fn failed(meeting: &Rendezvous, why: &str) -> Diagnostic {
    let Rendezvous { rank, size, place, .. } = meeting;
    let (host, port) = place.host();
    Diagnostic::error(codes::NO_PEERS, format!("rank {rank} of {size} does not find the other ranks"))
        .note(format!("they meet at {host}:{port}, as the launcher says: {why}"))
}

struct Begun<'m> {
    meeting: &'m Rendezvous,
    deadline: Instant,
}

impl Begun<'_> {
    /// Rank 0: waits for all others, and tells them of each other.
    fn receive(&self) -> Result<Met, Diagnostic> {
        let listener = self.open()?;
        let mut streams: Vec<Option<TcpStream>> = (0..self.meeting.size).map(|_| None).collect();
        let mut all = vec![self.hello(&listener); self.meeting.size];
        while streams.iter().skip(1).any(Option::is_none) {
            let Some((stream, hello)) = self.accept(&listener).map_err(|e| self.missing(&streams, &e))?
            else {
                continue;
            };
            self.check(&hello)?;
            let Some(place @ None) = streams.get_mut(hello.rank).filter(|_| hello.rank > 0) else {
                return Err(self.twice(&hello));
            };
            *place = Some(stream);
            let rank = hello.rank;
            all[rank] = hello;
        }
        for stream in streams.iter_mut().flatten() {
            Hello::write_all(&all, stream).map_err(|e| failed(self.meeting, &e.to_string()))?;
        }
        let named =
            |(stream, hello): (Option<TcpStream>, &Hello)| stream.map(|stream| (stream, hello.name()));
        Ok(streams.into_iter().zip(&all).map(named).collect())
    }

    /// Another rank: comes to rank 0, and connects with the others.
    fn come(&self) -> Result<Met, Diagnostic> {
        let broken = |e: io::Error| failed(self.meeting, &e.to_string());
        let listener = listen(self.meeting.place.host().0, 0).map_err(broken)?;
        let hello = self.hello(&listener);
        let mut first = self.reach_first()?;
        let there = first.peer_addr().map_err(broken)?.ip().to_canonical();
        hello.write(&mut first).map_err(broken)?;
        self.wait_for(&first).map_err(broken)?;
        let all = Hello::read_all(self.meeting.size, &mut first);
        let all = all.map_err(|e| self.sent_away(&e))?.ok_or_else(|| self.stranger())?;
        let mut met: Met = (0..self.meeting.size).map(|_| None).collect();
        for other in &all[1..self.meeting.rank] {
            let mut stream = self.connect(&[reachable(other.address, there)]).map_err(broken)?;
            hello.write(&mut stream).map_err(broken)?;
            met[other.rank] = Some((stream, other.name()));
        }
        met[0] = Some((first, all[0].name()));
        while met.iter().skip(self.meeting.rank + 1).any(Option::is_none) {
            let Some((stream, hello)) = self.accept(&listener).map_err(broken)? else { continue };
            // A rank that is expected; somebody else is not answered.
            if let Some(place) = met.get_mut(hello.rank).filter(|place| place.is_none()) {
                *place = (all[hello.rank].name() == hello.name()).then(|| (stream, hello.name()));
            }
        }
        Ok(met)
    }

    /// Where rank 0 waits. If there is a store, the address is written there.
    fn open(&self) -> Result<TcpListener, Diagnostic> {
        let (host, port) = self.meeting.place.host();
        match &self.meeting.place {
            MeetingPoint::Address { .. } => listen(host, port).map_err(|e| {
                let d = failed(self.meeting, &format!("rank 0 cannot listen there: {e}"));
                match e.kind() {
                    io::ErrorKind::AddrInUse => d.help(
                        "another program uses this port: set `MASTER_PORT` to a free one for all ranks",
                    ),
                    _ => d.help("`MASTER_ADDR` has to be an address of the machine on which rank 0 runs"),
                }
            }),
            MeetingPoint::Store { key, .. } => {
                let broken = |e: io::Error| self.without_store(&e);
                let listener = listen(host, 0).map_err(broken)?;
                let stream = self.connect(&self.resolved()?).map_err(broken)?;
                let own = stream.local_addr().map_err(broken)?.ip().to_canonical();
                let port = listener.local_addr().map_err(broken)?.port();
                let mut store = Store::new(stream).map_err(broken)?;
                store.set(key, &SocketAddr::new(own, port).to_string()).map_err(broken)?;
                Ok(listener)
            }
        }
    }

    /// Connects with rank 0.
    fn reach_first(&self) -> Result<TcpStream, Diagnostic> {
        let addresses = self.resolved()?;
        let late = |e: io::Error| {
            failed(self.meeting, &format!("nothing answers there: {e}"))
                .help("look at the output of rank 0, and whether its machine can be reached on this port")
        };
        match &self.meeting.place {
            MeetingPoint::Address { .. } => self.connect(&addresses).map_err(late),
            MeetingPoint::Store { key, .. } => {
                let broken = |e: io::Error| self.without_store(&e);
                let stream = self.connect(&addresses).map_err(broken)?;
                self.wait_for(&stream).map_err(broken)?;
                let there = stream.peer_addr().map_err(broken)?.ip().to_canonical();
                let text = Store::new(stream).and_then(|mut store| store.get(key)).map_err(broken)?;
                let address = text.parse().map_err(|_| broken(io::ErrorKind::InvalidData.into()))?;
                self.connect(&[reachable(address, there)]).map_err(late)
            }
        }
    }

    /// The addresses that the name of the meeting point has.
    fn resolved(&self) -> Result<Vec<SocketAddr>, Diagnostic> {
        let found = self.meeting.place.host().to_socket_addrs();
        found.map(Iterator::collect).map_err(|e| {
            failed(self.meeting, &format!("the name has no address: {e}"))
                .help("`MASTER_ADDR` has to be a name or an address of the machine on which rank 0 runs")
        })
    }

    /// Connects with one of several addresses, as soon as one of them answers.
    fn connect(&self, addresses: &[SocketAddr]) -> io::Result<TcpStream> {
        loop {
            let mut error = io::Error::from(io::ErrorKind::AddrNotAvailable);
            for address in addresses {
                let left = self.left()?.min(GREETING);
                match TcpStream::connect_timeout(address, left) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        return Ok(stream);
                    }
                    Err(e) => error = e,
                }
            }
            if self.left().is_err() {
                return Err(error);
            }
            sleep(PAUSE);
        }
    }

    /// The next one who comes, if it is a rank.
    fn accept(&self, listener: &TcpListener) -> io::Result<Option<(TcpStream, Hello)>> {
        listener.set_nonblocking(true)?;
        let mut stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.left()?;
                    sleep(PAUSE);
                }
                Err(e) => return Err(e),
            }
        };
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(GREETING))?;
        // Others than ranks may come to an open port.
        let hello = Hello::read(&mut stream).ok().flatten();
        stream.set_read_timeout(None)?;
        Ok(hello.map(|hello| (stream, hello)))
    }

    fn hello(&self, listener: &TcpListener) -> Hello {
        let Rendezvous { rank, size, host, version, .. } = self.meeting;
        let port = listener.local_addr().map_or(0, |address| address.port());
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
        let (host, version, process) = (host.clone(), version.clone(), std::process::id());
        Hello { rank: *rank, size: *size, version, host, process, address }
    }

    /// Checks that a rank belongs to this group.
    fn check(&self, hello: &Hello) -> Result<(), Diagnostic> {
        let Rendezvous { size, version, .. } = self.meeting;
        let other = if hello.version != *version {
            format!("is rml {}, and rank 0 is {version}", hello.version)
        } else if hello.size != *size || hello.rank >= *size {
            format!("counts {} ranks, and rank 0 counts {size}", hello.size)
        } else {
            return Ok(());
        };
        let d = Diagnostic::error(codes::RANKS_DIFFER, format!("{} {other}", hello.name()));
        Err(d.help("start all ranks by one launcher, with the same program"))
    }

    fn twice(&self, hello: &Hello) -> Diagnostic {
        let what = format!("two processes have the same rank: {} came a second time", hello.name());
        Diagnostic::error(codes::RANKS_DIFFER, what)
            .help("start all ranks by one launcher; two trainings at a time need different `MASTER_PORT`s")
    }

    /// The error of rank 0 that not all came.
    fn missing(&self, streams: &[Option<TcpStream>], e: &io::Error) -> Diagnostic {
        let missing = streams.iter().enumerate().skip(1).filter(|(_, stream)| stream.is_none());
        let missing: Vec<String> = missing.map(|(rank, _)| rank.to_string()).collect();
        let came = self.meeting.size - missing.len();
        let plural = if missing.len() == 1 { "" } else { "s" };
        let within = self.meeting.patience.as_secs_f64();
        let why = match e.kind() {
            io::ErrorKind::TimedOut => format!("after {within} s {came} of them are there"),
            _ => e.to_string(),
        };
        failed(self.meeting, &why)
            .note(format!("missing: rank{plural} {}", missing.join(", ")))
            .help("look at the output of the missing ranks, and whether their machines reach this one; `--exchange-timeout` says how long to wait")
    }

    /// The error of another rank that rank 0 closed the connection.
    fn sent_away(&self, e: &io::Error) -> Diagnostic {
        failed(self.meeting, &format!("rank 0 was reached, and the group is not complete: {e}"))
            .help("look at the output of rank 0")
    }

    fn stranger(&self) -> Diagnostic {
        failed(self.meeting, "what answers there is not a rank of this program")
            .help("set `MASTER_PORT` to a free port for all ranks")
    }

    fn without_store(&self, e: &io::Error) -> Diagnostic {
        failed(self.meeting, &format!("the store of torchrun does not answer: {e}"))
            .help("if no torchrun is there, unset `TORCHELASTIC_USE_AGENT_STORE`: rank 0 then listens at this address itself")
    }

    /// The time that is left.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    /// Lets a connection wait for an answer as long as time is left.
    fn wait_for(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(self.left()?))
    }
}

/// Where a rank is, seen from here. The address of one that shares a machine with who names it leads nowhere from
/// another machine; there it is where that one is.
fn reachable(address: SocketAddr, there: IpAddr) -> SocketAddr {
    let ip = address.ip().to_canonical();
    SocketAddr::new(if ip.is_loopback() { there } else { ip }, address.port())
}

/// Listens for ranks: of this machine only if they meet at one of its own names, else of all.
fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    let own: Option<IpAddr> = match host {
        "localhost" => ("localhost", port).to_socket_addrs()?.map(|a| a.ip()).find(IpAddr::is_loopback),
        _ => host.parse().ok().filter(IpAddr::is_loopback),
    };
    match own {
        Some(ip) => TcpListener::bind((ip, port)),
        None => TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|e| match e.kind() {
            io::ErrorKind::AddrInUse => Err(e),
            _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)),
        }),
    }
}
