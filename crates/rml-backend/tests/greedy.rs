//! The suite finds a backend that takes the memory of donated arguments although somebody else holds them.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use rml_backend::suite::checks;
use rml_backend::{About, Backend, Buffer, Executable, Failure, Function, Held, Outcome};
use rml_backend_cpu::Cpu;
use rml_base::EntityId;
use rml_ir::{Precision, Type, Value};

/// What a backend takes for its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Taking {
    /// Donated buffers that nobody else holds.
    Allowed,
    /// All donated buffers.
    Shared,
    /// Those that nobody else holds, while they are still needed for other results.
    TooEarly,
}

/// The embedded backend with buffers that can be overwritten.
#[derive(Debug)]
struct Overwriting(Taking);

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

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

#[derive(Debug)]
struct Ready {
    function: Function,
    inner: Box<dyn Executable>,
    taking: Taking,
}

impl Backend for Overwriting {
    fn about(&self) -> About {
        Cpu.about()
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        let (function, inner) = (function.clone(), Cpu.prepare(function)?);
        Ok(Box::new(Ready { function, inner, taking: self.0 }))
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        match Slot::held(value) {
            Held::Device(buffer) => Ok(buffer),
            Held::Host(_) => Err(Failure::call("no buffer")),
        }
    }
}

impl Ready {
    /// The results; each is computed in its turn where arguments are taken too early.
    fn results(&self, mut args: Vec<Held>) -> Result<Option<Vec<Value>>, Failure> {
        let mut results = Vec::new();
        for i in 0..self.function.results.len() {
            let Outcome::Done(all) = self.inner.run(args.clone())? else { return Ok(None) };
            results.push(all[i].to_host()?);
            let taken = self.function.donations.iter().filter(|d| d.result == i);
            for donation in taken.filter(|_| self.taking == Taking::TooEarly) {
                args[donation.input.index()] = Held::Host(results[i].clone());
            }
        }
        Ok(Some(results))
    }
}

impl Executable for Ready {
    fn run(&self, mut args: Vec<Held>) -> Result<Outcome, Failure> {
        let host = args.iter().map(|a| a.to_host().map(Held::Host)).collect::<Result<Vec<Held>, _>>()?;
        let Some(results) = self.results(host)? else { return Ok(Outcome::Suspect) };
        for donation in &self.function.donations {
            if let Held::Device(buffer) = &mut args[donation.input.index()]
                && (self.taking == Taking::Shared || Arc::get_mut(buffer).is_some())
                && let Some(slot) = buffer.as_any().downcast_ref::<Slot>()
            {
                *slot.value.lock().unwrap_or_else(PoisonError::into_inner) = results[donation.result].clone();
            }
        }
        Ok(Outcome::Done(results.iter().map(Slot::held).collect()))
    }
}

#[test]
fn taking_what_is_needed_is_found() {
    let failed = |taking: Taking| -> Vec<String> {
        let calls = checks().into_iter().filter(|c| c.name.starts_with("calls"));
        calls.filter(|c| !c.run(&Overwriting(taking)).passed()).map(|c| c.name).collect()
    };
    assert_eq!(failed(Taking::Allowed), [""; 0]);
    assert_eq!(failed(Taking::Shared), ["calls::donated_and_shared"]);
    assert_eq!(
        failed(Taking::TooEarly),
        ["calls::donated", "calls::donated_and_shared", "calls::donated_and_used"]
    );
}
