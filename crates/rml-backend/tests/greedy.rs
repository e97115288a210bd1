//! The suite finds a backend that writes results into the memory of its arguments.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use rml_backend::suite::checks;
use rml_backend::{About, Backend, Buffer, Executable, Failure, Function, Held, Outcome};
use rml_backend_cpu::Cpu;
use rml_ir::{Precision, Type, Value};

/// The embedded backend with buffers that can be overwritten; the field states whether it overwrites them.
#[derive(Debug)]
struct Overwriting(bool);

#[derive(Debug)]
struct Slot {
    ty: Type,
    precision: Precision,
    value: Mutex<Value>,
}

impl Slot {
    fn held(value: &Value) -> Held {
        let (ty, precision) = (value.ty(), value.precision());
        Held::Device(Arc::new(Self { ty, precision, value: Mutex::new(value.clone()) }))
    }
}

impl Buffer for Slot {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn precision(&self) -> Precision {
        self.precision
    }

    fn download(&self) -> Result<Value, Failure> {
        Ok(self.value.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct Ready {
    inner: Box<dyn Executable>,
    overwrites: bool,
}

impl Backend for Overwriting {
    fn about(&self) -> About {
        Cpu.about()
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Ok(Box::new(Ready { inner: Cpu.prepare(function)?, overwrites: self.0 }))
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        match Slot::held(value) {
            Held::Device(buffer) => Ok(buffer),
            Held::Host(_) => Err(Failure::call("no buffer")),
        }
    }
}

impl Executable for Ready {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let host = args.iter().map(|a| a.to_host().map(Held::Host)).collect::<Result<Vec<Held>, _>>()?;
        let Outcome::Done(results) = self.inner.run(host)? else { return Ok(Outcome::Suspect) };
        let results = results.iter().map(Held::to_host).collect::<Result<Vec<Value>, _>>()?;
        for (arg, result) in args.iter().zip(&results).filter(|_| self.overwrites) {
            if let Held::Device(buffer) = arg
                && *buffer.ty() == result.ty()
                && let Some(slot) = buffer.as_any().downcast_ref::<Slot>()
            {
                *slot.value.lock().unwrap_or_else(PoisonError::into_inner) = result.clone();
            }
        }
        Ok(Outcome::Done(results.iter().map(Slot::held).collect()))
    }
}

#[test]
fn overwritten_arguments_are_found() {
    let failed = |overwrites: bool| -> Vec<String> {
        let calls = checks().into_iter().filter(|c| c.name.starts_with("calls"));
        calls.filter(|c| !c.run(&Overwriting(overwrites)).passed()).map(|c| c.name).collect()
    };
    assert_eq!(failed(false), [""; 0]);
    assert_eq!(failed(true), ["calls::errors", "calls::feedback", "calls::many", "calls::threads"]);
}
