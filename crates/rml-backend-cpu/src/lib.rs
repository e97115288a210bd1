//! The embedded backend: it implements the contract of backends by the evaluation of the operator table. It has no
//! dependencies on the system, and gives the same bits as the simulator, which evaluates operator by operator.
//! Functions run on one thread; [plans](plan) run on several where that pays off.

pub mod plan;
pub mod pool;

use std::sync::Arc;

use rml_backend::reference::Reference;
use rml_backend::{About, Backend, Buffer, Executable, Failure, Function, Options};
use rml_ir::{Type, Value};

/// The embedded backend.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

impl Cpu {
    /// Opens it.
    ///
    /// # Errors
    /// If another device than `cpu` is asked for. The number of threads is no concern: functions use one.
    pub fn open(options: &Options) -> Result<Self, Failure> {
        options.on_cpu("cpu").map(|()| Self)
    }
}

/// Functions are those of the reference; only plans run faster.
impl Backend for Cpu {
    fn about(&self) -> About {
        let version = format!("embedded, rml {}", env!("CARGO_PKG_VERSION"));
        About { name: "cpu".to_owned(), version, ..Reference.about() }
    }

    fn is_host(&self) -> bool {
        Reference.is_host()
    }

    /// A few scalars cost more to hand over than to compute.
    fn takes(&self, ty: &Type) -> bool {
        !ty.shape.is_scalar()
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Reference.prepare(function)
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Reference.upload(value)
    }
}
