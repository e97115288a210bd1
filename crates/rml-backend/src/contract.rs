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

/// The options with which a backend is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The name of the device: `cpu`, `cuda:0`.
    pub device: String,
    /// The number of threads that a call may use; `None` = one per core of the machine.
    pub threads: Option<usize>,
    /// The folder in which a backend that compiles stores compiled programs for later processes; `None` = no folder.
    pub programs: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { device: "cpu".to_owned(), threads: None, programs: None }
    }
}

impl Options {
    /// Checks the device for the backend called `name`, which has only the device `cpu`.
    ///
    /// # Errors
    /// The options ask for another device.
    pub fn on_cpu(&self, name: &str) -> Result<(), Failure> {
        if self.device == "cpu" {
            return Ok(());
        }
        let message = format!("the {name} backend has no device `{}`", self.device);
        Err(Failure::new(codes::NO_DEVICE, message)
            .help("leave `--device` out, or choose `--backend xla` or `--backend torch`"))
    }
}

/// The description of a backend, for `rml backends` and messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// The name: `cpu`, `xla`, `torch`.
    pub name: String,
    /// The library that the backend calls, and its version.
    pub version: String,
    /// The open device.
    pub device: String,
    /// All devices that the backend finds.
    pub devices: Vec<String>,
}

impl About {
    /// Whether the values of the open device are in the host's memory.
    pub fn is_on_host(&self) -> bool {
        Device::read(&self.device).is_some_and(Device::is_host)
    }
}

/// Counts of the programs that a backend has compiled since it was opened.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Compiled {
    /// The number of compiled programs.
    pub programs: u64,
    /// The time that the compilation took.
    pub time: Duration,
    /// The number of programs that were loaded from the [folder](Options::programs) instead of being compiled.
    pub loaded: u64,
    /// The time that loading took.
    pub load_time: Duration,
    /// The reason why programs cannot be stored in that folder, if the options name one.
    pub unkept: Option<String>,
}

impl Compiled {
    /// The difference from an `earlier` value of the same backend.
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

    /// Whether no program was compiled or loaded.
    pub fn is_nothing(&self) -> bool {
        self.programs == 0 && self.loaded == 0
    }
}

/// Prepares functions for one device.
pub trait Backend: fmt::Debug + Send + Sync {
    /// The description of the backend.
    fn about(&self) -> About;

    /// Whether the tensors are values of the host; a copy on the device then has no advantage.
    fn is_host(&self) -> bool {
        false
    }

    /// Whether a call pays off for an operator with an operand or a result of this type. All other operators are
    /// evaluated on the host, because conditions are needed there.
    fn takes(&self, ty: &Type) -> bool {
        ty.is_num()
    }

    /// Prepares a function that satisfies B1 to B3.
    ///
    /// # Errors
    /// The backend cannot compute a value of the function. The failure names this value, and nothing is prepared.
    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure>;

    /// Prepares a routine that satisfies R1 to R4: as one program if the backend compiles loops, otherwise call by
    /// call.
    ///
    /// # Errors
    /// The same as for [`Self::prepare`].
    fn prepare_routine(&self, routine: &Routine) -> Result<Box<dyn Executable>, Failure> {
        Ok(Box::new(ByCalls::new(self, routine)?))
    }

    /// Counts of the programs compiled so far; `None` if the backend runs functions without compilation.
    fn compiled(&self) -> Option<Compiled> {
        None
    }

    /// Copies a value to the device.
    ///
    /// # Errors
    /// The memory is used up, or the library fails.
    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure>;
}

/// A function that is ready to run.
pub trait Executable: fmt::Debug + Send + Sync {
    /// Runs the function or routine. There is one argument for each input, of the input's type and of the precision of
    /// the function or routine. The arguments do not change. Host arguments are copied to the device; buffers must be
    /// of the same backend and device.
    ///
    /// # Errors
    /// The memory is used up, or the library fails. The values that the caller keeps have not changed.
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure>;
}

/// The outcome of a call.
#[derive(Debug)]
pub enum Outcome {
    /// The results, in order.
    Done(Vec<Held>),
    /// An operator may have no result, because an integer does not fit or a position is outside its axis. The caller
    /// then computes the call by the [`reference`](crate::reference). A backend may suspect too many calls, never too
    /// few, and only if [`Function::may_stop`](crate::Function::may_stop) is true.
    Suspect,
}

/// A tensor on a device, where it remains until it is dropped.
pub trait Buffer: fmt::Debug + Send + Sync {
    /// The type of the tensor.
    fn ty(&self) -> &Type;

    /// The precision of the tensor's numbers; single precision if the tensor contains no numbers.
    fn precision(&self) -> Precision;

    /// Copies the tensor to the host.
    ///
    /// # Errors
    /// The library fails.
    fn download(&self) -> Result<Value, Failure>;

    /// The buffer as `Any`, for the backend that made it.
    fn as_any(&self) -> &dyn Any;
}

/// A value on the host or on a device.
#[derive(Clone, Debug)]
pub enum Held {
    /// A value on the host.
    Host(Value),
    /// A value on a device.
    Device(Arc<dyn Buffer>),
}

impl Held {
    /// The type of the value.
    pub fn ty(&self) -> Type {
        match self {
            Held::Host(value) => value.ty(),
            Held::Device(buffer) => buffer.ty().clone(),
        }
    }

    /// The value on the host, copied if necessary.
    ///
    /// # Errors
    /// The library fails.
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
