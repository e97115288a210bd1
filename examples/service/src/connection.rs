//! Connections: their limits, and how they end.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

use crate::Service;

/// The interval at which idle sessions are removed.
const SWEEP: Duration = Duration::from_secs(1);

/// How long the service waits if it cannot accept a connection.
const PAUSE: Duration = Duration::from_millis(10);

/// Serves until `stop` is ready; then accepts no more connections, and answers the requests that have arrived.
///
/// # Errors
/// Requests were not answered within [`Limits::grace`](crate::Limits).
pub async fn serve(
    listener: TcpListener,
    service: Service,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let limits = service.limits;
    let places = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    let mut sweep = tokio::time::interval(SWEEP);
    loop {
        let place = tokio::select! {
            biased;
            () = &mut stop => break,
            _ = sweep.tick() => { service.sweep(); continue }
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let stream = tokio::select! {
            biased;
            () = &mut stop => break,
            _ = sweep.tick() => { service.sweep(); continue }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Too many open files, or a client that has disconnected: other connections continue.
                Err(_) => { tokio::time::sleep(PAUSE).await; continue }
            },
        };
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        // A client that does not read keeps its connection only for this time.
        stream.set_write_timeout(Some(limits.patience));
        let service = service.clone();
        let answer = service_fn(move |request| {
            let service = service.clone();
            async move { Ok::<_, Infallible>(service.answer(request).await.response()) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.patience)
            .max_buf_size(64 << 10)
            .serve_connection(TokioIo::new(Box::pin(stream)), answer);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // An error of a connection is caused by the client, and ends only this connection.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "some requests were not answered in time");
    tokio::time::timeout(limits.grace, graceful.shutdown()).await.map_err(late)
}
