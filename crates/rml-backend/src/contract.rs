//! The traits that a backend implements.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rml_base::codes::backend as codes;
use rml_ir::{Precision, Type, Value};

use crate::device::Device;
use crate::error::Failure;
use crate::function::Function;
use crate::routine::{ByCalls, Routine};

/// How a backend is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Which device: `cpu`, `cuda:0`.
    pub device: String,
    /// How many threads a call may use; `None` = one per core of the machine.
    pub threads: Option<usize>,
    /// The folder in which a backend that compiles keeps compiled programs from one process to the next; `None` =
    /// nowhere.
    pub programs: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { device: "cpu".to_owned(), threads: None, programs: None }
    }
}

impl Options {
    /// For a backend of that name which has no device but `cpu`.
    ///
    /// # Errors
    /// If another one is asked for.
    pub fn on_cpu(&self, name: &str) -> Result<(), Failure> {
        if self.device == "cpu" {
            return Ok(());
        }
        let message = format!("the {name} backend has no device `{}`", self.device);
        Err(Failure::new(codes::NO_DEVICE, message)
            .help("leave `--device` out, or choose `--backend xla` or `--backend torch`"))
    }
}

/// What a backend is, for `rml backends` and messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// Its name: `cpu`, `xla`, `torch`.
    pub name: String,
    /// The library that it calls, and its version.
    pub version: String,
    /// The device that is open.
    pub device: String,
    /// All devices that it finds.
    pub devices: Vec<String>,
}

impl About {
    /// Whether the values of the open device take the host's memory.
    pub fn is_on_host(&self) -> bool {
        Device::read(&self.device).is_some_and(Device::is_host)
    }
}

/// What a backend has compiled since it was opened.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Compiled {
    /// How many programs it compiled.
    pub programs: u64,
    /// How long that took.
    pub time: Duration,
    /// How many it took from the [folder](Options::programs) where they are kept, instead of compiling them.
    pub loaded: u64,
    /// How long that took.
    pub load_time: Duration,
    /// Why programs are not kept in that folder, if they should be and cannot.
    pub unkept: Option<String>,
}

impl Compiled {
    /// What was compiled since the same backend said `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            programs: self.programs.saturating_sub(earlier.programs),
            time: self.time.saturating_sub(earlier.time),
            loaded: self.loaded.saturating_sub(earlier.loaded),
            load_time: self.load_time.saturating_sub(earlier.load_time),
            unkept: self.unkept.clone(),
        }
    }

    /// Whether there was nothing to compile or to load.
    pub fn is_nothing(&self) -> bool {
        self.programs == 0 && self.loaded == 0
    }
}

/// Prepares functions for one device.
pub trait Backend: fmt::Debug + Send + Sync {
    /// What it is.
    fn about(&self) -> About;

    /// Whether its tensors are values of the host, so that nothing is gained by keeping them on its device.
    fn is_host(&self) -> bool {
        false
    }

    /// Whether an operator with an operand or a result of that type is worth a call. All others are evaluated on the
    /// host, where conditions are needed.
    fn takes(&self, ty: &Type) -> bool {
        ty.is_num()
    }

    /// Prepares a function that satisfies B1 to B3.
    ///
    /// # Errors
    /// If it cannot compute a value of it, which the failure names; then it prepares nothing.
    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure>;

    /// Prepares a routine that satisfies R1 to R4: as one program where the backend compiles loops, else call by call.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    fn prepare_routine(&self, routine: &Routine) -> Result<Box<dyn Executable>, Failure> {
        Ok(Box::new(ByCalls::new(self, routine)?))
    }

    /// What it has compiled so far; none if it runs functions as they are.
    fn compiled(&self) -> Option<Compiled> {
        None
    }

    /// Copies a value to the device.
    ///
    /// # Errors
    /// If there is no memory, or the library fails.
    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure>;
}

/// A function that is ready to run.
pub trait Executable: fmt::Debug + Send + Sync {
    /// Runs it on one argument for each input, of the input's type and the precision of the function or routine.
    /// Arguments stay as they are. Host arguments are copied to the device; buffers are of the same backend and device.
    ///
    /// # Errors
    /// If there is no memory, or the library fails. Nothing that the caller still holds has changed.
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure>;
}

/// What a call gives.
#[derive(Debug)]
pub enum Outcome {
    /// The results, in order.
    Done(Vec<Held>),
    /// An operator may have no result (an integer that does not fit, a position outside of its axis), so that the call
    /// is to be computed by the [`reference`](crate::reference). A backend may suspect too much, never too little, and
    /// only where [`Function::may_stop`](crate::Function::may_stop).
    Suspect,
}

/// A tensor on a device. It stays there until it is dropped.
pub trait Buffer: fmt::Debug + Send + Sync {
    /// Its type.
    fn ty(&self) -> &Type;

    /// How its numbers are stored (single precision where it has none).
    fn precision(&self) -> Precision;

    /// Copies it to the host.
    ///
    /// # Errors
    /// If the library fails.
    fn download(&self) -> Result<Value, Failure>;

    /// Itself, for the backend that made it.
    fn as_any(&self) -> &dyn Any;
}

/// A value, wherever it is.
#[derive(Clone, Debug)]
pub enum Held {
    /// On the host.
    Host(Value),
    /// On a device.
    Device(Arc<dyn Buffer>),
}

impl Held {
    /// Its type.
    pub fn ty(&self) -> Type {
        match self {
            Held::Host(value) => value.ty(),
            Held::Device(buffer) => buffer.ty().clone(),
        }
    }

    /// On the host, copied there if need be.
    ///
    /// # Errors
    /// If the library fails.
    pub fn to_host(&self) -> Result<Value, Failure> {
        match self {
            Held::Host(value) => Ok(value.clone()),
            Held::Device(buffer) => buffer.download(),
        }
    }
}

impl From<Value> for Held {
    fn from(value: Value) -> Self {
        Held::Host(value)
    }
}
