//! Backends, which compute tensors: the embedded `cpu`, the same as machine code (`native`), both in turn (`auto`), or
//! `xla` and `torch`, whose libraries are opened when they are selected. The results of all others are compared with
//! those of the slow `reference`.
//!
//! [`open`] returns a backend by its name, and [`engine`] an engine that computes on it; so does
//! [`Engine::simulator_on`], which accepts any type that implements [`Backend`].
//!
//! The libraries are in `$RML_BACKENDS`, or else in `$XDG_CACHE_HOME/rml`, or else in `~/.cache/rml`; `cargo xtask
//! setup` installs them there. The features `xla` and `torch` of this crate add the small code that opens them. The
//! libraries themselves are not part of a program.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use rml_backend::reference::Reference;
use rml_base::codes::{backend as codes, run};
use rml_base::{Diagnostic, Error, suggest};
use rml_run::Engine;

pub use rml_backend::{
    About, Backend, Buffer, Compiled, Def, DefKind, Device, Executable, Failure, Function, Held, Options,
    Outcome, Val,
};
pub use rml_backend_cpu::Cpu;
use rml_executor::Executor;
use rml_native::{Auto, Native};

mod folders;
#[cfg(any(feature = "xla", feature = "torch"))]
mod installed;

/// The backends by name; the first one is the default.
pub const NAMES: [&str; 6] = ["auto", "cpu", "native", "reference", "xla", "torch"];

/// The backends that this build contains or can open.
const BUILT: &[&str] = &[
    "auto",
    "cpu",
    "native",
    "reference",
    #[cfg(feature = "xla")]
    "xla",
    #[cfg(feature = "torch")]
    "torch",
];

/// The kinds of engines that run programs on a backend.
///
/// ```
/// assert_eq!(rml::backend::Runner::default(), rml::backend::Runner::Auto);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Runner {
    /// A plan if the program has one, otherwise the simulator.
    #[default]
    Auto,
    /// The simulator, cycle by cycle; it runs every program.
    Simulator,
    /// Whole windows at once; declines a program without a plan.
    Plan,
}

/// The description of a backend in this program, on this machine.
///
/// ```
/// let found = rml::backend::list();
/// assert!(found[0].name == "auto" && found[0].about.is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct BackendInfo {
    /// The name of the backend.
    pub name: &'static str,
    /// Whether this program contains the backend, or can open it.
    pub built_in: bool,
    /// The backend's description with its versions and devices, or the reason why it cannot be opened.
    pub about: Result<About, Error>,
}

/// Opens a backend by its name. A library is loaded once per process, and stays loaded.
///
/// # Errors
/// There is no such name, device or number of threads; this build does not have the backend; its library is not
/// installed; or the backend does not find the device.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// use rml::backend::{Options, open};
/// assert_eq!(open("cpu", &Options::default())?.about().devices, ["cpu"]);
/// let error = open("cpu", &Options { device: "cuda:7".into(), ..Options::default() }).unwrap_err();
/// assert_eq!(error.code(), Some(rml::codes::backend::NO_DEVICE));
/// # Ok(()) }
/// ```
pub fn open(name: &str, options: &Options) -> Result<Arc<dyn Backend>, Error> {
    let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
        let d = Diagnostic::error(run::BAD_OPTION, format!("there is no backend `{name}`"));
        return Err(near(d, name, &NAMES).note(format!("the backends are {}", NAMES.join(", "))).into());
    };
    check(options)?;
    Ok(opened(name, options)?)
}

/// An engine on a backend, by its name.
///
/// # Errors
/// The same as for [`open`].
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// use rml::backend::{Options, Runner, engine};
/// use rml::{Session, Source};
/// let source = Source::text("count.rml", "node count() -> (n) n = 0.0 fby n + 1.0;");
/// let program = rml::compile(&source, &rml::Options::default())?;
/// let mut session = Session::on(&program, &engine(Runner::Simulator, "cpu", &Options::default())?)?;
/// assert_eq!(session.step([])?[0].num("n"), Some(0.0));
/// # Ok(()) }
/// ```
pub fn engine(runner: Runner, name: &str, options: &Options) -> Result<Engine, Error> {
    let backend = open(name, options)?;
    let threads = options.threads.and_then(NonZeroUsize::new);
    let executor: Option<Arc<dyn Executor>> = match name {
        "auto" => Some(Arc::new(Auto::open(options).map_err(failed)?)),
        "cpu" => Some(Arc::new(Cpu)),
        "native" => Some(Arc::new(Native::open(options).map_err(failed)?)),
        "reference" => Some(Arc::new(rml_executor::Reference)),
        // A backend that is a library: it prepares routines, which `rml-lower` makes of plans.
        "xla" | "torch" => None,
        other => unreachable!("the backend `{other}` was opened, but runs no plans"),
    };
    let plan = match (executor, threads) {
        (Some(executor), Some(threads)) => Engine::plan_by_with_threads(executor, threads),
        (Some(executor), None) => Engine::plan_by(executor),
        (None, _) => Engine::plan_on(Arc::clone(&backend)),
    };
    let simulator = || Engine::simulator_on(Arc::clone(&backend));
    Ok(match runner {
        Runner::Auto => plan.or(&simulator()),
        Runner::Simulator => simulator(),
        Runner::Plan => plan,
    })
}

