//! Opening a device.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use rml_backend::routine::Routine;
use rml_backend::{About, Backend, Buffer, Compiled as Done, Executable, Failure, Function, Options};
use rml_base::codes::backend as codes;
use rml_ir::Value;

use crate::buffer::Stored;
use crate::compile::Compiled;
use crate::device::Device;
use crate::error::said;
use crate::executable::Ready;
use crate::ffi::{self, Client};
use crate::programs::Programs;
use crate::routine;

/// The version of the library that this crate calls.
const VERSION: &str = "XLA of TensorFlow 2.21.0";

/// The environment variable that names the plugin for CUDA devices.
const CUDA_PLUGIN: &str = "RML_XLA_CUDA_PLUGIN";

/// The file name of this plugin.
const CUDA_FILE: &str = "xla_cuda_plugin.so";

/// The environment variables of XLA for its flags, and for the number of threads of its pool.
const FLAGS: &str = "XLA_FLAGS";
const THREADS: &str = "PJRT_NPROC";

/// The flag that makes minima and maxima NaN if an operand is NaN.
const KEEP_NAN: &str = "--xla_cpu_enable_fast_min_max=false";

/// The backend of one device.
#[derive(Debug)]
struct Xla(Arc<Device>);

/// Opens a device: `cpu`, `cuda`, `cuda:1`.
pub(crate) fn open(options: &Options) -> Result<Arc<dyn Backend>, Failure> {
    ffi::quiet();
    let wanted = options.device.as_str();
    let client = match cuda_number(wanted) {
        _ if wanted == "cpu" => cpu(options.threads)?,
        Some(number) => cuda(number)?,
        None => return Err(no_device(wanted, "it knows `cpu` and `cuda:0`, `cuda:1`, ..")),
    };
    let client = Arc::new(client);
    let programs = Programs::new(Arc::clone(&client), options.programs.as_deref(), &settings());
    Ok(Arc::new(Xla(Arc::new(Device::new(client, wanted.to_owned(), programs)))))
}

/// The dependencies of compiled programs besides their text and the device: the library, its flags and its number of
/// threads.
fn settings() -> String {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let threads = match variable(THREADS) {
        none if none.is_empty() => {
            std::thread::available_parallelism().map_or(0, NonZeroUsize::get).to_string()
        }
        threads => threads,
    };
    format!("{VERSION}\n{}\n{threads}", variable(FLAGS))
}

/// Opens the CPU. The compiler is told to keep NaN in minima and maxima, which is not its default; it reads its flags
/// once.
fn cpu(threads: Option<usize>) -> Result<Client, Failure> {
    let given = std::env::var(FLAGS).unwrap_or_default();
    if !given.contains(KEEP_NAN) {
        ffi::set(FLAGS, format!("{given} {KEEP_NAN}").trim());
    }
    if let Some(threads) = threads {
        ffi::set(THREADS, &threads.max(1).to_string());
    }
    Client::cpu().map_err(|e| said(&e))
}

/// The number of a CUDA device.
fn cuda_number(device: &str) -> Option<i64> {
    match device.strip_prefix("cuda")? {
        "" => Some(0),
        rest => rest.strip_prefix(':')?.parse().ok(),
    }
}

fn no_device(wanted: &str, why: &str) -> Failure {
    Failure::new(codes::NO_DEVICE, format!("xla finds no device `{wanted}`: {why}"))
}

/// The plugin for CUDA devices: the file that the environment names, or a file beside this library.
fn cuda_plugin() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(CUDA_PLUGIN) {
        return Some(PathBuf::from(named));
    }
    let own = ffi::own_file()?;
    let folder = own.parent()?;
    [folder.join(CUDA_FILE), folder.join("lib").join(CUDA_FILE)].into_iter().find(|file| file.exists())
}

/// Opens only this CUDA device, without allocating its memory in advance.
fn cuda(number: i64) -> Result<Client, Failure> {
    let wanted = format!("cuda:{number}");
    let help = format!(
        "name the plugin `{CUDA_FILE}` of the Python package jax-cuda12-pjrt or jax-cuda13-pjrt with {CUDA_PLUGIN}, or compute on \
         `--device cpu`"
    );
    let Some(plugin) = cuda_plugin() else {
        return Err(no_device(&wanted, "there is no plugin for CUDA; found: cpu").help(help));
    };
    if !plugin.exists() {
        return Err(
            no_device(&wanted, &format!("there is no file {}; found: cpu", plugin.display())).help(help)
        );
    }
    Client::plugin(&plugin, Some(number)).map_err(|e| {
        let said = said(&e);
        no_device(&wanted, &format!("{}; found: cpu", said.message)).help(help)
    })
}

/// The number of CUDA devices; 0 without the plugin for them.
fn cuda_count() -> usize {
    let plugin = cuda_plugin().filter(|plugin| plugin.exists());
    plugin.and_then(|plugin| Client::plugin(&plugin, None).ok()).map_or(0, |client| client.devices())
}

impl Backend for Xla {
    fn about(&self) -> About {
        let mut devices = vec!["cpu".to_owned()];
        match self.0.name.as_str() {
            "cpu" => devices.extend((0..cuda_count()).map(|i| format!("cuda:{i}"))),
            own => devices.push(own.to_owned()),
        }
        About { name: "xla".to_owned(), version: VERSION.to_owned(), device: self.0.name.clone(), devices }
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        let text = rml_backend::print(function);
        let mut functions = self.0.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = match functions.get(&text) {
            Some(compiled) => compiled.clone(),
            None => {
                let compiled = Arc::new(Compiled::new(&self.0.programs, function)?);
                functions.insert(text, compiled.clone());
                compiled
            }
        };
        Ok(Box::new(Ready::new(self.0.clone(), compiled)))
    }

    fn prepare_routine(&self, routine: &Routine) -> Result<Box<dyn Executable>, Failure> {
        routine::prepare(self, &self.0, routine)
    }

    fn compiled(&self) -> Option<Done> {
        Some(self.0.programs.done())
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Ok(Arc::new(Stored::of(&self.0.client, value)?))
    }
}
