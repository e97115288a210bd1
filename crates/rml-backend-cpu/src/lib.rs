//! The embedded backend: it implements the contract of backends by the evaluation of the operator table. It has no
//! dependencies on the system, and gives the same bits as the simulator, which evaluates operator by operator.
//! Functions run on one thread; [plans](plan) run on several where that pays off.

pub mod plan;

use std::any::Any;
use std::sync::Arc;

use rml_backend::reference::{Interpreter, Stop};
use rml_backend::{About, Backend, Buffer, Executable, Failure, Function, Held, Options, Outcome};
use rml_base::codes::backend as codes;
use rml_ir::op::EvalError;
use rml_ir::{Precision, Type, Value};

/// The embedded backend.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

impl Cpu {
    /// Opens it.
    ///
    /// # Errors
    /// If another device than `cpu` is asked for. The number of threads is no concern: functions use one.
    pub fn open(options: &Options) -> Result<Self, Failure> {
        if options.device == "cpu" {
            return Ok(Self);
        }
        Err(Failure::new(codes::NO_DEVICE, format!("the cpu backend has no device `{}`", options.device))
            .help("leave `--device` out, or choose `--backend xla` or `--backend torch`"))
    }
}

impl Backend for Cpu {
    fn about(&self) -> About {
        About {
            name: "cpu".to_owned(),
            version: format!("embedded, rml {}", env!("CARGO_PKG_VERSION")),
            device: "cpu".to_owned(),
            devices: vec!["cpu".to_owned()],
        }
    }

    fn is_host(&self) -> bool {
        true
    }

    /// A few scalars cost more to hand over than to compute.
    fn takes(&self, ty: &Type) -> bool {
        !ty.shape.is_scalar()
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Ok(Box::new(Ready { interpreter: Interpreter::new(function), function: function.clone() }))
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Ok(Arc::new(Kept { ty: value.ty(), value: value.clone() }))
    }
}

#[derive(Debug)]
struct Ready {
    function: Function,
    interpreter: Interpreter,
}

impl Executable for Ready {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let args = args.iter().map(Held::to_host).collect::<Result<Vec<Value>, _>>()?;
        match self.interpreter.run(&self.function, &args) {
            Ok(values) => Ok(Outcome::Done(values.into_iter().map(Held::Host).collect())),
            Err(Stop { at, error: EvalError::Memory(shortage) }) => {
                Err(Failure::shortage(Some(at), shortage))
            }
            // An operator without a result is found again, and reported, by the same evaluation in the contract.
            Err(_) => Ok(Outcome::Suspect),
        }
    }
}

/// A value that stays on the host; copying it shares it.
#[derive(Debug)]
struct Kept {
    ty: Type,
    value: Value,
}

impl Buffer for Kept {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn precision(&self) -> Precision {
        self.value.precision()
    }

    fn download(&self) -> Result<Value, Failure> {
        Ok(self.value.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
