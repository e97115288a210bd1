//! The service under load: clients in this process, over the loopback of this machine, each with its own connection and
//! session, and one row per request. `cargo bench -p service`.
#![allow(clippy::print_stdout, reason = "a bench tells what it measured")]
#![allow(missing_docs, reason = "a program")]

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use hyper::Method;
use rml::{Checkpoint, InferOptions, Options, Parameters, Session, Source};
use service::client::Client;
use service::{Limits, Service, serve};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

const PROGRAM: &str = "
import std.layers;

node infer(x: num [16]) -> (o: num [4])
  o = reshape([4], dense(4, lstm(64, reshape([1, 16], x))));
";

/// The total number of requests, after a warm-up of one request per session.
const REQUESTS: usize = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Cargo also asks benches whether they are tests.
    if std::env::args().any(|argument| argument == "--list" || argument == "--test") {
        return Ok(());
    }
    let source = Source::text("load.rml", PROGRAM);
    let program = rml::compile(&source, &Options { node: Some("infer".into()), ..Options::default() })?;
    let states = Session::new(&program).states()?;
    let params = Some(Parameters::from(Checkpoint::of_states(states)));
    let options = InferOptions { params, ..InferOptions::default() };
    println!("sessions  requests/s  p50 ms  p99 ms  longest ms  begin ms a session");
    for sessions in [1, 16, 256] {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let service = Service::new(&source, &options, Limits::default())?;
        println!("{}", runtime.block_on(measure(service, sessions))?);
    }
    Ok(())
}

/// One line of the table.
async fn measure(service: Service, sessions: usize) -> io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(serve(listener, service, async { drop(stopped.await) }));
    let begin = Instant::now();
    let mut clients = Vec::new();
    for _ in 0..sessions {
        clients.push(begun(address).await?);
    }
    let beginning = begin.elapsed() / u32::try_from(sessions).unwrap_or(u32::MAX);
    let begin = Instant::now();
    let asking = clients.into_iter().map(|client| tokio::spawn(ask(client, REQUESTS / sessions)));
    let mut times = Vec::new();
    for asked in asking.collect::<Vec<_>>() {
        times.extend(asked.await??);
    }
    let took = begin.elapsed();
    drop(stop);
    served.await??;
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let at = |share: usize| ms(times[(times.len() - 1) * share / 100]);
    let rate = times.len() as f64 / took.as_secs_f64();
    Ok(format!(
        "{sessions:8}  {rate:10.0}  {:6.3}  {:6.3}  {:10.3}  {:18.3}",
        at(50),
        at(99),
        at(100),
        ms(beginning)
    ))
}

/// A session that has been answered once.
async fn begun(address: SocketAddr) -> io::Result<(Client, String)> {
    let mut client = Client::connect(address).await?;
    let rows = client.begin().await?;
    row(&mut client, &rows).await?;
    Ok((client, rows))
}

async fn ask((mut client, rows): (Client, String), times: usize) -> io::Result<Vec<Duration>> {
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        let begin = Instant::now();
        row(&mut client, &rows).await?;
        took.push(begin.elapsed());
    }
    Ok(took)
}

async fn row(client: &mut Client, rows: &str) -> io::Result<()> {
    const ROW: &str =
        r#"{"x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, -0.1, -0.2, -0.3, -0.4, -0.5, -0.6, -0.7, -0.8]}"#;
    let reply = client.send(Method::POST, rows, ROW).await?;
    if reply.status == 200 { Ok(()) } else { Err(io::Error::other(reply.body.to_string())) }
}
