//! An open device.

use std::sync::Arc;

use rml_backend::routine::Routine;
use rml_backend::{About, Backend, Buffer, Executable, Failure, Function, Options};
use rml_ir::Value;
use tch::Device;

use crate::buffer::{Resident, upload};
use crate::device;
use crate::executable::Interpreter;
use crate::failure::failure;
use crate::ffi::keep_memory;
use crate::routine::Prepared;

/// libtorch on one device.
#[derive(Debug)]
struct Torch {
    name: String,
    device: Device,
    threads: i32,
}

/// Opens a device of libtorch: `cpu`, or `cuda:N` if the library for CUDA is found. `threads` applies to each operator.
///
/// # Errors
/// There is no such device.
pub fn open(options: &Options) -> Result<Arc<dyn Backend>, Failure> {
    let device = device::find(&options.device)?;
    let threads = device::threads(options.threads);
    device::use_threads(threads);
    keep_memory();
    Ok(Arc::new(Torch { name: options.device.clone(), device, threads }))
}

impl Backend for Torch {
    fn about(&self) -> About {
        About {
            name: "torch".to_owned(),
            version: format!("libtorch {}", device::version()),
            device: self.name.clone(),
            devices: device::all(),
        }
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Ok(Box::new(Interpreter::new(function, self.device, self.threads)?))
    }

    fn prepare_routine(&self, routine: &Routine) -> Result<Box<dyn Executable>, Failure> {
        Ok(Box::new(Prepared::new(routine, self.device, self.threads)?))
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        let tensor = upload(value, self.device).map_err(|e| failure(&e))?;
        Ok(Arc::new(Resident::new(tensor, value.ty())))
    }
}