/// The folder in which the command `rml` stores the programs that a backend compiles, for [`Options::programs`]: the
/// value of `$RML_PROGRAMS`, or else a folder within the folder of backends. `None` if the variable is `off`, and for a
/// backend that does not compile.
pub fn programs(name: &str) -> Option<PathBuf> {
    match name {
        "auto" | "native" => folders::programs("native"),
        "xla" => folders::programs(name),
        _ => None,
    }
}

/// All backends. Each is opened on the device `cpu` to test whether it loads.
pub fn list() -> Vec<BackendInfo> {
    let info = |name| {
        let about = opened(name, &Options::default()).map(|backend| backend.about());
        BackendInfo { name, built_in: BUILT.contains(&name), about: about.map_err(Error::from) }
    };
    NAMES.into_iter().map(info).collect()
}

fn opened(name: &str, options: &Options) -> Result<Arc<dyn Backend>, Diagnostic> {
    match name {
        "auto" => Ok(Arc::new(Auto::open(options).map_err(failed)?)),
        "cpu" => Ok(Arc::new(Cpu::open(options).map_err(failed)?)),
        "native" => Ok(Arc::new(Native::open(options).map_err(failed)?)),
        "reference" => Ok(Arc::new(Reference::open(options).map_err(failed)?)),
        _ if BUILT.contains(&name) => from_library(name, options),
        _ => Err(not_built(name)),
    }
}

#[cfg(any(feature = "xla", feature = "torch"))]
fn from_library(name: &str, options: &Options) -> Result<Arc<dyn Backend>, Diagnostic> {
    installed::library(name)?.backend(options).map_err(failed)
}

#[cfg(not(any(feature = "xla", feature = "torch")))]
fn from_library(name: &str, _: &Options) -> Result<Arc<dyn Backend>, Diagnostic> {
    Err(not_built(name))
}

/// The error that a backend does not open, with additional advice.
fn failed(failure: Failure) -> Diagnostic {
    let device = failure.code == codes::NO_DEVICE;
    let d = failure.diagnostic();
    if device { d.help("`rml backends` lists the devices that each backend finds") } else { d }
}

fn not_built(name: &str) -> Diagnostic {
    Diagnostic::error(
        codes::BACKEND_NOT_BUILT,
        format!("this build of rml does not have the backend `{name}`"),
    )
    .help(format!("`cargo xtask setup {name}` fetches and installs its libraries"))
    .help("`cargo build --release --features xla,torch` builds an rml that loads them")
}

/// Checks that the device has a name and that a call has at least one thread.
fn check(options: &Options) -> Result<(), Diagnostic> {
    let device = options.device.as_str();
    if Device::read(device).is_none() {
        let d = Diagnostic::error(run::BAD_OPTION, format!("`{device}` is no device"));
        let d = d.note("expected `cpu`, or `cuda:N` for GPU number N, from 0");
        let is_gpu = matches!(&*device.to_ascii_lowercase(), "gpu" | "cuda" | "gpu:0" | "nvidia" | "0");
        return Err(match is_gpu {
            true => d.help("the first GPU is `cuda:0`"),
            false => near(d, device, &["cpu", "cuda:0"]),
        });
    }
    if options.threads == Some(0) {
        return Err(Diagnostic::error(run::BAD_OPTION, "a backend needs at least one thread"));
    }
    Ok(())
}

fn near(d: Diagnostic, found: &str, known: &[&str]) -> Diagnostic {
    match suggest(found, known.iter().copied()) {
        Some(near) => d.help(format!("there is `{near}`")),
        None => d,
    }
}
