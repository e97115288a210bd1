//! Signals that ask a command to end: the first one asks it to stop, the second one ends it at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::flag;

#[cfg(unix)]
mod ffi;

/// The signals that ask a command to end: Ctrl-C, the end of a service, and on Unix the end of the terminal.
#[cfg(unix)]
const SIGNALS: [i32; 3] =
    [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [i32; 2] = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];

/// The signals received since their handlers were installed.
pub(crate) struct Signals {
    /// Whether a signal was received.
    pub(crate) any: Arc<AtomicBool>,
    /// The number of the latest signal.
    latest: Arc<AtomicUsize>,
}

impl Signals {
    /// Installs the handlers: the first signal is only recorded, the second one ends the process at once. A signal that
    /// was ignored when the process began (`nohup`, a command in the background of a script) stays ignored.
    ///
    /// # Errors
    /// The system refuses it.
    pub(crate) fn listen() -> io::Result<Self> {
        let signals = Self { any: Arc::default(), latest: Arc::default() };
        for signal in SIGNALS.into_iter().filter(|signal| !is_ignored(*signal)) {
            // The handlers are called in this order.
            flag::register_conditional_shutdown(signal, code(signal), Arc::clone(&signals.any))?;
            let number = usize::try_from(signal).unwrap_or_default();
            flag::register_usize(signal, Arc::clone(&signals.latest), number)?;
            flag::register(signal, Arc::clone(&signals.any))?;
        }
        Ok(signals)
    }

    /// The exit code of a command that ends because of the latest signal, as in shells: 128 plus the number of the
    /// signal. If another process got the signal, that is SIGTERM.
    pub(crate) fn exit_code(&self) -> u8 {
        let signal = match i32::try_from(self.latest.load(Ordering::SeqCst)) {
            Ok(signal @ 1..) => signal,
            Ok(_) | Err(_) => signal_hook::consts::SIGTERM,
        };
        u8::try_from(code(signal)).unwrap_or(u8::MAX)
    }
}

/// Installs handlers that run an action on the first signal and then end the process; the second signal ends it at
/// once. Signals that were ignored when the process began stay ignored.
///
/// # Errors
/// The system refuses it.
#[cfg(unix)]
pub(crate) fn before_the_end(what: impl FnOnce() + Send + 'static) -> io::Result<()> {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    let signals = Signals::listen()?;
    let (mut told, tells) = UnixStream::pair()?;
    for signal in SIGNALS.into_iter().filter(|signal| !is_ignored(*signal)) {
        signal_hook::low_level::pipe::register(signal, tells.try_clone()?)?;
    }
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if told.read_exact(&mut [0]).is_ok() {
            what();
            std::process::exit(i32::from(signals.exit_code()));
        }
    })?;
    Ok(())
}

/// On other systems, installs nothing: a signal ends the process by default.
#[cfg(not(unix))]
pub(crate) fn before_the_end(_: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Ok(())
}

fn code(signal: i32) -> i32 {
    128 + signal
}

#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    ffi::is_ignored(signal)
}

#[cfg(not(unix))]
fn is_ignored(_: i32) -> bool {
    false
}
